"""The drawer lists the answers behind a mark: a dot, a cell, or a range of confidence that is dragged on a diagram."""

from urllib.parse import parse_qsl

from tests.helpers.page_actions import api, entries, eventually, pairs, path
from tests.helpers.page_rest import wait_for_rest

ADDRESS = "/reliability?dataset=pyramid"
WHERE = """([panel, x]) => {
    const plot = document.querySelector(".figure-reliability .js-plotly-plot");
    const box = plot.querySelector(`.draglayer .${panel} .nsewdrag`).getBoundingClientRect();
    const [low, high] = plot.layout["xaxis" + panel.slice(1, panel.indexOf("y"))].range;
    return [box.left + ((x - low) / (high - low)) * box.width, box.top + 0.3 * box.height];
}"""
DOT = """(which) => {
    const dots = document.querySelectorAll(".figure-reliability .xy .scatterlayer .points path");
    const dot = [...dots].at(which).getBoundingClientRect();
    return [dot.left + dot.width / 2, dot.top + dot.height / 2];
}"""
SHADES = """() => document.querySelector(".figure-reliability .js-plotly-plot").layout.shapes
    .map((shape) => [shape.visible, shape.x0, shape.x1])"""


def at(page, panel, x):
    page.locator(".figure-reliability").scroll_into_view_if_needed()
    return page.evaluate(WHERE, [panel, x])


def drag(page, panel, start, end):
    x, y = at(page, panel, start)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(*at(page, panel, (start + end) / 2), steps=3)
    page.mouse.move(*at(page, panel, end), steps=3)
    page.mouse.up()


LISTED = """() => [...document.querySelectorAll("#drawer tbody tr")]
    .map((row) => row.cells[0].querySelector("a").getAttribute("href"))"""


def behind(page):
    """Return what the address says that the drawer lists."""
    return dict(parse_qsl(dict(pairs(page)).get("items", "")))


def lists(page, wanted, **keys):
    """Wait until the drawer lists what the API does for some keys of the address and others."""

    def check():
        assert behind(page) == wanted
        rows = page.evaluate(LISTED)
        assert len(rows) == min(answer["total"], 100) and all(
            row.startswith(f"/questions/pyramid/{item['question_id']}?") and f"clue={item['clue']}" in row
            for row, item in zip(rows, answer["items"], strict=True)
        )
        assert page.locator("#drawer").get_by_text(f"{answer['total']:,} answer").count() == 1

    answer = api(page, "items", dataset="pyramid", common=1, order="wrong", **(wanted | keys))
    eventually(page, check)
    return answer


def closed(page):
    eventually(page, lambda: "items" not in dict(pairs(page)) and not page.locator("#drawer").is_visible())


def drawn(page, address):
    page.goto(address)
    page.locator(".figure-reliability .js-plotly-plot .nsewdrag").first.wait_for()


def test_a_dot_opens_its_answers_and_back_reopens_them(page):
    drawn(page, ADDRESS)
    run = api(page, "reliability", dataset="pyramid")["runs"][0]
    bins = [(number, part) for number, part in enumerate(run["bins"], 1) if part["items"]]
    page.locator(".figure-reliability").scroll_into_view_if_needed()
    x, y = page.evaluate(DOT, len(bins) - 1)
    page.mouse.move(x, y)
    page.locator(".figure-reliability .hoverlayer .hovertext").first.wait_for()
    page.mouse.click(x, y)
    number, part = bins[-1]
    answer = lists(page, {"focus": run["run"], "bin": str(number)})
    assert answer["total"] == part["items"]
    wrong = [item for item in answer["items"] if item["correct"] == 0]
    assert answer["items"][0] == max(wrong, key=lambda item: item["confidence"])
    page.locator("#drawer h2:focus").wait_for()
    page.locator("#drawer tbody a").first.click()
    eventually(page, lambda: path(page) == f"/questions/pyramid/{wrong[0]['question_id']}")
    page.go_back()
    lists(page, {"focus": run["run"], "bin": str(number)})
    page.go_back()
    closed(page)


def test_a_cell_opens_the_drawer_and_escape_returns(page):
    page.goto("/?dataset=pyramid")
    cell = page.locator("table.board td[data-metric=ece] a.behind").first
    cell.wait_for()
    run = page.evaluate(BOARD_RUN)
    before = entries(page)
    cell.focus()
    page.keyboard.press("Enter")
    lists(page, {"focus": run})
    assert cell.get_attribute("aria-current") == "true" and entries(page) == before + 1
    opened = page.url
    page.keyboard.press("Escape")
    closed(page)
    assert page.locator("td[data-metric=ece] a.behind:focus").count() == 1
    assert cell.get_attribute("aria-current") is None
    cell.hover()
    assert page.evaluate("document.querySelector('td[data-metric=ece] a.behind').href") == opened
    page.locator(".filter-category label", has_text="History").click()
    wait_for_rest(page)
    page.locator("table.board td[data-metric=ece] a.behind").first.click()
    run = page.evaluate(BOARD_RUN)
    lists(page, {"focus": run}, category="History")
    page.reload()  # as a colleague sees it who gets the link
    lists(page, {"focus": run}, category="History")
    page.locator("#drawer").get_by_label("Close").click()
    closed(page)
    assert ("category", "History") in pairs(page)


BOARD_RUN = "document.querySelector('table.board tr[data-run]').dataset.run"


def shaded(page, low, high, run):
    """Wait until every diagram shades this range, to the pixel of the pointer, and the drawer lists its answers."""

    def check():
        brushed = behind(page).get("confidence")
        assert brushed, page.url
        left, right = map(float, brushed.split(".."))
        assert abs(left - low) <= 0.011 and abs(right - high) <= 0.011
        shades = page.evaluate(SHADES)
        assert len(shades) == 8 and all(shade == [True, left, right] for shade in shades)
        return brushed

    lists(page, {"focus": run, "confidence": eventually(page, check)})


def test_a_dragged_range_fills_the_drawer(page):
    drawn(page, ADDRESS)
    first, *_, fifth = [run["run"] for run in api(page, "reliability", dataset="pyramid")["runs"][:5]]
    drag(page, "xy", 0.3, 0.6)
    shaded(page, 0.3, 0.6, first)
    page.mouse.click(*at(page, "xy", 0.03))  # above every bin, away from the curve
    closed(page)
    eventually(page, lambda: not any(shade[0] for shade in page.evaluate(SHADES)))
    drag(page, "x5y5", 0.95, 0.7)  # leftwards, on another diagram
    shaded(page, 0.7, 0.95, fifth)
    drag(page, "xy", 0.8, 1.3)  # it ends at the edge of the scale
    shaded(page, 0.8, 1.0, first)
