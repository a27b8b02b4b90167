"""Arbitrary bytes through the whole import: files of several formats that are damaged or put together at random.

Failures that are found are kept as explicit examples. ``make soak`` tries twenty times as many (HYPOTHESIS_PROFILE=soak).
"""

import csv
import gzip
import io
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clueline.data.importing import ingest
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.importing.table_files import zstd
from tests.helpers import bundle_factory as bundles
from tests.helpers.examples import fixed_examples
from tests.helpers.hostile_files import BUNDLE, GOOD, LINES, MAX_UNPACKED_BYTES, PARQUET, H, zipped
from tests.helpers.run_tables import with_runs

NLI = json.dumps(
    {"uid": "q1", "label_count": [1, 2, 3], "label_counter": {"n": 2}, "majority_label": "n", "example": {"premise": "a"}}
)
LIFE = "Answer,Confidence,Question ID\n76,0.5,1\n80 years,x,2\n"
VALID = {
    "run.csv": GOOD,
    "run.csv.gz": gzip.compress(GOOD, mtime=0),
    "run.csv.zst": zstd.compress(GOOD),
    "run.jsonl": LINES,
    "run.parquet": PARQUET,
    "toy.zip": zipped(BUNDLE),
    "nli.jsonl": NLI.encode(),
    "answers.csv": LIFE.encode(),
}


def read_or_refused(memory_store, name, content):
    """Import a file. Anything other than a report or a refusal is raised."""
    store, folder = memory_store
    path = folder / name
    path.write_bytes(content)
    version = store.version()
    try:
        report = ingest.import_paths(store, [path], ImportOptions(dataset="toy", model="m"), largest=MAX_UNPACKED_BYTES)
    except Refused as refused:
        assert store.version() == version
        assert refused.problems and all(problem.reason and problem.file.startswith(name) for problem in refused.problems)
        assert not any(str(folder.parent) in str(problem) for problem in refused.problems)
    else:
        bad = with_runs(store.snapshot()).rows(
            "select * from responses where not confidence between 0 and 1 or not isfinite(correct) or clue is null"
        )
        assert report.formats and bad == []


@st.composite
def damaged(draw, content):
    """Return a file with some bytes changed, cut off, removed, inserted or repeated."""
    changed = bytearray(content)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(0, len(changed) - 1)))
        end = min(len(changed), start + draw(st.integers(0, 12)))
        match draw(st.integers(0, 5)):
            case 0:
                changed[start:end] = draw(st.binary(max_size=12))
            case 1:
                del changed[start:]
            case 2:
                del changed[start:end]
            case 3:
                changed[start:start] = changed[start:end] * draw(st.integers(1, 30))
            case 4 if start < len(changed):
                changed[start] ^= 1 << draw(st.integers(0, 7))
            case _:
                changed[start:start] = draw(
                    st.sampled_from([b"\0", b'"', b"\r", b"\n", b",", b"\xff", b"\xef\xbb\xbf", b"{", b"[", b"PK"])
                )
    return bytes(changed)


@pytest.mark.parametrize("name", VALID)
@fixed_examples(12)
@given(data=st.data())
def test_damaged_files(memory_store, name, data):
    read_or_refused(memory_store, name, data.draw(damaged(VALID[name])))


@fixed_examples(25)
@example(b"{" + b"9" * 5000)
@example(b'{"question_id":"\\ud800"}')
@example(b"q\0u\0e\0s\0t\0i\0o\0n\0")
@example(H.encode() + b"q1\n" * 3000)
@given(
    st.one_of(
        st.binary(max_size=200), st.text('q1,"\r\n0.5{}[]:e-\0\ufeff', max_size=80).map(lambda text: H.encode() + text.encode())
    )
)
def test_bytes_and_near_tables(memory_store, content):
    read_or_refused(memory_store, "any", content)


scalars = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5),
    st.sampled_from(["q1", "q2", 0, 1, 0.5, "0.5", 10**400]),
)  # fmt: skip
nested = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)
KEYS = ["question_id", "clue", "guess", "confidence", "token_logprobs", "options", "correct", "model", "uid", "probs",
        "label_count", "Question ID", "Answer"]  # fmt: skip


@fixed_examples(15)
@given(
    st.lists(st.dictionaries(st.one_of(st.sampled_from(KEYS), st.text(max_size=3)), nested, max_size=6), min_size=1, max_size=4)
)
def test_objects(memory_store, objects):
    """Arbitrary objects as JSON Lines, and the same objects as CSV."""
    read_or_refused(memory_store, "any.jsonl", "\n".join(map(json.dumps, objects)).encode())
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    keys = [key for key in KEYS if any(key in record for record in objects)] or ["x"]
    writer.writerow(keys)
    writer.writerows([json.dumps(record.get(key)) for key in keys] for record in objects)
    read_or_refused(memory_store, "any.csv", out.getvalue().encode())


MEMBERS = ["dataset.json", "questions.csv", "clues.jsonl", "responses/a.csv", "votes.csv", "buzzes.csv", "../x", "a/b", "x" * 300]
whole = st.sampled_from([json.dumps(bundles.FACTS).encode(), bundles.QUESTIONS.encode(), GOOD, PARQUET])


@fixed_examples(20)
@given(st.dictionaries(st.sampled_from(MEMBERS), st.one_of(st.binary(max_size=40), whole), max_size=5))
def test_zips(memory_store, files):
    read_or_refused(memory_store, "any.zip", zipped(files))
