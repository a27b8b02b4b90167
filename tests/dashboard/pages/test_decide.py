"""What the page Decide says of two runs."""

import pytest

from dashboard.components.cost_slider_and_decision_tables import verdict
from queries.decide import CurveDifference, Stretch
from queries.engine.run_pairs import RunName

NAMES = {"a": "Alpha", "b": "Beta"}


def words(stretches, shown=(), dominant=None):
    a, b = RunName("a", "Alpha", "logit"), RunName("b", "Beta", "logit")
    return verdict(CurveDifference(a, b, 40, [], [], [], stretches, list(shown), dominant), NAMES).children


@pytest.mark.parametrize(
    "stretches, sentence",
    [
        ([Stretch(0.01, 0.69, "a"), Stretch(0.7, 0.99, "b")], "Below t = 0.70 Alpha is better, above it Beta."),
        ([Stretch(0, 0, None), Stretch(0.01, 0.99, "b")], "As measured, Beta is better at every t."),
        ([Stretch(0, 1, None)], "The two runs have the same curve."),
        (
            [Stretch(0.1, 0.2, "a"), Stretch(0.21, 0.5, "b"), Stretch(0.51, 0.51, "a")],
            "As measured, Alpha is better at t = 0.10 to 0.20, 0.51; Beta is better at t = 0.21 to 0.50.",
        ),
    ],
)
def test_where_a_run_is_better_as_measured(stretches, sentence):
    text = words(stretches)
    shown = "With 95 % confidence for all t at once: neither is better at any t."
    assert text == f"{sentence} {shown} Better at every t with 95 % confidence: none."


def test_the_confidence_band_has_its_own_sentence():
    text = words([Stretch(0.01, 0.99, "a")], [Stretch(0.2, 0.4, "a")], "a")
    shown = "With 95 % confidence for all t at once: Alpha is better at t = 0.20 to 0.40."
    assert text.endswith(f"{shown} Better at every t with 95 % confidence: Alpha.")
