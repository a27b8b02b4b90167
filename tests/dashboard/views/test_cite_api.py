"""What a paper takes from a view: the link, the table, the text, and a script that gets the same numbers."""

import csv
import io
import re
import subprocess
import sys
from urllib.parse import parse_qsl, quote, urlsplit

import httpx
import pytest

from clueline.dashboard.registry.pages import PAGES
from clueline.data.store import open_store
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.metrics import METRICS
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.drawn_pages import everything
from tests.helpers.json_api import error, get
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment

HOST = "http://localhost"
MEASURE_NOTHING = {"cite", "datasets", "docs", "metrics", "nowhere", "runs", "upload", "write"}
OF_SEVERAL_DATASETS = {"model", "models", "across"}  # no link pins their versions
VIEWS = {
    "leaderboard": "/?dataset=pyramid&metrics=calscore,ece,accuracy&category=Arts&sort=-ece&theme=dark",
    "reliability": "/reliability?dataset=tone&binning=mass15",
    "difficulty": "/difficulty?dataset=lifeeval",
    "buzz": "/buzz?dataset=pyramid&threshold=0.5",
    "compare": "/compare?dataset=pyramid&metrics=brier,calscore,nbr",
    "slices": "/slices?dataset=lifeeval&metric=brier",
    "people": "/people?dataset=tone",
    "questions": "/questions?dataset=pyramid&sort=-heard",
    "question": "/questions/pyramid/art-01",
    "gradings": "/gradings?dataset=pyramid",
    "teams": "/teams?dataset=pyramid",
    "which-ece": "/which-ece?dataset=tone",
    "decide": "/decide?dataset=pyramid&t=0.75",
}


def cited(client, view, status=200):
    return get(client, f"/api/v1/cite?view={quote(view, safe='')}", status)


def table_at(client, address):
    answer = client.get(address.removeprefix(HOST))
    assert answer.status_code == 200, answer.text
    return list(csv.reader(io.StringIO(answer.text)))


def test_every_page_that_measures_can_be_cited(app):
    assert {name for name, page in PAGES.items() if page.table is None} <= MEASURE_NOTHING | OF_SEVERAL_DATASETS
    assert {name for name, page in PAGES.items() if page.table} >= {*VIEWS, "run"}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_a_view_has_all_that_a_paper_needs(client, view):
    answer = cited(client, view)
    header, *rows = table_at(client, answer["csv"])
    assert header and len(answer["rows"]) == min(answer["total"], 60) and answer["total"] <= len(rows)
    keys = dict(parse_qsl(urlsplit(answer["permalink"]).query))
    assert keys["version"] == answer["version"] and "run" in keys and "theme" not in keys
    assert client.get(answer["permalink"].removeprefix(HOST)).status_code == 200
    assert answer["version"] in answer["methods"]
    for text in (answer["latex"], answer["markdown"]):
        assert all(text.count(cell) for row in answer["rows"][:2] for cell in row if re.fullmatch(r"0\.\d{3}", cell))
    assert answer["rows"] == [] or answer["latex"].count(r"\\") == len(answer["rows"]) + 1
    assert len(set(answer["columns"])) == len(answer["columns"]), "no two columns have the same heading"
    intervals = any("[" in cell for row in answer["rows"] for cell in row)
    assert intervals == ("Brackets are" in answer["methods"]), "the text explains intervals if there are any"


def test_the_page_of_a_run_ranks_it_among_all(client):
    run = get(client, "/api/v1/runs?dataset=tone")["runs"][0]["run"]
    answer = cited(client, f"/runs/{run}")
    assert "&run=" not in answer["permalink"] and answer["total"] == 6


def test_numbers_are_those_of_the_address(client):
    answer = cited(client, VIEWS["leaderboard"])
    rows = get(client, "/api/v1/leaderboard?dataset=pyramid&metrics=calscore,ece,accuracy&category=Arts&intervals=1")["rows"]
    assert answer["columns"][:3] == ["Model", "Elicitation", "Questions"]
    rows.sort(key=lambda row: -row["metrics"]["ece"]["rank"])  # the order of the page
    for row, printed in zip(rows, answer["rows"], strict=True):
        cell = row["metrics"]["calscore"]
        assert printed[3] == f"{cell['value']:.3f} [{cell['low']:.3f}, {cell['high']:.3f}]"


def test_methods_name_what_the_figures_depend_on(client):
    methods = cited(client, f"{VIEWS['leaderboard']}&binning=mass15&human=survival&failed=1")["methods"]
    for part in (
        "10 questions of Pyramid (category Arts)", "Clueline", "simulated", "15 bins of equal mass", "Aalen-Johansen",
        "1,000 bootstrap replicates", "seed 2605", "8 runs",
    ):  # fmt: skip
        assert part in methods, part
    assert "Net score" not in methods


def test_methods_count_the_questions_left_out(fresh, tmp_path):
    left_out = [f"art-{number:02d}" for number in range(1, 6)]
    (tmp_path / "part.csv").write_text(
        "question_id,clue,guess,confidence\n"
        + "".join(
            f"{row['question_id']},{row['clue']},Nobody,0.5\n"
            for row in csv.DictReader(io.StringIO(fresh.client.get("/api/v1/datasets/pyramid/prompts.csv").text))
            if row["question_id"] not in left_out
        ),
        encoding="utf-8",
    )
    put(open_store(fresh.store), tmp_path / "part.csv", dataset="pyramid", model="partial")
    methods = cited(fresh.client, "/?dataset=pyramid&common=1")["methods"]
    assert "9 runs were measured on the 55 questions" in methods and "5 questions were left out" in methods
    methods = cited(fresh.client, "/?dataset=pyramid")["methods"]
    assert "9 runs answered different questions or clues, and each was measured on all that it answered." in methods
    assert "left out" not in methods


