"""Answers that fail at random cost no rank, and a run that skips more than a tenth of the questions gains none."""

import pytest

from tests.helpers.skipping_simulation import failures, skipping


@pytest.fixture(scope="module")
def effects():
    return {(row.rule, row.choice, row.share): row for row in skipping(150, 7, shares=(0.1, 0.2, 0.5), metrics=("accuracy",))}


@pytest.mark.parametrize("choice", ["at random", "the hardest", "where unsure", "its worst"])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_whoever_skips_much_is_not_ranked_and_moves_nobody(effects, choice, share):
    row = effects["now", choice, share]
    assert (row.ranked, row.error) == (0, 0)


@pytest.mark.parametrize("choice", ["at random", "the hardest"])
def test_a_tenth_gains_hardly_anything_without_hindsight(effects, choice):
    row = effects["now", choice, 0.1]
    assert row.ranked == 1 and abs(row.gain) < 0.3


@pytest.mark.parametrize("runs", [8, 60])
def test_random_failures_cost_no_rank(runs):
    """Ranks by a mean are as near to the truth as with all answers, though the earlier rule left few questions."""
    rows = {(row.rule, row.share): row for row in failures(60, 5, (runs,), (0.0, 0.03), ("accuracy",))}
    assert rows["now", 0.03].ranked > 0.99
    assert rows["now", 0.03].error < 1.1 * rows["now", 0.0].error
    if runs == 60:
        assert rows["before", 0.03].ranked < 0.9
