"""What the page Decide says of two runs, and the answers behind its values."""

import re

import pytest

from clueline.dashboard.views.decide import verdict
from clueline.queries.decide import CurveDifference, Stretch
from clueline.queries.engine.run_pairs import RunName
from tests.helpers.drawn_pages import markup

NAMES = {"a": "Alpha", "b": "Beta"}


def words(stretches, shown=(), chosen_here=False):
    a, b = RunName("a", "Alpha", "logit"), RunName("b", "Beta", "logit")
    return verdict(CurveDifference(a, b, 40, [], [], [], stretches, list(shown)), NAMES, chosen_here).children


@pytest.mark.parametrize(
    "stretches, sentence",
    [
        ([Stretch(0.01, 0.69, "a"), Stretch(0.7, 0.99, "b")], "As measured, Alpha is better below t = 0.70, Beta from there on."),
        ([Stretch(0, 0, None), Stretch(0.01, 0.99, "b")], "As measured, Beta is better at every t at which they differ."),
        ([Stretch(0, 1, None)], "As measured, the two runs have the same curve."),
        (
            [Stretch(0.1, 0.2, "a"), Stretch(0.21, 0.5, "b"), Stretch(0.51, 0.51, "a")],
            "As measured, Alpha is better at t = 0.10 to 0.20, 0.51; Beta is better at t = 0.21 to 0.50.",
        ),
        ([Stretch(k / 10, k / 10 + 0.09, "ab"[k % 2]) for k in range(6)], "As measured, the curves cross 5 times."),
    ],
)
def test_where_a_run_is_better_as_measured(stretches, sentence):
    assert words(stretches) == f"{sentence} With 95 % confidence for all t at once, neither is shown to be better."


def test_what_is_shown_has_its_own_sentence():
    text = words([Stretch(0.01, 0.99, "a")], [Stretch(0.2, 0.4, "a"), Stretch(0.9, 0.9, "b")])
    shown = "Alpha is better at t = 0.20 to 0.40; Beta is better at t = 0.90; elsewhere neither is shown to be better."
    assert text.endswith(f" With 95 % confidence for all t at once, {shown}")


def test_runs_that_were_chosen_by_these_answers_are_said_to_be():
    assert words([Stretch(0, 1, None)], chosen_here=True).endswith("are the best on these same answers.")


def test_each_value_opens_its_answers_best_runs_first(app):
    page = markup(app, "/decide", "dataset=pyramid")
    rows = re.findall(r'<tr data-run="([0-9a-f]{16})">(.*?)</tr>', page)
    assert rows
    for run, row in rows:
        cells = re.findall(r"<td.*?</td>", row)
        assert len(cells) > 5
        assert all(f'data-items="focus={run}"' in cell for cell in cells if any(map(str.isdigit, cell))), row
    scores = [float(re.search(r'data-part="net_score"[^>]*><a[^>]*>([−.0-9]+)', row)[1].replace("−", "-")) for _, row in rows]
    assert scores == sorted(scores, reverse=True) and len({*scores}) > 1
    one, other = re.search(r'data-items="focus=([0-9a-f]{16})&focus=([0-9a-f]{16})"', page).groups()
    assert {one, other} <= {run for run, _ in rows}
