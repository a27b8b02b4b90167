"""Slices against the leaderboard of the same filters, and their adjustment against all that were tested."""

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from queries.engine.evidence import gather
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE
from queries.parameters import BadRequest, read_range
from queries.selection import Selection
from queries.slices import FEWEST_QUESTIONS, slices

SELECTION = {"lifeeval": Selection("lifeeval"), "pyramid": Selection("pyramid")}


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
    found = slices(bundled, SELECTION[dataset], metric)
    assert found.tested == len(found.slices) > 10
    whole = {row.run: row.metrics[key].value for row in leaderboard(bundled, SELECTION[dataset], [metric]).rows}
    for one in found.slices[:: max(1, len(found.slices) // 25)]:
        (row,) = leaderboard(bundled, filtered(SELECTION[dataset], one.filters, one.run), [metric]).rows
        assert row.questions == one.questions >= FEWEST_QUESTIONS
        assert one.value == pytest.approx(row.metrics[key].value, abs=1e-12)
        assert one.reference == pytest.approx(whole[one.run], abs=1e-12)
        worse = one.value - one.reference if metric.direction == "lower" else one.reference - one.value
        assert one.difference == pytest.approx(worse, abs=1e-12)
        assert one.low <= one.high


def test_too_sure_in_a_part_is_never_called_better(bundled):
    """Where 0 is best, a part is higher or lower than the whole, in the metric's own sign."""
    found = slices(bundled, SELECTION["lifeeval"], CATALOGUE["overconfidence"])
    whole = {
        row.run: row.metrics["overconfidence"].value
        for row in leaderboard(bundled, SELECTION["lifeeval"], [CATALOGUE["overconfidence"]]).rows
    }
    assert any(one.value > 0.1 and one.difference < 0 for one in found.slices)
    for one in found.slices:
        assert one.reference == pytest.approx(whole[one.run], abs=1e-12)
        assert one.difference == pytest.approx(one.value - one.reference, abs=1e-12)


@pytest.mark.parametrize("against", [None, 1])
def test_the_interval_of_a_mean_is_welchs(bundled, against):
    evidence = gather(bundled, SELECTION["lifeeval"], [CATALOGUE["brier"]])
    scores = np.stack(np.split(evidence.per_question(CATALOGUE["brier"]), evidence.starts[1:]))
    other = None if against is None else evidence.runs[against].run
    found = slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], other)
    radius = dict(bundled.rows("select position, radius from questions where dataset = 'lifeeval' order by position"))
    inside = np.array([radius[position] == 1 for position in sorted(radius)])
    (one,) = [each for each in found.slices if each.filters == {"radius": "1"} and each.run == evidence.runs[0].run]
    if against is None:
        welch = ttest_ind(scores[0, inside], scores[0, ~inside], equal_var=False).confidence_interval(0.95)
        expected = [(~inside).mean() * end for end in welch]
    else:
        expected = list(ttest_rel(scores[0, inside], scores[against, inside]).confidence_interval(0.95))
    assert [one.low, one.high] == pytest.approx(expected, abs=1e-10)


def test_all_that_were_tested_are_adjusted_for(bundled):
    found = slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"])
    raw, adjusted = ([getattr(one, name) for one in found.slices] for name in ("p_value", "p_adjusted"))
    assert raw == sorted(raw)
    assert all(0 < p <= q <= 1 for p, q in zip(raw, adjusted, strict=True))
    assert adjusted != raw
    # The parts of these forecasters differ for certain, and no p-value is below what the permutations allow.
    assert min(adjusted) == min(raw) < 0.01


def test_slices_have_the_same_digits_each_time(bundled):
    assert slices(bundled, SELECTION["pyramid"], CATALOGUE["calscore"]) == slices(
        bundled, SELECTION["pyramid"], CATALOGUE["calscore"]
    )


def test_a_run_can_be_compared_with_another_in_each_part(bundled):
    runs = [row.run for row in leaderboard(bundled, SELECTION["lifeeval"], []).rows]
    found = slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], runs[0])
    assert found.against == runs[0] and runs[0] not in {one.run for one in found.slices}
    one = found.slices[-1]
    (row,) = leaderboard(bundled, filtered(SELECTION["lifeeval"], one.filters, runs[0]), [CATALOGUE["brier"]]).rows
    assert one.reference == pytest.approx(row.metrics["brier"].value, abs=1e-12)
    # The first bundled run gives the guess that is likeliest to be right: nobody is right more often anywhere.
    right = slices(bundled, SELECTION["lifeeval"], CATALOGUE["accuracy"], runs[0])
    assert right.slices and all(other.difference > -1e-12 for other in right.slices)
    with pytest.raises(BadRequest, match="no run 'nobody'"):
        slices(bundled, SELECTION["lifeeval"], CATALOGUE["brier"], "nobody")
