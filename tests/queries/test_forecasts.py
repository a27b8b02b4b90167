"""Forecasts, from a table to the leaderboard, the reliability diagram and /decide, against plain numpy."""

import numpy as np
import pytest

from clueline.data.importing.report import Refused
from clueline.data.store import open_store
from clueline.queries.breakdown import unsolved
from clueline.queries.decide import decide
from clueline.queries.engine.bootstrap import MAX_CLUSTERS
from clueline.queries.engine.gather import gather
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.question import question
from clueline.queries.questions import ordered_questions
from clueline.queries.reliability import reliability, triptych
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers import reference_metrics as reference
from tests.helpers.bundle_factory import put, put_file, rows, write

FORECASTERS, QUESTIONS, BASE_RATE, ACCURACY = 8, 400, 0.453, 0.74
EXACT = 1e-12
SIMULATED = Selection("simulated")


def simulate():
    """Return probabilities of yes, shape (forecasters, questions), and outcomes, shape (questions,).

    Each forecaster knows the likelier side of a question with the true accuracy, and states a probability with two decimals.
    """
    chance = np.random.default_rng(453)
    outcome = (np.arange(QUESTIONS) < round(BASE_RATE * QUESTIONS)).astype(float)
    right = chance.random((FORECASTERS, QUESTIONS)) < ACCURACY
    confidence = np.round(chance.uniform(0.5, 0.98, right.shape), 2)
    return np.round(np.where(right == (outcome == 1), confidence, 1 - confidence), 2), outcome


PROBABILITY, OUTCOME = simulate()


def table(probability, outcome, names=None):
    lines = ["question_id,model,probability,outcome,category"]
    for forecaster, stated in enumerate(probability):
        lines += [
            f"q{place},{names[forecaster] if names else f'm{forecaster:02}'},{p!r},{o!r},{'ab'[place % 2]}"
            for place, (p, o) in enumerate(zip(stated.tolist(), outcome.tolist(), strict=True))
        ]
    return "\n".join(lines) + "\n"


def put_table(store, folder, probability, outcome, dataset="simulated", **options):
    return put_file(store, folder / f"{dataset}.csv", table(probability, outcome), dataset=dataset, **options)


def asked(importing, folder):
    questions = "question_id,answer\na,no\nb,no\nc,yes\nd,0.5\n"
    facts = {"dataset": "asked", "kind": "forecast"}
    return importing(folder / "store", write(folder / "asked", facts, questions=questions, clues=None))


@pytest.fixture
def store(prefilled):
    return prefilled(asked)


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory):
    folder = tmp_path_factory.mktemp("forecasts")
    store = open_store(folder / "store")
    put_table(store, folder, PROBABILITY, OUTCOME)
    return store.snapshot()


@pytest.fixture(scope="module")
def board(snapshot):
    return leaderboard(snapshot, SIMULATED, METRICS, True)


def sides(p, o):
    """Return confidence and correctness of the likelier side."""
    return np.maximum(p, 1 - p).round(12), np.where(p == 0.5, 0.5, (p > 0.5) == (o == 1))


def net(c, y, t):
    return np.where(c > t, y - t / (1 - t) * (1 - y), 0).mean()


OF_FORECASTS = ("brier", "log_score", "overconfidence", "mean_confidence", "ece", "auroc", "uncertainty", "brier_skill")
OF_LIKELIER_SIDES = ("accuracy", "net_score", "r_over", "r_under", "aurc")


def expected(key, p, o):
    """Return a metric by its definition, over the forecasts of yes or over the likelier sides."""
    c, y = (p, o) if key in OF_FORECASTS else sides(p, o)
    items = [(*pair, None) for pair in zip(c.tolist(), np.asarray(y, float).tolist(), strict=True)]
    return reference.METRICS[key]([reference.Answered(items)], Conventions())


def test_each_metric_reads_its_side(board):
    assert (PROBABILITY == 0.5).any(), "a half is half right"
    for key in (*OF_FORECASTS, *OF_LIKELIER_SIDES):
        values = [row.metrics[key].value for row in board.rows]
        assert values == pytest.approx([expected(key, p, OUTCOME) for p in PROBABILITY], abs=EXACT), key


def test_every_metric_has_its_interval(board):
    for row in board.rows:
        for key, cell in row.metrics.items():
            if cell.value is not None and key != "residual" and not CATALOGUE[key].no_interval:
                assert cell.low is not None and cell.low <= cell.value <= cell.high, key
    contained = [row.metrics["accuracy"].low <= ACCURACY <= row.metrics["accuracy"].high for row in board.rows]
    assert sum(contained) >= 6


