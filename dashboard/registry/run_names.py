"""The one place where runs get names: pages, papers, CSV and JSON take them from here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec
from flask import Response

from clueline.dashboard.service import service
from clueline.queries.run_names import DatasetParts, dataset_of_run, distinct_names, run_parts

RUN_ID = re.compile(rb'"([0-9a-f]{16})"')  # as JSON holds it


def names_of(runs: Iterable[str], *, elicitation: bool = True) -> dict[str, str]:
    """Return names that tell runs apart, by id; those that the reader may not read, or that do not exist, are left out.

    A run has the same name on every page, whichever other runs are shown: one that tells it from all runs of its dataset. Only
    where runs are of several datasets, the others that are shown decide. For ``elicitation`` see ``distinct_names``.
    """
    known: dict[str, DatasetParts] = {}
    wanted = list(dict.fromkeys(runs))
    for run in wanted:
        if run not in known and (dataset := dataset_of_run(service().snapshot(), run)):
            known |= dict.fromkeys((parts := service().recall(run_parts, dataset)).runs, parts)
    wanted = [run for run in wanted if run in known]
    if len({id(known[run]) for run in wanted}) != 1:
        return distinct_names({run: known[run].runs[run] for run in wanted}, elicitation=elicitation)
    return _names_among(known[wanted[0]], wanted, elicitation)


def name_of(run: str, dataset: str) -> str:
    """Return the name of a run, as ``names_of`` does, without looking for its dataset."""
    return _names_among(service().recall(run_parts, dataset), [run])[run]


def _names_among(parts: DatasetParts, runs: Sequence[str], elicitation: bool = True) -> dict[str, str]:
    names = parts.names if elicitation else parts.beside
    if not names.keys() >= {*runs}:  # one of them is withdrawn
        names = distinct_names(parts.runs, elicitation=elicitation)
    return {run: names[run] for run in runs}


def names_if_alike(runs: Iterable[str]) -> dict[str, str]:
    """Return the names of runs; none if model and elicitation tell them apart, because answers state these."""
    parts = {dataset: service().recall(run_parts, dataset) for dataset in service().snapshot().states}
    if not any(part.alike for part in parts.values()):
        return {}  # without reading ``runs``, which can be many
    wanted = dict.fromkeys(runs)
    stated = [
        (dataset, part.model, part.elicitation)
        for dataset, known in parts.items()
        for run, part in known.runs.items()
        if run in wanted
    ]
    return names_of(wanted) if len({*stated}) < len(stated) else {}


def with_names(answer: Response) -> Response:
    """Add ``names`` to an answer in JSON, the names of its runs by id, if these are needed to tell them apart."""
    if answer.mimetype == "application/json" and not answer.is_streamed and answer.status_code == 200:
        body = answer.get_data()
        names = names_if_alike(match[1].decode() for match in RUN_ID.finditer(body))
        if names and body.startswith(b"{"):
            answer.set_data(body[:-1] + b',"names":' + msgspec.json.encode(names) + b"}")
    return answer
