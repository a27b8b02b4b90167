"""Requests with random faults, and a server that checks what it answers to them.

A request starts as one that a page or a client really sends. Then one of its values is replaced, removed or added to, or all of
them are drawn anew, or its bytes or headers are damaged.
"""

import gzip
import json
import logging
import os
import re
import sysconfig
import zlib
from collections import Counter, defaultdict
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import quote_from_bytes, urlencode

import brotli
from hypothesis import strategies as st

from clueline.dashboard.access.dash_requests import CALLBACKS
from clueline.dashboard.access.request_rate import RequestRate
from clueline.dashboard.app import create_app
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.data.importing.table_files import zstd
from clueline.data.play_sessions.sessions import create_session, join
from clueline.data.store.register import REFUSED, REFUSED_BEFORE
from clueline.data.store.tokens_and_readers import Tokens
from clueline.queries.selection import Selection
from tests.helpers.callback_body import callback_body
from tests.helpers.paths import ROOT

PLAYER = "a" * 32
SAMPLES = "POST /api/v1/samples"
USER_HEADER = "X-User"
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
    "POST /api/v1/runs/<run_id>/adopt": {"grading": "imported"},
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
    SAMPLES: {"stored": True},  # the last one, because a change of it can remove what the others need
}  # fmt: skip
WITHOUT_BODY = {
    "POST /logout", "DELETE /api/v1/runs/<run_id>", "POST /api/v1/runs/<run_id>/restore",
    "DELETE /api/v1/datasets/<dataset>/readers", "DELETE /api/v1/mappings/<path:name>",
}  # fmt: skip
# These take a form, a query string, or a file, which a process of its own reads (tests/data/importing).
FORMS = {
    "POST /login": [("token", "x"), ("next", "/")], "POST /login/oidc": [("next", "/")],
    "POST /api/v1/selections": [("dataset", "pyramid"), ("category", "Literature")],
}  # fmt: skip
UPLOADS = ("POST /api/v1/runs", "POST /api/v1/datasets")
FILE = b"question_id,clue,guess,confidence\nlit-01,1,Poe,0.5\n"

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


def alike(value):
    """Draw JSON of the shape of a value, with the same keys and types: random values, and some that are kept."""
    if isinstance(value, dict):
        return st.fixed_dictionaries({key: alike(part) for key, part in value.items()})
    if isinstance(value, list):
        return st.lists(st.deferred(lambda: st.one_of(*map(alike, value))), max_size=3) if value else st.just(value)
    kinds = {bool: st.booleans(), int: st.integers() | NUMBERS, float: st.floats() | NUMBERS, str: TEXTS | st.text()}
    return st.just(value) | kinds.get(type(value), st.just(value))


class Sent(NamedTuple):
    """A request. ``address`` is as in ``ROUTES``, perhaps with a query string. ``length`` is the stated one of the body."""

    address: str
    data: bytes = b""
    headers: dict = {}  # noqa: RUF012  # nobody changes it
    length: str | None = None
    mode: str = "every-clue"  # of the session for which SESSION stands in the body


def asked(**changes):
    return written(callback_body(**changes))


def drawing(data, headers=None):
    return Sent(f"POST {CALLBACKS}", data, {"Content-Type": "application/json"} | (headers or {}))


KEYS = [*Selection.kinds(), "pin", "version", "theme", "signed", "metrics", "x"]
SEGMENTS = st.sampled_from(["pyramid", "%ED%A0%80", "%00", "%FF", "%E2%80%AE", "9" * 5000, "%5B" * 900, "{}", "%"]) | st.binary(
    max_size=4
).map(quote_from_bytes)
PATHS = st.deferred(lambda: st.sampled_from([page.path for page in PAGES.values()]))
OWN_KEYS = st.deferred(lambda: st.sampled_from(sorted({key for page in PAGES.values() for key in page.parameters.kinds()})))
SENSIBLE = st.sampled_from([
    "0.125..0.9", "0.5", "1", "0", "7", "-3", "1e9", "brier,ece", "BM25", "Literature", "question", "pyramid", "0.9..0.1",
])  # fmt: skip
QUERIES = st.lists(st.tuples(st.sampled_from(KEYS) | OWN_KEYS, TEXTS | SENSIBLE).map("=".join), max_size=3).map("&".join)
ADDRESSES = PATHS | st.builds("{}{}/{}".format, st.sampled_from(["/questions/", "/runs/", "/"]), TEXTS, TEXTS)
DRAWINGS = (
    faulty(DRAWN)
    | st.builds(
        lambda path, query, draft, page: asked(path=path, query=query, draft=draft, page=page),
        ADDRESSES, QUERIES, st.none() | st.fixed_dictionaries({"text": TEXTS, "answer": TEXTS}), st.booleans(),
    )
    | st.builds(lambda value: written(DRAWN | {"inputs": [DRAWN["inputs"][0] | {"value": value}]}), VALUES)
    | (alike(DRAWN) | VALUES).map(written)
).map(drawing)  # fmt: skip


