"""The command line, ``python -m dashboard``. Exit codes: 0 done, 1 refused (the report is on standard error), 2 usage."""

from __future__ import annotations

from typing import Any

import click

from dashboard.cli.datasets import datasets_command
from dashboard.cli.export import export_group
from dashboard.cli.import_files import import_command
from dashboard.cli.output import Refusal
from dashboard.cli.score import score_command
from dashboard.cli.serve import serve
from dashboard.cli.store import backup, migrate, repair, restore
from dashboard.cli.tokens import token_group
from dashboard.settings import BadSetting, read_settings, unknown_settings
from dashboard.version import VERSION
from data.store import StoreError
from data.tokens import TokenError


class _Commands(click.Group):
    """Reports what is wrong with the store or the tokens in one line."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (StoreError, TokenError) as error:
            raise Refusal(str(error)) from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="Clueline", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Clueline: how well language models know what they know.

    Settings are environment variables such as CLUELINE_STORE and CLUELINE_PORT; docs/settings.md lists them.
    """
    try:
        context.obj = read_settings()
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    for warning in unknown_settings():
        click.echo(f"warning: {warning}", err=True)


for command in (
    serve, import_command, score_command, export_group, datasets_command, backup, restore, migrate, repair, token_group,
):  # fmt: skip
    main.add_command(command)
