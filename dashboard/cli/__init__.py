"""The command line, ``clueline``.

Exit codes: 0 for success, 1 for a refusal (the report is on standard error), 2 for wrong usage.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from clueline.dashboard.settings import VERSION, BadSetting, read_settings, unknown_settings

# Where each command is defined. Only the command that runs is imported, because importing all of them takes seconds.
TASKS = {
    "Look at answers": {
        "serve": "clueline.dashboard.cli.serve:serve",
        "view": "clueline.dashboard.cli.report:view",
        "report": "clueline.dashboard.cli.report:report_command",
        "score": "clueline.dashboard.cli.score:score_command",
        "check": "clueline.dashboard.cli.check:check_command",
        "mcp": "clueline.dashboard.cli.mcp:mcp_command",
    },
    "Bring answers in, and take them along": {
        "import": "clueline.dashboard.cli.importing:import_command",
        "batch": "clueline.dashboard.cli.importing:batch_command",
        "mappings": "clueline.dashboard.cli.mappings:mappings_group",
        "watch": "clueline.dashboard.cli.watch:watch_command",
        "datasets": "clueline.dashboard.cli.datasets:datasets_group",
        "export": "clueline.dashboard.cli.export:export_group",
        "lake": "clueline.dashboard.cli.store:lake",
    },
    "Review and describe runs": {
        "grades": "clueline.dashboard.cli.gradings:grades_command",
        "models": "clueline.dashboard.cli.models:models_group",
        "tag": "clueline.dashboard.cli.datasets:tag_command",
        "withdraw": "clueline.dashboard.cli.datasets:withdraw_command",
    },
    "Let people in": {
        "invite": "clueline.dashboard.cli.sessions:invite",
        "collect": "clueline.dashboard.cli.sessions:collect_command",
        "token": "clueline.dashboard.cli.tokens:token_group",
        "sign": "clueline.dashboard.cli.tokens:sign",
    },
    "Keep the store": {
        "doctor": "clueline.dashboard.cli.doctor:doctor",
        "selections": "clueline.dashboard.cli.selections:selections_group",
        "backup": "clueline.dashboard.cli.store:backup",
        "restore": "clueline.dashboard.cli.store:restore",
        "migrate": "clueline.dashboard.cli.store:migrate",
        "verify": "clueline.dashboard.cli.store:verify",
        "repair": "clueline.dashboard.cli.store:repair",
    },
}
COMMANDS = {name: place for commands in TASKS.values() for name, place in commands.items()}


class _Commands(click.Group):
    """A group that imports a command only when it is used, and reports what a command cannot do in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module, _, name = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for task, commands in TASKS.items():
            with formatter.section(task):
                known = [(name, self.get_command(ctx, name)) for name in commands]
                formatter.write_dl([(name, command.get_short_help_str(200)) for name, command in known if command])

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["clueline.arguments"] = [*args]  # as they were given, for messages that repeat them (progress.py)
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            from clueline.dashboard.cli.progress import refusal_of

            refusal = refusal_of(error)
            if refusal is None:
                raise
            raise refusal from error


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(VERSION, prog_name="Clueline", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """Clueline: how well language models know what they know.

    Settings are environment variables such as CLUELINE_STORE and CLUELINE_PORT. docs/settings.md lists them.
    """
    try:
        context.obj = read_settings()
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    for warning in unknown_settings():
        click.echo(f"warning: {warning}", err=True)
