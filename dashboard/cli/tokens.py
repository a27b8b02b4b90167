"""``python -m dashboard token``: manages the tokens needed for uploads and, on some servers, for reading."""

from __future__ import annotations

from datetime import datetime

import click

from dashboard.cli.progress_and_refusals import EndDate
from dashboard.settings import Settings
from data.store import open_store
from data.store.tokens_and_readers import RIGHTS, Right, Tokens

UNTIL = EndDate()


@click.group("token")
def token_group() -> None:
    """Create, list and revoke the tokens needed for uploads and, with CLUELINE_READ=token, for reading."""


@token_group.command("create")
@click.argument("name")
@click.option(
    "--rights",
    type=click.Choice(RIGHTS),
    default="upload",
    show_default=True,
    help="read; upload, which can also read and change runs; or admin, which can also read every dataset and make it private.",
)
@click.option("--until", type=UNTIL, metavar="DATE", help="When it expires: a date or a time, UTC. Never by default.")
@click.pass_obj
def create(settings: Settings, name: str, rights: Right, until: datetime | None) -> None:
    """Create a token called NAME and print it. It cannot be shown again, because only its hash is stored."""
    click.echo(_tokens(settings).create(name, rights, until))


@token_group.command("list")
@click.pass_obj
def list_tokens(settings: Settings) -> None:
    """List the tokens, with tabs between name, time of creation, whether it is valid, its right, and when it expires."""
    for token in _tokens(settings).all():
        state = f"revoked {token.revoked_at}" if token.revoked_at else "expired" if token.ended_at() else "valid"
        click.echo("\t".join([token.name, token.made_at, state, token.right, token.until or "never"]))


@token_group.command("revoke")
@click.argument("name")
@click.pass_obj
def revoke(settings: Settings, name: str) -> None:
    """Revoke the token called NAME, immediately and for good. Runs uploaded with it stay."""
    _tokens(settings).revoke(name)
    click.echo(f"The token {name!r} is revoked.")


def _tokens(settings: Settings) -> Tokens:
    return Tokens(open_store(settings.store).register)
