"""The list of questions and one question: the pages with their columns, orders, rows and figures, and the addresses as CSV."""

import csv
import functools
import io
import json
import re
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest

from clueline.dashboard.registry import composed as composite_queries
from clueline.dashboard.ui.text import CURVE_LABELS, CURVE_NAMES
from clueline.dashboard.views.questions.grid import EDGE, HEIGHT, LEFT, MAX_POINTS, RIGHT, WIDTH, spark_figure
from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.queries.metrics import METRICS
from clueline.queries.questions import HumanSparkline, QuestionSparklines, RunSparkline
from tests.helpers.drawn_pages import divided, drawn, everything, markup, plain, walk
from tests.helpers.json_api import get, table


def grid(app, query):
    grids = [part for part in walk(plain(drawn(app, "questions", query))) if part.get("type") == "AgGrid"]
    return grids[0]["props"]["columnDefs"]


def order_menu(app, query):
    """Return value -> name of each order in the menu, and the chosen one."""
    menus = [
        part["props"]
        for part in walk(plain(drawn(app, "questions", query)))
        if part.get("type") == "Dropdown" and part["props"]["id"]["key"] == "sort"
    ]
    return {option["value"]: option["label"] for option in menus[0]["options"]}, menus[0]["value"]


def grid_rows(app, query, sort="", start=0, end=100):
    pairs = [pair for pair in parse_qsl(query) if pair[0] != "sort"] + ([("sort", sort)] if sort else [])
    return asked_rows(app.test_client(), urlencode([*pairs, ("start", start), ("count", end - start)]))


def asked_rows(client, query):
    answer = client.get(f"/_rows?{query}")
    assert answer.status_code == 200, answer.json
    return answer.json


def board(client, dataset="pyramid"):
    return client.get(f"/api/v1/leaderboard?dataset={dataset}&metrics=brier").get_json()["rows"]


def ids(columns):
    return [column.get("colId", column["field"]) for column in columns]


def runs_of(client):
    return [row["run"] for row in sorted(board(client), key=lambda row: row["run"])]


@pytest.mark.parametrize(
    ("sign", "kind"), [("-", "wrong:{0}"), ("", "calscore:{0}-{1}"), ("-", "brier:{1}-{0}"), ("", "brier:{0}")]
)
def test_an_order_of_runs_gets_a_column_left_of_the_runs(app, client, sign, kind):
    sort = kind.format(*runs_of(client))
    columns = grid(app, f"dataset=pyramid&sort={sign}{sort}")
    place = ids(columns).index(sort)
    assert columns[place]["sort"] == ("desc" if sign else "asc")
    assert [column for column in columns if "sort" in column] == [columns[place]]
    assert all(name.startswith("calscore:") for name in ids(columns)[place + 1 :]) and len(columns) - place - 1 == 8
    offered, chosen = order_menu(app, f"dataset=pyramid&sort={sign}{sort}")
    assert chosen == f"{sign}{sort}" and chosen in offered and len(set(offered.values())) == len(offered)
    questions = client.get(f"/api/v1/questions?dataset=pyramid&sort={sign}{sort}").get_json()["questions"]
    shown = grid_rows(app, f"dataset=pyramid&sort={sign}{sort}", f"{sign}{sort}")["rows"]
    assert [row["question_id"] for row in shown] == [question["question_id"] for question in questions]
    assert [float(row["own"].replace("\u2212", "-")) for row in shown] == pytest.approx(
        [question["value"] for question in questions], abs=5e-4
    )
    assert all(dict(parse_qsl(urlsplit(row["href"]).query))["sort"] == f"{sign}{sort}" for row in shown)


def test_an_order_of_a_column_needs_no_other(app, client):
    first = runs_of(client)[0]
    for sort in ("", "difficulty", f"-calscore:{first}"):
        query = f"dataset=pyramid&sort={sort}"
        columns = grid(app, query)
        assert all(column["field"] != "own" for column in columns)
        assert [name for name, column in zip(ids(columns), columns, strict=True) if "sort" in column] == (
            [sort.removeprefix("-")] if sort else []
        )
        assert order_menu(app, query)[1] == ""
    shown = grid_rows(app, "dataset=pyramid", "-position", 0, 3)["rows"]
    assert [row["own"] for row in shown] == ["60", "59", "58"]


