"""People: tables of human teams and their page, runs beside human votes by hand, and plays that no curve contains."""

import json

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.human_curves import UNSTATED_LEFT_OUT
from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put
from tests.helpers.drawn_pages import drawn, everything, words
from tests.helpers.json_api import get, table
from tests.helpers.json_api import table as read_table
from tests.helpers.qanta_files import PLAYS, write_challenge

TABLES = ("teams", "categories", "questions", "rooms", "buzzes")


@pytest.mark.parametrize("table", TABLES)
def test_each_csv_table_has_the_rows_of_the_json(client, table):
    rows = read_table(client, f"/api/v1/teams.csv?dataset=pyramid&team=Yew&table={table}")
    answer = get(client, "/api/v1/teams?dataset=pyramid&team=Yew")
    assert len(rows) == len(answer[table]) > 1


def test_the_page_lists_teams_and_shows_one(app, client):
    team = get(client, "/api/v1/teams?dataset=pyramid")["teams"][0]
    text = words(drawn(app, "teams", "dataset=pyramid"))
    assert team["team"] in text and "Questions, hardest first" in text and "Buzzes of" not in text
    assert "Precision: " in text and "Powers" not in text  # no question has a power mark
    assert f"Buzzes of {team['team']}" in words(drawn(app, "teams", f"dataset=pyramid&team={team['team']}"))


def test_without_teams_datasets_with_teams_are_named(app):
    assert "Datasets that teams have heard" in words(drawn(app, "teams", "dataset=lifeeval"))


VOTES = {"v1": (12, 8, 0), "v2": (5, 5, 15), "v3": (2, 1, 0)}  # v3 has too few for the reference


@pytest.fixture(scope="module")
def voted(tmp_path_factory):
    """A client of a store with one dataset of votes."""
    root = tmp_path_factory.mktemp("people")
    bundle = root / "voted"
    (bundle / "responses").mkdir(parents=True)
    facts = {"dataset": "voted", "kind": "votes", "classes": ["yes", "no", "maybe"]}
    (bundle / "dataset.json").write_text(json.dumps(facts))
    (bundle / "questions.csv").write_text("question_id\n" + "".join(f"{name}\n" for name in VOTES))
    votes = [f"{name},{class_},{n}\n" for name, row in VOTES.items() for class_, n in zip(facts["classes"], row, strict=True)]
    (bundle / "votes.csv").write_text("question_id,class,votes\n" + "".join(votes))
    rows = [{"question_id": name, "options": [0.6, 0.4, 0.0], "model": "whole"} for name in VOTES]
    rows += [{"question_id": name, "guess": "yes", "confidence": 0.5, "model": "bare"} for name in VOTES]
    (bundle / "responses" / "runs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ingest.import_paths(open_store(root / "store"), [bundle], ImportOptions())
    return create_app(Settings(store=str(root / "store"), workers=1)).test_client()


def test_csv(voted):
    rows = table(voted, "/api/v1/people.csv?dataset=voted")
    whole = get(voted, "/api/v1/people?dataset=voted")["rows"][0]
    for name in ("distance", "entropy", "ranking"):
        lines = [line for line in rows if line["histogram"] == name]
        assert [int(line["items"]) for line in lines] == whole["histograms"][name]
        assert [int(line["reference_items"]) for line in lines] == whole["reference"][name]
    assert {line["model"] for line in rows} == {"whole"}


@pytest.fixture(scope="module")
def qanta(tmp_path_factory):
    """A store of an earlier version: AbC has one play that is left out, and XyZ only plays that are left out."""
    folder = tmp_path_factory.mktemp("plays")
    plays = PLAYS.replace("2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n", "2,XyZ,1.0,0,1\n2,XyZ,1,1,1\n")
    store = open_store(folder / "store")
    put(store, write_challenge(folder / "challenge", plays=plays))
    store.write(
        lambda connection: connection.execute(
            f"""insert into left_out_plays
                select dataset, question_id, match_id, '{UNSTATED_LEFT_OUT}', 1 from exposures where not end_stated;
            delete from exposures where not end_stated"""
        )
    )
    return create_app(Settings(store=str(folder / "store"), workers=1))


@pytest.mark.parametrize(
    ("path", "query", "plays"), [("/questions/qanta/AbC", "", 1), ("/questions/qanta/XyZ", "", 2), ("/buzz", "dataset=qanta", 3)]
)
def test_pages_say_it_beside_the_curve(qanta, path, query, plays):
    expected = (
        f"Left out of the curves of people at the import: {UNSTATED_LEFT_OUT}: {plays}. Import the files again to count these"
    )
    assert expected in everything(qanta, path, query)
