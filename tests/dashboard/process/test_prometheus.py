"""Figures for Prometheus: off by default, and of all workers together."""

import json
import os
import shutil
import signal

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import start_server
from tests.helpers.waiting import wait_until

ADDRESS = "/metrics-prometheus"
ANSWERS = b"question_id,clue,guess,confidence\nlit-01,0,x,0.5\n"


def figures(text):
    """Return the values by name and labels."""
    families = text_string_to_metric_families(text)
    return {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}


def requests(values, endpoint, status, method="GET"):
    return values.get(("clueline_requests_total", ("endpoint", endpoint), ("method", method), ("status", str(status))), 0)


def get(served, path):
    return httpx.get(f"{served.address}{path}", timeout=120).raise_for_status().text  # a new connection each time


def test_there_are_no_figures_by_default(client):
    assert client.get(ADDRESS).status_code == 404


def test_unknown_paths_create_no_new_figures(copied):
    client = create_app(Settings(store=str(copied), workers=1, prometheus="on")).test_client()
    before = len(figures(client.get(ADDRESS).text))
    client.get("/api/v1/runs/none"), client.open("/api/v1/runs/none", method="BREW")
    first = len(figures(client.get(ADDRESS).text))
    for number in range(20):
        client.get(f"/api/v1/runs/none-{number}")
        client.open(f"/api/v1/runs/none-{number}", method=f"BREW{number}")
    assert before < first == len(figures(client.get(ADDRESS).text))


@pytest.fixture(scope="module")
def served(seeded, tmp_path_factory):
    folder = tmp_path_factory.mktemp("prometheus")
    store = shutil.copytree(seeded, folder / "store")
    token = Tokens(FolderRegister(store)).create("lab")
    server = start_server(store, folder / "log", workers=2, prometheus="on", log_format="json", log_level="info")
    server.token = token
    yield server
    server.stop()


def workers_of(served, endpoint):
    """Return the processes that answered an address."""
    lines = [json.loads(line) for line in served.log.read_text(encoding="utf-8").splitlines()]
    return {line["process"] for line in lines if line.get("path") == endpoint}


def test_any_worker_gives_the_figures_of_all(served):
    before = figures(get(served, ADDRESS))
    requested = 0
    while len(workers_of(served, "/api/v1/datasets")) < 2:
        get(served, "/api/v1/datasets")
        requested += 1
        assert requested < 500
    for _ in range(10):
        values = figures(get(served, ADDRESS))
        assert requests(values, "/api/v1/datasets", 200) - requests(before, "/api/v1/datasets", 200) == requested
        assert values["clueline_request_seconds_count", ("endpoint", "/api/v1/datasets")] >= requested


def test_the_cache_is_counted(served):
    path = "/api/v1/leaderboard?dataset=tone&beta=0.375"
    values = [figures(get(served, ADDRESS))]
    for _ in range(3):
        get(served, path)
        values.append(figures(get(served, ADDRESS)))
    misses = [value.get(("clueline_cache_reads_total", ("result", "miss")), 0) for value in values]
    hits = [value.get(("clueline_cache_reads_total", ("result", "hit")), 0) for value in values]
    assert misses[0] < misses[1] == misses[2] == misses[3] and hits[1] < hits[2] < hits[3]
    assert values[-1][("clueline_computing",)] == 0 and values[-1][("clueline_cache_failures_total",)] == 0


def test_uploads_are_counted_by_outcome(served):
    def post(body, token):
        address, headers = f"{served.address}/api/v1/runs?dataset=pyramid&model=counted", {"Authorization": f"Bearer {token}"}
        httpx.post(address, content=body, headers=headers, timeout=120)

    before = open_store(served.store).version()
    post(ANSWERS, served.token)
    post(ANSWERS, served.token)
    post(b"question_id\nx\n", served.token)
    post(ANSWERS, "wrong")
    values = figures(get(served, ADDRESS))
    outcomes = {outcome: values["clueline_uploads_total", ("outcome", outcome)] for outcome in
                ("stored", "nothing new", "bad rows", "refused")}  # fmt: skip
    assert outcomes == {"stored": 1, "nothing new": 1, "bad rows": 1, "refused": 1}
    (versions,) = [dict(key[1:]) for key in values if key[0] == "clueline_info"]
    assert versions["data_version"] == open_store(served.store).version() != before


def test_a_worker_that_dies_leaves_its_counts(served):
    get(served, "/api/v1/datasets")
    before = requests(figures(get(served, ADDRESS)), "/api/v1/datasets", 200)
    victim = max(workers_of(served, "/api/v1/datasets"))
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{victim}"))
    assert requests(figures(get(served, ADDRESS)), "/api/v1/datasets", 200) == before
