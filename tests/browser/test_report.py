"""A saved file in a browser without a network, and the address that “Copy link” copies."""

import re

from tests.helpers.page_actions import eventually

VIEWS = ("/?dataset=pyramid", "/reliability?dataset=pyramid", "/questions/pyramid/lit-01", "/decide?dataset=pyramid")


def test_a_file_is_alive_without_a_network(browser, cli, seeded, tmp_path):
    path = tmp_path / "report.html"
    assert cli("report", *VIEWS, "-o", path, store=seeded).returncode == 0
    context = browser.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light", offline=True)
    page, complaints = context.new_page(), []
    page.on("console", lambda message: message.type == "error" and complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on(
        "request", lambda request: request.url.startswith(("data:", "blob:", path.as_uri())) or complaints.append(request.url)
    )
    page.goto(path.as_uri())
    frames = page.locator("[data-figure]").count()
    assert frames > 8
    eventually(page, lambda: page.locator("[data-figure] .js-plotly-plot .main-svg").count() >= frames, 120)

    table = page.locator("#view-1 table.board").first
    heading = table.locator("thead th", has_text="Accuracy")
    place = heading.evaluate("(cell) => cell.cellIndex")
    for order, reverse in (("ascending", False), ("descending", True)):
        heading.locator("button").click()
        assert heading.get_attribute("aria-sort") == order
        shown = [
            float(text.split()[0].replace("−", "-"))
            for text in table.locator(f"tbody td:nth-child({place + 1})").all_inner_texts()
        ]
        assert len(shown) == 8 and shown == sorted(shown, reverse=reverse)

    assert "clue 1 of 6" in page.locator("#view-3 .answers-section h2").inner_text()
    page.locator("#view-3 .clues [data-clue='1']").click()
    assert "clue 2 of 6" in page.locator("#view-3 .answers-section h2").inner_text()
    assert page.locator("#view-3 tbody[data-clue]:visible").count() == 1

    ground = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(ground)
    page.locator("#theme-switch").click()
    assert page.evaluate(ground) != light
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert page.pdf().startswith(b"%PDF")
    context.close()
    assert complaints == []


def test_a_page_is_saved_and_says_whom_a_link_serves(page):
    page.goto("/reliability?dataset=tone&category=Work")
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Save as file").click()
    with open(waiting.value.path(), encoding="utf-8") as file:
        assert waiting.value.suggested_filename == "clueline-report.html" and "category Work" in file.read()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.get_by_role("button", name="Copy link").click()
    told = page.get_by_role("status").filter(has_text="Only this computer can open this link")
    told.get_by_role("link", name=re.compile("share")).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == page.url
    told.get_by_role("button", name="Close").click()
    assert told.count() == 0
