"""Pages on paper: nothing is cut off at the edge, and each sheet of a long table has its headings."""

from tests.helpers.page_walk import follow, shown

LETTER = 979  # CSS pixels between the margins of US letter in landscape, which is narrower than A4
CUT = """() => [...document.querySelectorAll("main table")].filter((table) => table.checkVisibility())
    .filter((table) => table.getBoundingClientRect().right > innerWidth + 1).map((table) => table.className)"""
# Chromium repeats a heading on the next sheet only if no part of it is positioned or an inline block, as buttons are.
UNREPEATED = """() => [...document.querySelectorAll("main thead th, main thead th *")].filter((part) => part.checkVisibility())
    .filter((part) => part.textContent && (getComputedStyle(part).position !== "static"
        || getComputedStyle(part).display === "inline-block"))
    .map((part) => part.outerHTML)"""


def test_tables_fit_the_paper(visit):
    page = visit(width=LETTER, height=740)
    page.goto("/metrics")
    for path in ("/", "/decide", "/slices", "/buzz", "/compare", "/which-ece", "/teams"):
        follow(page, f"{path}?dataset=pyramid")
        shown(page)
        page.emulate_media(media="print")
        assert page.locator("main table").count(), path
        assert page.evaluate(CUT) == [], path
        assert page.evaluate(UNREPEATED) == [], path
        page.emulate_media(media="screen")
