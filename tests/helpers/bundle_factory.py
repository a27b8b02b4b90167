"""Small bundles, written as a person would write them."""

import csv
import gzip
import io
import json
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

from clueline.data.importing import ingest
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from tests.helpers.run_tables import with_runs

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

QUESTIONS = """question_id,answer,category
q1,Paris [accept City of Light; prompt on France],Places
q2,Nile,Places
"""
CLUES = """question_id,clue,text,word_end
q1,0,This city has a tower,5
q1,1,of iron on the Seine,10
q1,2,and is the capital of France,16
q2,0,This river is long,4
q2,1,and ends near Alexandria,8
"""
RESPONSES = """question_id,clue,guess,confidence
q1,0,Rome,0.25
q1,1,Paris,0.5
q1,2,paris,1
q2,0,,0
q2,1,Nile,0.75
"""
PEOPLE = {
    "exposures": """question_id,match_id,team,team_kind,heard_words,ended_by
q1,m1,Ash,human,8,Birch
q1,m1,Birch,human,8,Birch
q1,m2,Robot,model,,
q2,m1,Ash,human,,
""",
    "buzzes": """question_id,match_id,team,word,correct,guess
q1,m1,Birch,7,true,Paris
q1,m2,Robot,16,false,Lyon
q2,m1,Ash,3,0,Ganges
""",
}
TEXTS = {"questions": QUESTIONS, "clues": CLUES, "responses": RESPONSES, **PEOPLE}  # all tables of the bundle
FACTS = {"dataset": "toy", "kind": "incremental", "title": "Toy"}
VOTED = {"dataset": "voted", "kind": "votes", "classes": ["yes", "maybe", "no"]}  # facts about a dataset with votes


def write(folder: Path, facts=FACTS, **tables: str | bytes | None) -> Path:
    """Write a bundle. Keywords are tables: ``responses`` is ``responses/run.csv``, ``a__b`` is ``a.b``, None leaves one out."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "responses").mkdir(parents=True)
    if facts is not None:
        text = facts if isinstance(facts, str) else json.dumps(facts)
        (folder / "dataset.json").write_text(text, encoding="utf-8")
    for name, content in ({"questions": QUESTIONS, "clues": CLUES} | tables).items():
        if content is not None:
            path = folder / f"{'responses/run' if name == 'responses' else name.replace('__', '.')}"
            path = path if path.suffix else path.with_suffix(".csv")
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def put(store, *paths: Path, by=None, **options):
    """Import files and return the report."""
    return ingest.import_paths(store, paths, ImportOptions(**options), by=by)


def refusal(store, *paths: Path, **options) -> Refused:
    """Return the refusal of an import, and check that it left the store unchanged."""
    version = store.version()
    with pytest.raises(Refused) as refused:
        put(store, *paths, **options)
    assert store.version() == version
    return refused.value


def reasons(store, *paths: Path, **options) -> list[str]:
    """Return the reasons of a refusal."""
    return [problem.reason for problem in refusal(store, *paths, **options).problems]


def put_file(store, path: Path, content: str | bytes, **options):
    """Write a file, import it and return the report."""
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return put(store, path, **options)


def put_answers(store, folder: Path, text: str | bytes, name="run.csv", **options):
    """Import answers of a model ``gamma`` to the bundle and return the report."""
    return put_file(store, folder / name, text, **({"dataset": "toy", "model": "gamma"} | options))


def put_bundle(store, folder: Path) -> None:
    """Import the bundle without runs."""
    put(store, write(folder / "toy"))


def put_kinds(store, folder: Path, lives: str, messages: str, votes: str) -> None:
    """Import a dataset of lifespans, ``lives``, one with votes, ``voted``, and the bundle without runs."""
    put(store, write(folder / "lives", {"dataset": "lives", "kind": "lifeeval"}, questions=lives, clues=None))
    put(store, write(folder / "voted", VOTED, questions=messages, clues=None, votes=votes))
    put_bundle(store, folder)


def put_two_runs(store, folder: Path) -> None:
    """Import the bundle with the run of alpha, and a run of beta that lacks two answers."""
    put(store, write(folder / "toy", responses=RESPONSES), model="alpha")
    run = "question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq1,1,Paris,0.75\nq2,1,Nile,1\n"
    put_file(store, folder / "run.csv", run, dataset="toy", model="beta")


def rows(store, sql):
    """Return the rows of a query on the store."""
    return with_runs(store).rows(sql)


def grades(store, run: str, grading="") -> list[float]:
    """Return the grades that a grading gives the answers of a run."""
    snapshot = store.snapshot().with_grading(grading)
    return [correct for (correct,) in snapshot.rows(f"select correct from {snapshot.responses([run])}")]


def records(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV."""
    return list(csv.DictReader(io.StringIO(text)))


def table(rows: list[dict]) -> str:
    """Return rows as CSV."""
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def in_format(text: str, ending: str, types: dict[str, pl.DataType] | None = None) -> bytes:
    """Return a CSV as ``csv``, ``jsonl`` or ``parquet``, compressed (``csv.gz``) or not."""
    form, _, packing = ending.partition(".")
    if form == "csv":
        content = text.encode()
    else:
        frame = pl.read_csv(io.StringIO(text), schema_overrides=types or {})
        content = frame.write_ndjson().encode() if form == "jsonl" else _parquet(frame)
    return {"": lambda c: c, "gz": gzip.compress, "zst": zstd.compress}[packing](content)


def _parquet(frame: pl.DataFrame) -> bytes:
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()


def content(store) -> dict[str, list[tuple]]:
    """Return everything that the store holds, except the times of import and the revisions."""
    snapshot = with_runs(store)
    listed = "select table_name from duckdb_tables() where table_name not in ('revisions', 'objects') order by 1"
    tables = [table for (table,) in snapshot.rows(listed)] + ["responses", "statistics"]
    return {
        name: sorted(snapshot.rows(f"select {'* exclude (imported_at)' if name == 'runs' else '*'} from {name}"), key=repr)
        for name in tables
    }
