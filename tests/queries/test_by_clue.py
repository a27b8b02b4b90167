"""Curves by clue against the rows themselves, on a board whose runs skipped clues and whose last questions nobody heard."""

import math

import pytest

from clueline.queries.breakdown import breakdown, breakdown_fields
from clueline.queries.by_clue import KNOWN, by_clue, people_know
from clueline.queries.engine.parts_of_questions import MAX_CLUES, offered_parts
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.findings import simultaneous_interval
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.selection import Selection

EVERY_RUN = Selection("relay", common=False)
SELECTIONS = [
    Selection("relay"),
    EVERY_RUN,
    EVERY_RUN.replace(category=("History",)),
    EVERY_RUN.replace(revealed=(0.1, 0.7)),
    EVERY_RUN.replace(conventions=Conventions(human="survival")),
    Selection("relay", common=True),
]
METRICS = [CATALOGUE[key] for key in ("mean_confidence", "accuracy_scored", "overconfidence")]


def part_of(rows, question, clue, by):
    if by == "clue":
        return str(clue + 1)
    revealed = rows.clues[question, clue]["revealed"]
    fifth = next(k for k in range(1, 6) if revealed <= k / 5)
    return f"{(fifth - 1) / 5 or 0:g}..{fifth / 5:g}"


def mean(values):
    return math.fsum(values) / len(values) if values else None


@pytest.mark.parametrize("by", ["clue", "revealed"])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_each_point_is_the_mean_of_its_rows(snapshot, rows, selection, by):
    result = by_clue(snapshot, selection, by)
    curve, low_and_high = selection.conventions.human or "buzz_share", selection.revealed or (0, 1)
    kept = {question["question_id"] for question in rows["relay"].kept_questions(selection)}
    answered = {run.run: {place[1:] for place in rows["relay"].responses if place[0] == run.run} for run in result.runs}
    common = set.intersection(*answered.values()) if selection.common else None
    assert result.runs and result.human == curve
    for run in result.runs:
        parts = {}
        for question, clue in sorted(answered[run.run]):
            inside = low_and_high[0] <= rows["relay"].clues[question, clue]["revealed"] <= low_and_high[1]
            if question in kept and inside and (common is None or (question, clue) in common):
                parts.setdefault(part_of(rows["relay"], question, clue, by), []).append((question, clue))
        assert {point.part: point.items for point in run.points} == {part: len(places) for part, places in parts.items()}
        assert [point.number for point in run.points] == sorted(point.number for point in run.points)
        for point in run.points:
            places = parts[point.part]
            given = [rows["relay"].responses[(run.run, *place)] for place in places]
            known = [(rows["relay"].curves.get(place) or {}).get(curve) for place in places]
            heard = [(place, h) for place, h in zip(places, known, strict=True) if h is not None]
            assert point.mean_confidence == pytest.approx(mean([row["confidence"] for row in given]), abs=1e-12)
            assert point.accuracy_scored == pytest.approx(mean([row["correct"] for row in given]), abs=1e-12)
            assert point.overconfidence == pytest.approx(point.mean_confidence - point.accuracy_scored, abs=1e-12)
            people = mean([h for _, h in heard])
            assert point.people == (None if people is None else pytest.approx(people, abs=1e-12))
            assert point.questions == len({question for question, _ in places})
            assert point.heard == len({question for (question, _), _ in heard})
            assert ("people" in point.missing) == (not heard)


@pytest.mark.parametrize("by", ["clue", "revealed"])
def test_first_and_worst_part_before_people_know(bundled, by):
    result = by_clue(bundled, Selection("pyramid"), by)
    tests = sum(len(run.points) for run in result.runs)
    badness = []
    for run in result.runs:
        early = [point for point in run.points if not (point.people is not None and point.people >= KNOWN)]
        assert [point for point in run.points if not people_know(point)] == early
        over = []
        for point in early:
            if point.overconfidence > 0:
                ends_of_point = {"low": point.overconfidence_low, "high": point.overconfidence_high}
                cell = MetricCell(point.overconfidence, None, point.questions, **ends_of_point)
                ends = simultaneous_interval(cell, CATALOGUE["overconfidence"], tests)
                over.append((point, ends, ends[0] > 0))
        told = [place for place in over if place[2]] or over
        if not told:
            assert run.first is None is run.worst
            continue
        worst = max(told, key=lambda place: place[0].overconfidence)
        assert (run.first.number, run.worst.number) == (told[0][0].number, worst[0].number)
        assert (run.worst.low, run.worst.high, run.worst.shown) == (*worst[1], worst[2])
        badness.append((run.worst.shown, run.worst.overconfidence))
    assert badness == sorted(badness, reverse=True) and len(badness) > 3


def test_intervals_are_those_of_the_leaderboard_with_the_filter(bundled):
    """The first fifth of the questions is what the filter keeps."""
    points = {run.run: run.points[0] for run in by_clue(bundled, Selection("pyramid"), "revealed").runs}
    rows = leaderboard(bundled, Selection("pyramid", revealed=(0.0, 0.2)), METRICS, METRICS).rows
    assert {row.run for row in rows} == {*points} and {point.part for point in points.values()} == {"0..0.2"}
    for row in rows:
        for key, cell in row.metrics.items():
            ends = [getattr(points[row.run], f"{key}{end}") for end in ("", "_low", "_high")]
            assert ends == pytest.approx([cell.value, cell.low, cell.high], abs=1e-12)


@pytest.mark.parametrize("by", ["clue", "revealed"])
def test_a_part_of_a_breakdown_has_the_same_values(snapshot, by):
    curves = {run.run: {point.part: point for point in run.points} for run in by_clue(snapshot, EVERY_RUN, by).runs}
    parts = breakdown(snapshot, EVERY_RUN, by, METRICS, intervals=True).parts
    assert [part.value for part in parts] == sorted({part for run in curves.values() for part in run})
    for part in parts:
        assert {row.run for row in part.rows} == {run for run, points in curves.items() if part.value in points}
        for row in part.rows:
            point, cells = curves[row.run][part.value], row.metrics
            assert (point.items, point.questions) == (row.items, row.questions)
            assert (
                point.mean_confidence == cells["mean_confidence"].value
                and point.accuracy_scored == cells["accuracy_scored"].value
            )
            gap = cells["overconfidence"]
            assert (point.overconfidence, point.overconfidence_low) == (gap.value, gap.low)


@pytest.mark.parametrize(("by", "key"), [("clue", "clue"), ("revealed", "fifth")])
@pytest.mark.parametrize("selection", SELECTIONS)
def test_the_list_behind_a_mark_has_its_answers(snapshot, selection, by, key):
    for run in by_clue(snapshot, selection, by).runs:
        for point in run.points:
            listed = items(snapshot, selection, focus=(run.run,), limit=1000, **{key: point.number})
            assert listed.total == point.items
            assert mean([item.confidence for item in listed.items]) == pytest.approx(point.mean_confidence, abs=1e-12)
            assert by != "clue" or {item.clue + 1 for item in listed.items} == {point.number}


def test_what_divides_questions(offered):
    assert offered_parts(MAX_CLUES) == ("clue", "revealed") and offered_parts(MAX_CLUES + 1) == ("revealed",)
    assert {"clue", "revealed"} <= {*breakdown_fields(offered["relay"])}
    assert {"clue", "revealed"}.isdisjoint(breakdown_fields(offered["spans"]))
