"""The list of questions as a visitor sorts it, scrolls it and steps through it."""

from tests.helpers.page_actions import api, choose, eventually, fetched, grid, heading, ids, listed, pairs, path
from tests.helpers.page_rest import wait_for_rest

PYRAMID = ("dataset", "pyramid")
BOXES = """() => [...document.querySelectorAll(".ag-header-cell")].map((cell) => {
    const box = cell.getBoundingClientRect(), grid = document.querySelector("#grid").getBoundingClientRect();
    return [cell.getAttribute("col-id"), box.left - grid.left, box.right - grid.left, grid.width];
})"""
SPARKS = """() => [...document.querySelectorAll("svg.spark[role=img]")].map((svg) => ({
    label: svg.getAttribute("aria-label"), lines: svg.querySelectorAll("path.run").length,
    people: svg.querySelectorAll("path.people").length, dots: svg.querySelectorAll("circle").length,
    stroke: getComputedStyle(svg.querySelector("path.run")).stroke }))"""


def expected_ids(page, sort, *query):
    return [question["question_id"] for question in api(page, "questions", [PYRAMID, *query], sort=sort)["questions"]]


def in_order_of(page, sort, *query):
    """Return the rows, once they are in the order that the API gives."""
    expected = expected_ids(page, sort, *query)
    return listed(page, lambda rows: ids(rows) == expected[: len(rows)] and ("sort", sort) in pairs(page))


def runs(page):
    """Return name -> run, in order of import."""
    facts = api(page, "leaderboard", [PYRAMID], metrics="brier")["rows"]
    return {f"{row['model']} · {row['elicitation']}": row["run"] for row in facts}


def test_orders_of_the_menu(page):
    page.goto("/questions?dataset=pyramid")
    listed(page)
    names = runs(page)
    name, run = next(iter(names.items()))
    choose(page, "sort", f"Confidently wrong before people knew: {name}")
    rows = in_order_of(page, f"-wrong:{run}")
    values = [float(row[f"wrong:{run}"]) for row in rows]
    assert values == sorted(values, reverse=True) and values[0] > 0.3

    assert "Confidently wrong" in page.locator(".filter-sort button.menu").inner_text()

    order = expected_ids(page, f"-wrong:{run}")
    page.locator(".ag-row a").first.click()
    eventually(page, lambda: _at(page, order, 0))
    page.keyboard.press("p")  # there is nothing before the first
    for key, place in (("n", 1), ("n", 2), ("p", 1)):
        wait_for_rest(page)
        page.keyboard.press(key)
        eventually(page, lambda place=place: _at(page, order, place))
    for place in (2, 1):
        page.go_back()
        eventually(page, lambda place=place: _at(page, order, place))
    page.locator(".crumbs a").click()
    in_order_of(page, f"-wrong:{run}")


def _at(page, order, place):
    assert path(page) == f"/questions/pyramid/{order[place]}" and heading(page) != "Questions"
    assert f"{place + 1} of {len(order)}" in heading(page)


def test_the_order_by_a_difference_is_reversed_and_left(page):
    page.goto("/compare?dataset=pyramid&metric=brier")
    page.get_by_role("link", name="Questions where they differ most").click()
    eventually(page, lambda: path(page) == "/questions")
    query = dict(pairs(page))
    sort = query["sort"]
    a, b = sort.removeprefix("-brier:").split("-")
    assert {value for key, value in pairs(page) if key == "run"} == {a, b}
    rows = in_order_of(page, sort)
    first = rows[0]
    assert float(first[f"brier:{a}-{b}"]) > 0
    assert abs(float(first[f"brier:{a}"]) - float(first[f"brier:{b}"]) - float(first[f"brier:{a}-{b}"])) < 0.0016  # rounded

    column(page, f"brier:{a}-{b}").locator(".ag-header-cell-label").click()
    turned = sort.removeprefix("-")
    in_order_of(page, turned)
    column(page, f"brier:{a}-{b}").wait_for()
    choose(page, "metric", "Accuracy")  # another control leaves the order as it is
    eventually(page, lambda: {("metric", "accuracy"), ("sort", turned)} <= {*pairs(page)})
    in_order_of(page, turned)

    column(page, "difficulty").locator(".ag-header-cell-label").click()
    in_order_of(page, "difficulty")
    column(page, f"brier:{a}-{b}").wait_for(state="detached")
    assert page.locator(".filter-sort button.menu").inner_text() == "As in the table"
    choose(page, "metric", "Brier score")
    eventually(page, lambda: {("metric", "brier"), ("sort", "difficulty")} <= {*pairs(page)})
    in_order_of(page, "difficulty")

    names = {run: name for name, run in runs(page).items()}
    choose(page, "sort", f"Difference of Brier score: {names[a]} \u2212 {names[b]}")
    in_order_of(page, f"-brier:{a}-{b}")
    choose(page, "sort", "As in the table")
    eventually(page, lambda: _unsorted(page))
    listed(page, lambda rows: ids(rows) == expected_ids(page, "position")[: len(rows)])


def column(page, key):
    return page.locator(f".ag-header-cell[col-id='{key}']")


def _unsorted(page):
    assert "sort" not in dict(pairs(page))
    assert all("-" not in (name or "") for name, *_ in page.evaluate(BOXES))


def test_scrolling_brings_the_rest(page):
    page.goto("/questions?dataset=lifeeval&sort=-question_id")
    status, body = fetched(page, "/api/v1/questions.csv?dataset=lifeeval&sort=-question_id&metrics=brier")
    assert status == 200
    order = [line.partition(",")[0] for line in body.decode().splitlines()[1:]]
    rows = listed(page)
    assert ids(rows) == order[: len(rows)]
    assert page.locator("svg.spark").count() == 0  # questions of one clue
    page.locator(".ag-body-viewport").evaluate("body => body.scrollTop = body.scrollHeight")

    def at_the_end():
        shown = ids(grid(page))
        assert shown and shown[-1] == order[-1] and shown == order[-len(shown) :]

    eventually(page, at_the_end)


def test_rows_have_small_figures_and_columns_fit(visit):
    wide, narrow = visit(), visit(width=390)
    wide.goto("/questions?dataset=pyramid&theme=light")
    narrow.goto("/questions?dataset=pyramid&theme=dark")
    strokes = set()
    for page in (wide, narrow):
        listed(page)
        page.locator("svg.spark[role=img]").first.wait_for()
        spark, *_ = page.evaluate(SPARKS)
        assert spark["lines"] == spark["dots"] == 8 and spark["people"] == 1
        assert spark["label"].startswith("Confidence over ") and "at the last" in spark["label"]
        strokes.add(spark["stroke"])
    assert len(strokes) == 2
    boxes = wide.evaluate(BOXES)
    assert sum(name.startswith("calscore:") and right <= width + 1 for name, _, right, width in boxes) == 8
    assert sum(right <= width + 1 for _, _, right, width in narrow.evaluate(BOXES)) >= 3
    assert narrow.evaluate("document.documentElement.scrollWidth") == 390
