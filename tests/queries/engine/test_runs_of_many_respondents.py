"""Runs of respondents: each replicate is the metric of the questions and people drawn."""

import random

import numpy as np
import pytest

from clueline.data.store import open_store
from clueline.queries.engine.bootstrap import resampling_weights
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.recalibration import recalibration
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.bundle_factory import put, put_file, table, write

QUESTIONS = [f"q{index}" for index in range(14)]
PEOPLE = ["Ann", "Bo", "Cy", "Di", "Ed"]
SELECTION = Selection("poll", common=False)
REPLICATES = (0, 1, 500, 999)


@pytest.fixture(scope="module")
def polled(tmp_path_factory):
    """A store with a run of five people, each of whom left out some questions, and a run of a model."""
    chance, folder = random.Random(3), tmp_path_factory.mktemp("poll")
    rows = [
        {"question_id": name, "sample": person, "guess": "a", "confidence": chance.choice((0.05, 0.3, 0.62, 0.9, 1)),
         "correct": chance.choice((0, 1))}
        for name in QUESTIONS for person in PEOPLE if chance.random() < 0.7
    ]  # fmt: skip
    difficulty = [{"question_id": name, "answer": "a", "difficulty": round(chance.random(), 3)} for name in QUESTIONS]
    store = open_store(folder / "store", threads=1)
    facts = {"dataset": "poll", "kind": "single", "title": "Poll"}
    put(store, write(folder / "poll", facts, questions=table(difficulty), clues=None))
    put_file(store, folder / "people.csv", table(rows), dataset="poll", model="People", respondents=True)
    text = table([row | {"sample": ""} for row in {row["question_id"]: row for row in rows}.values()])
    put_file(store, folder / "model.csv", text, dataset="poll", model="Model")
    yield store.snapshot(), rows, {row["question_id"]: row["difficulty"] for row in difficulty}
    store.close()


def drawn(rows, difficulty, replicate, beside):
    """Return what a replicate draws: questions as often as drawn, each person's answers as often as that person was drawn.

    With ``beside``, copies of an answer, not of a question, are adjacent.
    """
    questions = resampling_weights(len(QUESTIONS))[replicate]
    answered = [person for person in sorted(PEOPLE) if any(row["sample"] == person for row in rows)]
    people = dict(zip(answered, resampling_weights(len(answered), stream=1)[replicate], strict=True))
    result = []
    for times, name in zip(questions, QUESTIONS, strict=True):
        part = sorted((row for row in rows if row["question_id"] == name), key=lambda row: row["sample"])
        copies = times if beside else 1
        items = [(row["confidence"], row["correct"], None) for row in part for _ in range(people[row["sample"]] * copies)]
        fold = int(reference.question_folds([name])[0])
        result += [reference.Answered(items, difficulty[name], [], fold)] * int(times > 0 if beside else times) if items else []
    return result


@pytest.mark.parametrize("binning", ["width10", "width10r", "mass15"])
def test_a_replicate_is_the_metric_of_what_is_drawn(polled, binning):
    snapshot, rows, difficulty = polled
    conventions = Conventions(binning=binning)
    evidence = gather(snapshot, SELECTION.replace(conventions=conventions), METRICS)
    tested = []
    for metric in METRICS:
        if metric.by_sample or "whole distribution" in metric.needs or (metric.cross_fitted and conventions.mass_bins):
            continue
        people = evidence.respondents[evidence.runs[0].run]
        values = people.draw(metric, "both")
        beside = metric.ordered or (metric.binned and conventions.mass_bins)
        for replicate in REPLICATES:
            expected = reference.METRICS[metric.key](drawn(rows, difficulty, replicate, beside), evidence.conventions)
            assert values[replicate] == pytest.approx(expected, abs=1e-9, nan_ok=True), (metric.key, replicate)
        tested.append(metric.key)
    assert {"brier", "ece", "auroc", "hard_easy_slope", "overconfidence"} <= set(tested)


def test_metrics_of_questions_are_means_over_the_people_drawn(polled):
    snapshot, rows, _ = polled
    metric = CATALOGUE["grace_mce"]
    evidence = gather(snapshot, SELECTION, [metric])
    values = evidence.respondents[evidence.runs[0].run].draw(metric, "both")
    people = sorted(PEOPLE)
    for replicate in REPLICATES:
        weights = resampling_weights(len(people), stream=1)[replicate]
        means = []
        for times, name in zip(resampling_weights(len(QUESTIONS))[replicate], QUESTIONS, strict=True):
            part = [row for row in rows if row["question_id"] == name]
            answered = [[reference.Answered([(row["confidence"], row["correct"], None)])] for row in part]
            values_of_rows = [reference.METRICS["grace_mce"](answer, evidence.conventions) for answer in answered]
            of_people = np.repeat(values_of_rows, [weights[people.index(row["sample"])] for row in part])
            means += [np.mean(of_people)] * int(times) if len(of_people) else []
        assert values[replicate] == pytest.approx(np.mean(means))


def test_the_spread_is_that_of_questions_and_people(polled):
    snapshot, _, _ = polled
    evidence = gather(snapshot, SELECTION, METRICS)
    people = evidence.respondents[evidence.runs[0].run]
    for metric in (CATALOGUE["brier"], CATALOGUE["auroc"], CATALOGUE["grace_mce"], CATALOGUE["hard_easy_slope"]):
        variance = {kind: np.nanvar(people.draw(metric, kind)) for kind in ("both", "questions", "people", "answers")}
        wanted = max(variance["questions"], variance["people"], variance["questions"] + variance["people"] - variance["answers"])
        assert np.nanvar(evidence.replicates(metric)[:, 0]) == pytest.approx(min(wanted, variance["both"]))


def test_only_the_run_of_people_differs(polled):
    snapshot, _, _ = polled
    evidence = gather(snapshot, SELECTION, METRICS)
    alone = gather(snapshot, SELECTION.replace(model=("Model",)), METRICS)
    assert list(evidence.respondents) == [evidence.runs[0].run]
    for metric in (CATALOGUE["brier"], CATALOGUE["auroc"], CATALOGUE["hard_easy_slope"]):
        assert evidence.replicates(metric)[:, 1] == pytest.approx(alone.replicates(metric)[:, 0], nan_ok=True)
        low, high, _, methods = metric_intervals(evidence, metric)
        assert low[0] <= evidence.values(metric)[0] <= high[0]
        of_model = "jackknife" if metric.key == "hard_easy_slope" else "extra question"  # the model answered 14 questions
        assert methods == ("bootstrap", of_model)


def test_fewer_questions_keep_their_people(polled):
    snapshot, rows, _ = polled
    evidence = gather(snapshot, SELECTION, [CATALOGUE["brier"]])
    part = evidence.select_rows(np.isin(evidence.questions, QUESTIONS[:7]))
    cells = part.respondents[part.runs[0].run].cells
    assert len(cells.places) == sum(row["question_id"] in QUESTIONS[:7] for row in rows)


def test_views_with_people(polled):
    snapshot, _, _ = polled
    board = leaderboard(snapshot, SELECTION, [metric for metric in METRICS if metric.key in ("brier", "ece", "overconfidence")])
    assert [row.model for row in board.rows] == ["People", "Model"]
    again = recalibration(snapshot, SELECTION, "platt", [CATALOGUE["brier"]])
    assert all(run.metrics["brier"].after is not None for run in again.runs)
