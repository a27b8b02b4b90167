"""Twenty models on three datasets in two months, in a wide and a narrow window: each is one after one confirmation."""

import json
import urllib.request

import pytest

from data.store import open_store
from tests.helpers.model_families import MODELS, MONTHS, TOOLS, fill
from tests.helpers.page_actions import eventually
from tests.helpers.page_visits import Visit
from tests.helpers.page_walk import follow, shown
from tests.helpers.serving import start_server

# Texts of menus that do not fit into them.
CUT = """() => [...document.querySelectorAll("#content .dash-dropdown-value")].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.innerText)"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    fill(open_store(folder / "store", threads=1), folder / "files")
    served = start_server(folder / "store", folder / "log", workers=1, uploads="open")
    yield served
    served.stop()


def merge(page):
    """Accept the first proposal in the page, and the others as the page would, to save time."""
    follow(page, "/models")
    shown(page)
    page.get_by_role("button", name="Make").first.click()
    page.locator("dialog.change").get_by_role("button", name="Make one").click()
    eventually(page, lambda: page.locator("#content table tbody tr").count() == 3 * len(MODELS) - 2)
    address = page.url.partition("/models")[0] + "/api/v1/models"
    with urllib.request.urlopen(address) as answer:
        proposals = json.load(answer)["proposals"]
    for group in proposals:
        body = json.dumps({"models": group, "into": min(group, key=len)}).encode()
        urllib.request.urlopen(urllib.request.Request(f"{address}/merge", body, {"Content-Type": "application/json"})).close()


def test_each_model_is_one_and_its_months_differ(browser, server):
    for width in (1440, 390):
        visit = Visit(browser, server, width=width)
        page = visit.page
        page.goto("/metrics")
        if width == 1440:
            merge(page)
        follow(page, "/models")
        shown(page)
        assert page.locator("#content table tbody tr").count() == len(MODELS)
        assert page.evaluate(TOO_WIDE) <= 0
        follow(page, "/across")
        shown(page)
        rows = page.locator("#content table.across tbody tr")
        assert rows.count() == len(MODELS)
        assert page.locator("#content table.across tbody td.number a").count() == len(MODELS) * len(TOOLS)
        assert page.evaluate(TOO_WIDE) <= 0
        name = TOOLS["towns"](MODELS[0])
        with urllib.request.urlopen(f"{server.address}/api/v1/leaderboard?dataset=towns&model={name}") as answer:
            one, other = (row["run"] for row in json.load(answer)["rows"])
        follow(page, f"/compare?dataset=towns&a={one}&b={other}")
        shown(page)
        assert page.evaluate(CUT) == [] and page.evaluate(TOO_WIDE) <= 0
        chosen = [page.locator(f".filter-{key} .dash-dropdown-value").inner_text() for key in "ab"]
        assert sorted(chosen) == [f"{name} · {month}-15" for month in MONTHS]
        visit.close()
        assert not visit.complaints


def test_an_open_server_asks_for_a_token_to_delete(browser, server):
    visit = Visit(browser, server, allow=(401,))
    page = visit.page
    page.goto("/runs?dataset=peaks")
    page.locator("button[data-change=withdraw]").first.click()
    page.locator("dialog.change").get_by_role("button", name="Withdraw").click()
    page.get_by_role("button", name="Undo").wait_for()
    assert page.get_by_label("Token").count() == 0
    page.get_by_role("button", name="for good").click()
    page.locator("dialog.change input").fill("any")
    page.locator("dialog.change").get_by_role("button", name="Delete for good").click()
    page.get_by_label("Token").wait_for()
    page.get_by_role("button", name="Restore").click()
    eventually(page, lambda: page.get_by_role("button", name="Restore").count() == 0)
    visit.close()
    assert not [complaint for complaint in visit.complaints if "/delete" not in complaint]
