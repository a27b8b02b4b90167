"""The catalogue is complete, and what it claims holds."""

import math

import numpy as np
import pytest
import scipy.stats

from data import human_curves, sufficient_statistics
from data.sufficient_statistics import UNSTORED_SUMS, Items, pooled
from queries.engine import distribution_statistics
from queries.metrics import CATALOGUE, HUMAN_CURVES, METRICS, Conventions
from queries.metrics.kernels.item_totals import net_reward
from queries.metrics.metric import ATTEMPTED_ITEMS, HALF_REWARD, NET_REWARD

EACH = pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.key)
STANDARD_T = Conventions().t
CONVENTIONS = [
    Conventions(binning, curve) for binning in ("width10", "width10r", "width10+1", "mass15") for curve in (None, *HUMAN_CURVES)
]


def test_keys_are_unique_and_those_of_the_entries():
    assert [key for key, metric in CATALOGUE.items() if not metric.variant] == [metric.key for metric in METRICS]
    assert all(CATALOGUE[key].key == key for key in CATALOGUE)
    assert len({metric.name for metric in CATALOGUE.values()}) == len(CATALOGUE)
    assert len({metric.symbol for metric in CATALOGUE.values()}) == len(CATALOGUE)


def test_the_human_curves_are_those_of_the_store():
    assert HUMAN_CURVES == human_curves.CURVES


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


@pytest.mark.parametrize("metric", [m for m in METRICS if not m.cross_fitted], ids=lambda metric: metric.key)
def test_range_and_shape_over_random_questions(metric):
    chance = np.random.default_rng(3)
    clues = chance.integers(1, 7, 200)
    ends = np.cumsum(clues)
    # Every fifth item has a confidence at an end of the range.
    confidence = np.where(np.arange(ends[-1]) % 5 == 0, chance.integers(0, 2, ends[-1]), chance.random(ends[-1]))
    correct = np.where(np.arange(ends[-1]) % 3 == 0, chance.random(ends[-1]), chance.integers(0, 2, ends[-1]))
    confidences, corrects = np.split(confidence, ends[:-1]), np.split(correct, ends[:-1])
    sums = _statistics(confidences, corrects, chance)
    for conventions in (settings for settings in CONVENTIONS if not settings.mass_bins):
        if metric.pairs:
            values = np.array([metric.of_pairs(c, y) for c, y in zip(confidences, corrects, strict=True)])
            total = metric.of_pairs(confidence, correct)
        else:
            reads = {name: sums[name] for name in metric.reads(conventions)}
            contributions = metric.contributions(reads, conventions)
            values = metric.value(contributions, conventions)
            total = metric.value({name: part.sum(axis=0) for name, part in contributions.items()}, conventions)
        assert values.shape == (200,) and np.shape(total) == ()
        assert np.isfinite(values).any() or not metric.single
        defined = values[np.isfinite(values)]
        assert ((defined >= metric.low - 1e-15) & (defined <= metric.high + 1e-15)).all()
        assert metric.low <= total <= metric.high


def _statistics(confidences, corrects, chance):
    statistics = [pooled(c, y) for c, y in zip(confidences, corrects, strict=True)]
    sums = {name: np.stack([statistic[name] for statistic in statistics]) for name in statistics[0]}
    for curve in HUMAN_CURVES:
        weights = [1 - chance.random(len(c)) for c in confidences]
        parts = zip(weights, confidences, corrects, strict=True)
        sums[f"{curve}_sign_confidence"] = np.array([(w * (2 * y - 1) * c).sum() for w, c, y in parts])
        sums[f"{curve}_weight"] = np.array([w.sum() for w in weights])
        sums[f"{curve}_reward"] = chance.random(len(statistics))
    first = np.append(0, np.cumsum([len(c) for c in confidences]))
    curves = {curve: chance.random(first[-1]) for curve in HUMAN_CURVES}
    items = Items(np.concatenate(confidences), np.concatenate(corrects), first, curves, words=chance.integers(1, 9, first[-1]))
    sums |= sufficient_statistics.sums(items, UNSTORED_SUMS)
    net = np.array([net_reward(c, y, STANDARD_T).sum() for c, y in zip(confidences, corrects, strict=True)])
    sums |= {ATTEMPTED_ITEMS: np.floor(chance.random(len(statistics)) * (sums["items"] + 1)), HALF_REWARD: net}
    return sums | _distributions(len(statistics), chance) | {"difficulty": chance.random(len(statistics))}


def _distributions(rows, chance):
    """One item of three classes per row; on every eighth row nobody voted."""
    shares = chance.dirichlet((0.5, 0.5, 0.5), rows)
    people = chance.dirichlet((1, 1, 1), rows)
    gold, polled = people.argmax(axis=1), (np.arange(rows) % 8 > 0).astype(float)
    gap = scipy.stats.entropy(shares, axis=1) - scipy.stats.entropy(people, axis=1)
    items = {
        "gold_items": np.ones(rows),
        "quadratic": ((shares - np.eye(3)[gold]) ** 2).mean(axis=1),
        "voted_items": polled,
        "class_items": polled,
        "distance": polled * np.abs(shares - people).sum(axis=1) / 2,
        "entropy_gap": polled * gap,
        "entropy_gap_abs": polled * abs(gap),
        "ranked_same": polled * (np.argsort(shares) == np.argsort(people)).all(axis=1),
        "ranked_compatibly": polled * (np.argsort(shares) == np.argsort(people)).all(axis=1),
        "class_gaps": np.zeros((rows, 3, sufficient_statistics.BINS)),
    }
    for k in range(3):
        place = (shares[:, k] * 10).astype(int)
        items["class_gaps"][np.arange(rows), k, place] = polled * (shares[:, k] - (gold == k))
    items["class_gaps"] = items["class_gaps"].reshape(rows, -1)
    for name, errors in (("distance_bins", items["distance"]), ("reference_bins", chance.random(rows) / 4)):
        items[name] = np.eye(20)[np.minimum(errors * 20, 19).astype(int)] * polled[:, None]
    return items | {"reference_items": polled}


@pytest.mark.parametrize(
    "direction, expected", [("lower", [-0.5, 0.2]), ("higher", [0.5, -0.2]), ("zero", [0.5, 0.2]), ("none", [math.nan] * 2)]
)
def test_loss_is_smaller_where_a_metric_is_better(direction, expected):
    metric = next(metric for metric in METRICS if metric.direction == direction)
    assert metric.loss(np.array([-0.5, 0.2])) == pytest.approx(expected, nan_ok=True)