def test_metrics_that_are_undefined_are_not_printed(client):
    answer = cited(client, VIEWS["compare"])
    assert [row[0] for row in answer["rows"]] == ["Brier score", "CalScore"]
    assert "Normalised Brier" not in answer["methods"]


def test_references_are_those_of_the_metrics(client):
    bibtex = cited(client, VIEWS["leaderboard"])["bibtex"]
    assert re.findall(r"^@\w+{(\w+),", bibtex, re.MULTILINE) == [
        "sung2025grace", "naeini2015obtaining", "michael2026lifeeval", "clueline",
    ]  # fmt: skip
    assert "dimitriadis2021stable" in cited(client, VIEWS["reliability"])["bibtex"]


def test_special_characters_of_latex_are_escaped(client):
    latex = cited(client, f"/?dataset=tone&metrics={METRICS[0].key},pct_rounded")["latex"]
    assert r"95 \% intervals" in latex
    assert not re.search(r"(?<!\\)[%#&](?!.*\\\\$)", latex.split(r"\caption", 1)[1].splitlines()[0])


@pytest.mark.parametrize("view", ["/upload", "/nowhere", "//elsewhere.org/", "reliability", ""])
def test_views_without_measurements_cannot_be_cited(client, view):
    address = f"/api/v1/cite?view={quote(view, safe='')}"
    assert error(client, address, 400)["field"] == "view"


def test_a_wrong_view_says_what_is_wrong(client):
    answer = error(client, f"/api/v1/cite?view={quote('/?dataset=pyramid&category=Cookery', safe='')}", 400)
    assert answer["field"] == "category" and "Arts" in answer["allowed"]


def test_a_link_made_under_earlier_rules_says_which_changed(app, client):
    """On the page, in JSON and in its citation; a link made now says nothing."""
    answer = cited(client, "/?dataset=tone&metrics=ece")
    assert answer["rules_changed"] == []
    assert "the same digits" in everything(app, "/", urlsplit(answer["permalink"]).query)
    earlier = answer["version"].rpartition("-")[0]
    again = cited(client, f"/?dataset=tone&metrics=ece&version={earlier}")
    (rule,) = again["rules_changed"]
    assert rule.startswith("intervals and p-values where errors are few") and again["version"] == answer["version"]
    refusal = get(client, answer["csv"].removeprefix(HOST).replace(answer["version"], earlier), 409)["error"]
    sentence = f"Since this link was made, these rules changed: {rule}."
    assert refusal["rules_changed"] == [rule] and sentence in refusal["message"]
    for path, query in (
        ("/", f"version={earlier}&dataset=tone"),
        ("/cite", f"view={quote(f'/?dataset=tone&version={earlier}')}"),
    ):
        assert sentence in everything(app, path, query), path


def test_a_link_reports_changed_data(fresh):
    """A link that names its runs gives the same table after a withdrawal. A link without names reports the withdrawn run."""
    answer = cited(fresh.client, "/?dataset=tone&metrics=ece")
    before = table_at(fresh.client, answer["csv"])
    run = before[1][0]
    withdraw(open_store(fresh.store), run, None)
    assert table_at(fresh.client, answer["csv"]) == before
    unnamed = error(fresh.client, f"/api/v1/leaderboard?dataset=tone&version={answer['version']}", 409)
    assert (unnamed["code"], unnamed["field"]) == ("data_changed", "version")
    assert "withdrawn" in unnamed["message"] and run in unnamed["message"]


def test_the_script_gets_the_same_numbers(server, tmp_path):
    view = "/?dataset=tone&metrics=ece,brier"
    answer = httpx.get(f"{server.address}/api/v1/cite", params={"view": view}, timeout=300).json()
    assert answer["permalink"].startswith(server.address)
    script = answer["script"].replace("print(table)", f"table.write_csv({str(tmp_path / 'table.csv')!r})")
    assert len([line for line in script.splitlines() if line]) < 15
    done = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    expected = list(csv.DictReader(io.StringIO(httpx.get(answer["csv"], timeout=300).text)))
    with (tmp_path / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(expected) == 6
    for row, other in zip(rows, expected, strict=True):
        assert (row["run"], float(row["ece"]), float(row["brier_low"])) == (
            other["run"], float(other["ece"]), float(other["brier_low"]),
        )  # fmt: skip


def test_slices_by_an_attribute_say_which(fresh, tmp_path):
    rows = [{"question_id": f"q{n:02}", "answer": "Nile", "language": "fr" if n % 2 else "ar"} for n in range(24)]
    answers = [
        {"model": "a", "question_id": row["question_id"], "guess": "Nile", "confidence": n / 24} for n, row in enumerate(rows)
    ]
    folder = write(
        tmp_path / "rivers", {"dataset": "rivers", "kind": "single"}, clues=None, questions=table(rows), responses=table(answers)
    )
    put(open_store(fresh.store), folder)
    answer = cited(fresh.client, "/slices?dataset=rivers")
    column = answer["columns"].index("attr.language")
    assert {row[column] for row in answer["rows"]} - {""} == {"ar", "fr"}
