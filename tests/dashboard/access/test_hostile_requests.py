"""Requests with random faults: each is answered or refused with a reason, and none fails inside the server."""

import gzip
import shutil

import pytest
from hypothesis import HealthCheck, given

from clueline.dashboard.access import request_rate
from clueline.dashboard.access.request_rate import RequestRate
from clueline.dashboard.registry.addresses import ROUTES
from tests.helpers.callback_body import callback_body
from tests.helpers.examples import examples
from tests.helpers.hostile_requests import BODIES, FORMS, KINDS, UPLOADS, WITHOUT_BODY, HostileServer, Sent, drawing, written

DRAWN = callback_body()
TRIED = 1500  # requests of all kinds that would reveal most faults


def asked(**changes):
    return drawing(written(callback_body(**changes)))


def with_changes(address, mode="every-clue", **changes):
    return Sent(address, written(BODIES[address] | changes), mode=mode)


# Requests that once failed inside the server, and their like.
DRAWINGS = [
    drawing(b"[" * 2000),
    drawing(b'{"a":' * 2000),
    asked(query="\ud800"),
    asked(query="dataset=\ud800"),
    asked(path="/questions/\ud800/lit-01"),
    asked(path="/questions/pyramid/\ud800"),
    asked(path="/runs/\ud800"),
    asked(path="/write", draft={"text": "\ud800", "answer": ""}),
    asked(path="/write", draft={"text": "One. Two.", "answer": "\udfff"}),
    drawing(written(DRAWN | {"outputs": {"id": "x", "property": "y"}})),
    drawing(written(DRAWN | {"outputs": {"id": "\ud800", "property": "data"}})),
    drawing(written(DRAWN | {"x": "<deep>"})),
    drawing(written(DRAWN | {"x": "<digits>"})),
    drawing(written(DRAWN | {"x": float("nan")})),
    drawing(written(DRAWN | {"changedPropIds": ["\ud800.\0"]})),
    drawing(written(DRAWN).decode().encode("utf-16")),
]
CALLS = [
    with_changes("POST /api/v1/play/answers", confidence="<large>"),
    with_changes("POST /api/v1/play/answers", confidence="<small>"),
    with_changes("POST /api/v1/sessions", "race", until="9999-12-31"),
    with_changes("POST /api/v1/sessions", "race", until="9999-12-31T23:59:59-12:00"),
    Sent("POST /api/v1/play", written(BODIES["POST /api/v1/play"]), {"Origin": "http://["}),
    Sent("POST /login", b"token=x", {"Origin": "//["}),
    Sent("GET /api/v1/runs", headers={"Accept": "text/html", "Host": "evil.example"}),
    drawing(written(DRAWN), {"Accept": "text/html", "X-Forwarded-Host": "["}),
]


@pytest.fixture(scope="module")
def hostile(seeded, tmp_path_factory):
    store = tmp_path_factory.mktemp("hostile") / "store"
    return HostileServer(shutil.copytree(seeded, store, ignore=shutil.ignore_patterns("cache")))


def test_every_address_that_changes_something_is_tried(hostile):
    takes_query = {route.address for route in ROUTES if route.takes.kinds()}
    changing = {route.address for route in ROUTES if not route.address.startswith("GET ")}
    assert changing - takes_query <= {*BODIES, *FORMS, *UPLOADS} | WITHOUT_BODY <= changing


@pytest.mark.parametrize("address", BODIES)
def test_a_body_without_faults_is_accepted(hostile, address):
    mode = "race" if address.endswith("/words") else "every-clue"
    # 409: the player has not got that far. 422: the run has no such guess.
    assert hostile.send(with_changes(address, mode)).status_code in (200, 201, 409, 422)


def test_a_drawing_without_faults_is_drawn(hostile):
    assert hostile.send(asked()).status_code == 200


@pytest.mark.parametrize("sent", DRAWINGS, ids=range(len(DRAWINGS)))
def test_a_hostile_drawing_is_refused_with_a_reason(hostile, sent):
    assert hostile.send(sent).status_code in (200, 400)


@pytest.mark.parametrize("sent", CALLS, ids=range(len(CALLS)))
def test_a_hostile_value_is_refused_with_a_reason(hostile, sent):
    assert 400 <= hostile.send(sent).status_code < 500


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_request_is_refused_with_a_reason(hostile, kind):
    drawn, share = KINDS[kind]

    @given(sent=drawn)
    @examples(int(TRIED * share), suppress_health_check=[*HealthCheck])
    def send(sent):
        hostile.send(sent, kind)

    send()
    statuses = hostile.statuses[kind]
    assert max(statuses) >= 400 and (min(statuses) < 400 or kind == "uploads"), statuses


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
    assert hostile.send(Sent(address, data)).status_code in (400, 413) or address in WITHOUT_BODY


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(("per_second", "burst", "tries_per_second"), [(5, 60, 100), (50, 200, 300), (2, 1, 10)])
def test_a_flood_gets_the_burst_and_the_rate(per_second, burst, tries_per_second):
    clock = Clock()
    rate, taken, seconds = RequestRate(per_second, burst, clock), 0, 20
    for tried in range(seconds * tries_per_second):
        clock.now = tried / tries_per_second
        taken += rate.takes("ann")
    assert taken == pytest.approx(burst + per_second * seconds, abs=1.5)


def test_an_even_pace_is_never_refused():
    clock = Clock()
    rate = RequestRate(5, 1, clock)
    for step in range(500):
        clock.now = step / 5
        assert rate.takes("ann")


def test_made_up_keys_are_forgotten(monkeypatch):
    monkeypatch.setattr(request_rate, "MAX_KEYS", 100)
    clock = Clock()
    rate = RequestRate(10, 5, clock)
    for number in range(5000):
        clock.now = number / 100
        rate.takes(f"key {number}")
    assert len(rate) <= 101
