"""CalScore by each human curve, and whether the choice decides which run is first."""

import pytest

from clueline.data.store.snapshot import STATED_ENDS
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, HUMAN_CURVES, Conventions
from clueline.queries.selection import Selection
from clueline.queries.which_h import which_h
from tests.helpers.bundle_factory import put, put_file, write

CALSCORE = CATALOGUE["calscore"]
# One team of ten is right at the first clue: of the buzzes all are right, of the teams a tenth. Then h is 1 or .1 there, so
# whether the first or the second answer of a run counts for more depends on the curve.
HEARD = "question_id,match_id,team\n" + "".join(f"q1,m{number},T{number}\n" for number in range(10))
BUZZES = "question_id,match_id,team,word,correct\nq1,m0,T0,2,true\nq1,m1,T1,15,false\nq1,m2,T2,15,false\n"
ANSWERS = "question_id,clue,guess,confidence,correct,model,elicitation\n"
EARLY = "q1,0,x,1,1,early,v\nq1,1,x,0,1,early,v\nq1,2,x,0,1,early,v\n"
LATE = "q1,0,x,0,1,late,v\nq1,1,x,0,1,late,v\nq1,2,x,0.9,1,late,v\n"


@pytest.fixture
def played(empty, tmp_path):
    put(empty, write(tmp_path / "toy", exposures=HEARD, buzzes=BUZZES, responses=ANSWERS + EARLY + LATE))
    return empty


def test_the_first_run_depends_on_h(played):
    """Early: (1 - h_1) 1 / 3 with h_1 = 1 of buzzes, 1/3 of all buzzes, .1 of teams. Late: (1 - h_3) .9 / 3, h_3 = 1/3 or .1."""
    answer = which_h(played.snapshot(), Selection("toy"))
    models = {cell.run: cell.model for cell in answer.cells}
    first = {curve: [models[run] for run in runs] for curve, runs in answer.first.items()}
    assert first == {"buzz_share": ["late"], "release_share": ["early"], "team_share": ["early"], "survival": ["early"]}
    assert (answer.used, answer.same_order, answer.plays) == ("buzz_share", False, None)


def test_values_and_ranks_are_those_of_the_leaderboard(played):
    snapshot = played.snapshot()
    answer = which_h(snapshot, Selection("toy"))
    for curve in HUMAN_CURVES:
        rows = leaderboard(snapshot, Selection("toy", conventions=Conventions(human=curve)), [CALSCORE]).rows
        shown = {cell.run: (cell.value, cell.rank, cell.questions) for cell in answer.cells if cell.curve == curve}
        cells = {row.run: row.metrics["calscore"] for row in rows}
        assert shown == {run: (cell.value, cell.rank, cell.questions) for run, cell in cells.items()}


def test_runs_that_are_ranked_alike(played, tmp_path):
    best = Selection("toy", model=("best", "late"))
    put_file(played, tmp_path / "best.csv", ANSWERS + "q1,0,x,1,1,best,v\nq1,1,x,1,1,best,v\nq1,2,x,1,1,best,v\n", dataset="toy")
    assert which_h(played.snapshot(), best).same_order is True
    assert which_h(played.snapshot(), Selection("toy", model=("best",))).same_order is None
    assert which_h(played.snapshot(), Selection("toy", model=("nobody",))).cells == []


def test_second_values(empty, tmp_path):
    lines = HEARD.split()
    stated = ["end_stated", *["true"] * 8, "false", "false"]
    unstated = "".join(f"{line},{end}\n" for line, end in zip(lines, stated, strict=True))
    put(empty, write(tmp_path / "toy", exposures=unstated, buzzes=BUZZES, responses=ANSWERS + EARLY + LATE))
    snapshot = empty.snapshot()
    answer = which_h(snapshot, Selection("toy"))
    alone = which_h(snapshot.with_people("toy", STATED_ENDS), Selection("toy"))
    assert (answer.plays.plays, answer.plays.unstated, alone.plays) == (10, 2, None)
    for cell, other in zip(answer.cells, alone.cells, strict=True):
        apart = abs(cell.value - other.value) > 0.02
        assert cell.second == ({"value": other.value} if apart else {})
