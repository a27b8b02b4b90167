"""What an analyst asks most is answered in few clicks, which are counted."""

from types import SimpleNamespace

from clueline.dashboard.views.leaderboard.table import letters
from tests.helpers.page_actions import BOARD, api, eventually, pairs, path
from tests.helpers.page_rest import wait_for_rest

LETTERS = """() => Object.fromEntries([...document.querySelectorAll("table.board tr[data-run]")].map((row) =>
    [row.dataset.run, row.querySelector("td[data-metric=ece] .letters")?.innerText]))"""
LISTED = "() => [...document.querySelectorAll('#drawer tbody tr')].map((row) => row.innerText)"


class Clicks:
    """Counts the clicks on a page."""

    def __init__(self, page):
        self.page, self.count = page, 0

    def click(self, locator):
        locator.first.click()
        self.count += 1
        wait_for_rest(self.page)


def overview(page):
    page.goto("/?dataset=pyramid")
    page.locator("table.board td a.behind").first.wait_for()
    wait_for_rest(page)
    return Clicks(page)


def test_the_surest_mistake_of_the_worst_run_in_three_clicks(page):
    mouse = overview(page)
    worst = max(page.evaluate(BOARD), key=lambda row: float(row["metrics"]["ece"]))["run"]
    mouse.click(page.locator(f"tr[data-run='{worst}'] td[data-metric=ece] a"))
    page.locator("#drawer tbody tr").first.wait_for()
    answers = api(page, "items", dataset="pyramid", common=1, focus=worst, limit=1000)["items"]
    surest = max((answer for answer in answers if answer["correct"] == 0), key=lambda answer: answer["confidence"])
    mouse.click(page.locator("#drawer tbody a"))
    eventually(page, lambda: _shows(page, surest))
    assert mouse.count <= 3


def _shows(page, answer):
    assert path(page) == f"/questions/pyramid/{answer['question_id']}" and ("clue", str(answer["clue"])) in pairs(page)
    assert answer["guess"] in page.locator("#answers").inner_text()


def test_which_of_two_runs_is_better_calibrated_in_four_clicks(page):
    mouse = overview(page)
    mouse.click(page.locator(".filter-category label", has_text="History"))
    mouse.click(page.get_by_role("button", name="ECE"))
    rows = api(page, "leaderboard", dataset="pyramid", category="History", metrics="ece", intervals=1)["rows"]
    # Two runs that share a letter are not shown to differ.
    wanted = {row["run"]: letters(SimpleNamespace(letters=row["metrics"]["ece"]["letters"])) for row in rows}
    eventually(page, lambda: page.evaluate(LETTERS) == wanted and all(wanted.values()))
    assert ("category", "History") in pairs(page) and mouse.count <= 4


def test_a_colleague_sees_the_same_view_in_two_clicks(visit):
    page = visit()
    mouse = overview(page)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.locator("table.board td[data-metric=ece] a.behind").first.click()
    page.locator("#drawer tbody tr").first.wait_for()
    mouse.click(page.locator("#drawer").get_by_role("button", name="Copy link"))
    copied = page.evaluate("navigator.clipboard.readText()")
    colleague = visit(new_context=True)
    colleague.goto(copied)
    colleague.locator("#drawer tbody tr").first.wait_for()
    assert colleague.evaluate(BOARD) == page.evaluate(BOARD)
    assert colleague.evaluate(LISTED) == page.evaluate(LISTED) != []
    assert mouse.count + 1 <= 2  # opening the link is a click, too
