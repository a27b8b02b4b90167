"""The leaderboard: its order, led by a metric that penalises bad guesses and that nobody leads by gaming; release dates."""

import csv
import re
from types import SimpleNamespace

import pytest

from clueline.dashboard.views.leaderboard.table import letters
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.run_tags import change_tags
from clueline.queries.metrics import CATALOGUE
from clueline.queries.published_values import published
from tests.helpers.drawn_pages import as_text, drawn, markup
from tests.helpers.json_api import error, get
from tests.helpers.paths import ROOT

SAMPLE = ROOT / "data" / "sample"
GAMED = {
    "lifeeval": ("questions.csv", "119", "0", "brier"),  # never right, and sure of it
    "pyramid": ("clues.csv", "Frankenstein", "0.25", "brier"),  # the same answer to every clue
}


def page(app, query):
    return as_text(drawn(app, "leaderboard", query))


def order(app, query):
    """Return the runs in the order of the page's rows."""
    return re.findall(r'"data-run": "([0-9a-f]+)"', page(app, query))


@pytest.fixture
def gamed(fresh, tmp_path):
    """Import the run of a guesser that always answers the same into a bundled dataset, and return its id."""

    def put(dataset):
        source, guess, confidence, _ = GAMED[dataset]
        with (SAMPLE / dataset / source).open(encoding="utf-8") as lines:
            rows = [(row["question_id"], row.get("clue", 0), guess, confidence) for row in csv.DictReader(lines)]
        path = tmp_path / "constant.csv"
        with path.open("w", encoding="utf-8", newline="") as lines:
            csv.writer(lines).writerows([("question_id", "clue", "guess", "confidence"), *rows])
        options = ImportOptions(dataset=dataset, model="Constant", elicitation="verbalized")
        (run,) = import_paths(open_store(fresh.store), [path], options).runs
        return run

    return put


@pytest.fixture
def models(fresh, tmp_path):
    """Run ids of the answers of LifeEval's formulas, imported as if they came from models."""
    header = "question_id,guess,confidence,model,elicitation"
    rows = []
    for source in sorted((SAMPLE / "lifeeval" / "responses").glob("*.csv")):
        first, *lines = source.read_text(encoding="utf-8").splitlines()
        assert first == header
        rows += [line.replace(",computed", ",verbalized") for line in lines]
    path = tmp_path / "models.csv"
    path.write_text("\n".join([header, *rows]), encoding="utf-8")
    return import_paths(open_store(fresh.store), [path], ImportOptions(dataset="lifeeval")).runs


def test_formulas_are_ranked_apart_from_models(fresh, models):
    """Models are ranked as if there were no formulas. Formulas keep values and intervals, but have no rank and no letters."""
    address = "/api/v1/leaderboard?dataset=lifeeval&intervals=1&metrics=net_score,ece,brier"
    board = fresh.client.get(address).get_json()["rows"]
    assert [row["reference"] for row in board] == [True] * 5 + [False] * 5
    assert [row["ranked"] for row in board] == [False] * 5 + [True] * 5
    alone = fresh.client.get(address + "".join(f"&run={run}" for run in models)).get_json()["rows"]
    assert board[5:] == alone
    for formula, model in zip(board[:5], board[5:], strict=True):
        assert formula["model"] == model["model"]
        for key, cell in formula["metrics"].items():
            same = {name: model["metrics"][key][name] for name in ("value", "low", "high", "questions", "replicates")}
            assert {name: cell[name] for name in same} == same
            assert cell["rank"] is cell["rank_low"] is cell["rank_high"] is cell["letters"] is None
    formulas = fresh.client.get(address + "&elicitation=computed").get_json()["rows"]
    assert all(row["ranked"] and not row["reference"] for row in formulas) and len(formulas) == 5
    query = "dataset=lifeeval"
    assert "formula-based reference forecasters, for comparison" in page(fresh.app, query)
    assert set(order(fresh.app, query)[:5]) == set(models)


