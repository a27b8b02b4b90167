"""Pairs of runs against reference code over the questions and clues that both answered."""

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.compare import compare, comparisons, question_differences
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import difference_interval, difference_tests
from clueline.queries.engine.multiple_comparisons import holm
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import ClueMask, Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

RELAY = Selection("relay")
BRIER = [CATALOGUE["brier"]]
SOME = [CATALOGUE[key] for key in ("brier", "calscore", "auroc", "ece", "overconfidence", "mean_confidence")]
SINGLE = [metric for metric in METRICS if metric.single and metric.direction != "none"]
PLAIN = Selection("relay", model=("plain", "twin"))


def known(value):
    return None if math.isnan(value) else pytest.approx(value, abs=1e-10)


def both_answered(rows, a, b):
    """Return a mask of the clues that both runs answered."""
    width = max(question["clues"] for question in rows.questions)
    places = [(question["question_id"], clue) for question in rows.questions for clue in range(width)]
    return ClueMask(width, "".join(str(int(all((run, *place) in rows.responses for run in (a, b)))) for place in places))


def runs_of(rows, dataset):
    return [run["run"] for run in rows[dataset].runs]


@examples(25)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]))
def test_comparison_matches_reference_on_common_clues(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    a, b = data.draw(st.permutations(runs_of(rows, dataset)))[:2]
    result = compare(snapshot, selection, a, b, METRICS)
    answered = {run: rows[dataset].answered(selection, run, others=(a, b)) for run in (a, b)}
    common = [*answered[a]]
    assert (result.a.run, result.b.run, result.questions) == (a, b, len(common))
    assert [pair.question_id for pair in result.pairs] == common
    for metric in METRICS:
        definition, difference = reference.METRICS[metric.key], result.metrics[metric.key]
        values = [definition([answered[run][name] for name in common], selection.conventions) for run in (a, b)]
        if not common:
            assert (difference.a, difference.b, difference.difference, difference.better) == (None,) * 4
            assert difference.missing == "no question of the selection was answered by both"
            continue
        expected = [known(value) for value in (*values, values[0] - values[1])]
        assert [difference.a, difference.b, difference.difference] == expected, metric.key
        assert difference.missing == (metric.undefined if math.isnan(values[0] - values[1]) else None)
        loss_a, loss_b = ({"lower": v, "higher": -v, "zero": abs(v), "none": 0}[metric.direction] for v in map(float, values))
        if not abs(loss_a - loss_b) < 1e-12 and metric.floor < min(values):
            better = None if math.isnan(loss_a - loss_b) else a if loss_a < loss_b else b
            assert difference.better == better, metric.key
        if difference.difference is None or len(common) == 1:
            assert (difference.low, difference.high, difference.p_value, difference.p_holm, difference.replicates) == (None,) * 5
        for pair in result.pairs:
            assert (metric.key in pair.a) == (metric.key in pair.b) == metric.single
            if metric.single:
                both = [definition([answered[run][pair.question_id]], selection.conventions) for run in (a, b)]
                assert [pair.a[metric.key], pair.b[metric.key]] == [known(value) for value in both], metric.key


@examples(40)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]), metric=st.sampled_from(SINGLE))
def test_question_differences_match_the_pairs_of_a_comparison(snapshot, rows, offered, data, dataset, metric):
    selection = data.draw(selections(offered[dataset]))
    a, b = data.draw(st.permutations(runs_of(rows, dataset)))[:2]
    result = question_differences(snapshot, selection, a, b, metric)
    pairs = [
        (pair.question_id, pair.a[metric.key], pair.b[metric.key]) for pair in compare(snapshot, selection, a, b, [metric]).pairs
    ]
    known = [pair for pair in pairs if None not in pair]
    assert [(dot.question_id, dot.a, dot.b) for dot in result.dots] == known
    assert result.questions == sum(result.differences) == sum(win.a + win.b + win.ties for win in result.wins) == len(known)
    assert result.widest == max([1e-9, *(abs(value - other) for _, value, other in known)])
    category = {question["question_id"]: question["category"] for question in rows[dataset].questions}
    worth = {pair[0]: metric.loss(np.array(pair[2])) - metric.loss(np.array(pair[1])) for pair in known}
    for win in result.wins:
        ahead = [value for name, value in worth.items() if category[name] == win.category]
        assert [win.a, win.b, win.ties] == [sum(v > 0 for v in ahead), sum(v < 0 for v in ahead), sum(v == 0 for v in ahead)]


