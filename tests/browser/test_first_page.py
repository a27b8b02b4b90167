"""What a user sees after starting a server on an empty store."""

from tests.helpers.page_actions import board_is, cursor, eventually, pairs, path, traces
from tests.helpers.page_walk import shown


def test_a_fresh_store_opens_with_a_confident_mistake(served, visit):
    """A new user sees a confident mistake from before people knew the answer, and walks through its question."""
    page = visit(on=served)
    page.goto("/")
    shown(page)
    story = page.locator(".story")
    assert "sure, and wrong, before anybody knew" in story.locator("h2").inner_text()
    drawn = traces(page, "early-mistake")
    assert {"TF-IDF words · softmax", "People"} <= {trace["name"] for trace in drawn}
    story.get_by_role("link", name="Walk through this question").click()
    eventually(page, lambda: cursor(page) is not None)
    assert path(page).startswith("/questions/pyramid/")
    clue = int(dict(pairs(page))["clue"])
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: dict(pairs(page)).get("clue", "last") in (str(clue + 1), "last"))
    page.goto("/?dataset=lifeeval")
    board_is(page, [("dataset", "lifeeval")])
    assert "states 80 % and is right 54 %" in page.locator(".story h2").inner_text()


def test_a_view_in_a_frame_has_no_navigation(page):
    page.goto("/reliability?dataset=pyramid&embed=1")
    shown(page)
    assert page.locator("h1").inner_text() == "Reliability"
    assert not page.locator(".top").is_visible() and not page.locator("#filter-bar").is_visible()
    whole = page.get_by_role("link", name="Open in Clueline")
    assert whole.get_attribute("href") == "/reliability?dataset=pyramid" and whole.get_attribute("target") == "_blank"