def with_one(address):
    """Draw the bytes of a body of an address: like the one in ``BODIES``, or any JSON. Few remove the samples."""
    others = VALUES if address == SAMPLES else alike(BODIES[address]) | VALUES
    return faulty(BODIES[address]) | others.map(written)


CALLS = st.builds(
    lambda call, mode: Sent(*call, mode=mode),
    st.sampled_from([*BODIES]).flatmap(lambda address: st.tuples(st.just(address), with_one(address))),
    st.sampled_from(["every-clue", "race"]),
)
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "multipart/form-data", "text/plain", "")
PARTS = [
    b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n',
    b"--x--\r\n",
    b"\r\n",
    b"--x",
    b"\xff",
    b"\0",
    b"%",
    b"=",
]
PAIRS = st.lists(st.tuples(st.sampled_from(["token", "next", *KEYS]), TEXTS), max_size=3)
FORM_DATA = PAIRS.map(lambda pairs: urlencode(pairs, errors="surrogatepass").encode()) | st.lists(
    st.sampled_from(PARTS) | st.binary(max_size=5), max_size=5
).map(b"".join)
FORMS_SENT = st.builds(
    lambda address, own, data, kind: Sent(address, urlencode(FORMS[address]).encode() + b"&" + data if own else data, kind),
    st.sampled_from([*FORMS]), st.booleans(), FORM_DATA, st.sampled_from(FORM_TYPES).map(lambda kind: {"Content-Type": kind}),
)  # fmt: skip
READERS = SEGMENTS.map(lambda segment: Sent(f"PUT /api/v1/datasets/<dataset>/readers?reader={segment}"))
NOTHING_READ = st.builds(lambda address, data: Sent(address, written(data)), st.sampled_from(sorted(WITHOUT_BODY)), VALUES)


def _upload(address, key, value, data, kind):
    query = urlencode([("dataset", "tone"), (key, value)], errors="surrogatepass")
    return Sent(f"{address}?{query}", data, {"Content-Type": kind})


UPLOADED = st.sampled_from(UPLOADS).flatmap(
    lambda address: st.builds(
        _upload, st.just(address),
        st.deferred(lambda: st.sampled_from(_keys(address))), TEXTS,
        st.sampled_from([FILE, b"", FILE[:20], b"\xff\xfe", b"PK\3\4"]) | FORM_DATA, st.sampled_from(["text/csv", *FORM_TYPES]),
    )
)  # fmt: skip


def _keys(address):
    return [*next(route for route in ROUTES if route.address == address).takes.kinds(), "x"]


@st.composite
def hostile_addresses(draw):
    """Draw a GET address or the address of a page, with random parts and one key."""
    route = draw(st.sampled_from([route for route in ROUTES if route.address.startswith("GET /api/")]))
    page = draw(st.none() | PATHS)
    own = [*route.takes.kinds()]
    key = draw(st.sampled_from([*own, *own, *own, *KEYS]) | SEGMENTS)
    path = route.address.removeprefix("GET ")
    if page is not None:
        path = page + draw(st.sampled_from(["", "/<run_id>", "/<dataset>/<path:question_id>"]))
    path = re.sub("<[^>]+>", lambda part: draw(st.just(part[0]) | SEGMENTS), path)
    return Sent(f"GET {path}?dataset=pyramid&{key}={draw(SENSIBLE | SEGMENTS)}")


