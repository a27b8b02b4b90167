"""Answers without a confidence, unparsed answers, abstentions and failed calls: what each counts for."""

import itertools

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from clueline.data.importing.report import Refused
from clueline.data.recalibration_maps import folds_of_questions
from clueline.data.store import open_store
from clueline.queries.breakdown import breakdown
from clueline.queries.engine.common_questions import coverage
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.metrics.axioms import value_of_items
from clueline.queries.metrics.kernels.bounds import mean_bounds
from clueline.queries.rankings import agreement
from clueline.queries.reliability import reliability
from clueline.queries.runs import first_responses, responses
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import put, put_file, records, rows, write

SHOWN = [CATALOGUE[key] for key in ("brier", "net_score", "accuracy", "attempted", "accuracy_attempted", "auroc", "ece")]
HEAD = "question_id,guess,confidence,correct,state\n"
# Of ten questions: five answered (three right), one without a confidence (right), one unparsed, two abstentions, one failed call.
MIXED = """q0,a,0.9,1,
q1,a,0.8,1,answered
q2,a,0.7,1,
q3,b,0.6,0,
q4,b,0.2,0,
q5,a,NaN,1,
q6,%%,,,unparsed
q7,IDK,,,abstained
q8,,,0,abstained
q9,,,,failed
"""


def answers(right, confidence=0.7, states=None):
    """Return rows of CSV: one for each question, with the states given by number of the question."""
    states = states or {}
    return "".join(
        f"q{number},x,{'' if number in states else confidence},{int(y)},{states.get(number, '')}\n"
        for number, y in enumerate(right)
    )


def lacking(count, state="no_confidence"):
    return dict.fromkeys(range(count), state)


RIGHT = np.random.default_rng(3).permutation(1000)
# Rows of CSV by model for each dataset of single questions, with the number of its questions.
DATASETS = {
    "states": (10, {"mixed": MIXED, "full": answers([1] * 5 + [0] * 5)}),
    # Three models, of which one states no confidence where it is mostly wrong: it is right in .28 of 350 and .885 of 650.
    "vague": (1000, {
        "best": answers(RIGHT < 749, 0.8),
        "vague": answers(np.r_[np.arange(350) < 98, np.arange(650) < 575], 0.9, lacking(350)),
        "last": answers(RIGHT < 614, 0.7),
    }),
    "silent": (8, {"silent": answers([1, 1] + [0] * 6, states=lacking(8)), "full": answers([1] * 4 + [0] * 4)}),
    "shy": (100, {
        "shy": answers(np.arange(100) >= 30, states=lacking(30, "abstained")),
        "full": answers(np.arange(100) % 2 == 0),
        "few": answers(np.ones(100), states=lacking(5, "abstained")),
    }),
    "half": (100, {
        "vague": answers(np.arange(100) < 60, states=lacking(50)),
        "full": answers(np.arange(100) < 55),
        "worse": answers(np.arange(100) >= 40),
    }),
}  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    """A store with ``DATASETS``, and the report of the import."""
    folder, bundles = tmp_path_factory.mktemp("states"), []
    for name, (questions, runs) in DATASETS.items():
        table = "question_id\n" + "".join(f"q{number}\n" for number in range(questions))
        text = f"model,{HEAD}" + "".join(f"{model},{line}\n" for model, lines in runs.items() for line in lines.splitlines())
        bundles.append(write(folder / name, {"dataset": name, "kind": "single"}, questions=table, clues=None, responses=text))
    store = open_store(folder / "store", threads=2)
    return store, put(store, *bundles)


@pytest.fixture(scope="module")
def snapshot(filled):
    return filled[0].snapshot()


def board_of(snapshot, dataset, metrics=SHOWN, **selection):
    return {row.model: row for row in leaderboard(snapshot, Selection(dataset, **selection), metrics).rows}


