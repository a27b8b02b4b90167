"""One question, clue by clue."""

import csv
import itertools
import json
import math

import pytest

from clueline.data.store import open_store
from clueline.queries.buzzing import Buzzpoint, Rules
from clueline.queries.calscore_steps import NO_PEOPLE, clue_steps
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import HUMAN_CURVES, METRICS, Conventions
from clueline.queries.question import question
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers import reference_metrics as reference
from tests.helpers.bundle_factory import put, write
from tests.helpers.small_polls import POLLS, YES_NO

RELAY = Selection("relay")
NAMES = [f"r{index:02}" for index in range(12)]
HEARD, UNHEARD = NAMES[:9], NAMES[9:]


@pytest.mark.parametrize(("curve", "names"), [(None, NAMES), *((curve, ("r03", "r05", "r10")) for curve in HUMAN_CURVES)])
def test_contributions_of_clues(snapshot, rows, curve, names):
    """Each is the share of its clue in the mean of CalScore; the chances to buzz at a clue add up to 1."""
    for name in names:
        for run in question(snapshot, RELAY.replace(conventions=Conventions(human=curve)), name).runs:
            assert math.fsum(clue.buzz_mass for clue in run.clues) == pytest.approx(1)
            assert all(0 <= clue.buzz_mass <= 1 for clue in run.clues)
            contributions = [clue.contribution for clue in run.clues]
            if name in UNHEARD:
                assert set(contributions) == {None} and run.metrics["calscore"] is None
                continue
            h = [rows["relay"].curves[name, clue.clue][curve or "buzz_share"] for clue in run.clues]
            expected = [
                (1 - known) * (2 * clue.correct - 1) * clue.confidence / len(run.clues)
                for known, clue in zip(h, run.clues, strict=True)
            ]
            assert contributions == pytest.approx(expected, abs=1e-15)
            assert 1 - reference.r(math.fsum(contributions)) == pytest.approx(run.metrics["calscore"], abs=1e-12)


@pytest.mark.parametrize("conventions", [Conventions(), Conventions("mass3", "survival", 2.0)], ids=str)
@pytest.mark.parametrize("dataset, name", [("relay", "r05"), ("relay", "r03"), ("relay", "r10"), ("spans", "s6")])
def test_its_metrics_are_the_leaderboard_of_that_question(snapshot, conventions, dataset, name):
    selection = Selection(dataset, conventions=conventions, common=False)  # the page shows all that a run answered
    board = leaderboard(snapshot, selection.replace(questions=(name,)), METRICS)
    answered = question(snapshot, selection, name)
    assert {run.run: run.metrics for run in answered.runs} == {
        row.run: {key: cell.value for key, cell in row.metrics.items()} for row in board.rows
    }


def test_answers_are_those_of_the_file(snapshot, rows):
    for run in question(snapshot, RELAY, "r05").runs:
        for clue in run.clues:
            row = rows["relay"].responses[run.run, "r05", clue.clue]
            stated = [row[name] for name in ("guess", "correct", "confidence")]
            assert [clue.guess, clue.correct, clue.confidence, clue.graded] == [*stated, "file"]
        assert [clue.clue for clue in run.clues] == sorted(clue.clue for clue in run.clues)


def test_clues_point_into_the_text(snapshot):
    for name in NAMES:
        answered = question(snapshot, RELAY, name)
        start = 0
        for clue in answered.clues:
            assert answered.text[start : clue.char_end].strip() == clue.text
            assert len(answered.text[: clue.char_end].split()) == clue.word_end
            start = clue.char_end
        assert start == len(answered.text)
        assert [clue.clue for clue in answered.clues] == list(range(len(answered.clues)))


def test_people(snapshot):
    assert [question(snapshot, RELAY, name).human for name in UNHEARD] == [None] * len(UNHEARD)
    for name in HEARD:
        answered = question(snapshot, RELAY, name)
        people, words = answered.human, answered.clues[-1].word_end
        for curve in HUMAN_CURVES:
            assert len(getattr(people, curve)) == len(answered.clues)
            assert all(0 <= value <= 1 for value in getattr(people, curve))
        assert people.team_share == sorted(people.team_share)
        assert len(people.buzzes) <= people.teams <= 3
        assert all(buzz.team != "Robot" and 0 <= buzz.word <= words for buzz in people.buzzes)
        right = sum(buzz.correct for buzz in people.buzzes)
        assert people.team_share[-1] == pytest.approx(right / people.teams)


