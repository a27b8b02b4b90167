"""``clueline report`` and ``view``: pages as files, and the response of a JSON address, without a server."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

import click
import msgspec

from clueline.dashboard.access import signed_links
from clueline.dashboard.cli.progress import CommandRefused, seed_empty_store
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store

if TYPE_CHECKING:
    from flask import Flask

    from clueline.dashboard.views.report.site import Site

PREFIX = "/api/v1/"
PAGES_OF_A_PROCESS = 50  # at least: a process takes as long to start as some dozen pages


@click.command("report")
@click.argument("views", nargs=-1)
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the views to this new file.")
@click.option("--site", type=click.Path(path_type=Path), metavar="FOLDER", help="Write all pages of a dataset to a new folder.")
@click.option("--dataset", metavar="ID", help="The dataset of the site; the first one by default.")
@click.option("--title", default="", help="The title of the file; the names of its datasets by default.")
@click.option("--public", is_flag=True, help="Only what anybody may read without a token. By default, every dataset can be read.")
@click.option("--store", metavar="STORE", help="The store, if not the one in CLUELINE_STORE.")
@click.pass_obj
def report_command(
    settings: Settings,
    views: tuple[str, ...],
    output: Path | None,
    site: Path | None,
    dataset: str | None,
    title: str,
    public: bool,
    store: str | None,
) -> None:
    """Save VIEWS, such as '/?dataset=pyramid' '/reliability?dataset=pyramid', as one HTML file.

    The file opens without a server and requests nothing. It has the figures, tables that sort, methods, and definitions of the
    metrics. Links lead to the other views of the file or, if CLUELINE_URL is set, to the server. Put VIEWS in quotes, because
    shells interpret "&" and "?".

    With --site, all pages of a dataset are written to a folder, with links among them, for GitHub Pages or an archive. If the
    store is empty, the bundled datasets are imported first, unless CLUELINE_SAMPLES=no.
    """
    if (output is None) == (site is None) or bool(views) != (output is not None):
        raise click.UsageError("Name views and --output FILE, or --site FOLDER.")
    from clueline.dashboard.app import create_app  # imported here because they load slowly
    from clueline.dashboard.service import service
    from clueline.dashboard.views.report.file import report_file

    # With as many workers as a server can have, each query runs in one thread: here, queries are many and small.
    settings = msgspec.structs.replace(settings, store=store or settings.store, workers=4)
    target = output or site
    assert target is not None
    opened = open_store(settings.store)
    opened.check_outside(target)
    if settings.samples == "yes":
        seed_empty_store(opened)
    try:
        with _reading(create_app(settings), public):
            url = settings.url and service().shared_url()
            if output is not None:
                body = report_file(views, title, url)
                with output.open("xb") as file:
                    file.write(body)
            else:
                click.echo(f"{_write_site(settings, public, target, dataset, url)} pages", err=True)
    except FileExistsError as error:
        raise CommandRefused(f"{target} already exists; choose another name.") from error
    except OSError as error:
        raise CommandRefused(f"{target} cannot be written: {error.strerror}.") from error


def _reading(app: Flask, public: bool) -> AbstractContextManager[object]:
    """Read as somebody without a token, or as this program, which may read every dataset."""
    return app.test_request_context("/") if public else app.app_context()


def _write_site(settings: Settings, public: bool, folder: Path, dataset: str | None, url: str) -> int:
    """Write a site and return the number of its pages. Many are shared out among processes, one for each core."""
    from clueline.dashboard.service import service
    from clueline.dashboard.views.report.site import Site

    site = Site(folder, service().facets(dataset).dataset, url)
    site.prepare()
    shares = max(1, min(os.cpu_count() or 1, len(site.files) // PAGES_OF_A_PROCESS))
    with ProcessPoolExecutor(shares, get_context("spawn")) as others:  # a fork would share the threads of DuckDB and polars
        written = [others.submit(_write_share, settings, public, site, share, shares) for share in range(1, shares)]
        site.write(0, shares)
        for one in written:
            one.result()
    return len(site.files)


def _write_share(settings: Settings, public: bool, site: Site, share: int, shares: int) -> None:
    from clueline.dashboard.app import create_app

    with _reading(create_app(settings), public):
        site.write(share, shares)


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
    from clueline.dashboard.app import create_app
    from clueline.dashboard.registry.addresses import answer_of, readable_addresses  # imported here because they load slowly

    parts = urlsplit(address)
    path = PREFIX + unquote(parts.path).removeprefix(PREFIX).lstrip("/")
    if as_csv and not path.endswith(".csv"):
        path += ".csv"
    query = [(key, text) for key, text in parse_qsl(parts.query, keep_blank_values=True) if key != signed_links.KEY]
    if output:
        open_store(settings.store).check_outside(output)
    with create_app(settings).app_context():  # outside a request, every dataset can be read
        answer = answer_of(path, query)
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
