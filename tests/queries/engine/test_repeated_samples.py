"""Several samples of a run for the same clue: what is pooled, what is averaged within a question, and what other views show."""

import random
from collections import defaultdict

import numpy as np
import pytest

from clueline.data.store import open_store
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.engine.common_questions import coverage
from clueline.queries.engine.gather import gather
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.question import question
from clueline.queries.questions import sparklines
from clueline.queries.recalibration import recalibration
from clueline.queries.runs import responses
from clueline.queries.selection import Selection
from tests.helpers import reference_metrics as reference
from tests.helpers.bundle_factory import put, refusal, table, write
from tests.helpers.run_tables import with_runs

LENGTHS = {f"q{index}": 1 + index % 4 for index in range(10)}
SAMPLES = ("1", "2", "10")
SELECTIONS = [
    Selection("relay", common=False),
    Selection("relay", common=False, revealed=(0.0, 0.6)),
    Selection("relay", common=False, revealed=(0.4, 1.0)),
    Selection("relay", common=False, category=("odd",)),
]


def answers(chance):
    """Draw the answers of a run with three samples. Some clues and one whole sample of a question are missing."""
    rows = []
    for name, clues in LENGTHS.items():
        for sample in SAMPLES:
            for clue in range(clues):
                if (name, sample) != ("q3", "2") and (chance.random() < 0.9 or clue == 0):
                    rows.append({
                        "question_id": name, "clue": clue, "guess": chance.choice("ab"),
                        "confidence": chance.choice((0.1, 0.35, 0.8, 1)), "correct": chance.choice((0, 1)),
                        "sample": sample, "buzz": clue == 1,
                    })  # fmt: skip
    chance.shuffle(rows)
    return rows


@pytest.fixture(scope="module")
def sampled(tmp_path_factory):
    """A store with the run ``drawn``, and each of its samples as a run of its own."""
    chance, folder = random.Random(7), tmp_path_factory.mktemp("samples")
    store = open_store(folder / "store", threads=1)
    rows = answers(chance)
    lines = {name: [{"question_id": name, "match_id": "m", "team": team} for team in "xyz"] for name in list(LENGTHS)[:8]}
    heard = [row for part in lines.values() for row in part]
    buzzes = [
        row | {"word": chance.randrange(0, 2 * LENGTHS[row["question_id"]] + 1), "correct": chance.randrange(2)} for row in heard
    ]
    write(
        folder / "relay", {"dataset": "relay", "kind": "incremental", "title": "Relay"},
        questions=table([
            {"question_id": name, "answer": "a", "category": "odd" if clues % 2 else "even"} for name, clues in LENGTHS.items()
        ]),
        clues=table([
            {"question_id": name, "clue": clue, "text": "one two"} for name, clues in LENGTHS.items() for clue in range(clues)
        ]),
        exposures=table(heard), buzzes=table(buzzes),
        responses=table([row | {"model": "drawn"} for row in rows] + [
            row | {"sample": "", "model": sample} for sample in SAMPLES for row in rows if row["sample"] == sample
        ]),
    )  # fmt: skip
    put(store, folder / "relay")
    yield store, rows
    store.close()


def evidence_by_model(snapshot, selection):
    evidence = gather(snapshot, selection, METRICS)
    return evidence, {run.model: index for index, run in enumerate(evidence.runs)}


def pooled(snapshot, selection, rows):
    """Return the items of the run ``drawn`` by question, in the order of samples and clues."""
    known = reference.Rows.read(snapshot, "relay")
    low, high = selection.revealed or (0, 1)
    result = []
    for kept in known.kept_questions(selection):
        name = kept["question_id"]
        part = sorted((row for row in rows if row["question_id"] == name), key=lambda row: (row["sample"], row["clue"]))
        part = [row for row in part if low <= known.clues[name, row["clue"]]["revealed"] <= high]
        if part:
            triples = [(row["confidence"], row["correct"], known.curves.get((name, row["clue"]))) for row in part]
            fold = int(reference.question_folds([name])[0])
            result.append(reference.Answered(triples, kept["difficulty"], [], fold))
    return result


@pytest.mark.parametrize("selection", SELECTIONS)
def test_metrics_of_items_pool_the_samples(sampled, selection):
    store, rows = sampled
    snapshot = store.snapshot()
    evidence, index = evidence_by_model(snapshot, selection)
    of_items = [metric for metric in METRICS if not metric.by_sample]
    expected = pooled(snapshot, selection, rows)
    for metric in of_items:
        value = evidence.values(metric)[index["drawn"]]
        assert value == pytest.approx(reference.METRICS[metric.key](expected, selection.conventions), abs=1e-10, nan_ok=True), (
            metric.key
        )


