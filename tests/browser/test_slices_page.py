"""Slices in a browser: runs by category for a chosen metric, and the questions that no run answered correctly."""

from tests.helpers.page_actions import api, chip, choose, eventually, heading, pairs, path, written

PYRAMID = ("dataset", "pyramid")
REGION = """(name) => [...document.querySelectorAll(".scroll[role=region]")]
    .filter((region) => region.getAttribute("aria-label").includes(name))
    .slice(0, 1).flatMap((region) => [...region.querySelectorAll("tbody tr")].map((row) =>
        [...row.children].map((cell) => cell.firstChild ? cell.firstChild.textContent : "")))"""


def shows(page, query, metric):
    """Wait until the values of the first table are those of a query string."""
    parts = api(page, "breakdown", query, by="category", metrics=metric)["parts"]
    expected = {row["run"]: [] for row in parts[0]["rows"]}
    for part in parts:
        for row in part["rows"]:
            expected[row["run"]].append(written(row["metrics"][metric]["value"]))

    def check():
        rows = page.evaluate(REGION, " by category")
        runs = [row[2:] for row in rows if row[0] != "Mean of the runs"]
        assert sorted(runs) == sorted(expected.values())

    eventually(page, check)


def unsolved(page, query):
    """Wait until the questions that no run answered correctly are those of a query string."""
    questions = api(page, "unsolved", query)["questions"]

    def check():
        rows = page.evaluate(REGION, "no run answered correctly")
        assert [row[4] for row in rows] == [f"{question['runs']:,}" for question in questions[:20]]
        assert [row[6] for row in rows] == [written(question["highest_confidence"]) for question in questions[:20]]

    eventually(page, check)
    return questions


def test_categories_and_unsolved_questions(page):
    page.goto("/slices?dataset=pyramid")
    page.wait_for_selector("table.across")
    assert heading(page) == "Slices"
    shows(page, [PYRAMID], "overconfidence")
    choose(page, "metric", "Brier score")
    eventually(page, lambda: _address(page, [PYRAMID, ("metric", "brier")]))
    shows(page, [PYRAMID], "brier")
    first, *_ = unsolved(page, [PYRAMID])
    chip(page, "category", first["category"]).click()
    chosen = [("category", first["category"]), PYRAMID, ("metric", "brier")]
    eventually(page, lambda: _address(page, chosen))
    unsolved(page, chosen[:2])
    page.get_by_role("region", name="no run answered correctly").locator("tbody a").first.click()
    eventually(page, lambda: _is_question(page, first["question_id"]))
    page.go_back()
    unsolved(page, chosen[:2])


def _address(page, query):
    assert pairs(page) == query


def _is_question(page, question):
    assert path(page) == f"/questions/pyramid/{question}"
