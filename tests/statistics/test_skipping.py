"""A run that skips more than a tenth of the questions gains nothing, and does not move the others."""

import pytest

from tests.helpers.skipping_simulation import skipping


@pytest.fixture(scope="module")
def effects():
    return {(row.rule, row.choice, row.share): row for row in skipping(150, 7, shares=(0.1, 0.2, 0.5))}


@pytest.mark.parametrize("choice", ["at random", "the hardest", "its worst"])
@pytest.mark.parametrize("share", [0.2, 0.5])
def test_whoever_skips_much_is_not_ranked_and_moves_nobody(effects, choice, share):
    row = effects["nine tenths", choice, share]
    assert (row.ranked, row.error) == (0, 0)


def test_the_rule_before_paid_for_skipping(effects):
    row = effects["half", "its worst", 0.5]
    assert row.ranked == 1 and row.gain > 2 and row.error > 0.5


@pytest.mark.parametrize("choice", ["at random", "the hardest"])
def test_a_tenth_gains_hardly_anything_without_hindsight(effects, choice):
    row = effects["nine tenths", choice, 0.1]
    assert row.ranked == 1 and abs(row.gain) < 0.3
