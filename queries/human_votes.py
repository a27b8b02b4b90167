"""Runs against the votes of people: histograms of their distance, with those of a human reference classifier."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec
import numpy as np
from numpy.typing import NDArray

from data.store import Snapshot
from queries.engine import distributions
from queries.engine.coverage import restrict
from queries.engine.distributions import DistributionItems, Distributions
from queries.engine.gather import gather
from queries.engine.select import selected_responses, selection_clauses
from queries.metrics import Conventions
from queries.metrics.kernels import distributions as kernels
from queries.selection import Selection, number, selection_keys

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
ENTROPY_BINS = 40
MOST_RANKED = 12  # classes up to which pairs of them are counted


class Histograms(msgspec.Struct):
    """Items by how far a distribution is from the votes; the bins are those of the answer's edges."""

    items: int
    distance: list[int]
    entropy: list[int]
    ranking: list[int]  # by pairs of classes in another order than people's, from 0; empty where classes are very many


class ClassBin(msgspec.Struct):
    """Items by the share that the run gives a class; the ends are those of the bin or, of one of equal mass, of its items."""

    lower: float | None
    upper: float | None
    items: int
    mean_share: float | None
    chosen: float | None  # share of these items of which most people chose the class


class ClassBins(msgspec.Struct):
    """A reliability diagram of one class."""

    name: str
    bins: list[ClassBin]


class RunHistograms(msgspec.Struct):
    """One run; ``missing`` says why it has no histograms. The reference is drawn for the items with votes enough."""

    run: str
    model: str
    elicitation: str
    questions: int
    histograms: Histograms | None
    reference: Histograms | None
    classes: list[ClassBins]
    missing: str | None


class People(msgspec.Struct):
    """Answer of ``/api/v1/people``; runs in order of import."""

    data_version: str
    selection: dict[str, list[str]]
    classes: list[str]
    reference_votes: int  # of each question that the reference sees
    distance_edges: list[float]  # of TVD(f, pi): bins are half-open, the last one closed
    entropy_edges: list[float]  # of H(f) - H(pi) in nats
    rows: list[RunHistograms]
    missing: str | None


def people(snapshot: Snapshot, selection: Selection) -> People:
    """Histograms of DistCE, EntCE and ranks of each run of a selection, and its classes' reliability."""
    counted, _ = restrict(snapshot, selection)
    runs = gather(snapshot, counted, ()).runs
    clauses, parameters = selection_clauses(counted)
    source = distributions.Source(clauses, selected_responses(snapshot, counted, parameters), parameters)
    data = distributions.read_distributions(snapshot, selection.dataset, source)
    polled = snapshot.rows("select count(*) from votes where dataset = $d and votes > 0", {"d": selection.dataset})[0][0]
    sizes = [group.shares.shape[1] for group in data.groups] or [len(data.classes)]
    widest = math.log(max(*sizes, 2))
    edges = [widest * k / (ENTROPY_BINS // 2) for k in range(-(ENTROPY_BINS // 2), ENTROPY_BINS // 2 + 1)]
    of_item = data.places["run"].rle_id().to_numpy()  # items stand run by run
    number_of = {run: index for index, run in enumerate(data.places["run"].unique(maintain_order=True))}
    questions = data.places["question_id"].to_numpy()
    no_votes = None if polled else "the dataset has no human votes"
    rows = []
    for run in runs:
        groups = [group.subset(np.equal(of_item[group.item], number_of.get(run.run, -1))) for group in data.groups]
        voted = [group.voted() for group in groups]
        items = np.concatenate([np.zeros(0, dtype=np.int64), *(group.item for group in voted)])
        missing = no_votes
        if not len(items) and polled:
            given = any(len(group.item) for group in groups)
            missing = "nobody voted on these questions" if given else "the run gives no whole distribution here"
        with_reference = [group.subset(group.drawn.sum(axis=-1) > 0) for group in voted]
        rows.append(
            RunHistograms(
                run=run.run,
                model=run.model,
                elicitation=run.elicitation,
                questions=len(set(questions[items])),
                histograms=None if missing else _histograms(voted, max(sizes), edges, reference=False),
                reference=_histograms(with_reference, max(sizes), edges, reference=True)
                if any(len(g.item) for g in with_reference)
                else None,
                classes=[] if missing else _class_bins(data, voted, selection.conventions),
                missing=missing,
            )
        )
    return People(
        data_version=snapshot.version,
        selection=selection_keys(selection),
        classes=list(data.classes) if data.named or len(data.classes) <= distributions.MOST_CLASSES else [],
        reference_votes=kernels.REFERENCE_VOTES,
        distance_edges=[k / kernels.ERROR_BINS for k in range(kernels.ERROR_BINS + 1)],
        entropy_edges=edges,
        rows=rows,
        missing=no_votes,
    )


def _histograms(groups: list[DistributionItems], most: int, edges: list[float], *, reference: bool) -> Histograms:
    """Histograms of the runs' distributions or, for ``reference``, of those that the drawn votes give."""
    distance = np.zeros(kernels.ERROR_BINS, dtype=np.int64)
    entropy = np.zeros(ENTROPY_BINS, dtype=np.int64)
    ranking = np.zeros(most * (most - 1) // 2 + 1 if most <= MOST_RANKED else 0, dtype=np.int64)
    for group in groups:
        people = kernels.vote_shares(group.votes)
        shares = kernels.vote_shares(group.drawn) if reference else group.shares
        far = kernels.reference_distance(group.drawn, group.votes) if reference else kernels.total_variation(shares, people)
        distance += np.bincount(kernels.error_bin(far), minlength=len(distance))
        gap = np.round(kernels.entropy(shares) - kernels.entropy(people), kernels.DIGITS)
        place = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, ENTROPY_BINS - 1)
        entropy += np.bincount(place, minlength=len(entropy))
        if len(ranking):
            ranking += np.bincount(kernels.pairs_in_another_order(shares, group.votes), minlength=len(ranking))
    return Histograms(int(distance.sum()), distance.tolist(), entropy.tolist(), ranking.tolist())


def _class_bins(data: Distributions, voted: list[DistributionItems], conventions: Conventions) -> list[ClassBins]:
    """The reliability of each class over one run's items."""
    _, shares, gold = distributions.by_class(replace(data, groups=tuple(voted)))
    if not shares.size:
        return []
    return [ClassBins(name, _bins(shares[:, k], gold == k, conventions)) for k, name in enumerate(data.classes)]


def _bins(shares: Floats, is_gold: NDArray[np.bool_], conventions: Conventions) -> list[ClassBin]:
    place, count = distributions.class_bin(shares, np.array([len(shares)]), conventions)
    if conventions.binning in ("width10", "width10r"):  # 1 is in the last, closed bin
        place, count = np.minimum(place, 9), 10
    bins = []
    for k in range(count):
        inside = shares[place == k]
        ends = (k / 10, min((k + 1) / 10, 1.0))
        if conventions.mass_bins:
            ends = (float(inside.min()), float(inside.max())) if len(inside) else (math.nan, math.nan)
        bins.append(
            ClassBin(
                lower=number(ends[0]),
                upper=number(ends[1]),
                items=len(inside),
                mean_share=float(inside.mean()) if len(inside) else None,
                chosen=float(is_gold[place == k].mean()) if len(inside) else None,
            )
        )
    return bins
