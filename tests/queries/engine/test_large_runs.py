"""Runs of so many answers that DuckDB reads and writes them in several threads: each answer belongs to its own question."""

import json

import numpy as np
import polars as pl
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.run_files import PARQUET, record_objects, stored_objects
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection

QUESTIONS, CLUES, CATEGORIES = 10_500, 12, 3  # more answers than a thread reads at once, and questions across blocks of rows


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store with a run whose confidences tell right from wrong in one category only, and the expected AUROC by category."""
    folder, ids = tmp_path_factory.mktemp("large"), pl.Series([f"q{number:05}" for number in range(QUESTIONS)])
    question, clue = np.repeat(np.arange(QUESTIONS), CLUES), np.tile(np.arange(CLUES), QUESTIONS)
    category, random = question % CATEGORIES, np.random.default_rng(1)
    confidence = np.round(random.random(len(question)), 3)
    correct = random.random(len(question)) < np.where(category == 1, confidence, 0.5)
    (folder / "toy").mkdir()
    (folder / "toy" / "dataset.json").write_text(json.dumps({"dataset": "toy", "title": "Toy", "kind": "incremental"}))
    facts = {"question_id": ids, "answer": ids, "category": [f"C{number % CATEGORIES}" for number in range(QUESTIONS)]}
    pl.DataFrame(facts).write_parquet(folder / "toy" / "questions.parquet")
    places = pl.DataFrame({"question_id": ids.gather(question), "clue": clue})
    places.with_columns(text=pl.lit("one two")).write_parquet(folder / "toy" / "clues.parquet")
    answers = places.with_columns(guess=pl.lit("g"), confidence=pl.Series(confidence), correct=pl.Series(correct))
    answers.sample(fraction=1, shuffle=True, seed=1).write_parquet(folder / "answers.parquet")
    store = open_store(folder / "store", threads=2)
    import_paths(store, [folder / "toy"], ImportOptions())
    import_paths(store, [folder / "answers.parquet"], ImportOptions(dataset="toy", model="m"))
    expected = [auroc(confidence[category == number], correct[category == number]) for number in range(CATEGORIES)]
    return store, expected


def auroc(confidence, correct):
    """Return the share of pairs of a right and a wrong answer in which the right one has the higher confidence; ties are half."""
    right, wrong = np.sort(confidence[correct]), np.sort(confidence[~correct])
    below, up_to = (np.searchsorted(wrong, right, side).sum() for side in ("left", "right"))
    return (below + up_to) / (2 * len(right) * len(wrong))


def by_category(store):
    boards = [leaderboard(store.snapshot(), Selection("toy", category=(f"C{number}",)), [CATALOGUE["auroc"]])
              for number in range(CATEGORIES)]  # fmt: skip
    return [board.rows[0].metrics["auroc"].value for board in boards]


def test_a_metric_of_items_counts_those_of_its_questions(large):
    store, expected = large
    connection = store.snapshot().connection
    assert store.objects.in_disorder(connection, stored_objects(connection, "responses")) == []
    assert expected[1] > 0.7 and by_category(store) == pytest.approx(expected, abs=1e-12)


def test_earlier_rows_in_disorder_are_sorted(large, tmp_path):
    """Whole blocks of rows were in another order."""
    store, expected = large
    (part,) = stored_objects(store.snapshot().connection, "responses")
    blocks = f"""select * from read_parquet('{store.objects.path(part.name)}', file_row_number = true)
        order by (file_row_number // 20480) % 2, file_row_number"""
    objects = store.new_objects()

    def change(connection):
        def write(path):
            sql = f"copy (select * exclude (file_row_number) from ({blocks})) to '{path}' ({PARQUET})"
            return connection.execute(sql).fetchall()[0][0]

        record_objects(connection, [objects.add("responses", part.dataset, part.run, write)])

    store.write(change)
    reopened = open_store(store.url, threads=2)
    connection = reopened.snapshot().connection
    parts = stored_objects(connection, "responses")
    assert reopened.objects.in_disorder(connection, [*parts, part]) == parts != [part]
    assert by_category(reopened) == pytest.approx(expected, abs=1e-12)