@pytest.mark.parametrize("dataset", GAMED)
def test_a_constant_answer_does_not_lead(fresh, gamed, models, dataset):
    run = gamed(dataset)
    board = fresh.client.get(f"/api/v1/leaderboard?dataset={dataset}").get_json()
    ranks = {row["run"]: row["metrics"][board["primary"]]["rank"] for row in board["rows"] if row["ranked"]}
    assert order(fresh.app, f"dataset={dataset}")[: len(ranks)] == sorted(ranks, key=ranks.get)
    assert ranks[run] > 1
    by_brier = {row["run"]: row["metrics"]["brier"]["rank"] for row in board["rows"]}
    assert by_brier[run] == 1, "it leads by the Brier score, which charges nothing for a bad guess"


def test_the_page_says_what_confidence_0_scores(fresh, tmp_path):
    """A run that always states confidence 0 has the scores that the note below the table names."""
    with (SAMPLE / "pyramid" / "clues.csv").open(encoding="utf-8") as lines:
        answers = [f"{row['question_id']},{row['clue']},x,0" for row in csv.DictReader(lines)]
    path = tmp_path / "silent.csv"
    path.write_text("\n".join(["question_id,clue,guess,confidence", *answers]))
    options = ImportOptions(dataset="pyramid", model="silent", elicitation="none")
    (run,) = import_paths(open_store(fresh.store), [path], options).runs
    keys = "calscore,calscore_weighted,grace_mce,net_score"
    rows = fresh.client.get(f"/api/v1/leaderboard?dataset=pyramid&metrics={keys}&t=0.75&human=team_share").get_json()["rows"]
    (cells,) = (row["metrics"] for row in rows if row["run"] == run)
    assert [cells[key]["value"] for key in keys.split(",")] == [pytest.approx(value) for value in (0.5, 0.5, 0.5, 0)]
    assert "always states confidence 0 scores 0.5 in CalScore and 0 in" in page(
        fresh.app, "dataset=pyramid&metrics=calscore,net_score"
    )
    assert "always states confidence 0 scores 0 in" in page(fresh.app, "dataset=lifeeval")


def test_a_run_that_is_almost_never_right_has_a_note(fresh, gamed):
    run = gamed("lifeeval")
    rows = fresh.client.get("/api/v1/leaderboard?dataset=lifeeval&metrics=brier").get_json()["rows"]
    notes = {row["run"]: row["note"] for row in rows}
    assert notes.pop(run) == "almost never right: its calibration says little"
    assert set(notes.values()) == {None}
    assert "almost never right" in page(fresh.app, "dataset=lifeeval")


@pytest.mark.parametrize(("dataset", "primary"), [("pyramid", "calscore"), ("lifeeval", "net_score"), ("tone", "dist_ce")])
def test_each_kind_has_a_primary_metric(app, client, dataset, primary):
    board = client.get(f"/api/v1/leaderboard?dataset={dataset}&metrics=ece").get_json()
    assert board["primary"] == primary
    assert f"May be best by {CATALOGUE[primary].name}: " in page(app, f"dataset={dataset}")
    by_primary = order(app, f"dataset={dataset}")
    assert by_primary == order(app, f"dataset={dataset}&sort={primary}")
    assert order(app, f"dataset={dataset}&metrics=ece") == order(app, f"dataset={dataset}&sort=ece")
    assert len(by_primary) > 3 and by_primary[::-1] == order(app, f"dataset={dataset}&sort=-{primary}")