# Beginnings of what a header holds; random text follows.
HEADERS = {
    "Authorization": ["", "Bearer ", "bearer\t", "Basic eDp4", "Bearer \xed\xa0\x80", "Digest username="],
    "Cookie": ["", "=", "clueline_login=", "clueline_user=", "clueline_oidc=", 'a="\\777"', "clueline_login=\xff; "],
    "If-None-Match": ["", '"', 'W/"', "*", '"a", "b'],
    "If-Modified-Since": ["", "Thu, 26 Nov 2026 10:00:00 GMT", "Thu, 99 Nov 99999 99:99:99 GMT", "0", "-1"],
    "Range": ["", "bytes=", "bytes=a-", "bytes=5-2", "bytes=0-0,2-3,", "items=0-", f"bytes={'9' * 400}-"],
    "Accept": ["", "*/*;q=", "text/html", "application/json;q=nan", "a/b;q=1e999,", "/", ";"],
    "Accept-Encoding": ["", "gzip", "br;q=", "zstd", "deflate", "gzip;q=nan, ", "*"],
    "Accept-Language": ["", "de;q=", "x" * 900],
    "Content-Type": ["", "application/json; charset=utf-16", "application/json", "multipart/form-data", "text/csv; charset=\xff",
                     "multipart/form-data; boundary=", "application/x-www-form-urlencoded; charset="],
    "Content-Encoding": ["", "gzip", "zstd", "\xff"],
    "Transfer-Encoding": ["", "chunked", "gzip, chunked"],
    "X-Forwarded-For": ["", "[", "127.0.0.1, ", "::1", "\xff"], "X-Forwarded-Host": ["", "evil.example", "localhost, ", "["],
    "X-Forwarded-Proto": ["", "https", "javascript"], "X-Forwarded-Port": ["", "99999999"], "X-Forwarded-Prefix": ["", "/"],
    "Forwarded": ["", "for=", 'host="'],
    "Host": ["", "localhost", "localhost:", "127.0.0.1:", "[::1", "[", "evil.example", "localhost@"],
    "Origin": ["", "http://[", "//[", "null", "http://[::1", "http://localhost"], "Referer": ["", "http://[", "/"],
    "Sec-Fetch-Site": ["", "same-origin", "cross-site", "none"],
    "X-Request-ID": ["", "\xff" * 9], USER_HEADER: ["", "ann", " "], "Expect": ["", "100-continue"], "Upgrade": ["", "websocket"],
    "X-HTTP-Method-Override": ["", "DELETE"],
}  # fmt: skip
LATIN_1 = st.text(st.characters(codec="latin-1", exclude_characters="\r\n\0"), max_size=9)  # gunicorn refuses the three
ONE_HEADER = st.sampled_from([*HEADERS]).flatmap(
    lambda name: st.tuples(st.just(name), st.builds("{}{}".format, st.sampled_from(HEADERS[name]), st.just("") | LATIN_1))
)
GOOD = {
    "<dataset>": "pyramid", "<path:question_id>": "lit-01", "<path:name>": "BM25", "<selection_id>": "a" * 20,
}  # fmt: skip


@st.composite
def with_headers(draw):
    """Draw a request of any address, such as it should be but for one to three headers, or the stated length of its body."""
    addresses = st.sampled_from([route.address for route in ROUTES if route.address not in (*UPLOADS, SAMPLES)])
    changing = st.sampled_from(sorted({*BODIES, *FORMS} - {SAMPLES}))
    address = draw(st.builds("GET {}".format, PATHS) | addresses | changing | st.just(CALLBACKS))
    headers = dict(draw(st.lists(ONE_HEADER, min_size=1, max_size=3)))
    if address == CALLBACKS:
        return drawing(written(DRAWN), headers)
    if address in FORMS:
        return Sent(address, urlencode(FORMS[address]).encode(), {"Content-Type": FORM_TYPES[0]} | headers, draw(LENGTHS))
    data = b"" if address.startswith("GET ") else written(BODIES.get(address, {}))
    return Sent(address, data, headers, draw(LENGTHS))


