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


@pytest.mark.parametrize("human", [None, "team_share"])
def test_before_people_knew_only_those_answers_count(bundled, human):
    """People knew from the clue on at which the human curve is one half or more."""
    curve = human or "buzz_share"
    selection = Selection("pyramid", conventions=Conventions(human=human))
    result = confidently_wrong(bundled, selection, 0.6, before=True, limit=10_000)
    runs = [run.run for run in result.runs]
    answers = bundled.rows(f"select run, question_id, clue, confidence, correct from {bundled.responses(runs)}")
    curves = {
        (question, clue): (h, teams, share)
        for question, clue, h, teams, share in bundled.rows(
            f"select question_id, clue, {curve}, teams, team_share from curves where dataset = 'pyramid'"
        )
    }
    early = [row for row in answers if row[3] is not None and (row[1], row[2]) in curves and curves[row[1], row[2]][0] < 0.5]
    assert 0 < len(early) < len(answers) and result.before and result.human == curve
    for run in result.runs:
        own = [row for row in early if row[0] == run.run]
        sure = [row for row in own if row[3] >= 0.6]
        assert (run.answers, run.sure, run.wrong) == (len(own), len(sure), sum(row[4] < 0.5 for row in sure))
        listed = items(bundled, selection, (0.6, 1.0), 1000, (run.run,), before=True).items
        assert {(item.question_id, item.clue) for item in listed} == {(row[1], row[2]) for row in sure}
    expected = {(row[0], row[1], row[2]) for row in early if row[3] >= 0.6 and row[4] < 0.5}
    assert {(item.run, item.question_id, item.clue) for item in result.items} == expected and result.total == len(expected) > 0
    rows = bundled.rows("select question_id, clue, text from clues where dataset = 'pyramid'")
    texts = {(question, clue): text for question, clue, text in rows}
    for item in result.items:
        h, teams, share = curves[item.question_id, item.clue]
        buzzes = bundled.rows(
            """select count(*) from buzzes join exposures using (dataset, question_id, match_id, team)
            where dataset = 'pyramid' and question_id = $q and clue <= $c and correct and exposures.team_kind = 'human'""",
            {"q": item.question_id, "c": item.clue},
        )[0][0]
        assert (item.people, item.teams, item.right) == (h, teams, buzzes) and share == pytest.approx(buzzes / teams)
        assert item.text == texts[item.question_id, item.clue] and item.unstated == 0
