"""Recalibration: fits against other optimisers, no leaks between folds, and metrics after it against reference code."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import roc_auc_score

from clueline.data import recalibration_maps
from clueline.data.recalibration_maps import (
    FITS,
    METHODS,
    cross_fitted,
    distribution_temperature,
    folds_of_questions,
    isotonic_map,
    log_odds,
    platt,
    temperature,
    tempered,
)
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.metrics.counted_answers import ORDERED
from clueline.queries.recalibration import recalibration, selected_items
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions
ANY = pytest.mark.parametrize("method", METHODS)
GRID = np.linspace(0, 1, 201)


def answers(seed, count=400, slope=0.6, shift=-0.4, digits=15, shares=False):
    """Draw confidences and correctness. The log-odds of the truth are slope x log-odds of the confidence + shift."""
    chance = np.random.default_rng(seed)
    confidence = chance.beta(2, 1.2, count).round(digits)
    likely = expit(slope * logit(np.clip(confidence, 1e-6, 1 - 1e-6)) + shift)
    return confidence, likely if shares else (chance.random(count) < likely).astype(float)


def grouped(confidence, correct):
    """Group items as the kernels take them: distinct confidences, with the items and the correct items of each."""
    stated, place = np.unique(confidence, return_inverse=True)
    return stated, np.bincount(place).astype(float), np.bincount(place, correct)


def minus_likelihood(x, y):
    return -(y * x - np.logaddexp(0, x)).sum()


# -- fits --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("slope", [0.1, 0.6, 1.0, 3.0])
@pytest.mark.parametrize("shares", [False, True])
def test_temperature_is_the_most_likely_one(slope, shares):
    confidence, correct = answers(1, slope=slope, shift=0.0, digits=2, shares=shares)
    odds = logit(np.clip(confidence, 1e-6, 1 - 1e-6))
    fitted = temperature(*grouped(confidence, correct))
    best = minimize_scalar(lambda t: minus_likelihood(odds / math.exp(t), correct), bounds=(-6, 6), options={"xatol": 1e-10})
    # A search for the top of a parabola finds its place to the square root of the precision of its height.
    assert fitted(GRID) == pytest.approx(expit(log_odds(GRID) / math.exp(best.x)), abs=1e-5)
    recovered = logit(float(fitted(np.array(0.9)))) / logit(0.9)
    grid = [minus_likelihood(odds * inverse, correct) for inverse in np.geomspace(1e-3, 1e3, 2000)]
    assert minus_likelihood(odds * recovered, correct) <= min(grid) + 1e-9
    # At the top, confidence and correctness agree in the mean of the log-odds.
    assert (odds * (correct - expit(recovered * odds))).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize(
    ("confidence", "correct", "expected"),
    [
        ([0.2, 0.9], [0, 1], [1e3]),  # everything confident is correct: as steep as allowed
        ([0.2, 0.9], [1, 0], [1e-3]),  # the other way round: as flat as allowed
        ([0.5, 0.5], [1, 0], [1]),  # no information
        ([0.5], [1], [1]),
        ([0.8], [1], [1e3]),
        ([0.0, 1.0], [0, 1], [1e3]),
        ([0.0, 1.0], [0.25, 0.75], [math.log(3) / math.log((1 - 1e-6) / 1e-6)]),
    ],
)
def test_temperature_at_its_ends(confidence, correct, expected):
    fitted = temperature(*grouped(np.array(confidence, float), np.array(correct, float)))
    assert fitted(GRID) == pytest.approx(expit(log_odds(GRID) * expected[0]), abs=1e-9)
    assert np.isfinite(fitted(GRID)).all() and (np.diff(fitted(GRID)) >= 0).all()


@pytest.mark.parametrize("shares", [False, True])
@pytest.mark.parametrize(("slope", "shift"), [(0.6, -0.4), (3, 2), (-0.5, 0), (0, 1)])
def test_platt_is_the_most_likely_sigmoid(slope, shift, shares):
    confidence, correct = answers(2, slope=slope, shift=shift, shares=shares)
    right, wrong = correct.sum(), (1 - correct).sum()
    aim = correct * (right + 1) / (right + 2) + (1 - correct) / (wrong + 2)
    odds = log_odds(confidence)
    best = minimize(lambda ab: minus_likelihood(ab[0] * odds + ab[1], aim), [0, 0], method="Nelder-Mead", options={"xatol": 1e-9})
    fitted = platt(*grouped(confidence, correct))
    assert fitted(GRID) == pytest.approx(expit(best.x[0] * log_odds(GRID) + best.x[1]), abs=1e-4)
    off = aim - fitted(confidence)
    assert [off.sum(), (off * odds).sum()] == pytest.approx([0, 0], abs=1e-7)  # the gradient is 0: no step improves the fit


def isotonic_of(confidence, correct):
    """Return the map of scikit-learn of the items, and of one that is half right at each end."""
    with_ends = [*confidence, confidence.min(), confidence.max()], [*correct, 0.5, 0.5]
    return IsotonicRegression(out_of_bounds="clip").fit(*with_ends).predict


@pytest.mark.parametrize(("seed", "digits", "shares"), [(0, 1, False), (1, 15, False), (2, 1, True), (3, 15, True)])
def test_isotonic_is_that_of_scikit_learn(seed, digits, shares):
    confidence, correct = answers(seed, digits=digits, shares=shares)
    assert isotonic_map(*grouped(confidence, correct))(GRID) == pytest.approx(isotonic_of(confidence, correct)(GRID), abs=1e-12)


@pytest.mark.parametrize(
    ("confidence", "correct"),
    [
        ([0.7] * 20, [1, 0] * 10),
        ([0.7] * 20, [1] * 20),
        ([0.5] * 20, [0] * 20),
        ([0.0] * 10 + [1.0] * 10, [0] * 10 + [1] * 10),
        ([0.0] * 10 + [1.0] * 10, [1] * 10 + [0] * 10),
        ([1.0] * 20, [0] * 20),
        ([0.0, 1.0], [0, 1]),
        ([0.3], [1]),
        ([1e-300, 1 - 1e-16, 0.5], [1, 0, 1]),
    ],
)
@ANY
def test_fits_of_few_or_identical_items(method, confidence, correct):
    confidence, correct = np.array(confidence, float), np.array(correct, float)
    fitted = FITS[method](*grouped(confidence, correct))(GRID)
    assert np.isfinite(fitted).all() and (fitted >= 0).all() and (fitted <= 1).all()
    if method == "isotonic":
        assert fitted == pytest.approx(isotonic_of(confidence, correct)(GRID), abs=1e-12)
        assert ((fitted > 0) & (fitted < 1)).all()
    if len(np.unique(confidence)) == 1 and method == "platt":  # for any slope, the confidence seen maps to the smoothed share
        n, right = len(correct), correct.sum()
        share = (right * (right + 1) / (right + 2) + (n - right) / (n - right + 2)) / n
        assert FITS[method](*grouped(confidence, correct))(confidence) == pytest.approx([share] * n, abs=1e-9)


@ANY
@pytest.mark.parametrize("digits", [1, 15])
def test_cross_fitting_is_fitting_without_the_fold(method, digits):
    confidence, correct = answers(5, count=200, digits=digits)
    fold = np.random.default_rng(5).integers(0, 4, 200)
    fold[fold == 2] = 3  # a fold can be empty
    after = cross_fitted(method, confidence, correct, fold, 4)
    for held_out in (0, 1, 3):
        others = fold != held_out
        expected = FITS[method](*grouped(confidence[others], correct[others]))(confidence[~others])
        assert after[~others] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("questions", [1, 4, 5, 12, 808, 1001])
def test_folds_are_random_and_nearly_equal_in_size(questions):
    fold = folds_of_questions(questions)
    sizes = np.bincount(fold, minlength=5)
    assert (len(fold), len(sizes)) == (questions, 5)
    assert sizes.max() - sizes.min() <= 1
    assert fold.tolist() == folds_of_questions(questions).tolist()
    if questions > 100:
        assert abs(np.corrcoef(fold, np.arange(questions))[0, 1]) < 0.1


# -- over a store ------------------------------------------------------------------------------------------------------


def folds_of(answered, fold_of):
    """Return the fold of each question of a run: one of its own if all are in one."""
    folds = {name: fold_of[name] for name in answered}
    return folds if len({*folds.values()}) > 1 else {name: index for index, name in enumerate(answered)}


def value_in_folds(metric, answered, fold_of, conventions):
    """Return a metric of a run; if only the order counts, its average over the folds in which it is defined, by items."""
    definition = reference.METRICS[metric.key]
    if metric.counted != ORDERED:
        return definition(list(answered.values()), conventions)
    folds, total, count = folds_of(answered, fold_of), 0.0, 0
    for fold in {*folds.values()}:
        inside = [question for name, question in answered.items() if folds[name] == fold]
        value, items = definition(inside, conventions), sum(len(question.items) for question in inside)
        if math.isfinite(value):
            total, count = total + items * value, count + items
    return total / count if count else math.nan


def slowly(method, answered, fold_of):
    """Recalibrate the confidences of one run in a plain loop over folds."""
    folds = folds_of(answered, fold_of)
    recalibrated = {}
    for name, question in answered.items():
        others = [item for other, answers in answered.items() if folds[other] != folds[name] for item in answers.items]
        fitted = FITS[method](*grouped(*(np.array([item[k] for item in others]) for k in (0, 1))))
        items = [(float(fitted(np.array([c]))[0]), y, h) for c, y, h in question.items]
        recalibrated[name] = reference.Answered(items, question.difficulty, fold=question.fold, words=question.words)
    return recalibrated


def near(value, tolerance):
    return None if math.isnan(value) else pytest.approx(value, abs=tolerance)


# Metrics that jump where a confidence moves by one digit: they depend on bins, ties or multiples of 5 %.
JUMPS = ("net_score",
         "ece", "ece_debiased", "max_ce", "reliability", "resolution", "residual", "ks_sequential", "auroc", "pct_rounded", "ks",
         "corp_mcb", "corp_dsc", "correlation")  # fmt: skip


@examples(40)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]), method=st.sampled_from([*METHODS]))
def test_metrics_after_are_those_of_the_changed_confidences(snapshot, rows, offered, data, dataset, method):
    selection = data.draw(selections(offered[dataset]))
    result = recalibration(snapshot, selection, method, METRICS)
    assert (result.method, result.folds) == (method, 5)
    kept = [question["question_id"] for question in rows[dataset].kept_questions(selection)]
    fold_of = dict(zip(kept, folds_of_questions(len(kept)).tolist(), strict=True))
    answered = {run["run"]: rows[dataset].answered(selection, run["run"]) for run in rows[dataset].kept_runs(selection)}
    answered = {run: questions for run, questions in answered.items() if questions}
    assert [run.run for run in result.runs] == list(answered)
    for run in result.runs:
        before = answered[run.run]
        after = slowly(method, before, fold_of) if len(before) > 1 else None
        assert run.missing == (None if after else "fitting and judging need at least two questions")
        for metric in METRICS:
            change, definition = run.metrics[metric.key], reference.METRICS[metric.key]
            was = definition(list(before.values()), selection.conventions)
            assert change.before == near(was, 1e-10)
            if after is None:
                assert (change.after, change.missing) == (None, run.missing)
                continue
            now = value_in_folds(metric, after, fold_of, selection.conventions)
            if metric.counted == ORDERED:
                assert change.within == near(value_in_folds(metric, before, fold_of, selection.conventions), 1e-9)
            assert change.missing == (None if math.isfinite(was) and math.isfinite(now) else metric.undefined) or (
                metric.key in JUMPS
            )
            if metric.key not in JUMPS:
                assert change.after == near(now, 1e-9), metric.key
        _check_items(run, before, after)


def _check_items(run, before, after):
    moved, well, lost = [], 0, 0
    for name in after or ():
        for (c, y, _), (new, *_) in zip(before[name].items, after[name].items, strict=True):
            moved.append(abs(new - y) - abs(c - y))
            well += abs(c - y) <= 0.1 + 1e-9
            lost += abs(c - y) <= 0.1 + 1e-9 < abs(new - y) - 1e-12
    assert sum(run.changes) == len(moved)
    assert run.improved == pytest.approx(sum(m < -1e-9 for m in moved), abs=0)
    assert run.worsened == pytest.approx(sum(m > 1e-9 for m in moved), abs=0)
    assert (run.well_calibrated, run.sacrificed) == (well, lost)
    assert len(run.changes) == 40 and run.edges == [k / 20 for k in range(-20, 21)]
    cumulated = np.cumsum(run.changes)
    for edge, upto in zip(run.edges[1:-1], cumulated, strict=False):
        assert sum(m < edge - 1e-9 for m in moved) <= upto <= sum(m < edge + 1e-9 for m in moved)
    worst = sorted((m for m in moved if m > 1e-9), reverse=True)[:20]
    assert [abs(item.after - item.correct) - abs(item.before - item.correct) for item in run.losers] == pytest.approx(worst)
    for item in run.losers:
        assert item.before in [c for c, *_ in before[item.question_id].items]


@ANY
@pytest.mark.parametrize(
    ("conventions", "revealed"),
    [
        (Conventions(), None),
        (Conventions("mass3", "survival"), (0.2, 0.9)),
        (Conventions("width10r"), (0.2, 0.9)),
        (Conventions("width10+1", "team_share"), None),
    ],
)
def test_every_metric_after_on_confidences_without_near_ties(snapshot, rows, method, conventions, revealed):
    """Use a run of random confidences whose correctness is in quarters, which add up exactly, so that no metric jumps."""
    selection = RELAY.replace(model=("plain",), elicitation=("logit",), conventions=conventions, revealed=revealed)
    (run,) = recalibration(snapshot, selection, method, METRICS).runs
    kept = [question["question_id"] for question in rows["relay"].kept_questions(selection)]
    fold_of = dict(zip(kept, folds_of_questions(len(kept)).tolist(), strict=True))
    _check_after(run, slowly(method, rows["relay"].answered(selection, run.run), fold_of), fold_of, conventions)


def _check_after(run, after, fold_of, conventions):
    for metric in METRICS:
        now = value_in_folds(metric, after, fold_of, conventions)
        assert run.metrics[metric.key].after == near(now, 1e-9), metric.key


@ANY
def test_questions_in_one_fold_become_folds_of_their_own(snapshot, rows, method, monkeypatch):
    monkeypatch.setattr(recalibration_maps, "FOLDS", 1)
    selection = RELAY.replace(model=("plain",), elicitation=("logit",))
    (run,) = recalibration(snapshot, selection, method, METRICS).runs
    one_fold = dict.fromkeys(f"r{index:02}" for index in range(12))
    after = slowly(method, rows["relay"].answered(selection, run.run), one_fold)
    _check_after(run, after, one_fold, selection.conventions)


@ANY
def test_order_across_maps_is_worse_than_chance(method):
    """Across folds, a map that was fitted without an item says less where it is right: guesses would look worse than chance."""
    values = [], []
    for seed in range(60):
        confidence, correct = answers(seed, count=60, digits=15)
        correct = np.random.default_rng(seed).permutation(correct)  # so that confidence says nothing
        fold = folds_of_questions(60)
        after = cross_fitted(method, confidence, correct, fold, 5)
        values[0].append(roc_auc_score(correct, after))
        values[1].append(np.mean([roc_auc_score(correct[fold == k], after[fold == k]) for k in range(5)]))
    across, within = (np.mean(of_all) for of_all in values)
    assert across < 0.47 < 0.485 < within < 0.515


@ANY
def test_nothing_selected(snapshot, method):
    for selection in (RELAY.replace(q="no such text"), RELAY.replace(model=("unheard",), category=("History",))):
        assert recalibration(snapshot, selection, method, METRICS).runs == []


def test_the_temperature_of_a_run_is_that_of_all_its_items(snapshot):
    """Compare with a search of the likelihood."""
    items = selected_items(snapshot, RELAY).partition_by("run", as_dict=True)
    checked = 0
    for run in recalibration(snapshot, RELAY, "temperature", [CATALOGUE["brier"]]).runs:
        if run.slope is None or not 0.01 < run.slope < 10:
            continue
        odds, right = log_odds(items[(run.run,)]["confidence"].to_numpy()), items[(run.run,)]["correct"].to_numpy()
        likeliest = minimize_scalar(
            lambda slope, odds, right: minus_likelihood(slope * odds, right), args=(odds, right), bounds=(1e-3, 20)
        ).x
        assert run.slope == pytest.approx(likeliest, abs=1e-3) and run.intercept == 0
        checked += 1
    assert checked > 1


# -- whole distributions ------------------------------------------------------------------------------------------------


def likeliest_temperature(logs, gold):
    """Search 1 / T of distributions of equally many classes, given as logarithms, shape (n, classes)."""

    def loss(inverse):
        return np.mean(np.logaddexp.reduce(inverse * logs, axis=1) - inverse * logs[np.arange(len(gold)), gold])

    return minimize_scalar(loss, bounds=(1e-3, 20), method="bounded", options={"xatol": 1e-9}).x


def test_the_temperature_of_distributions_is_most_likely():
    chance = np.random.default_rng(8)
    logits = 3 * chance.normal(size=(300, 4))
    gold = np.array([chance.choice(4, p=row) for row in tempered(np.exp(logits), np.full(300, 0.5))])
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    fitted = distribution_temperature(shares.ravel(), np.arange(300) * 4, np.arange(300) * 4 + gold)
    assert fitted == pytest.approx(likeliest_temperature(np.log(np.maximum(shares, 1e-6)), gold), abs=1e-6)
    assert 0.4 < fitted < 0.6


def test_two_classes_have_the_temperature_of_their_confidence():
    confidence, correct = answers(3, digits=2)
    confidence = confidence.clip(0.01, 0.99)
    shares = np.stack([confidence, 1 - confidence], axis=1).ravel()
    fitted = distribution_temperature(shares, 2 * np.arange(400), 2 * np.arange(400) + (correct == 0))
    assert fitted == pytest.approx(temperature(*grouped(confidence, correct)).slope, abs=1e-9)


@pytest.mark.parametrize(("shares", "gold", "expected"), [([0.5, 0.5], 0, 1), ([1, 0], 0, 1e3), ([1, 0], 1, 1e-3), ([], 0, 1)])
def test_temperature_of_distributions_at_its_ends(shares, gold, expected):
    first = np.zeros(min(len(shares), 1), np.int64)
    assert distribution_temperature(np.array(shares, float), first, first + gold) == pytest.approx(expected)


def test_runs_with_whole_distributions_are_recalibrated_as_such(polled):
    """Everything that follows from the shares of a run, computed again from its file."""
    selection = Selection("polls", model=("list",), common=False)
    metrics = [CATALOGUE[key] for key in ("brier", "dist_ce", "rank_cs", "nbr")]
    (run,) = recalibration(polled, selection, "temperature", metrics).runs
    rows = polled.frame(
        f"""select q.question_id, r.options, r.confidence, r.correct, q.answer, c.votes from {polled.responses([run.run])} r
        join questions q using (dataset, question_id) left join (select question_id, map(list(class), list(votes)) as votes
        from votes where dataset = 'polls' group by all) c using (question_id) order by q.position"""
    ).to_dicts()
    classes = ("yes", "no", "maybe")
    shares = np.array([row["options"] for row in rows])
    votes = np.array([[dict(row["votes"] or {}).get(name, 0) for name in classes] for row in rows], float)
    gold = np.array([
        classes.index(row["answer"]) if row["answer"] in classes else int(count.argmax()) if count.any() else -1
        for row, count in zip(rows, votes, strict=True)
    ])  # fmt: skip
    logs, fold = np.log(np.maximum(shares, 1e-6)), folds_of_questions(len(rows))
    known = gold >= 0
    assert 0 < known.sum() < len(rows) and len(rows) == 14
    assert run.fitted_to == "whole distribution"
    assert run.slope == pytest.approx(likeliest_temperature(logs[known], gold[known]), abs=1e-5)
    after = np.empty_like(shares)
    for held_out in range(5):
        others = known & (fold != held_out)
        after[fold == held_out] = tempered(
            shares[fold == held_out], np.full((fold == held_out).sum(), likeliest_temperature(logs[others], gold[others]))
        )
    voted = votes.any(axis=1)
    distance = np.abs(after[voted] - votes[voted] / votes[voted].sum(axis=1, keepdims=True)).sum(axis=1) / 2
    confidence = after[np.arange(len(rows)), shares.argmax(axis=1)]
    squares = ((after - (gold[:, None] == np.arange(3))) ** 2).sum(axis=1)[known] / 3
    expected = {
        "dist_ce": distance.mean(), "nbr": squares.mean(),
        "brier": np.mean((confidence - [row["correct"] for row in rows]) ** 2), "rank_cs": run.metrics["rank_cs"].before,
    }  # fmt: skip
    assert {key: run.metrics[key].after for key in expected} == pytest.approx(expected, abs=1e-5)


def test_few_distributions_are_recalibrated_by_confidence(polled):
    """So are confidences that are no share: those of ``quiz`` are all 1/2, whatever the shares."""
    metrics = [CATALOGUE["brier"], CATALOGUE["dist_ce"]]
    for model in ("sparse", "plain"):
        selection = Selection("polls", model=(model,), common=False)
        (run,) = recalibration(polled, selection, "temperature", metrics).runs
        assert run.fitted_to == "confidence" and run.metrics["dist_ce"].after is None
    of_quiz = recalibration(polled, Selection("quiz", common=False), "temperature", metrics[:1]).runs
    assert {run.fitted_to for run in of_quiz} == {"confidence"}
