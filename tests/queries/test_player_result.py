"""A player among the models: against the reference definitions and a run with the same answers."""

import pytest

from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.player_result import METRICS, PlayedClue, player_result
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference

RELAY = Selection("relay")


@pytest.fixture(scope="module")
def plain(run_of):
    """Id of a run that answered every clue right or wrong."""
    return run_of["plain", "verbalized"]


def as_run(rows, run, questions):
    """Return the clues played by a player who answers as a run does."""
    return tuple(
        PlayedClue(question, clue, answer["confidence"], answer["correct"] == 1)
        for (name, question, clue), answer in rows["relay"].responses.items()
        if name == run and question in questions
    )


@pytest.mark.parametrize("questions", [("r05", "r01", "r02"), ("r03",), ("r10", "r11"), ("r01", "r11")], ids="-".join)
def test_a_player_who_answers_as_a_run_gets_its_values(snapshot, rows, plain, questions):
    result = player_result(snapshot, RELAY, as_run(rows, plain, questions)[::-1])
    by_run = {row.run: row for row in result.standings}
    answered = rows["relay"].answered(RELAY.replace(questions=questions), plain)
    items = [answered[question] for question in sorted(questions)]
    expected = {key: getattr(reference, key)(items, Conventions()) for key in ("accuracy", "mean_confidence", "brier")}
    expected["accuracy_scored"] = expected.pop("accuracy")  # every answer has a confidence
    expected["calscore"] = reference.calscore(items, Conventions()) if reference.heard(items) else None
    for run in (None, plain):
        assert by_run[run].metrics.keys() == expected.keys()
        for key, value in expected.items():
            assert by_run[run].metrics[key] == (None if value is None else pytest.approx(value, rel=1e-12)), key
    assert (result.questions, result.answers) == (len(questions), sum(len(question.items) for question in items))
    assert result.order == ("calscore" if reference.heard(items) else "brier")
    losses = CATALOGUE[result.order].loss
    worth = [float(losses(row.metrics[result.order])) for row in result.standings]
    assert worth == sorted(worth)


def test_models_are_those_that_answered_the_same_clues(snapshot, rows, plain):
    questions = ("r03", "r04")
    answers = as_run(rows, plain, questions)
    asked = {(answer.question_id, answer.clue) for answer in answers}
    measured = [run for run in rows["relay"].runs if run["withdrawn_at"] is None and not run["respondents"]]
    complete = {run["run"] for run in measured if all((run["run"], *place) in rows["relay"].responses for place in asked)}
    result = player_result(snapshot, RELAY, answers)
    assert {row.run for row in result.standings} == complete | {None}
    assert 0 < result.left_out == len(measured) - len(complete)
    board = leaderboard(snapshot, RELAY.on_runs(sorted(complete)).replace(questions=questions), METRICS)
    for row in board.rows:
        same = next(standing for standing in result.standings if standing.run == row.run)
        assert same.metrics == pytest.approx({key: cell.value for key, cell in row.metrics.items()}, rel=1e-12)


def test_bins_are_fifths_with_certainty_in_the_last(snapshot):
    answers = [
        PlayedClue("r05", clue, confidence, clue % 2 == 0) for clue, confidence in enumerate((0.2, 0.39, 1.0, 0.8, 0.0, 0.6))
    ]
    bins = player_result(snapshot, RELAY, tuple(answers)).bins
    assert [(part.answers, part.mean_confidence, part.accuracy) for part in bins] == [
        (1, 0.0, 1.0), (2, pytest.approx(0.295), 0.5), (0, None, None), (1, 0.6, 0.0), (2, 0.9, 0.5),
    ]  # fmt: skip
    assert [part.lower for part in bins] == [0, 0.2, 0.4, 0.6, 0.8]


def test_a_question_that_is_gone_leaves_no_calscore(snapshot):
    result = player_result(snapshot, RELAY, (PlayedClue("r00", 0, 0.5, True), PlayedClue("gone", 0, 1.0, False)))
    (own,) = result.standings  # no model has answered it
    assert own.run is None and own.metrics["accuracy_scored"] == 0.5 and own.metrics["brier"] == pytest.approx(0.625)
    assert result.left_out > 0
