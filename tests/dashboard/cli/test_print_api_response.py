"""``clueline view``: it gives the answers of the server, and needs neither the server nor a token."""

import json
import re
from urllib.parse import parse_qsl, unquote, urlsplit

import pytest

from clueline.dashboard.registry.addresses import PART, ROUTES, answer_of, readable_addresses
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens


def test_every_address_answers_as_over_http(app, client):
    paths = client.get("/api/v1/openapi.json").json["paths"]
    routes = {PART.sub(r"{\1}", route.address.removeprefix("GET ")): route for route in ROUTES if route.view}
    assert {route.address.removeprefix("GET ") for route in routes.values()} == {*readable_addresses()}
    answered = 0
    for path in routes:
        (content,) = paths[path]["get"]["responses"]["200"]["content"].values()
        link = content["examples"]["sample"]["externalValue"]
        over_http = client.get(link)
        if over_http.status_code in (401, 403):  # it needs a right that whoever runs the command has
            continue
        parts = urlsplit(link)
        with app.app_context():
            answer = answer_of(unquote(parts.path), parse_qsl(parts.query))
            body = b"".join(answer.iter_encoded())
        assert (answer.status_code, answer.mimetype) == (200, over_http.mimetype) and over_http.status_code == 200, path
        assert body == re.sub(rb"http://localhost(?=[/\\])", b"http://localhost:8050", over_http.data), path  # in citations
        answered += 1
    assert answered > 80


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
