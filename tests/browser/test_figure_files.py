"""Figures as files: vector graphics with run names, axis titles, the title above and the source below."""

import re
import struct
from xml.etree import ElementTree

from tests.helpers.page_actions import eventually
from tests.helpers.page_walk import shown

SVG = "{http://www.w3.org/2000/svg}"


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


def test_a_figure_is_saved_as_svg_png_and_pdf(page, browser):
    page.goto("/reliability?dataset=tone&category=Work")
    shown(page)
    name, content = download(page, "svg")
    assert name == "clueline-reliability-reliability.svg"
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg" and not list(root.iter(f"{SVG}image"))
    says_what_it_is(" ".join(" ".join(element.itertext()) for element in root.iter(f"{SVG}text")), page)
    assert "/reliability" in root.find(f"{SVG}desc").text
    width, height = float(root.get("width")), float(root.get("height"))
    for element in root.findall(f"{SVG}text"):  # the title and the source are not cut off
        assert 0 < float(element.get("y")) < height and float(element.get("x")) < width

    name, content = download(page, "png")
    assert name.endswith(".png") and content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == (2 * int(width), 2 * int(height))

    page.locator(".figure-reliability [data-download=pdf]").click()  # a print of one page of vectors
    sheet = eventually(page, lambda: _sheet(page))
    says_what_it_is(re.sub(r"<[^>]+>", " ", sheet), page)
    paper = browser.new_page()
    paper.set_content(sheet)
    content = paper.pdf(prefer_css_page_size=True, print_background=True)
    paper.close()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 1
    assert b"/Subtype /Image" not in content and b"/Font" in content


def _sheet(page):
    sheet = page.evaluate("document.getElementById('figure-print')?.contentDocument.documentElement.outerHTML ?? ''")
    assert "<svg" in sheet and "@page" in sheet
    return sheet
