"""Figures in view are painted at once. The others wait until the browser is idle, they come into view, or a print begins."""

from tests.helpers.page_actions import chip, eventually, unfold

BUSY = """() => [...document.querySelectorAll("#content [data-figure][aria-busy=true]")].map((frame) => frame.dataset.figure)"""
DRAWN = """(name) => { const plot = document.querySelector(`#content [data-figure="${name}"] .js-plotly-plot`);
    return plot && plot._fullData && plot.data.length ? JSON.stringify(plot.data.map((trace) => [trace.x, trace.y])) : null; }"""
SHOWN, HIDDEN = "triptych-murphy", "discrimination"  # the first figure of the page, and one far below it


def check_that(page, shown, hidden):
    """Wait until the figure in view meets one condition, and the one out of view another."""

    def check():
        assert shown(page.evaluate(DRAWN, SHOWN)) and hidden(page.evaluate(DRAWN, HIDDEN))

    eventually(page, check)


def is_there(figure):
    return figure is not None


def is_missing(figure):
    return figure is None


def test_a_figure_out_of_view_waits(visit):
    """The browser is never idle. A figure is painted when it is scrolled to, or before a print, also after a change."""
    page = visit(new_context=True, height=600)
    page.add_init_script("window.requestIdleCallback = () => 0;")
    page.goto("/reliability?dataset=pyramid&tab=decomposition")
    check_that(page, is_there, is_missing)
    assert HIDDEN in page.evaluate(BUSY) and SHOWN not in page.evaluate(BUSY)
    page.locator(f"[data-figure={HIDDEN}]").scroll_into_view_if_needed()
    check_that(page, is_there, is_there)
    for category, paint in (
        ("History", lambda: page.locator(f"[data-figure={HIDDEN}]").scroll_into_view_if_needed()),
        ("Arts", lambda: page.evaluate("window.dispatchEvent(new Event('beforeprint'))")),
    ):
        before, below = page.evaluate(DRAWN, SHOWN), page.evaluate(DRAWN, HIDDEN)
        page.evaluate("window.scrollTo(0, 0)")
        unfold(page, "category")  # in so low a window, the filters are folded
        chip(page, "category", category).click()
        check_that(page, lambda figure, old=before: figure != old, lambda figure, old=below: figure == old)
        paint()
        check_that(page, is_there, lambda figure, old=below: figure != old)
    assert page.evaluate(BUSY) == []
