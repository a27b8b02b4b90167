"""Whole distributions of runs and the votes of people: what the metrics of disagreement are computed from.

Nothing of this is kept at ingest: it is read from the responses that give a distribution, and only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from data.importing.grading import parse_answer_line
from data.polars_frames import SqlParameters
from data.statistics import BINS, bin_of
from data.store import Snapshot
from queries.metrics import Conventions
from queries.metrics.kernels import bins, distributions

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
SEPARATORS = ("\x1e", "\x1f")  # between the parts of a key, which no name of a class holds
POLLED = "select distinct class from votes where dataset = $d order by class"
ASKED = """select question_id, any_value(answer) as answer, list(class order by class) filter (class is not null) as classes,
        list(votes order by class) filter (class is not null) as votes
    from questions left join votes using (dataset, question_id) where dataset = $d group by question_id"""
MOST_CLASSES = 100  # of a dataset that names none: where each question has options of its own, there are no classes

# Per (run, question), sums over its items. Items without a whole distribution are in none, and add 0.
COLUMNS = (
    "gold_items",  # whose right class is known
    "quadratic",  # sum over classes of (p - gold)^2 / classes
    "voted_items",  # to whose question people gave votes
    "distance",  # TVD(f, pi)
    "entropy_gap",  # H(f) - H(pi)
    "entropy_gap_abs",
    "ranked_same",
    "ranked_compatibly",
    "distance_bins",  # (20) items by TVD(f, pi), of those that the reference could be drawn for
    "reference_bins",  # (20) the same items by the reference's TVD
    "class_items",  # that are in class_gaps
    "class_gaps",  # (classes, bins) sum of p_k - [gold = k] per bin of p_k
)


class Source(NamedTuple):
    """Where to read: ``with`` clauses that define chosen_runs and chosen_questions, SQL of the responses, parameters."""

    clauses: str
    responses: str
    parameters: SqlParameters


@dataclass(frozen=True)
class DistributionItems:
    """Items with the same number of classes M and their questions' votes, classes in class order.

    Attributes:
        item: index of each among all items that were read, shape (n,).
        classes: what its distribution is over, indices into ``Distributions.classes``, -1 for none of them; shape (n, M).
        shares: the run's distribution f, shape (n, M).
        votes: shape (n, M); all 0 where nobody voted.
        drawn: the votes that the human reference sees, shape (n, M); all 0 where there are too few.
        majority: index of the class with most votes, -1 where nobody voted; shape (n,).
        gold: index of the right class, -1 where it is unknown; shape (n,).
    """

    item: Counts
    classes: Counts
    shares: Floats
    votes: Counts
    drawn: Counts
    majority: Counts
    gold: Counts

    def voted(self) -> DistributionItems:
        """Those that people voted on."""
        return self.subset(self.majority >= 0)

    def subset(self, rows: NDArray[np.bool_]) -> DistributionItems:
        """Some of them."""
        return DistributionItems(*(getattr(self, name)[rows] for name in DistributionItems.__dataclass_fields__))


@dataclass(frozen=True)
class Distributions:
    """Every item of a selection whose whole distribution is known.

    Attributes:
        places: ``run`` and ``question_id`` of each item, in the order of runs, questions and clues.
        classes: the classes in order: the dataset's or, where it names none, all that people could vote for in it, by name.
        named: whether the dataset names its classes.
        groups: the items by number of classes.
    """

    places: pl.DataFrame
    classes: tuple[str, ...]
    named: bool
    groups: tuple[DistributionItems, ...]


class _Ballot(NamedTuple):
    """One question with one list of options."""

    options: int  # how many the responses state
    place: list[int]  # of each class among them, -1 where it is none of them
    classes: list[int]
    votes: list[int]
    majority: int
    gold: int
    key: int


def read_distributions(snapshot: Snapshot, dataset: str, source: Source) -> Distributions:
    """The whole distributions of a selection, with the votes on its questions.

    Args:
        snapshot: the store.
        dataset: of the selection.
        source: SQL of the selection.

    Returns:
        Items by number of classes. No item where no response gives a whole distribution.
    """
    items = snapshot.frame(
        f"""{source.clauses}
        select p.run, p.question_id, p.options, p.option_names from ({source.responses}) p
        join chosen_runs r on r.run = p.run join chosen_questions q on q.question_id = p.question_id
        where p.options is not null order by r.position, q.position, p.clue""",
        source.parameters,
    )
    stated = next((row[0] for row in snapshot.rows("select classes from datasets where dataset = $d", {"d": dataset})), None)
    if items.is_empty():
        return Distributions(items.select("run", "question_id"), tuple(stated or ()), bool(stated), ())
    first, second = SEPARATORS
    names = pl.col("option_names").list.join(second)
    items = items.with_columns(pl.concat_str("question_id", names, separator=first).fill_null(pl.col("question_id")).alias("key"))
    kinds = items.unique("key", keep="first", maintain_order=True).with_row_index("ballot")
    items = items.join(kinds.select("key", "ballot"), on="key", how="left", maintain_order="left")
    question_votes = {
        question: (answer, dict(zip(classes or (), votes or (), strict=True)))
        for question, answer, classes, votes in snapshot.frame(ASKED, {"d": dataset})
        .join(kinds, on="question_id", how="semi")
        .rows()
    }
    lists = list(kinds.select("question_id", "option_names").iter_rows())
    classes = tuple(stated or (row[0] for row in snapshot.rows(POLLED, {"d": dataset})))
    index = {name: k for k, name in enumerate(classes)}
    ballots = [
        _ballot(
            dataset,
            question,
            names or stated or [],
            stated or sorted({*names, *question_votes[question][1]}),
            *question_votes[question],
            index,
        )
        for question, names in lists
    ]
    return Distributions(
        places=items.select("run", "question_id"),
        classes=classes,
        named=bool(stated),
        groups=tuple(_groups(ballots, items["ballot"].to_numpy().astype(np.int64), items["options"])),
    )


def _ballot(
    dataset: str,
    question: str,
    options: list[str],
    names: list[str],
    answer: str | None,
    votes: dict[str, int],
    index: dict[str, int],
) -> _Ballot:
    """The right class is the one that the answer names or, where it names none, the one with most votes."""
    place = {name: k for k, name in enumerate(options)}
    counts = [votes.get(name, 0) for name in names]
    answer_class = class_named(answer, names)
    most = max(counts)
    majority = -1
    if most:  # of classes that tie, the one that the answer names, else the first
        majority = answer_class if answer_class >= 0 and counts[answer_class] == most else counts.index(most)
    return _Ballot(
        options=len(options),
        place=[place.get(name, -1) for name in names],
        classes=[index.get(name, -1) for name in names],
        votes=counts,
        majority=majority,
        gold=answer_class if answer_class >= 0 else majority,
        key=distributions.draw_key(dataset, question),
    )


def class_named(answer: str | None, names: Sequence[str]) -> int:
    """Index of the class that an answer line names: to the letter, else the only one that it accepts; -1 for none."""
    if answer is None:
        return -1
    if answer in names:
        return names.index(answer)
    line = parse_answer_line(answer)
    accepted = [k for k, name in enumerate(names) if line.grade(name) == "accept"]
    return accepted[0] if len(accepted) == 1 else -1


def _groups(ballots: Sequence[_Ballot], ballot: Counts, options: pl.Series) -> list[DistributionItems]:
    """Items by the shape of their ballots; ``ballot`` is the index of each item's."""
    shapes = np.array([(len(ballot_.classes), ballot_.options) for ballot_ in ballots])
    groups = []
    for shape in np.unique(shapes, axis=0):
        member = np.flatnonzero((shapes == shape).all(axis=1))
        where = np.full(len(ballots), -1)
        where[member] = np.arange(len(member))
        item = np.flatnonzero(where[ballot] >= 0)
        ballot_of_item = where[ballot[item]]
        stated = options.gather(item).explode().to_numpy().reshape(len(item), shape[1])

        def column(name: str, member: Counts = member) -> Counts:
            return np.array([getattr(ballots[k], name) for k in member.tolist()], dtype=np.int64)

        place, votes = column("place"), column("votes")
        keys = np.array([ballots[k].key for k in member.tolist()], dtype=np.uint64)
        shares = np.take_along_axis(stated, np.maximum(place[ballot_of_item], 0), axis=1)
        groups.append(
            DistributionItems(
                item=item,
                classes=column("classes")[ballot_of_item],
                shares=np.where(place[ballot_of_item] >= 0, shares, 0.0),
                votes=votes[ballot_of_item],
                drawn=distributions.draw_votes(votes, keys)[ballot_of_item],
                majority=column("majority")[ballot_of_item],
                gold=column("gold")[ballot_of_item],
            )
        )
    return groups


