"""Questions that no run answered correctly, against the rows of the runs."""

import pytest

from clueline.queries.breakdown import unsolved
from clueline.queries.selection import Selection


def expected(snapshot, dataset, where="true"):
    """Return how many questions two or more runs answered, and the unsolved ones with their values.

    The values are the runs, the mean over runs of their mean confidence, and the highest of these means.
    """
    runs = [run for (run,) in snapshot.rows(f"select run from runs where dataset = '{dataset}' and withdrawn_at is null")]
    rows = snapshot.rows(
        f"""with by_run as (
            select question_id, run, max(correct) as correct, avg(confidence) as confidence
            from {snapshot.responses(runs)} join clues using (dataset, question_id, clue)
            where dataset = '{dataset}' and not failed and {where} group by all)
        select question_id, count(*), max(correct), avg(confidence), max(confidence) from by_run
        group by all having count(*) > 1"""
    )
    return len(rows), {
        name: tuple(values) for name, count, correct, *values in rows if correct == 0 for values in [(count, *values)]
    }


@pytest.mark.parametrize(
    ("selection", "where"),
    [
        (Selection("relay", common=False), "true"),
        (Selection("relay", common=False, revealed=(0.0, 0.5)), "revealed between 0 and 0.5"),
        (Selection("spans", common=False), "true"),
    ],
)
def test_unsolved_questions_have_no_right_answer_in_any_row(snapshot, selection, where):
    answered, questions = expected(snapshot, selection.dataset, where)
    result = unsolved(snapshot, selection)
    assert result.answered == answered > 0
    assert {row.question_id: (row.runs, row.mean_confidence, row.highest_confidence) for row in result.questions} == {
        name: pytest.approx(values) for name, values in questions.items()
    }


def test_early_clues_leave_more_questions_unsolved(bundled):
    """Read the first clues of Pyramid and compare with its people; each category counts its own questions."""
    whole, early = (unsolved(bundled, Selection("pyramid", revealed=span)) for span in (None, (0.0, 0.4)))
    names = [row.question_id for row in early.questions]
    assert {row.question_id for row in whole.questions} < {*names}
    assert sum(total for total, _ in early.categories.values()) == early.answered
    assert sum(failures for _, failures in early.categories.values()) == len(names) > 0
    order = [(-(row.people or 0.0), -row.highest_confidence) for row in early.questions]
    assert order == sorted(order) and len({row.people for row in early.questions}) > 1
    for row in early.questions:
        ((heard, right),) = bundled.rows(
            f"""select count(*), count(*) filter (b.correct) from exposures e
            left join buzzes b using (dataset, question_id, match_id, team)
            where e.dataset = 'pyramid' and e.question_id = '{row.question_id}' and e.team_kind = 'human'"""
        )
        assert (row.heard, row.people) == (heard, pytest.approx(right / heard))


def test_one_run_alone_has_mistakes_not_unsolved_questions(bundled):
    ((run,), *_) = bundled.rows("select run from runs where dataset = 'pyramid'")
    result = unsolved(bundled, Selection("pyramid", run=(run,)))
    assert (result.answered, result.questions, result.categories) == (0, [], {})