@pytest.mark.parametrize(("chosen", "pairs"), [(1, 0), (3, 3), (5, 4), (8, 7)])
def test_the_menu_offers_every_run_and_a_few_pairs(app, client, chosen, pairs):
    named = runs_of(client)[:chosen]
    offered, _ = order_menu(app, "dataset=pyramid&metric=brier&" + "&".join(f"run={run}" for run in named))
    assert sorted(key for key in offered if "wrong" in key) == sorted(f"-wrong:{run}" for run in named)
    different = [key.partition(":")[2].split("-") for key in offered if key.startswith("-brier:")]
    assert len(different) == pairs == len(offered) - 1 - chosen
    assert all(a != b and {a, b} <= set(named) for a, b in different)


def test_the_order_is_worked_out_once_for_all_blocks(app, client, monkeypatch):
    calls = []

    @functools.wraps(composite_queries.ordered_questions)
    def counted(*arguments):
        calls.append(arguments)
        return original(*arguments)

    original = composite_queries.ordered_questions
    monkeypatch.setattr(composite_queries, "ordered_questions", counted)
    a, b = runs_of(client)[:2]
    sort = f"ks:{a}-{b}"  # which no other test asks for
    for start in (0, 20, 40):
        grid_rows(app, f"dataset=pyramid&run={a}", sort, start, start + 20)
    client.get(f"/api/v1/questions?dataset=pyramid&sort={sort}&limit=7&cursor=7")
    first = grid_rows(app, "dataset=pyramid", sort, 0, 1)["rows"][0]
    assert client.get(first["href"]).status_code == 200
    assert len(calls) == 1


def test_rows_hold_small_figures_of_their_runs(app, client):
    first = runs_of(client)[0]
    shown = grid_rows(app, f"dataset=pyramid&run={first}", "", 0, 5)["rows"]
    for row in shown:
        question = client.get(f"/api/v1/questions/pyramid/{row['question_id']}?run={first}").get_json()
        (line,) = row["clues"]["runs"]
        clues = question["runs"][0]["clues"]
        assert line["path"].count(" L") == len(clues) - 1
        assert line["right"] == (clues[-1]["correct"] >= 0.5)
        assert line["colour"].startswith("var(--run-")
        assert f"{clues[0]['confidence']:.2f} to {clues[-1]['confidence']:.2f}" in row["clues"]["label"]
        assert ("people" in row["clues"]["label"]) == (question["human"] is not None)


def test_questions_of_a_single_clue_have_no_small_figures(app):
    assert "clues" not in ids(grid(app, "dataset=lifeeval"))
    assert grid_rows(app, "dataset=lifeeval", "", 0, 3)["rows"][0]["clues"] is None
    assert "clues" in ids(grid(app, "dataset=pyramid"))


def test_a_small_figure_point_by_point():
    """Half revealed is the middle between the margins; confidence 1 is at the top, 0 at the bottom."""
    middle, end = LEFT + (WIDTH - LEFT - RIGHT) / 2, WIDTH - RIGHT
    top, bottom, half = EDGE, HEIGHT - EDGE, HEIGHT / 2
    spark = QuestionSparklines(
        {
            "a": RunSparkline([0.5, 1.0], [0.0, 1.0], 1.0),
            "b": RunSparkline([0.5, 1.0], [0.5, 0.5], 0.25),
            "grey": RunSparkline([1.0], [1.0], 1.0),
        },
        HumanSparkline([0.5, 1.0], [0.0, 1.0]),
    )
    figure = spark_figure(spark, {"a": "A", "b": "B <b>"}, {"a": "red", "b": "blue"})

    def numbers(path):
        return [float(part.lstrip("MLHV")) for part in path.split()]

    first, other = figure["runs"]
    assert (first["colour"], first["right"], first["x"], first["y"]) == ("red", True, end, top)
    assert numbers(first["path"]) == pytest.approx([middle, bottom, end, top], abs=0.05)
    assert (other["colour"], other["right"]) == ("blue", False)
    assert numbers(other["path"]) == pytest.approx([middle, half, end, half], abs=0.05)
    assert numbers(figure["people"]["path"]) == pytest.approx([LEFT, bottom, middle, bottom, end, top], abs=0.05)
    assert figure["label"] == (
        "Confidence over 2 clues: A 0.00 to 1.00, right at the last; B <b> 0.50 to 0.50, wrong at the last; people 0.00 to 1.00"
    )


