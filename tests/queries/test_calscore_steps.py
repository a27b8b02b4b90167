"""CalScore computed clue by clue, against the metrics that the kernels compute."""

import math

import pytest

from queries.calscore_steps import NO_PEOPLE, clue_steps
from queries.metrics import HUMAN_CURVES, Conventions
from queries.question import question
from queries.selection import Selection


@pytest.mark.parametrize("curve", [None, *HUMAN_CURVES])
@pytest.mark.parametrize("name", ["r01", "r05", "r11"])
def test_the_steps_add_up_to_the_metrics(snapshot, name, curve):
    selection = Selection("relay", conventions=Conventions(human=curve))
    metrics = {run.run: run.metrics for run in question(snapshot, selection, name).runs}
    result = clue_steps(snapshot, selection, name)
    assert [run.run for run in result.runs] == [*metrics]
    for run in result.runs:
        for key in ("calscore", "calscore2"):
            expected = metrics[run.run][key]
            assert getattr(run, key) == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert (run.missing == NO_PEOPLE) == (name == "r11") == (not run.steps)
        if run.steps:
            assert math.fsum(step.buzz_mass for step in run.steps) == pytest.approx(1)
            assert math.fsum(step.gained for step in run.steps) + run.remainder == pytest.approx(run.reward)
