"""Requests with random faults: each is answered or refused with a reason, and none fails inside the server.

A request starts as one that a page or a client really sends. Then one of its values is replaced, removed or added to, or its
bytes are damaged.
"""

import gzip
import json
import logging
import re
import shutil
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from urllib.parse import quote_from_bytes

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

from dashboard.access.dash_requests import CALLBACKS
from dashboard.access.request_rate import RequestRate
from dashboard.app import create_app
from dashboard.registry.addresses import ROUTES
from dashboard.registry.pages import PAGES
from dashboard.settings import Settings
from data.play_sessions.sessions import create_session, join
from data.store.tokens_and_readers import Tokens
from queries.selection import Selection
from tests.helpers.callback_body import callback_body
from tests.helpers.examples import examples

PLAYER = "a" * 32
SOON = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
DRAWN = callback_body()
# Bodies of the JSON addresses, without what only a server knows: the secret of a session and the id of a run.
PLAYING = {"session": "SESSION", "player": PLAYER}
BODIES = {
    "POST /api/v1/play": PLAYING | {"agreed": True},
    "POST /api/v1/play/answers": PLAYING | {
        "step": 0, "guess": "Poe", "confidence": 50, "buzz": False, "shown_ms": 900, "round_trip_ms": 9, "clock_ms": 1,
    },
    "POST /api/v1/play/words": PLAYING | {"step": 1, "have": 0},
    "POST /api/v1/play/models": PLAYING,
    "POST /api/v1/play/result": PLAYING,
    "POST /api/v1/play/erase": PLAYING | {"player": "b" * 32},
    "POST /api/v1/sessions": {
        "dataset": "pyramid", "until": SOON, "mode": "race", "questions": 2, "attention_checks": 0, "players": 3, "consent": "Hi",
    },
    "POST /api/v1/runs/<run_id>/grades": {
        "grades": [{"question_id": "lit-01", "guess": "Poe", "correct": 0.5, "clue": 1, "note": "no"}],
    },
    "POST /api/v1/runs/<run_id>/review": {"size": 5, "seed": 7},
    "POST /api/v1/runs/<run_id>/delete": {"name": "BM25"},
    "POST /api/v1/runs/<run_id>/tags": {"label": "x"},
    "POST /api/v1/models/merge": {"models": ["BM25"], "into": "BM25"},
    "POST /api/v1/models/dismiss": {"models": ["BM25", "TF-IDF words"]},
    "POST /api/v1/models/split": {"name": "BM25"},
    "POST /api/v1/models/rename": {"model": "BM25", "name": "BM25"},
    "POST /api/v1/models/describe": {"model": "BM25", "organisation": "lab", "released": "2024-05", "sizes": "7B", "notes": "no"},
    "POST /api/v1/write/guesses": {"text": "He wrote. He died.", "answer": "Poe", "elicitation": "margin"},
    "POST /api/v1/write/bundle": {
        "dataset": "desk", "title": "Desk",
        "questions": [{"text": "He wrote.", "answer": "Poe", "category": "Arts", "subcategory": "Books"}],
    },
    "POST /api/v1/samples": {"stored": True},  # the last one, because a change of it can remove what the others need
}  # fmt: skip
WITHOUT_BODY = {
    "POST /logout", "DELETE /api/v1/runs/<run_id>", "POST /api/v1/runs/<run_id>/restore",
    "DELETE /api/v1/datasets/<dataset>/readers",
}  # fmt: skip
# These take a form, a query string, or a file, which a process of its own reads (tests/data/importing).
OTHER_BODIES = {"POST /login", "POST /login/oidc", "POST /api/v1/runs", "POST /api/v1/datasets", "POST /api/v1/selections"}

