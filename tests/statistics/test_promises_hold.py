"""Intervals, tests and bands hold what they promise in simulations: the short form of ``benchmarks/inference.py``."""

from functools import partial

import pytest

from tests.helpers import buzz_simulation, calibration_simulation, claims_simulation, few_errors_simulation, simulation
from tests.helpers import cluster_simulation as clusters
from tests.helpers import decision_simulation as decide
from tests.helpers.difficulty_simulation import difficulty_slices, difficulty_slopes
from tests.helpers.forecast_simulation import BASE_RATES, forecast_intervals
from tests.helpers.likeness_simulation import likeness_intervals
from tests.helpers.slice_simulation import RUNS, five_categories, slice_intervals, slices, surer_rest


def at_least(below, noises=1.0):
    """Return whether intervals cover as promised, except for noise and ``below``, the shortfall of the method itself."""
    return lambda row: row.measured >= row.nominal - below - noises * row.noise


def at_most(above, noises=1.0):
    """Return whether errors are as rare as promised, except for noise and ``above``, the excess of the method itself."""
    return lambda row: row.measured <= row.nominal + above + noises * row.noise


def near(margin):
    return lambda row: abs(row.measured - row.nominal) <= margin + row.noise


def missed(row):
    return row.missed


def not_missed(row):
    return not row.missed


def study(simulate, number, holds, replaced=None, seed=11, **setting):
    """Return a study, what holds of its measurements, and what does of those by rules that are not used, if it has any."""
    return pytest.param(partial(simulate, number, seed, **setting), holds, replaced, id=f"{simulate.__name__} {setting}")


