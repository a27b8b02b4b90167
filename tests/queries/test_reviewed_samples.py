"""A random sample of answers that people graded: how it is drawn and stored, and what it says about all answers."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from clueline.data.store import open_store
from clueline.data.store.audit import Audit
from clueline.data.store.gradings import Correction, Draw, correct_grades, draw_for_review, drawn_answers
from clueline.data.store.run_withdrawal import NoSuchRun
from clueline.queries.changes import pinned_version, version_changes
from clueline.queries.gradings import corrections, graded_guesses, gradings
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels.prediction_powered import prediction_powered_mean
from clueline.queries.reviewed_samples import MEANS, MIN_REVIEWED, review_sample, reviewed_runs
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import put, put_file, rows, table, write

QUESTIONS = [f"q{number:03}" for number in range(150)]
CLUES = 3
SELECTION = Selection("toy")


def truth(question, clue):
    """Return what a person says about an answer."""
    return float(random.Random(f"{question} {clue}").random() < 0.7)


def filled(importing, folder):
    chance = random.Random(3)
    made = []
    for question in QUESTIONS:
        for clue in range(1 + int(question[1:]) % CLUES):
            right = truth(question, clue)
            judged = right if chance.random() < 0.9 else 1 - right
            made.append({
                "question_id": question, "clue": clue, "guess": f"guess {clue}", "confidence": round(chance.random(), 3),
                "correct": int(judged), "failed": "",
            })  # fmt: skip
    made.append({"question_id": "q149", "clue": 2, "guess": "", "confidence": "", "correct": "", "failed": "true"})
    made = [row for row in made if (row["question_id"], row["clue"]) != ("q149", 2) or row["failed"]]
    store = open_store(folder / "store", threads=2)
    clues = [{"question_id": q, "clue": clue, "text": "some words"} for q in QUESTIONS for clue in range(CLUES)]
    questions = table([{"question_id": q, "category": "odd" if int(q[1:]) % 2 else "even"} for q in QUESTIONS])
    put(store, write(folder / "toy", questions=questions, clues=table(clues), facts={"dataset": "toy", "kind": "incremental"}))
    put_file(store, folder / "answers.csv", table(made), dataset="toy", model="m")
    return store


@pytest.fixture
def store(prefilled):
    return prefilled(filled)


@pytest.fixture
def run(store):
    return rows(store, "select run from runs")[0][0]


def review(store, run, grade=lambda answer: truth(answer.question_id, answer.clue)):
    """Grade every drawn answer, and return them."""
    drawn = review_sample(store.snapshot(), run).answers
    correct_grades(store, run, [Correction(a.question_id, a.guess, grade(a), a.clue) for a in drawn], "bob")
    return drawn


def estimated(store, selection=SELECTION):
    (result,) = reviewed_runs(store.snapshot(), selection).runs
    return result


def test_one_answer_of_each_drawn_question(store, run):
    assert draw_for_review(store, run, 60, 7, "ann") == 60
    sample = review_sample(store.snapshot(), run)
    assert (sample.size, sample.questions, sample.seed, sample.by, sample.reviewed) == (60, 150, 7, "ann", 0)
    assert len({answer.question_id for answer in sample.answers}) == len(sample.answers) == 60
    for answer in sample.answers:
        count = 2 if answer.question_id == "q149" else 1 + int(answer.question_id[1:]) % CLUES  # a failed call is no answer
        assert answer.probability == pytest.approx(60 / 150 / count) and answer.clue < count
    (event,) = [event for event in Audit(store.register).page(9) if event.action == "drew_for_review"]
    assert (event.by, event.run, event.grades) == ("ann", run, "60")
    drawn = []
    for size, seed in ((30, 7), (80, 7), (30, 8)):  # a larger draw with the same seed draws more
        draw_for_review(store, run, size, seed, "ann")
        drawn.append({(answer.question_id, answer.clue) for answer in review_sample(store.snapshot(), run).answers})
    assert drawn[0] < drawn[1] and drawn[2] != drawn[0]
    assert draw_for_review(store, run, 1000, 1, None) == 150
    with pytest.raises(NoSuchRun):
        draw_for_review(store, "nothing", 5, 1, None)


def test_answers_are_drawn_as_often_as_stated():
    counts = dict.fromkeys(QUESTIONS, 0)
    clues = {0: 0, 1: 0, 2: 0}
    answers = [(q, clue, "x") for q in QUESTIONS for clue in range(CLUES)]
    for seed in range(600):
        for question, _, _, clue, _ in drawn_answers(answers, 50, seed):
            counts[question] += 1
            clues[clue] += 1
    expected, noise = 600 / 3, np.sqrt(600 / 3 * 2 / 3)
    assert all(abs(count - expected) < 5 * noise for count in counts.values())
    assert all(abs(count - 10_000) < 5 * np.sqrt(30_000 * 2 / 9) for count in clues.values())


def test_a_draw_changes_no_grade(store, run):
    before = [gradings(store.snapshot(), SELECTION).single, corrections(store.snapshot(), run)]
    draw_for_review(store, run, 60, 7, "ann")
    snapshot = store.snapshot()
    assert [gradings(snapshot, SELECTION).single, corrections(snapshot, run)] == before == [1, []]
    assert graded_guesses(snapshot, SELECTION, run, "corrected").total == 0
    assert graded_guesses(snapshot, SELECTION, run, "drawn").total == 60
    (corrected,) = review_sample(snapshot, run).answers[:1]
    correct_grades(store, run, [Correction(corrected.question_id, corrected.guess, 0.25)], "bob")
    draw_for_review(store, run, 60, 7, "ann")  # an earlier correction of a drawn answer stays
    snapshot = store.snapshot().with_grading("reviewed")
    grades = snapshot.rows(
        f"select distinct correct from {snapshot.responses([run])} where question_id = $q and guess = $g",
        {"q": corrected.question_id, "g": corrected.guess},
    )
    assert grades == [(0.25,)]
    assert review_sample(snapshot, run).reviewed == 1
    (reviewed,) = [g for g in gradings(store.snapshot(), SELECTION).runs[0].gradings if g.name == "reviewed"]
    assert reviewed.corrections == 1


def test_estimates_wait_for_the_whole_sample(store, run):
    assert reviewed_runs(store.snapshot(), SELECTION).runs == []
    pinned = pinned_version(store.snapshot(), SELECTION)
    draw_for_review(store, run, 60, 7, "ann")
    assert version_changes(store.snapshot(), SELECTION, pinned).same, "a draw leaves pinned links as they are"
    assert estimated(store).missing == "60 of the 60 drawn answers wait for review"
    assert (estimated(store).means, estimated(store).judge_error) == ({}, None)
    review(store, run)
    assert not version_changes(store.snapshot(), SELECTION, pinned).same
    assert estimated(store).missing is None and estimated(store).means.keys() == MEANS.keys()
    sample = review_sample(store.snapshot(), run)
    undone = sample.answers[0]
    correct_grades(store, run, [Correction(undone.question_id, undone.guess, None)], "bob")
    assert estimated(store).missing == "1 of the 60 drawn answers wait for review"
    draw_for_review(store, run, MIN_REVIEWED - 1, 7, "ann")
    assert estimated(store).missing == f"fewer than {MIN_REVIEWED} of these answers were drawn for review"


def items(store, run, grading="imported"):
    snapshot = store.snapshot().with_grading(grading)
    return snapshot.frame(
        f"select question_id, clue, confidence, correct from {snapshot.responses([run])} where not failed order by 1, 2"
    ).to_dicts()


def test_estimates_by_hand(store, run):
    """The judge's mean over all answers, and the drawn errors weighted by how unlikely the answers were to be drawn."""
    draw_for_review(store, run, 100, 11, "ann")
    review(store, run)
    result, answers = estimated(store), items(store, run)
    weights = {(a.question_id, a.clue): 1 / a.probability for a in review_sample(store.snapshot(), run).answers}
    drawn = sum(weights.values())
    for key, metric in MEANS.items():

        def value(c, y, metric=metric):
            return metric(np.array([c]), np.array([float(y)]), Conventions())[0]

        judged = {(a["question_id"], a["clue"]): value(a["confidence"], a["correct"]) for a in answers}
        graded = {(a["question_id"], a["clue"]): value(a["confidence"], truth(a["question_id"], a["clue"])) for a in answers}
        mean = result.means[key]
        assert mean.judged == pytest.approx(np.mean([*judged.values()])), key
        level = sum(weight * graded[place] for place, weight in weights.items()) / drawn
        guessed = {place: mean.judge_weight * value + (1 - mean.judge_weight) * level for place, value in judged.items()}
        errors = sum(weight * (graded[place] - guessed[place]) for place, weight in weights.items())
        assert mean.value == pytest.approx((sum(guessed.values()) + errors) / len(answers)), key
        assert mean.low < mean.value < mean.high and 0 < mean.judge_weight <= 1, key
        assert mean.low < np.mean([*graded.values()]) < mean.high, key  # with this seed
        if key == "accuracy":
            wrong = sum(weights[place] for place in weights if judged[place] != graded[place])
            assert result.judge_error == pytest.approx(wrong / drawn)
    others = [answer for answer in answers if (answer["question_id"], answer["clue"]) not in weights][:40]
    turned = [Correction(a["question_id"], f"guess {a['clue']}", 1.0 - a["correct"], a["clue"]) for a in others]
    correct_grades(store, run, turned, "bob")
    assert len(turned) == 40 and estimated(store) == result, "grades of other answers say nothing"


