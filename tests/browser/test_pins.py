"""Runs in the legend of a figure: hover and focus bring them forward, and a click pins them."""

from tests.helpers.page_actions import api, eventually, pairs
from tests.helpers.page_walk import shown

WIDTHS = r"""() => Object.fromEntries((document.querySelector("[data-figure=clues] .js-plotly-plot")?.data ?? [])
    .filter((trace) => typeof trace.meta === "string" && trace.mode === "lines+markers")
    .map((trace) => [trace.meta, [trace.line.width, trace.line.color]]))"""


def test_a_run_comes_forward_and_is_pinned(page):
    question = api(page, "questions", dataset="pyramid", limit=1)["questions"][0]["question_id"]
    page.goto(f"/questions/pyramid/{question}")
    shown(page)
    entries = page.locator("figure.figure-clues [data-pin]")
    runs = entries.evaluate_all("entries => entries.map((entry) => entry.dataset.pin)")
    before = page.evaluate(WIDTHS)
    assert set(runs) == set(before) and len(runs) > 2

    def forward(run):
        widths = {name: width for name, (width, _) in page.evaluate(WIDTHS).items()}
        assert max(widths, key=widths.get) == run and widths[run] > before[run][0]

    entries.nth(1).hover()
    eventually(page, lambda: forward(runs[1]))
    page.mouse.move(0, 0)
    entries.nth(2).focus()
    eventually(page, lambda: forward(runs[2]))
    page.keyboard.press("Enter")

    def pinned():
        assert ("pin", runs[2]) in pairs(page)
        assert page.locator(f'[data-pin="{runs[2]}"]').first.get_attribute("aria-pressed") == "true"
        lines = page.evaluate(WIDTHS)
        greys = {colour for run, (_, colour) in lines.items() if run != runs[2]}
        assert len(greys) == 1 and lines[runs[2]][1] == before[runs[2]][1] not in greys

    eventually(page, pinned)
    page.locator(".top nav a", has_text="Calibration").click()
    eventually(page, lambda: "/by-clue" in page.url and ("pin", runs[2]) in pairs(page))
    page.go_back()
    eventually(page, pinned)
    shown(page)  # a click is lost if the page still moves under the mouse
    page.locator(f'[data-pin="{runs[2]}"]').first.click()
    eventually(page, lambda: _is_without_pins(page, before))


def _is_without_pins(page, before):
    assert "pin" not in dict(pairs(page))
    page.mouse.move(0, 0)
    assert page.evaluate(WIDTHS) == before


RANKS = """() => Object.fromEntries(document.querySelector(".figure-ranks .js-plotly-plot").data
    .map((trace) => [trace.meta, trace.line.width]))"""


def test_a_line_follows_the_run_at_the_pointer(page):
    page.goto("/?dataset=pyramid")
    shown(page)
    figure = page.locator(".figure-ranks")
    figure.scroll_into_view_if_needed()
    figure.locator(".point").first.wait_for()
    shown(page)
    assert {*page.evaluate(RANKS).values()} == {0}
    box = figure.locator(".point").nth(3).bounding_box()

    def followed():
        page.mouse.move(box["x"] + box["width"] / 2 + 1, box["y"] + box["height"] / 2)
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        widths = page.evaluate(RANKS)
        assert sorted(widths.values())[-2:] == [0, 3.5]

    eventually(page, followed)
