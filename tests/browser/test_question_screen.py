"""The question page is one screen: text, figure and answers are in view together, from few runs to many."""

import random
import shutil
from pathlib import Path

import pytest

from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, write
from tests.helpers.page_actions import answers, cursor, eventually
from tests.helpers.page_rest import let_scripts_run

CLUES, WORDS, TEAMS = 6, 22, 8
RUNS = (3, 10, 30)
SIZES = ((1440, 900), (1280, 720), (390, 844))
SUREST = 8  # answers in view beside text and figure
BOX = "(one) => { const { top, bottom, left, right } = one.getBoundingClientRect(); return { top, bottom, left, right }; }"
# Whether a row of the answers is neither below the window nor outside the list, which scrolls.
ROWS_IN_VIEW = """() => [...document.querySelectorAll("#answers tbody:not([hidden]) tr[data-run]")].map((row) => {
    const { top, bottom } = row.getBoundingClientRect(), list = row.closest(".scroll").getBoundingClientRect();
    return top >= Math.max(0, list.top) && bottom <= Math.min(innerHeight, list.bottom) + 1;
})"""


def bundle(folder, runs):
    """Write a dataset of two questions that teams and runs answer. Names and guesses are as long as real ones."""
    draw = random.Random(runs)
    clues, responses = ["question_id,clue,text"], ["question_id,clue,guess,confidence,model"]
    exposures, buzzes = ["question_id,match_id,team,team_kind"], ["question_id,match_id,team,word,correct"]
    for question in ("q1", "q2"):
        clues += [f"{question},{clue},{' '.join(['uncomfortable'] * WORDS)}" for clue in range(CLUES)]
        for team in range(TEAMS):
            exposures.append(f"{question},m{team},Team {team},human")
            buzzes.append(f"{question},m{team},Team {team},{20 + 15 * team},{team % 3 > 0:d}")
        for run in range(runs):
            for clue in range(CLUES):
                guess = "The Treaty of Westphalia" if draw.random() < clue / CLUES else "The Peace of God movement"
                responses.append(f"{question},{clue},{guess},{draw.random():.3f},lab/a-model-{run:02}-instruct")
    tables = {"clues": clues, "responses": responses, "exposures": exposures, "buzzes": buzzes}
    facts = {"dataset": f"runs-{runs}", "kind": "incremental", "title": f"{runs} runs"}
    questions = "question_id,answer\nq1,Treaty of Westphalia [accept Westphalia]\nq2,Treaty of Westphalia\n"
    return write(folder, facts, questions=questions, **{name: "\n".join(lines) + "\n" for name, lines in tables.items()})


@pytest.fixture(scope="module")
def crowded(serving, seeded, tmp_path_factory):
    """A server with a dataset for each number of runs."""
    folder = tmp_path_factory.mktemp("crowded")
    store = Path(shutil.copytree(seeded, folder / "store"))
    for runs in RUNS:
        put(open_store(store), bundle(folder / str(runs), runs))
    return serving(store)


def opened(page, address):
    page.goto(address)
    eventually(page, lambda: bool(answers(page)) and cursor(page) is not None)


def moved_from(page, word):
    """Wait until the cursor of the figure has left a word."""
    eventually(page, lambda: cursor(page) not in (None, word))


def figure_in_view(page):
    """Wait until the whole figure is within the window."""

    def check():
        box = page.locator(".figure-clues").evaluate(BOX)
        width, height = page.evaluate("[innerWidth, innerHeight]")
        assert 0 <= box["top"] < box["bottom"] <= height and 0 <= box["left"] < box["right"] <= width, box
        plot = page.locator(".figure-clues .js-plotly-plot").evaluate(BOX)
        assert box["top"] <= plot["top"] and plot["bottom"] <= box["bottom"]

    eventually(page, check)


@pytest.mark.parametrize("runs", RUNS)
def test_figure_text_and_surest_answers_are_in_view_at_once(visit, crowded, runs):
    for width, height in SIZES:
        page = visit(on=crowded, width=width, height=height)
        opened(page, f"/questions/runs-{runs}/q1")
        figure_in_view(page)
        assert page.evaluate("scrollY") == 0
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        if width > 1000:
            page.wait_for_function(f"({ROWS_IN_VIEW})().slice(0, {SUREST}).every(Boolean)")
            assert sum(page.evaluate(ROWS_IN_VIEW)) >= min(runs, SUREST)
            for clue in range(CLUES):  # the text scrolls in its box, and the page stays
                box, text = (page.locator(place).evaluate(BOX) for place in ("#clues .now", "#clues"))
                assert text["top"] - 1 <= box["top"] and box["bottom"] <= text["bottom"] + 1, clue
                page.keyboard.press("ArrowRight")
            assert page.evaluate("scrollY") == 0
        else:
            for place in ("#clues [data-clue='5']", "#answers tr[data-run] >> nth=1"):
                page.locator(place).scroll_into_view_if_needed()
                figure_in_view(page)
            before = cursor(page)
            page.locator("#clues [data-clue='2']").click()
            moved_from(page, before)
            figure_in_view(page)


def test_it_opens_on_the_first_clue_and_the_answer_is_asked_for(visit, crowded):
    """A choice keeps the answer open, on later pages and visits too. Links to a clue lead to it as before."""
    page = visit(on=crowded)
    opened(page, "/questions/runs-3/q1")
    assert page.locator("#clues .now").get_attribute("data-clue") == "0"
    answer = page.locator(".answer-line .answer")
    assert "Westphalia" not in page.locator("h1").inner_text() and "Westphalia" not in page.title()
    assert not answer.is_visible()
    page.locator(".answer-line summary").click()
    assert answer.inner_text() == "Treaty of Westphalia [accept Westphalia]"
    page.locator(".bar .method summary").click()  # what unfolds above leaves the figure in view
    figure_in_view(page)

    page.keyboard.press("n")
    page.wait_for_url("**/q2*")
    page.locator(".question-heading code", has_text="q2").wait_for()
    let_scripts_run(page, 300)
    assert not answer.is_visible()
    page.locator(".answer-line summary").click()
    page.get_by_role("button", name="Always show").click()
    page.keyboard.press("p")
    page.locator(".question-heading code", has_text="q1").wait_for()
    answer.wait_for(state="visible")
    opened(page, "/questions/runs-3/q2?clue=4")
    answer.wait_for(state="visible")
    assert page.locator("#clues .now").get_attribute("data-clue") == "4"


def test_buzzes_of_people_and_of_runs_are_in_the_text(visit, crowded):
    page = visit(on=crowded)
    opened(page, "/questions/runs-10/q1?threshold=0.5")
    assert page.locator("#clues .tick:not(.run)").count() == TEAMS
    marks = page.locator("#clues .tick.run").evaluate_all("marks => marks.map((mark) => mark.getAttribute('aria-label'))")
    named = [name for mark in marks for name in mark.partition(" buzz of ")[2].split(", ")]
    shown = page.evaluate(
        """() => [...document.querySelectorAll("#answers tbody:not([hidden]) tr[data-run]")]
            .filter((row) => /^clue/.test([...row.cells].find((cell) => /^(clue \\d+|never|–)$/.test(cell.innerText)).innerText))
            .map((row) => row.querySelector("th").innerText)"""
    )
    assert sorted(named) == sorted(shown) and len(named) > 3
