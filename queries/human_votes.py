"""Runs compared with the votes of people: histograms of their distance, and the same for a human reference classifier."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from clueline.data.store import Snapshot
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.distribution_columns import MAX_RANKED, Classes, RunDistributions, dataset_classes
from clueline.queries.engine.distribution_statistics import class_bin, comparable, selected_distributions
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.selected_answers import chosen
from clueline.queries.metrics import Conventions
from clueline.queries.metrics.kernels import distributions as kernels
from clueline.queries.metrics.kernels.arrays import Floats
from clueline.queries.selection import Answer, Selection, head

ENTROPY_BINS = 40


class Histograms(msgspec.Struct):
    """Number of items by how far a distribution is from the votes, in the bins of ``People``.

    ``ranking`` is by number of pairs of classes in another order than people's, from 0; empty where a question has very many
    classes.
    """

    items: int
    distance: list[int]
    entropy: list[int]
    ranking: list[int]


class ClassBin(msgspec.Struct):
    """Items for which the run gives a class a share in this bin; None without items.

    ``lower`` and ``upper`` are the ends of the bin; of a bin of equal mass, the lowest and highest share in it. ``chosen`` is the
    share of these items in which most people chose the class.
    """

    lower: float | None
    upper: float | None
    items: int
    mean_share: float | None
    chosen: float | None


class ClassBins(msgspec.Struct):
    """A reliability diagram of one class."""

    name: str
    bins: list[ClassBin]


class RunHistograms(RunName):
    """One run; ``missing`` says why it has no histograms. Those of the human reference are of items with enough votes for it."""

    questions: int
    histograms: Histograms | None
    reference: Histograms | None
    classes: list[ClassBins]
    missing: str | None


class People(Answer):
    """Answer of ``/api/v1/people``; runs in order of import."""

    classes: list[str]
    reference_votes: int  # number of votes of each question that the reference classifier sees
    distance_edges: list[float]  # of TVD(f, pi): bins are half-open, the last one closed
    entropy_edges: list[float]  # of H(f) - H(pi) in nats
    rows: list[RunHistograms]
    missing: str | None


def people(snapshot: Snapshot, selection: Selection) -> People:
    """Return histograms of DistCE, EntCE and ranks of each run of a selection, and the reliability of each class."""
    answers = count_answers(snapshot, selection)
    counted, runs = answers.selection, answers.evidence.runs
    names, questions = chosen(snapshot, counted)
    items_of_run = dict(zip(names, selected_distributions(snapshot, counted, names, questions), strict=True))
    classes = dataset_classes(snapshot, selection.dataset)
    polled = snapshot.rows("select count(*) from votes where dataset = $d and votes > 0", {"d": selection.dataset})[0][0]
    most = max((int(items.class_counts.max()) for items in items_of_run.values() if len(items)), default=len(classes.names))
    widest = math.log(max(most, 2))
    edges = [widest * k / (ENTROPY_BINS // 2) for k in range(-(ENTROPY_BINS // 2), ENTROPY_BINS // 2 + 1)]
    no_votes = None if polled else "the dataset has no human votes"
    rows = []
    for run in runs:
        items = items_of_run[run.run]
        voted, missing = items.voted(), no_votes
        if not len(voted) and polled:
            missing = "nobody voted on these questions" if len(items) else "the run gives no whole distribution here"
        own = (voted.distance_bin, voted.entropy_gap, voted.pairs_turned)
        beside = (voted.reference_bin, voted.reference_entropy_gap, voted.reference_pairs_turned)
        has_reference = voted.reference_bin >= 0
        rows.append(
            RunHistograms(
                *run,
                questions=len(np.unique(voted.positions)),
                histograms=None if missing else _histograms(own, most, edges),
                reference=_histograms([column[has_reference] for column in beside], most, edges) if has_reference.any() else None,
                classes=[] if missing else _class_bins(voted, classes, selection.conventions),
                missing=missing,
            )
        )
    return People(
        *head(snapshot, selection),
        classes=list(classes.names) if comparable(classes) else [],
        reference_votes=kernels.REFERENCE_VOTES,
        distance_edges=[k / kernels.ERROR_BINS for k in range(kernels.ERROR_BINS + 1)],
        entropy_edges=edges,
        rows=rows,
        missing=no_votes,
    )


def _histograms(columns: Sequence[NDArray[Any]], most: int, edges: list[float]) -> Histograms:
    """Return the histograms of bins of distance, gaps of entropy and pairs turned, the last up to ``MAX_RANKED`` classes."""
    distance_bin, entropy_gap, pairs_turned = columns
    distance = np.bincount(distance_bin, minlength=kernels.ERROR_BINS)
    gap = np.round(entropy_gap, kernels.DIGITS)
    place = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, ENTROPY_BINS - 1)
    pairs = most * (most - 1) // 2
    ranking = np.bincount(pairs_turned, minlength=pairs + 1).tolist() if most <= MAX_RANKED else []
    return Histograms(len(distance_bin), distance.tolist(), np.bincount(place, minlength=ENTROPY_BINS).tolist(), ranking)


def _class_bins(voted: RunDistributions, classes: Classes, conventions: Conventions) -> list[ClassBins]:
    """Return the reliability diagram of each class over one run's items."""
    if not comparable(classes):
        return []
    shares = voted.class_shares(len(classes.names))
    return [ClassBins(name, _bins(shares[:, k], voted.majority == k, conventions)) for k, name in enumerate(classes.names)]


def _bins(shares: Floats, is_majority: NDArray[np.bool_], conventions: Conventions) -> list[ClassBin]:
    place, count = class_bin(shares, conventions)
    if conventions.binning in ("width10", "width10r"):  # the last bin is closed, so it includes 1
        place, count = np.minimum(place, 9), 10
    bins = []
    for k in range(count):
        inside, majority = shares[place == k], is_majority[place == k]
        ends = (k / 10, min((k + 1) / 10, 1.0))
        if conventions.mass_bins and len(inside):
            ends = (float(inside.min()), float(inside.max()))
        means = (float(inside.mean()), float(majority.mean())) if len(inside) else (None, None)
        lower, upper = ends if len(inside) or not conventions.mass_bins else (None, None)
        bins.append(ClassBin(lower, upper, len(inside), *means))
    return bins
