"""A query that takes too long is ended and reported. Its thread and everybody else's answers are not affected."""

import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx
import msgspec
import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.cache import ResultCache
from clueline.dashboard.settings import Settings
from clueline.dashboard.shell import draw
from clueline.data.store import Snapshot
from clueline.data.store.query_to_file import Table
from clueline.queries.engine import evidence
from clueline.queries.metrics import Metric
from clueline.queries.query_time_limit import TimeLimitExceeded, check_time_limit, time_limit
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.json_api import error
from tests.helpers.serving import start_server
from tests.helpers.waiting import wait_until

ENDLESS = "select sum(a.range * b.range % 7) from range(500000) a, range(500000) b"


class Sum(msgspec.Struct):
    value: float


def endless_sql(snapshot: Snapshot) -> Sum:
    return Sum(snapshot.rows(ENDLESS)[0][0])


def endless_arrays(*_: Snapshot) -> Sum:
    while True:
        check_time_limit()
        time.sleep(0.01)


def quick(snapshot: Snapshot, number: int) -> Sum:
    return Sum(snapshot.rows("select $n + 0", {"n": number})[0][0])


@pytest.fixture
def limited(copied):
    return create_app(Settings(store=str(copied), workers=1, query_seconds=1))


@pytest.fixture
def patient(copied):
    """An app whose queries may take an hour."""
    return create_app(Settings(store=str(copied), workers=1, query_seconds=3600))


@pytest.mark.parametrize("query", [endless_sql, endless_arrays])
def test_an_endless_query_is_ended(limited, patient, query, caplog):
    """Others are answered meanwhile and afterwards.

    They use a server of the same process and store with a longer limit, because a busy machine may take over a second.
    """
    service, others = limited.extensions["clueline"], patient.extensions["clueline"]
    stop = threading.Event()

    def keep_asking(first):
        number = first
        while not stop.is_set():
            assert others.ask(quick, number).value == number
            number += 4
        return number - first

    with ThreadPoolExecutor(6) as pool:
        asking = [pool.submit(keep_asking, first) for first in range(4)]
        slow = [pool.submit(service.ask, query) for _ in range(2)]  # the second one waits for the first
        assert all(isinstance(future.exception(120), BadRequest) for future in slow)
        stop.set()
        assert all(future.result() > 0 for future in asking)
    for refused in (future.exception() for future in slow):
        assert (refused.code, refused.status) == ("query_timeout", 503)
        assert "within 1 seconds" in str(refused) and "CLUELINE_QUERY_SECONDS" in str(refused)
    assert query.__name__ in caplog.text


def test_json_and_page_say_that_it_took_too_long(limited, monkeypatch):
    """The metrics of the leaderboard are made to run endlessly."""
    monkeypatch.setattr(evidence.Evidence, "values", endless_arrays)
    problem = error(limited.test_client(), "/api/v1/leaderboard?dataset=tone", 503)
    assert problem["code"] == "query_timeout" and "Choose fewer runs" in problem["message"]
    with limited.test_request_context("/"):
        page = draw({"path": "/", "query": "dataset=tone", "page": True})
    assert "This took too long" in page and "Choose fewer runs" in page


def test_downloads_that_take_too_long_are_ended(limited, monkeypatch):
    client = limited.test_client()
    client.get("/api/v1/questions?dataset=tone&limit=1")  # caches everything except the downloads
    monkeypatch.setattr(Snapshot, "frame", lambda self, *_: self.rows(ENDLESS))
    for path in ("questions.csv?dataset=tone", "datasets/tone/prompts.csv"):
        assert error(client, f"/api/v1/{path}", 503)["code"] == "query_timeout", path


