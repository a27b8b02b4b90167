"""Buzzes by category: correct and incorrect ones of people, models and runs, and runs against the median of people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np
import polars as pl

from clueline.data.store import Snapshot
from clueline.queries.buzzing.inputs import NO_PEOPLE, BuzzingData, ClueTable, RunBuzzing, read_buzzing
from clueline.queries.buzzing.parameters import Rules
from clueline.queries.engine.inference import bounded_mean_interval
from clueline.queries.engine.run_columns import sum_by_place
from clueline.queries.engine.run_pairs import RunName
from clueline.queries.engine.units import Units, read_units_at, too_few_units
from clueline.queries.metrics.kernels.arrays import Floats, Ints
from clueline.queries.selection import Answer, Selection, head


class CategoryOutcome(msgspec.Struct):
    """The buzzes of one group in one category; None is no category, and the ratio without an incorrect buzz.

    Questions heard are counted once for each team and room; those of a run are the ones that it answered.
    """

    category: str | None
    heard: int
    correct: int
    incorrect: int
    ratio: float | None


class BuzzOutcomes(msgspec.Struct):
    """One group: ``people``, a model that played as a team, or a run. Categories in which nothing was heard are left out."""

    name: str
    kind: str
    threshold: float | None
    categories: list[CategoryOutcome]


class CategoryOutcomes(Answer):
    """Answer of ``/api/v1/buzz/categories``; ``missing`` says why it is empty."""

    missing: str | None
    categories: list[str | None]
    groups: list[BuzzOutcomes]


def category_outcomes(snapshot: Snapshot, selection: Selection, rules: Rules) -> CategoryOutcomes:
    """Count correct (correctness of at least 0.5) and incorrect buzzes by category. Runs without a threshold are left out."""
    data = read_buzzing(snapshot, selection, rules)
    answer = CategoryOutcomes(*head(snapshot, selection), data.missing, [], [])
    if data.missing:
        return answer
    answer.categories, places = question_categories(snapshot, selection, data.positions)
    answer.groups = list(_groups(data, places, answer.categories))
    return answer


def question_categories(snapshot: Snapshot, selection: Selection, positions: Ints) -> tuple[list[str | None], Ints]:
    """Return the categories of questions at some positions, sorted, None last, and the number of each question's category."""
    facts = snapshot.frame("select position, category from questions where dataset = $dataset", {"dataset": selection.dataset})
    of_position: dict[int, str | None] = dict(facts.iter_rows())
    category = [of_position[position] for position in positions.tolist()]
    names = sorted(set(category), key=lambda name: (name is None, name or ""))
    number = {name: index for index, name in enumerate(names)}
    return names, np.array([number[name] for name in category], dtype=np.int64)


def _groups(data: BuzzingData, places: Ints, names: Sequence[str | None]) -> Iterator[BuzzOutcomes]:
    for name, kind, rows in data.clue_table.groups():
        if rows.is_empty():
            continue
        buzzes = rows.filter(pl.col("word").is_not_null())
        right = buzzes["correct"].to_numpy().astype(float)
        heard, at = places[rows["question"].to_numpy()], places[buzzes["question"].to_numpy()]
        yield BuzzOutcomes(name, kind, None, _outcomes(names, heard, at, right))
    for player in data.runs:
        if player.buzzes is None:
            continue
        right = (player.correct[player.buzzes] >= 0.5).astype(float)
        outcomes = _outcomes(names, places[player.questions], places[player.question[player.buzzes]], right)
        yield BuzzOutcomes(player.run.run, "run", player.threshold, outcomes)


def _outcomes(names: Sequence[str | None], heard: Ints, at: Ints, right: Floats) -> list[CategoryOutcome]:
    """Count by category, from the numbers of the categories of questions heard and of buzzes."""
    counts = [np.bincount(cells, weights, len(names)) for cells, weights in ((heard, None), (at, right), (at, 1 - right))]
    return [
        CategoryOutcome(name, int(total), int(correct), int(incorrect), float(correct / incorrect) if incorrect else None)
        for name, total, correct, incorrect in zip(names, *counts, strict=True)
        if total
    ]


WORDS = (-20, -10, 0, 10, 20)  # words after the median


class Share(msgspec.Struct):
    """A share of questions, in [0, 1], with its 95 % interval; None where ``no_interval`` says why."""

    share: float
    low: float | None
    high: float | None
    no_interval: str | None = None


class CategoryShare(msgspec.Struct):
    """A share of the questions of one category; the category is None for questions without one."""

    category: str | None
    questions: int
    earlier: Share


