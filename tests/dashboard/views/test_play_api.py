"""The addresses by which people answer questions."""

import re
import shutil
import threading
from collections import Counter
from datetime import UTC, datetime, timedelta
from secrets import token_hex

import pytest

from clueline.dashboard.access.request_rate import RequestRate
from clueline.dashboard.access.rights import PLAYED, PLAYED_AT_ONCE, PLAYED_FROM, PLAYED_FROM_AT_ONCE
from clueline.dashboard.app import create_app
from clueline.dashboard.service import service
from clueline.dashboard.settings import Settings
from clueline.data.play_sessions.race_of_one_player import spoken_words
from clueline.data.play_sessions.sessions import create_session, digest, read_session
from clueline.data.store.audit import Audit
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.selection import Selection, read_facets
from clueline.queries.selection.parameter_kinds import BadRequest

ANN = "a" * 32
DATASETS = {"every-clue": "pyramid", "race": "pyramid", "estimate": "lifeeval", "vote": "tone"}  # by mode


def invite(cli, store, *more):
    """Create a session of two questions, and return its secret."""
    until = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    done = cli("invite", "pyramid", "--questions", "2", "--until", until, *more, store=store)
    assert done.returncode == 0, done.stderr
    return re.fullmatch(r"http://\S+/play#(\S+)\n", done.stdout)[1]


@pytest.fixture(scope="module")
def link(seeded, tmp_path_factory, cli):
    """The secret of a session, and an app on its store that lets nobody read without a token."""
    store = shutil.copytree(seeded, tmp_path_factory.mktemp("play") / "store", ignore=shutil.ignore_patterns("cache"))
    return invite(cli, store, "--players", "40"), create_app(Settings(store=str(store), workers=1, read="token"))


@pytest.fixture(scope="module")
def race(link, cli):
    """The secret of a race, on the same app."""
    return invite(cli, link[1].extensions["clueline"].store.register.folder, "--mode", "race")


@pytest.fixture(params=DATASETS)
def small(request, link):
    """The secret of a session with three places, in each mode."""
    store, until = link[1].extensions["clueline"].store, datetime.now(UTC) + timedelta(days=1)
    log, snapshot = store.register.play_log(), store.snapshot()
    return create_session(log, snapshot, DATASETS[request.param], 20, 3, until, "", request.param)


@pytest.fixture
def post(link):
    session, app = link

    def sent(path="", status=200, headers=None, **body):
        client = app.test_client()
        answer = client.post(f"/api/v1/play{path}", json={"session": session, **body}, headers=headers or {})
        assert answer.status_code == status, answer.text
        return answer.json

    return sent


def test_the_secret_of_a_session_replaces_a_token(link, post):
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


BAD_ANSWERS = {
    "every-clue": [
        {"confidence": 101}, {"confidence": -1}, {"guess": "x" * 301}, {"step": -1}, {"player": "ann"}, {"more": 1},
        {"buzz": "yes"},
    ],
    "race": [
        {"pace": 10}, {"pace": 1000}, {"pace": "fast"}, {"received_ms": 5}, {"more": 1}, {"step": 1, "word": 0},
        {"step": 1, "word": 1, "counted": 1}, {"step": 1, "word": 1, "left": True}, {"step": 2, "timed_out": True},
    ],
}  # fmt: skip


@pytest.mark.parametrize(("mode", "change"), [(mode, change) for mode, changes in BAD_ANSWERS.items() for change in changes])
def test_a_body_that_is_not_as_documented_is_refused(post, race, mode, change):
    answer = {"session": race} if mode == "race" else {"guess": "a", "confidence": 40, "buzz": False}
    assert post("/answers", 400, **{"player": ANN, "step": 0} | answer | change)["error"]["code"] == "bad_value"


def test_a_page_of_another_site_cannot_play(post):
    assert post("", 403, {"Origin": "https://evil.example"}, player=ANN, agreed=True)["error"]["code"] == "cross_site"


@pytest.fixture
def still(link, monkeypatch):
    """Rate limits whose clock stands still, so that a slow machine counts the same."""
    access = link[1].extensions["clueline"].access
    monkeypatch.setattr(access, "players", RequestRate(PLAYED, PLAYED_AT_ONCE, lambda: 0))
    monkeypatch.setattr(access, "playing_clients", RequestRate(PLAYED_FROM, PLAYED_FROM_AT_ONCE, lambda: 0))


@pytest.mark.usefixtures("still")
def test_requests_of_one_player_are_limited(link, post):
    _, app = link
    client, flooding = app.test_client(), {"session": link[0], "player": "d" * 32}
    answers = [client.post("/api/v1/play", json=flooding) for _ in range(PLAYED_AT_ONCE + 3)]
    refused = answers[PLAYED_AT_ONCE:]
    assert [answer.status_code for answer in answers] == [200] * PLAYED_AT_ONCE + [429] * 3
    assert refused[0].json["error"]["code"] == "too_often" and refused[0].headers["Retry-After"] == "1"
    assert not post(player="e" * 32)["joined"]  # another player plays on


