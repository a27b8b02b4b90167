"""A range of confidence is dragged on a reliability diagram: address, shade and list of items follow, and a click clears it."""

from tests.helpers.page_actions import api, eventually, pairs
from tests.helpers.page_rest import let_scripts_run

ADDRESS = "/reliability?dataset=pyramid"
WHERE = """([panel, x]) => {
    const plot = document.querySelector(".figure-reliability .js-plotly-plot");
    const box = plot.querySelector(`.draglayer .${panel} .nsewdrag`).getBoundingClientRect();
    const [low, high] = plot.layout["xaxis" + panel.slice(1, panel.indexOf("y"))].range;
    return [box.left + ((x - low) / (high - low)) * box.width, box.top + 0.3 * box.height];
}"""
DOT = """() => {
    const dot = document.querySelector(".figure-reliability .xy .scatterlayer .points path").getBoundingClientRect();
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


def chosen(page, low, high):
    """Wait until everything on the page shows this range, to the pixel of the pointer."""

    def check():
        brushed = dict(pairs(page)).get("confidence")
        assert brushed, page.url
        left, right = map(float, brushed.split(".."))
        assert abs(left - low) <= 0.011 and abs(right - high) <= 0.011
        shades = page.evaluate(SHADES)
        assert len(shades) == 8 and all(shade == [True, left, right] for shade in shades)
        items = api(page, "items", dataset="pyramid", run=first, confidence=brushed)
        listed = page.locator(".items tbody tr").evaluate_all("rows => rows.map((row) => row.cells[0].innerText)")
        assert listed == [item["question_id"] for item in items["items"]][: len(listed)] and listed
        assert page.get_by_text(f"{items['total']} items of").count() == 1

    first = api(page, "reliability", dataset="pyramid")["runs"][0]["run"]
    eventually(page, check)


def cleared(page):
    def check():
        assert "confidence" not in dict(pairs(page))
        assert not any(shade[0] for shade in page.evaluate(SHADES))

    eventually(page, check)


def test_a_range_is_dragged_cleared_and_set_by_its_control(page):
    page.goto(f"{ADDRESS}&confidence=0.7..0.95")
    page.locator(".figure-reliability .js-plotly-plot .nsewdrag").first.wait_for()
    page.locator(".items tbody tr").first.wait_for()
    chosen(page, 0.7, 0.95)
    page.mouse.click(*at(page, "xy", 0.03))  # above every bin, away from the curve
    cleared(page)
    drag(page, "xy", 0.3, 0.6)
    chosen(page, 0.3, 0.6)
    drag(page, "x5y5", 0.95, 0.7)  # leftwards, on another diagram
    chosen(page, 0.7, 0.95)

    drag(page, "xy", 0.8, 1.3)  # it ends at the edge of the scale
    chosen(page, 0.8, 1.0)
    x, y = page.evaluate(DOT)
    page.mouse.move(x, y)
    page.locator(".figure-reliability .hoverlayer .hovertext").first.wait_for()
    page.mouse.click(x, y)  # on a dot, one click is not enough
    let_scripts_run(page, 600)
    chosen(page, 0.8, 1.0)
    page.mouse.dblclick(x, y)
    cleared(page)

    handle = page.locator(".items [role=slider]").first
    handle.focus()
    for _ in range(3):
        handle.press("ArrowRight")
    chosen(page, 0.03, 1.0)
    assert handle.evaluate("one => one === document.activeElement")
