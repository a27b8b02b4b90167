"""The writer's desk in a browser: guesses follow what is typed, drafts are kept, bundles downloaded and saved."""

import json
import zipfile

import pytest

from tests.helpers.browser_bundles import IMAGE
from tests.helpers.page_actions import api, choose, eventually, says, traces
from tests.helpers.page_rest import wait_for_rest

HARD = "It was written in a wet summer."
GIVEAWAY = "Name this novel by Mary Shelley in which Victor stitches a giant together."
ANSWER = "Frankenstein [accept The Modern Prometheus]"


@pytest.fixture
def desk(visit):
    return opened(visit())


def opened(page):
    page.goto("/write")
    page.get_by_label("Question, hardest").wait_for()
    wait_for_rest(page)
    return page


def write(page, text=None, answer=None):
    for label, typed in (("Question, hardest", text), ("Answer line", answer)):
        if typed is not None:
            page.get_by_label(label).fill(typed)


def shows(page, words):
    says(page, ".draft-now", words)


def listed(page):
    return page.locator(".write-questions button").all_inner_texts()


def saved(page, words):
    says(page, "#write-saved", words)


def test_guesses_follow_what_is_typed(desk):
    box = desk.get_by_label("Question, hardest")
    box.press_sequentially(HARD)
    shows(desk, "1 sentence, 7 words.")
    shows(desk, "Type the answer line as well")
    box.press_sequentially(f" {GIVEAWAY}")
    shows(desk, "2 sentences, 20 words.")
    assert box.evaluate("box => box === document.activeElement") and box.input_value() == f"{HARD} {GIVEAWAY}"
    write(desk, answer="Dracula")
    shows(desk, "Misleading: TF-IDF words is")
    write(desk, answer=ANSWER)
    shows(desk, "No warnings.")
    wait_for_rest(desk)
    lines = {trace["name"]: trace for trace in traces(desk, "draft") if len(trace["x"]) == 2}
    assert {*lines} == {"TF-IDF words", "TF-IDF characters", "BM25", "LSA 64"}
    assert {line["symbol"][1] for line in lines.values()} == {"circle"}
    rows = desk.locator(".draft-guesses tbody tr").all_inner_texts()
    assert len(rows) == 4 and all("Frankenstein" in row and "the answer line has it" in row for row in rows)
    desk.get_by_text("As a table").click()
    assert "Frankenstein ✓" in desk.get_by_role("region", name="Guesses by sentence").inner_text()
    desk.get_by_label("Id of the dataset").fill("summer")
    choose(desk, "confidence_from", "Margin")
    eventually(desk, lambda: _moved(desk, lines["BM25"]["y"]))
    assert box.input_value() == f"{HARD} {GIVEAWAY}" and desk.get_by_label("Id of the dataset").input_value() == "summer"
    write(desk, text="word " * 2001)
    shows(desk, "The text has 2,001 words; it can have 2,000.")
    assert len(box.input_value()) == 5 * 2001


def _moved(page, before):
    (line,) = [trace for trace in traces(page, "draft") if trace["name"] == "BM25" and len(trace["x"]) == 2]
    assert line["y"] != before


def test_a_draft_is_kept(desk):
    write(desk, f"{HARD} {GIVEAWAY}", ANSWER)
    desk.get_by_role("button", name="New question").click()
    long = f"{IMAGE}{'x' * 300} [accept y]"
    write(desk, "It is a capital.", long)
    desk.get_by_label("Category", exact=True).fill("Geography")
    eventually(desk, lambda: len(listed(desk)) == 2)
    desk.reload()
    desk.get_by_label("Question, hardest").wait_for()
    shows(desk, "1 sentence, 4 words.")
    assert desk.get_by_label("Answer line").input_value() == long
    assert desk.get_by_label("Category", exact=True).input_value() == "Geography"
    names = listed(desk)
    assert names[0] == ANSWER and names[1].endswith("…") and len(names[1]) == 60
    assert not desk.locator("#content img").count()
    assert desk.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    desk.get_by_role("button", name="Delete this question").click()
    shows(desk, "2 sentences, 20 words.")
    assert listed(desk) == [ANSWER]
    desk.get_by_role("button", name="Undo").click()
    shows(desk, "1 sentence, 4 words.")
    desk.get_by_role("link", name="Datasets", exact=True).click()
    desk.wait_for_url("**/datasets*")
    desk.go_back()
    desk.get_by_label("Question, hardest").wait_for()
    assert listed(desk) == names and desk.get_by_label("Answer line").input_value() == long


def test_a_bundle_is_downloaded_and_becomes_a_dataset(visit, serving, copied):
    page = opened(visit(on=serving(copied, uploads="open"), width=390, despite="/api/v1/write/bundle"))
    download = page.get_by_role("button", name="Download as a bundle")
    download.click()
    saved(page, "There are no questions yet.")
    write(page, f"{HARD} {GIVEAWAY}")
    download.click()
    saved(page, "Question 1 has no answer line.")
    write(page, answer=ANSWER)
    page.get_by_label("Id of the dataset").fill("No id")
    download.click()
    saved(page, "lower-case letters, digits and hyphens")
    page.get_by_label("Id of the dataset").fill("summer")
    with page.expect_download() as file:
        download.click()
    assert file.value.suggested_filename == "summer.zip"
    with zipfile.ZipFile(file.value.path()) as bundle:
        assert json.loads(bundle.read("dataset.json"))["dataset"] == "summer"
        assert ANSWER in bundle.read("questions.csv").decode()
    page.get_by_role("button", name="Save as a dataset").click()
    saved(page, "Saved: its questions.")
    assert api(page, "questions", dataset="summer")["total"] == 1
    assert len(api(page, "runs", dataset="summer")["runs"]) == 8
    page.get_by_role("link", name="its questions").click()
    page.wait_for_url("**/questions?dataset=summer")