def test_each_metric_counts_its_states(filled, snapshot):
    store, report = filled
    counted = (
        "5 items of 9 questions imported; 1 question not answered; "
        "1 answer without a confidence, 1 unparsed answer, 2 abstentions and 1 failed call"
    )
    assert [line for line in report.lines if line.endswith(counted)]
    counts = (
        "select items, questions, missing_questions, no_confidence, unparsed, abstained, failed from runs where model = 'mixed'"
    )
    assert rows(store, counts) == [(5, 9, 1, 1, 1, 2, 1)]
    row = board_of(snapshot, "states", common=False)["mixed"]
    value = {key: cell.value for key, cell in row.metrics.items()}
    assert value["brier"] == pytest.approx((0.01 + 0.04 + 0.09 + 0.36 + 0.04) / 5)
    assert value["accuracy"] == pytest.approx(4 / 9) and value["attempted"] == pytest.approx(7 / 9)
    assert value["accuracy_attempted"] == pytest.approx(4 / 7)
    assert value["net_score"] == pytest.approx((3 - 1) / 7)  # answered above 1/2, and two abstentions
    assert (row.items, row.no_confidence, row.unparsed, row.abstained, row.failed) == (5, 1, 1, 2, 1)
    failed = board_of(snapshot, "states", common=False, failed=True)["mixed"].metrics
    failed = {key: cell.value for key, cell in failed.items()}
    assert failed["accuracy"] == pytest.approx(4 / 10) and failed["net_score"] == pytest.approx(2 / 8)
    assert failed["attempted"] * failed["accuracy_attempted"] == pytest.approx(failed["accuracy"])
    assert failed["brier"] == value["brier"] and failed["auroc"] == value["auroc"], "failed calls have no confidence"


def test_who_lacks_confidences_is_ranked_by_accuracy_only(snapshot):
    """The order by accuracy is the true one."""
    truth = {"best": 0.749, "vague": 0.673, "last": 0.614}
    board = board_of(snapshot, "vague")
    assert {name: row.metrics["accuracy"].value for name, row in board.items()} == pytest.approx(truth)
    assert [board[name].metrics["accuracy"].rank for name in truth] == [1, 2, 3]
    assert [board[name].metrics["brier"].rank for name in truth] == [1, None, 2]
    assert not board["vague"].ranked and board["vague"].unranked == "35 % of answers lack a confidence"
    assert board["last"].metrics["brier"].questions == 1000, "others are measured on everything"
    assert board_of(snapshot, "vague", [CATALOGUE["accuracy"]])["vague"].ranked
    apart = board_of(snapshot, "vague", common=False)
    assert not apart["vague"].ranked and apart["best"].ranked


def test_bounds_are_shown_where_confidences_lack(snapshot):
    board = board_of(snapshot, "states")
    cells = board["mixed"].metrics
    brier = cells["brier"]
    assert (brier.bound_low, brier.bound_high) == (pytest.approx(0.54 / 7), pytest.approx(2.54 / 7))
    assert cells["ece"].no_bounds == "no bounds" and cells["ece"].bound_low is None
    assert cells["auroc"].bound_low < cells["auroc"].bound_high
    assert cells["net_score"].bound_low == pytest.approx((2 - 1) / 9) and cells["net_score"].bound_high == pytest.approx(3 / 9)
    assert cells["accuracy"].bound_low is None and cells["accuracy"].no_bounds is None
    assert board["full"].metrics["brier"].bound_low is None

    row = board_of(snapshot, "silent")["silent"]  # a run without any confidence
    assert row.metrics["accuracy"].value == 0.25 and row.metrics["accuracy"].rank == 2 and not row.ranked
    assert row.metrics["brier"].value is None and row.metrics["brier"].missing
    assert (row.metrics["brier"].bound_low, row.metrics["brier"].bound_high) == (0, 1)
    only = board_of(snapshot, "silent", [CATALOGUE["brier"]])["silent"]
    assert (only.metrics["brier"].bound_low, only.metrics["brier"].bound_high, only.ranked) == (0, 1, False)