def test_no_is_credited_at_every_threshold(snapshot):
    runs = {run.model: run for run in decide(snapshot, SIMULATED).runs}
    for name, p in zip(sorted(runs), PROBABILITY, strict=True):
        c, y = sides(p, OUTCOME)
        run = runs[name]
        assert run.net_score.values[90] == pytest.approx(net(c, y, 0.9), abs=EXACT)
        assert run.answered[70] == pytest.approx((c > 0.7).mean(), abs=EXACT)
        assert run.risks[-1] == pytest.approx(1 - y.mean(), abs=EXACT)
        t = 0.3
        scores = 2 * (t * (p > t) * (1 - OUTCOME) + (1 - t) * (p <= t) * OUTCOME)
        assert run.murphy[30] == pytest.approx(scores.mean(), abs=EXACT)
    for t in (0.5, 0.9):
        board = leaderboard(snapshot, SIMULATED.replace(conventions=Conventions(t=t)), [CATALOGUE["net_score"]], True)
        for row in board.rows:
            cell, curve, place = row.metrics["net_score"], runs[row.model].net_score, round(100 * t)
            assert (cell.value, cell.low, cell.high) == pytest.approx(
                (curve.values[place], curve.low[place], curve.high[place]), abs=EXACT
            )


def test_the_diagram_is_that_of_the_forecasts(snapshot):
    diagrams = {run.model: run for run in reliability(snapshot, SIMULATED).runs}
    for name, p in zip(sorted(diagrams), PROBABILITY, strict=True):
        low = np.round(p, 9) < 0.1
        first = diagrams[name].bins[0]
        assert first.items == low.sum() > 0
        assert (first.mean_confidence, first.accuracy) == pytest.approx((p[low].mean(), OUTCOME[low].mean()), abs=EXACT)
    drawn = triptych(snapshot, SIMULATED).runs[0]
    assert drawn.auroc == pytest.approx(expected("auroc", PROBABILITY[0], OUTCOME), abs=EXACT)


def test_difficulty_is_of_the_other_likelier_sides(snapshot):
    right = np.array([sides(p, OUTCOME)[1] for p in PROBABILITY])
    shown = rows_of(snapshot, "select difficulty from questions order by position")
    assert shown == pytest.approx(1 - right.mean(axis=0), abs=1e-11)
    points = difficulty(snapshot, SIMULATED).runs[0].points
    of_question = {point.question_id: point.difficulty for point in points}
    others = 1 - right[1:].mean(axis=0)
    assert all(of_question[name] == pytest.approx(others[int(name[1:])], abs=1e-11) for name in of_question)


def rows_of(snapshot, sql):
    return [value for (value,) in snapshot.rows(sql)]


def test_no_question_that_somebody_foresaw_is_unsolved(snapshot):
    right = np.array([sides(p, OUTCOME)[1] for p in PROBABILITY])
    assert {row.question_id for row in unsolved(snapshot, SIMULATED).questions} == {
        f"q{place}" for place in np.flatnonzero((right == 0).all(axis=0))
    }


def test_single_answers_are_those_of_the_likelier_side(snapshot):
    c, y = sides(PROBABILITY[0], OUTCOME)
    run = rows_of(snapshot, "select run from runs where model = 'm00'")[0]
    for name in ("q0", "q1", "q399"):
        shown = next(answers for answers in question(snapshot, SIMULATED, name).runs if answers.run == run)
        place = int(name[1:])
        assert (shown.clues[0].confidence, shown.clues[0].correct) == pytest.approx((c[place], y[place]), abs=EXACT)
        assert shown.clues[0].guess == ("yes" if PROBABILITY[0][place] >= 0.5 else "no")
    ordered = ordered_questions(snapshot, SIMULATED, f"-wrong:{run}")
    wrong = (1 - y) * c
    assert ordered.values == pytest.approx(sorted(wrong, reverse=True), abs=EXACT)
    assert ordered.values[0] == pytest.approx(wrong[int(ordered.questions[0][1:])], abs=EXACT)


