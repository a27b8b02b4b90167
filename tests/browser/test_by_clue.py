"""By clue: a click puts another run in focus, a mark opens its answers, and both are in the address."""

from tests.helpers.page_actions import api, eventually, pairs
from tests.helpers.page_rest import wait_for_rest
from tests.helpers.page_walk import shown

FOCUS = "() => document.querySelector('.figure-by-clue .js-plotly-plot').data.map((trace) => trace.meta.run)"
POINT = """(name) => {
    const plot = document.querySelector(".figure-by-clue .js-plotly-plot");
    const place = plot.data.findIndex((trace) => trace.name === name);
    const box = [...plot.querySelectorAll(".scatterlayer .trace")][place].querySelectorAll(".point")[2].getBoundingClientRect();
    return [box.x + box.width / 2, box.y + box.height / 2];
}"""


def test_a_click_changes_the_focus_and_a_mark_opens_its_answers(page):
    runs = api(page, "by-clue", dataset="pyramid")["runs"]
    page.goto("/by-clue?dataset=pyramid")
    page.locator("button.focus").first.wait_for()
    shown(page)
    assert {*page.evaluate(FOCUS)} == {runs[0]["run"]}
    assert page.locator("h1").inner_text().startswith(f"{runs[0]['model']} · {runs[0]['elicitation']} is surer than right")
    other = runs[2]
    page.locator("button.focus", has_text=f"{other['model']} · {other['elicitation']}").click()

    def in_focus():
        assert ("focus", other["run"]) in pairs(page) and {*page.evaluate(FOCUS)} == {other["run"]}
        pressed = page.locator("button.focus[aria-pressed=true]")
        assert pressed.count() == 1 and other["model"] in pressed.inner_text()

    eventually(page, in_focus)
    shown(page)
    wait_for_rest(page)
    page.mouse.click(*page.evaluate(POINT, "Mean confidence"))
    point = other["points"][2]

    def listed():
        assert ("items", f"focus={other['run']}&clue=3") in pairs(page)
        assert f"{point['items']} answers" in page.locator("#drawer").inner_text()
        assert "Clue 3 of each question" in page.locator("#drawer").inner_text()

    eventually(page, listed)
    page.go_back()
    eventually(page, in_focus)
    page.go_back()
    eventually(page, lambda: _is_of(page, runs[0]["run"]))


def _is_of(page, run):
    assert {*page.evaluate(FOCUS)} == {run}


def test_no_width_overflows(visit):
    for width in (1440, 768, 390):
        page = visit(width=width)
        for by in ("clue", "revealed"):
            page.goto(f"/by-clue?dataset=pyramid&by={by}")
            page.locator("button.focus").first.wait_for()
            shown(page)
            height, beyond = page.evaluate(
                "[document.documentElement.scrollHeight, document.documentElement.scrollWidth - innerWidth]"
            )
            assert beyond <= 0 and (width < 1440 or height <= 2200), (width, by, height)
