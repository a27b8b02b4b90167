"""Kendall's tau-b between rankings against a count of pairs."""

import math
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.rankings import agreement
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.examples import examples
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions
RANKED = [metric for metric in METRICS if metric.direction != "none"]


def tau_b(pairs):
    """(concordant - discordant) / sqrt((all - ties in x) (all - ties in y)): Kendall 1945. None where all pairs tie in x or y."""
    together = ties_x = ties_y = 0
    for (x, y), (other_x, other_y) in combinations(pairs, 2):
        sign = ((x > other_x) - (x < other_x)) * ((y > other_y) - (y < other_y))
        together, ties_x, ties_y = together + sign, ties_x + (x == other_x), ties_y + (y == other_y)
    count = math.comb(len(pairs), 2)
    return together / math.sqrt((count - ties_x) * (count - ties_y)) if ties_x < count and ties_y < count else None


def test_tau_b_by_hand():
    # Six pairs: five agree, and one ties in y only. tau-b = 5 / sqrt(6 x 5).
    assert tau_b([(1, 1), (2, 2), (3, 3.5), (4, 3.5)]) == pytest.approx(5 / math.sqrt(30))


@examples(40)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]))
def test_agreement_matches_counted_pairs(snapshot, rows, offered, data, dataset):
    selection = data.draw(selections(offered[dataset]))
    result = agreement(snapshot, selection, METRICS)
    answered = [rows[dataset].answered(selection, run["run"]) for run in rows[dataset].kept_runs(selection)]
    answered = [list(questions.values()) for questions in answered if questions]
    ranks = {}
    for metric in RANKED:
        values = [reference.METRICS[metric.key](questions, selection.conventions) for questions in answered]
        ranks[metric.key] = reference.ranks([None if math.isnan(value) else _loss(metric, value) for value in values])
    assert [(tau.a, tau.b) for tau in result.pairs] == [*combinations([metric.key for metric in RANKED], 2)]
    for tau in result.pairs:
        both = [(x, y) for x, y in zip(ranks[tau.a], ranks[tau.b], strict=True) if x is not None and y is not None]
        expected = tau_b(both) if len(both) > 1 else None
        assert tau.runs == len(both)
        assert (tau.tau is None) == (expected is None) == (tau.missing is not None)
        assert tau.tau == (None if expected is None else pytest.approx(expected, abs=1e-12)), (tau.a, tau.b)


def _loss(metric, value):
    value = max(value, metric.floor)
    return {"lower": value, "higher": -value, "zero": abs(value)}[metric.direction]


def test_metrics_without_a_ranking_are_left_out(snapshot):
    result = agreement(snapshot, RELAY, METRICS)
    assert result.metrics == [metric.key for metric in RANKED]
    ranked_by_none = {"attempted", "mean_confidence", "pct_rounded", "uncertainty", "residual", "corp_unc", "hard_easy_slope_se"}
    assert set(result.left_out) == ranked_by_none


def test_a_missing_tau_has_a_reason(snapshot):
    def missing(selection, *keys):
        (tau,) = agreement(snapshot, selection, [CATALOGUE[key] for key in keys]).pairs
        assert tau.tau is None
        return tau.missing, tau.runs

    assert missing(RELAY.replace(model=("sure",)), "brier", "ece") == ("fewer than 2 runs have both", 1)
    assert missing(RELAY.replace(q="no such text"), "brier", "ece") == ("fewer than 2 runs have both", 0)
    alike = RELAY.replace(model=("plain", "twin"), elicitation=("verbalized",))
    assert missing(alike, "brier", "calscore") == ("one of them ranks all runs the same", 2)