def test_a_named_metric_is_the_primary_one(app, client):
    """Claims by it are adjusted for the runs alone; those by the metric that was primary for all others, too."""
    metrics = "metrics=brier,calscore&intervals=1"
    usual, named = (get(client, f"/api/v1/leaderboard?{metrics}{more}") for more in ("", "&primary=brier"))
    assert (usual["primary"], named["primary"]) == ("calscore", "brier")
    assert usual["other_metrics"] == named["other_metrics"], "one metric took the place of the other"
    pairs, declared = (get(client, f"/api/v1/pairs?metrics=brier,calscore{more}") for more in ("", "&primary=brier"))
    for before, after in zip(pairs["comparisons"], declared["comparisons"], strict=True):
        assert before["metrics"]["brier"]["p_value"] == after["metrics"]["brier"]["p_value"]
    lower = [
        (before["metrics"]["brier"]["p_holm"], after["metrics"]["brier"]["p_holm"])
        for before, after in zip(pairs["comparisons"], declared["comparisons"], strict=True)
    ]
    assert all(after <= before for before, after in lower) and any(after < before for before, after in lower)
    assert min(after for _, after in lower) == pytest.approx(
        min(28 * comparison["metrics"]["brier"]["p_value"] for comparison in pairs["comparisons"]), abs=1e-12
    )
    text = markup(app, "/", "primary=brier")
    assert "except by Brier score" in text and "except by CalScore" in markup(app, "/", "")
    assert error(client, "/api/v1/leaderboard?primary=mean_confidence", 400)["field"] == "primary"


def test_cells_have_their_letters(app, client):
    """Two runs that share a letter are not shown to differ."""
    rows = client.get("/api/v1/leaderboard?dataset=pyramid&metrics=ece&intervals=1").json["rows"]
    cells = re.findall(r'<tr data-run="(\w+)">.*?class="letters"[^>]*>([^<]+)<', markup(app, "/", "dataset=pyramid&sort=ece"))
    assert dict(cells) == {row["run"]: letters(SimpleNamespace(letters=row["metrics"]["ece"]["letters"])) for row in rows}


def test_the_gap_of_formulas_is_the_finding(app, client):
    text, finding = page(app, "dataset=lifeeval"), client.get("/api/v1/finding?dataset=lifeeval").json["finding"]
    value, low, high = (round(100 * finding[part]) for part in ("value", "low", "high"))
    assert finding["shown"] and f"is overconfident by {value} points [{low}, {high}] over 808 questions" in text
    assert "states 80 % and is right 54 %" in text


def test_accuracy_is_shown_next_to_calibration(client, app):
    text = page(app, "dataset=pyramid")
    columns = re.findall(r'"data-metric": "(\w+)"', text)
    first = columns[: columns.index(columns[0], 1)]
    assert first == ["calscore", "accuracy", "ece", "overconfidence"]


@pytest.mark.parametrize("key", [table.key for table in published().tables])
def test_published_rows_have_the_columns_of_the_table(app, key):
    text = markup(app, "/", f"dataset={'lifeeval' if key.startswith('lifeeval') else 'pyramid'}&published={key}")
    (board,) = re.findall(r'<table class="board[^"]*">.*?</table>', text, re.DOTALL)
    rows = re.findall(r"<tr.*?</tr>", board, re.DOTALL)
    widths = {sum(int(span or 1) for span in re.findall(r'<t[hd]\b(?:[^>]*colspan="(\d+)")?', row)) for row in rows}
    assert len(rows) > 3 and len(widths) == 1


def test_two_release_dates_show_the_metric_of_the_order(fresh):
    runs = [run for run, _, _ in fresh.service.facets("pyramid").runs]
    for dates in ((), ("2024-05-13",), ("2024-05-13", "2024-05-13"), ("2024-05-13", "2025-01", "soon")):
        for run, text in zip(runs, dates, strict=False):
            change_tags(fresh.service.store, run, {"released": text}, None)
        text = page(fresh.app, "dataset=pyramid")
        assert ("By release date" in text) == (len(dates) == 3)
    assert "CalScore of each run at the release date" in text
    assert "runs have no tag “released”" in text and "“soon”, which is not a date" in text
    assert "Brier score of each run at the release date" in page(fresh.app, "dataset=pyramid&sort=brier")
