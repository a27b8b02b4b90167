"""``python -m dashboard invite`` and ``collect``: sessions in which people answer questions."""

from __future__ import annotations

from datetime import datetime
from typing import TextIO

import click

from dashboard.cli.output import Refusal, Until, print_remarks, refusal, seed_empty_store
from dashboard.settings import Settings
from data.importing.report import Refused
from data.people.session_run import collect
from data.people.sessions import MOST_PLAYERS, MOST_QUESTIONS, SessionError, create_session
from data.store import open_store
from data.store.audit import Audit

CONSENT = (
    "Your answers, how sure you are and how long you take are kept under a pseudonym and can be published. "
    "No name and no address is kept. You can erase your answers at any time from this browser."
)


@click.command("invite")
@click.argument("dataset")
@click.option("--questions", type=click.IntRange(1, MOST_QUESTIONS), default=20, show_default=True, help="How many are asked.")
@click.option("--players", type=click.IntRange(1, MOST_PLAYERS), default=30, show_default=True, help="How many may join.")
@click.option("--until", type=Until(), metavar="DATE", required=True, help="When it ends: a date or a time, UTC.")
@click.option("--consent", type=click.File(encoding="utf-8"), help="File with the text that players agree to.")
@click.option("--base", default="", metavar="URL", help="Address of the server, for the link.")
@click.pass_obj
def invite(
    settings: Settings, dataset: str, questions: int, players: int, until: datetime, consent: TextIO | None, base: str
) -> None:
    """Make a session in which people answer questions of DATASET after each clue, and print its link, this once."""
    text = consent.read().strip() if consent else CONSENT
    store = open_store(settings.store)
    try:
        seed_empty_store(store)
        secret = create_session(store.register.play_log(), store.snapshot(), dataset, questions, players, until, text)
    except SessionError as error:
        raise Refusal(str(error)) from error
    Audit(store.register).record("invited_players", None, dataset=dataset)
    click.echo(f"{base.rstrip('/') or f'http://{settings.host}:{settings.port}'}/play#{secret}")


@click.command("collect")
@click.argument("link")
@click.pass_obj
def collect_command(settings: Settings, link: str) -> None:
    """Import the answers of the session of LINK, so far, as a run called "People, N players"."""
    try:
        report = collect(open_store(settings.store), link.rpartition("#")[2])
    except SessionError as error:
        raise Refusal(str(error)) from error
    except Refused as refused:
        raise refusal(refused, "imported") from refused
    for line in report.lines:
        click.echo(line)
    print_remarks(report.repaired, report.warnings)
