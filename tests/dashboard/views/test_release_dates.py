"""The leaderboard's section of release dates, and the addresses behind it."""

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from dashboard.shell import draw
from data.store import open_store
from data.store.run_tags import change_tags


@pytest.fixture
def client(copied):
    return create_app(Settings(store=str(copied), workers=1)).test_client()


def release(store, client, **dates):
    """Give the runs of Pyramid, in the order of import, release dates."""
    runs = [run["run"] for run in client.get("/api/v1/runs?dataset=pyramid").json["runs"]]
    for run, text in zip(runs, dates.values(), strict=False):
        change_tags(open_store(store), run, {"released": text}, None)
    return runs


def leaderboard_page(client, query="dataset=pyramid"):
    with client.application.test_request_context("/"):
        return draw({"path": "/", "query": query, "page": True})


def test_there_is_no_section_without_two_dates(copied, client):
    assert "By release date" not in leaderboard_page(client)
    release(copied, client, one="2024-05-13")
    assert "By release date" not in leaderboard_page(client)
    release(copied, client, one="2024-05-13", other="2024-05-13")
    assert "By release date" not in leaderboard_page(client)


def test_it_shows_the_metric_of_the_order(copied, client):
    release(copied, client, one="2024-05-13", other="2025-01", third="soon")
    page = leaderboard_page(client)
    assert "By release date" in page and "CalScore of each run at the release date" in page
    assert "runs have no tag “released”" in page and "“soon”, which is not a date" in page
    assert "Brier score of each run at the release date" in leaderboard_page(client, "dataset=pyramid&sort=brier")


def test_values_are_those_of_the_leaderboard(copied, client):
    runs = release(copied, client, one="2025-01", other="2024-05-13")
    answer = client.get("/api/v1/release-dates?dataset=pyramid&metric=ece").json
    assert (answer["metric"], answer["undated"], answer["unreadable"]) == ("ece", len(runs) - 2, {})
    assert [(run["run"], run["day"]) for run in answer["runs"]] == [(runs[1], "2024-05-13"), (runs[0], "2025-01-16")]
    board = client.get("/api/v1/leaderboard?dataset=pyramid&metrics=ece&intervals=1").json["rows"]
    cells = {row["run"]: row["metrics"]["ece"] for row in board}
    expected = [(cells[run]["value"], cells[run]["low"], cells[run]["high"]) for run in (runs[1], runs[0])]
    assert [(run["value"], run["low"], run["high"]) for run in answer["runs"]] == expected
