"""Gradings on the page, over HTTP and on the command line: what is listed, how well they agree, and who may correct a grade."""

import json
import re

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.data.store.audit import Audit
from clueline.data.store.gradings import Correction, correct_grades, draw_for_review
from clueline.queries.reviewed_samples import review_sample
from tests.helpers.bundle_factory import put, table, write
from tests.helpers.drawn_pages import as_text, attributes, drawn, hrefs, markup, words
from tests.helpers.json_api import error, get
from tests.helpers.json_api import table as read_table
from tests.helpers.uploads import upload_client

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


def test_a_sample_is_reviewed_and_its_judge_is_named(reviewed):
    app, run, waiting = reviewed
    text = as_text(waiting)
    assert "60 answers of 80 questions drawn at random for review by ann" in text and "Review 60 more" in text
    assert "60 of the 60 drawn answers wait for review" in text and len(rows(waiting)) == 60
    content = drawn(app, "gradings", f"graded_run={run}&show=drawn")
    text = as_text(content)
    assert "Graded by a judge that errs about 10 %" in text and "By the judge alone" in text and not rows(content)
    assert "review-draw" in text
    (run,) = get(app.test_client(), "/api/v1/leaderboard?dataset=toy")["reviewed"]
    assert run["judge_error"] == pytest.approx(0.1) and run["means"]["accuracy"]["judged"] == 0.5
    shown = markup(app, "/", "?dataset=toy")
    assert "gamma is graded by a judge that errs about 10 %: accuracy 0." in shown and "instead of 0.500" in shown


@pytest.fixture
def server(tmp_path):
    """A server that asks for a token, on a store with one run that has two gradings."""
    store = open_store(tmp_path / "store", threads=1)
    (run,) = put(store, write(tmp_path / "toy", responses=RESPONSES), model="alpha").runs
    made = upload_client(tmp_path / "store")
    made.run = run
    return made


def draw(server, body, status=201, address="review"):
    body = body if isinstance(body, str) else json.dumps(body)
    answer = server.client.post(f"/api/v1/runs/{server.run}/{address}", data=body.encode(), headers=server.auth)
    assert answer.status_code == status, answer.json
    return answer.json


def correct(server, grades, status=201):
    return draw(server, {"grades": grades} if isinstance(grades, list) else grades, status, "grades")


def accuracy(server, grading):
    address = "/api/v1/leaderboard?metrics=accuracy" + (f"&grading={grading}" if grading else "")
    return get(server.client, address)["rows"][0]["metrics"]["accuracy"]["value"]


def test_a_grade_is_corrected_and_the_leaderboard_follows(server):
    assert accuracy(server, "") == pytest.approx(2 / 3) and accuracy(server, "second") == 1
    first = {"question_id": "q2", "guess": "Nile", "correct": False, "note": "too vague"}
    answer = correct(server, [first])
    (made,) = answer["corrections"]
    assert (made["by"], made["correct"], made["note"], made["clue"]) == ("ann", 0, "too vague", None)
    assert accuracy(server, "reviewed") == accuracy(server, "") == pytest.approx(1 / 3)
    assert accuracy(server, "imported") == pytest.approx(2 / 3)
    answer = correct(server, [first | {"correct": None, "note": None}])
    assert [entry["correct"] for entry in answer["corrections"]] == [0, None]
    assert accuracy(server, "reviewed") == pytest.approx(2 / 3)
    events = Audit(server.service.store.register).page(9)
    assert [(event.action, event.by, event.run, event.grades) for event in events[:2]] == [
        ("corrected_grades", "ann", server.run, "1"),
    ] * 2  # fmt: skip


def test_gradings_and_guesses_are_listed(server):
    (run,) = get(server.client, "/api/v1/gradings?dataset=toy")["runs"]
    assert [grading["name"] for grading in run["gradings"]] == ["imported", "second", "graded"]
    assert [pair["agreeing"] for pair in run["agreements"]] == [2, 3, 2]
    lines = server.client.get("/api/v1/gradings.csv?dataset=toy").get_data(as_text=True).splitlines()
    assert len(lines) == 4 and lines[0].endswith("a,b,agreeing,agreement,kappa")
    listed = get(server.client, f"/api/v1/runs/{server.run}/grades")
    (guess,) = listed["guesses"]
    assert (guess["guess"], guess["grades"]) == ("Rome", {"imported": 0, "second": 1, "graded": 0})
    assert guess["outcome"] == "reject" and guess["rule"] == "the answer line has nothing like it"
    assert get(server.client, f"/api/v1/runs/{server.run}/grades?show=all&limit=2")["total"] == 3


def test_wrong_corrections_are_refused(server):
    version, rome = server.service.store.version(), {"question_id": "q1", "guess": "Rome", "correct": True}
    for grades, status, code in (
        ("{", 400, "bad_value"), ([], 400, "bad_value"), ([rome | {"correct": 2}], 400, "bad_value"),
        ([rome | {"colour": 1}], 400, "bad_value"), ([rome | {"note": "x" * 501}], 400, "bad_value"),
        ([rome | {"guess": "Oslo"}], 422, "unknown_guess"), ([rome] * 1001, 400, "bad_value"),
    ):  # fmt: skip
        assert correct(server, grades, status)["error"]["code"] == code
    assert server.service.store.version() == version


