"""The rows that the grid of the page Questions asks for."""

import pytest

DATASET = "dataset=pyramid"


def grid_rows(client, query):
    answer = client.get(f"/_rows?{query}")
    assert answer.status_code == 200, answer.json
    return answer.json


@pytest.mark.parametrize("more", ["", "&category=Arts", "&sort=-difficulty", "&sort=category&metric=ece"])
def test_rows_are_the_questions_of_the_selection_in_order(client, more):
    answer = grid_rows(client, f"{DATASET}{more}&start=3&count=7")
    listed = client.get(f"/api/v1/questions?{DATASET}{more.replace('metric=', 'metrics=')}").json
    assert answer["total"] == listed["total"]
    assert [row["question_id"] for row in answer["rows"]] == [question["question_id"] for question in listed["questions"]][3:10]


def test_a_row_has_what_its_columns_show(client):
    row = grid_rows(client, f"{DATASET}&metric=ece&start=0&count=1&sort=-difficulty")["rows"][0]
    question = client.get(f"/api/v1/questions?{DATASET}&metrics=ece&limit=1&sort=-difficulty").json["questions"][0]
    for run, values in question["runs"].items():
        assert row[run] == (f"{values['ece']:.3f}" if values["ece"] is not None else row[run])
    assert row["answer"] == question["answer"].partition("[")[0].strip() and question["text"].startswith(row["text"][:40])
    assert row["heard"] == str(question["heard"]) and row["conversion"] == f"{100 * question['conversion']:.1f} %"
    assert row["difficulty"] == f"{question['difficulty']:.2f}"
    assert row["href"] == f"/questions/pyramid/{question['question_id']}?sort=-difficulty&metric=ece"


@pytest.mark.parametrize(
    "query",
    [
        DATASET, f"{DATASET}&start=0", f"{DATASET}&start=x&count=1", f"{DATASET}&start=0&count=1&sort=nothing",
        "dataset=nowhere&start=0&count=1", f"{DATASET}&start=0&count=1&metric=none", "",
    ],
)  # fmt: skip
def test_a_bad_request_gets_no_rows(client, query):
    answer = client.get(f"/_rows?{query}")
    assert (answer.status_code, answer.json) == (400, {"rows": [], "total": 0})


def test_a_thousand_rows_at_most_and_none_beyond_the_end(client):
    assert len(grid_rows(client, "dataset=lifeeval&start=0&count=99999999")["rows"]) == 808
    assert grid_rows(client, f"{DATASET}&start=100000&count=5") == {"rows": [], "total": 60}
