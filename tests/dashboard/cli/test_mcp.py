"""``clueline mcp``, driven by the client of the official package."""

import json
import sys
from concurrent.futures import ThreadPoolExecutor

import anyio
import pytest
from mcp import Client, StdioServerParameters

from clueline.dashboard.app import create_app
from clueline.dashboard.cli.mcp import MAX_CHARACTERS, small, tool_server
from clueline.dashboard.registry.addresses import ROUTES
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment


def calls(server, *wanted):
    """Return the tools by name, and for each call whether it is an error, and its texts."""

    async def ask():
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            results = [await client.call_tool(name, arguments) for name, arguments in wanted]
            return tools, [(result.is_error, [part.text for part in result.content]) for result in results]

    with ThreadPoolExecutor(1) as thread:  # Playwright leaves a running loop in the thread of the tests
        tools, results = thread.submit(anyio.run, ask).result()
    return {tool.name: tool for tool in tools}, results


@pytest.fixture
def secret(copied):
    """A token whose holder alone reads a dataset."""
    tokens = Tokens(open_store(copied).register)
    token = tokens.create("ann", "read")
    tokens.make_private("tone", ("ann",), None)
    return token


def started(*options, **settings):
    """Return how an agent starts the command."""
    command = ["-m", "clueline", "mcp", *map(str, options)]
    return StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT), env=environment(**settings))


def test_an_agent_starts_it_and_asks(copied, secret):
    """The token need not be an argument."""
    filters = {"category": ["Literature", "Science"], "common": 0}
    arguments = {"dataset": "pyramid", "metrics": "ece,brier", "filters": filters, "rows": 3}
    tools, (board, run, unknown, refused) = calls(
        started(store=copied, token=secret), ("leaderboard", arguments), ("runs_run_id", {"run_id": "5666c918c1e9e4dd"}),
        ("runs_run_id", {}), ("leaderboard", {"dataset": "absent"}),
    )  # fmt: skip
    client = create_app(Settings(store=str(copied), workers=1)).test_client()
    query = "dataset=pyramid&metrics=ece,brier&category=Literature&category=Science&common=0"
    expected = client.get(f"/api/v1/leaderboard?{query}").json
    answer = json.loads(board[1][0])
    assert [row["run"] for row in answer["rows"]] == [row["run"] for row in expected["rows"][:3]]
    assert answer["rows"][2]["metrics"]["ece"]["value"] == expected["rows"][2]["metrics"]["ece"]["value"]
    assert board[1][1] == f"Cut: rows (3 of {len(expected['rows'])}). Ask with more rows, or filters."
    assert not run[0] and json.loads(run[1][0])["model"] == "BM25" and len(run[1]) == 1
    assert unknown == (True, ["this needs: run_id"])
    assert refused == (True, ["There is no dataset 'absent'. There are: pyramid, lifeeval, tone."])
    assert len(tools) == sum(route.answer is not None for route in ROUTES)
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools.values())
    assert tools["compare"].input_schema["required"] == ["a", "b"] and "margin" in tools["compare"].input_schema["properties"]


@pytest.mark.parametrize(("read", "public"), [("open", True), ("token", False)])
def test_rights_are_those_of_a_token(copied, read, public):
    tokens = Tokens(open_store(copied).register)
    secrets = {name: tokens.create(name, "read") for name in ("ann", "bob")}
    tokens.make_private("tone", ("ann",), None)
    app = create_app(Settings(store=str(copied), workers=1, read=read))
    for secret, datasets in [
        (None, {"pyramid", "lifeeval"} if public else set()), (secrets["bob"], {"pyramid", "lifeeval"}),
        (secrets["ann"], {"pyramid", "lifeeval", "tone"}), ("wrong", set()),
    ]:  # fmt: skip
        _, (listed, tone) = calls(tool_server(app, secret), ("datasets", {}), ("leaderboard", {"dataset": "tone"}))
        assert listed[0] == (not datasets) and tone[0] == ("tone" not in datasets)
        if datasets:
            assert {dataset["dataset"] for dataset in json.loads(listed[1][0])["datasets"]} == datasets


def test_a_token_can_be_in_a_file(copied, secret, tmp_path):
    (tmp_path / "token").write_text(f"{secret}\n")
    _, (listed,) = calls(started("--token-file", tmp_path / "token", store=copied), ("datasets", {}))
    assert "tone" in {dataset["dataset"] for dataset in json.loads(listed[1][0])["datasets"]}


def test_long_answers_are_cut_and_say_so(seeded):
    answer = {"a": [{"b": [*range(30)], "c": None, "d": 0}] * 25, "e": "text"}
    text, note = small(answer, 20)
    assert json.loads(text) == {"a": [{"b": [*range(20)], "d": 0}] * 20, "e": "text"}
    assert note == "Cut: a (20 of 25), a.b (20 of 30). Ask with more rows, or filters."
    assert small({"a": [1, 2]}, 2) == ('{"a":[1,2]}', "")
    text, note = small({"a": ["x" * 5000] * 30}, 30)
    assert len(json.loads(text)["a"]) == 3 and "a (3 of 30)" in note and "fewer metrics" in note
    text, note = small({"a": "x" * 50_000}, 20)
    assert len(text) == MAX_CHARACTERS and "only the beginning" in note