@pytest.mark.usefixtures("still")
def test_players_from_one_address_are_limited(link):
    _, app = link
    client = app.test_client()
    asked = [{"session": link[0], "player": f"{number + 10**9:032x}"} for number in range(PLAYED_FROM_AT_ONCE + 3)]
    place = {"REMOTE_ADDR": "192.0.2.7"}
    statuses = Counter(client.post("/api/v1/play", json=body, environ_base=place).status_code for body in asked)
    assert statuses == {200: PLAYED_FROM_AT_ONCE, 429: 3}
    other = client.post("/api/v1/play", json=asked[-1], environ_base={"REMOTE_ADDR": "192.0.2.8"})
    assert other.status_code == 200


@pytest.mark.parametrize(
    ("path", "more"),
    [("", {}), ("/models", {}), ("/result", {}), ("/erase", {}), ("/answers", {"step": 0}), ("/words", {"step": 1, "have": 0})],
)
def test_an_unknown_session_is_not_found(link, path, more):
    answer = link[1].test_client().post(f"/api/v1/play{path}", json={"session": "x" * 32, "player": ANN} | more)
    assert (answer.status_code, answer.json["error"]["code"]) == (404, "unknown_session")


def finish_a_question(post, player, confidence):
    """Answer every clue of the first question with a blank. Return what the page then shows."""
    state = post(player=player, agreed=True)
    while not state["last"]:
        body = {"player": player, "step": state["step"], "guess": "", "confidence": confidence, "buzz": False}
        state = post("/answers", **body)
    return state["last"]


def test_models_are_shown_once_the_question_is_over(post):
    player = "2" * 32
    post(player=player, agreed=True)
    assert post("/models", 409, player=player)["error"]["code"] == "no_step"
    assert post("/result", 409, player=player)["error"]["code"] == "no_step"
    last = finish_a_question(post, player, 10)
    shown = post("/models", player=player)
    assert shown["question_id"] == last["question_id"]
    assert len(shown["models"]) > 1
    for model in shown["models"]:
        assert [guess["clue"] for guess in model["guesses"]] == list(range(len(last["clues"])))
        assert model["buzz"] is None or 0 <= model["buzz"] < len(last["clues"])
    assert any(model["buzz"] is not None for model in shown["models"])


def test_the_models_buzz_where_the_question_page_says(link, post):
    player = "3" * 32
    question = finish_a_question(post, player, 10)["question_id"]
    snapshot = link[1].extensions["clueline"].store.snapshot()
    explorer = buzz(snapshot, Selection("pyramid"), Rules(curve="dataset")).explorer
    expected = {}
    for run in explorer.runs:
        above = f"select min(clue) from {snapshot.responses([run.run])} where question_id = $q and confidence > $t"
        ((clue,),) = snapshot.rows(above, {"q": question, "t": run.outcome.threshold})
        expected[run.model, run.elicitation] = clue
    shown = post("/models", player=player)["models"]
    assert {(model["model"], model["elicitation"]): model["buzz"] for model in shown} == expected


def test_a_player_sees_their_calibration_next_to_models(post):
    player = "4" * 32
    clues = len(finish_a_question(post, player, 30)["clues"])
    result = post("/result", player=player)
    (own,) = (row for row in result["standings"] if row["run"] is None)
    assert (result["questions"], result["answers"], own["metrics"]["accuracy_scored"]) == (1, clues, 0)
    assert own["metrics"]["brier"] == pytest.approx(0.09)
    assert [part["answers"] for part in result["bins"]] == [0, clues, 0, 0, 0]
    assert len(result["standings"]) + result["left_out"] > 2


def test_the_secret_opens_no_other_dataset(link):
    """A session lets its players read only its own dataset, where reading needs a token."""
    with link[1].test_request_context("/"):
        service().read_only("pyramid")
        assert list(service().snapshot().states) == ["pyramid"]
        with pytest.raises(BadRequest, match="no dataset"):
            read_facets(service().snapshot(), "lifespan")


def test_a_race_is_played_over_http(post, race):
    player = {"session": race, "player": "5" * 32}
    assert post(agreed=True, **player)["reading"]["phase"] == "ready"
    assert post("/words", 409, step=1, have=0, **player)["error"]["code"] == "no_step"
    begun = post("/answers", step=0, pace=60, **player)
    assert begun["reading"]["phase"] == "reading" and begun["step"] == 1 and begun["clues"] == []
    words = post("/words", step=1, have=0, **player)
    assert 1 <= len(words["words"]) < 60 and not words["over"] and words["left_ms"] is None
    assert post("/answers", 400, step=1, word=None, **player)["error"]["code"] == "bad_answer"
    buzzed = post("/answers", step=1, word=1, round_trip_ms=20, clock_ms=1e12, **player)
    assert buzzed["reading"]["phase"] == "answering" and 0 < buzzed["reading"]["left_ms"] <= 30_000
    over = post("/answers", step=2, guess="nobody at all", confidence=25, **player)
    assert over["last"]["answers"][0]["confidence"] == 0.25 and over["last"]["counts"]
    assert post("/models", **player)["question_id"] == over["last"]["question_id"]
    assert post("/result", **player)["answers"] == 1