# Text of JSON that Python cannot write. Each stands for itself in ``written``.
RAW = {
    "<deep>": "[" * 20_000 + "]" * 20_000, "<keys>": '{"a":' * 20_000 + "1" + "}" * 20_000, "<digits>": "9" * 5000,
    "<large>": "9" * 400, "<small>": f"-{'9' * 400}", "<1e999>": "1e999", "<-0>": "-0", "<twice>": '{"id": "a", "id": 1}',
}  # fmt: skip
TEXTS = st.sampled_from([
    "", "\ud800", "a\udfffb", "\0", "a\0b", "\u202e", "\ufffe", "{}", "{0}", "%", "%ED%A0%80", "%00", "x" * 9000, "..", "a/../b",
    "' or 1=1 --", "9999-12-31", "9999-12-31T23:59:59-12:00", "0001-01-01T00:00+14:00", "NaN", "-1", "\r\n", "http://[",
]) | st.text(max_size=5)  # fmt: skip
NUMBERS = st.sampled_from([0, -1, 2**31, 2**63, 2**64, -(2**63) - 1, 1e308, float("nan"), float("inf"), -0.0, 5e-324])
LEAVES = st.none() | st.booleans() | NUMBERS | TEXTS | st.sampled_from([*RAW])
VALUES = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXTS, inner, max_size=2), max_leaves=4)


def written(body):
    """Return JSON as bytes, with lone surrogates as escapes and the texts of ``RAW`` in place."""
    text = json.dumps(body)
    for name, raw in RAW.items():
        text = text.replace(json.dumps(name), raw)
    return text.encode()


def places(value, path=()):
    """Yield the path of a JSON value and of each value in it."""
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def changed(body, path, change, value):
    """Return a copy of a JSON value in which the value at a path is replaced or removed, or has another one beside it."""
    if not path:
        return value
    first, *rest = path
    copied = dict(body) if isinstance(body, dict) else list(body)
    if rest:
        copied[first] = changed(body[first], rest, change, value)
    elif change == "replace":
        copied[first] = value
    elif change == "remove":
        del copied[first]
    elif isinstance(copied, dict):
        copied[str(value)[:50]] = value
    else:
        copied.append(value)
    return copied


@st.composite
def faulty(draw, body):
    """Draw the bytes of a body with one or two faults."""
    for _ in range(draw(st.integers(1, 2))):
        path = draw(st.sampled_from([*places(body)]))
        body = changed(body, path, draw(st.sampled_from(["replace", "replace", "remove", "add"])), draw(VALUES))
        if not isinstance(body, dict | list):
            break
    data = written(body)
    damage = draw(st.sampled_from([None] * 8 + ["cut", "bytes", "gzip", "utf-16", "bom", "nothing", "twice"]))
    at = draw(st.integers(0, len(data)))
    return {
        None: data, "cut": data[:at], "bytes": data[:at] + draw(st.binary(min_size=1, max_size=3)) + data[at:],
        "gzip": gzip.compress(data, mtime=0), "utf-16": data.decode().encode("utf-16"), "bom": b"\xef\xbb\xbf" + data,
        "nothing": b"", "twice": data + data,
    }[damage]  # fmt: skip


def asked(**changes):
    return written(callback_body(**changes))


def with_changes(address, **changes):
    return address, written(BODIES[address] | changes)


KEYS = [*Selection.kinds(), "pin", "version", "theme", "signed", "metrics", "x"]
QUERIES = st.lists(st.tuples(st.sampled_from(KEYS), TEXTS).map("=".join), max_size=2).map("&".join)
PATHS = st.deferred(lambda: st.sampled_from([page.path for page in PAGES.values()]))
ADDRESSES = PATHS | st.builds("{}{}/{}".format, st.sampled_from(["/questions/", "/runs/", "/"]), TEXTS, TEXTS)
DRAWINGS = faulty(DRAWN) | st.builds(
    lambda path, query, draft: asked(path=path, query=query, draft=draft),
    ADDRESSES, QUERIES, st.none() | st.fixed_dictionaries({"text": TEXTS, "answer": TEXTS}),
)  # fmt: skip
CALLS = st.sampled_from([*BODIES]).flatmap(lambda address: st.tuples(st.just(address), faulty(BODIES[address])))
GOT = st.deferred(lambda: st.sampled_from([route for route in ROUTES if route.address.startswith("GET /api/")]))
SEGMENTS = st.sampled_from(["pyramid", "%ED%A0%80", "%00", "%FF", "%E2%80%AE", "9" * 5000, "%5B" * 900, "{}", "%"]) | st.binary(
    max_size=4
).map(quote_from_bytes)
HEADERS = {
    "Origin": ["http://[", "//[", "null", "http://[::1"], "Authorization": ["Bearer \xff", "Basic x", "Bearer", "\xed\xa0\x80"],
    "Content-Type": ["", "application/json; charset=utf-16", "multipart/form-data", "\xff"], "Content-Encoding": ["gzip", "\xff"],
    "Cookie": ["=", "clueline=\xff", 'a="\\777"'], "X-Forwarded-For": ["[", "\xff"], "Range": ["bytes=a-"], "Referer": ["http://["],
    "If-None-Match": ['W/"'], "X-Request-ID": ["\xff" * 9], "Sec-Fetch-Site": ["\xff"],
}  # fmt: skip
ONE_HEADER = st.sampled_from([(name, value) for name, values in HEADERS.items() for value in values])


