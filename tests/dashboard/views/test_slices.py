"""Tables by category on the pages Slices and Buzz, and their addresses as JSON and CSV."""

import re
from urllib.parse import parse_qsl, urlencode

import pytest
from dash import html

from clueline.dashboard.registry.pages import PAGES, read_page
from clueline.dashboard.ui.html import descendants
from clueline.queries.published_values import published_rows
from tests.helpers.drawn_pages import markup
from tests.helpers.json_api import get, table

PYRAMID = "dataset=pyramid"


@pytest.fixture(scope="module")
def draw(app):
    """Draw the content of a page."""

    def draw(page, *pairs):
        with app.test_request_context(PAGES[page].path):
            return html.Div(list(PAGES[page].draw(read_page(PAGES[page], list(pairs)))))

    return draw


@pytest.fixture(scope="module")
def tables(draw):
    """Read the tables of a page: label -> rows of texts."""

    def texts(part):
        if isinstance(part, str):
            return part
        inside = getattr(part, "children", part)
        return "".join(texts(child) for child in (inside if isinstance(inside, list | tuple) else [inside] if inside else []))

    def read(page, *pairs):
        tables = {}
        for part in descendants(draw(page, *pairs)):
            if getattr(part, "className", None) == "scroll":
                rows = [row for row in descendants(part) if isinstance(row, html.Tr)]
                tables[part.to_plotly_json()["props"]["aria-label"]] = [[texts(cell) for cell in row.children] for row in rows]
        return tables

    return read


@pytest.mark.parametrize(("dataset", "by", "metric"), [("pyramid", "", "calscore"), ("lifeeval", "radius", "brier")])
def test_every_run_has_a_value_for_every_part(tables, client, dataset, by, metric):
    pairs = [("dataset", dataset), ("metric", metric), *([("by", by)] if by else [])]
    answer = get(client, f"/api/v1/breakdown?dataset={dataset}&by={by or 'category'}&metrics={metric}&intervals=1")
    (head, *rows, mean) = next(rows for name, rows in tables("slices", *pairs).items() if " by " in name)
    assert len(head) == 2 + len(answer["parts"]) and mean[0] == "Mean of the runs"
    board = get(client, f"/api/v1/leaderboard?dataset={dataset}&metrics={metric}")["rows"]
    board.sort(key=lambda row: row["metrics"][metric]["rank"])
    assert [row[1] for row in rows] == [f"{row['metrics'][metric]['value']:.3f}" for row in board]
    for column, part in enumerate(answer["parts"], 2):
        assert head[column].startswith(part["value"])
        cells = {row["run"]: row["metrics"][metric] for row in part["rows"]}
        for line, row in zip(rows, board, strict=True):
            assert line[column] == f"{cells[row['run']]['value']:.3f}"
        values = [cell["value"] for cell in cells.values()]
        assert mean[column] == f"{sum(values) / len(values):.3f}"


@pytest.mark.parametrize(("metric", "against"), [("overconfidence", False), ("accuracy", False), ("accuracy", True)])
def test_shades_and_frames_of_the_heat_map(draw, client, metric, against):
    """Orange where a run is worse than its reference, blue where it is better; a frame where a test says so."""
    own = {row["run"]: row["metrics"][metric]["value"] for row in _board(client, metric)}
    other = max(own, key=lambda run: own[run]) if against else None
    parts = get(client, f"/api/v1/breakdown?{PYRAMID}&by=category&metrics={metric}&intervals=1")["parts"]
    cells = {(part["value"], row["run"]): row["metrics"][metric] for part in parts for row in part["rows"]}
    sign = -1 if metric != "overconfidence" else 1
    worse = {
        key: sign * (cell["value"] - (cells[key[0], other]["value"] if other else own[key[1]])) for key, cell in cells.items()
    }
    most = max(map(abs, worse.values()))
    tested = get(client, f"/api/v1/slices?{PYRAMID}&metric={metric}{f'&against={other}' if other else ''}")["slices"]
    clear = {(part["filters"]["category"], part["run"]) for part in tested
             if [*part["filters"]] == ["category"] and part["p_adjusted"] < 0.05}  # fmt: skip
    content = draw("slices", ("dataset", "pyramid"), ("metric", metric), *([("against", other)] if other else []))
    drawn = [part for part in descendants(content) if "--much" in (getattr(part, "style", None) or {})]
    expected = sorted(
        (f"95 % interval [{cell['low']:.3f}, {cell['high']:.3f}]".replace("-", "\N{MINUS SIGN}"), f"{abs(worse[key]) / most:.2f}",
         "worse" if worse[key] > 0 else "better", key in clear)
        for key, cell in cells.items()
    )  # fmt: skip
    seen = sorted(
        (f"{td.title.split(']')[0]}]", td.style["--much"], td.className.split()[1], "framed" in td.className) for td in drawn
    )
    assert seen == expected and all(("significant" in td.title) == ("framed" in td.className) for td in drawn)


