"""Attributes of questions in a browser: a value is chosen and becomes a chip, and an attribute divides the table of slices."""

import pytest

from tests.helpers.bundle_factory import table, write
from tests.helpers.page_actions import api, eventually, pairs, path

DATASET = ("dataset", "polyglot")
ODD = 'who\'s asked, "net" & 50%'
HEADS = """() => [...document.querySelectorAll("table.across thead th")].map((cell) => cell.firstChild.textContent)"""


@pytest.fixture(scope="module")
def polyglot(server, cli_process, tmp_path_factory):
    """Add a dataset to the server's store whose questions have a language and an attribute with an odd name."""
    questions = [
        {"question_id": f"q{n:02}", "answer": "Nile", "language": ("fr", "ar")[n % 2], ODD: ("yes", "no", "")[n % 3]}
        for n in range(24)
    ]
    answers = [
        {"model": model, "question_id": f"q{n:02}", "guess": "Nile", "confidence": round((n + 1) / 25, 2)}
        for model in ("a", "b")
        for n in range(24)
    ]
    facts = {"dataset": "polyglot", "kind": "single", "title": "Polyglot"}
    folder = tmp_path_factory.mktemp("bundles") / "polyglot"
    write(folder, facts, questions=table(questions), clues=None, responses=table(answers))
    done = cli_process("import", folder, store=server.store)
    assert done.returncode == 0, done.stderr


def test_questions_are_chosen_by_attributes(page, polyglot):
    page.goto("/questions?dataset=polyglot")
    page.locator(".filters label", has=page.get_by_text("fr", exact=True)).click()
    chosen = ("attr.language", "fr")
    eventually(page, lambda: _questions(page, [DATASET, chosen]))
    page.locator(".filters label", has=page.get_by_text("yes", exact=True)).click()
    eventually(page, lambda: _questions(page, [DATASET, chosen, (f"attr.{ODD}", "yes")]))


def _questions(page, query):
    assert pairs(page) == sorted(query)
    total = api(page, "questions", query)["total"]
    assert 0 < total < 24 and f"{total} questions" in page.locator("#content").inner_text()


def test_a_column_of_slices_leads_to_its_questions(page, polyglot):
    page.goto("/slices?dataset=polyglot&by=attr.language&metric=brier")
    eventually(page, lambda: page.evaluate(HEADS) == ["Run", "All", "ar", "fr"])
    page.locator("table.across thead a", has_text="fr").click()
    eventually(page, lambda: _leaderboard(page, [DATASET, ("attr.language", "fr")]))


def _leaderboard(page, query):
    assert path(page) == "/" and set(query) <= set(pairs(page))
    assert "12 questions" in page.locator("#content").inner_text()
