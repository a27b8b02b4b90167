"""Pairs of runs against slow code over the questions that both answered."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queries.compare import compare, comparisons
from queries.engine.bootstrap import holm
from queries.engine.evidence import gather
from queries.engine.intervals import difference_interval, difference_tests
from queries.metrics import CATALOGUE, METRICS, Conventions
from queries.parameters import BadRequest
from queries.selection import Selection
from queries.side_by_side import side_by_side
from tests.helpers import reference_metrics as slow
from tests.helpers.strategies import selections

RELAY = Selection("relay")
BRIER = [CATALOGUE["brier"]]
SINGLE = [metric for metric in METRICS if metric.single and metric.direction != "none"]
PLAIN = Selection("relay", model=("plain", "twin"))


def known(value):
    return None if math.isnan(value) else pytest.approx(value, abs=1e-10)


@pytest.fixture(scope="module")
def run_of(offered):
    return {(model, elicitation): run for run, model, elicitation in offered["relay"].runs}


def runs_of(rows, dataset):
    return [run["run"] for run in rows[dataset].runs]


@settings(max_examples=40, deadline=None)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]))
def test_comparison_matches_reference_on_common_questions(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    a, b = data.draw(st.permutations(runs_of(rows, dataset)))[:2]
    found = compare(snapshot, selection, a, b, METRICS)
    asked = {run: rows[dataset].answered(selection, run) for run in (a, b)}
    common = [name for name in asked[a] if name in asked[b]]
    assert (found.a.run, found.b.run, found.questions) == (a, b, len(common))
    assert [pair.question_id for pair in found.pairs] == common
    for metric in METRICS:
        definition, one = slow.METRICS[metric.key], found.metrics[metric.key]
        values = [definition([asked[run][name] for name in common], selection.conventions) for run in (a, b)]
        if not common:
            assert (one.a, one.b, one.difference, one.better) == (None,) * 4
            assert one.missing == "no question of the selection was answered by both"
            continue
        assert [one.a, one.b, one.difference] == [known(values[0]), known(values[1]), known(values[0] - values[1])], metric.key
        assert one.missing == (metric.undefined if math.isnan(values[0] - values[1]) else None)
        if one.difference is None or len(common) == 1:
            assert (one.low, one.high, one.p_value, one.p_holm, one.replicates) == (None,) * 5
        for pair in found.pairs:
            assert (metric.key in pair.a) == (metric.key in pair.b) == metric.single
            if metric.single:
                each = [definition([asked[run][pair.question_id]], selection.conventions) for run in (a, b)]
                assert [pair.a[metric.key], pair.b[metric.key]] == [known(value) for value in each], metric.key


def test_a_comes_first_whichever_was_imported_first(snapshot, run_of):
    a, b = run_of["plain", "verbalized"], run_of["partial", "verbalized"]
    one, other = compare(snapshot, RELAY, a, b, METRICS), compare(snapshot, RELAY, b, a, METRICS)
    assert (one.a, one.b) == (other.b, other.a)
    assert any(pair.a != pair.b for pair in one.pairs)
    assert [(pair.a, pair.b) for pair in one.pairs] == [(pair.b, pair.a) for pair in other.pairs]
    for metric in METRICS:
        here, there = one.metrics[metric.key], other.metrics[metric.key]
        assert (here.a, here.b, here.better, here.p_value) == (there.b, there.a, there.better, there.p_value)
        if here.difference is not None:
            assert here.difference == here.a - here.b == -there.difference
            assert (here.low, here.high) == (-there.high, -there.low)


@settings(max_examples=40, deadline=None)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]), metric=st.sampled_from(SINGLE))
def test_side_by_side_is_what_the_pairs_of_a_comparison_come_to(snapshot, rows, offered, data, dataset, metric):
    selection = data.draw(selections(offered[dataset]))
    a, b = data.draw(st.permutations(runs_of(rows, dataset)))[:2]
    found = side_by_side(snapshot, selection, a, b, metric)
    pairs = [
        (pair.question_id, pair.a[metric.key], pair.b[metric.key]) for pair in compare(snapshot, selection, a, b, [metric]).pairs
    ]
    known = [pair for pair in pairs if None not in pair]
    assert [(dot.question_id, dot.a, dot.b) for dot in found.dots] == known
    assert found.questions == sum(found.differences) == sum(each.a + each.b + each.ties for each in found.wins) == len(known)
    assert found.widest == max([1e-9, *(abs(one - other) for _, one, other in known)])
    category = {question["question_id"]: question["category"] for question in rows[dataset].questions}
    worth = {pair[0]: metric.loss(np.array(pair[2])) - metric.loss(np.array(pair[1])) for pair in known}
    for each in found.wins:
        ahead = [value for name, value in worth.items() if category[name] == each.category]
        assert [each.a, each.b, each.ties] == [sum(v > 0 for v in ahead), sum(v < 0 for v in ahead), sum(v == 0 for v in ahead)]


def test_side_by_side_shows_every_nth_of_many_questions(snapshot, run_of, monkeypatch):
    a, b = run_of["plain", "verbalized"], run_of["twin", "verbalized"]
    every = side_by_side(snapshot, RELAY, a, b, CATALOGUE["brier"])
    monkeypatch.setattr("queries.side_by_side.MOST_DOTS", 5)
    some = side_by_side(snapshot, RELAY, a, b, CATALOGUE["brier"])
    assert every.questions > 5
    assert some.dots == every.dots[:: -(-every.questions // 5)]
    assert (some.questions, some.differences, some.wins) == (every.questions, every.differences, every.wins)


@pytest.mark.parametrize(
    "selection", [RELAY, RELAY.replace(revealed=(0.0, 0.5)), RELAY.replace(conventions=Conventions("mass3"))]
)
@pytest.mark.parametrize("names", [("plain", "twin"), ("partial", "plain"), ("partial", "sure")], ids="-".join)
def test_intervals_and_p_values_are_those_of_the_pair(snapshot, rows, run_of, names, selection):
    a, b = (run_of[name, "verbalized"] for name in names)
    found = compare(snapshot, selection, a, b, METRICS)
    answered = [{*rows["relay"].answered(selection, run)} for run in (a, b)]
    both = gather(snapshot, selection.replace(run=(a, b)), METRICS)
    both = both.select_rows(np.isin(both.questions.astype(str), [*answered[0] & answered[1]]))
    order = [[run.run for run in both.runs].index(run) for run in (a, b)]
    told = 0
    for metric in METRICS:
        one = found.metrics[metric.key]
        if one.low is None:
            assert (one.high, one.p_value, one.p_holm, one.replicates) == (None,) * 4
            assert one.difference is None or found.questions <= 2
            continue
        low, high, replicates = difference_interval(both, metric, *order)
        assert [one.low, one.high, one.replicates] == [pytest.approx(low), pytest.approx(high), replicates], metric.key
        assert one.p_value == one.p_holm == pytest.approx(difference_tests(both, metric)[tuple(order)], rel=1e-6)
        assert one.p_value >= 2.0 ** (1 - found.questions)
        told += 1
    assert told > 10


@pytest.mark.parametrize(
    ("key", "a_is_better"),
    [("brier", lambda a, b: a < b), ("accuracy", lambda a, b: a > b), ("overconfidence", lambda a, b: abs(a) < abs(b))],
)
def test_better_follows_the_direction_of_the_metric(snapshot, rows, key, a_is_better):
    found = comparisons(snapshot, RELAY, None, [CATALOGUE[key]]).comparisons
    assert any(one.metrics[key].better == one.a.run for one in found)
    assert any(one.metrics[key].better == one.b.run for one in found)
    if key == "overconfidence":
        assert any(one.metrics[key].a < 0 < one.metrics[key].b for one in found if one.questions)
    for one in found:
        each = one.metrics[key]
        if each.difference is None or abs(each.difference) < 1e-12:
            assert each.better is None
        else:
            assert each.better == (one.a.run if a_is_better(each.a, each.b) else one.b.run)


def test_no_better_run_in_ties_and_neutral_metrics(snapshot, run_of):
    plain, twin = run_of["plain", "verbalized"], run_of["twin", "verbalized"]
    found = compare(snapshot, RELAY, plain, twin, METRICS).metrics  # the same items, at other questions
    assert abs(found["brier"].difference) < 1e-15
    assert found["brier"].better is found["mean_confidence"].better is found["ece"].better is None
    assert found["brier"].p_value > 0.3
    other = compare(snapshot, RELAY, plain, run_of["plain", "logit"], METRICS).metrics["mean_confidence"]
    assert other.difference != 0 and other.better is None


def test_none_in_common(snapshot, run_of):
    found = compare(snapshot, RELAY, run_of["unheard", "verbalized"], run_of["sure", "verbalized"], METRICS)
    assert (found.questions, found.pairs) == (0, [])
    assert {one.missing for one in found.metrics.values()} == {"no question of the selection was answered by both"}
    unasked = compare(
        snapshot, RELAY.replace(q="no such text"), run_of["plain", "verbalized"], run_of["sure", "verbalized"], METRICS
    )
    assert (unasked.a.model, unasked.b.model, unasked.questions) == ("plain", "sure", 0)


def test_one_common_question_has_no_interval(snapshot, run_of):
    found = compare(
        snapshot, RELAY.replace(questions=("r02", "r05")), run_of["plain", "logit"], run_of["sure", "verbalized"], BRIER
    )
    one = found.metrics["brier"]
    assert found.questions == 1
    assert one.difference == one.a - one.b and one.b == 0
    assert (one.low, one.high, one.p_value, one.p_holm, one.replicates) == (None,) * 5


def test_a_metric_that_one_run_lacks_says_why(snapshot, run_of):
    found = compare(snapshot, RELAY, run_of["plain", "verbalized"], run_of["sure", "verbalized"], METRICS).metrics
    assert found["auroc"].a is not None and found["auroc"].b is None
    assert (found["auroc"].difference, found["auroc"].better, found["auroc"].low) == (None, None, None)
    assert found["auroc"].missing == "either nothing is correct or nothing is incorrect"


def test_what_cannot_be_compared_is_refused(snapshot, run_of, rows):
    a = run_of["plain", "logit"]
    for key, (one, other) in {"a": ("nobody", a), "b": (a, "nobody")}.items():
        with pytest.raises(BadRequest, match="no run 'nobody'") as refused:
            compare(snapshot, RELAY, one, other, BRIER)
        assert (refused.value.code, refused.value.field) == ("unknown_value", key)
        assert refused.value.allowed == runs_of(rows, "relay")
    with pytest.raises(BadRequest, match="with itself") as refused:
        compare(snapshot, RELAY, a, a, BRIER)
    assert refused.value.field == "b"
    with pytest.raises(BadRequest, match="no run"):
        compare(snapshot, RELAY, a, runs_of(rows, "spans")[0], BRIER)  # of another dataset
    with pytest.raises(BadRequest, match="no run"):
        comparisons(snapshot, RELAY, "nobody", BRIER)


@pytest.mark.parametrize("conventions", [Conventions(), Conventions("mass3")], ids=lambda each: each.binning)
def test_every_two_runs_with_holms_adjustment(snapshot, offered, conventions):
    selection = RELAY.replace(conventions=conventions)
    found = comparisons(snapshot, selection, None, METRICS)
    couples = [*combinations([run for run, *_ in offered["relay"].runs], 2)]
    assert [(one.a.run, one.b.run) for one in found.comparisons] == couples
    for one in found.comparisons:
        alone = compare(snapshot, selection, one.a.run, one.b.run, METRICS)
        assert (one.a, one.b, one.questions) == (alone.a, alone.b, alone.questions)
        for key, each in one.metrics.items():
            for name in ("a", "b", "difference", "missing", "better", "low", "high", "replicates", "p_value"):
                value, expected = getattr(each, name), getattr(alone.metrics[key], name)
                assert value == (pytest.approx(expected, rel=1e-9, abs=1e-11) if isinstance(expected, float) else expected)
    for metric in METRICS:
        family = [one.metrics[metric.key] for one in found.comparisons]
        p_values = np.array([np.nan if one.p_value is None else one.p_value for one in family])
        adjusted = [one.p_holm for one in family]
        assert adjusted == [None if math.isnan(p) else p for p in holm(p_values)]
    briers = [one.metrics["brier"] for one in found.comparisons]
    assert any(one.p_holm > one.p_value for one in briers if one.p_value is not None)
    assert any(one.p_value is None for one in briers)  # "unheard" and "sure" have no question in common


def test_one_run_and_every_other(snapshot, run_of, rows):
    a = run_of["sure", "verbalized"]
    found = comparisons(snapshot, PLAIN, a, BRIER).comparisons  # whatever the filter says of models
    assert [(one.a.model, one.b.model, one.b.elicitation) for one in found] == [
        ("sure", "plain", "verbalized"), ("sure", "twin", "verbalized"), ("sure", "plain", "logit"),
    ]  # fmt: skip
    p_values = np.array([one.metrics["brier"].p_value for one in found])
    assert [one.metrics["brier"].p_holm for one in found] == holm(p_values).tolist()
    inside = comparisons(snapshot, PLAIN, run_of["plain", "logit"], BRIER).comparisons
    assert [(one.b.model, one.b.elicitation) for one in inside] == [("plain", "verbalized"), ("twin", "verbalized")]
    (gone,) = [run["run"] for run in rows["relay"].runs if run["model"] == "gone"]
    withdrawn = comparisons(snapshot, PLAIN, gone, BRIER).comparisons
    assert [one.a.model for one in withdrawn] == ["gone"] * 3
    assert all(one.metrics["brier"].difference is not None for one in withdrawn)


@pytest.mark.parametrize("selection", [RELAY.replace(q="no such text"), RELAY.replace(model=("sure",))])
def test_there_may_be_no_pair(snapshot, selection):
    assert comparisons(snapshot, selection, None, METRICS).comparisons == []
