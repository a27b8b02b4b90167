"""The hash that names a run depends only on its content, not on the order of its rows or the pieces in which they are hashed."""

import hashlib
import json
import math
import random
import shutil
import struct
from functools import partial

import polars as pl
import pytest

from clueline.data.importing.checks import run_ids
from clueline.data.store import open_store
from tests.helpers import bundle_factory as bundles

QUESTIONS = [f"q{index}" for index in range(40)]
OWN = {"model", "question_id", "clue", "guess", "confidence", "correct"}  # all other columns of a row are attributes


def bundle(folder, **responses):
    rows = [{"question_id": q, "answer": f"a{q}"} for q in QUESTIONS]
    clues = [{"question_id": q, "clue": c, "text": f"word {c}"} for q in QUESTIONS for c in range(3)]
    return bundles.write(folder, questions=bundles.table(rows), clues=bundles.table(clues), **responses)


def drawn(model="m", seed=1):
    chance = random.Random(seed)
    return [
        {
            "model": model, "question_id": q, "clue": c, "guess": chance.choice([None, "Nîmes", "a" * 50, "x"]),
            "confidence": chance.choice([0.0, 0.25, 1.0, chance.random()]), "correct": chance.choice([0.0, 1.0]),
        }
        for q in QUESTIONS for c in range(3) if chance.random() < 0.9
    ]  # fmt: skip


def reference_hash(dataset, model, elicitation, rows):
    """Return the same hash, computed value by value."""
    streams: dict[tuple[str, int], bytes] = {}

    def add(name, index, content):
        streams[name, index] = streams.get((name, index), b"") + content

    def text(name, value):
        content = None if value is None else value.encode()
        add(name, 0, struct.pack("<i", -1 if content is None else len(content)))
        add(name, 1, content or b"")

    before = None
    for row in sorted(rows, key=lambda row: (row["question_id"], row["clue"])):
        first = row["question_id"] != before
        add("first", 0, bytes([first]))
        if first:
            text("question_id", row["question_id"])
        before = row["question_id"]
        add("clue", 0, struct.pack("<i", row["clue"]))
        add("confidence", 0, struct.pack("<d", row["confidence"]))
        stated = row.get("correct")
        add("stated", 0, struct.pack("<d", math.nan if stated is None else stated))
        text("guess", row["guess"])
        attributes = {name: str(row[name]) for name in sorted(row.keys() - OWN) if row[name] is not None}
        text("attributes", json.dumps(attributes, separators=(",", ":"), ensure_ascii=False) if attributes else None)
    left = {"guess", "stated", "attributes"} - {
        name for name, key in (("guess", "guess"), ("stated", "correct")) if any(row.get(key) is not None for row in rows)
    }
    if any(row[name] is not None for row in rows for name in row.keys() - OWN):
        left.discard("attributes")
    digests = [[*key, hashlib.sha256(stream).hexdigest()] for key, stream in sorted(streams.items()) if key[0] not in left]
    return hashlib.sha256(json.dumps([[dataset, model, elicitation], digests]).encode()).hexdigest()


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    """Folder of a store with the questions, for tests to copy."""
    folder = tmp_path_factory.mktemp("questions")
    bundles.put(open_store(folder / "store", threads=2), bundle(folder / "bundle"))
    return folder / "store"


@pytest.fixture
def hashes(questions):
    """Import rows and return the hash of each of their runs, by model."""
    return partial(hashes_of, questions)


def hashes_of(questions, folder, rows, **options):
    store = open_store(shutil.copytree(questions, folder / "store"), threads=2)
    path = folder / "run.parquet"
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(path)
    bundles.put(store, path, dataset="toy", **options)
    return dict(store.snapshot().rows("select model, sha256 from runs"))


def test_a_column_without_values_does_not_count(hashes, tmp_path):
    """Guesses that only another run of the file has do not count for this one."""
    rows = [row | {"guess": None} for row in drawn("m", 1)] + drawn("n", 2)
    ids = hashes(tmp_path / "both", rows)
    bare = [{key: value for key, value in row.items() if key != "guess"} for row in rows if row["model"] == "m"]
    assert (
        ids["m"]
        == hashes(tmp_path / "alone", bare)["m"]
        == reference_hash("toy", "m", "verbalized", [r for r in rows if r["model"] == "m"])
    )


PIECES = [
    row | {"token_logprobs": [-0.5] * (index % 3) or None, "confidence": None if index % 3 else row["confidence"]}
    for index, row in enumerate(drawn("m", 1)[:60] + drawn("n", 2)[:60])
]


@pytest.fixture(scope="module")
def in_one_piece(questions, tmp_path_factory):
    return hashes_of(questions, tmp_path_factory.mktemp("whole"), PIECES, elicitation="e")


@pytest.mark.parametrize("limits", [{"GROUP": 16, "ROWS": 16}, {"GROUP": 64, "BYTES": 300}, {"GROUP": 16, "BYTES": 1}])
def test_hashes_do_not_depend_on_the_pieces(hashes, in_one_piece, tmp_path, monkeypatch, limits):
    for name, limit in limits.items():
        monkeypatch.setattr(run_ids, name, limit)
    assert hashes(tmp_path, PIECES, elicitation="e") == in_one_piece


def test_a_parquet_column_named_file_row_number(hashes, tmp_path):
    """DuckDB uses this name for its own column of row numbers."""
    rows = [row | {"file_row_number": index % 3} for index, row in enumerate(drawn())]
    random.Random(3).shuffle(rows)
    assert hashes(tmp_path, rows) == {"m": reference_hash("toy", "m", "verbalized", rows)}


def test_hashes_equal_the_definition_value_by_value(hashes, tmp_path):
    """Attributes count, in any order of the columns; the rows of ``n`` have none."""
    chance = random.Random(5)
    rows = [
        row | {"shots": chance.choice([1, 2, None]), 'a "prompt"': chance.choice([None, "knapp", "ausführlich\n\\", "'"])}
        for row in drawn("m", 1) + drawn("n", 2)
    ]
    for row in rows:
        if row["model"] == "n":
            row["shots"] = row['a "prompt"'] = None
    chance.shuffle(rows)
    ids = hashes(tmp_path / "one", rows)
    assert ids == {m: reference_hash("toy", m, "verbalized", [row for row in rows if row["model"] == m]) for m in "mn"}
    assert hashes(tmp_path / "other", [dict(reversed(row.items())) for row in rows]) == ids
    without = [{key: value for key, value in row.items() if key in OWN} for row in rows]
    assert hashes(tmp_path / "without", without)["n"] == ids["n"] != ids["m"]
