"""The arguments of a command as they were given, for messages that repeat it."""

from __future__ import annotations

from collections.abc import Sequence

import click

KEY = "dashboard.arguments"  # in click's context


def remember(context: click.Context, arguments: Sequence[str]) -> None:
    """Keep the arguments in the context of the command."""
    context.meta[KEY] = [*arguments]


def given() -> list[str]:
    """Return the arguments of the command that runs."""
    arguments: list[str] = click.get_current_context().meta[KEY]
    return arguments
