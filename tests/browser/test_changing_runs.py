"""Withdrawing and restoring on the page of runs, with a token that is asked for and never appears in an address."""

import json

import pytest

from data.store.register import FolderRegister
from data.store.tokens_and_readers import Tokens
from tests.helpers.page_actions import eventually, fetched
from tests.helpers.page_visits import Visit


@pytest.fixture
def runs_page(browser, served):
    """A page on a separate server. A refusal by the API is not a complaint."""
    visit = Visit(browser, served)
    yield visit.page, served
    refused = [complaint for complaint in visit.complaints if not ("/api/v1/runs" in complaint and "status of 40" in complaint)]
    visit.close()
    assert not refused, refused


def message_is(page, text):
    def shows():
        assert text in page.locator("#change-message").inner_text()

    eventually(page, shows)


def confirm(page, button, reason):
    """Withdraw a run with a reason."""
    button.click()
    page.locator("dialog.change").get_by_label("Reason").fill(reason)
    page.locator("dialog.change").get_by_role("button", name="Withdraw").click()


def test_a_run_is_withdrawn_and_restored(runs_page):
    page, served = runs_page
    token = Tokens(FolderRegister(served.store)).create("ann")
    page.goto("/runs?dataset=pyramid")
    button = page.locator("button[data-change=withdraw]").first
    button.wait_for()
    run, name = button.get_attribute("data-run"), button.get_attribute("data-name")
    button.click()
    message_is(page, "asks for a token")  # nothing was sent
    page.get_by_label("Token").fill("clueline_wrong")
    confirm(page, button, "wrong file")
    message_is(page, "does not know this token")
    assert json.loads(fetched(page, f"/api/v1/runs/{run}")[1])["withdrawn_at"] is None
    page.get_by_label("Token").fill(token)
    confirm(page, button, "wrong file")
    message_is(page, f"{name} (run {run}) was withdrawn.")
    facts = json.loads(fetched(page, f"/api/v1/runs/{run}")[1])
    assert facts["withdrawn_at"] and (facts["withdrawn_by"], facts["withdrawn_reason"]) == ("ann", "wrong file")
    assert page.get_by_label("Token").input_value() == token and token not in page.url  # the token lasts as long as the tab
    assert page.evaluate("(token) => !JSON.stringify(window.localStorage).includes(token)", token)
    page.get_by_role("button", name="Undo").click()
    message_is(page, "Undone.")
    assert json.loads(fetched(page, f"/api/v1/runs/{run}")[1])["withdrawn_at"] is None