def test_an_unknown_run_has_no_grades(server):
    server.run = "0" * 16
    assert correct(server, [{"question_id": "q1", "guess": "Rome", "correct": True}], 404)["error"]["code"] == "unknown_run"
    assert draw(server, {}, 404)["error"]["code"] == "unknown_run"
    assert error(server.client, f"/api/v1/runs/{server.run}/grades", 404)["code"] == "unknown_run"


def test_the_command_line_lists_and_corrects(server, cli):
    folder = server.service.store.url
    listed = cli("grades", server.run, store=folder)
    assert "imported and second agree on 2 of 3 answers" in listed.stdout
    assert "q1\tRome\tfor Paris" in listed.stdout and "second 1" in listed.stdout
    done = cli("grades", server.run, "--correct", "q1", "Rome", "right", "--note", "so be it", store=folder)
    assert done.returncode == 0 and "grading=reviewed" in done.stdout
    told = json.loads(cli("grades", server.run, "--show", "corrected", "--json", store=folder).stdout)
    (entry,) = told["guesses"][0]["corrections"]
    assert entry["by"].startswith("system:") and entry["note"] == "so be it" and entry["correct"] == 1
    again = cli("grades", server.run, "--by-rules", store=folder)
    assert again.returncode == 0 and "0 answers differ from the first grading" in again.stdout
    assert accuracy(server, "reviewed") == 1
    refused = cli("grades", server.run, "--correct", "q1", "Oslo", "right", store=folder)
    assert refused.returncode == 1 and "did not answer question 'q1' with 'Oslo'" in refused.stderr
    assert cli("grades", "0" * 16, store=folder).returncode == 1
    assert cli("grades", server.run, "--correct", "q1", "Rome", "maybe", store=folder).returncode == 2


def test_a_file_is_scored_by_one_of_its_own_gradings(server, cli, tmp_path):
    (tmp_path / "run.csv").write_text(RESPONSES)
    where = (tmp_path / "run.csv", "--dataset", "toy", "--model", "beta", "--metrics", "accuracy", "--json")

    def score(*more):
        answer = json.loads(cli("score", *where, *more, store=server.service.store.url).stdout)
        return answer["rows"][0]["metrics"]["accuracy"]["value"]

    assert score() == pytest.approx(2 / 3) and score("--grading", "second") == 1
    refused = cli("score", *where, "--grading", "third", store=server.service.store.url)
    assert refused.returncode == 2 and "imported, second, graded" in refused.stderr


def test_answers_are_drawn_for_review(server):
    assert get(server.client, f"/api/v1/runs/{server.run}/review")["size"] == 0
    sample = draw(server, {"size": 100, "seed": 7})
    assert (sample["seed"], sample["size"], sample["questions"], sample["by"], sample["reviewed"]) == (7, 2, 2, "ann", 0)
    assert {answer["question_id"]: answer["probability"] for answer in sample["answers"]} == {"q1": 0.5, "q2": 1}
    correct(
        server,
        [{"question_id": answer["question_id"], "guess": answer["guess"], "correct": True} for answer in sample["answers"]],
    )
    again = get(server.client, f"/api/v1/runs/{server.run}/review")
    assert again["reviewed"] == 2 and [answer["grade"] for answer in again["answers"]] == [1, 1]
    (run,) = get(server.client, "/api/v1/gradings/reviewed?dataset=toy")["runs"]
    assert (run["drawn"], run["reviewed"], run["means"]) == (2, 2, {}) and "fewer than 40" in run["missing"]
    rows = read_table(server.client, "/api/v1/gradings/reviewed.csv?dataset=toy")
    assert [row["metric"] for row in rows] == ["accuracy", "net_score", "brier", "overconfidence", "log_score"]
    assert rows[0]["missing"] == run["missing"]
    assert draw(server, {})["seed"] != draw(server, {})["seed"]


def test_a_bad_draw_is_refused(server):
    for body in ({"size": 0}, {"size": 20_000}, {"seed": -1}, {"size": "many"}, {"many": 3}, []):
        assert draw(server, body, 400)["error"]["code"] == "bad_value"
    note = "drawn for review: seed 7, 2 of 2 questions, 1 of 1 answers, probability 1"  # a note cannot pass for a draw
    answer = correct(server, [{"question_id": "q2", "guess": "Nile", "correct": None, "note": note}], 400)
    assert "cannot begin with" in answer["error"]["message"]


def test_a_draw_on_the_command_line(server, cli):
    store = server.service.store.url
    answer = cli("grades", server.run, "--review", "5", "--seed", "3", store=store)
    assert answer.returncode == 0 and "2 answers drawn with seed 3" in answer.stdout
    answer = cli("grades", server.run, "--show", "drawn", store=store)
    assert "2 answers drawn at random for review, 0 reviewed" in answer.stdout and "Nile" in answer.stdout
    refused = cli("grades", server.run, "--correct", "q2", "Nile", "right", "--note", "drawn for review: me", store=store)
    assert refused.returncode == 2 and "cannot begin with" in refused.stderr
