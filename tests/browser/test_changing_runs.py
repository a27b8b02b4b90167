"""Pages while runs change: one is withdrawn and restored, new data is offered, runs get release dates."""

import shutil
from pathlib import Path

import pytest

from clueline.data.store import open_store
from clueline.data.store.register import FolderRegister
from clueline.data.store.run_withdrawal import withdraw
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.page_actions import api, board, eventually, says


@pytest.fixture(scope="module")
def changing(serving, seeded, tmp_path_factory):
    """A server whose runs the tests change."""
    return serving(Path(shutil.copytree(seeded, tmp_path_factory.mktemp("changing") / "store")))


@pytest.fixture
def page(visit, changing):
    """A refusal by the API is not a complaint."""
    return visit(on=changing, despite=r"status of 40\d .*/api/v1/runs")


def message_is(page, text):
    says(page, "#change-message", text)


def confirm(page, button, reason):
    """Withdraw a run with a reason."""
    button.click()
    page.locator("dialog.change").get_by_label("Reason").fill(reason)
    page.locator("dialog.change").get_by_role("button", name="Withdraw").click()


def test_a_run_is_withdrawn_and_restored(changing, page):
    token = Tokens(FolderRegister(changing.store)).create("ann")
    page.goto("/runs?dataset=pyramid")
    button = page.locator("button[data-change=withdraw]").first
    button.wait_for()
    run, name = button.get_attribute("data-run"), button.get_attribute("data-name")
    button.click()
    message_is(page, "asks for a token")  # nothing was sent
    page.get_by_label("Token").fill("clueline_wrong")
    confirm(page, button, "wrong file")
    message_is(page, "does not know this token")
    assert api(page, f"runs/{run}")["withdrawn_at"] is None
    page.get_by_label("Token").fill(token)
    confirm(page, button, "wrong file")
    message_is(page, f"{name} (run {run}) was withdrawn.")
    facts = api(page, f"runs/{run}")
    assert facts["withdrawn_at"] and (facts["withdrawn_by"], facts["withdrawn_reason"]) == ("ann", "wrong file")
    assert page.get_by_label("Token").input_value() == token and token not in page.url  # the token lasts as long as the tab
    assert page.evaluate("(token) => !JSON.stringify(window.localStorage).includes(token)", token)
    page.get_by_role("button", name="Undo").click()
    message_is(page, "Undone.")
    assert api(page, f"runs/{run}")["withdrawn_at"] is None


def test_new_data_is_offered_and_never_forced(changing, page):
    page.clock.install()
    page.goto("/?dataset=pyramid")
    page.locator("table.board").wait_for()
    before = board(page)
    look = """() => document.dispatchEvent(new Event("visibilitychange"))"""
    page.evaluate(look)
    page.wait_for_timeout(500)
    assert not page.locator(".new-data").count()  # nothing is new
    withdraw(open_store(changing.store), before[0]["run"], None)
    page.clock.fast_forward("00:21")
    page.locator(".new-data").wait_for()  # without a user's action, once its interval is over
    assert board(page) == before
    page.get_by_role("button", name="Not now").click()
    page.evaluate(look)
    page.wait_for_timeout(500)
    assert not page.locator(".new-data").count() and board(page) == before
    withdraw(open_store(changing.store), before[1]["run"], None)
    page.evaluate(look)
    page.get_by_role("button", name="Refresh").click()
    eventually(page, lambda: {row["run"] for row in board(page)} == {row["run"] for row in before[2:]})
    assert not page.locator(".new-data").count()
    withdraw(open_store(changing.store), before[2]["run"], None)
    page.evaluate(look)
    page.locator(".new-data").wait_for()
    page.get_by_role("link", name="Data", exact=True).click()
    page.locator(".new-data").wait_for(state="detached")  # a page that is redrawn withdraws the offer
