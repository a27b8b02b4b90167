"""The addresses by which people answer questions."""

import re
import shutil
import threading
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.app import create_app
from dashboard.settings import Settings
from data.people.sessions import digest

ANN = "a" * 32


@pytest.fixture(scope="module")
def link(seeded, tmp_path_factory, cli):
    """The secret of a session of two questions, and an app of its store that lets nobody read without a token."""
    store = shutil.copytree(seeded, tmp_path_factory.mktemp("play") / "store", ignore=shutil.ignore_patterns("cache"))
    until = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    done = cli("invite", "pyramid", "--questions", "2", "--players", "40", "--until", until, store=store)
    assert done.returncode == 0, done.stderr
    app = create_app(Settings(store=str(store), workers=1, read="token"))
    return re.fullmatch(r"http://\S+/play#(\S+)\n", done.stdout)[1], app


@pytest.fixture
def post(link):
    session, app = link

    def sent(path="", status=200, headers=None, **body):
        client = app.test_client()
        answer = client.post(f"/api/v1/play{path}", json={"session": session, **body}, headers=headers or {})
        assert answer.status_code == status, answer.text
        return answer.json

    return sent


def test_the_secret_opens_what_needs_a_token_elsewhere(link, post):
    _, app = link
    assert app.test_client().get("/api/v1/datasets").status_code == 401
    assert app.test_client().get("/play").status_code == 200
    assert not post(player=ANN)["joined"]


def test_a_player_sees_no_later_clue(post):
    state = post(player="1" * 32, agreed=True)
    assert state["joined"] and len(state["clues"]) == 1 and state["last"] is None
    answer = {"player": "1" * 32, "step": 0, "guess": " a  b ", "confidence": 40, "buzz": False}
    assert len(post("/answers", **answer)["clues"]) == 2
    assert post("/answers", **answer)["step"] == 1  # sent again
    assert post("/answers", 409, **answer | {"step": 2})["error"]["code"] == "no_step"


@pytest.mark.parametrize(
    "change",
    [
        {"confidence": 101},
        {"confidence": -1},
        {"guess": "x" * 301},
        {"step": -1},
        {"player": "ann"},
        {"more": 1},
        {"buzz": "yes"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_body_that_is_not_as_documented_is_refused(post, change):
    answer = {"player": ANN, "step": 0, "guess": "a", "confidence": 40, "buzz": False}
    assert post("/answers", 400, **answer | change)["error"]["code"] == "bad_value"


def test_a_page_of_another_site_cannot_play(post):
    assert post("", 403, {"Origin": "https://evil.example"}, player=ANN, agreed=True)["error"]["code"] == "cross_site"


def test_an_unknown_session_is_not_found(link):
    answer = link[1].test_client().post("/api/v1/play", json={"session": "x" * 32, "player": ANN})
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_session")


def test_an_erased_player_has_to_join_again(post):
    player = "e" * 32
    post(player=player, agreed=True)
    post("/answers", player=player, step=0, guess="a", confidence=40, buzz=False)
    assert post("/erase", player=player) == {"erased": True}
    assert not post(player=player)["joined"]


def test_players_who_join_at_once_get_places_of_their_own(link, post):
    players = [f"{index:032x}" for index in range(100, 116)]
    threads = [threading.Thread(target=lambda player=player: post(player=player, agreed=True)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = link[1].extensions["clueline"].store.register.play_log()
    places = [log.place(digest(link[0]), digest(player)) for player in players]
    assert None not in places and len(set(places)) == len(players)
