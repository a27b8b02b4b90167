"""Figures as files: vector graphics with run names, axis titles, the title above and the source below."""

import re
import struct
from xml.etree import ElementTree

import pytest

from tests.helpers.page_actions import eventually
from tests.helpers.page_walk import shown

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def reliability(page):
    page.goto("/reliability?dataset=tone&category=Work")
    shown(page)
    return page


def download(page, kind):
    with page.expect_download() as waiting:
        page.locator(f".figure-reliability [data-download={kind}]").click()
    with open(waiting.value.path(), "rb") as file:
        return waiting.value.suggested_filename, file.read()


def says_what_it_is(text, page):
    for part in (
        "Reliability", "Line: isotonic (CORP) curve", "Logistic regression", "confidence", "share right", "Tone (tone)",
        "category Work", "data version", "Clueline",
    ):  # fmt: skip
        assert part in text, part
    assert "Drag sideways" in page.locator(".figure-reliability figcaption").inner_text() and "Drag sideways" not in text


def test_an_svg_has_names_titles_and_source(reliability):
    name, content = download(reliability, "svg")
    assert name == "clueline-reliability-reliability.svg"
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg" and not list(root.iter(f"{SVG}image"))
    says_what_it_is(" ".join(" ".join(element.itertext()) for element in root.iter(f"{SVG}text")), reliability)
    assert "/reliability" in root.find(f"{SVG}desc").text
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.findall(f"{SVG}text"):  # the title and the source are not cut off
        assert 0 < float(element.get("y")) < height and float(element.get("x")) < width


def test_a_png_is_twice_as_large(reliability):
    _, svg = download(reliability, "svg")
    name, content = download(reliability, "png")
    assert name.endswith(".png") and content.startswith(b"\x89PNG")
    root = ElementTree.fromstring(svg)
    assert struct.unpack(">II", content[16:24]) == (2 * int(root.get("width")), 2 * int(root.get("height")))


def test_a_print_is_one_page_of_vectors(reliability, browser):
    reliability.locator(".figure-reliability [data-download=pdf]").click()
    sheet = eventually(reliability, lambda: _sheet(reliability))
    says_what_it_is(re.sub(r"<[^>]+>", " ", sheet), reliability)
    page = browser.new_page()
    try:
        page.set_content(sheet)
        content = page.pdf(prefer_css_page_size=True, print_background=True)
    finally:
        page.close()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 1
    assert b"/Subtype /Image" not in content and b"/Font" in content


def _sheet(page):
    sheet = page.evaluate("document.getElementById('figure-print')?.contentDocument.documentElement.outerHTML ?? ''")
    assert "<svg" in sheet and "@page" in sheet
    return sheet