def test_only_filters_on_runs_apply_to_one_question(snapshot):
    plain = question(snapshot, RELAY, "r05")
    narrowed = RELAY.replace(category=("History",), q="zzz", difficulty=(0.0, 0.1), revealed=(0.9, 1.0))
    assert question(snapshot, narrowed, "r05") == plain
    survival = question(snapshot, RELAY.replace(conventions=Conventions(human="survival")), "r05")
    curves = [(shown.human_curve, shown.team_curve) for shown in (plain, survival)]
    assert curves == [("buzz_share", "team_share"), ("survival", "survival")]
    logit = question(snapshot, RELAY.replace(elicitation=("logit",)), "r05")
    assert [run.model for run in logit.runs] == ["plain"]


def test_a_lifeeval_question(snapshot):
    answered = question(snapshot, Selection("spans"), "s6")
    assert (answered.sex, answered.minimum_age, answered.radius, answered.human) == ("male", 65, 10, None)
    assert (answered.difficulty_source, len(answered.clues)) == ("given", 1)
    assert all(run.clues[0].graded == "table" and 0 < run.clues[0].correct < 1 for run in answered.runs)
    assert answered.lifespan.ages == list(range(65, 120))
    assert math.fsum(answered.lifespan.probability) == pytest.approx(1)
    assert 1 - answered.lifespan.mas == answered.difficulty
    best = range(answered.lifespan.best_guess - 10, answered.lifespan.best_guess + 10)
    within = [p for age, p in zip(answered.lifespan.ages, answered.lifespan.probability, strict=True) if age in best]
    assert math.fsum(within) == pytest.approx(answered.lifespan.mas)
    assert question(snapshot, RELAY, "r05").lifespan is None


@pytest.mark.parametrize("dataset, name", [("relay", "r99"), ("relay", ""), ("relay", "s6"), ("spans", "r05"), ("nosuch", "r05")])
def test_an_unknown_question_is_refused(snapshot, dataset, name):
    with pytest.raises(BadRequest) as caught:
        question(snapshot, Selection(dataset), name)
    assert (caught.value.code, caught.value.field, caught.value.status) == ("unknown_question", "question_id", 404)


# -- CalScore clue by clue ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("curve", [None, *HUMAN_CURVES])
@pytest.mark.parametrize("name", ["r01", "r05", "r11"])
def test_the_steps_add_up_to_the_metrics(snapshot, name, curve):
    selection = Selection("relay", conventions=Conventions(human=curve))
    metrics = {run.run: run.metrics for run in question(snapshot, selection, name).runs}
    result = clue_steps(snapshot, selection, name)
    assert [run.run for run in result.runs] == [*metrics]
    for run in result.runs:
        for key in ("calscore", "calscore2"):
            expected = metrics[run.run][key]
            assert getattr(run, key) == (None if expected is None else pytest.approx(expected, abs=1e-12))
        assert (run.missing == NO_PEOPLE) == (name == "r11") == (not run.steps)
        if run.steps:
            assert math.fsum(step.buzz_mass for step in run.steps) == pytest.approx(1)
            assert math.fsum(step.gained for step in run.steps) + run.remainder == pytest.approx(run.reward)


# -- buzzpoints --------------------------------------------------------------------------------------------------------