def test_abstaining_much_is_not_answering(snapshot):
    board = board_of(snapshot, "shy")
    row = board["shy"]
    assert row.unranked == "30 % of answers are abstentions" and row.metrics["accuracy"].rank is None
    assert row.metrics["accuracy"].value == 0.7 and row.metrics["attempted"].value == 0.7
    few = board["few"].metrics
    assert few["accuracy"].value == 0.95 and few["accuracy"].rank == 1, "abstentions count on the common questions, too"
    assert few["brier"].questions == 95


def test_other_views_count_the_same(snapshot):
    alone = Selection("half", model=("vague",))
    (part,) = breakdown(snapshot, alone, "category", SHOWN).parts
    (row,) = part.rows
    assert row.metrics["brier"].value is not None and row.metrics["brier"].rank is None and row.metrics["accuracy"].rank == 1
    (part,) = breakdown(snapshot, Selection("half"), "category", SHOWN).parts
    assert {row.model: row.metrics["accuracy"].value for row in part.rows} == {"full": 0.55, "worse": 0.6, "vague": 0.6}
    assert list(coverage(snapshot, Selection("half")).apart.values()) == ["50 % of answers lack a confidence"]
    assert agreement(snapshot, Selection("half"), [CATALOGUE["accuracy"], CATALOGUE["brier"]]).pairs[0].runs == 2


BOUNDED = [metric for metric in METRICS if metric.extremes or metric.bounds]


def bounds(metric, confidence, correct, lacking, conventions):
    if metric.bounds:
        return metric.bounds(confidence, correct, lacking)
    known = value(metric, confidence, correct, conventions) if len(confidence) else np.nan
    return mean_bounds(known, len(confidence), *metric.extremes(lacking, conventions))


def value(metric, confidence, correct, conventions):
    return value_of_items(metric, np.stack([confidence, correct], axis=1), conventions)


@pytest.mark.parametrize("metric", BOUNDED, ids=lambda metric: metric.key)
def test_bounds_equal_those_of_every_confidence(metric):
    """Eight items, of which up to three lack a confidence: no confidences give less or more, and some give exactly that."""
    draw = np.random.default_rng(8)
    for trial in range(12):
        count = 1 + trial % 3
        confidence = draw.choice([0.0, 0.15, 0.5, 0.5, 0.85, 1.0], 8 - count)
        y = draw.random(8) if trial >= 6 else draw.integers(0, 2, 8).astype(float)
        correct, lacking = y[count:], y[:count]
        conventions = Conventions(t=0.5 if trial % 2 else 0.75)
        # Metrics of pairs depend on the order of confidences only.
        edges = np.unique(np.r_[0, 1, confidence] if metric.bounds else np.r_[0, 0.15, 0.5, 0.75, 1, confidence, lacking])
        steps = [low + (high - low) * k / (count + 1) for low, high in itertools.pairwise(edges) for k in range(1, count + 1)]
        grid = np.r_[edges, steps]
        # Each item of a mean can be chosen by itself; pairs of items are tried together.
        tried = itertools.product(grid, repeat=count) if metric.bounds else ([c] * count for c in grid)
        low, high = bounds(metric, confidence, correct, lacking, conventions)
        if metric.bounds:  # the AUROC of all of them at once: weights of pairs of two items, of which ties are half won
            c = np.array([[*stated, *confidence] for stated in tried])
            pairs = np.outer(y, 1 - y) * (1 - np.eye(8))
            won = ((c[:, :, None] > c[:, None]) + (c[:, :, None] == c[:, None]) / 2) * pairs
            values = won.sum(axis=(1, 2)) / pairs.sum() if pairs.any() else np.array([np.nan])
            expected = values.min(), values.max()
        else:
            alone = np.array([[value(metric, np.array([c]), np.array([one]), conventions) for c in grid] for one in lacking])
            known = value(metric, confidence, correct, conventions) * len(confidence)
            expected = (known + alone.min(axis=1).sum()) / 8, (known + alone.max(axis=1).sum()) / 8
        assert (low, high) == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert len(BOUNDED) == 8


