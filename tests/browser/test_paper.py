"""Pages on paper: nothing is cut off at the edge, and each sheet of a long table has its headings."""

import pytest

from tests.helpers.page_actions import heading

LETTER = 979  # CSS pixels between the margins of US letter in landscape, which is narrower than A4
CUT = """() => [...document.querySelectorAll("main table")].filter((table) => table.checkVisibility())
    .filter((table) => table.getBoundingClientRect().right > innerWidth + 1).map((table) => table.className)"""
# Chromium repeats a heading on the next sheet only if no part of it is positioned or an inline block, as buttons are.
UNREPEATED = """() => [...document.querySelectorAll("main thead th, main thead th *")].filter((part) => part.checkVisibility())
    .filter((part) => part.textContent && (getComputedStyle(part).position !== "static"
        || getComputedStyle(part).display === "inline-block"))
    .map((part) => part.outerHTML)"""


@pytest.mark.parametrize("path", ["/", "/decide", "/slices", "/buzz", "/compare", "/which-ece", "/teams"])
def test_tables_fit_the_paper(page, path):
    page.set_viewport_size({"width": LETTER, "height": 740})
    page.emulate_media(media="print")
    page.goto(f"{path}?dataset=pyramid")
    page.wait_for_selector("main table", state="attached")
    assert heading(page)
    assert page.evaluate(CUT) == []
    assert page.evaluate(UNREPEATED) == []
