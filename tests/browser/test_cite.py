"""From a view to its citation for a paper, and back by the link that the citation prints."""

from tests.helpers.page_actions import eventually, pairs
from tests.helpers.page_walk import shown

BINS = """() => [...document.querySelectorAll(".figure-reliability .js-plotly-plot")].flatMap(
    (plot) => plot.data.filter((trace) => trace.error_y).map((trace) => [[...trace.x], [...trace.y]]))"""


def test_a_view_is_cited_and_found_again(page):
    page.goto("/reliability?dataset=tone&category=Work")
    shown(page)
    before = page.evaluate(BINS)
    assert before
    page.locator(".page-foot a", has_text="Cite this view").click()
    eventually(page, lambda: "/cite" in page.url and page.locator(".citation pre").count() == 6)
    link = page.locator(".citation pre").first.inner_text()
    page.goto(link[link.index("/reliability") :])
    shown(page)
    assert {"category", "run", "version"} <= {key for key, _ in pairs(page)}
    assert "the same digits" in page.locator("#content").inner_text()
    assert page.evaluate(BINS) == before