@pytest.fixture(scope="module")
def hostile(seeded, tmp_path_factory):
    """A server with a player of a session, and the headers of somebody who may do everything."""
    store = shutil.copytree(seeded, tmp_path_factory.mktemp("hostile") / "store", ignore=shutil.ignore_patterns("cache"))
    app = create_app(Settings(store=str(store), workers=1))
    service = app.extensions["clueline"]
    access = service.access
    access.players = access.playing_clients = access.reading_clients = RequestRate(per_second=1e6, burst=10**6)
    log, snapshot = service.store.register.play_log(), service.store.snapshot()
    until = datetime.now(UTC) + timedelta(days=2)
    sessions = {mode: create_session(log, snapshot, "pyramid", 2, 9, until, "Hi", mode) for mode in ("every-clue", "race")}
    for session in sessions.values():
        join(log, session, PLAYER)
    (run,) = snapshot.rows("select run from runs where dataset = 'pyramid' limit 1")[0]
    token = {"Authorization": f"Bearer {Tokens(service.store.register).create('ann', 'admin')}"}
    return SimpleNamespace(client=app.test_client(), sessions=sessions, run=run, token=token)


@contextmanager
def no_failure():
    """Assert that nothing is logged with a traceback meanwhile."""
    failures = []

    class Handler(logging.Handler):
        def emit(self, record):
            if record.exc_info:
                failures.append(self.format(record))

    handler = Handler()
    logging.getLogger().addHandler(handler)
    try:
        yield
    finally:
        logging.getLogger().removeHandler(handler)
    assert not failures, failures[0][-2000:]


def sent(hostile, method, address, data=None, headers=None):
    """Send a request. Its answer is no failure and, where programs read it, an envelope that gives the reason."""
    with no_failure():
        answer = hostile.client.open(address, method=method, data=data, headers=headers)
        content = answer.get_data()
    assert answer.status_code < 500, (answer.status_code, content[:300])
    assert b"Traceback" not in content
    if answer.status_code >= 400 and address.startswith(("/api/", CALLBACKS)):
        assert answer.mimetype == "application/json", content[:300]
        error = json.loads(content)["error"]
        assert error["message"] and error["code"] != "internal_server_error"
    return answer


def drawn(hostile, data, headers=None):
    return sent(hostile, "POST", CALLBACKS, data, {"Content-Type": "application/json"} | (headers or {}))


def called(hostile, address, data, mode="every-clue", headers=None):
    method, path = address.split()
    path = path.replace("<run_id>", hostile.run).replace("<dataset>", "tone")
    data = data.replace(b"SESSION", hostile.sessions[mode].encode())
    return sent(hostile, method, path, data, hostile.token | (headers or {}))


def test_every_address_that_takes_json_is_tried(hostile):
    takes_query = {route.address for route in ROUTES if route.takes.kinds()}
    changing = {route.address for route in ROUTES if not route.address.startswith("GET ")}
    assert changing - takes_query - WITHOUT_BODY - OTHER_BODIES <= BODIES.keys() <= changing


@pytest.mark.parametrize("address", BODIES)
def test_a_body_without_faults_is_accepted(hostile, address):
    mode = "race" if address.endswith("/words") else "every-clue"
    # 409: the player has not got that far. 422: the run has no such guess.
    assert called(hostile, address, written(BODIES[address]), mode).status_code in (200, 201, 409, 422)


