"""``clueline invite`` and ``collect``: sessions in which people answer questions."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import TextIO
from urllib.parse import urlsplit

import click

from clueline.dashboard.access.rights import is_loopback, is_public
from clueline.dashboard.cli.progress import END_DATE, print_report, seed_empty_store
from clueline.dashboard.settings import Settings
from clueline.data.play_sessions.careless_players import flag_players
from clueline.data.play_sessions.session_definition import ModeKey
from clueline.data.play_sessions.session_run import collect, finished_questions
from clueline.data.play_sessions.sessions import (
    CONSENT,
    DEFAULT,
    MAX_CHECKS,
    MAX_PLAYERS,
    MAX_QUESTIONS,
    MODES,
    create_session,
    links_of,
    read_session,
)
from clueline.data.store import open_store
from clueline.data.store.audit import Audit
from clueline.data.store.tokens_and_readers import Tokens


@click.command("invite")
@click.argument("dataset")
@click.option("--mode", type=click.Choice([*MODES]), default=DEFAULT, show_default=True, help="How questions are asked.")
@click.option("--questions", type=click.IntRange(1, MAX_QUESTIONS), default=20, show_default=True, help="Number of questions.")
@click.option("--attention-checks", type=click.IntRange(0, MAX_CHECKS), default=0, help="Attention checks to add to them.")
@click.option("--players", type=click.IntRange(1, MAX_PLAYERS), default=30, show_default=True, help="How many can join.")
@click.option("--personal", is_flag=True, help="Print a link for each player, so that nobody can join twice.")
@click.option("--until", callback=END_DATE, metavar="DATE", required=True, help="When the session ends: a date or a time, UTC.")
@click.option("--consent", type=click.File(encoding="utf-8"), help="File with the text that players agree to.")
@click.option("--base", default="", metavar="URL", help="Address of the server, for the link; by default CLUELINE_URL.")
@click.pass_obj
def invite(
    settings: Settings,
    dataset: str,
    mode: ModeKey,
    questions: int,
    attention_checks: int,
    players: int,
    personal: bool,
    until: datetime,
    consent: TextIO | None,
    base: str,
) -> None:
    """Create a session in which people answer questions from DATASET, and print its link, which cannot be shown again.

    Anybody who has the link can join until all places are taken, also several times. With --personal, each player gets a link.

    In the mode every-clue, people answer after each clue. In a race, words appear one by one and each player buzzes once. The
    mode estimate asks for an age at death and needs a dataset of kind lifeeval; vote asks for a class and needs a dataset of kind
    votes. Attention checks tell the player what to answer; `collect` names the players who answered something else.
    """
    text = consent.read().strip() if consent else CONSENT
    store = open_store(settings.store)
    seed_empty_store(store)
    log, snapshot = store.register.play_log(), store.snapshot()
    record = partial(Audit(store.register).record, "invited_players", None, dataset=dataset)
    secret = create_session(log, snapshot, dataset, questions, players, until, text, mode, attention_checks, personal, record)
    address = base.rstrip("/") or settings.url or f"http://{settings.host}:{settings.port}"
    for link in links_of(log, secret):
        click.echo(f"{address}/play#{link}")
    if is_loopback(urlsplit(address).hostname or ""):
        click.echo("Only this machine can open this address. Others need that of the server: CLUELINE_URL or --base.", err=True)
    if is_public(dataset, settings.read, Tokens(store.register).record()):
        click.echo(
            f"Everybody can read {dataset} on this server meanwhile, its answers too. To prevent it: "
            f"clueline datasets private {dataset}",
            err=True,
        )


@click.command("collect")
@click.argument("link")
@click.option("--set-aside", multiple=True, metavar="PLAYER=REASON", help="Leave out a player, such as P007; repeatable.")
@click.option("--check", is_flag=True, help="Only print signs of careless players; import nothing.")
@click.pass_obj
def collect_command(settings: Settings, link: str, set_aside: tuple[str, ...], check: bool) -> None:
    """Import the answers so far from the session of LINK, one of its links, as a run called "People, N players".

    Signs that a player did not answer in earnest are printed, but have no effect. Only --set-aside leaves players out, and the
    reason is stored with the run.
    """
    store, secret = open_store(settings.store), link.rpartition("#")[2].partition("/")[0]
    reasons = dict(_player_and_reason(text) for text in set_aside)
    log = store.register.play_log()
    for flag in flag_players(MODES[read_session(log, secret).mode], finished_questions(log, secret)):
        click.echo(f"{flag.player} {'set aside, ' if flag.player in reasons else ''}{flag.sign}: {flag.reason}")
    if check:
        return
    report = collect(store, secret, set_aside=reasons)
    print_report(report)


def _player_and_reason(text: str) -> tuple[str, str]:
    """Return the two parts of ``PLAYER=REASON``."""
    player, equals, reason = text.partition("=")
    if not (player.strip() and equals and reason.strip()):
        raise click.BadParameter(f"{text!r} is not PLAYER=REASON, such as P007='too fast'", param_hint="--set-aside")
    return player.strip(), reason.strip()