ORDER = [CATALOGUE[key] for key in ("auroc", "aurc", "accuracy_at_50", "prr", "accuracy")]
# From sure to unsure: right; a tie of one right and one wrong; right, wrong, wrong.
UNCERTAINTIES = [("-1", 1), ("0.1", 1), ("0.1", 0), ("2", 1), ("5", 0), ("3e2", 0)]


def score_bundle(folder, scores, column="uncertainty", **more):
    """Write a dataset, named as the folder, with scores as answers of the model ``unsure``, and further files."""
    table = "question_id\n" + "".join(f"q{n}\n" for n in range(len(scores)))
    lines = "".join(f"unsure,q{n},x,{y},{score}\n" for n, (score, y) in enumerate(scores))
    text = f"model,question_id,guess,correct,{column}\n{lines}"
    return write(folder, {"dataset": folder.name, "kind": "single"}, questions=table, clues=None, responses=text, **more)


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """A store with scores as certainties and uncertainties, beside a run with their ranks as confidences, and one blank."""
    folder, ranks = tmp_path_factory.mktemp("scored"), {"-1": 0.9, "0.1": 0.8, "2": 0.3, "5": 0.2, "3e2": 0.1}
    lines = "".join(f"sure,q{n},x,{y},{ranks[score]}\n" for n, (score, y) in enumerate(UNCERTAINTIES))
    sure = {"responses/sure": f"model,question_id,guess,correct,confidence\n{lines}"}
    bundles = [
        score_bundle(folder / "uncertainty", UNCERTAINTIES),
        score_bundle(folder / "certainty", [(-float(score), y) for score, y in UNCERTAINTIES], "certainty"),
        score_bundle(folder / "beside", UNCERTAINTIES, **sure),
        score_bundle(folder / "blank", [*UNCERTAINTIES, ("", 1)]),
    ]
    store = open_store(folder / "store", threads=2)
    put(store, *bundles, elicitation="entropy")
    return store


@pytest.mark.parametrize("column", ["uncertainty", "certainty"])
def test_scores_count_where_the_order_counts(scored, column):
    row = board_of(scored.snapshot(), column, [*ORDER, *SHOWN])["unsure"]
    expected = {
        "auroc": 7.5 / 9,  # of nine pairs, seven are in order and one is tied
        "aurc": (0 + 1 / 4 + 1 / 3 + 1 / 4 + 2 / 5 + 1 / 2) / 6,
        "accuracy_at_50": 2 / 3,
        "accuracy": 1 / 2,
    }
    assert {key: row.metrics[key].value for key in expected} == pytest.approx(expected, abs=1e-12)
    for key in ("brier", "net_score", "ece"):
        assert row.metrics[key].value is None and "no probabilities" in row.metrics[key].missing
    assert (row.scored, row.ranked, row.unranked) == (6, False, "100 % of answers have a score that is no probability")
    assert board_of(scored.snapshot(), column, ORDER)["unsure"].ranked


def test_scores_are_ranked_beside_confidences(scored):
    """A run with the ranks as confidences has the same values where the order counts; a confidence changes nothing else."""
    alone = board_of(scored.snapshot(), "uncertainty", ORDER)["unsure"]
    board = board_of(scored.snapshot(), "beside", [*ORDER, *SHOWN])
    for metric in ORDER:
        cell = board["unsure"].metrics[metric.key]
        assert cell.value == alone.metrics[metric.key].value == board["sure"].metrics[metric.key].value and cell.rank == 1.5
    assert board["sure"].metrics["brier"].rank == 1 and board["sure"].ranked