def test_a_filter_keeps_what_was_drawn_within_it(store, run):
    draw_for_review(store, run, 120, 7, "ann")
    review(store, run)
    odd = estimated(store, Selection("toy", category=("odd",)))
    drawn = [answer for answer in review_sample(store.snapshot(), run).answers if int(answer.question_id[1:]) % 2]
    assert odd.drawn == odd.reviewed == len(drawn)
    expected = np.mean([a["correct"] for a in items(store, run) if int(a["question_id"][1:]) % 2])
    assert odd.means["accuracy"].judged == pytest.approx(expected)
    first = estimated(store, Selection("toy", revealed=(0.0, 0.4)))
    assert first.drawn == sum(not answer.clue for answer in review_sample(store.snapshot(), run).answers)
    assert first.means["accuracy"].low < np.mean([truth(q, 0) for q in QUESTIONS]) < first.means["accuracy"].high


def test_other_notes_are_no_draws(store, run):
    correct_grades(store, run, [Correction("q001", "guess 0", 1.0, note="drawn for review: by hand")], "bob")
    assert review_sample(store.snapshot(), run).size == 0 and reviewed_runs(store.snapshot(), SELECTION).runs == []
    assert len(corrections(store.snapshot(), run)) == 1
    draw = Draw(7, 100, 1901, 5)
    assert Draw.from_note(draw.note) == draw
    with pytest.raises(ValueError, match="not the note"):
        Draw.from_note("drawn for review: by hand")


