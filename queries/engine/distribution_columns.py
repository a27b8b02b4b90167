"""Whole distributions of runs with the human votes on the same questions, as in-memory arrays, read and compared once per run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import DTypeLike, NDArray

from clueline.data.importing.run_gradings import parse_answer_line
from clueline.data.ragged_arrays import Floats, Ints, entries_of
from clueline.data.recalibration_maps import tempered
from clueline.data.store import Snapshot
from clueline.data.sufficient_statistics import bin_of
from clueline.queries.engine.run_columns import Arrays, responses_in_order
from clueline.queries.metrics.kernels import distributions as kernels

READ_AT_ONCE = 500_000  # items, approximately
SEPARATOR = "\x1f"  # separates class names; no name contains it
MAX_RANKED = 12  # classes; with more, pairs in a different order are not counted
POLLED = "select distinct class from votes where dataset = $d order by class"
QUESTIONS = """select position, question_id, any_value(answer) as answer,
        list(class order by class) filter (class is not null) as classes,
        list(votes order by class) filter (class is not null) as votes
    from questions left join votes using (dataset, question_id) where dataset = $d group by all"""


class Classes(NamedTuple):
    """The classes that the dataset names, in its order, or else all classes in its votes, sorted by name."""

    names: tuple[str, ...]
    named: bool


@dataclass(frozen=True)
class RunDistributions(Arrays):
    """The items of a run that give a whole distribution f, by question and clue, compared with the human vote shares pi.

    Arrays have shape (items,), unless stated otherwise.

    Attributes:
        positions: position in the dataset of each item's question, ascending.
        items: index of each item among all items of the run, in the order of ``run_items``.
        quadratic: sum over classes of (p - gold)^2 / classes; NaN where the right class is unknown.
        distance: TVD(f, pi), NaN where nobody voted.
        entropy_gap: H(f) - H(pi) in nats, NaN where nobody voted.
        same_ranking, compatible_ranking: whether f ranks the classes as pi does, with ties broken by class order or in any order.
        pairs_turned: number of pairs of classes in the opposite order to people's; 0 if there are more than ``MAX_RANKED``
            classes.
        distance_bin: bin of the distance, -1 where nobody voted.
        reference_bin, reference_entropy_gap, reference_pairs_turned: the same of the human reference; -1, NaN and 0 where there
            are
            too few votes for one.
        gold: place of the right class among the item's entries, -1 where it is unknown.
        majority: the class with most votes, an index into ``Classes.names``; -1 where nobody voted.
        first: index of each item's first entry and, last, the number of entries, shape (items + 1,).
        classes: class of each entry, an index into ``Classes.names``; -1 if it is not one of them; shape (entries,).
        shares, share_bin: f of each entry, and its bin of width 0.1, closed on the left, shape (entries,).
    """

    positions: NDArray[np.int32]
    clues: NDArray[np.int32]
    items: Ints
    quadratic: Floats
    distance: Floats
    entropy_gap: Floats
    same_ranking: NDArray[np.bool_]
    compatible_ranking: NDArray[np.bool_]
    pairs_turned: NDArray[np.int16]
    distance_bin: NDArray[np.int8]
    reference_bin: NDArray[np.int8]
    reference_entropy_gap: Floats
    reference_pairs_turned: NDArray[np.int16]
    gold: NDArray[np.int32]
    majority: NDArray[np.int32]
    first: Ints
    classes: NDArray[np.int32]
    shares: Floats
    share_bin: NDArray[np.int8]

    def __len__(self) -> int:
        return len(self.positions)

    @property
    def class_counts(self) -> Ints:
        """Number of classes of each item, shape (items,)."""
        return np.diff(self.first)

    def take(self, items: Ints) -> RunDistributions:
        """Select some of the items, by ascending indices."""
        if len(items) == len(self):
            return self
        first, entries = entries_of(self.first, items)
        parts = {name: getattr(self, name)[items] for name in PER_ITEM}
        return RunDistributions(first=first, **parts, **{name: getattr(self, name)[entries] for name in PER_ENTRY})

    def voted(self) -> RunDistributions:
        """Select the items that people voted on."""
        return self.take(np.flatnonzero(self.majority >= 0))

    def class_shares(self, classes: int) -> Floats:
        """Return the share of each class of the dataset, shape (items, classes), 0 for a class that an item does not have."""
        shares = np.zeros((len(self), classes + 1))  # the last column takes entries that are not a class of the dataset
        shares[np.repeat(np.arange(len(self)), self.class_counts), self.classes] = self.shares
        return shares[:, :-1]


PLACES: dict[str, DTypeLike] = {"positions": np.int32, "clues": np.int32, "items": np.int64}
PER_ENTRY: dict[str, DTypeLike] = {"classes": np.int32, "shares": float, "share_bin": np.int8}
# Columns of the comparison with votes: type, and default value, for example where nobody voted.
COMPARED: dict[str, tuple[DTypeLike, float]] = {
    "quadratic": (float, np.nan), "distance": (float, np.nan), "entropy_gap": (float, np.nan), "same_ranking": (bool, False),
    "compatible_ranking": (bool, False), "pairs_turned": (np.int16, 0), "distance_bin": (np.int8, -1),
    "reference_bin": (np.int8, -1), "reference_entropy_gap": (float, np.nan), "reference_pairs_turned": (np.int16, 0),
    "gold": (np.int32, -1), "majority": (np.int32, -1),
}  # fmt: skip
NO_ITEMS = RunDistributions(
    first=np.zeros(1, np.int64),
    **{name: np.empty(0, kind) for name, kind in (PLACES | PER_ENTRY).items()},
    **{name: np.empty(0, kind) for name, (kind, _) in COMPARED.items()},
)
PER_ITEM = tuple(field.name for field in fields(RunDistributions) if field.name not in ("first", *PER_ENTRY))


def dataset_classes(snapshot: Snapshot, dataset: str) -> Classes:
    """Return the classes of a dataset."""
    stated = _stated_classes(snapshot, dataset)
    return Classes(tuple(stated or (row[0] for row in snapshot.rows(POLLED, {"d": dataset}))), bool(stated))


def run_distributions(snapshot: Snapshot, dataset: str, runs: Sequence[str]) -> list[RunDistributions]:
    """Return the whole distributions of each run, in the order of ``runs``. Failed calls have none."""

    def read(missing: list[str]) -> dict[str, RunDistributions]:
        sql = f"select run, count(options) from {snapshot.responses(missing)} group by 1"
        counts = {run: count for run, count in snapshot.rows(sql) if count}
        results = dict.fromkeys(missing, NO_ITEMS)
        if counts:
            reader = _Reader(snapshot, dataset)
            batch = dict(zip(counts, np.cumsum([*counts.values()]) // READ_AT_ONCE, strict=True))
            for _, runs_of_batch in groupby(counts, key=lambda run: batch[run]):
                results |= reader.read([*runs_of_batch])
        return results

    return snapshot.cached(dataset, "distributions", runs, read)


def tempered_distributions(
    snapshot: Snapshot, dataset: str, run: str, chosen: RunDistributions, inverse: Floats
) -> RunDistributions:
    """Return chosen distributions of a run, rescaled by ``inverse`` = 1 / T, shape (items,), and compared with the votes anew."""
    return _Reader(snapshot, dataset).tempered(run, chosen.items, inverse)


class _Ballot(NamedTuple):
    """What all items with the same question and the same list of options share; an index is -1 for none.

    ``option`` and ``classes`` are indices of each class among the options of a response, and among the classes of the dataset.
    ``key`` is the seed of the human reference.
    """

    options: int
    option: list[int]
    classes: list[int]
    votes: list[int]
    majority: int
    gold: int
    key: int


class _Reader:
    """Reads the distributions of runs of one dataset."""

    def __init__(self, snapshot: Snapshot, dataset: str) -> None:
        self.snapshot, self.dataset = snapshot, dataset
        self.stated = _stated_classes(snapshot, dataset)
        self.class_index = {name: index for index, name in enumerate(dataset_classes(snapshot, dataset).names)}
        self.questions = {
            position: (question, answer, dict(zip(classes or (), votes or (), strict=True)))
            for position, question, answer, classes, votes in snapshot.frame(QUESTIONS, {"d": dataset}).iter_rows()
        }
        self.ballots: dict[tuple[int, str | None], _Ballot] = {}

    def read(self, runs: Sequence[str]) -> dict[str, RunDistributions]:
        parts = self._items(runs)
        together = self._compared(pl.concat(parts))
        ends = np.cumsum([len(part) for part in parts]).tolist()
        return {run: together.take(np.arange(end - len(part), end)) for run, part, end in zip(runs, parts, ends, strict=True)}

    def tempered(self, run: str, items: Ints, inverse: Floats) -> RunDistributions:
        """Read items of a run, given by their indices, and rescale their distributions by ``inverse``, shape (items,)."""
        (whole,) = self._items([run])
        return self._compared(whole.filter(pl.col("item").is_in(items)), inverse)

    def _items(self, runs: Sequence[str]) -> list[pl.DataFrame]:
        """Read position, clue, options and option names of the items of each run that give a distribution."""
        parts = []
        columns = ("clue", "options", "option_names")
        for _, order, table in responses_in_order(self.snapshot, self.dataset, runs, columns):
            items = pl.DataFrame(
                {
                    "position": np.repeat(order.positions, np.diff(order.first)),
                    "clue": table["clue"].gather(order.rows),
                    "options": table["options"].gather(order.rows),
                    "names": table["option_names"].gather(order.rows).list.join(SEPARATOR),
                }
            ).with_row_index("item")
            parts.append(items.filter(pl.col("options").is_not_null()))
        return parts

    def _compared(self, items: pl.DataFrame, inverse: Floats | None = None) -> RunDistributions:
        """Compare items, of any runs, with the votes on their questions, first rescaled by ``inverse``, shape (items,)."""
        kinds = items.select("position", "names").unique(maintain_order=True).with_row_index("ballot")
        joined = items.join(kinds, on=["position", "names"], how="left", maintain_order="left", nulls_equal=True)
        ballots = [self._ballot(*kind) for kind in kinds.select("position", "names").iter_rows()]
        ballot = joined["ballot"].to_numpy().astype(np.int64)
        shapes = np.array([(len(kind.classes), kind.options) for kind in ballots], dtype=np.int64).reshape(-1, 2)
        first = np.append(0, np.cumsum(shapes[ballot, 0]))
        columns = {name: np.full(len(items), missing, kind) for name, (kind, missing) in COMPARED.items()}
        classes, shares = np.empty(first[-1], np.int32), np.empty(first[-1])
        for shape in np.unique(shapes, axis=0):
            members = np.flatnonzero(np.equal(shapes, shape).all(axis=1))
            place = np.full(len(ballots), -1)
            place[members] = np.arange(len(members))
            chosen = np.flatnonzero(place[ballot] >= 0)
            options = items["options"].gather(chosen).explode(empty_as_null=False).to_numpy().reshape(len(chosen), shape[1])
            of_class, of_item, compared = _compare(
                [ballots[member] for member in members],
                place[ballot[chosen]],
                options,
                None if inverse is None else inverse[chosen],
            )
            entries = first[chosen][:, None] + np.arange(shape[0])
            classes[entries], shares[entries] = of_class, of_item
            for name, values in compared.items():
                columns[name][chosen] = values
        return RunDistributions(
            positions=items["position"].to_numpy().astype(np.int32),
            clues=items["clue"].to_numpy().astype(np.int32),
            items=items["item"].to_numpy().astype(np.int64),
            first=first,
            classes=classes,
            shares=shares,
            share_bin=bin_of(shares).astype(np.int8),
            **columns,
        )

    def _ballot(self, position: int, joined_names: str | None) -> _Ballot:
        """Return the ballot of a question and its options. The right class is the one the answer names, else the majority."""
        key = (position, joined_names)
        if key not in self.ballots:
            question, answer, votes = self.questions[position]
            options = self.stated or [] if joined_names is None else joined_names.split(SEPARATOR)
            names = self.stated or sorted({*options, *votes})
            option = {name: index for index, name in enumerate(options)}
            counts = [votes.get(name, 0) for name in names]
            answer_class, most, majority = class_named(answer, names), max(counts, default=0), -1
            if most:  # among tied classes, the one that the answer names, else the first
                majority = answer_class if answer_class >= 0 and counts[answer_class] == most else counts.index(most)
            self.ballots[key] = _Ballot(
                options=len(options),
                option=[option.get(name, -1) for name in names],
                classes=[self.class_index.get(name, -1) for name in names],
                votes=counts,
                majority=majority,
                gold=answer_class if answer_class >= 0 else majority,
                key=kernels.draw_key(self.dataset, question),
            )
        return self.ballots[key]


def _compare(
    ballots: Sequence[_Ballot], ballot: Ints, options: Floats, inverse: Floats | None
) -> tuple[Ints, Floats, dict[str, NDArray[Any]]]:
    """Compare items with ballots of M classes each, from options, shape (items, options), rescaled by ``inverse`` = 1 / T.

    Returns classes and shares of each item, shape (items, M), and the columns ``COMPARED``, shape (items,).
    """

    def column(name: str, kind: DTypeLike = np.int64) -> NDArray[Any]:
        return np.array([getattr(kind_of_item, name) for kind_of_item in ballots], dtype=kind)

    option, classes, votes, majority, gold = (column(name) for name in ("option", "classes", "votes", "majority", "gold"))
    taken = option[ballot]
    shares = np.where(taken >= 0, np.take_along_axis(options, np.maximum(taken, 0), axis=1), 0.0)
    if inverse is not None:
        shares = tempered(shares, inverse)
    counted = votes.shape[1] <= MAX_RANKED
    columns = {name: np.full(len(ballot), missing, kind) for name, (kind, missing) in COMPARED.items()}
    columns["gold"] = gold[ballot].astype(np.int32)
    graded = np.flatnonzero(gold[ballot] >= 0)
    columns["quadratic"][graded] = kernels.quadratic_score(shares[graded], gold[ballot[graded]])
    drawn = kernels.draw_votes(votes, column("key", np.uint64))
    pi, drawn_pi = kernels.vote_shares(votes), kernels.vote_shares(drawn)
    has_reference: NDArray[np.bool_] = np.greater(drawn.sum(axis=1), 0)
    reference: dict[str, NDArray[Any]] = {
        "reference_bin": kernels.error_bin(np.where(has_reference, kernels.reference_distance(drawn, votes), 0.0)),
        "reference_entropy_gap": kernels.entropy(drawn_pi) - kernels.entropy(pi),
        "reference_pairs_turned": kernels.pairs_in_another_order(drawn_pi, votes) if counted else np.zeros(len(ballots), int),
    }
    voted = np.flatnonzero(majority[ballot] >= 0)
    f, kind = shares[voted], ballot[voted]
    distance = kernels.total_variation(f, pi[kind])
    compared = {
        "distance": distance,
        "distance_bin": kernels.error_bin(distance),
        "entropy_gap": kernels.entropy(f) - kernels.entropy(pi)[kind],
        "same_ranking": kernels.same_ranking(f, votes[kind]),
        "compatible_ranking": kernels.compatible_ranking(f, votes[kind]),
        "pairs_turned": kernels.pairs_in_another_order(f, votes[kind]) if counted else 0,
        "majority": np.take_along_axis(classes[kind], majority[kind][:, None], axis=1)[:, 0],
    }
    for name, values in compared.items():
        columns[name][voted] = values
    with_reference = np.flatnonzero(has_reference[ballot])
    for name, values in reference.items():
        columns[name][with_reference] = values[ballot[with_reference]]
    return classes[ballot], shares, columns


def _stated_classes(snapshot: Snapshot, dataset: str) -> list[str] | None:
    rows = snapshot.rows("select classes from datasets where dataset = $d", {"d": dataset})
    return next((row[0] for row in rows), None)


def class_named(answer: str | None, names: Sequence[str]) -> int:
    """Return the index of the class that an answer line names: an exact match, else the only class it accepts; -1 for none."""
    if answer is None:
        return -1
    if answer in names:
        return names.index(answer)
    line = parse_answer_line(answer)
    accepted = [k for k, name in enumerate(names) if line.grade(name) == "accept"]
    return accepted[0] if len(accepted) == 1 else -1