class RunAndMedian(RunName):
    """A run against the median of people, on the questions that it answered and a human team heard.

    ``unanswered`` of these have no correct human buzz, so that any right buzz is before the median. ``earlier`` is the share on
    which the run's buzz is right and before the median, ``within`` the share on which it is right and at most so many words after
    it, for each of ``PeopleMedian.words``. ``missing`` says why there are no shares.
    """

    threshold: float | None
    questions: int
    unanswered: int
    earlier: Share | None
    within: list[Share]
    categories: list[CategoryShare]
    missing: str | None


class PeopleMedian(Answer):
    """Answer of ``/api/v1/buzz/median``. ``words`` are numbers of words after the median, negative before it."""

    missing: str | None
    words: list[int]
    runs: list[RunAndMedian]


def people_median(snapshot: Snapshot, selection: Selection, rules: Rules) -> PeopleMedian:
    """Return how often each run is right before the median of people, or within some words of it.

    The median of a question is that of its correct human buzzes, in words. Where people heard a question and none was right,
    there is none, and any right buzz is before it. A graded correctness counts with its value.
    """
    data = read_buzzing(snapshot, selection, rules)
    answer = PeopleMedian(*head(snapshot, selection), data.missing, [*WORDS], [])
    if data.missing:
        return answer
    names, category = question_categories(snapshot, selection, data.positions)
    medians = median_times(data.clue_table)
    units = read_units_at(snapshot, selection, data.positions)
    answer.runs = [_early(player, medians, names, category, units) for player in data.runs]
    return answer


def median_times(clue_table: ClueTable) -> Floats:
    """Return the median time of the correct human buzzes of each question, shape (questions,).

    A buzz during a word counts as half a word after the one before, and a buzz after the last word as at the end. inf where
    no team was right, NaN where none heard the question.
    """
    people = clue_table.teams.filter(team_kind="human")
    words = pl.Series(clue_table.words[people["question"].to_numpy()])
    time = pl.when(people["word"] >= words).then(words).otherwise(people["word"] + 0.5).cast(pl.Float64)
    right = people.select("question", time=pl.when(people["correct"]).then(time))
    of_questions = right.group_by("question").agg(pl.col("time").median().fill_null(np.inf))
    medians = np.full(len(clue_table.first), np.nan)
    medians[of_questions["question"].to_numpy()] = of_questions["time"].to_numpy()
    return medians


def _early(player: RunBuzzing, medians: Floats, names: Sequence[str | None], category: Ints, units: Units) -> RunAndMedian:
    heard = player.questions[player.heard]
    missing = None if len(heard) else NO_PEOPLE
    if player.buzzes is None:
        missing = missing or "no answer of the run has a score on the chosen scale"
    answer = RunAndMedian(
        *player.run,
        threshold=player.threshold,
        questions=len(heard),
        unanswered=int(np.isinf(medians[heard]).sum()),
        earlier=None,
        within=[],
        categories=[],
        missing=missing,
    )
    if missing or player.buzzes is None:
        return answer
    question = player.question[player.buzzes]
    late = player.clue_table.word_end[player.at[player.buzzes]] - medians[question]
    in_time = np.stack([late < 0, *(late <= words for words in WORDS)], axis=-1)
    right = np.zeros((len(medians), in_time.shape[1]))
    right[question] = in_time * player.correct[player.buzzes][:, None]
    answer.earlier, *answer.within = _shares(right, heard, units)
    for place, name in enumerate(names):
        part = heard[category[heard] == place]
        if len(part):
            answer.categories.append(CategoryShare(name, len(part), _shares(right[:, :1], part, units)[0]))
    return answer


def _shares(right: Floats, questions: Ints, units: Units) -> list[Share]:
    """Return the share of some questions in each column of ``right``, with intervals that hold for few or nearly all."""
    cluster = units.drawn[questions]
    sums, asked = (sum_by_place(column, cluster, units.drawn_from) for column in (right[questions], np.ones(len(questions))))
    clusters = len(np.unique(units.of_questions[questions]))
    low, high = bounded_mean_interval(sums, asked, 0.0, 1.0, len(questions) / clusters)
    shares = right[questions].mean(axis=0)
    return [
        Share(share, *((below, above) if np.isfinite(below) else (None, None, too_few_units(clusters, len(questions)))))
        for share, below, above in zip(shares.tolist(), low.tolist(), high.tolist(), strict=True)
    ]
