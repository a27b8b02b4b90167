"""Selections by a grading equal those of a run whose file states these grades; and comparisons of gradings."""

import io
import itertools
import random

import polars as pl
import pytest

from clueline.data.store import open_store
from clueline.data.store.gradings import Correction, correct_grades
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.gradings import graded_guesses, grading_coverage, gradings
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.selection import Selection, read_facets, read_selection
from tests.helpers.bundle_factory import put, rows, table, write

QUESTIONS = [f"q{number}" for number in range(1, 9)]
BUNDLE = {
    "questions": table([{"question_id": q, "answer": f"Answer {q} [prompt on {q}]"} for q in QUESTIONS]),
    "clues": table([
        {"question_id": q, "clue": clue, "text": "some words here", "word_end": 3 * clue + 3}
        for q in QUESTIONS for clue in range(3)
    ]),
    "exposures": table([
        {"question_id": q, "match_id": "m", "team": team, "team_kind": "human", "heard_words": 6, "ended_by": "Ash"}
        for q in QUESTIONS for team in ("Ash", "Birch")
    ]),
    "buzzes": table([
        {"question_id": q, "match_id": "m", "team": "Ash", "word": 5, "correct": "true"} for q in QUESTIONS
    ]),
}  # fmt: skip


def responses(column):
    """Return answers with the grades of three readers; the grades of reader ``column`` are those of the file itself."""
    chance = random.Random(5)
    made = []
    for question, clue in itertools.product(QUESTIONS, range(3)):
        guess = chance.choice([f"Answer {question}", question, "Rome", f"answers {question}"])
        row = {"model": "m", "question_id": question, "clue": clue, "guess": guess, "confidence": round(chance.random(), 3)}
        given = {name: int(chance.random() < share) for name, share in (("first", 0.5), ("second", 0.7), ("third", 0.3))}
        made.append(
            row | {"correct": given[column]} | {f"correct.{name}": value for name, value in given.items() if name != column}
        )
    return table(made)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A store with the same answers in two datasets, with the grades of another reader in each file, and a run without grades."""
    root = tmp_path_factory.mktemp("graded")
    store = open_store(root / "store", threads=2)
    plain = "model,question_id,clue,guess,confidence\n" + "".join(f"plain,{q},0,Answer {q},0.5\n" for q in QUESTIONS)
    runs = {name: {"responses/m": responses(name)} for name in ("first", "second")}
    runs["first"]["responses/plain"] = plain
    put(store, *(write(root / name, {"dataset": name, "kind": "incremental"}, **BUNDLE, **runs[name]) for name in runs))
    return store


@pytest.fixture(scope="module")
def snapshot(graded):
    return graded.snapshot()


def run_of(snapshot, dataset, model="m"):
    return snapshot.rows("select run from runs where dataset = $d and model = $m", {"d": dataset, "m": model})[0][0]


def metrics_of(snapshot, selection, intervals=False):
    (row,) = leaderboard(snapshot, selection, METRICS, intervals).rows
    return {key: (cell.value, cell.low, cell.high, cell.missing) for key, cell in row.metrics.items()}


@pytest.mark.parametrize("narrow", [{}, {"revealed": (0.0, 0.7)}])
def test_every_metric_is_that_of_a_file_with_these_grades(snapshot, narrow):
    """The grading ``second`` of the first dataset has the grades that the file of the second dataset states."""
    chosen = Selection("first", model=("m",), grading="second", **narrow)
    assert metrics_of(snapshot, chosen, True) == metrics_of(snapshot, Selection("second", **narrow), True)
    assert metrics_of(snapshot, chosen) != metrics_of(snapshot, chosen.replace(grading=""))
    sides = (chosen, Selection("second", **narrow))
    listed = [[(item.question_id, item.clue, item.correct) for item in items(snapshot, side).items] for side in sides]
    assert listed[0] == listed[1] and listed[0]
    outcomes = [buzz(snapshot, side, Rules()).explorer.runs[0].outcome for side in sides]
    assert outcomes[0] == outcomes[1]


def test_a_grading_that_came_later_has_the_same_metrics(snapshot, tmp_path):
    store = open_store(tmp_path / "store", threads=2)
    for column in ("first", "second"):
        read = pl.read_csv(io.StringIO(responses(column))).select("question_id", "clue", "guess", "confidence", "correct")
        put(store, write(tmp_path / "toy", **BUNDLE, responses=read.write_csv()), model="m")
    later = store.snapshot()
    assert read_facets(later, "toy").gradings == ("imported", "graded", "run")
    for grading, known in (("", ""), ("imported", ""), ("run", "second"), ("graded", "graded")):
        chosen = Selection("first", model=("m",), grading=known)
        assert metrics_of(later, Selection("toy", grading=grading)) == metrics_of(snapshot, chosen)
    (run,) = gradings(later, Selection("toy")).runs
    assert [(grading.name, grading.source) for grading in run.gradings] == [
        ("imported", "import"), ("graded", "rules"), ("run", "added"),
    ]  # fmt: skip
    assert run.gradings[2].at > run.gradings[0].at


def test_a_run_without_the_grading_keeps_its_first_one(snapshot):
    accuracy = [CATALOGUE["accuracy"]]
    boards = [leaderboard(snapshot, Selection("first", grading=name), accuracy).rows for name in ("", "second")]
    by_model = [{row.model: row.metrics["accuracy"].value for row in board} for board in boards]
    assert by_model[0]["plain"] == by_model[1]["plain"] == 1.0 and by_model[0]["m"] != by_model[1]["m"]
    coverage = grading_coverage(snapshot, Selection("first", grading="second"))
    assert (coverage.with_it, coverage.without_it) == (1, 1)
    offered = read_facets(snapshot, "first")
    assert offered.gradings == ("graded", "imported", "second", "third")
    selection = read_selection([("dataset", "first"), ("grading", "third")], lambda _: offered)
    assert selection.grading == "third" and ("grading", "third") in selection.pairs()


def test_agreement_is_that_of_counting_by_hand(snapshot):
    compared = gradings(snapshot, Selection("first"))
    assert (compared.single, compared.total) == (1, 1)
    (run,) = compared.runs
    assert [grading.name for grading in run.gradings] == ["imported", "second", "third", "graded"]
    grades = {}
    for grading in run.gradings:
        graded = snapshot.with_grading(grading.name)
        grades[grading.name] = [y for (y,) in graded.rows(f"select correct from {graded.responses([run.run])}")]
        assert grading.accuracy == pytest.approx(sum(grades[grading.name]) / 24)
    for pair in run.agreements:
        cells = list(zip(grades[pair.a], grades[pair.b], strict=True))
        same = sum(a == b for a, b in cells) / 24
        shares = [sum(a == value for a, _ in cells) / 24 * sum(b == value for _, b in cells) / 24 for value in (0, 1)]
        assert pair.agreement == pytest.approx(same) and pair.agreeing == round(24 * same)
        assert pair.kappa == pytest.approx((same - sum(shares)) / (1 - sum(shares)))
    assert run.differing == sum(len(set(values)) > 1 for values in zip(*grades.values(), strict=True))


def test_guesses_that_differ_have_the_rule(snapshot):
    run = run_of(snapshot, "first")
    listed = graded_guesses(snapshot, Selection("first"), run)
    assert listed.total == len(listed.guesses) > 0
    assert all(len(set(guess.grades.values())) > 1 for guess in listed.guesses)
    prompted = [guess for guess in listed.guesses if guess.guess == guess.question_id]
    assert {(guess.outcome, guess.rule) for guess in prompted} == {("review", "the answer line says to prompt on this")}
    every = graded_guesses(snapshot, Selection("first"), run, "all")
    assert sum(guess.answers for guess in every.guesses) == 24
    uncertain = graded_guesses(snapshot, Selection("first"), run, "uncertain")
    assert {guess.guess for guess in uncertain.guesses} == {g.guess for g in every.guesses if g.outcome == "review"}
    assert graded_guesses(snapshot, Selection("first"), run, "all", 2).total == every.total
    narrowed = graded_guesses(snapshot, Selection("first", revealed=(0.0, 0.4)), run, "all")
    assert {clue for guess in narrowed.guesses for clue in guess.clues} == {0}


def test_a_correction_is_read_without_reading_other_runs_again(graded):
    run, other = (run_of(graded.snapshot(), dataset) for dataset in ("second", "first"))
    guess = rows(graded, f"select question_id, guess from responses where run = '{run}' and guess = 'Rome' limit 1")[0]
    reviewed, own = Selection("second"), Selection("second", grading="imported")
    before = metrics_of(graded.snapshot(), own)
    correct_grades(graded, run, [Correction(*guess, 1.0)], "ann")
    first = metrics_of(graded.snapshot(), reviewed)
    correct_grades(graded, run, [Correction(*guess, None, note="no"), Correction(*guess, 0.5)], "bob")
    second = metrics_of(graded.snapshot(), reviewed)
    assert len({values["accuracy"] for values in (before, first, second)}) == 3
    snapshot = graded.snapshot()
    assert metrics_of(snapshot, own) == before and metrics_of(snapshot, reviewed.replace(grading="reviewed")) == second
    listed = graded_guesses(snapshot, Selection("second"), run, "corrected")
    (corrected,) = listed.guesses[:1]
    assert [(entry.correct, entry.by, entry.note) for entry in corrected.corrections] == [
        (1.0, "ann", None), (None, "bob", "no"), (0.5, "bob", None),
    ]  # fmt: skip
    assert run != other