LENGTHS = st.none() | st.none() | st.sampled_from(["0", "1", "5", "99", "9" * 30, "-1", "", "x", "1.5", "\xb2"])
# By kind of request: what draws one, and its share of all that are tried.
KINDS = {
    "drawings of pages": (DRAWINGS, 0.2),
    "JSON bodies": (CALLS, 0.35),
    "forms, query strings and unread bodies": (FORMS_SENT | READERS | NOTHING_READ, 0.15),
    "uploads": (UPLOADED, 0.01),
    "addresses": (hostile_addresses(), 0.15),
    "headers": (with_headers(), 0.14),
}


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


UNPACKED = {"gzip": gzip.decompress, "deflate": zlib.decompress, "br": brotli.decompress, "zstd": zstd.decompress}


class HostileServer:
    """A server with a player of sessions, called without a network by somebody who may do everything.

    ``statuses`` counts what it has answered, by kind of request.
    """

    def __init__(self, store):
        app = create_app(Settings(store=str(store), workers=1, trusted_proxies=("127.0.0.1",), user_header=USER_HEADER))
        self.store, self.service, self.client = store, app.extensions["clueline"], app.test_client(use_cookies=False)
        access, register = self.service.access, self.service.store.register
        access.players = access.playing_clients = access.reading_clients = access.storing_readers = RequestRate(1e6, 10**6)
        self.token = {"Authorization": f"Bearer {Tokens(register).create('ann', 'admin')}"}
        self.sessions = {}
        until = datetime.now(UTC) + timedelta(days=2)
        for mode in ("every-clue", "race"):
            log, snapshot = register.play_log(), self.service.store.snapshot()
            self.sessions[mode] = create_session(log, snapshot, "pyramid", 2, 9, until, "Hi", mode)
            join(log, self.sessions[mode], PLAYER)
        self.statuses, self.stored = defaultdict(Counter), self.files()
        self.secrets = [str(store), f"{ROOT}/dashboard", sysconfig.get_path("purelib"), sysconfig.get_path("stdlib")]

    def send(self, request, kind=""):
        """Send a request. Its answer is no failure and, where programs read it, an envelope that gives the reason.

        A refusal, and whatever a GET address answers, leaves the store as it was.
        """
        method, path = request.address.split(" ", 1)
        path = f"/{path.lstrip('/')}"  # the client would take what follows two slashes for a host
        if "<run_id>" in path:
            path = path.replace("<run_id>", self.run())
        path = path.replace("datasets/<dataset>/readers", "datasets/tone/readers")
        for part, value in GOOD.items():
            path = path.replace(part, value)
        data = request.data.replace(b"SESSION", self.sessions[request.mode].encode())
        with no_failure():
            answer = self.client.open(
                path, method=method, data=data, headers=self.token | request.headers,
                environ_overrides={} if request.length is None else {"CONTENT_LENGTH": request.length},
            )  # fmt: skip
            content = answer.get_data()
        self.statuses[kind][answer.status_code] += 1
        assert answer.status_code < 500, (answer.status_code, content[:300])
        if content and answer.content_encoding:
            content = UNPACKED[answer.content_encoding](content)
        assert b"Traceback" not in content
        assert [secret for secret in self.secrets if secret.encode() in content] == []
        if answer.status_code >= 400 and path.startswith(("/api/", CALLBACKS)):
            assert answer.mimetype == "application/json", content[:300]
            error = json.loads(content)["error"]
            assert error["message"] and error["code"] != "internal_server_error"
        before, self.stored = self.stored, self.files()
        assert self.stored == before or (answer.status_code < 400 and method != "GET"), self.stored.items() ^ before.items()
        return answer

    def files(self):
        """Return when each file of the store was written, except the cache, locks, and what lists refused attempts."""
        times = {}
        for folder, folders, names in os.walk(self.store):
            if "cache" in folders:
                folders.remove("cache")
            for name in set(names) - {REFUSED, REFUSED_BEFORE}:
                if not name.lower().endswith("lock"):
                    path = os.path.join(folder, name)
                    times[path] = os.stat(path).st_mtime_ns
        return times

    def run(self):
        """Return the id of a run. If a request has removed them all, the samples are imported again."""
        for _ in range(2):
            for (run,) in self.service.store.snapshot().rows("select run from runs where dataset = 'pyramid' limit 1"):
                return run
            self.client.post("/api/v1/samples", json={"stored": True}, headers=self.token)
            self.stored = self.files()
        raise AssertionError("the samples cannot be imported")
