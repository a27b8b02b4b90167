"""Correct and incorrect buzzes by category, against the rows of the store and the outcomes of the thresholds."""

import pytest

from queries.buzzing import Rules, category_outcomes, threshold_explorer
from queries.selection import Selection

PYRAMID = Selection("pyramid")


def test_people_are_counted_by_category(bundled):
    people = next(group for group in category_outcomes(bundled, PYRAMID, Rules()).groups if group.kind == "human")
    rows = bundled.rows(
        """select q.category, count(*), count(*) filter (b.correct), count(*) filter (not b.correct)
        from exposures e join questions q using (dataset, question_id)
        left join buzzes b using (dataset, question_id, match_id, team)
        where e.dataset = 'pyramid' and e.team_kind = 'human' group by 1 order by 1"""
    )
    assert [(part.category, part.heard, part.correct, part.incorrect) for part in people.categories] == rows
    for part in people.categories:
        assert part.ratio == (pytest.approx(part.correct / part.incorrect) if part.incorrect else None)


@pytest.mark.parametrize("rules", [Rules(), Rules(threshold=0.3)])
def test_runs_buzz_as_their_thresholds_say(bundled, rules):
    """By category, the counts are those of the threshold explorer on that category at the same threshold."""
    result = category_outcomes(bundled, PYRAMID, rules)
    runs = [group for group in result.groups if group.kind == "run"]
    whole = threshold_explorer(bundled, PYRAMID, rules).runs
    assert [(group.name, group.threshold) for group in runs] == [(run.run, run.outcome.threshold) for run in whole]
    for group, run in zip(runs, whole, strict=True):
        for name in ("correct", "incorrect"):
            assert sum(getattr(part, name) for part in group.categories) == getattr(run.outcome, name)
    at = Rules(threshold=runs[0].threshold)
    for part in runs[0].categories:
        (run, *_) = threshold_explorer(bundled, PYRAMID.replace(category=(part.category,)), at).runs
        assert (run.questions, run.outcome.correct, run.outcome.incorrect) == (part.heard, part.correct, part.incorrect)


def test_a_dataset_not_asked_clue_by_clue_has_no_categories(bundled):
    result = category_outcomes(bundled, Selection("lifeeval"), Rules())
    assert result.missing and (result.categories, result.groups) == ([], [])
