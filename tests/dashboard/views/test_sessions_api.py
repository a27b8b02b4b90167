"""Sessions of people over HTTP: who may list and create them, and the answers to bad requests."""

import shutil
from datetime import UTC, datetime, timedelta

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.play_sessions import sessions
from clueline.data.play_sessions.every_clue import Answer
from clueline.data.play_sessions.sessions import add_answer, join, read_session
from clueline.data.store.audit import Audit
from clueline.data.store.tokens_and_readers import Tokens

ADDRESS = "/api/v1/sessions"
SOON = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()


@pytest.fixture(scope="module")
def app(seeded, tmp_path_factory):
    """An app on a store that needs a token for changes."""
    store = shutil.copytree(seeded, tmp_path_factory.mktemp("sessions") / "store", ignore=shutil.ignore_patterns("cache"))
    return create_app(Settings(store=str(store), workers=1))


@pytest.fixture(scope="module")
def token(app):
    return Tokens(app.extensions["clueline"].store.register).create("ann")


@pytest.fixture
def ask(app, token):
    def send(method, status, **options):
        headers = {"Authorization": f"Bearer {token}"}
        response = app.test_client().open(ADDRESS, method=method, headers=headers, **options)
        assert response.status_code == status, response.text
        return response.get_json()

    return send


def test_a_session_is_created_and_listed(ask, app):
    wanted = {"dataset": "pyramid", "until": SOON, "questions": 3, "attention_checks": 1, "players": 5, "consent": "Be kind."}
    invitation = ask("POST", 201, json=wanted)
    link = invitation["link"]
    assert invitation["public"] and invitation["links"] == [link]
    secret = link.removeprefix("/play#")
    log = app.extensions["clueline"].store.register.play_log()
    session = read_session(log, secret)
    assert (len(session.questions) - 1, session.players, session.consent) == (3, 5, "Be kind.")
    player = "a" * 32
    join(log, secret, player)
    add_answer(log, secret, player, 0, Answer("Poe", 0.5, False))
    (listed,) = [summary for summary in ask("GET", 200)["sessions"] if summary["players"] == 5]
    assert listed == {
        "session": listed["session"], "dataset": "pyramid", "mode": "every-clue", "questions": 3, "attention_checks": 1,
        "players": 5, "joined": 1, "answers": 1,
        "until": session.until, "ended": False,
    }  # fmt: skip
    assert secret not in str(ask("GET", 200))
    events = Audit(app.extensions["clueline"].store.register).page(9)
    assert any((event.action, event.by) == ("invited_players", "ann") for event in events)


@pytest.mark.parametrize(
    ("changes", "status", "code", "words"),
    [
        ({"dataset": "nowhere"}, 400, "unknown_value", "no dataset 'nowhere'"),
        ({"until": "2020-01-01"}, 400, "bad_value", "is in the past"), ({"until": "soon"}, 400, "bad_value", "is not a date"),
        ({"questions": 0}, 400, "bad_value", "questions"), ({"attention_checks": 6}, 400, "bad_value", "attention_checks"),
        ({"players": 1001}, 400, "bad_value", "players"),
        ({"mode": "duel"}, 400, "bad_value", "mode"), ({"mode": "vote"}, 400, "unknown_value", "fit every-clue and race"),
        ({"colour": "red"}, 400, "bad_value", "colour"), ({"until": None}, 400, "bad_value", "until"),
    ],
)  # fmt: skip
def test_a_bad_session_is_refused(ask, changes, status, code, words):
    before = ask("GET", 200)
    error = ask("POST", status, json={"dataset": "pyramid", "until": SOON} | changes)["error"]
    assert error["code"] == code and words in error["message"]
    assert ask("GET", 200) == before


def test_the_number_of_sessions_is_limited(ask, monkeypatch):
    wanted = {"dataset": "pyramid", "until": SOON}
    ask("POST", 201, json=wanted)
    monkeypatch.setattr(sessions, "MAX_SESSIONS", len(ask("GET", 200)["sessions"]))
    assert ask("POST", 409, json=wanted)["error"]["code"] == "too_many"