def distribution_sums(
    snapshot: Snapshot, dataset: str, source: Source, rows: pl.DataFrame, wanted: set[str], conventions: Conventions
) -> dict[str, Floats]:
    """Some of ``COLUMNS``, each of shape (rows,) or (rows, ...).

    Args:
        rows: ``run`` and ``question_id`` of each row.
        wanted: names of columns.
    """
    data = read_distributions(snapshot, dataset, source)
    numbered = rows.select("run", "question_id").with_row_index("row")
    row = data.places.join(numbered, on=["run", "question_id"], how="left", maintain_order="left")["row"]
    where = row.cast(pl.Int64).to_numpy()
    columns = {name: np.zeros(len(rows)) for name in COLUMNS if not name.endswith(("_bins", "_gaps"))}
    columns |= {name: np.zeros((len(rows), distributions.ERROR_BINS)) for name in ("distance_bins", "reference_bins")}

    def add(name: str, at: Counts, values: Floats) -> None:
        columns[name] += np.bincount(at, values, len(rows))

    def count(name: str, at: Counts, distance: Floats) -> None:
        cell = at * distributions.ERROR_BINS + distributions.error_bin(distance)
        columns[name] += np.bincount(cell, minlength=columns[name].size).reshape(columns[name].shape)

    for group in data.groups:
        graded = group.subset(group.gold >= 0)
        add("gold_items", where[graded.item], np.ones(len(graded.item)))
        add("quadratic", where[graded.item], distributions.quadratic_score(graded.shares, graded.gold))
        voted = group.voted()
        at, shares = where[voted.item], distributions.vote_shares(voted.votes)
        distance = distributions.total_variation(voted.shares, shares)
        gap = distributions.entropy(voted.shares) - distributions.entropy(shares)
        add("voted_items", at, np.ones(len(at)))
        add("distance", at, distance)
        add("entropy_gap", at, gap)
        add("entropy_gap_abs", at, np.abs(gap))
        add("ranked_same", at, distributions.same_ranking(voted.shares, voted.votes).astype(float))
        add("ranked_compatibly", at, distributions.compatible_ranking(voted.shares, voted.votes).astype(float))
        reference = distributions.reference_distance(voted.drawn, voted.votes)
        has_reference = np.isfinite(reference)
        count("distance_bins", at[has_reference], distance[has_reference])
        count("reference_bins", at[has_reference], reference[has_reference])
    if "class_gaps" in wanted:
        columns["class_items"], columns["class_gaps"] = _class_gaps(data, where, len(rows), rows["run"], conventions)
    return {name: columns[name] for name in sorted(wanted)}


