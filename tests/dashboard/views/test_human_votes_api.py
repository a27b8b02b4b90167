"""The address that compares runs with human votes: its histograms by hand, and what is missing."""

import json

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.importing import ingest
from data.importing.staging import ImportOptions
from data.store import open_store
from tests.helpers.json_api import get, table

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


def test_the_histograms_by_hand(voted):
    whole = get(voted, "/api/v1/people?dataset=voted")["rows"][0]
    # TVD with (0.6, 0.4, 0): 0; (0.4 + 0.2 + 0.6) / 2 = 0.6; (0.067 + 0.067) / 2 = 0.067
    assert whole["histograms"]["items"] == 3
    assert [k for k, count in enumerate(whole["histograms"]["distance"]) if count] == [0, 2, 18]
    # For v1 the reference sees all its votes; v3 has too few.
    assert whole["reference"]["items"] == 2 and whole["reference"]["distance"][0] >= 1


def test_csv(voted):
    rows = table(voted, "/api/v1/people.csv?dataset=voted")
    whole = get(voted, "/api/v1/people?dataset=voted")["rows"][0]
    for name in ("distance", "entropy", "ranking"):
        lines = [line for line in rows if line["histogram"] == name]
        assert [int(line["items"]) for line in lines] == whole["histograms"][name]
        assert [int(line["reference_items"]) for line in lines] == whole["reference"][name]
    assert {line["model"] for line in rows} == {"whole"}


def test_a_dataset_without_votes_says_so(client):
    answer = get(client, "/api/v1/people?dataset=pyramid")
    assert answer["missing"] == "the dataset has no human votes"
    assert answer["rows"] and {row["missing"] for row in answer["rows"]} == {answer["missing"]}
    assert len(client.get("/api/v1/people.csv?dataset=pyramid").text.splitlines()) == 1