def test_a_race_without_a_buzz_has_no_result(link, post, race):
    player = {"session": race, "player": "7" * 32}
    post(agreed=True, **player)
    log = link[1].extensions["clueline"].store.register.play_log()
    place = log.place(digest(race), digest("7" * 32))
    log.add_answer(digest(race), digest("7" * 32), place, 0, '{"pace": 400, "received_ms": 1.0}')
    state = post(**player)
    assert state["last"]["answers"] == [] and not state["last"]["counts"] and state["calibration"]["answers"] == 0
    assert "no question is answered" in post("/result", 409, **player)["error"]["message"].lower()


def test_an_erased_player_has_to_join_again(link, post):
    player = "e" * 32
    post(player=player, agreed=True)
    post("/answers", player=player, step=0, guess="a", confidence=40, buzz=False)
    assert post("/erase", player=player) == {"erased": True}
    assert post("/erase", player=player) == {"erased": False}
    audit = Audit(link[1].extensions["clueline"].store.register)
    erased, *_, invited = (event for event in audit.page(20) if event.action in ("erased_answers", "invited_players"))
    assert (erased.action, erased.by, erased.dataset, erased.address) == ("erased_answers", "player", "pyramid", None)
    assert (invited.action, invited.dataset) == ("invited_players", "pyramid") and invited.by.startswith("system:")
    assert not post(player=player)["joined"]


def test_one_network_cannot_take_all_places(link):
    app = link[1]
    store, until = app.extensions["clueline"].store, datetime.now(UTC) + timedelta(days=1)
    log, audit = store.register.play_log(), Audit(store.register)
    secret = create_session(log, store.snapshot(), "pyramid", 2, 12, until, "")

    def sent(path, player, address="192.0.2.1"):
        body = {"session": secret, "player": f"{player:032x}"} | ({} if path else {"agreed": True})
        return app.test_client().post(f"/api/v1/play{path}", json=body, environ_base={"REMOTE_ADDR": address})

    assert [sent("", player).status_code for player in range(8)] == [200] * 8
    refused = sent("", 8)
    assert refused.status_code == 403 and refused.json["error"]["code"] == "network_full"
    assert refused.json["error"]["message"].startswith("8 players have joined from your network")
    assert sent("", 3).status_code == 200  # who has joined comes back
    before = len(audit.page(1000))
    for player in range(20):  # erasing gives no place back, so the audit cannot be filled either
        sent("/erase", player)
        sent("", player)
    assert len(audit.page(1000)) - before == 8
    assert sent("", 8).status_code == 403 and sent("", 8, "192.0.2.2").status_code == 200
    tables = log.tables()
    assert not any("192.0.2" in str(rows) for rows in tables)


def begin(link, post, secret, player):
    """Join and begin the first question. Return its id, after checking that it is the one that is shown."""
    state = post(session=secret, player=player, agreed=True)
    log = link[1].extensions["clueline"].store.register.play_log()
    session = read_session(log, secret)
    question = session.order(log.place(digest(secret), digest(player)))[0]
    if session.mode == "race":
        assert state["reading"]["words"] == []
        begun = post("/answers", session=secret, player=player, step=0, pace=400)
        words = begun["reading"]["words"] + post("/words", session=secret, player=player, step=1, have=0)["words"]
        assert words and all(tuple(word) in spoken_words(question) for word in words)
    else:
        assert state["clues"] == [question.clues[0]] and state["step"] == 0
    return question.question_id


@pytest.mark.parametrize("keeps_key", [True, False], ids=["same key", "new key"])
def test_who_erased_their_answers_comes_back_as_a_newcomer(link, post, small, keeps_key):
    erased = token_hex(16)
    key = erased if keeps_key else token_hex(16)
    asked = begin(link, post, small, erased)
    assert post("/erase", session=small, player=erased) == {"erased": True}
    assert not post(session=small, player=erased)["joined"] and not post(session=small, player=key)["joined"]
    assert begin(link, post, small, key) != asked


def test_players_who_join_at_once_get_different_places(link, post):
    players = [f"{index:032x}" for index in range(100, 116)]
    threads = [threading.Thread(target=lambda player=player: post(player=player, agreed=True)) for player in players]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log = link[1].extensions["clueline"].store.register.play_log()
    places = [log.place(digest(link[0]), digest(player)) for player in players]
    assert None not in places and len(set(places)) == len(players)