def by_class(data: Distributions) -> tuple[Counts, Floats, Counts]:
    """Items that people voted on, over the classes of the whole dataset: item (n,), p (n, classes) and the majority's class (n,).

    A class that an item does not have has p = 0. None of a dataset that names no classes and has very many.
    """
    if not data.named and len(data.classes) > MOST_CLASSES:
        return np.zeros(0, dtype=np.int64), np.zeros((0, 0)), np.zeros(0, dtype=np.int64)
    voted = [group.voted() for group in data.groups]
    item = np.concatenate([np.zeros(0, dtype=np.int64), *(group.item for group in voted)])
    shares = np.zeros((len(item), len(data.classes) + 1))  # the last column takes what is no class
    gold = np.zeros(len(item), dtype=np.int64)
    start = 0
    for group in voted:
        part = slice(start, start := start + len(group.item))
        np.put_along_axis(shares[part], group.classes, group.shares, axis=1)
        gold[part] = np.take_along_axis(group.classes, group.majority[:, None], axis=1)[:, 0]
    order = np.argsort(item, kind="stable")
    return item[order], shares[order, :-1], gold[order]


def class_bin(shares: Floats, parts: Counts, conventions: Conventions) -> tuple[Counts, int]:
    """Bin of each item's share of one class, shape (n,), and how many bins there are.

    Equal-mass bins are cut within each part (a run) over the items that were read; those of equal width are eleven, as in the
    store.

    Args:
        shares: p_k, shape (n,).
        parts: how many items each part has, one after the other.
    """
    if conventions.mass_bins is None:
        return bin_of(shares, closed=conventions.closed), BINS
    order, of_ordered = bins.assign_mass_bins(shares, parts, conventions.mass_bins)
    bin_of_item = np.empty(len(shares), dtype=np.int64)
    bin_of_item[order] = of_ordered
    return bin_of_item, conventions.mass_bins


def _class_gaps(
    data: Distributions, where: Counts, rows: int, runs: pl.Series, conventions: Conventions
) -> tuple[Floats, Floats]:
    """Items per row, and the sum of p_k - [gold = k] per row, class and bin of p_k."""
    item, shares, gold = by_class(data)
    at = where[item]
    run = runs.rle_id().to_numpy()[at] if rows else at
    parts = np.bincount(run) if len(run) else np.zeros(0, dtype=np.int64)
    count = conventions.mass_bins or BINS
    gaps = np.zeros((rows, len(data.classes), count))
    for k in range(shares.shape[1]):
        place, _ = class_bin(shares[:, k], parts, conventions)
        added = np.bincount(at * count + place, shares[:, k] - (gold == k), rows * count)
        gaps[:, k] = added.reshape(rows, count)
    return np.bincount(at, minlength=rows).astype(float), gaps