def test_shares_have_no_accuracy(store, tmp_path):
    p, o = np.array([[0.2, 0.9, 0.5, 0.6]]), np.array([0.0, 1.0, 1.0, 0.25])
    put_table(store, tmp_path, p, o)
    snapshot = store.snapshot()
    (row,) = leaderboard(snapshot, SIMULATED, METRICS, True).rows
    assert row.metrics["accuracy"].value is None and "shares" in row.metrics["accuracy"].missing
    assert row.metrics["brier"].value == pytest.approx(((p[0] - o) ** 2).mean(), abs=EXACT)
    assert row.metrics["uncertainty"].value == pytest.approx(o.var(), abs=EXACT)
    parts = [row.metrics[key].value for key in ("reliability", "resolution", "uncertainty", "residual")]
    assert np.dot(parts, [1, -1, 1, 1]) == pytest.approx(row.metrics["brier"].value, abs=EXACT)
    y = np.array([1, 1, 0.5, 0.25])
    assert row.metrics["net_score"].value == pytest.approx(net(np.maximum(p[0], 1 - p[0]), y, 0.5), abs=EXACT)


def test_a_failed_call_is_no_forecast(snapshot):
    with pytest.raises(BadRequest, match="has no probability of yes"):
        read_selection([("failed", "1")], lambda dataset: read_facets(snapshot, dataset))


def test_many_questions_are_summed_alike(store, tmp_path):
    repeat = 1 + MAX_CLUSTERS // QUESTIONS
    p, o = np.tile(PROBABILITY[:2], repeat), np.tile(OUTCOME, repeat)
    put_table(store, tmp_path, p, o)
    keys = ("brier", "accuracy", "hmr", "uncertainty", "overconfidence", "ece")
    metrics = [CATALOGUE[key] for key in keys]
    assert gather(store.snapshot(), SIMULATED, metrics).stored
    for row, stated in zip(leaderboard(store.snapshot(), SIMULATED, metrics, True).rows, p, strict=True):
        for key in ("brier", "accuracy", "uncertainty", "overconfidence", "ece"):
            cell = row.metrics[key]
            assert cell.value == pytest.approx(expected(key, stated, o), abs=EXACT)
            assert cell.low <= cell.value <= cell.high and cell.low < cell.high


def test_answers_of_yes_and_no_are_forecasts(store, tmp_path):
    """Of no, one minus the confidence; grades that a file states turn with the guess; a table needs no outcomes again."""
    for name, text, options in (
        ("answers", "question_id,guess,confidence\na,no,0.93\nb,Yes,0.6\nc,,0.2\nd,error,\n", {}),
        ("graded", "question_id,guess,confidence,correct,correct.other\na,no,0.93,1,0\nb,yes,0.6,0,0\n", {}),
        ("later", "question_id,probability\na,25\nb,\n", {"percent": True}),
    ):
        put_file(store, tmp_path / f"{name}.csv", text, dataset="asked", model=name, **options)
    sql = "select model, question_id, guess, confidence, correct, r.failed from responses r join runs using (run) order by 1, 2"
    assert rows(store, sql) == [
        ("answers", "a", "yes", 0.07, 0.0, False), ("answers", "b", "yes", 0.6, 0.0, False),
        ("answers", "c", "yes", 0.2, 1.0, False), ("answers", "d", None, 0.0, 0.0, True),
        ("graded", "a", "yes", 0.07, 0.0, False), ("graded", "b", "yes", 0.6, 0.0, False),
        ("later", "a", "yes", 0.25, 0.0, False), ("later", "b", None, 0.0, 0.0, True),
    ]  # fmt: skip
    other = store.snapshot().with_grading("other")
    runs = [run for (run,) in other.rows("select run from runs where model = 'graded'")]
    assert other.rows(f"select correct from {other.responses(runs)} order by question_id") == [(1.0,), (0.0,)]


REFUSED = {
    "question_id,guess,confidence\na,perhaps,0.5\n": "a forecast says yes or no",
    "question_id,probability\nz,0.5\n": "no such question in dataset asked",
    "question_id,probability,outcome\na,0.5,1\n": "has a different answer in dataset 'asked'",
    "question_id,probability,outcome\na,50,0\n": "must lie in [0, 1]",
    "question_id,probability,outcome\na,0.5,0\na,0.5,1\n": "has a different answer at line 2",
}


def test_what_cannot_be_a_forecast_is_refused(store, tmp_path):
    for text, reason in REFUSED.items():
        with pytest.raises(Refused) as refused:
            put_file(store, tmp_path / "answers.csv", text, dataset="asked", model="m")
        assert any(reason in problem.reason for problem in refused.value.problems), refused.value.problems
    put(store, write(tmp_path / "toy"))
    other = {
        "toy": ("q1", "'toy' is of kind incremental, whose answers have a confidence"),
        "new": ("a", "a new dataset needs outcomes"),
    }
    for dataset, (name, reason) in other.items():
        with pytest.raises(Refused, match=reason):
            put_file(store, tmp_path / "new.csv", f"question_id,probability\n{name},0.25\n", dataset=dataset, model="m")
