"""``python -m dashboard view``: what a JSON address answers, without a server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import click

from dashboard.access import signed_links
from dashboard.cli.progress_and_refusals import Refusal
from dashboard.error_messages import error_message
from dashboard.settings import Settings
from queries.selection.parameter_kinds import BadRequest

PREFIX = "/api/v1/"


@click.command("view")
@click.argument("address")
@click.option("--csv", "as_csv", is_flag=True, help="The table as CSV, where the address has one; JSON by default.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to a file.")
@click.pass_obj
def view(settings: Settings, address: str, as_csv: bool, output: Path | None) -> None:
    """Print what ADDRESS answers, such as 'decide?dataset=pyramid'.

    ADDRESS is one of docs/api.md, with or without /api/v1/ before it, or a link to it: leaderboard, compare, across, which-ece,
    triptych, power, teams and all others that are read with GET. No server is needed, and no token: this reads the store itself.
    Quote ADDRESS, for "&" and "?" mean something to shells.
    """
    from dashboard.api.blueprint import answer_of, readable_addresses  # slow to load, as the app is
    from dashboard.app import create_app

    parts = urlsplit(address)
    path = PREFIX + unquote(parts.path).removeprefix(PREFIX).lstrip("/")
    if as_csv and not path.endswith(".csv"):
        path += ".csv"
    query = [(key, text) for key, text in parse_qsl(parts.query, keep_blank_values=True) if key != signed_links.KEY]
    with create_app(settings).app_context():  # without a request, every dataset is read
        try:
            answer = answer_of(path, query)
        except BadRequest as error:
            raise Refusal(error_message(error)) from error
        if answer is None:
            ending = ".csv" if as_csv else ""
            known = [rule.removeprefix(PREFIX).removesuffix(ending) for rule in readable_addresses() if rule.endswith(ending)]
            table = " as CSV" if as_csv else ""
            raise Refusal(f"There is no address {path!r} to read{table}. There are: {', '.join(known)}.")
        try:
            with click.open_file(output or "-", "wb") as file:
                for part in answer.iter_encoded():
                    file.write(part)
        except OSError as error:
            raise Refusal(f"{output or 'the output'} cannot be written: {error.strerror}.") from error
        finally:
            answer.close()
