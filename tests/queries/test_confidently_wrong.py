"""Answers that are wrong although the run was sure: counted and listed as the answers themselves say."""

import pytest

from queries.confidently_wrong import confidently_wrong
from queries.selection import Selection


@pytest.mark.parametrize("least", [0.0, 0.8, 1.0])
@pytest.mark.parametrize("dataset", ["pyramid", "tone"])
def test_counts_are_those_of_the_answers(bundled, dataset, least):
    result = confidently_wrong(bundled, Selection(dataset), least, limit=10_000)
    runs = [run.run for run in result.runs]
    answers = bundled.rows(f"select run, confidence, correct from {bundled.responses(runs)} where confidence is not null")
    for run in result.runs:
        own = [(c, y) for name, c, y in answers if name == run.run]
        sure = [y for c, y in own if c >= least]
        assert (run.answers, run.sure, run.wrong) == (len(own), len(sure), sum(y < 0.5 for y in sure))
        assert run.share == (sum(y < 0.5 for y in sure) / len(sure) if sure else None)
    assert result.total == sum(run.wrong for run in result.runs) == len(result.items)
    confidences = [item.confidence for item in result.items]
    assert confidences == sorted(confidences, reverse=True) and all(item.correct < 0.5 for item in result.items)
    assert [run.wrong for run in result.runs] == sorted((run.wrong for run in result.runs), reverse=True)


def test_a_filter_leaves_out_its_answers(bundled):
    result = confidently_wrong(bundled, Selection("pyramid", category=("History",)), 0.5, limit=3)
    assert len(result.items) == 3 < result.total and {item.category for item in result.items} == {"History"}
