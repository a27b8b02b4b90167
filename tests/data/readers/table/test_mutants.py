"""No mutant of a table is read with other figures than its original's unless something was asked."""

import pytest

from clueline.data.importing.report import Refused
from tests.helpers.mutants import HARMLESS, ORIGINALS, draw_mutant, draw_original, write

DRAWN = 2 * len(ORIGINALS)  # originals, of which each mutant is one
FIGURES = """
    select count(*), count(distinct question_number), count(*) filter (state = 'abstained'), round(avg(correct), 6),
        round(avg(confidence), 3)
    from responses group by run order by all
"""


@pytest.fixture(scope="module")
def known():
    """The figures of originals that were read."""
    return {}


def figures(tried, answers, path):
    """Return the figures of each run that a file would add to a store."""
    tried(write(answers, path), model=None if "model" in answers.roles.values() else "m")
    return tried.rows(FIGURES)


def check(tried, known, seed, folder):
    """Return what is wrong with how a mutant is read; blank if nothing is."""
    number = seed % DRAWN
    if number not in known:
        known[number] = figures(tried, draw_original(number), folder / "original.csv")
    mutant = draw_mutant(seed, number)
    what = f"seed {seed}, {ORIGINALS[number % len(ORIGINALS)].__name__}: {', '.join(mutant.done)}"
    try:
        read = figures(tried, mutant, folder / f"mutant.{('csv', 'json', 'jsonl')[seed // DRAWN % 3]}")
    except Refused as refused:
        is_harmless = mutant.is_plain and {*mutant.done} <= HARMLESS
        return f"{what}: {refused}" if is_harmless else ""
    return "" if read == known[number] else f"{what}: {read} instead of {known[number]}; {[*mutant.columns]}"


@pytest.mark.parametrize("seed", range(30))
def test_a_mutant_is_read_alike_or_asked_about(tried, known, tmp_path, seed):
    assert check(tried, known, seed, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.parametrize("batch", range(100, 3100, 100))
def test_thousands_of_mutants(tried, known, tmp_path, batch):
    wrong = [check(tried, known, seed, tmp_path) for seed in range(batch, batch + 100)]
    assert not [message for message in wrong if message]
