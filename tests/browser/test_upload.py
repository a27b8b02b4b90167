"""Uploading in a browser: a file is dropped, tried, decided about, published; bad ones are explained; typed text is kept."""

import csv
import io
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.browser_bundles import BOLD, IMAGE, SCRIPT, TURNED
from tests.helpers.bundle_factory import PEOPLE, write
from tests.helpers.page_actions import api, board, eventually, fetched, says
from tests.helpers.paths import ROOT

DROP = """(files) => {
    const moved = new DataTransfer();
    for (const [name, content] of files) moved.items.add(new File([content], name, { type: "text/csv" }));
    const place = document.querySelector(".drop");
    for (const kind of ["dragenter", "dragover", "drop"]) {
        place.dispatchEvent(new DragEvent(kind, { dataTransfer: moved, bubbles: true, cancelable: true }));
    }
}"""


SLOW = 120_000  # ms in which several files are read one after another


@pytest.fixture(scope="module")
def shared(serving, seeded, tmp_path_factory):
    """A server that takes uploads, and a token."""
    server = serving(Path(shutil.copytree(seeded, tmp_path_factory.mktemp("uploads") / "store")))
    return server, Tokens(FolderRegister(server.store)).create("ann")


@pytest.fixture
def token(shared):
    return shared[1]


@pytest.fixture
def page(visit, shared, token):
    """The upload page with a token typed in. A refusal by the API is not a complaint."""
    page = visit(on=shared[0], new_context=False, despite="/api/v1/datasets")
    page.goto("/upload?dataset=pyramid")
    page.get_by_label("Token").fill(token)
    return page


def readme_file():
    """The first file of README, as its command writes it."""
    command = next(line for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines() if line.startswith("printf"))
    return subprocess.run(["sh", "-c", command.partition(" >")[0]], check=True, capture_output=True, text=True).stdout


def rows(page):
    """The prompts of Pyramid."""
    return list(csv.DictReader(io.StringIO(fetched(page, "/api/v1/datasets/pyramid/prompts.csv")[1].decode(), newline="")))


