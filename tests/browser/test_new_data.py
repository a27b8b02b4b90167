"""Open pages say that there is new data, and stay as they are until somebody asks for it."""

import pytest

from data.store import open_store
from data.store.run_withdrawal import withdraw
from tests.helpers.page_actions import board, eventually
from tests.helpers.page_visits import Visit


@pytest.fixture
def page(browser, served):
    visit = Visit(browser, served)
    yield visit.page
    visit.close()
    assert not visit.complaints


def test_new_data_is_offered_and_never_forced(page, served):
    page.clock.install()
    page.goto("/?dataset=pyramid")
    page.locator("table.board").wait_for()
    before = board(page)
    look = """() => document.dispatchEvent(new Event("visibilitychange"))"""
    page.evaluate(look)
    page.wait_for_timeout(500)
    assert not page.locator(".new-data").count()  # nothing is new
    withdraw(open_store(served.store), before[0]["run"], None)
    page.clock.fast_forward("00:21")
    page.locator(".new-data").wait_for()  # without a user's action, once its interval is over
    assert board(page) == before
    page.get_by_role("button", name="Not now").click()
    page.evaluate(look)
    page.wait_for_timeout(500)
    assert not page.locator(".new-data").count() and board(page) == before
    withdraw(open_store(served.store), before[1]["run"], None)
    page.evaluate(look)
    page.get_by_role("button", name="Refresh").click()
    eventually(page, lambda: _same({row["run"] for row in board(page)}, {row["run"] for row in before[2:]}))
    assert not page.locator(".new-data").count()


def test_a_page_that_is_redrawn_withdraws_the_offer(page, served):
    page.goto("/?dataset=pyramid")
    page.locator("table.board").wait_for()
    withdraw(open_store(served.store), board(page)[0]["run"], None)
    page.evaluate("""() => document.dispatchEvent(new Event("visibilitychange"))""")
    page.locator(".new-data").wait_for()
    page.get_by_role("link", name="Data", exact=True).click()
    page.locator(".new-data").wait_for(state="detached")


def _same(value, other):
    assert value == other
