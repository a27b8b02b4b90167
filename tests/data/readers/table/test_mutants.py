"""No mutant of a table is read with other figures than its original's unless something was asked."""

import pytest

from clueline.data.importing.report import Refused
from tests.helpers.mutants import HARMLESS, draw_mutant

FIGURES = """
    select count(*), count(distinct question_id), count(*) filter (state = 'abstained'), round(avg(correct), 6),
        round(avg(confidence), 3)
    from responses_read group by model, elicitation order by all
"""


def check(read, seed, folder):
    """Return what is wrong with how a mutant is read; blank if nothing is."""
    original, path, mutant = draw_mutant(seed, folder)
    expected = read(original, model="m" if "model" not in mutant.roles.values() else None).rows(FIGURES)
    try:
        found = read(path, model="m" if "model" not in mutant.roles.values() else None).rows(FIGURES)
    except Refused as refused:
        harmless = mutant.is_plain and {*mutant.done[1:]} - {"scaled"} <= HARMLESS
        return f"{seed} {mutant.done}: asked {refused}" if harmless else ""
    return "" if found == expected else f"{seed} {mutant.done}: {found} instead of {expected}; {[*mutant.columns]}"


@pytest.mark.parametrize("seed", range(60))
def test_a_mutant_has_the_figures_of_its_original_or_is_asked_about(read, tmp_path, seed):
    assert check(read, seed, tmp_path) == ""
