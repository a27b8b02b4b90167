"""``clueline token`` and ``sign``."""

from __future__ import annotations

from datetime import datetime
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit, urlunsplit

import click
from werkzeug.exceptions import HTTPException

from clueline.dashboard.access import signed_links
from clueline.dashboard.cli.progress import END_DATE, CommandRefused
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.data.store.tokens_and_readers import RIGHTS, Right, Tokens


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
@click.option("--until", callback=END_DATE, metavar="DATE", help="When it expires: a date or a time, UTC. Never by default.")
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


@click.command("sign")
@click.argument("link", required=False)
@click.option("--until", callback=END_DATE, metavar="DATE", help="When the link expires: a date or a time, UTC.")
@click.option("--revoke-all", is_flag=True, help="Revoke all links signed so far.")
@click.pass_obj
def sign(settings: Settings, link: str | None, until: datetime | None, revoke_all: bool) -> None:
    """Print LINK, the address of a page or a JSON address, with a signature that opens it without a token until DATE.

    It opens only this view, with its keys unchanged, and shows no other dataset. Anybody who gets the link can pass it on. A LINK
    without a host gets that of CLUELINE_URL.
    """
    tokens = Tokens(open_store(settings.store).register)
    if revoke_all:
        tokens.new_link_key()
        click.echo("Links that were signed before no longer work.", err=True)
    if link is None:
        if not revoke_all:
            raise click.UsageError("Missing argument 'LINK'.")
        return
    if until is None:
        raise click.UsageError("Missing option '--until'.")
    parts = urlsplit(link if link.startswith(("/", "http://", "https://")) else f"/{link}")
    pairs = [(key, text) for key, text in parse_qsl(parts.query, keep_blank_values=True) if key != signed_links.KEY]
    path = unquote(parts.path) or "/"
    dataset = _dataset(settings, parts.path or "/", pairs)
    key = tokens.record().link_key or tokens.new_link_key()
    signature = signed_links.sign(key, path, pairs, dataset, until)
    signed = urlunsplit(parts._replace(path=parts.path or "/", query=urlencode([*pairs, (signed_links.KEY, signature)])))
    click.echo(signed if parts.netloc else f"{settings.url}{signed}")


def _dataset(settings: Settings, path: str, pairs: list[tuple[str, str]]) -> str:
    """Return the dataset that an address is about. Raises ``CommandRefused`` for an unknown or invalid address."""
    from clueline.dashboard.app import create_app  # imported here because it loads slowly
    from clueline.dashboard.registry.pages import check_page, find_page, read_page
    from clueline.dashboard.service import service
    from clueline.queries.runs import run

    app = create_app(settings)
    try:
        endpoint, items = app.url_map.bind("localhost").match(unquote(path))
        with app.app_context():  # outside a request, every dataset can be read
            if endpoint.startswith("api."):
                if "run_id" in items:
                    return service().ask(run, items["run_id"]).dataset
                return service().facets(items.get("dataset", dict(pairs).get("dataset"))).dataset
            check_page(path, pairs)
            page, dataset, item = find_page(path)
            return read_page(page, pairs, dataset, item).selection.dataset
    except HTTPException as error:
        raise CommandRefused(f"there is no address {path!r}") from error