def test_a_judge_that_says_nothing_does_not_count():
    chance = np.random.default_rng(2)
    graded = chance.integers(0, 2, 50).astype(float)
    judged = np.zeros(400)
    result = prediction_powered_mean(judged, np.ones(400), np.arange(50), graded, judged[:50], np.ones(50), 1.0, 0.95)
    assert (result.value, result.tuning) == (pytest.approx(graded.mean()), 0)


def test_the_interval_is_that_of_independent_questions():
    chance = np.random.default_rng(6)
    truth, drawn = chance.integers(0, 2, 300).astype(float), np.arange(60)
    judged = np.where(chance.random(300) < 0.8, truth, 1 - truth)
    result = prediction_powered_mean(judged, np.ones(300), drawn, truth[drawn], judged[drawn], np.ones(60), 0.0, 0.95)
    of_drawn = (truth - result.tuning * judged)[drawn] / 60 + result.tuning * judged[drawn] / 300
    of_others = result.tuning * judged[60:] / 300
    assert result.value == pytest.approx(of_drawn.sum() + of_others.sum()) and 0 < result.tuning < 1
    error = math.sqrt(60 * of_drawn.var(ddof=1) + 240 * of_others.var(ddof=1))
    assert result.high - result.value == pytest.approx(stats.t.ppf(0.975, 59) * error)