def test_a_run_buzzes_at_the_first_clue_above_its_threshold(snapshot, rows):
    """A confidence equal to the threshold is not above it."""
    stated = sorted({row["confidence"] for row in rows["relay"].responses.values()})
    first = question(snapshot, RELAY, NAMES[0]).runs[0].run
    for threshold, name in itertools.product((0.0, stated[len(stated) // 3], stated[len(stated) // 2], stated[-1]), NAMES):
        for run in question(snapshot, RELAY, name, Rules(threshold=threshold, thresholds=((first, 0.25),))).runs:
            tau = 0.25 if run.run == first else threshold
            above = [clue.clue for clue in run.clues if clue.confidence > tau]
            assert run.buzzpoint == Buzzpoint(tau, False, above[0] if above else None, None)


def test_best_thresholds_apply_where_none_is_requested(snapshot):
    first, two, *_ = [run.run for run in question(snapshot, RELAY, "r05").runs]
    result = question(snapshot, RELAY, "r05", Rules(thresholds=((first, 0.5),)), ((first, 0.1), (two, 0.2)))
    points = {run.run: run.buzzpoint for run in result.runs}
    assert (points[first].threshold, points[first].best) == (0.5, False)
    assert (points[two].threshold, points[two].best) == (0.2, True)
    others = [point for run, point in points.items() if run not in (first, two)]
    assert others and all(point.threshold is point.clue is None and "best threshold" in point.missing for point in others)


def test_no_logprob_buzz_without_token_logprobs(snapshot):
    points = {run.model: run.buzzpoint for run in question(snapshot, RELAY, "r05", Rules("logprob", threshold=-0.5)).runs}
    assert all(run.buzzpoint is None for run in question(snapshot, RELAY, "r05").runs), "without rules"
    missing = [point for point in points.values() if point.missing]
    assert missing and all("log-probabilities" in point.missing and point.clue is None for point in missing)


# -- votes -------------------------------------------------------------------------------------------------------------


def test_votes_and_distributions_are_those_of_the_files(polled, polls_folder):
    stated = {}
    for path in (polls_folder / "responses").glob("*.csv"):
        with path.open() as file:
            stated[path.stem] = {line["question_id"]: line["options"] for line in csv.DictReader(file)}
    for index, counts in enumerate(POLLS):
        name = f"p{index:02}"
        answered = question(polled, Selection("polls"), name)
        if not counts or not sum(counts):
            assert answered.votes is None and all(run.shares is None for run in answered.runs)
            continue
        assert (answered.votes.classes, answered.votes.votes) == (list(YES_NO), list(counts))
        assert answered.votes.shares == pytest.approx([count / sum(counts) for count in counts], abs=1e-15)
        for run in answered.runs:
            given = json.loads(stated[run.model][name]) if stated[run.model].get(name) else None
            expected = [given[key] for key in YES_NO] if isinstance(given, dict) else given
            assert run.shares == (None if given is None else pytest.approx(expected, abs=1e-12))
            if given is not None:
                far = sum(abs(f - pi) for f, pi in zip(expected, answered.votes.shares, strict=True)) / 2
                assert run.metrics["dist_ce"] == pytest.approx(far, abs=1e-9)


def test_questions_with_their_own_classes_list_them_by_name(polled):
    answered = question(polled, Selection("quiz"), "k0")  # two options, and votes for a class that is neither
    classes = answered.votes.classes
    assert classes == sorted(classes) and "Quito" in classes and len(classes) == 3
    for run in answered.runs:
        assert run.shares[classes.index("Quito")] == 0
        assert math.fsum(run.shares) == pytest.approx(1)


def test_silent_teams_are_counted(tmp_path):
    """Ash and Cedar count as having heard both questions of the match, but only Ash ever buzzed in it."""
    exposures = "question_id,match_id,team,heard_words,ended_by\n" + "".join(
        f"{name},m1,{team},,\n" for name in ("q1", "q2") for team in ("Ash", "Cedar")
    )
    exposures += "q2,m2,Birch,,\nq2,m3,Dogwood,4,\nq1,m3,Dogwood,4,\n"  # a match of one question; a team whose words are known
    buzzes = "question_id,match_id,team,word,correct,guess\nq1,m1,Ash,3,1,Paris\n"
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy", exposures=exposures, buzzes=buzzes))
    snapshot = store.snapshot()
    assert question(snapshot, Selection("toy"), "q2").human.teams == 4
    assert [question(snapshot, Selection("toy"), name).human.silent for name in ("q1", "q2")] == [1, 1]
