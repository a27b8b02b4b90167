"""``clueline mcp``: the views as tools for agents, by the Model Context Protocol over standard input and output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec

from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.registry.addresses import PART, ROUTES, Route
from clueline.dashboard.registry.views import filled_path
from clueline.dashboard.settings import TOKEN, VERSION, Settings
from clueline.queries.selection import Selection
from clueline.queries.selection.view_parameters_base import declared_fields, key_form

if TYPE_CHECKING:
    from flask import Flask
    from mcp.server.lowlevel import Server

ROWS = 20  # entries of each list of an answer, by default
MAX_ROWS = 1000
MAX_CHARACTERS = 24_000  # of an answer; of a longer one, lists are cut further
MAX_ALLOWED = 40  # valid values that an error lists
PREFIX = "GET /api/v1/"
ROWS_SCHEMA = {
    "type": "integer", "minimum": 1, "maximum": MAX_ROWS, "default": ROWS,
    "description": "most entries of each list of the answer",
}  # fmt: skip
INSTRUCTIONS = """Clueline measures how well language models know what they know: calibration, by dataset and run. Begin with
the tools `datasets` and `runs`, which give ids. Answers are small: lists are cut after `rows` entries, and the answer says so.
`metrics` names the keys of metrics; state the few that you need. `filters` of a tool can have these keys:
"""


@click.command("mcp")
@click.option("--token", envvar=TOKEN, show_envvar=True, metavar="TOKEN",
              help="Read with the rights of this token; without it, only what is public. Other users see it in the list of "
              "processes, so use the variable or --token-file.")  # fmt: skip
@click.option("--token-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="Read the token from the first line of FILE.")  # fmt: skip
@click.pass_obj
def mcp_command(settings: Settings, token: str | None, token_file: Path | None) -> None:
    """Serve the views of the store as tools to an agent, by the Model Context Protocol (MCP) over standard input and output.

    The tools only read. This reads the store directly, so it needs no server.
    """
    if token_file is not None:
        try:
            token = token_file.read_text(encoding="utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            raise CommandRefused(f"{token_file} cannot be read: {error}") from None
    try:
        import anyio
        from mcp.server.stdio import stdio_server
    except ImportError:
        raise CommandRefused("This needs the package mcp: pip install mcp") from None
    from clueline.dashboard.app import create_app

    server = tool_server(create_app(settings), token)

    async def run() -> None:
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    anyio.run(run)


def tool_server(app: Flask, token: str | None) -> Server[Any]:
    """Return a server whose tools are the views of an app. They answer as the addresses do to the holder of the token."""
    import anyio.to_thread
    import mcp.types as types
    from mcp.server.lowlevel import Server

    routes = {tool_name(route): route for route in ROUTES if route.answer is not None and route.address.startswith(PREFIX)}
    tools = [
        types.Tool(
            name=name,
            description=" ".join(route.gives.split()),
            input_schema=input_schema(route),
            annotations=types.ToolAnnotations(read_only_hint=True, open_world_hint=False),
        )
        for name, route in routes.items()
    ]
    keys = "".join(f"- {key_form(key, kind)}: {kind.about}\n" for key, kind in Selection.kinds().items())

    def ask(name: str, arguments: Mapping[str, Any]) -> types.CallToolResult:
        if name not in routes:
            return _error(f"there is no tool {name!r}; there are: {', '.join(routes)}")
        try:
            (path, query), rows = address(routes[name], arguments), int(arguments.get("rows", ROWS))
        except (ValueError, TypeError, AttributeError) as error:
            return _error(str(error))
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        response = app.test_client().get(path, query_string=query, headers=headers)
        answer = msgspec.json.decode(response.data)
        if response.status_code != 200:
            refusal = answer["error"]
            allowed = f" There are: {', '.join(refusal['allowed'][:MAX_ALLOWED])}." if refusal["allowed"] else ""
            return _error(f"{refusal['message']}{allowed}")
        text, note = small(answer, rows)
        return types.CallToolResult(content=[types.TextContent(text=part) for part in (text, note) if part])

    def _error(message: str) -> types.CallToolResult:
        return types.CallToolResult(content=[types.TextContent(text=message)], is_error=True)

    async def list_tools(context: object, parameters: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools)

    async def call_tool(context: object, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(ask, parameters.name, parameters.arguments or {})

    return Server("clueline", version=VERSION, instructions=INSTRUCTIONS + keys, on_list_tools=list_tools, on_call_tool=call_tool)


def tool_name(route: Route) -> str:
    """Return the name of the tool of a view, such as ``runs_run_id`` for ``runs/<run_id>``."""
    return re.sub(r"\W+", "_", PART.sub(r"\1", route.address.removeprefix(PREFIX)))


def input_schema(route: Route) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of a tool: parts of the path, the view's own keys, filters and ``rows``."""
    parts = PART.findall(route.address)
    properties: dict[str, Any] = {part: {"type": "string"} for part in parts}
    required = [*parts, *(field.name for field in declared_fields(route.takes) if field.required and field.name not in parts)]
    for key, kind in route.takes.kinds().items():
        schema = {"type": "array", "items": kind.schema()} if kind.repeatable else kind.schema()
        properties.setdefault(key, schema | {"description": kind.about})
    if route.selection:
        properties.setdefault("dataset", {"type": "string", "description": "id of the dataset"})
        about = "filters and conventions by key, such as {'category': 'Science'}; several values as a list"
        properties["filters"] = {"type": "object", "description": about}
    return {"type": "object", "properties": properties | {"rows": ROWS_SCHEMA}, "required": required}


