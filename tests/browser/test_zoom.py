"""Figures are operated as those of Plotly are: a drag zooms, a double click resets, buttons appear on hover."""

import pytest

from tests.helpers.page_actions import eventually, pairs
from tests.helpers.page_walk import shown

RANGES = """(name) => {
    const { xaxis, yaxis } = document.querySelector(`[data-figure="${name}"] .js-plotly-plot`).layout;
    return [[...xaxis.range], [...yaxis.range]];
}"""


def plot(page, name):
    """Return the box of the inside of a figure, once it is drawn and in view."""
    page.locator(f".figure-{name} .main-svg").first.wait_for()
    page.locator(f".figure-{name}").scroll_into_view_if_needed()
    return page.locator(f".figure-{name} .nsewdrag").first.bounding_box()


def drag(page, box, start=0.3, end=0.6):
    """Drag across a part of a box, from the upper left to the lower right."""
    page.mouse.move(box["x"] + start * box["width"], box["y"] + start * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + end * box["width"], box["y"] + end * box["height"], steps=5)
    page.mouse.up()


@pytest.mark.parametrize(("address", "name"), [("/questions/pyramid/lit-01", "clues"), ("/compare?dataset=pyramid", "scatter")])
def test_a_drag_zooms_and_a_double_click_resets(page, address, name):
    page.goto(address)
    box = plot(page, name)
    before, at = page.evaluate(RANGES, name), page.url
    drag(page, box)

    def zoomed():
        now = page.evaluate(RANGES, name)
        assert all(new[1] - new[0] < 0.7 * (old[1] - old[0]) for new, old in zip(now, before, strict=True))

    eventually(page, zoomed)
    assert page.locator(f".figure-{name} .modebar-btn").first.is_visible()
    assert not page.locator("#drawer").is_visible() and page.url.partition("?")[0] == at.partition("?")[0]
    page.mouse.dblclick(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    eventually(page, lambda: page.evaluate(RANGES, name) == before)


def test_a_drag_chooses_a_range_where_the_figure_says_so(page):
    page.goto("/reliability?dataset=pyramid")
    shown(page)
    box = plot(page, "reliability")
    assert "drag sideways" in page.locator(".figure-reliability figcaption").inner_text()
    before = page.evaluate(RANGES, "reliability")
    drag(page, box)
    page.locator("#drawer h2").wait_for()
    assert "confidence" in dict(pairs(page))["items"] and page.evaluate(RANGES, "reliability") == before


def test_a_finger_scrolls_over_a_figure(visit):
    page = visit(width=390, new_context=True, has_touch=True, is_mobile=True)
    page.goto("/compare?dataset=pyramid")
    plot(page, "scatter")
    assert page.evaluate("""document.querySelector('[data-figure="scatter"] .js-plotly-plot').layout.dragmode""") is False


def test_the_plot_of_differences_has_ticks_and_lengths(page):
    page.goto("/compare?dataset=pyramid")
    plot(page, "forest")
    figure = ".figure-forest"
    ticks = page.locator(f"{figure} .xtick text").all_text_contents()
    assert {"\u22121", "0", "1"} <= {*ticks}
    bars = page.locator(f"{figure} .errorbar path").evaluate_all("bars => bars.map((bar) => bar.getBBox().width)")
    assert len(bars) > 5 and max(bars) > 2 * min(bars)
