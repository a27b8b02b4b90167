"""The catalogue is complete, and what it claims holds."""

import math

import numpy as np
import pytest

from clueline.data import sufficient_statistics
from clueline.queries.engine import distribution_statistics
from clueline.queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Conventions
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, NET_REWARD

EACH = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
CONVENTIONS = [
    Conventions(binning, curve) for binning in ("width10", "width10r", "width10+1", "mass15") for curve in (None, *HUMAN_CURVES)
]


def test_keys_are_unique_and_those_of_the_entries():
    assert all(CATALOGUE[key].key == key for key in CATALOGUE)
    assert len({metric.name for metric in CATALOGUE.values()}) == len(CATALOGUE)
    assert len({metric.symbol for metric in CATALOGUE.values()}) == len(CATALOGUE)


@EACH
def test_every_fact_is_filled_in(metric):
    for fact in ("key", "name", "symbol", "formula", "words", "source", "caveat", "undefined"):
        text = getattr(metric, fact)
        assert text and text == text.strip(), fact
    assert metric.words.endswith(".") and metric.caveat.endswith(".")
    assert metric.formula.count("{") == metric.formula.count("}")
    assert metric.needs
    assert metric.low < metric.high
    assert metric.direction in ("lower", "higher", "zero", "none")
    assert metric.human is None or metric.human in HUMAN_CURVES
    assert ("human buzzes" in metric.needs) == (metric.human is not None)


@EACH
def test_every_column_a_metric_reads_exists(metric):
    for conventions in CONVENTIONS:
        kept = {
            *sufficient_statistics.STATISTICS,
            *sufficient_statistics.BIN_COLUMNS,
            *distribution_statistics.COLUMNS,
            "difficulty",
            NET_REWARD,
            ATTEMPTED_ITEMS,
        }
        assert metric.reads(conventions) and set(metric.reads(conventions)) <= kept
    reads = metric.reads(Conventions())
    assert metric.binned == bool({*sufficient_statistics.BIN_COLUMNS, "class_gaps"} & {*reads})
    assert ("whole distribution" in metric.needs) == bool({*distribution_statistics.COLUMNS} & {*reads})
    assert ("difficulty" in metric.needs) == ("difficulty" in reads)
    assert (metric.human is not None) == any(name.startswith(HUMAN_CURVES) for name in reads)


@pytest.mark.parametrize("reward, expected", [(1 + 2**-51, 0), (-(2**-60), 1), (0.25, 0.75)])
def test_rounding_keeps_calscore2_in_its_range(reward, expected):
    sums = {"team_share_reward": np.array([reward])}
    assert CATALOGUE["calscore2"].contributions(sums, Conventions())["value"] == [expected]


def test_which_metrics_need_more_than_one_question():
    several = {metric.key for metric in METRICS if not metric.single}
    assert several == {"ece_debiased", "hard_easy_slope", "hard_easy_slope_se"}


def test_calscore2_replaces_a_curve_that_can_fall():
    chosen = Conventions(human="buzz_share")
    used = {metric.key: metric.human_curve(chosen) for metric in METRICS if metric.human}
    assert used == {metric.key: "team_share" if metric.of_teams else "buzz_share" for metric in METRICS if metric.human}
    assert [metric.key for metric in METRICS if metric.of_teams] == ["calscore2"]


@EACH
def test_the_human_curve_is_the_chosen_one_or_the_default(metric):
    assert metric.human_curve(Conventions()) == metric.human
    assert metric.human_curve(Conventions(human="survival")) == ("survival" if metric.human else None)


@pytest.mark.parametrize(
    "direction, expected", [("lower", [-0.5, 0.2]), ("higher", [0.5, -0.2]), ("zero", [0.5, 0.2]), ("none", [math.nan] * 2)]
)
def test_loss_is_smaller_where_a_metric_is_better(direction, expected):
    metric = next(metric for metric in METRICS if metric.direction == direction)
    assert metric.loss(np.array([-0.5, 0.2])) == pytest.approx(expected, nan_ok=True)
