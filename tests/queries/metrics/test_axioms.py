"""Sakai's axioms U, O and UO: no counterexample to a claimed axiom is found, and one refutes each of the others."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.sufficient_statistics import Items, pooled, sums
from clueline.queries.metric_definitions import metric_definitions
from clueline.queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Conventions
from clueline.queries.metrics.axioms import AXIOMS, value_of_items
from tests.helpers.examples import examples

RANKED = [metric for metric in METRICS if metric.ranks and metric.axioms is not None]
SATISFIED = [(metric, axiom) for metric in RANKED for axiom in AXIOMS if axiom in metric.axioms]
REFUTED = [(metric, axiom) for metric in RANKED for axiom in AXIOMS if axiom not in metric.axioms]
CONVENTIONS = [Conventions(binning, human) for binning in ("width10", "width10+1") for human in (None, *HUMAN_CURVES)]
# Steps are coarse enough that every change exceeds the rounding; both ends of the range are included.
CONFIDENCE = st.integers(0, 64).map(lambda k: k / 64) | st.integers(0, 100).map(lambda k: k / 100)

SAME = 1e-12  # a change smaller than this is rounding


def better(metric, before, after):
    """Return whether a value is strictly better than the one before."""
    loss = metric.loss(np.array([before, after]))
    return bool(loss[1] < loss[0] - SAME)


def pairs(metrics):
    return pytest.mark.parametrize("metric, axiom", metrics, ids=lambda value: getattr(value, "key", value))


def refutes(metric, axiom, before, after):
    """Return whether a worse system's value contradicts an axiom. U and O allow ties, UO does not."""
    return not better(metric, after, before) if axiom == "UO" else better(metric, before, after)


@st.composite
def worsened(draw, axiom):
    """Draw items, and the same with a correct one less confident (U), an incorrect one more confident (O), or both (UO)."""
    items, after = [], []
    for right in (1, 0):
        low, high = sorted(draw(st.lists(CONFIDENCE, min_size=2, max_size=2, unique=True)))
        before, later = (high, low) if right else (low, high)
        items.append((before, right))
        after.append((later if ("U" if right else "O") in axiom else before, right))
    others = draw(st.lists(st.tuples(CONFIDENCE, st.sampled_from([0, 1])), max_size=6))
    order = draw(st.permutations(range(len(others) + 2)))
    return [(items + others)[k] for k in order], [(after + others)[k] for k in order]


# -- what the catalogue states -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
def test_every_item_level_metric_states_its_axioms(metric):
    if metric.level == "item" and set(metric.needs) <= {"correctness", "confidence"}:
        assert metric.axioms is not None
    if metric.axioms is not None:
        assert set(metric.axioms) <= set(AXIOMS)
    if not metric.ranks:
        assert not metric.axioms and not metric.counterexamples


@pytest.mark.parametrize("metric", RANKED, ids=lambda metric: metric.key)
def test_each_unsatisfied_axiom_has_a_counterexample(metric):
    axioms = [example.axiom for example in metric.counterexamples]
    assert axioms == [axiom for axiom in AXIOMS if axiom not in metric.axioms]


def test_which_metrics_satisfy_which_axioms():
    expected = {
        ("U", "O", "UO"): {
            "brier", "hmr", "r_over", "r_under", "macro_ce", "calscore", "calscore_weighted", "grace_mce",
            "brier_skill", "log_score",
        },
        ("U", "O"): {
            "accuracy", "net_score", "auroc", "corp_dsc", "calscore2", "log_infinite", "aurc", "e_aurc", "augrc", "prr",
            "accuracy_at_50", "accuracy_at_80", "accuracy_at_90",
        },
        (): {
            "ece", "ece_debiased", "max_ce", "ks", "ks_sequential", "corp_mcb", "reliability", "resolution", "overconfidence",
            "correlation", "hard_easy_slope",
        },
    }  # fmt: skip
    assert {axioms: {key for key in keys if CATALOGUE[key].axioms == axioms} for axioms, keys in expected.items()} == expected


# -- claimed axioms: no counterexample is found -----------------------------------------------------------------------


@pairs(SATISFIED)
def test_no_counterexample_is_found(metric, axiom):
    @examples(40)
    @given(worsened(axiom))
    def search(systems):
        assert not refutes(metric, axiom, *(value_of_items(metric, items) for items in systems))

    search()


# -- questions of several clues, with people ---------------------------------------------------------------------------


def over_questions(metric, questions, conventions):
    """Value of a metric over questions, each a list of (confidence, correctness, h)."""
    rows = []
    for question in questions:
        c, y, h = np.array(question, float).T
        people = {f"{human}_weight": (1 - h).sum() for human in HUMAN_CURVES}
        people |= {f"{human}_sign_confidence": ((1 - h) * (2 * y - 1) * c).sum() for human in HUMAN_CURVES}
        rows.append(pooled(c, y) | people)
    columns = {name: np.array([statistics[name] for statistics in rows]) for name in metric.reads(conventions)}
    totals = {name: part.sum(axis=0) for name, part in metric.contributions(columns, conventions).items()}
    return float(metric.value(totals, conventions))


