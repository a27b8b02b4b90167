"""Plays of people that no curve contains are named beside the curves."""

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.readers.qanta import PLACEHOLDER
from data.store import open_store
from tests.helpers.bundle_factory import put
from tests.helpers.drawn_pages import everything
from tests.helpers.qanta_files import PLAYS, write_challenge


@pytest.fixture(scope="module")
def app(tmp_path_factory):
    """AbC has one play that is left out, and XyZ only plays that are left out."""
    folder = tmp_path_factory.mktemp("plays")
    plays = PLAYS.replace("2,XyZ,0.5,0,1\n2,XyZ,0.0,1,0\n", "2,XyZ,1.0,0,1\n2,XyZ,1,1,1\n")
    put(open_store(folder / "store"), write_challenge(folder / "challenge", plays=plays))
    return create_app(Settings(store=str(folder / "store"), workers=1))


@pytest.mark.parametrize(
    ("path", "query", "plays"),
    [("/questions/qanta/AbC", "", 1), ("/questions/qanta/XyZ", "", 2), ("/buzz", "dataset=qanta", 3)],
)
def test_pages_say_it_beside_the_curve(app, path, query, plays):
    assert f"Left out of the curves of people at the import: {PLACEHOLDER}: {plays}." in everything(app, path, query)


def test_json_has_the_numbers_by_reason(app):
    client = app.test_client()
    assert client.get("/api/v1/questions/qanta/XyZ").json["left_out_plays"] == {PLACEHOLDER: 2}
    assert client.get("/api/v1/buzz?dataset=qanta").json["curves"]["left_out_plays"] == {PLACEHOLDER: 3}