def test_side_by_side_shows_every_nth_of_many_questions(snapshot, run_of, monkeypatch):
    a, b = run_of["plain", "verbalized"], run_of["twin", "verbalized"]
    every = question_differences(snapshot, RELAY, a, b, CATALOGUE["brier"])
    monkeypatch.setattr("clueline.queries.compare.MAX_DOTS", 5)
    some = question_differences(snapshot, RELAY, a, b, CATALOGUE["brier"])
    assert every.questions > 5
    assert some.dots == every.dots[:: -(-every.questions // 5)]
    assert (some.questions, some.differences, some.wins) == (every.questions, every.differences, every.wins)


def test_many_questions_have_no_values_of_pairs(snapshot, run_of, monkeypatch):
    a, b, metrics = run_of["plain", "verbalized"], run_of["twin", "verbalized"], [CATALOGUE["brier"], CATALOGUE["auroc"]]
    few = compare(snapshot, RELAY, a, b, metrics)
    monkeypatch.setattr("clueline.queries.compare.MAX_SINGLE", len(few.pairs) - 1)
    many = compare(snapshot, RELAY, a, b, metrics)
    assert [pair.a["brier"] for pair in many.pairs] == [pair.a["brier"] for pair in few.pairs]
    assert any(pair.a["auroc"] is not None for pair in few.pairs) and {pair.a["auroc"] for pair in many.pairs} == {None}
    assert many.metrics == few.metrics


@pytest.mark.parametrize(
    ("names", "selection"),
    [
        *((names, RELAY) for names in (("plain", "twin"), ("partial", "plain"), ("partial", "sure"))),
        (("partial", "plain"), RELAY.replace(revealed=(0.0, 0.5))),
        (("partial", "plain"), RELAY.replace(conventions=Conventions("mass3"))),
    ],
    ids=str,
)
def test_intervals_and_p_values_are_those_of_the_pair(snapshot, rows, run_of, names, selection):
    a, b = (run_of[name, "verbalized"] for name in names)
    result = compare(snapshot, selection, a, b, METRICS)
    answered = rows["relay"].answered(selection, a, others=(b,))
    both = gather(snapshot, selection.replace(run=(a, b), clue_mask=both_answered(rows["relay"], a, b)), METRICS)
    assert [str(name) for name in both.questions] == [*answered] * 2
    order = [[run.run for run in both.runs].index(run) for run in (a, b)]
    compared = 0
    for metric in METRICS:
        difference = result.metrics[metric.key]
        if difference.low is None:
            assert (difference.high, difference.p_value, difference.p_holm, difference.replicates) == (None,) * 4
            usable = both.questions_with(metric).min()  # a single question has no interval
            assert difference.difference is None or difference.no_interval or usable == 1
            assert not difference.no_interval or math.isnan(difference_interval(both, metric, *order)[0])
            continue
        low, high, replicates = difference_interval(both, metric, *order)
        assert (difference.low, difference.high) == pytest.approx((low, high)), metric.key
        assert difference.replicates == replicates
        assert difference.p_value == pytest.approx(difference_tests(both, metric)[tuple(order)], rel=1e-6)
        families = 1 if metric.key == result.primary else result.other_metrics
        assert difference.p_holm == pytest.approx(min(families * difference.p_value, 1))
        assert difference.p_value >= 2.0 ** (1 - result.questions)
        compared += 1
    assert compared > 10


def test_no_better_run_in_ties_and_neutral_metrics(snapshot, run_of):
    plain, twin = run_of["plain", "verbalized"], run_of["twin", "verbalized"]
    result = compare(snapshot, RELAY, plain, twin, METRICS).metrics  # the same items at other questions
    assert abs(result["brier"].difference) < 1e-15
    assert result["brier"].better is result["mean_confidence"].better is result["ece"].better is None
    assert result["brier"].p_value > 0.3
    logit = run_of["plain", "logit"]
    other = compare(snapshot, RELAY, plain, logit, METRICS).metrics
    assert other["mean_confidence"].difference != 0 and other["mean_confidence"].better is None
    for key, loss in (("brier", lambda value: value), ("accuracy", lambda value: -value), ("overconfidence", abs)):
        cell = other[key]
        assert cell.better == (plain if loss(cell.a) < loss(cell.b) else logit), key


def test_what_cannot_be_compared_is_refused(snapshot, run_of, rows):
    a = run_of["plain", "logit"]
    for key, (first, other) in {"a": ("nobody", a), "b": (a, "nobody")}.items():
        with pytest.raises(BadRequest, match="no run 'nobody'") as refused:
            compare(snapshot, RELAY, first, other, BRIER)
        assert (refused.value.code, refused.value.field) == ("unknown_value", key)
        assert refused.value.allowed == runs_of(rows, "relay")
    with pytest.raises(BadRequest, match="with itself") as refused:
        compare(snapshot, RELAY, a, a, BRIER)
    assert refused.value.field == "b"
    with pytest.raises(BadRequest, match="no run"):
        compare(snapshot, RELAY, a, runs_of(rows, "spans")[0], BRIER)  # of another dataset
    with pytest.raises(BadRequest, match="no run"):
        comparisons(snapshot, RELAY, "nobody", BRIER)


def test_every_two_runs_with_holms_adjustment(snapshot, offered):
    result = comparisons(snapshot, RELAY, None, SOME)
    couples = [*combinations([run for run, *_ in offered["relay"].runs], 2)]
    assert [(comparison.a.run, comparison.b.run) for comparison in result.comparisons] == couples
    for comparison in result.comparisons:
        alone = compare(snapshot, RELAY, comparison.a.run, comparison.b.run, SOME)
        assert (comparison.a, comparison.b, comparison.questions) == (alone.a, alone.b, alone.questions)
        for key, cell in comparison.metrics.items():
            for name in ("a", "b", "difference", "missing", "better", "low", "high", "replicates", "p_value"):
                value, expected = getattr(cell, name), getattr(alone.metrics[key], name)
                assert value == (pytest.approx(expected, rel=1e-9, abs=1e-11) if isinstance(expected, float) else expected)
    for metric in SOME:
        family = [comparison.metrics[metric.key] for comparison in result.comparisons]
        p_values = np.array([np.nan if comparison.p_value is None else comparison.p_value for comparison in family])
        adjusted = [comparison.p_holm for comparison in family]
        families = 1 if metric.key == result.primary else result.other_metrics
        assert adjusted == [None if math.isnan(p) else p for p in holm(p_values, families)]
    briers = [comparison.metrics["brier"] for comparison in result.comparisons]
    assert any(comparison.p_holm > comparison.p_value for comparison in briers if comparison.p_value is not None)
    assert any(comparison.p_value is None for comparison in briers)  # "unheard" and "sure" have no question in common


def test_one_run_is_compared_with_every_other(snapshot, run_of, rows):
    a = run_of["sure", "verbalized"]
    answer = comparisons(snapshot, PLAIN, a, BRIER)
    result = answer.comparisons  # also for a run that the filter on models leaves out
    assert [(comparison.a.model, comparison.b.model, comparison.b.elicitation) for comparison in result] == [
        ("sure", "plain", "verbalized"), ("sure", "twin", "verbalized"), ("sure", "plain", "logit"),
    ]  # fmt: skip
    p_values = np.array([comparison.metrics["brier"].p_value for comparison in result])
    assert [comparison.metrics["brier"].p_holm for comparison in result] == holm(p_values, answer.other_metrics).tolist()
    inside = comparisons(snapshot, PLAIN, run_of["plain", "logit"], BRIER).comparisons
    assert [(row.b.model, row.b.elicitation) for row in inside] == [("plain", "verbalized"), ("twin", "verbalized")]
    (gone,) = [run["run"] for run in rows["relay"].runs if run["model"] == "gone"]
    withdrawn = comparisons(snapshot, PLAIN, gone, BRIER).comparisons
    assert [comparison.a.model for comparison in withdrawn] == ["gone"] * 3
    assert all(comparison.metrics["brier"].difference is not None for comparison in withdrawn)


@pytest.mark.parametrize("selection", [RELAY.replace(q="no such text"), RELAY.replace(model=("sure",))])
def test_fewer_than_two_runs_give_no_pairs(snapshot, selection):
    assert comparisons(snapshot, selection, None, METRICS).comparisons == []
