"""The axioms U, O and UO, as ``queries.metrics.axioms`` reads them: nothing refutes what is claimed, something what is not."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from data.statistics import pooled
from queries.metric_definitions import metric_definitions
from queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Conventions
from queries.metrics.axioms import AXIOMS, value_of_items

ASKED = [metric for metric in METRICS if metric.judges_confidence and metric.axioms is not None]
HELD = [(metric, axiom) for metric in ASKED for axiom in ("U", "O") if axiom in metric.axioms]
BROKEN = [(metric, axiom) for metric in ASKED for axiom in ("U", "O") if axiom not in metric.axioms]
CONVENTIONS = [Conventions(binning, human) for binning in ("width10", "width10+1") for human in (None, *HUMAN_CURVES)]
# Steps coarse enough that every change is seen past the rounding, with both ends of the range among them.
CONFIDENCE = st.integers(0, 64).map(lambda k: k / 64) | st.integers(0, 100).map(lambda k: k / 100)

SAME = 1e-12  # a change smaller than this is rounding


def better(metric, before, after):
    """Whether a value is strictly better than the one before."""
    loss = metric.loss(np.array([before, after]))
    return bool(loss[1] < loss[0] - SAME)


def pairs(metrics):
    return pytest.mark.parametrize("metric, axiom", metrics, ids=lambda each: getattr(each, "key", each))


@st.composite
def shifts(draw, axiom):
    """Items of both kinds, and the same with one of them stated better."""
    items = draw(st.lists(st.tuples(CONFIDENCE, st.sampled_from([0, 1])), min_size=2, max_size=8))
    assume(len({y for _, y in items}) == 2)
    right = axiom == "U"
    index = draw(st.sampled_from([i for i, (_, y) in enumerate(items) if y == right]))
    c, y = items[index]
    to = draw(CONFIDENCE)
    assume(to > c if right else to < c)
    return items, [*items[:index], (to, y), *items[index + 1 :]]


def rewards(items):
    """R_O and R_U by their definitions."""
    wrong, right = ([c for c, y in items if y == kind] for kind in (0, 1))
    return 1 - sum(wrong) / len(wrong), sum(right) / len(right)


# -- what the catalogue states -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_item_level_metric_says_which_axioms_it_satisfies(metric):
    if metric.level == "item" and set(metric.needs) <= {"correctness", "confidence"}:
        assert metric.axioms is not None
    if metric.axioms is not None:
        assert set(metric.axioms) <= set(AXIOMS)
        assert ("UO" in metric.axioms) == ({"U", "O"} <= set(metric.axioms))
    if not metric.judges_confidence:
        assert not metric.axioms and not metric.counterexamples


@pytest.mark.parametrize("metric", ASKED, ids=lambda metric: metric.key)
def test_each_unsatisfied_axiom_has_a_counterexample(metric):
    assert [one.axiom for one in metric.counterexamples] == [axiom for axiom in ("U", "O") if axiom not in metric.axioms]


def test_some_satisfy_all_and_some_none():
    assert {metric.key for metric in ASKED if "UO" in metric.axioms} == {
        "brier", "hmr", "macro_ce", "calscore", "calscore_weighted", "grace_mce",
    }  # fmt: skip
    assert CATALOGUE["r_over"].axioms == ("O",) and CATALOGUE["r_under"].axioms == ("U",)
    assert len(BROKEN) > 10


# -- claimed: none found ----------------------------------------------------------------------------------------------


@pairs(HELD)
def test_no_counterexample_is_found(metric, axiom):
    @settings(max_examples=250, deadline=None)
    @given(shifts(axiom))
    def search(drawn):
        before, after = drawn
        if metric.key == "hmr":
            over, under = rewards(before)
            assume((over if axiom == "U" else under) > 0)  # its condition
        assert better(metric, value_of_items(metric, before), value_of_items(metric, after))

    search()


@pytest.mark.parametrize("metric", [CATALOGUE[key] for key in ("brier", "hmr", "macro_ce", "grace_mce")], ids=lambda m: m.key)
@settings(max_examples=200, deadline=None)
@given(items=st.lists(st.tuples(CONFIDENCE, st.sampled_from([0, 1])), min_size=2, max_size=8))
def test_with_both_only_certainty_in_the_right_places_is_best(metric, items):
    assume(len({y for _, y in items}) == 2)
    perfect = [(float(y), y) for _, y in items]
    if items == perfect:
        assert value_of_items(metric, items) == value_of_items(metric, perfect)
    else:
        assert better(metric, value_of_items(metric, items), value_of_items(metric, perfect))


def test_one_half_alone_can_reach_the_best_value():
    never_confident = [(0.0, 1), (0.0, 0)]
    assert value_of_items(CATALOGUE["r_over"], never_confident) == 1
    assert value_of_items(CATALOGUE["r_under"], [(1.0, 1), (1.0, 0)]) == 1
    assert value_of_items(CATALOGUE["hmr"], never_confident) == 0


@settings(max_examples=200, deadline=None)
@given(shifts("U") | shifts("O"))
def test_hmr_stays_0_only_while_the_other_reward_is_0(drawn):
    before, after = drawn
    values = [value_of_items(CATALOGUE["hmr"], items) for items in drawn]
    assert values[1] >= values[0] - 1e-12
    if values[1] <= values[0] + 1e-12:
        assert min(rewards(before)) == 0 and min(rewards(after)) == 0


def test_hmr_where_a_reward_is_0():
    items = [(0.5, 1), (1.0, 0)]
    assert value_of_items(CATALOGUE["hmr"], items) == value_of_items(CATALOGUE["hmr"], [(0.9, 1), (1.0, 0)]) == 0
    # Both at once: R_O = 0.5, R_U = 0.9, HMR = 2 x 0.45 / 1.4.
    assert value_of_items(CATALOGUE["hmr"], [(0.9, 1), (0.5, 0)]) == pytest.approx(0.9 / 1.4, abs=1e-12)


@settings(max_examples=200, deadline=None)
@given(shifts("U") | shifts("O"))
def test_auroc_is_never_worse(drawn):
    before, after = (value_of_items(CATALOGUE["auroc"], items) for items in drawn)
    assert after >= before - 1e-12


# -- questions of several clues, with people ---------------------------------------------------------------------------


def over_questions(metric, questions, conventions):
    """A metric over questions, each a list of (confidence, correctness, h)."""
    each = []
    for question in questions:
        c, y, h = np.array(question, float).T
        people = {f"{human}_weight": (1 - h).sum() for human in HUMAN_CURVES}
        people |= {f"{human}_sign_confidence": ((1 - h) * (2 * y - 1) * c).sum() for human in HUMAN_CURVES}
        each.append(pooled(c, y) | people)
    sums = {name: np.array([one[name] for one in each]) for name in metric.reads(conventions)}
    totals = {name: part.sum(axis=0) for name, part in metric.contributions(sums, conventions).items()}
    return float(metric.value(totals, conventions))


@pytest.mark.parametrize("key", ["calscore", "calscore_weighted", "grace_mce"])
@pytest.mark.parametrize("axiom", ["U", "O"])
def test_calscore_satisfies_both_at_unsolved_clues(key, axiom):
    shares = st.sampled_from([0.0, 0.25, 0.5, 0.75])

    @settings(max_examples=200, deadline=None)
    @given(st.data(), shifts(axiom), st.sampled_from(CONVENTIONS))
    def search(data, drawn, conventions):
        h = data.draw(st.lists(shares, min_size=len(drawn[0]), max_size=len(drawn[0])))
        cut = data.draw(st.integers(0, len(h)))
        before, after = (
            [part for part in (items[:cut], items[cut:]) if part]
            for items in ([(c, y, share) for (c, y), share in zip(items, h, strict=True)] for items in drawn)
        )
        metric = CATALOGUE[key]
        assert better(metric, over_questions(metric, before, conventions), over_questions(metric, after, conventions))

    search()


def test_calscore_gives_a_clue_that_all_have_solved_no_weight():
    metric, conventions = CATALOGUE["calscore"], Conventions()
    values = [over_questions(metric, [[(0.5, 0, 0.0), (c, 1, 1.0)]], conventions) for c in (0.1, 0.9)]
    assert values[0] == values[1]


# -- not claimed: one found -------------------------------------------------------------------------------------------


@pairs(BROKEN)
def test_the_counterexample_refutes(metric, axiom):
    (one,) = [one for one in metric.counterexamples if one.axiom == axiom]
    (before, y), (after, same) = one.items[one.item], one.after[one.item]
    assert y == same and (after > before if axiom == "U" else after < before) and 0 <= after <= 1
    assert {y for _, y in one.items} == {0, 1}
    assert [a for i, a in enumerate(one.items) if i != one.item] == [a for i, a in enumerate(one.after) if i != one.item]
    values = value_of_items(metric, one.items), value_of_items(metric, one.after)
    assert np.isfinite(values).all()
    assert not better(metric, *values)


@pytest.mark.parametrize(
    "key", ["ece", "ece_debiased", "max_ce", "reliability", "resolution", "ks", "corp_mcb", "overconfidence"]
)
@pytest.mark.parametrize("axiom", ["U", "O"])
def test_they_can_even_get_worse(key, axiom):
    (one,) = [one for one in CATALOGUE[key].counterexamples if one.axiom == axiom]
    assert better(CATALOGUE[key], value_of_items(CATALOGUE[key], one.after), value_of_items(CATALOGUE[key], one.items))


def test_the_counterexample_of_ece_by_hand():
    # One right, one wrong, both at 0.6: mean c 0.6 against 0.5. The right one at 0.68: mean c 0.64, still one bin.
    (up,) = [one for one in CATALOGUE["ece"].counterexamples if one.axiom == "U"]
    assert (up.items, up.item, up.to) == (((0.6, 1), (0.6, 0)), 0, 0.68)
    assert value_of_items(CATALOGUE["ece"], up.items) == pytest.approx(0.1, abs=1e-12)
    assert value_of_items(CATALOGUE["ece"], up.after) == pytest.approx(0.14, abs=1e-12)


def test_the_answer_shows_them_in_numbers():
    entries = {entry.key: entry for entry in metric_definitions().metrics}
    assert entries["accuracy"].axioms is None and entries["uncertainty"].axioms is None
    assert entries["hmr"].axioms.satisfied == ["U", "O", "UO"] and entries["hmr"].axioms.where
    (first, second) = entries["ece"].axioms.counterexamples
    assert (first.axiom, second.axiom) == ("U", "O")
    assert (first.before, first.after) == pytest.approx((0.1, 0.14), abs=1e-12)


def test_what_is_measured_is_the_metric():
    items = [(0.9, 1), (0.2, 0), (0.7, 0), (0.4, 1)]
    # (0.01 + 0.04 + 0.49 + 0.36) / 4; R_O = 1 - 0.45, R_U = 0.65; difficulty 0, 1/3, 2/3, 1 against c - y = -0.1, 0.2, 0.7, -0.6.
    assert value_of_items(CATALOGUE["brier"], items) == pytest.approx(0.225, abs=1e-12)
    assert value_of_items(CATALOGUE["hmr"], items) == pytest.approx(2 * 0.55 * 0.65 / 1.2, abs=1e-12)
    slope = np.polyfit([0, 1 / 3, 2 / 3, 1], [-0.1, 0.2, 0.7, -0.6], 1)[0]
    assert value_of_items(CATALOGUE["hard_easy_slope"], items) == pytest.approx(slope, abs=1e-12)
    assert math.isnan(value_of_items(CATALOGUE["macro_ce"], [(0.5, 1)]))
