"""``python -m dashboard token``: the tokens that uploads need."""

from __future__ import annotations

import click

from dashboard.settings import Settings
from data.store import open_store
from data.store.tokens import Tokens


@click.group("token")
def token_group() -> None:
    """Create, list and revoke the tokens that uploads need."""


@token_group.command("create")
@click.argument("name")
@click.pass_obj
def create(settings: Settings, name: str) -> None:
    """Create a token called NAME and print it, this once: only its hash is kept."""
    click.echo(_tokens(settings).create(name))


@token_group.command("list")
@click.pass_obj
def list_tokens(settings: Settings) -> None:
    """List the tokens, separated by tabs: name, when it was created, whether it was revoked."""
    for token in _tokens(settings).all():
        click.echo(f"{token.name}\t{token.made_at}\t{f'revoked {token.revoked_at}' if token.revoked_at else 'valid'}")


@token_group.command("revoke")
@click.argument("name")
@click.pass_obj
def revoke(settings: Settings, name: str) -> None:
    """Revoke the token called NAME, at once and for good; runs uploaded with it stay."""
    _tokens(settings).revoke(name)
    click.echo(f"The token {name!r} is revoked.")


def _tokens(settings: Settings) -> Tokens:
    return Tokens(open_store(settings.store).register)