@pytest.mark.parametrize("key", ["calscore", "calscore_weighted", "grace_mce"])
@pytest.mark.parametrize("axiom", AXIOMS)
def test_calscore_satisfies_all_at_unsolved_clues(key, axiom):
    shares = st.sampled_from([0.0, 0.25, 0.5, 0.75])

    @examples(40)
    @given(st.data(), worsened(axiom), st.sampled_from(CONVENTIONS))
    def search(data, systems, conventions):
        h = data.draw(st.lists(shares, min_size=len(systems[0]), max_size=len(systems[0])))
        cut = data.draw(st.integers(0, len(h)))
        values = []
        for items in systems:
            clues = [(c, y, share) for (c, y), share in zip(items, h, strict=True)]
            parts = [part for part in (clues[:cut], clues[cut:]) if part]
            values.append(over_questions(CATALOGUE[key], parts, conventions))
        assert not refutes(CATALOGUE[key], axiom, *values)
        if axiom != "UO":
            assert better(CATALOGUE[key], values[1], values[0])  # no tie either

    search()


@pytest.mark.parametrize("axiom", ["U", "O"])
def test_calscore2_is_never_better_over_several_clues(axiom):
    metric = CATALOGUE["calscore2"]

    @examples(40)
    @given(st.data(), worsened(axiom))
    def search(data, systems):
        count = len(systems[0])
        h = np.sort(data.draw(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=count, max_size=count)))
        values = []
        for items in systems:
            confidence, correct = np.array(items, float).T
            clues = Items(confidence, correct, np.array([0, count]), dict.fromkeys(HUMAN_CURVES, h))
            (name,) = metric.reads(Conventions())
            totals = metric.contributions(sums(clues, [name]), Conventions())
            values.append(float(metric.value({key: part.sum(axis=0) for key, part in totals.items()}, Conventions())))
        assert not refutes(metric, axiom, *values)

    search()


# -- axioms not claimed: a counterexample is found --------------------------------------------------------------------


@pairs(REFUTED)
def test_the_counterexample_refutes(metric, axiom):
    (example,) = [example for example in metric.counterexamples if example.axiom == axiom]
    changes = dict(example.changes)
    assert len(changes) == len(axiom)  # one for U and O, two for UO
    for index, to in changes.items():
        c, y = example.items[index]
        assert (to < c if y == 1 else to > c) and 0 <= to <= 1
        assert ("U" if y == 1 else "O") in axiom
    assert {y for _, y in example.items} == {0, 1}
    for index, (before, after) in enumerate(zip(example.items, example.after, strict=True)):
        assert after == ((changes[index], before[1]) if index in changes else before)
    values = value_of_items(metric, example.items), value_of_items(metric, example.after)
    assert np.isfinite(values).all()
    assert refutes(metric, axiom, *values)


def test_metric_definitions_list_axioms_and_counterexamples():
    entries = {entry.key: entry for entry in metric_definitions().metrics}
    assert entries["uncertainty"].axioms is None and entries["mean_confidence"].axioms is None
    assert entries["accuracy"].axioms.satisfied == entries["auroc"].axioms.satisfied == ["U", "O"]
    assert entries["hmr"].axioms.satisfied == ["U", "O", "UO"] and entries["hmr"].axioms.where is None
    first, second, third = entries["ece"].axioms.counterexamples
    assert (first.axiom, second.axiom, third.axiom) == ("U", "O", "UO")
    assert (first.before, first.after) == pytest.approx((0.14, 0.1), abs=1e-12)


def test_value_of_items_computes_the_metric():
    items = [(0.9, 1), (0.2, 0), (0.7, 0), (0.4, 1)]
    # (0.01 + 0.04 + 0.49 + 0.36) / 4; R_O = 1 - 0.45, R_U = 0.65; difficulty 0, 1/3, 2/3, 1 against c - y = -0.1, 0.2, 0.7, -0.6.
    assert value_of_items(CATALOGUE["brier"], items) == pytest.approx(0.225, abs=1e-12)
    assert value_of_items(CATALOGUE["hmr"], items) == pytest.approx(2 * 0.55 * 0.65 / 1.2, abs=1e-12)
    slope = np.polyfit([0, 1 / 3, 2 / 3, 1], [-0.1, 0.2, 0.7, -0.6], 1)[0]
    assert value_of_items(CATALOGUE["hard_easy_slope"], items) == pytest.approx(slope, abs=1e-12)
    assert math.isnan(value_of_items(CATALOGUE["macro_ce"], [(0.5, 1)]))
