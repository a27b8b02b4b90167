"""Slices against the leaderboard with the same filters, and their adjustment for all slices tested."""

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from clueline.data.store import open_store
from clueline.queries.engine.gather import gather
from clueline.queries.engine.multiple_comparisons import DRAWS
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest, read_range
from clueline.queries.slices import MIN_QUESTIONS, measure_parts, slices
from tests.helpers.simulated_evidence import evidence_of

SELECTION = {"lifeeval": Selection("lifeeval", cluster="question"), "pyramid": Selection("pyramid")}


def filtered(selection, filters, run):
    changes = {"run": (run,)}
    if "category" in filters:
        changes["category"] = (filters["category"],)
    if "radius" in filters:
        changes["radius"] = (int(filters["radius"]),)
    if "difficulty" in filters:
        changes["difficulty"] = read_range("difficulty", filters["difficulty"])
    return selection.replace(**changes)


@pytest.mark.parametrize(("dataset", "key"), [("lifeeval", "brier"), ("lifeeval", "accuracy"), ("pyramid", "calscore")])
def test_a_slice_is_what_its_filters_select(bundled, dataset, key):
    metric = CATALOGUE[key]
    result = slices(bundled, SELECTION[dataset], metric)
    assert result.tested == len(result.slices) > 10
    whole = {row.run: row.metrics[key].value for row in leaderboard(bundled, SELECTION[dataset], [metric]).rows}
    for slice_ in result.slices[:: max(1, len(result.slices) // 25)]:
        (row,) = leaderboard(bundled, filtered(SELECTION[dataset], slice_.filters, slice_.run), [metric]).rows
        assert row.questions == slice_.questions >= MIN_QUESTIONS
        assert slice_.value == pytest.approx(row.metrics[key].value, abs=1e-12)
        assert slice_.reference == pytest.approx(whole[slice_.run], abs=1e-12)
        worse = slice_.value - slice_.reference if metric.direction == "lower" else slice_.reference - slice_.value
        assert slice_.difference == pytest.approx(worse, abs=1e-12)
        assert slice_.low <= slice_.high


def test_differences_of_overconfidence_keep_their_sign(bundled):
    """For a metric where 0 is best, a part is higher or lower than the whole, in the metric's own sign."""
    result = slices(bundled, SELECTION["lifeeval"], CATALOGUE["overconfidence"])
    whole = {
        row.run: row.metrics["overconfidence"].value
        for row in leaderboard(bundled, SELECTION["lifeeval"], [CATALOGUE["overconfidence"]]).rows
    }
    assert any(slice_.value > 0.1 and slice_.difference < 0 for slice_ in result.slices)
    for slice_ in result.slices:
        assert slice_.reference == pytest.approx(whole[slice_.run], abs=1e-12)
        assert slice_.difference == pytest.approx(slice_.value - slice_.reference, abs=1e-12)


@pytest.mark.parametrize("against", [None, 1])
def test_the_interval_of_a_mean_is_welchs(bundled, against):
    evidence = gather(bundled, SELECTION["lifeeval"], [CATALOGUE["brier"]])
    scores = np.stack(np.split(evidence.per_question(CATALOGUE["brier"]), evidence.starts[1:]))
    other = None if against is None else evidence.runs[against].run
    result = slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], other)
    radius = dict(bundled.rows("select position, radius from questions where dataset = 'lifeeval' order by position"))
    inside = np.array([radius[position] == 1 for position in sorted(radius)])
    (first,) = [slice_ for slice_ in result.slices if slice_.filters == {"radius": "1"} and slice_.run == evidence.runs[0].run]
    if against is None:
        welch = ttest_ind(scores[0, inside], scores[0, ~inside], equal_var=False).confidence_interval(0.95)
        expected = [(~inside).mean() * end for end in welch]
    else:
        expected = list(ttest_rel(scores[0, inside], scores[against, inside]).confidence_interval(0.95))
    assert [first.low, first.high] == pytest.approx(expected, abs=1e-10)


