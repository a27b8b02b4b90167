"""The page of gradings: how well they agree, which guesses it lists, and who may correct them."""

import json
import re

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.store import open_store
from data.store.gradings import Correction, correct_grades, draw_for_review
from queries.reviewed_samples import review_sample
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.drawn_pages import as_text, attributes, drawn, hrefs, markup, words
from tests.helpers.json_api import get

RESPONSES = """question_id,clue,guess,confidence,correct,correct.second
q1,0,Rome,0.25,0,1
q1,1,Paris,0.5,1,1
q2,1,Nile,0.75,1,1
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    root = tmp_path_factory.mktemp("gradings")
    opened = open_store(root / "store", threads=1)
    (run,) = put(opened, write(root / "toy", responses=RESPONSES), model="alpha").runs
    (root / "plain.csv").write_text("question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq1,1,Paris,0.75\n")
    put(opened, root / "plain.csv", dataset="toy", model="plain")
    correct_grades(opened, run, [Correction("q1", "Rome", 1.0, note="so be it")], "ann")
    return opened


@pytest.fixture(scope="module")
def app(store):
    return create_app(Settings(store=store.url, workers=1))


def rows(content):
    """Return what each row of the table of guesses is about."""
    return [json.loads(graded) for graded in attributes(content, "data-graded")]


def test_the_guesses_that_differ_are_listed_with_the_rule(app):
    content = drawn(app, "gradings", "")
    text = as_text(content)
    assert "1 run with several gradings, 1 run with one" in text
    assert rows(content) == [{"question_id": "q1", "guess": "Rome"}]
    for part in ("the answer line has nothing like it", "right by ann", "so be it", "1 correction, the last one by ann"):
        assert part in text
    assert {"guess": "Nile", "question_id": "q2"} in rows(drawn(app, "gradings", "show=all"))


def test_a_run_with_one_grading_can_be_corrected_too(app, store):
    ((run,),) = store.snapshot().rows("select run from runs where model = 'plain'")
    assert [row["guess"] for row in rows(drawn(app, "gradings", f"graded_run={run}&show=all"))] == ["Rome", "Paris"]
    assert "0 guesses on which the gradings differ" in words(drawn(app, "gradings", f"graded_run={run}"))


def test_links_lead_somewhere(app, store):
    client = app.test_client()
    for link in hrefs(drawn(app, "gradings", "")):
        assert client.get(link).status_code == 200, link
    ((run,),) = store.snapshot().rows("select run from runs where model = 'alpha'")
    assert f"/gradings?dataset=toy&graded_run={run}" in markup(app, f"/runs/{run}")
    assert client.get("/gradings?graded_run=nobody").status_code == 400


def test_pages_say_which_runs_lack_the_grading(app):
    assert "Without the grading “reviewed”: 1 run of 2, measured by the first grading" in markup(app, "/", "grading=reviewed")
    assert "Without the grading" not in markup(app, "/")


def test_rankings_and_lists_say_who_leads_under_each_grading(app, store):
    ((run,),) = store.snapshot().rows("select run from runs where model = 'alpha'")
    pages = ["/", "/compare", "/questions", "/questions/toy/q1", f"/runs/{run}", "/reliability", "/slices", "/decide",
             "/difficulty", "/buzz", "/which-ece"]  # fmt: skip
    for path in pages:
        text = re.sub(r"<[^>]+>", "", markup(app, path))
        assert "Gradings differ. On 20.0 % of the answers, the gradings of a run differ." in text, path
        assert "Shown: “reviewed” or, where a run lacks it, its first grading" in text, path
    text = markup(app, "/", "sort=brier")
    for grading in ("imported", "second", "reviewed"):
        assert f"/?sort=brier&grading={grading}" in text
    assert "/?sort=brier&undisputed=1" in text
    assert "Measured by the grading “reviewed”, with reviewers' corrections: 1 run of 2; the others" in text
    assert "Gradings of runs differ on many answers of Toy (20.0 %)" in markup(app, "/across")


def test_disputed_answers_are_marked_and_can_be_left_out(app, store):
    ((run,),) = store.snapshot().rows("select run from runs where model = 'alpha'")
    assert "disputed" in markup(app, "/reliability", f"items=focus%3D{run}")
    shown, hidden = (markup(app, "/questions/toy/q1", f"clue=0&{keys}") for keys in ("", "undisputed=1"))
    assert "gradings differ" in shown and "disputed, so not listed" not in shown
    assert "disputed, so not listed" in hidden and "List disputed answers again" in hidden
    worst = [markup(app, f"/runs/{run}", keys) for keys in ("", "undisputed=1")]
    assert worst[0].count("/questions/toy/q1") > worst[1].count("/questions/toy/q1")


def test_where_no_uploads_are_taken_nothing_can_be_corrected(store):
    content = drawn(create_app(Settings(store=store.url, workers=1, uploads="off")), "gradings", "")
    assert not rows(content) and "CLUELINE_UPLOADS=off" in words(content) and "Rome" in words(content)


@pytest.fixture(scope="module")
def reviewed(tmp_path_factory):
    """An app on a store with a run of which 60 answers were drawn, all of them reviewed, and every tenth grade is wrong."""
    root = tmp_path_factory.mktemp("reviewed")
    opened = open_store(root / "store", threads=1)
    questions = [f"q{number:02}" for number in range(80)]
    put(opened, write(root / "toy", questions=table([{"question_id": q} for q in questions]),
                      clues=table([{"question_id": q, "clue": 0, "text": "two words"} for q in questions])))  # fmt: skip
    answers = [{"question_id": q, "clue": 0, "guess": q, "confidence": 0.6, "correct": int(q[1:]) % 2} for q in questions]
    (root / "m.csv").write_text(table(answers))
    (run,) = put(opened, root / "m.csv", dataset="toy", model="gamma").runs
    draw_for_review(opened, run, 60, 7, "ann")
    sample = review_sample(opened.snapshot(), run).answers
    grades = [float(int(answer.guess[1:]) % 2) for answer in sample]
    corrections = [
        Correction(answer.question_id, answer.guess, 1 - grade if place % 10 == 0 else grade)
        for place, (answer, grade) in enumerate(zip(sample, grades, strict=True))
    ]
    app = create_app(Settings(store=opened.url, workers=1))
    waiting = drawn(app, "gradings", f"graded_run={run}&show=drawn")
    correct_grades(opened, run, corrections, "bob")
    return create_app(Settings(store=opened.url, workers=1)), run, waiting


def test_a_sample_is_reviewed_on_the_page(reviewed):
    app, run, waiting = reviewed
    text = as_text(waiting)
    assert "60 answers of 80 questions drawn at random for review by ann" in text and "Review 60 more" in text
    assert "60 of the 60 drawn answers wait for review" in text and len(rows(waiting)) == 60
    content = drawn(app, "gradings", f"graded_run={run}&show=drawn")
    text = as_text(content)
    assert "Graded by a judge that errs about 10 %" in text and "By the judge alone" in text and not rows(content)
    assert "review-draw" in text


def test_pages_that_rank_name_judges_that_err(reviewed):
    app, _, _ = reviewed
    (run,) = get(app.test_client(), "/api/v1/leaderboard?dataset=toy")["reviewed"]
    assert run["judge_error"] == pytest.approx(0.1) and run["means"]["accuracy"]["judged"] == 0.5
    shown = markup(app, "/", "?dataset=toy")
    assert "gamma is graded by a judge that errs about 10 %: accuracy 0." in shown and "instead of 0.500" in shown