def test_no_interval_is_without_width():
    ones = np.ones(100)
    result = prediction_powered_mean(ones, ones, np.arange(100), ones, ones, ones, 1.0, 0.95)
    assert result.value == 1 and result.low < 1 < result.high


def test_equal_guesses_of_several_samples_share_a_draw(prefilled):
    """Each question was asked four times; a grade of a guess is that of all its samples."""

    def sampled(importing, folder):
        opened = open_store(folder / "store", threads=1)
        questions = [f"q{number:03}" for number in range(60)]
        clues = [{"question_id": q, "clue": 0, "text": "some words"} for q in questions]
        put(opened, write(folder / "toy", questions=table([{"question_id": q} for q in questions]), clues=table(clues)))
        answers = [
            {"question_id": q, "clue": 0, "guess": "ab"[right], "confidence": 0.5, "correct": int(right), "sample": sample}
            for q in questions
            for sample, right in enumerate((False, True, True, True))
        ]
        put_file(opened, folder / "m.csv", table(answers), dataset="toy", model="m")
        return opened

    store = prefilled(sampled)
    ((run,),) = rows(store, "select run from runs")
    draw_for_review(store, run, 60, 5, "ann")
    drawn = review(store, run, lambda answer: float(answer.guess == "b"))
    assert {answer.probability for answer in drawn} == {0.25}
    result = estimated(store)
    assert (result.drawn, result.judge_error) == (60, 0)
    assert result.means["accuracy"].value == pytest.approx(0.75)


def filled_with_states(importing, folder):
    """Answers in all states to 120 questions. The judge errs on a fifth of those that can be right."""
    chance = random.Random(5)
    made = []
    for number in range(120):
        state = ("", "", "", "no_confidence", "unparsed", "abstained", "failed")[number % 7]
        right = chance.random() < 0.6
        judged = right if chance.random() < 0.8 else not right
        made.append({
            "question_id": f"q{number:03}", "guess": "right" if right else "wrong", "state": state,
            "confidence": "" if state else round(chance.random(), 3),
            "correct": "" if state == "failed" else int(judged and state in ("", "no_confidence")),
        })  # fmt: skip
    store = open_store(folder / "store", threads=2)
    questions = table([{"question_id": row["question_id"]} for row in made])
    put(store, write(folder / "toy", {"dataset": "toy", "kind": "single"}, questions=questions, clues=None))
    put_file(store, folder / "answers.csv", table(made), dataset="toy", model="m")
    return store


def test_each_mean_counts_its_states(prefilled):
    """Where everything is reviewed, the estimates are the values of the leaderboard by the reviewers' grades."""
    store = prefilled(filled_with_states)
    ((run,),) = rows(store, "select run from runs")
    draw_for_review(store, run, 120, 7, "ann")
    review(store, run, lambda answer: float(answer.guess == "right"))
    metrics = [CATALOGUE[key] for key in MEANS]
    for selection in (Selection("toy", failed=failed, common=False) for failed in (False, True)):
        estimates = estimated(store, selection).means
        for grading, name in (("", "value"), ("imported", "judged")):
            (row,) = leaderboard(store.snapshot(), selection.replace(grading=grading), metrics).rows
            expected = {key: cell.value for key, cell in row.metrics.items()}
            assert {key: getattr(mean, name) for key, mean in estimates.items()} == pytest.approx(expected)


def test_a_metric_with_few_drawn_answers_is_left_out(prefilled):
    store = prefilled(filled_with_states)
    ((run,),) = rows(store, "select run from runs")
    draw_for_review(store, run, 48, 7, "ann")
    review(store, run, lambda answer: 1.0)
    assert estimated(store).means.keys() == {"accuracy"}, "of 48 drawn answers, fewer than 40 have a confidence"