def test_a_small_figure_of_many_clues_keeps_its_ends():
    count = 200
    revealed = [(index + 1) / count for index in range(count)]
    figure = spark_figure(QuestionSparklines({"a": RunSparkline(revealed, revealed, 0.0)}, None), {"a": "A"}, {"a": "red"})
    assert figure["runs"][0]["path"].count(" L") == MAX_POINTS - 1
    assert (figure["runs"][0]["x"], figure["runs"][0]["y"]) == (WIDTH - RIGHT, EDGE)
    assert "200 clues" in figure["label"] and figure["people"] is None


def test_without_data_there_is_no_small_figure():
    assert spark_figure(QuestionSparklines({}, None), {"a": "A"}, {"a": "red"}) is None
    assert spark_figure(QuestionSparklines({"a": RunSparkline([1.0], [1.0], 1.0)}, None), {}, {}) is None


@pytest.mark.parametrize("bad", ["wrong:nobody", "brier:{0}-{0}"])
def test_unknown_orders_are_refused(app, client, bad):
    sort = bad.format(*runs_of(client))
    for address in ("/questions", "/questions/pyramid/lit-01", "/api/v1/questions", "/api/v1/questions.csv"):
        query = f"sort={sort}" if "lit-01" in address else f"dataset=pyramid&sort={sort}"
        answer = client.get(f"{address}?{query}")
        assert answer.status_code == 400, address
        if "api" in address:
            assert answer.get_json()["error"]["field"] == "sort" and answer.get_json()["error"]["allowed"]


def test_compare_links_to_the_questions_that_differ_most(app, client):
    first, *_, last = runs_of(client)
    content = plain(drawn(app, "compare", f"dataset=pyramid&a={last}&b={first}&metric=brier&category=Arts"))
    links = {part["props"]["children"]: part["props"]["href"] for part in walk(content) if "data-link" in part.get("props", {})}
    for title, sign in (("Questions where they differ most", "-"), ("the other way round", "")):
        query = parse_qsl(urlsplit(links[title]).query)
        assert ("sort", f"{sign}brier:{last}-{first}") in query and ("category", "Arts") in query and ("metric", "brier") in query
        assert [value for key, value in query if key == "run"] == [last, first]
        assert client.get(links[title]).status_code == 200


# -- the rows that the grid asks for -------------------------------------------------------------------------------------------

DATASET = "dataset=pyramid"


@pytest.mark.parametrize("more", ["", "&category=Arts", "&sort=-difficulty", "&sort=category&metric=ece"])
def test_rows_are_the_questions_of_the_selection_in_order(client, more):
    answer = asked_rows(client, f"{DATASET}{more}&start=3&count=7")
    listed = client.get(f"/api/v1/questions?{DATASET}{more.replace('metric=', 'metrics=')}").json
    assert answer["total"] == listed["total"]
    assert [row["question_id"] for row in answer["rows"]] == [question["question_id"] for question in listed["questions"]][3:10]


def test_a_row_has_what_its_columns_show(client):
    row = asked_rows(client, f"{DATASET}&metric=ece&start=0&count=1&sort=-difficulty")["rows"][0]
    question = client.get(f"/api/v1/questions?{DATASET}&metrics=ece&limit=1&sort=-difficulty").json["questions"][0]
    for run, values in question["runs"].items():
        assert row[run] == (f"{values['ece']:.3f}" if values["ece"] is not None else row[run])
    assert row["answer"] == question["answer"].partition("[")[0].strip() and question["text"].startswith(row["text"][:40])
    assert row["heard"] == str(question["heard"]) and row["conversion"] == f"{100 * question['conversion']:.1f} %"
    assert row["difficulty"] == f"{question['difficulty']:.2f}"
    assert row["href"] == f"/questions/pyramid/{question['question_id']}?sort=-difficulty&metric=ece"
    assert row["heat"], "a run is better than another"
    (neutral,) = asked_rows(client, f"{DATASET}&metric=mean_confidence&start=0&count=1")["rows"]
    assert neutral["heat"] == {}, "no value is better than another"


