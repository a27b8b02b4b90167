"""Reliability diagrams of the runs of a selection."""

from __future__ import annotations

import msgspec

from data.store import Snapshot
from queries.engine.common_questions import restrict
from queries.engine.gather_evidence import gather
from queries.engine.reliability_diagrams import DEFAULT_BAND, DIAGRAM_METRICS, BandKind, ReliabilityDiagram, reliability_diagrams
from queries.selection import Selection, selection_keys


class Reliability(msgspec.Struct):
    """Answer of ``/api/v1/reliability``."""

    data_version: str
    selection: dict[str, list[str]]
    binning: str
    runs: list[ReliabilityDiagram]


def reliability(snapshot: Snapshot, selection: Selection, band: BandKind = DEFAULT_BAND) -> Reliability:
    """Return the reliability diagram of every run of a selection, under its binning.

    Args:
        snapshot: the store.
        selection: filters and conventions.
        band: the kind of consistency band.
    """
    evidence = gather(snapshot, restrict(snapshot, selection, by_default=True)[0], DIAGRAM_METRICS)
    return Reliability(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        binning=selection.conventions.binning,
        runs=reliability_diagrams(evidence, band),
    )