def test_a_drawing_without_faults_is_drawn(hostile):
    assert drawn(hostile, written(DRAWN)).status_code == 200


@given(data=DRAWINGS)
@examples(300, suppress_health_check=[*HealthCheck])
@example(data=b"[" * 2000)
@example(data=b'{"a":' * 2000)
@example(data=asked(query="\ud800"))
@example(data=asked(query="dataset=\ud800"))
@example(data=asked(path="/questions/\ud800/lit-01"))
@example(data=asked(path="/questions/pyramid/\ud800"))
@example(data=asked(path="/runs/\ud800"))
@example(data=asked(path="/write", draft={"text": "\ud800", "answer": ""}))
@example(data=asked(path="/write", draft={"text": "One. Two.", "answer": "\udfff"}))
@example(data=written(DRAWN | {"outputs": {"id": "x", "property": "y"}}))
@example(data=written(DRAWN | {"outputs": {"id": "\ud800", "property": "data"}}))
@example(data=written(DRAWN | {"x": "<deep>"}))
@example(data=written(DRAWN | {"x": "<digits>"}))
@example(data=written(DRAWN | {"x": float("nan")}))
@example(data=written(DRAWN | {"changedPropIds": ["\ud800.\0"]}))
@example(data=written(DRAWN).decode().encode("utf-16"))
def test_a_hostile_drawing_is_refused_with_a_reason(hostile, data):
    assert drawn(hostile, data).status_code in (200, 400)


@given(call=CALLS, mode=st.sampled_from(["every-clue", "race"]))
@examples(450, suppress_health_check=[*HealthCheck])
@example(call=with_changes("POST /api/v1/play/answers", confidence="<large>"), mode="every-clue")
@example(call=with_changes("POST /api/v1/play/answers", confidence="<small>"), mode="every-clue")
@example(call=with_changes("POST /api/v1/sessions", until="9999-12-31"), mode="race")
@example(call=with_changes("POST /api/v1/sessions", until="9999-12-31T23:59:59-12:00"), mode="race")
def test_a_hostile_body_is_refused_with_a_reason(hostile, call, mode):
    called(hostile, *call, mode)


@pytest.mark.parametrize("address", [*BODIES, *sorted(WITHOUT_BODY)])
@pytest.mark.parametrize(
    "data",
    [
        b"[" * 2000, b'{"a":' * 2000, b'{"a": "\\ud800"}', b'{"\xff": 1}', b'{"a": "\xed\xa0\x80"}', b"NaN", b"", b"\0",
        b'{"a":' + b"9" * 5000 + b"}", gzip.compress(b"{}", mtime=0), "{}".encode("utf-16"),
    ],
    ids=lambda data: repr(data[:9]),
)  # fmt: skip
def test_a_body_that_is_no_json_is_refused_everywhere(hostile, address, data):
    status = called(hostile, address, data).status_code
    assert status in (400, 413) or address in WITHOUT_BODY


@given(
    route=GOT,
    page=st.none() | PATHS,
    segments=st.lists(SEGMENTS, min_size=4, max_size=4),
    key=st.sampled_from(KEYS) | SEGMENTS,
    index=st.none() | st.integers(0, 40),
)
@examples(300, suppress_health_check=[*HealthCheck])
def test_a_hostile_address_is_refused_with_a_reason(hostile, route, page, segments, key, index):
    own = [*route.takes.kinds(), key]
    filled = iter(segments)
    path = re.sub("<[^>]+>", lambda _: next(filled), route.address.removeprefix("GET ") if page is None else f"{page}/<item>")
    sent(hostile, "GET", f"{path}?dataset=pyramid&{key if index is None else own[index % len(own)]}={segments[3]}")


@given(header=ONE_HEADER, address=st.sampled_from([*BODIES, "POST /login", "POST /logout", "GET /", "GET /login", "GET /docs"]))
@examples(150, suppress_health_check=[*HealthCheck])
@example(header=("Origin", "http://["), address="POST /api/v1/play")
@example(header=("Origin", "//["), address="POST /login")
def test_a_hostile_header_is_refused_with_a_reason(hostile, header, address):
    called(hostile, address, written(BODIES.get(address, {})), headers=dict([header]))
    drawn(hostile, b"{}", dict([header]))
