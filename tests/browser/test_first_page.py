"""What a new user sees first, and what a visitor sees of a view in a frame."""

import re

from playwright.sync_api import expect

from tests.helpers.page_actions import api, cursor, eventually, pairs, path, traces
from tests.helpers.page_visits import PATIENCE
from tests.helpers.page_walk import shown


def test_a_confident_mistake_leads_to_its_question(page):
    page.goto("/?dataset=pyramid")
    shown(page)
    story = page.locator(".story")
    assert "sure, and wrong, before any of 12 teams knew" in story.locator("h2").inner_text()
    assert {"TF-IDF words · softmax", "People"} <= {trace["name"] for trace in traces(page, "early-mistake")}
    story.get_by_role("link", name="Walk through this question").click()
    eventually(page, lambda: cursor(page) is not None)
    assert path(page).startswith("/questions/pyramid/")
    clue = int(dict(pairs(page))["clue"])
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: dict(pairs(page)).get("clue") == str(clue + 1))


def test_titles_of_tabs_name_what_is_shown(page):
    run = api(page, "runs", dataset="pyramid")["runs"][0]
    for address, title in (
        ("/reliability?dataset=pyramid", "Reliability · Pyramid"), ("/questions/pyramid/lit-02", "Question 2 of 60 · Pyramid"),
        (f"/runs/{run['run']}", f"{run['model']} · Pyramid"), ("/datasets", "Datasets"),
    ):  # fmt: skip
        page.goto(address)
        expect(page).to_have_title(f"{title} · Clueline", timeout=PATIENCE)
    page.goto("/?dataset=pyramid")
    expect(page).to_have_title(re.compile("sure, and wrong, before any of 12 teams knew · Pyramid · Clueline"), timeout=PATIENCE)


def test_a_view_in_a_frame_has_no_navigation(page):
    page.goto("/reliability?dataset=pyramid&embed=1")
    shown(page)
    assert page.locator("h1").inner_text() == "Reliability"
    assert not page.locator(".top").is_visible() and not page.locator("#filter-bar").is_visible()
    whole = page.get_by_role("link", name="Open in Clueline")
    assert whole.get_attribute("href") == "/reliability?dataset=pyramid" and whole.get_attribute("target") == "_blank"
