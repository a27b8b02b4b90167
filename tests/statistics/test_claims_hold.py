"""Claims over many metrics, the best runs, and equality within a margin: the short form of ``benchmarks/inference.py``."""

from queries.engine.bootstrap import SIGNIFICANCE
from tests.helpers import claims_simulation

SEED = 11


def test_letters_over_all_metrics_of_equal_runs():
    """Family-wise at most .07 by the primary metric, and by all others together; adjusted for pairs only, it is far more."""
    for measured in claims_simulation.letters_over_metrics(100, SEED, ((60, 1), (60, 5))):
        if measured.study.startswith("("):
            assert measured.measured > 0.15, measured
        else:
            assert measured.measured <= 0.07 + measured.noise, measured


def test_the_best_runs_may_be_best():
    for measured in claims_simulation.best_runs(150, SEED, sizes=(30, 200)):
        assert measured.measured >= measured.nominal - 0.02 - measured.noise, measured


def test_equality_and_difference_are_rarely_wrong():
    studies = set()
    for measured in claims_simulation.equality_within_a_margin(300, SEED, clues=(1,)):
        assert measured.measured <= SIGNIFICANCE + 0.01 + measured.noise, measured
        studies.add(measured.study)
    assert studies == {claims_simulation.CALLED_EQUAL, claims_simulation.CALLED_DIFFERENT}
