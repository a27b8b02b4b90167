"""Figures in view are painted at once. The others wait until the browser is idle, they come into view, or a print begins."""

import pytest

from tests.helpers.page_actions import chip, eventually

BUSY = """() => [...document.querySelectorAll("#content [data-figure][aria-busy=true]")].map((frame) => frame.dataset.figure)"""
DRAWN = """(name) => { const plot = document.querySelector(`#content [data-figure="${name}"] .js-plotly-plot`);
    return plot && plot._fullData && plot.data.length ? JSON.stringify(plot.data.map((trace) => [trace.x, trace.y])) : null; }"""
SHOWN, HIDDEN = "triptych-murphy", "discrimination"  # the first figure of the page, and one far below it


@pytest.fixture
def page(visit):
    """The page of reliability in a browser that is never idle."""
    page = visit(new_context=True, height=600)
    page.add_init_script("window.requestIdleCallback = () => 0;")
    page.goto("/reliability?dataset=pyramid&tab=decomposition")
    return page


def check_that(page, shown, hidden):
    """Wait until the figure in view meets one condition, and the one out of view another."""

    def check():
        assert shown(page.evaluate(DRAWN, SHOWN)) and hidden(page.evaluate(DRAWN, HIDDEN))

    eventually(page, check)


def is_there(figure):
    return figure is not None


def is_missing(figure):
    return figure is None


def test_a_figure_out_of_view_waits_for_idle(page):
    check_that(page, is_there, is_missing)
    assert HIDDEN in page.evaluate(BUSY) and SHOWN not in page.evaluate(BUSY)


def test_a_figure_is_painted_when_it_is_scrolled_to(page):
    check_that(page, is_there, is_missing)
    page.locator(f"[data-figure={HIDDEN}]").scroll_into_view_if_needed()
    check_that(page, is_there, is_there)
    before, below = page.evaluate(DRAWN, SHOWN), page.evaluate(DRAWN, HIDDEN)
    page.evaluate("window.scrollTo(0, 0)")
    chip(page, "category", "History").click()
    check_that(page, lambda figure: figure != before, lambda figure: figure == below)
    page.locator(f"[data-figure={HIDDEN}]").scroll_into_view_if_needed()
    check_that(page, is_there, lambda figure: figure != below)


def test_all_figures_are_painted_before_a_print(page):
    check_that(page, is_there, is_missing)
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    check_that(page, is_there, is_there)
    assert page.evaluate(BUSY) == []


def test_all_figures_are_painted_where_nobody_scrolls(visit):
    page = visit()
    page.goto("/reliability?dataset=pyramid&tab=decomposition")
    check_that(page, is_there, is_there)
    page.wait_for_function(f"() => !({BUSY})().length")
