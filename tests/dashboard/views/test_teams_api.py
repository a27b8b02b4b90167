"""The tables of human teams, and the page that shows the same."""

import pytest

from tests.helpers.drawn_pages import drawn, words
from tests.helpers.json_api import get
from tests.helpers.json_api import table as read_table

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