def _board(client, metric):
    return get(client, f"/api/v1/leaderboard?{PYRAMID}&metrics={metric}")["rows"]


def test_unsolved_questions_are_listed_and_downloaded(tables, client):
    query = f"{PYRAMID}&revealed=0..0.4"
    answer, rows = get(client, f"/api/v1/unsolved?{query}"), table(client, f"/api/v1/unsolved.csv?{query}")
    assert [row["question_id"] for row in rows] == [row["question_id"] for row in answer["questions"]] != []
    assert [float(row["highest_confidence"]) for row in rows] == [row["highest_confidence"] for row in answer["questions"]]
    listed = tables("slices", ("dataset", "pyramid"), ("revealed", "0..0.4"))["Questions that no run answered correctly"][1:]
    right = [f"{round(row['people'] * row['heard'])} of {row['heard']} teams" for row in answer["questions"]]
    assert [line[2] for line in listed] == right[:20]
    assert [line[5] for line in listed] == [f"{row['highest_confidence']:.3f}" for row in answer["questions"]][:20]


def test_buzzes_by_category(tables, client):
    answer, rows = get(client, f"/api/v1/buzz/categories?{PYRAMID}"), table(client, f"/api/v1/buzz/categories.csv?{PYRAMID}")
    people = [row for row in rows if row["kind"] == "human"]
    assert [row["category"] for row in people] == answer["categories"]
    (head, first, *_) = tables("buzz", ("dataset", "pyramid"))["Correct buzzes per incorrect buzz, by category"]
    assert head[2:] == answer["categories"] and first[0] == "People"
    assert [cell.endswith(f"{row['correct']} : {row['incorrect']}") for cell, row in zip(first[2:], people, strict=True)] == [
        True
    ] * len(people)


def test_printed_values_are_shown_for_their_metric(tables):
    pairs = [("dataset", "pyramid"), ("published", "grace-table-5")]
    (head, *rows) = tables("slices", *pairs, ("metric", "calscore"))["GRACE, Table 5, as printed"]
    _, printed = published_rows("grace-table-5")
    assert head == ["Model", "Confidence", "Arts", "Geo/CE", "History", "Literature", "RMPSS", "Science"]
    assert len(rows) == 12
    for model, elicitation, *cells in rows:
        own = {row.slice: row.values["calscore"] for row in printed if (row.model, row.elicitation) == (model, elicitation)}
        assert cells == [f"{own[part]:.3f}" for part in head[2:]]
    assert "GRACE, Table 5, as printed" not in tables("slices", *pairs, ("metric", "brier"))
    assert "GRACE, Table 5, as printed" not in tables("slices", ("dataset", "pyramid"), ("metric", "calscore"))


def test_a_cell_opens_the_answers_that_it_measures(app, client):
    page = markup(app, "/slices", "dataset=pyramid")
    assert 'href="/?dataset=pyramid&category=History"' in page, "the heading of a part leads to its leaderboard"
    cells = re.findall('data-items="([^"]+)"', page)
    parts = client.get("/api/v1/breakdown?dataset=pyramid&metrics=overconfidence").json["parts"]
    measured = {
        urlencode({"focus": row["run"], "category": part["value"]}): row["items"] for part in parts for row in part["rows"]
    }
    assert len(measured) > 20 and measured.keys() <= {*cells}
    for cell, items in list(measured.items())[::7]:
        run, within = parse_qsl(cell)
        query = urlencode([("dataset", "pyramid"), ("common", "1"), run, ("within", urlencode([within]))])
        assert client.get(f"/api/v1/items?{query}").json["total"] == items