@pytest.mark.parametrize("method", ["isotonic", "logistic"])
def test_a_map_makes_probabilities_of_scores(empty, tmp_path, method):
    """Each confidence is what scikit-learn fits to the questions of the other folds."""
    draw = np.random.default_rng(5)
    scores = [(f"{3 * y - 1 + draw.normal():.2f}", int(y)) for y in draw.random(60) < 0.4]
    report = put(empty, score_bundle(tmp_path / "quiz", scores, "certainty"), elicitation="entropy", map=method)
    snapshot = empty.snapshot()
    rows = snapshot.rows(f"select question_id, confidence, state from {snapshot.responses(report.runs)} order by 1")
    x, y = (np.array([float(row[place]) for row in scores]) for place in (0, 1))
    order = sorted(range(60), key=lambda n: f"q{n}")
    fold = dict(zip(order, folds_of_questions(60).tolist(), strict=True))
    for name, confidence, state in rows:
        n = int(name[1:])
        others = np.array([fold[k] != fold[n] for k in range(60)])
        assert confidence == pytest.approx(fitted(method, x[others], y[others])(x[n]), abs=1e-6) and state is None
    row = board_of(snapshot, "quiz")["unsure"]
    assert row.elicitation == f"entropy, {method} map" and row.metrics["brier"].value < 0.2 and row.ranked
    again = put_file(empty, tmp_path / "again.csv", exported(snapshot, report.runs[0]), dataset="quiz")
    assert again.stored == report.runs


def fitted(method, x, y):
    if method == "isotonic":
        with_ends = [*x, x.min(), x.max()], [*y, 0.5, 0.5]
        return lambda value: IsotonicRegression(out_of_bounds="clip").fit(*with_ends).predict([value])[0]
    right, wrong = y.sum(), (1 - y).sum()
    weights = np.r_[
        np.where(y, (right + 1) / (right + 2), 1 / (wrong + 2)), np.where(y, 1 / (right + 2), (wrong + 1) / (wrong + 2))
    ]
    both = np.r_[x, x][:, None], np.r_[np.ones(len(x)), np.zeros(len(x))]
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(*both, sample_weight=weights)
    return lambda value: model.predict_proba([[value]])[0, 1]


def exported(snapshot, run):
    table = responses(snapshot, run, "csv")
    return snapshot.frame(table.sql, table.parameters).write_csv()


def test_scores_are_never_shown_as_confidences(scored, tmp_path):
    snapshot = scored.snapshot()
    ((run,),) = snapshot.rows("select run from runs where dataset = 'blank'")
    assert {answer.confidence for answer in first_responses(snapshot, [run])} == {None}
    text = exported(snapshot, run)
    assert {row["confidence"] for row in records(text)} == {""}
    assert [row["uncertainty"] for row in records(text)][-2:] == ["3e2", ""]
    assert put_file(scored, tmp_path / "again.csv", text, dataset="blank").stored == [run]
    assert reliability(snapshot, Selection("blank")).runs == []


@pytest.mark.parametrize(
    ("text", "reason", "map_"),
    [
        ("q0,1,0.5,,\nq1,1,,,3\n", "a run has scores or confidences, not both", None),
        ("q0,1,,scored,\n", "a scored answer has a number in one of the columns certainty and uncertainty", None),
        ("q0,1,,scored,nan\n", "a scored answer has a number in one of the columns certainty and uncertainty", None),
        ("q0,1,.5,,\n", "nothing to map", "isotonic"),
        ("q0,1,,,9\n", "at least two", "isotonic"),
    ],
)
def test_scores_that_cannot_be_used_are_refused(scored, tmp_path, text, reason, map_):
    with pytest.raises(Refused, match=reason):
        text = f"question_id,correct,confidence,state,uncertainty\n{text}"
        put_file(scored, tmp_path / "bad.csv", text, dataset="blank", model="m", map=map_)
