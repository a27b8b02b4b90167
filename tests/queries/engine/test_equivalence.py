"""Letters, runs that may be best, and equality within a margin, over metrics and pairs of simulated runs."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import ttest_1samp

from clueline.queries.compare import compare, comparisons
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.equivalence import FILTERED, NO_WIDTH, SINGLE, equivalences
from clueline.queries.engine.intervals_and_difference_tests import equivalence_tests
from clueline.queries.engine.multiple_comparisons import holm
from clueline.queries.engine.primary_metric import RankedMetrics, ranked_metrics
from clueline.queries.engine.ranked_metric_rows import NOT_SAME, metric_cells
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.selection import Selection
from tests.helpers.simulated_evidence import evidence_of, simulated

BRIER, ECE = CATALOGUE["brier"], CATALOGUE["ece"]
BY_BRIER = RankedMetrics(BRIER, 30)


def evidence(questions=100, seed=3, runs=4):
    """Return runs whose quality falls slowly; each has questions of its own ease."""
    parts = [simulated(1, questions, 10 * seed + run, shift=-0.3 * run) for run in range(runs)]
    return evidence_of([np.concatenate(arrays) for arrays in zip(*parts, strict=True)])


@pytest.mark.parametrize("margin", [0.0, 0.003, 0.02, 0.1])
def test_two_one_sided_tests_are_scipys(margin):
    """Brier scores over single-shot questions, whose jackknife is the paired t-test."""
    few = tuple(part[:, :, :1] for part in simulated(3, 80, seed=5))
    c, y, _ = few
    score = ((c - y) ** 2)[..., 0]
    tests = equivalence_tests(evidence_of(few), BRIER, margin)
    for a, b in combinations(range(3), 2):
        both = score[a] - score[b]
        below, above = ttest_1samp(both, margin, alternative="less"), ttest_1samp(both, -margin, alternative="greater")
        assert tests.p_values[a, b] == pytest.approx(max(below.pvalue, above.pvalue))
        interval = ttest_1samp(both, 0.0).confidence_interval(0.9)
        assert (tests.low[a, b], tests.high[a, b]) == pytest.approx((interval.low, interval.high))
        assert (tests.low[b, a], tests.high[b, a]) == pytest.approx((-interval.high, -interval.low))


@pytest.mark.parametrize("metric", [BRIER, ECE, CATALOGUE["auroc"]], ids=lambda metric: metric.key)
@pytest.mark.parametrize("questions", [12, 100])
def test_equal_means_that_the_interval_is_within_the_margin(metric, questions):
    runs = evidence(questions)
    for margin in (0.0, 0.02, 0.05, 0.2, 1.0):
        tests = equivalence_tests(runs, metric, margin)
        known = np.isfinite(tests.low)
        inside = np.maximum(-tests.low, tests.high) < margin
        assert ((tests.p_values < SIGNIFICANCE) == inside)[known].all()
        assert known[~np.eye(4, dtype=bool)].all()
        assert margin or not inside.any()


def test_verdicts_name_all_four_cases():
    runs, verdicts = evidence(400, runs=8), set()
    for margin in (0.0, 0.02, 0.06, 0.5):
        verdicts |= {result.verdict for result in equivalences(runs, BRIER, margin, 0, 1)[1:]}
    assert verdicts == {"undecided", "different", "different by less than the margin", "equal"}


def test_what_cannot_be_said_has_a_reason():
    c, y, h = simulated(2, 40, seed=1)
    twins = evidence_of([np.concatenate([part[:1], part[:1]]) for part in (c, y, h)])
    (_, twin) = equivalences(twins, BRIER, 0.02, 0, 1)
    assert (twin.difference, twin.verdict, twin.low, twin.undefined) == (0.0, None, None, NO_WIDTH)
    one = evidence_of([part[:, :1] for part in (c, y, h)])
    assert equivalences(one, BRIER, 0.02, 0, 1)[1].undefined == SINGLE
    object.__setattr__(one := evidence_of((c, y, h)), "selected_by_answers", True)
    assert equivalences(one, BRIER, 0.02, 0, 1)[1].undefined == FILTERED
    all_right = evidence_of((c, np.where(np.isnan(y), y, 1.0), h))
    assert equivalences(all_right, CATALOGUE["auroc"], 0.02, 0, 1)[1].undefined == CATALOGUE["auroc"].undefined


@pytest.mark.parametrize("questions", [2, 3, 4])
def test_few_questions_cannot_show_equality(questions):
    for result in equivalences(evidence(questions), BRIER, 1.0, 0, 1)[1:]:
        assert result.verdict in ("undecided", None) and (result.verdict is None) == (result.undefined is not None)


def test_on_a_board_all_ranked_runs_are_compared_with_the_first():
    runs = evidence(200)
    cells = metric_cells(BRIER, runs, True, BY_BRIER, margin=0.02)
    (first,) = [index for index, cell in enumerate(cells) if cell.rank == 1]
    assert [cell.margin is None for cell in cells] == [index == first for index in range(4)]
    for index, cell in enumerate(cells):
        if index != first:
            assert cell.margin.against == runs.runs[first].run
            assert cell.margin.difference == pytest.approx(cell.value - cells[first].value)
            differ = cell.margin.verdict in ("different", "different by less than the margin")
            assert differ == (not set(cell.letters) & set(cells[first].letters))
    alone = metric_cells(BRIER, runs, True, None, margin=0.02)
    assert {cell.margin.undefined for index, cell in enumerate(alone) if index != first} == {NOT_SAME}
    assert all(cell.margin is None for cell in metric_cells(CATALOGUE["mean_confidence"], runs, True, BY_BRIER, margin=0.02))


def test_letters_by_other_metrics_are_adjusted_for_all_of_them():
    fewer = 0
    for seed in range(6):
        runs = evidence(120, seed, runs=8)
        apart = []
        for primary in (BRIER, CATALOGUE["net_score"]):
            cells = metric_cells(BRIER, runs, True, RankedMetrics(primary, 30))
            pairs = combinations(cells, 2)
            apart.append({index for index, (a, b) in enumerate(pairs) if not set(a.letters) & set(b.letters)})
        by_primary, by_another = apart
        assert by_another <= by_primary
        fewer += by_another < by_primary
    assert fewer


def test_a_run_may_be_best_if_no_other_is_shown_to_be_better():
    for seed in range(5):
        cells = metric_cells(BRIER, evidence(400, seed, 8), True, BY_BRIER)
        first = min(cells, key=lambda cell: cell.rank)
        assert first.may_be_best
        for cell in cells:
            better = [other for other in cells if other.rank < cell.rank and not set(other.letters) & set(cell.letters)]
            assert cell.may_be_best == (not better)
        assert not all(cell.may_be_best for cell in cells)
    signed = metric_cells(CATALOGUE["overconfidence"], evidence(120), True, BY_BRIER)
    assert all(cell.may_be_best is None and cell.letters for cell in signed)


def test_holm_over_several_families():
    p_values = np.array([0.001, math.nan, 0.04, 0.002])
    assert holm(p_values, 10) == pytest.approx(np.array([0.03, math.nan, 0.4, 0.04]), nan_ok=True)
    assert holm(p_values, 1000) == pytest.approx(np.array([1, math.nan, 1, 1]), nan_ok=True)


@pytest.mark.parametrize(
    ("dataset", "primary", "absent"),
    [
        ("pyramid", "calscore", {"votes"}),
        ("lifeeval", "net_score", {"votes", "human buzzes"}),
        ("tone", "dist_ce", {"human buzzes"}),
    ],
)
def test_the_family_is_every_metric_that_the_dataset_can_show(bundled, dataset, primary, absent):
    ranked = ranked_metrics(bundled, Selection(dataset))
    assert ranked.primary.key == primary
    board = leaderboard(bundled, Selection(dataset), METRICS)
    shown = {key for row in board.rows for key, cell in row.metrics.items() if cell.rank is not None}
    needed = {metric.key for metric in METRICS if metric.ranks and not absent & {*metric.needs}}
    assert shown <= needed and len(needed) == ranked.others + 1 == board.other_metrics + 1


def test_every_view_states_the_primary_metric_and_adjusts_alike(snapshot):
    selection = Selection("relay")
    metrics = [CATALOGUE[key] for key in ("calscore", "brier")]
    board = leaderboard(snapshot, selection, metrics, True, 0.05)
    a, b = [row.run for row in board.rows][:2]
    alone, together = compare(snapshot, selection, a, b, metrics, 0.05), comparisons(snapshot, selection, None, metrics)
    assert {(view.primary, view.other_metrics) for view in (board, alone, together)} == {("calscore", board.other_metrics)}
    for metric in metrics:
        difference = alone.metrics[metric.key]
        families = 1 if metric.key == "calscore" else board.other_metrics
        assert difference.p_holm == pytest.approx(min(1, families * difference.p_value))
        assert difference.margin.against == b and difference.margin.difference == pytest.approx(difference.difference)
        assert difference.margin.p_different == pytest.approx(difference.p_holm)
        assert together.comparisons[0].metrics[metric.key].margin is None
