"""A reviewer's journey: two graders disagree, a grade is corrected by keyboard, and the leaderboard changes with the grading."""

import pytest

from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.bundle_factory import FACTS, put, write
from tests.helpers.page_actions import board, eventually, grave_violations, says
from tests.helpers.page_rest import wait_for_rest

RESPONSES = """question_id,clue,guess,confidence,correct,correct.second-reader
q1,0,Rome,0.25,0,1
q1,1,Paris,0.5,1,1
q2,1,the Nile river,0.75,0,1
"""


@pytest.fixture(scope="module")
def graded(serving, tmp_path_factory):
    """A server with a dataset for each test, and a token."""
    folder = tmp_path_factory.mktemp("gradings")
    store = open_store(folder / "store", threads=1)
    for name in ("toy", "drawn"):
        put(store, write(folder / name, FACTS | {"dataset": name}, responses=RESPONSES), model="alpha")
    token = Tokens(store.register).create("ann")
    store.close()
    return serving(folder / "store"), token


@pytest.fixture
def token(graded):
    return graded[1]


@pytest.fixture
def page(visit, graded):
    return visit(on=graded[0])


def accuracy(page, query=""):
    page.goto(f"/?dataset=toy&metrics=accuracy{query}")

    def shown():
        (row,) = board(page)
        return row["metrics"]["accuracy"]

    page.locator("table.board tbody tr[data-run]").first.wait_for()
    return eventually(page, shown)


def test_a_reviewer_decides_by_keyboard_where_graders_differ(page, token):
    assert accuracy(page) == "0.333" and accuracy(page, "&grading=second-reader") == "1.000"
    page.goto("/runs?dataset=toy")
    page.locator("main").get_by_role("link", name="Gradings").click()
    rows = page.locator("tr[data-graded]")
    rows.first.wait_for()
    assert [text.split("\n")[0] for text in rows.locator("th").all_inner_texts()] == ["Rome", "the Nile river"]
    wait_for_rest(page)
    assert not grave_violations(page)
    rows.first.focus()
    page.keyboard.press("y")
    says(page, "#grades-message", "asks for a token")
    page.get_by_label("Token").fill(token)
    page.get_by_label("Note").fill("the city was meant")
    rows.first.focus()
    page.keyboard.press("y")  # Rome is right, and the next row has the focus
    page.keyboard.press("n")  # the Nile is wrong
    page.locator("tr.decided").nth(1).wait_for()
    page.keyboard.press("u")  # the correction is undone
    says(page, "#grades-message", "as before any correction")
    assert rows.nth(0).locator("[data-cell]").inner_text() == "✓ right"
    history = [item.split(" by ann")[0] for item in rows.nth(1).locator(".history li").all_inner_texts()]
    assert history == ["wrong", "undone"]
    assert all(item.endswith("the city was meant") for item in rows.locator(".history li").all_inner_texts())
    page.reload()
    page.get_by_role("link", name="Leaderboard by the grading").click()
    page.locator("table.board").wait_for()
    assert accuracy(page, "&grading=reviewed") == accuracy(page) == "0.667" and accuracy(page, "&grading=imported") == "0.333"


def test_answers_are_drawn_and_then_reviewed(page, token):
    page.goto("/gradings?dataset=drawn")
    draw = page.get_by_role("button", name="Draw at random for review")
    draw.click()
    says(page, "#grades-message", "asks for a token")
    page.get_by_label("Token").fill(token)
    page.get_by_label("Answers", exact=True).fill("2")
    draw.click()
    page.wait_for_url("**show=drawn**")
    rows = page.locator("tr[data-graded]")
    rows.nth(1).wait_for()
    wait_for_rest(page)
    assert not grave_violations(page)
    assert page.get_by_text("2 answers of 2 questions drawn at random for review by ann").count() == 1
    rows.first.focus()
    page.keyboard.press("y")
    page.locator("tr.decided").first.wait_for()
    page.reload()
    page.get_by_text("1 reviewed").wait_for()
    assert rows.count() == 1
