"""``python -m dashboard report``: views as one HTML file, or a dataset as a folder of pages."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

import click
import msgspec

from dashboard.cli.progress import CommandRefused
from dashboard.http.messages import error_message
from dashboard.settings import Settings
from data.store import open_store
from queries.selection.parameter_kinds import BadRequest


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

    With --site, all pages of a dataset are written to a folder, with links among them, for GitHub Pages or an archive.
    """
    if (output is None) == (site is None) or bool(views) != (output is not None):
        raise click.UsageError("Name views and --output FILE, or --site FOLDER.")
    from dashboard.app import create_app  # imported here because they load slowly
    from dashboard.service import service
    from dashboard.views.report.file import report_file
    from dashboard.views.report.site import write_site

    # With as many workers as a server can have, each query runs in one thread: here, queries are many and small.
    settings = msgspec.structs.replace(settings, store=store or settings.store, workers=4)
    target = output or site
    assert target is not None
    open_store(settings.store).check_outside(target)
    app = create_app(settings)
    context: AbstractContextManager[object] = app.test_request_context("/") if public else app.app_context()
    try:
        with context:
            url = settings.url and service().shared_url()
            if output is not None:
                body = report_file(views, title, url)
                with output.open("xb") as file:
                    file.write(body)
            else:
                click.echo(f"{write_site(target, dataset, url)} pages", err=True)
    except BadRequest as error:
        raise CommandRefused(error_message(error)) from error
    except FileExistsError as error:
        raise CommandRefused(f"{target} already exists; choose another name.") from error
    except OSError as error:
        raise CommandRefused(f"{target} cannot be written: {error.strerror}.") from error