def test_p_values_are_adjusted_for_all_slices_tested(bundled):
    result, again = (slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"]) for _ in range(2))
    assert again == result, "the same digits each time"
    raw, adjusted = ([getattr(slice_, name) for slice_ in result.slices] for name in ("p_value", "p_adjusted"))
    assert raw == sorted(raw)
    assert all(0 < p <= q <= 1 for p, q in zip(raw, adjusted, strict=True))
    assert adjusted != raw
    # The parts of these forecasters certainly differ, and no adjusted p-value is below the share of one of the draws.
    assert min(raw) < min(adjusted) == pytest.approx(1 / (1 + DRAWS))


@pytest.mark.parametrize("cluster", ["ages", "question"])
@pytest.mark.parametrize("key", ["overconfidence", "brier", "accuracy", "mean_confidence", "hmr", "ece"])
def test_no_p_value_contradicts_its_interval(first_start, key, cluster):
    """The clusters of LifeEval, blocks of ages, are in a part and in the rest of the questions."""
    snapshot = open_store(first_start, threads=1).snapshot()
    runs = [run for (run,) in snapshot.rows("select run from runs where dataset = 'lifeeval' order by position")]
    for against in (None, runs[0]):
        result = slices(snapshot, Selection("lifeeval", cluster=cluster), CATALOGUE[key], against)
        assert result.tested > 300
        for slice_ in result.slices:
            assert (slice_.p_value < 0.05) == (slice_.low > 0 or slice_.high < 0), slice_
            assert slice_.p_value <= slice_.p_adjusted, slice_


def test_a_run_can_be_compared_with_another_in_each_part(bundled):
    runs = [row.run for row in leaderboard(bundled, SELECTION["lifeeval"], []).rows]
    result = slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], runs[0])
    assert result.against == runs[0] and runs[0] not in {slice_.run for slice_ in result.slices}
    first = result.slices[-1]
    (row,) = leaderboard(bundled, filtered(SELECTION["lifeeval"], first.filters, runs[0]), [CATALOGUE["brier"]]).rows
    assert first.reference == pytest.approx(row.metrics["brier"].value, abs=1e-12)
    # The first bundled run gives the guess most likely to be right: no run is right more often in any part.
    right = slices(bundled, SELECTION["lifeeval"], CATALOGUE["accuracy"], runs[0])
    assert right.slices and all(other.difference > -1e-12 for other in right.slices)
    with pytest.raises(BadRequest, match="no run 'nobody'"):
        slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], "nobody")


def test_rounding_errors_are_no_difference(bundled):
    """Of the optimum of LifeEval, confidence is the chance of being right everywhere: no part is over- or underconfident."""
    result = slices(bundled, Selection("lifeeval"), CATALOGUE["overconfidence"])
    assert {slice_.model for slice_ in result.slices} >= {"Climatology", "Gompertz law"}
    assert all(slice_.low < slice_.high and slice_.model != "Optimal forecaster" for slice_ in result.slices)
    optimum, *others = difficulty(bundled, Selection("lifeeval")).runs  # a slope without spread has no interval either
    assert optimum.model == "Optimal forecaster" and optimum.low is None and {point.high for point in optimum.line} == {None}
    assert all(run.low < run.high and all(point.low < point.high for point in run.line) for run in others)


@pytest.mark.parametrize("key", ["accuracy", "brier", "overconfidence"])
def test_a_part_without_errors_could_have_one(key):
    """Eight questions, all right, do not show how rare errors are: nor do they outside the part."""
    confidence, correct = np.full((2, 40, 1), 0.9), np.ones((2, 40, 1))
    confidence[0, ::2], correct[:, 8::4] = 0.8, 0
    evidence, metric = evidence_of((confidence, correct, np.zeros_like(correct))), CATALOGUE[key]
    part = (np.arange(40) < 8)[:, None]
    for against in (None, np.array([1, 0])):
        measured = measure_parts(evidence, metric, [part], against)
        assert measured.testable.all()
        assert (measured.high - measured.differences > 1 / 9).all(), "one more question, and it is wrong"
    inside, outside = (measure_parts(evidence, metric, [mask], None) for mask in (part, ~part))
    assert outside.low[0] == pytest.approx(-inside.high[0] * 8 / 32, abs=1e-9)
    assert outside.high[0] == pytest.approx(-inside.low[0] * 8 / 32, abs=1e-9)
