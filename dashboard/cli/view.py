"""``python -m dashboard view``: prints the response of a JSON address, without a server."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

import click

from dashboard.access import signed_links
from dashboard.cli.progress import CommandRefused
from dashboard.http.messages import error_message
from dashboard.settings import Settings
from data.store import open_store
from queries.selection.parameter_kinds import BadRequest

PREFIX = "/api/v1/"


@click.command("view")
@click.argument("address")
@click.option("--csv", "as_csv", is_flag=True, help="Print the table as CSV, if the address has one; JSON by default.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write to a new file.")
@click.pass_obj
def view(settings: Settings, address: str, as_csv: bool, output: Path | None) -> None:
    """Print the response of ADDRESS, such as 'decide?dataset=pyramid'.

    ADDRESS is one of those in docs/api.md, with or without /api/v1/ in front, or a link to it: leaderboard, compare, across,
    which-ece, triptych, power, teams or any other GET address. This reads the store directly, so it needs neither a server nor a
    token. Put ADDRESS in quotes, because shells interpret "&" and "?".
    """
    from dashboard.app import create_app
    from dashboard.registry.addresses import answer_of, readable_addresses  # imported here because they load slowly

    parts = urlsplit(address)
    path = PREFIX + unquote(parts.path).removeprefix(PREFIX).lstrip("/")
    if as_csv and not path.endswith(".csv"):
        path += ".csv"
    query = [(key, text) for key, text in parse_qsl(parts.query, keep_blank_values=True) if key != signed_links.KEY]
    if output:
        open_store(settings.store).check_outside(output)
    with create_app(settings).app_context():  # outside a request, every dataset can be read
        try:
            answer = answer_of(path, query)
        except BadRequest as error:
            raise CommandRefused(error_message(error)) from error
        if answer is None:
            ending = ".csv" if as_csv else ""
            known = [rule.removeprefix(PREFIX).removesuffix(ending) for rule in readable_addresses() if rule.endswith(ending)]
            table = " as CSV" if as_csv else ""
            raise CommandRefused(f"There is no address {path!r} to read{table}. There are: {', '.join(known)}.")
        try:
            with click.open_file(output or "-", "xb") as file:
                for part in answer.iter_encoded():
                    file.write(part)
        except FileExistsError as error:
            raise CommandRefused(f"{output} already exists; choose another name.") from error
        except OSError as error:
            raise CommandRefused(f"{output or 'the output'} cannot be written: {error.strerror}.") from error
        finally:
            answer.close()