@pytest.mark.parametrize(
    "query",
    [
        DATASET, f"{DATASET}&start=0", f"{DATASET}&start=x&count=1", f"{DATASET}&start=0&count=1&sort=nothing",
        "dataset=nowhere&start=0&count=1", f"{DATASET}&start=0&count=1&metric=none", "",
    ],
)  # fmt: skip
def test_a_bad_request_gets_no_rows(client, query):
    answer = client.get(f"/_rows?{query}")
    assert (answer.status_code, answer.json) == (400, {"rows": [], "total": 0})


def test_a_thousand_rows_at_most_and_none_beyond_the_end(client):
    assert len(asked_rows(client, "dataset=lifeeval&start=0&count=99999999")["rows"]) == 808
    assert asked_rows(client, f"{DATASET}&start=100000&count=5") == {"rows": [], "total": 60}


FACTS = (
    "question_id", "text", "answer", "category", "subcategory", "radius", "difficulty", "heard", "people", "h", "conversion",
)  # fmt: skip


def rows_of(answer, runs, metrics):
    """Return the answer of ``/api/v1/questions`` as rows of text."""
    rows = []
    for question in answer["questions"]:
        row = {name: question[name] for name in FACTS}
        for run in runs:
            row |= {f"{key}:{run}": question["runs"].get(run, {}).get(key) for key in metrics}
        rows.append(row)
    return rows


def as_text(row):
    return {key: "" if value is None else value if isinstance(value, str) else float(value) for key, value in row.items()}


def numbers(row, texts=("question_id", "text", "answer", "category", "subcategory")):
    return {key: value if key in texts or value == "" else float(value) for key, value in row.items()}


@pytest.mark.parametrize(
    "query",
    [
        "dataset=pyramid&category=History&metrics=calscore,brier&revealed=0..0.5",
        "dataset=pyramid&sort=-difficulty&elicitation=softmax",
        "dataset=lifeeval&radius=5&sort=question_id&metrics=" + ",".join(metric.key for metric in METRICS),
        "dataset=pyramid&q=zzzz",
    ],
)
def test_the_table_holds_what_the_list_says(client, query):
    answer = get(client, f"/api/v1/questions?{query}&limit=1000")
    without = re.sub(r"&(sort|metrics)=[^&]*", "", query)
    runs = [row["run"] for row in get(client, f"/api/v1/leaderboard?{without}&metrics=brier")["rows"]]
    metrics = re.search(r"metrics=([^&]*)", query)
    expected = rows_of(answer, runs, metrics[1].split(",") if metrics else ["brier"])
    rows = table(client, f"/api/v1/questions.csv?{query}")
    assert [numbers(row) for row in rows] == [as_text(row) for row in expected]
    assert len(rows) == answer["total"]
    if expected:
        assert list(rows[0]) == list(expected[0])


def test_pages_follow_their_links(client):
    run = get(client, "/api/v1/leaderboard?dataset=pyramid")["rows"][0]["run"]
    start = f"/api/v1/questions.csv?dataset=pyramid&sort=-calscore:{run}&metrics=calscore,brier&category=Arts&category=History"
    whole = table(client, start)
    rows, address = [], f"{start}&limit=7"
    while address:
        rows += table(client, address)
        link = client.get(address).headers.get("Link")
        address = link and re.fullmatch(r'<(.*)>; rel="next"', link)[1]
    assert rows == whole and len(whole) == 20
    assert table(client, f"{start}&cursor=15") == whole[15:]


FORMULA = "=d\re"  # tables put an apostrophe before it


