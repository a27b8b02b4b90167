"""Pages say how many plays have no stated end, show second values, and how many questions people heard."""

import json
import re
from urllib.parse import quote

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, write
from tests.helpers.drawn_pages import everything, markup
from tests.helpers.json_api import get, table
from tests.helpers.qanta_files import PACKETS, output, tossup, write_challenge

# Nobody stated where three of five plays of AbC ended. XyZ has two plays, and nobody heard Quo.
PLAYS = (
    "packet,nano,reveal_fraction,correct,censored\n1,AbC,0.4,1,0\n1,AbC,0.6,0,0\n1,AbC,1.0,0,1\n1,AbC,1,0,1\n1,AbC,1.0,1,1\n"
    "2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n"
)
UNHEARD = tossup("advvqa-t-Quo", "Nobody ever heard this question. Name it.")
ASKED = {"AbC": (3, 6, 10), "XyZ": (5, 6), "Quo": (5, 7)}
THREE_OF_SEVEN = "Nobody stated where 3 of 7 plays of people, all without a buzz, ended."


def lines(scale):
    rows = (
        {"qid": f"advvqa-t-{name}", "run_outputs": [output(p, confidence=scale * p / 10, correct=int(p >= 6)) for p in positions]}
        for name, positions in ASKED.items()
    )
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def qanta(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plays")
    packets = {1: PACKETS[1], 2: [*PACKETS[2], UNHEARD]}
    runs = {"out/tossup__2026__ann__big.jsonl": lines(1.0), "out/tossup__2026__bob__small.jsonl": lines(0.6)}
    put(open_store(folder / "store"), write_challenge(folder / "challenge", packets=packets, runs=runs, plays=PLAYS))
    return create_app(Settings(store=str(folder / "store"), workers=1))


@pytest.fixture
def qanta_client(qanta):
    return qanta.test_client()


def text_of(app, path, query=""):
    """Return the text of a page, with single spaces."""
    return " ".join(re.sub(r"<[^>]+>", " ", markup(app, path, query)).split())


@pytest.mark.parametrize("path", ["/", "/buzz", "/difficulty", "/decide", "/compare", "/questions", "/teams", "/slices"])
def test_pages_of_people_count_plays_without_a_stated_end(qanta, path):
    text = text_of(qanta, path, "dataset=qanta")
    assert THREE_OF_SEVEN in text and "Show every value without them" in text
    assert "people=stated-ends" in everything(qanta, path, "dataset=qanta")
    without = text_of(qanta, path, "dataset=qanta&people=stated-ends")
    assert f"{THREE_OF_SEVEN} These are left out here." in without and "by stated ends" not in without
    assert "Nobody stated where" not in text_of(qanta, path, "dataset=qanta&category=History"), "these plays have an end"


def test_a_question_says_how_many_of_its_plays(qanta):
    text = text_of(qanta, "/questions/qanta/AbC", "human=team_share")
    assert "heard by 5 human teams, of which nobody stated where 3 ended" in text
    assert "1 of 5 teams was right by now (nobody stated where 3 of these plays ended)" in text
    assert "h in CalScore (teams): 0.200 (0.500 by stated ends)" in text
    assert "difficulty 0.80 (0.50 by stated ends)" in text
    assert "Nobody stated" not in text_of(qanta, "/questions/qanta/XyZ")


QUERY = "dataset=qanta&human=team_share"


def test_a_leaderboard_shows_both_values(qanta, qanta_client):
    rows = get(qanta_client, f"/api/v1/leaderboard?{QUERY}&metrics=calscore")["rows"]
    alone = get(qanta_client, f"/api/v1/leaderboard?{QUERY}&metrics=calscore&people=stated-ends")["rows"]
    listed = table(qanta_client, f"/api/v1/leaderboard.csv?{QUERY}&metrics=calscore")
    text = text_of(qanta, "/", QUERY)
    for row, other, line in zip(rows, alone, listed, strict=True):
        cell, second = row["metrics"]["calscore"], other["metrics"]["calscore"]["value"]
        assert cell["second"] == {"value": second} and float(line["calscore_second"]) == second
        assert f"{second:.3f} by stated ends" in text
    assert get(qanta_client, f"/api/v1/leaderboard?{QUERY}")["plays"] == {"plays": 7, "unstated": 3}


def test_expected_wins_say_which_questions_they_are_over(qanta, qanta_client):
    (run, _) = get(qanta_client, "/api/v1/buzz?dataset=qanta")["explorer"]["runs"]
    assert (run["questions"], run["counted"], run["heard"]) == (3, 2, 2)
    assert run["outcome"]["correct"] + run["outcome"]["incorrect"] + run["outcome"]["no_buzz"] == 3
    assert (run["outcome"]["expected_wins"], run["outcome"]["second"]["expected_wins"]) == pytest.approx((0.65, 0.5))
    text = text_of(qanta, "/buzz", "dataset=qanta")
    assert "0.650 2 of 3 0.500 by stated ends" in text
    published = text_of(qanta, "/buzz", "dataset=qanta&curve=polynomial")
    assert "of 3 0.500 by stated ends" not in published, "these wins are over all questions"


def cited(client, view):
    return get(client, f"/api/v1/cite?view={quote(view, safe='')}")


def test_papers_say_which_questions_people_heard(qanta, qanta_client):
    assert "2 runs over 2 of 3 questions, by CalScore" in text_of(qanta, "/", QUERY)
    assert "2 runs over 3 questions, by Accuracy" in text_of(qanta, "/", f"{QUERY}&sort=accuracy")
    citation = cited(qanta_client, f"/?{QUERY}")
    assert "CalScore is over 2 of 3 questions." in citation["methods"] and "0 questions were" not in citation["methods"]
    assert f"{THREE_OF_SEVEN} They count as heard to the end" in citation["methods"]
    assert citation["latex"].count("(2 of 3)") == 2 and citation["latex"].count("by stated ends") == 2
    assert "Nobody stated" not in cited(qanta_client, "/reliability?dataset=qanta")["methods"], "nothing there rests on people"
    of_question = cited(qanta_client, "/questions/qanta/AbC")["methods"]
    assert "Nobody stated where 3 of 5 plays of people, all without a buzz, ended." in of_question
    buzz = cited(qanta_client, "/buzz?dataset=qanta")
    assert "Expected wins is over 2 of 3 questions." in buzz["methods"] and "(2 of 3)" in buzz["latex"]


def test_each_h_is_named_where_numbers_stand(qanta, qanta_client):
    answer = get(qanta_client, f"/api/v1/which-h?{QUERY}")
    assert answer["used"] == "team_share" and answer["plays"] == {"plays": 7, "unstated": 3}
    text = text_of(qanta, "/", QUERY)
    assert "CalScore ↓ h: teams" in text and "CalScore ↓ h: buzzes" in text_of(qanta, "/", "dataset=qanta")
    text = text_of(qanta, "/", f"{QUERY}&which_h=1")
    assert "Which h decides the ranks of CalScore? All four human curves rank the runs alike." in text
    assert "buzzes all buzzes teams (used) teams, survival" in text
    lines_of_table = table(qanta_client, f"/api/v1/which-h.csv?{QUERY}")
    assert [float(line["value"]) for line in lines_of_table] == [cell["value"] for cell in answer["cells"]]


def test_people_by_the_end_of_questions(qanta, qanta_client):
    text = text_of(qanta, "/difficulty", "dataset=qanta")
    assert "By the end: 0.350 (0.500 by stated ends), a mean over 2 questions that teams heard" in text
    assert "buzzed right 2 and wrong 1 times; nobody stated where 3 of these plays ended" in text_of(
        qanta, "/decide", "dataset=qanta"
    )
    rows = {row["question_id"]: row for row in get(qanta_client, "/api/v1/questions?dataset=qanta")["questions"]}
    assert rows["AbC"]["second"] == {"heard": 2, "people": 0.5, "difficulty": 0.5}
    listed = get(qanta_client, "/_rows?dataset=qanta&start=0&count=9")["rows"]
    shown = {row["question_id"]: row for row in listed}
    assert (shown["AbC"]["heard"], shown["AbC"]["people"]) == ("5 (2)", "0.20 (0.50)") and shown["XyZ"]["heard"] == "2"


def test_pages_of_runs_and_parts_show_both_values(qanta, qanta_client):
    row = get(qanta_client, f"/api/v1/leaderboard?{QUERY}&metrics=calscore")["rows"][0]
    cell = row["metrics"]["calscore"]
    both = f"{cell['value']:.3f} 2 of 3 {cell['second']['value']:.3f} by stated ends"
    assert both in text_of(qanta, f"/runs/{row['run']}", "human=team_share")
    parts = get(qanta_client, f"/api/v1/breakdown?{QUERY}&by=category&metrics=calscore")["parts"]
    (heard,) = (part for part in parts if any(row["metrics"]["calscore"]["second"] for row in part["rows"]))
    shown = heard["rows"][0]["metrics"]["calscore"]
    text = text_of(qanta, "/slices", f"{QUERY}&metric=calscore&by=category")
    assert (
        f"{shown['value']:.3f} {shown['questions']} of {heard['questions']} {shown['second']['value']:.3f} by stated ends" in text
    )


def test_a_player_who_never_buzzed_is_no_failed_call(tmp_path):
    """A race has a row without an answer for whoever heard a question without a buzz."""
    store = open_store(tmp_path / "store")
    rows = "q1,0,x,0.9,1,A,true,false\nq2,0,,,,A,false,true\n"
    answers = f"question_id,clue,guess,confidence,correct,sample,buzz,failed\n{rows}"
    bundle = write(tmp_path / "toy", responses=answers)
    put(store, bundle, respondents=True, model="People", elicitation="race")
    text = text_of(create_app(Settings(store=store.url, workers=1)), "/", "dataset=toy&common=0")
    assert "50.0 % no buzz" in text