@pytest.mark.parametrize("selection", SELECTIONS)
def test_metrics_of_questions_are_averaged_within_each(sampled, selection):
    snapshot = sampled[0].snapshot()
    evidence, index = evidence_by_model(snapshot, selection)
    of_questions = [metric for metric in METRICS if metric.by_sample]
    assert {metric.key for metric in of_questions} == {
        "calscore", "calscore_weighted", "calscore2", "grace_mce", "human_tau", "human_area",
    }  # fmt: skip
    for metric in of_questions:
        values, by_question = evidence.per_question(metric), defaultdict(list)
        for sample in SAMPLES:
            run = slice(evidence.starts[index[sample]], evidence.ends[index[sample]])
            for name, value in zip(evidence.questions[run], values[run], strict=True):
                by_question[name].append(value)
        run = slice(evidence.starts[index["drawn"]], evidence.ends[index["drawn"]])
        # A sample that always states the same confidence has no rank correlation.
        defined = [[value for value in by_question[name] if np.isfinite(value)] for name in evidence.questions[run]]
        expected = [np.mean(part) if part else np.nan for part in defined]
        assert values[run] == pytest.approx(expected, abs=1e-12, nan_ok=True)
        assert evidence.values(metric)[index["drawn"]] == pytest.approx(np.nanmean(expected), abs=1e-12)


def test_samples_are_counted_and_survive_export_and_import(sampled, tmp_path):
    snapshot = sampled[0].snapshot()
    runs = snapshot.rows("select run, model, samples, respondents from runs order by position")
    assert [row[1:] for row in runs] == [("drawn", 3, False), ("1", 1, False), ("2", 1, False), ("10", 1, False)]
    exported = responses(snapshot, runs[0][0], "csv")
    exported = with_runs(snapshot).frame(exported.sql, exported.parameters)
    assert sorted(map(str, exported["sample"].unique())) == ["1", "10", "2"]
    assert exported["buzz"].sum() == sum(row["buzz"] for row in sampled[1])
    exported.drop("token_logprobs", "options", strict=False).write_csv(tmp_path / "again.csv")
    report = put(sampled[0], tmp_path / "again.csv", dataset="relay", model="drawn")
    assert report.stored == [runs[0][0]]


def test_a_repeated_sample_is_refused(sampled, tmp_path):
    row = {"question_id": "q0", "clue": 0, "confidence": 0.5, "correct": 1}
    (tmp_path / "twice.csv").write_text(table([row | {"sample": "1"}, row | {"sample": "2"}, row | {"sample": "1"}]))
    refused = refusal(sampled[0], tmp_path / "twice.csv", dataset="relay", model="m")
    assert [(problem.line, problem.reason) for problem in refused.problems] == [
        (4, "this run has an answer to this question and clue already")
    ]


def test_views_of_one_answer_show_all_samples(sampled):
    store, rows = sampled
    snapshot = store.snapshot()
    selection = SELECTIONS[0]
    drawn = question(snapshot, selection, "q2").runs[0]
    expected = [row for row in rows if row["question_id"] == "q2"]
    assert len(drawn.clues) == len(expected)
    assert sum(answer.buzz_mass for answer in drawn.clues) == pytest.approx(3)
    means = [sum(answer.contribution for answer in drawn.clues if answer.sample == sample) for sample in SAMPLES]
    assert drawn.metrics["calscore"] == pytest.approx(np.mean([1 - reference.r(mean) for mean in means]))
    for answer in drawn.one_per_clue():
        same = [row for row in expected if row["clue"] == answer.clue]
        assert answer.confidence == pytest.approx(np.mean([row["confidence"] for row in same]))
        assert answer.correct == pytest.approx(np.mean([row["correct"] for row in same]))
        assert sum(row["guess"] == answer.guess for row in same) * 2 >= len(same)
    assert drawn.own_buzz() == 1
    line = sparklines(snapshot, selection, ("q2",))["q2"].runs[drawn.run]
    assert line.confidence == pytest.approx([answer.confidence for answer in drawn.one_per_clue()])
    listed = items(snapshot, selection, limit=1000, focus=(drawn.run,))
    assert {(item.question_id, item.clue, item.sample) for item in listed.items} == {
        (row["question_id"], row["clue"], row["sample"]) for row in rows
    }


def test_a_run_buzzes_with_its_first_sample(sampled):
    snapshot = sampled[0].snapshot()
    board = {run.model: run for run in buzz(snapshot, SELECTIONS[0], Rules()).explorer.runs}
    assert board["drawn"].items == board["1"].items
    assert board["drawn"].outcome == board["1"].outcome


def test_coverage_counts_clues_not_answers(sampled):
    snapshot = sampled[0].snapshot()
    counted = coverage(snapshot, SELECTIONS[0])
    run = snapshot.rows("select run from runs where model = 'drawn'")[0][0]
    clues = {(row["question_id"], row["clue"]) for row in sampled[1]}
    assert counted.answered_clues[run] == len(clues)


def test_recalibration_keeps_the_samples_apart(sampled):
    snapshot = sampled[0].snapshot()
    metrics = [CATALOGUE["calscore"], CATALOGUE["brier"]]
    before = leaderboard(snapshot, SELECTIONS[0], metrics).rows[0]
    after = recalibration(snapshot, SELECTIONS[0], "temperature", metrics).runs[0]
    assert after.metrics["calscore"].before == pytest.approx(before.metrics["calscore"].value)
    assert after.metrics["calscore"].after is not None