def address(route: Route, arguments: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """Return the path and the query of a call of a tool. Raises ``ValueError`` if a part of the path is missing."""
    parts = PART.findall(route.address)
    if missing := [part for part in parts if not str(arguments.get(part) or "")]:
        raise ValueError(f"this needs: {', '.join(missing)}")
    path = filled_path(route.address.removeprefix("GET "), {part: str(arguments[part]) for part in parts}, quoted=True)
    given = {key: value for key, value in arguments.items() if key not in (*parts, "filters", "rows")}
    query = []
    for key, value in {**given, **(arguments.get("filters") or {})}.items():
        for one in value if isinstance(value, list) else [value]:
            text = str(int(one)) if isinstance(one, bool) else str(one)
            query += [(key, text)] if one is not None else []
    return path, query


def small(answer: object, rows: int) -> tuple[str, str]:
    """Return an answer as JSON without nulls, and with at most so many entries of each list, and a note on what was cut."""
    asked = rows = max(1, min(rows, MAX_ROWS))
    while True:
        cut: dict[str, int] = {}
        text = msgspec.json.encode(_cut(answer, rows, "", cut)).decode()
        if len(text) <= MAX_CHARACTERS or rows == 1:
            break
        rows = max(1, rows // 2)
    lists = ", ".join(f"{path} ({rows} of {length:,})" for path, length in cut.items())
    if len(text) > MAX_CHARACTERS:
        text = text[:MAX_CHARACTERS]
        return (
            text,
            f"This is only the beginning of the JSON, {MAX_CHARACTERS:,} characters. Ask for less, such as fewer metrics.",
        )
    more = "Ask for less of each, such as fewer metrics, to see more." if rows < asked else "Ask with more rows, or filters."
    return text, f"Cut: {lists}. {more}" if cut else ""


def _cut(value: object, rows: int, path: str, cut: dict[str, int]) -> object:
    """Return a value with shorter lists and without nulls. ``cut`` gets the greatest length of the lists at each path."""
    if isinstance(value, dict):
        return {key: _cut(part, rows, f"{path}.{key}" if path else key, cut) for key, part in value.items() if part is not None}
    if not isinstance(value, list):
        return value
    if len(value) > rows:
        cut[path] = max(cut.get(path, 0), len(value))
    return [_cut(part, rows, path, cut) for part in value[:rows]]
