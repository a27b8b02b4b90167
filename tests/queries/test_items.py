"""Single answers are listed as the store has them: those of a bin, those of a part, and those that are sure and wrong."""

import pytest

from clueline.queries.items import confidently_wrong, items
from clueline.queries.metrics import Conventions
from clueline.queries.reliability import reliability
from clueline.queries.selection import Selection


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


@pytest.mark.parametrize("binning", ["width10", "width10r", "width10+1", "mass15"])
def test_a_bin_lists_what_its_diagram_counts(bundled, binning):
    selection = Selection("pyramid", conventions=Conventions(binning=binning), common=True)
    for run in reliability(bundled, selection).runs[:2]:
        for number, part in [*enumerate(run.bins, 1)][:: 3 if binning == "mass15" else 1]:
            listed = items(bundled, selection, focus=(run.run,), bin=number, limit=1000)
            assert listed.total == len(listed.items) == part.items
            if part.items:
                means = [sum(getattr(item, name) for item in listed.items) / part.items for name in ("confidence", "correct")]
                assert means == pytest.approx([part.mean_confidence, part.accuracy], abs=1e-12)


def test_a_bin_is_that_of_the_answers_themselves(bundled):
    run = reliability(bundled, Selection("pyramid")).runs[0].run
    stored = bundled.rows(f"select question_id, clue, confidence, correct from {bundled.responses([run])}")
    behind = [answer for answer in stored if answer[2] is not None and 0.7 <= answer[2] < 0.8]
    behind.sort(key=lambda answer: (answer[3] >= 0.5, -abs(answer[2] - answer[3])))
    listed = items(bundled, Selection("pyramid"), focus=(run,), bin=8, order="wrong").items
    assert [(item.question_id, item.clue, item.confidence, item.correct) for item in listed] == behind and len(behind) > 5