def written(filled):
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, ["question_id", "clue", "guess", "confidence"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(filled)
    return out.getvalue()


def good(page, guess="Frankenstein"):
    return written([row | {"guess": guess, "confidence": 0.25} for row in rows(page)])


def drop(page, content, name="answers.csv"):
    page.evaluate(DROP, [[name, content]])


def message_is(page, text):
    says(page, "#upload-message", text)


def check_file(page):
    page.get_by_role("button", name="Check the file").click()
    message_is(page, "Nothing is stored yet")


def publish(page):
    page.get_by_role("button", name="Publish").click()
    message_is(page, "Published.")


def runs_of(page):
    return api(page, "runs", dataset="pyramid")["runs"]


def region(page, name):
    """Return the cells of a table of the result."""
    return (
        page.get_by_role("region", name=name, exact=True)
        .locator("tbody tr")
        .evaluate_all("rows => rows.map((row) => [...row.children].map((cell) => cell.innerText))")
    )


def test_several_files_are_published_with_one_report(page):
    """One of three is refused, with its reason; the others are published all the same."""
    before = runs_of(page)
    page.get_by_label("Elicitation").fill("several")

    def of_model(name, guess):
        header, *lines = good(page, guess).splitlines()
        return "\n".join([f"{header},model", *(f"{line},{name}" for line in lines)])

    content = {"one.csv": of_model("one", "Oslo"), "bad.csv": of_model("bad", "Rome"), "two.csv": of_model("two", "Bern")}
    content["bad.csv"] = content["bad.csv"].replace("0.25", "often", 1)
    page.evaluate(DROP, [[name, text] for name, text in content.items()])
    page.get_by_text("2 files can be published. 1 file refused. Nothing is stored yet.").wait_for(timeout=SLOW)
    assert runs_of(page) == before
    states = region(page, "Files")
    assert [row[:2] for row in states] == [
        ["one.csv", "can be published"],
        ["bad.csv", "refused"],
        ["two.csv", "can be published"],
    ]
    assert "one · several" in states[0][2] and "line 2" in states[1][2]
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("2 files published. 1 file refused.").wait_for(timeout=SLOW)
    new = [run for run in runs_of(page) if run not in before]
    assert [(run["model"], run["file_name"]) for run in new] == [("one", "one.csv"), ("two", "two.csv")]


def test_a_file_is_tried_then_published(page, token):
    before = fetched(page, "/readyz")[1]
    others = api(page, "leaderboard", dataset="pyramid", metrics="accuracy")["rows"]
    ranked = sum(row["metrics"]["accuracy"]["rank"] is not None for row in others)  # eight, and those of other tests
    page.get_by_label("Model").fill("Guesser")
    page.get_by_label("Elicitation").fill("flat")
    page.get_by_text("More about the file").click()
    page.get_by_label("Tags").fill("reasoning=yes, released")
    answers = rows(page)
    drop(page, good(page))
    message_is(page, "“released” is not a tag. Write a name and a value, such as reasoning=yes.")
    page.get_by_label("Tags").fill("reasoning=yes, released=2024-05-13")
    check_file(page)
    ((*run, state),) = region(page, "Runs")
    questions = len({row["question_id"] for row in answers})
    assert run == ["Guesser", "flat", f"{len(answers):,}", f"{questions:,}", "0", "0", "–"] and state == "new"
    assert region(page, "First answers")[0][:4] == [answers[0]["question_id"], "0", "Frankenstein", "0.250"]
    ranks = {row[2]: row[4] for row in region(page, "Ranks")}
    assert ranks["Accuracy"].endswith(f"of {ranked + 1}") and ranked >= 8
    assert fetched(page, "/readyz")[1] == before, "a dry run stored something"
    publish(page)
    assert token not in page.url
    page.get_by_role("link", name="on the leaderboard").click()
    page.locator("table.board").wait_for()
    new = eventually(page, lambda: next(row for row in board(page) if row["model"] == "Guesser"))
    facts = json.loads(fetched(page, f"/api/v1/runs/{new['run']}")[1])
    assert (facts["imported_by"], facts["file_name"], facts["items"]) == ("ann", "answers.csv", len(answers))
    assert facts["tags"] == {"reasoning": "yes", "released": "2024-05-13"}


def test_the_first_file_of_the_readme_goes_in_and_out_again(page):
    """From any page, without a choice: it is no file of the dataset of the address."""
    assert page.get_by_label("Dataset", exact=True).input_value() == ""
    drop(page, readme_file())
    message_is(page, "a new dataset of 2 questions, 2 runs, 4 answers. Nothing is stored yet.")
    assert {row[0] for row in region(page, "First answers")} == {"q1", "q2"}
    publish(page)
    page.get_by_role("link", name="on the leaderboard").first.click()
    page.locator("table.board").wait_for()
    assert {row["model"] for row in board(page)} == {"alpha", "beta"}
    page.go_back()
    page.goto("/runs?dataset=answers")
    for left in (1, 0):
        page.locator("button[data-change=withdraw]").first.click()
        page.locator("dialog.change").get_by_role("button", name="Withdraw").click()
        says(page, "#change-message", "was withdrawn")
        eventually(page, lambda left=left: len(api(page, "runs", dataset="answers", withdrawn="0")["runs"]) == left)
        page.goto("/runs?dataset=answers")


def test_a_dataset_without_a_files_questions_names_the_cure(page):
    """In the words of the file: its ids, and no hash of them. The cure is a button; any other choice checks again, too."""
    content = readme_file().replace("q1", "z1").replace("q2", "z2")
    page.get_by_label("Dataset", exact=True).select_option("pyramid")
    drop(page, content, name="pyramid-own.csv")
    message_is(page, "1 problem; nothing was tried: dataset 'pyramid' has none of the 2 questions of this file")
    assert [row[2] for row in region(page, "Bad rows")] == ["z1"]
    page.get_by_role("button", name="Make a new dataset of it").click()
    message_is(page, "a new dataset of 2 questions, 2 runs, 4 answers. Nothing is stored yet.")
    page.get_by_label("Dataset", exact=True).select_option("pyramid")  # checks again, unasked
    message_is(page, "1 problem")
    page.get_by_label("Dataset", exact=True).select_option("")
    message_is(page, "Nothing is stored yet.")

    texts = content.replace("question,", "prompt,").replace("z1", "Who wrote Emma?").replace("z2", "Which river is longest?")
    page.get_by_label("Dataset", exact=True).select_option("pyramid")
    drop(page, texts)
    eventually(page, lambda: [row[2] for row in region(page, "Bad rows")] == ["Who wrote Emma?"])


def test_a_file_of_a_dataset_is_found_by_its_ids(page):
    """Also if the address is about another dataset."""
    content = good(page)
    page.goto("/upload?dataset=tone")
    page.get_by_label("Model").fill("Found")
    drop(page, content)
    message_is(page, "Nothing is stored yet")
    assert page.get_by_label("Dataset", exact=True).input_value() == "pyramid"
    says(page, "#upload-result", "Its questions are those of Pyramid")


def test_a_bad_scale_is_mended_by_a_button(page):
    page.get_by_label("Model").fill("Percentages")
    drop(page, good(page).replace("0.25", "25"))
    message_is(page, "problems")
    page.get_by_role("button", name="Read the confidences as percentages").click()
    message_is(page, "Nothing is stored yet")
    assert region(page, "First answers")[0][3] == "0.250"


def test_a_bundle_becomes_a_dataset(page, tmp_path):
    responses = "question_id,clue,guess,confidence,model\nq1,0,Rome,0.25,Guesser\nq1,1,Paris,0.5,Guesser\n"
    folder = write(tmp_path / "toy", exposures=PEOPLE["exposures"], buzzes=PEOPLE["buzzes"], responses=responses)
    page.locator("#upload-dataset").select_option("a new dataset")
    page.get_by_label("Id of the dataset").fill("rivers")
    page.get_by_label("Title").fill("Rivers and cities")
    page.locator("#upload-file").set_input_files(shutil.make_archive(str(tmp_path / "toy"), "zip", folder))
    message_is(page, "a new dataset of 2 questions, 1 run, 2 answers. Nothing is stored yet.")
    assert region(page, "Datasets") == [["rivers", "Rivers and cities", "2", "2", "2", "0"]]
    assert [row[:3] for row in region(page, "Runs")] == [["Guesser", "verbalized", "2"]]
    publish(page)
    page.get_by_role("link", name="its questions").click()
    page.wait_for_url("**/questions?dataset=rivers")
    page.get_by_role("link", name="Paris").first.wait_for(timeout=120_000)


def test_wrong_rows_are_shown_by_kind_and_downloaded(page):
    page.get_by_label("Model").fill("Guesser")
    wrong = [row | {"guess": "x", "confidence": "85%", "clue": int(row["clue"]) + 1} for row in rows(page)]
    drop(page, written(wrong))
    message_is(page, "problems")
    kinds = region(page, "Kinds of problems")
    assert {row[0] for row in kinds} == {"confidence", "clue"}
    assert any(row[2] == "339" and "85% is written as 0.85" in row[1] and "line 2: “85%”" in row[3] for row in kinds)
    assert page.get_by_text("The clues seem to be counted from 1.").is_visible()
    assert not page.get_by_role("region", name="Bad rows").is_visible()
    page.get_by_text("Row by row").click()
    assert len(region(page, "Bad rows")) == 100

    page.get_by_label("Dataset", exact=True).select_option("")
    drop(page, "question_id,clue,guess,confidence\nlit-01,0,x,7\n=1+1,0,x,0.5\nlit-01,99,x,0.5\n")
    page.get_by_role("button", name="Import it into Pyramid").click()
    message_is(page, "3 problems")
    shown = region(page, "Bad rows")
    assert [row[0] for row in shown] == ["2", "3", "4"] and [row[2] for row in shown][:2] == ["7", "=1+1"]
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    with open(download.value.path(), encoding="utf-8", newline="") as file:
        head, *saved = csv.reader(file)
    assert head == ["file", "line", "column", "value", "reason"]
    assert [row[3] for row in saved][:2] == ["7", "'=1+1"]  # no formula
    assert page.get_by_role("button", name="Publish").is_disabled()
    assert page.get_by_label("Model").input_value() == "Guesser"
    drop(page, good(page))
    message_is(page, "Nothing is stored yet")
    assert not page.get_by_role("region", name="Bad rows").count()


def test_grades_are_decided_by_keyboard_and_markup_is_text(page):
    answer = api(page, "questions/pyramid/lit-01")["answer"]
    near = re.split(r"[\[(]", re.sub(r"<[^>]*>", "", answer))[0].strip() + " Smith"
    page.get_by_label("Model").fill(IMAGE)
    guesses = [near, near, SCRIPT, IMAGE, BOLD, TURNED]
    answers = [{"question_id": "lit-01", "clue": clue, "guess": guess, "confidence": 0.5} for clue, guess in enumerate(guesses)]
    drop(page, written(answers), name=f"{IMAGE}.csv")
    message_is(page, "Nothing is stored yet")
    assert [row[2] for row in region(page, "First answers")] == guesses and region(page, "Runs")[0][0] == IMAGE
    assert page.locator("#upload img, #upload script, #upload b").count() == 0
    doubt = page.locator(".grade-review li")
    assert near in doubt.inner_text() and "as graded: wrong" in doubt.inner_text()
    for key, verdict in (("n", "− wrong"), ("u", "as graded: wrong"), ("y", "+ correct")):
        doubt.focus()
        page.keyboard.press(key)
        assert verdict in doubt.inner_text()
    page.evaluate("document.querySelector('.grade-review').id = 'before'")
    page.get_by_role("button", name="Check the file").click()  # the decisions are still there afterwards
    page.locator("#before").wait_for(state="detached")
    message_is(page, "Nothing is stored yet")
    assert "+ correct" in page.locator(".grade-review li").inner_text()
    publish(page)
    (run,) = [run for run in runs_of(page) if run["model"] == IMAGE]
    assert run["decisions"] == [{"question_id": "lit-01", "clue": clue, "guess": near, "correct": 1.0} for clue in (0, 1)]


def refusal(status, code, message):
    """Return what answers requests with an error, or breaks off the connection."""
    envelope = json.dumps({"error": {"code": code, "message": message, "field": None, "allowed": [], "rows": []}})
    return lambda route: route.fulfill(status=status, body=envelope, content_type="application/json") if status else route.abort()


def test_what_was_typed_is_kept_when_an_upload_fails(page, token):
    answers, tried = good(page), "**/api/v1/datasets"
    check, to_publish = (page.get_by_role("button", name=name) for name in ("Check the file", "Publish"))
    field = page.get_by_label("Token")
    for typed, words in (("", "asks for a token"), ("clueline_wrong", "does not know this token")):
        field.fill(typed)
        drop(page, answers)
        message_is(page, words)
        assert field.evaluate("one => one === document.activeElement")
    field.fill(token)
    page.get_by_label("Model").fill("Unsent")
    for status, code, message in (
        (403, "revoked_token", "The token 'ann' was revoked at noon."), (413, "too_large", "A file can have 1 MB here."),
        (415, "bad_type", "No file of runs is of that type."), (429, "too_many_failures", "Too many wrong tokens came here."),
        (503, "busy", "Other uploads are in progress; try again in a moment."), (None, "", "The connection was lost"),
    ):  # fmt: skip
        page.route(tried, refusal(status, code, message))
        drop(page, answers)
        message_is(page, message)
        assert page.get_by_label("Model").input_value() == "Unsent" and check.is_enabled() and to_publish.is_disabled()
        page.unroute(tried)

    page.route(tried, lambda route: None)  # an answer that never comes
    drop(page, answers)
    page.get_by_role("button", name="Cancel").click()
    message_is(page, "Cancelled; nothing was stored.")
    assert page.get_by_label("Model").input_value() == "Unsent" and to_publish.is_disabled()
    page.unroute(tried)
    check.click()
    message_is(page, "Nothing is stored yet")
    assert "Unsent" not in {run["model"] for run in runs_of(page)}


def test_classes_and_format_are_named_in_the_form(page, token):
    page.goto("/upload?dataset=tone")
    page.get_by_label("Token").fill(token)
    page.get_by_label("Model").fill("Classifier")
    prompts = csv.DictReader(io.StringIO(fetched(page, "/api/v1/datasets/tone/prompts.csv")[1].decode(), newline=""))
    lines = [json.dumps({"uid": row["question_id"], "probs": [0.5, 0.25, 0.25], "pred": 0}) for row in prompts]
    drop(page, "\n".join(lines), "predictions.jsonl")
    page.get_by_role("button", name="Import it into Tone").click()
    says(page, "#upload-result", "name them under Classes")
    page.get_by_label("Format").select_option("chaosnli")
    page.get_by_label("Classes").fill("positive, neutral, negative")
    check_file(page)


def test_columns_of_a_foreign_table_are_asked_for(page):
    lines = ["x1,x2,how sure"] + [f"0.{n}5,{n % 2},{'fairly sure' if n % 3 else 'guessing'}" for n in range(1, 9)]
    page.get_by_label("Dataset", exact=True).select_option("")
    page.get_by_label("Model").fill("m")
    page.evaluate(DROP, [["odd.csv", "\n".join(lines)]])
    page.get_by_role("heading", name="What is wrong").wait_for()
    assert page.get_by_label("Role of the column x1").input_value() == ""
    page.get_by_label("Role of the column x1").select_option("attribute")
    page.get_by_label("Role of the column x2").select_option("correct")
    for word, share in (("fairly sure", ".7"), ("guessing", "30%")):
        page.get_by_label(f"“{word}” means").fill(share)
    page.get_by_role("button", name="Check with these columns").click()
    page.get_by_role("heading", name="What would be imported").wait_for()
    assert region(page, "Runs")[0][:3] == ["m", "how sure", "8"]