def test_responses_that_take_too_long_are_ended(limited, patient, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # the system's folder is shared with other tests
    client = limited.test_client()
    run = patient.test_client().get("/api/v1/runs?dataset=tone").json["runs"][0]["run"]
    monkeypatch.setattr("clueline.dashboard.views.runs.responses", lambda *_: Table(ENDLESS, {}))
    before = set(tmp_path.iterdir())
    for form in ("csv", "parquet"):
        assert error(client, f"/api/v1/runs/{run}/responses.{form}", 503)["code"] == "query_timeout", form
    monkeypatch.undo()
    # A busy machine may need more than a second, and several tries.
    wait_until(lambda: client.get(f"/api/v1/runs/{run}/responses.csv").status_code == 200)
    assert set(tmp_path.iterdir()) <= before


@pytest.mark.parametrize("metric", ["brier,accuracy,ece", "auroc"])
def test_metrics_of_single_questions_are_ended(limited, monkeypatch, metric):
    """Each step takes less than the limit of one second, but all together take more."""

    def slowly(function):
        def slow(*arguments):
            time.sleep(0.6)
            return function(*arguments)

        return slow

    monkeypatch.setattr(evidence.Evidence, "contributions", slowly(evidence.Evidence.contributions))
    monkeypatch.setattr(Metric, "kernel_values", slowly(Metric.kernel_values))
    address = f"/api/v1/questions.csv?dataset=tone&metrics={metric}"
    assert error(limited.test_client(), address, 503)["code"] == "query_timeout"


def test_a_download_whose_later_part_takes_too_long_ends(limited, monkeypatch):
    def parts(snapshot):
        yield 1
        yield snapshot.rows(ENDLESS)

    with limited.test_request_context("/"):
        stream = limited.extensions["clueline"].stream(parts)
        assert next(stream) == 1
        with pytest.raises(BadRequest, match="not computed within 1 seconds"):
            next(stream)


def test_waiting_for_anothers_result_has_the_same_limit(tmp_path):
    """In this process or in another one: caches of one folder share their locks."""
    caches = [ResultCache("filesystem", tmp_path, 2**20) for _ in range(2)]
    computing, release = threading.Event(), threading.Event()

    def compute():
        computing.set()
        release.wait(300)
        return b"late"

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(caches[0].get, "key", compute, bytes)
        computing.wait()
        for cache in caches:
            with pytest.raises(TimeLimitExceeded):
                cache.get("key", lambda: b"mine", bytes, 0.1)
        release.set()
        assert first.result() == b"late"
    assert [cache.get("key", lambda: b"mine", bytes, 0.1) for cache in caches] == [b"late"] * 2


@pytest.mark.parametrize("query", [endless_sql, endless_arrays])
def test_a_query_whose_client_has_left_is_ended(patient, query):
    ours, theirs = socket.socketpair()
    theirs.close()
    with patient.test_request_context("/", environ_overrides={"gunicorn.socket": ours}), pytest.raises(BadRequest) as ended:
        patient.extensions["clueline"].ask(query)
    assert ended.value.code == "client_left"
    ours.close()


def test_a_result_that_somebody_else_waits_for_is_computed(tmp_path):
    """This holds even if the client that asked for it first has left."""
    cache = ResultCache("filesystem", tmp_path, 2**20)
    computing, release = threading.Event(), threading.Event()

    def compute():
        with time_limit(3600, lambda: None, lambda: cache.callers("key") <= 1):  # it has left, as far as this check can tell
            computing.set()
            while not release.is_set():
                if cache.callers("key") > 1:
                    check_time_limit()
                time.sleep(0.01)
        return b"computed"

    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(cache.get, "key", compute, bytes)
        assert computing.wait(300) and cache.callers("key") == 1
        second = pool.submit(cache.get, "key", lambda: b"again", bytes)
        wait_until(lambda: cache.callers("key") == 2)
        release.set()
        assert first.result(60) == second.result(60) == b"computed"
    assert cache.callers("key") == 0


def test_a_server_stops_computing_for_clients_that_left(copied, tmp_path):
    """Forty such clients used to keep it busy for minutes."""
    served = start_server(copied, tmp_path / "log", workers=1, prometheus="on", log_level="info")
    address = urlsplit(served.address)

    def computing():
        text = httpx.get(f"{served.address}/metrics-prometheus", timeout=120).text
        return re.search(r"^clueline_computing ([0-9.]+)$", text, re.MULTILINE)

    try:
        clients = [socket.create_connection((address.hostname, address.port)) for _ in range(6)]
        for number, client in enumerate(clients):
            path = f"/api/v1/leaderboard?dataset=lifeeval&intervals=1&binning=mass15&t=0.{number + 100}"
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        wait_until(lambda: (figure := computing()) and float(figure[1]) > 0)
        for client in clients:
            client.close()
        wait_until(lambda: float(computing()[1]) == 0)
    finally:
        served.stop()
    assert "its client has left" in (tmp_path / "log").read_text(encoding="utf-8")
