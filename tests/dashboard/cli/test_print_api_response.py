"""``python -m dashboard view``: it gives the answers of the server, and needs neither the server nor a token."""

import json
import re

import pytest

from dashboard.registry.addresses import ROUTES, answer_of, readable_addresses
from data.store import open_store
from data.store.tokens_and_readers import Tokens

PARTS = {"<dataset>": "pyramid", "<path:question_id>": "lit-01", "<path:name>": "BM25"}
TWO_RUNS = "dataset=pyramid&a={0}&b={1}"
QUERIES = {
    "/api/v1/buzz/categories": "dataset=pyramid", "/api/v1/cite": "view=/", "/api/v1/people": "dataset=tone",
    "/api/v1/compare": TWO_RUNS, "/api/v1/power": TWO_RUNS,
}  # fmt: skip


@pytest.fixture(scope="module")
def runs(client):
    return [row["run"] for row in client.get("/api/v1/runs?dataset=pyramid").json["runs"]]


def test_every_address_answers_as_over_http(app, client, runs):
    answered = 0
    for rule in readable_addresses():
        path = rule.replace("<run_id>", runs[0])
        for part, value in PARTS.items():
            path = path.replace(part, value)
        query = QUERIES.get(rule.removesuffix(".csv"), "").format(*runs)
        over_http = client.get(f"{path}?{query}")
        if over_http.status_code in (401, 403):  # it needs a right that whoever runs the command has
            assert next(route for route in ROUTES if route.address == f"GET {rule}").view is not None
            continue
        with app.app_context():
            answer = answer_of(path, [tuple(pair.split("=")) for pair in query.split("&") if pair])
            body = b"".join(answer.iter_encoded())
        assert (answer.status_code, answer.mimetype) == (over_http.status_code, over_http.mimetype) == (200, answer.mimetype), (
            rule
        )
        expected = re.sub(rb"http://localhost(?=[/\\])", b"http://localhost:8050", over_http.data)  # in citations
        assert answer.status_code == 200 and body == expected, rule
        answered += 1
    assert answered > 50


def test_an_address_may_be_a_link(cli, seeded):
    short = cli("view", "leaderboard?dataset=pyramid&metrics=brier", store=seeded)
    link = cli("view", "http://lab.example/api/v1/leaderboard?dataset=pyramid&metrics=brier", store=seeded)
    assert short.returncode == 0 and json.loads(short.stdout)["questions"] == 60
    assert link.stdout == short.stdout
    csv = cli("view", "leaderboard?dataset=pyramid&metrics=brier", "--csv", store=seeded)
    assert csv.stdout.startswith("run,model,elicitation,")


def test_it_is_written_to_a_file(cli, seeded, tmp_path):
    path = tmp_path / "runs.csv"
    done = cli("view", "/api/v1/runs.csv", "--output", path, store=seeded)
    assert (done.returncode, done.stdout) == (0, "") and path.read_text(encoding="utf-8").startswith("run,")
    done = cli("view", "/api/v1/metrics", "--output", path, store=seeded)
    assert done.returncode == 1 and "already exists; choose another name" in done.stderr
    assert path.read_text(encoding="utf-8").startswith("run,")
    done = cli("view", "runs", "--output", tmp_path / "none" / "runs.json", store=seeded)
    assert done.returncode == 1 and "cannot be written: No such file or directory" in done.stderr


def test_the_command_reads_private_datasets_and_the_audit(cli, copied):
    tokens = Tokens(open_store(copied).register)
    tokens.make_private("tone", (), "ann")
    assert json.loads(cli("view", "people?dataset=tone", store=copied).stdout)["rows"]
    assert json.loads(cli("view", "datasets/tone/readers", store=copied).stdout)["private"] is True
    assert any(event["action"] == "made_private" for event in json.loads(cli("view", "audit", store=copied).stdout)["events"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["leaderboard?dataset=nowhere"], "There is no dataset 'nowhere'"),
        (["leaderboard?colour=red"], "There is no key 'colour' here"),
        (["runs/0123"], "0123"),
        (["nothing"], "There is no address '/api/v1/nothing' to read. There are: across"),
        (["audit", "--csv"], "There is no address '/api/v1/audit.csv' to read as CSV. There are: across"),
        (["uploads"], "There is no address '/api/v1/uploads' to read."),
    ],
)
def test_what_it_cannot_show_is_named(cli, seeded, arguments, message):
    done = cli("view", *arguments, store=seeded)
    assert done.returncode == 1 and message in done.stderr and not done.stdout


def test_over_http_the_same_needs_a_token(app_taking_uploads):
    client = app_taking_uploads("token").test_client()
    assert client.get("/api/v1/audit").status_code == client.get("/api/v1/datasets/pyramid/readers").status_code == 401