DECIDE = {"sizes": (20, 60), "clues": (1, 5)}
RARE = {name: calibration_simulation.RANGES[name] for name in ("spread", "0.95 to 0.99")}  # errors are rare in the second
EQUAL_RUNS = [
    study(simulation.pair_p_values, 400, at_most(0.01), sizes=(3, 8, 20)),
    study(simulation.uniform_p_values, 500, near(0.01)),
    study(few_errors_simulation.equal_pairs, 200, at_most(0.01), sizes=(20, 60), clues=(1,)),
    study(few_errors_simulation.equal_pairs, 60, at_most(0.01), sizes=(60,), clues=(1,), keys=["smooth_ece"]),
    study(simulation.letters, 200, at_most(0.02), sizes=(8, 30)),
    # Family-wise, by the primary metric and by all others together; adjusted for pairs only, it is far more.
    study(
        *(claims_simulation.letters_over_metrics, 100, at_most(0.02), lambda row: row.measured > 0.15),
        settings=((60, 1), (60, 5)),
    ),
    study(claims_simulation.best_runs, 150, at_least(0.02), sizes=(30, 200)),
    study(claims_simulation.equality_within_a_margin, 300, at_most(0.01), clues=(1,)),
    study(slices, 100, at_most(0.02), sizes=(60,)),
    study(buzz_simulation.equal_teams, 600, near(0.0)),
    study(decide.verdicts, 100, at_most(0.02), **DECIDE),  # whatever the page says of any t, or of the best two of eight
]
CALIBRATED_RUNS = [
    study(surer_rest, 400, lambda row: row.measured <= 0.07),
    study(five_categories, 100, at_most(0.02)),
    study(calibration_simulation.false_alarms, 500, not_missed),
    study(calibration_simulation.whole_curves, 150, near(0.02), sizes=(30, 200), ranges=RARE),
    study(simulation.bands, 80, at_least(0.03), sizes=(30, 200)),
    study(simulation.reliability_bins, 100, at_least(0.03), sizes=(30, 200)),
    study(simulation.calibrated_variants, 400, at_most(0.02), settings=[(30, 5), (200, 1)]),
    # Made of a run's own answers too, difficulty gives it a slope, and makes slices significant.
    *(study(difficulty_slopes, 400, at_most(0.01), missed, sizes=(size,)) for size in (20, 60, 200)),
    *(study(difficulty_slices, 200, at_most(0.02), missed, sizes=(200,), runs=(runs,)) for runs in (4, 8)),
    # Thirds of 60 questions have so few errors that little can be shown of any difficulty.
    study(difficulty_slices, 200, at_most(0.02), lambda row: True, sizes=(60,), runs=(8,)),
]
INTERVALS = [
    study(simulation.bootstrap_intervals, 300, at_least(0.03)),
    study(simulation.jackknife_intervals, 300, at_least(0.03), sizes=(30, 60)),
    study(simulation.calibration_intervals, 120, at_least(0.03), sizes=(30, 200), shifts=(0.0, 0.7)),
    study(
        *(simulation.variant_intervals, 100),
        # The exception has three items in each bin, as its caveat says.
        lambda row: row.measured < 0.7 if row.setting.startswith("ece_mass100,") else at_least(0.03)(row),
        settings=[(60, 5, 0.7)],
    ),
    study(buzz_simulation.outcome_intervals, 400, at_least(0.01)),
    study(decide.net_score_intervals, 300, at_least(0.02), **DECIDE),
    study(decide.curve_bands, 200, at_least(0.02), **DECIDE),
    study(decide.own_threshold_intervals, 200, lambda row: (at_least(0.02) if row.nominal > 0.5 else at_most(0))(row), **DECIDE),
    *(
        # Nearly all have an interval.
        study(
            likeness_intervals,
            1000,
            lambda row: row.boards > 950 and not row.missed and row.measured <= 0.99,
            None,
            1,
            sizes=(n,),
        )
        for n in (8, 20, 60, 200)
    ),
    *(
        study(
            *(forecast_intervals, 400, not_missed, lambda row: row.measured < 0.2 or "20 questions" in row.setting),
            sizes=(20, 60, 200),
            base_rates=(rate,),
        )
        for rate in BASE_RATES
    ),
    *(
        study(
            *(slice_intervals, 400, lambda row: row.boards == 400 and at_least(0.02, 0.5)(row)),
            lambda row: row.measured < 0.93 or " 8 questions" not in row.setting,  # by percentiles of the bootstrap
            runs=(runs,),
        )
        for runs in RUNS
    ),
]
CLUSTERED_QUESTIONS = [  # tests over single questions would claim too much
    *(study(clusters.coverage, 600, at_least(0.02, 0.5), clustered=True, clusters=n) for n in (60, 30)),
    study(clusters.coverage, 200, None, lambda row: row.measured < 0.88, clustered=False),
    *(study(clusters.equal_pairs, 100, at_most(0.01, 0.5), clustered=True, clusters=n) for n in (60, 20)),
    study(clusters.equal_pairs, 40, None, lambda row: row.setting.startswith("ece") or row.measured > 0.12, clustered=False),
    *(
        study(
            *(clusters.few_or_unequal_clusters, 400),
            lambda row: at_least(0.02)(row) if row.kind == "coverage" else row.measured <= 0.07 + row.noise / 2,
            settings=(setting,),
            keys=("accuracy", "brier", "overconfidence", "net_score", "auroc", "ece"),
        )
        for setting in clusters.UNEQUAL
    ),
    *(study(clusters.calibrated_runs, 600, at_most(0.01, 0.5), clustered=True, clusters=n) for n in (60, 20)),
    study(clusters.calibrated_runs, 200, None, lambda row: row.measured > row.nominal + 0.08, clustered=False),
    *(study(clusters.bands, 400, at_least(0.02, 0.5), clustered=True, clusters=n) for n in (60, 20)),
    study(clusters.bands, 200, None, lambda row: row.measured < 0.8, clustered=False),
    *(study(clusters.slices, 400, at_most(0.02, 0.5), clustered=True, clusters=n) for n in (60, 30)),
    study(clusters.slices, 100, None, lambda row: row.measured > 0.12, clustered=False),
]


@pytest.mark.parametrize(("simulate", "holds", "replaced"), [*EQUAL_RUNS, *CALIBRATED_RUNS, *INTERVALS, *CLUSTERED_QUESTIONS])
def test_it_holds(simulate, holds, replaced):
    for row in simulate():
        assert (replaced if row.study.startswith("(") else holds)(row), row