def test_an_id_that_ends_in_csv_is_a_question(fresh, tmp_path):
    folder = tmp_path / "odd"
    folder.mkdir()
    (folder / "dataset.json").write_text(json.dumps({"dataset": "odd", "title": "Odd", "kind": "single"}))
    names = ["a", "a.csv", "b/c.csv", FORMULA]
    (folder / "questions.jsonl").write_text("".join(json.dumps({"question_id": name, "answer": "x"}) + "\n" for name in names))
    (folder / "responses").mkdir()
    answers = (json.dumps({"question_id": name, "guess": f"{name}\r!", "confidence": 0.5, "model": "m"}) + "\n" for name in names)
    (folder / "responses" / "run.jsonl").write_text("".join(answers))
    ingest.import_paths(fresh.service.store, [folder], ImportOptions())
    for name in names:
        assert get(fresh.client, f"/api/v1/questions/odd/{quote(name)}")["question_id"] == name
        if name != "a":
            answer = fresh.client.get(f"/api/v1/questions/odd/{quote(name)}.csv")
            assert answer.mimetype == "text/csv"
            (row,) = csv.DictReader(io.StringIO(answer.get_data(as_text=True), newline=""))
            assert row["guess"] == ("'" if name == FORMULA else "") + f"{name}\r!"
    (row,) = csv.DictReader(io.StringIO(fresh.client.get("/api/v1/questions/odd/a.csv.csv").get_data(as_text=True), newline=""))
    assert row["guess"] == "a.csv\r!"
    texts = csv.reader(io.StringIO(fresh.client.get("/api/v1/questions.csv?dataset=odd").get_data(as_text=True), newline=""))
    assert [row[0] for row in texts] == ["question_id", *names[:3], f"'{FORMULA}"]


@pytest.mark.parametrize("human", ["", "team_share"])
def test_the_page_draws_the_curve_that_its_numbers_use(app, human):
    client = app.test_client()
    name = client.get("/api/v1/questions?dataset=pyramid&limit=1").json["questions"][0]["question_id"]
    query = f"human={human}" if human else ""
    question = client.get(f"/api/v1/questions/pyramid/{name}?{query}").json
    used = question["human_curve"]
    assert used == (human or "buzz_share") and question["team_curve"] == (human or "survival")
    text = everything(app, f"/questions/pyramid/{name}", f"{query}&clue=1")
    h = question["human"][used]
    assert f"h in CalScore ({CURVE_LABELS[used]}): {h[1]:.3f}" in text
    assert f"heavy steps: h of CalScore, the {CURVE_NAMES[used]}" in text
    assert f"h: {CURVE_LABELS[used]}" in text, "in the headings of CalScore"
    (people,) = (
        trace
        for trace in divided(app, "question", query, "pyramid", name).figures["clues"]["data"]
        if trace.get("name") == "People"
    )
    assert people["y"] == [0, *h]


def test_the_figure_shows_what_the_api_says(app, client):
    question = client.get("/api/v1/questions/pyramid/lit-01").json
    ends = [clue["word_end"] for clue in question["clues"]]
    traces = divided(app, "question", "", "pyramid", "lit-01").figures["clues"]["data"]
    lines = {trace["meta"]: trace for trace in traces if isinstance(trace.get("meta"), str)}
    assert {*lines} == {run["run"] for run in question["runs"]}
    assert len({line["line"]["color"] for line in lines.values()}) == 4  # best, worst, surest and wrong; the others are grey
    for run in question["runs"]:
        line = lines[run["run"]]
        assert line["x"] == [ends[answer["clue"]] for answer in run["clues"]]
        assert line["y"] == [answer["confidence"] for answer in run["clues"]]
        symbols = line["marker"]["symbol"]
        assert ["circle" in symbol for symbol in symbols] == [answer["correct"] >= 0.5 for answer in run["clues"]]
    (people,) = (trace for trace in traces if trace.get("name") == "People")
    assert people["x"] == [0, *ends] and people["y"] == [0, *question["human"][question["human_curve"]]]
    heard = len(question["human"]["buzzes"])
    assert sum(len(sign) for trace in traces if trace.get("name") == "Buzzes" for sign in trace["text"]) == heard > 0
    shown = markup(app, "/questions/pyramid/lit-01")
    assert shown.count('class="tick') - shown.count('class="tick run') == heard
