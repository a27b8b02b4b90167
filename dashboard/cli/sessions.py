"""``python -m dashboard invite`` and ``collect``: sessions in which people answer questions."""

from __future__ import annotations

from datetime import datetime
from typing import TextIO

import click

from dashboard.cli.progress_and_refusals import Refusal, Until, print_remarks, refusal, seed_empty_store
from dashboard.settings import Settings
from data.importing.report import Refused
from data.play_sessions.careless_players import flag_players
from data.play_sessions.session_definition import ModeKey, SessionError
from data.play_sessions.session_modes import DEFAULT, MODES
from data.play_sessions.session_run import collect, finished_questions
from data.play_sessions.sessions import CONSENT, MAX_CHECKS, MAX_PLAYERS, MAX_QUESTIONS, create_session, read_session
from data.store import open_store
from data.store.audit import Audit
from data.store.run_tags import BadTag


@click.command("invite")
@click.argument("dataset")
@click.option("--mode", type=click.Choice([*MODES]), default=DEFAULT, show_default=True, help="How questions are asked.")
@click.option("--questions", type=click.IntRange(1, MAX_QUESTIONS), default=20, show_default=True, help="How many are asked.")
@click.option("--attention-checks", type=click.IntRange(0, MAX_CHECKS), default=0, help="How many are asked beside them.")
@click.option("--players", type=click.IntRange(1, MAX_PLAYERS), default=30, show_default=True, help="How many may join.")
@click.option("--until", type=Until(), metavar="DATE", required=True, help="When it ends: a date or a time, UTC.")
@click.option("--consent", type=click.File(encoding="utf-8"), help="File with the text that players agree to.")
@click.option("--base", default="", metavar="URL", help="Address of the server, for the link.")
@click.pass_obj
def invite(
    settings: Settings,
    dataset: str,
    mode: ModeKey,
    questions: int,
    attention_checks: int,
    players: int,
    until: datetime,
    consent: TextIO | None,
    base: str,
) -> None:
    """Make a session in which people answer questions of DATASET, and print its link, this once.

    In the mode every-clue, people answer after each clue; in a race, words come one by one and each player buzzes once; estimate
    asks for an age at death, with datasets of kind lifeeval; vote for a class, with datasets of kind votes. Attention checks say
    themselves what to answer; collect names the players who answered otherwise.
    """
    text = consent.read().strip() if consent else CONSENT
    store = open_store(settings.store)
    try:
        seed_empty_store(store)
        log, snapshot = store.register.play_log(), store.snapshot()
        secret = create_session(log, snapshot, dataset, questions, players, until, text, mode, attention_checks)
    except SessionError as error:
        raise Refusal(str(error)) from error
    Audit(store.register).record("invited_players", None, dataset=dataset)
    click.echo(f"{base.rstrip('/') or f'http://{settings.host}:{settings.port}'}/play#{secret}")


@click.command("collect")
@click.argument("link")
@click.option("--set-aside", multiple=True, metavar="PLAYER=REASON", help="Leave out a player, such as P007; repeatable.")
@click.option("--check", is_flag=True, help="Only print what is odd about the answers of players; import nothing.")
@click.pass_obj
def collect_command(settings: Settings, link: str, set_aside: tuple[str, ...], check: bool) -> None:
    """Import the answers of the session of LINK, so far, as a run called "People, N players".

    Signs that a player did not answer in earnest are printed. They change nothing: players are left out by --set-aside alone,
    and the run keeps the reason.
    """
    store, secret = open_store(settings.store), link.rpartition("#")[2]
    reasons = dict(_player_and_reason(text) for text in set_aside)
    try:
        log = store.register.play_log()
        for flag in flag_players(MODES[read_session(log, secret).mode], finished_questions(log, secret)):
            click.echo(f"{flag.player} {'set aside, ' if flag.player in reasons else ''}{flag.sign}: {flag.reason}")
        if check:
            return
        report = collect(store, secret, set_aside=reasons)
    except (SessionError, BadTag) as error:
        raise Refusal(str(error)) from error
    except Refused as refused:
        raise refusal(refused, "imported") from refused
    for line in report.lines:
        click.echo(line)
    print_remarks(report.repaired, report.warnings, report.hints)


def _player_and_reason(text: str) -> tuple[str, str]:
    """The parts of ``PLAYER=REASON``."""
    player, equals, reason = text.partition("=")
    if not (player.strip() and equals and reason.strip()):
        raise click.BadParameter(f"{text!r} is not PLAYER=REASON, such as P007='too fast'", param_hint="--set-aside")
    return player.strip(), reason.strip()
