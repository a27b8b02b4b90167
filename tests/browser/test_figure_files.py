"""Figures as files for a paper: vectors at the chosen width, font and size; no title, help or address in them."""

import re
import struct
from xml.etree import ElementTree

from tests.helpers.page_actions import eventually
from tests.helpers.page_walk import shown

SVG = "{http://www.w3.org/2000/svg}"


def press(page, name):
    page.locator("#figure-file").get_by_role("button", name=name).click()


def download(page, kind):
    with page.expect_download() as waiting:
        press(page, kind)
    with open(waiting.value.path(), "rb") as file:
        return waiting.value.suggested_filename, file.read()


def is_of_a_paper(text, *labels):
    for part in labels:
        assert part in text, part
    assert not re.search(r"https?://127|/reliability|Drag sideways|Isotonic|Clueline", text), text


def test_a_figure_is_saved_as_svg_png_and_pdf(visit, browser):
    theme, width, font, size = "dark", "85", "Serif", 7
    page = visit(theme=theme)
    page.goto("/reliability?dataset=tone&category=Work")
    shown(page)
    page.locator(".figure-reliability [data-download]").click()
    dialog = page.locator("#figure-file")
    for label, choice in (("Width", {"value": width}), ("Font", {"label": font}), ("Smallest text", {"label": f"{size} pt"})):
        dialog.get_by_label(label).select_option(**choice)
    caption = dialog.locator(".caption").inner_text()
    for part in ("Reliability", "Line: isotonic (CORP) curve", "Tone (tone)", "data version"):
        assert part in caption, part
    assert "Drag sideways" not in caption and "http" not in caption

    name, content = download(page, "SVG")
    assert name == "clueline-reliability-reliability.svg"
    root = ElementTree.fromstring(content)
    assert root.tag == f"{SVG}svg" and not list(root.iter(f"{SVG}image"))
    texts = list(root.iter(f"{SVG}text"))
    is_of_a_paper(" ".join("".join(text.itertext()) for text in texts), "Logistic regression", "confidence", "share right")
    assert root.get("width") == f"{width}mm"
    across, down = map(float, root.get("viewBox").split()[2:])
    sizes = [float(pixels) for text in texts for pixels in re.findall(r"font-size: ([\d.]+)px", text.get("style", ""))]
    assert abs(min(sizes) * (float(width) / 25.4 * 72 / across) - size) < 0.05  # in points
    assert all("Times" in text.get("style", "") for text in texts)
    height = float(root.get("height").removesuffix("mm"))
    assert abs(height / float(width) - down / across) < 0.001
    ground = root.find(f"{SVG}rect")
    assert ground.get("fill") == "#fff" and b"rgb(23, 32, 43)" in content  # light in the dark theme, too

    name, content = download(page, "PNG")
    assert name.endswith(".png") and content.startswith(b"\x89PNG")
    assert struct.unpack(">II", content[16:24]) == tuple(round(side * 300 / 25.4) for side in (float(width), height))

    press(page, "PDF")  # a print of one page of vectors
    sheet = eventually(page, lambda: _sheet(page))
    paper = browser.new_page()
    paper.set_content(sheet)
    content = paper.pdf(prefer_css_page_size=True, print_background=True)
    paper.close()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", content)) == 1
    assert b"/Subtype /Image" not in content and b"/Font" in content
    box = [float(side) for side in re.search(rb"/MediaBox\s*\[([^\]]*)\]", content)[1].split()]
    assert abs(box[2] - float(width) / 25.4 * 72) < 1
    press(page, "Close")
    assert not dialog.count() and page.evaluate("document.documentElement.dataset.theme") == theme


def _sheet(page):
    sheet = page.evaluate("document.getElementById('figure-print')?.contentDocument.documentElement.outerHTML ?? ''")
    assert "<svg" in sheet and "@page" in sheet
    return sheet
