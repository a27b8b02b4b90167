"""A store on a read-only mount: it can be read, and each change says in a sentence that it cannot be written."""

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.play_sessions.sessions import create_session, join
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens, new_code
from tests.helpers.bundle_factory import RESPONSES, put, write
from tests.helpers.paths import ROOT

MOUNT = """
import json, subprocess, sys
store, token, requests = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
subprocess.run(["mount", "--bind", store, store], check=True)
subprocess.run(["mount", "-o", "remount,ro,bind", store], check=True)
from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
client = create_app(Settings(store=store, workers=1)).test_client()
answers = []
for method, path, body in requests:
    headers = {} if path.startswith("/login") else {"Authorization": f"Bearer {token}"}
    answer = client.open(path, method=method, data=body, headers=headers)
    answers.append((answer.status_code, answer.text))
print(json.dumps(answers))
"""
UNSHARE = ("unshare", "--map-root-user", "--mount")


def is_allowed():
    try:
        return subprocess.run([*UNSHARE, "true"], check=False, capture_output=True, timeout=60).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not is_allowed(), reason="this system does not let us mount a folder read-only")
def test_reading_works_and_each_change_says_why_not(tmp_path):
    store = open_store(tmp_path / "store", threads=1)
    put(store, write(tmp_path / "toy", responses=RESPONSES), model="opus")
    tokens, log = Tokens(store.register), store.register.play_log()
    token = tokens.create("ann", "admin")
    tokens.make_private("other", ["ann"])
    ((run,),) = store.snapshot().rows("select run from runs")
    secret = create_session(log, store.snapshot(), "toy", 2, 5, datetime.now(UTC) + timedelta(days=1), "yes")
    join(log, secret, "1" * 32)
    player = {"session": secret, "player": "1" * 32}
    reading = [
        ("GET", path, None)
        for path in (
            "/", "/readyz", "/api/v1/leaderboard?dataset=toy", "/api/v1/audit", "/api/v1/sessions", "/api/v1/models",
            f"/api/v1/runs/{run}/responses.csv",
        )
    ] + [("POST", "/api/v1/play", player)]  # fmt: skip
    grade = {"question_id": "q1", "guess": "Rome", "correct": True}
    writing = [
        ("DELETE", f"/api/v1/runs/{run}", None),
        ("POST", f"/api/v1/runs/{run}/tags", {"label": "new"}),
        ("POST", f"/api/v1/runs/{run}/grades", {"grades": [grade]}),
        ("POST", "/api/v1/models/rename", {"model": "opus", "name": "Opus"}),
        ("PUT", "/api/v1/datasets/toy/readers?reader=ann", None),
        ("DELETE", "/api/v1/datasets/other/readers", None),
        ("POST", "/api/v1/selections", "dataset=toy&category=Places"),
        ("POST", "/api/v1/sessions", {"dataset": "toy", "until": "2100-01-31"}),
        ("POST", "/api/v1/play", player | {"player": "2" * 32, "agreed": True}),
        ("POST", "/api/v1/play/erase", player),
        ("POST", "/api/v1/runs?dataset=toy&model=other", "question_id,clue,guess,confidence\nq1,0,Oslo,0.5\n"),
        ("GET", f"/login?once={new_code(tokens)}", None),
    ]
    store.close()
    requests = [(method, path, json.dumps(body) if isinstance(body, dict) else body) for method, path, body in reading + writing]
    command = [*UNSHARE, sys.executable, "-c", MOUNT, str(tmp_path / "store"), token, json.dumps(requests)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    assert [status for status, _ in answers[: len(reading)]] == [200] * len(reading)
    for (method, path, _), (status, text) in zip(writing, answers[len(reading) :], strict=True):
        assert status == 503 and "can only be read here" in text and str(tmp_path) not in text, f"{method} {path}: {text}"
