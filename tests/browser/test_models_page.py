"""Six models on three datasets in two months, in a wide and a narrow window: each is one after one confirmation."""

import pytest

from clueline.data.store import open_store
from tests.helpers.model_families import MODELS, MONTHS, TOOLS, fill
from tests.helpers.page_actions import api, eventually
from tests.helpers.page_walk import follow, shown

# Texts of menus that do not fit into them.
CUT = """() => [...document.querySelectorAll("#content .dash-dropdown-value")].filter((one) => one.scrollWidth > one.clientWidth)
    .map((one) => one.innerText)"""
SOME = MODELS[:6]
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def families(serving, tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    fill(open_store(folder / "store", threads=1), folder / "files", SOME)
    return serving(folder / "store", uploads="open")


def merge(page):
    """Accept the first proposal in the page, and the others as the page would, to save time."""
    follow(page, "/models")
    shown(page)
    page.get_by_role("button", name="Make").first.click()
    page.locator("dialog.change").get_by_role("button", name="Make one").click()
    eventually(page, lambda: page.locator("#content table tbody tr").count() == 3 * len(SOME) - 2)
    for group in api(page, "models")["proposals"]:
        assert page.request.post("/api/v1/models/merge", data={"models": group, "into": min(group, key=len)}).ok


def test_each_model_is_one_and_its_months_differ(visit, families):
    for width in (1440, 390):
        page = visit(on=families, width=width)
        page.goto("/metrics")
        if width == 1440:
            merge(page)
        follow(page, "/models")
        shown(page)
        assert page.locator("#content table tbody tr").count() == len(SOME)
        assert page.evaluate(TOO_WIDE) <= 0
        follow(page, "/across")
        shown(page)
        rows = page.locator("#content table.across tbody tr")
        assert rows.count() == len(SOME)
        assert page.locator("#content table.across tbody td.number a").count() == len(SOME) * len(TOOLS)
        assert page.evaluate(TOO_WIDE) <= 0
        name = TOOLS["towns"](SOME[0])
        one, other = (row["run"] for row in api(page, "leaderboard", dataset="towns", model=name, nights=1)["rows"])
        follow(page, f"/compare?dataset=towns&a={one}&b={other}")
        shown(page)
        assert page.evaluate(CUT) == [] and page.evaluate(TOO_WIDE) <= 0
        chosen = [page.locator(f".filter-{key} .dash-dropdown-value").inner_text() for key in "ab"]
        assert sorted(chosen) == [f"{name} · {month}-15" for month in MONTHS]


def test_an_open_server_asks_for_a_token_to_delete(visit, families):
    page = visit(on=families, despite="/delete")
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
