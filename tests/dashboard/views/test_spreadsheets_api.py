"""Tables as CSV: no spreadsheet runs the texts of others as formulas, and files that import again are unchanged."""

import csv
import io
import re
from pathlib import Path

import pytest

from clueline.dashboard.http.bodies import csv_parts, csv_response
from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from tests.helpers.bundle_factory import write
from tests.helpers.json_api import table

MODEL, GUESS, CATEGORY = "@cf/meta/llama", "=HYPERLINK(1)", "+cmd|' /C calc'!A1"
QUESTIONS = f'question_id,answer,category\nq1,-5,"{CATEGORY}"\nq2,-1e3,plain\n'


@pytest.fixture
def hostile(fresh, tmp_path):
    """A client of a store with a dataset whose texts look like formulas, and the id of its run."""
    facts = {"dataset": "toy", "kind": "single", "title": "Toy"}
    answers = f"question_id,guess,confidence,correct\nq1,{GUESS},0.5,0\nq2,-1e3,1,1\n"
    folder = write(tmp_path / "toy", facts, questions=QUESTIONS, clues=None, responses=answers)
    options = ImportOptions(model=MODEL, elicitation="-logit")
    (run,) = ingest.import_paths(fresh.service.store, [folder], options).runs
    return fresh, run


def test_text_that_looks_like_a_formula_has_an_apostrophe(hostile):
    client = hostile[0].client
    for address in ("leaderboard.csv?dataset=toy", "runs.csv?dataset=toy"):
        assert {(row["model"], row["elicitation"]) for row in table(client, f"/api/v1/{address}")} == {(f"'{MODEL}", "'-logit")}
    items = table(client, "/api/v1/items.csv?dataset=toy")
    assert {(row["guess"], row["answer"], row["category"]) for row in items} == {
        (f"'{GUESS}", "-5", f"'{CATEGORY}"), ("-1e3", "-1e3", "plain"),
    }  # fmt: skip
    questions = table(client, "/api/v1/questions.csv?dataset=toy&metrics=brier")
    assert [(row["answer"], row["category"]) for row in questions] == [("-5", f"'{CATEGORY}"), ("-1e3", "plain")]


def test_lists_and_headings_are_cells_like_others(hostile):
    models = table(hostile[0].client, "/api/v1/models.csv")
    (row,) = [row for row in models if MODEL in row["model"]]
    assert row["names"] == row["model"] == f"'{MODEL}"
    answer = csv_response(["=head", "plain"], [[["=a", "b"], [-0.5, 2]], [["a", "=b"], ["\n=a"]]], "x")
    lines = [*csv.reader(io.StringIO(answer.get_data(as_text=True), newline=""))]
    assert lines == [["'=head", "plain"], ["'=a;b", "-0.5;2"], ["a;=b", "'\n=a"]]
    assert "".join(csv_parts(["=head"], [])) == "'=head\n"


def test_the_report_of_an_import_is_such_a_file(cli, seeded, tmp_path):
    """The command line writes many problems to a file, with the values of the rows."""
    path = tmp_path / "bad.csv"
    path.write_text("question_id,clue,guess,confidence\n" + 'lit-01,0,x,"=HYPERLINK(""x"")"\n' * 150, encoding="utf-8")
    done = cli("import", path, "--dataset", "pyramid", "--model", "m", "--elicitation", "e", store=seeded)
    report = Path(re.search(r"row by row: (\S+)", done.stderr)[1])
    rows = [*csv.DictReader(io.StringIO(report.read_text(encoding="utf-8"), newline=""))]
    report.unlink()
    assert {row["value"] for row in rows if row["column"] == "confidence"} == {'\'=HYPERLINK("x")'}


def test_files_for_import_keep_texts_unchanged(hostile, tmp_path):
    fresh, run = hostile
    answers = fresh.client.get(f"/api/v1/runs/{run}/responses.csv").get_data(as_text=True)
    assert MODEL in answers and f"'{MODEL}" not in answers and f"'{GUESS}" not in answers
    (tmp_path / "again.csv").write_text(answers)
    report = ingest.import_paths(fresh.service.store, [tmp_path / "again.csv"], ImportOptions(dataset="toy"))
    assert report.stored == [run]
