"""The answers of a session as a run of its dataset, in which each player is a respondent."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Report
from clueline.data.importing.staging import ImportOptions
from clueline.data.play_sessions.mode_interface import Mode, Played
from clueline.data.play_sessions.session_definition import SessionError
from clueline.data.play_sessions.sessions import MODES, clock, digest, read_session
from clueline.data.plurals import counted
from clueline.data.store import Store
from clueline.data.store.play_log import PlayLog
from clueline.data.store.run_tags import checked_tag

SET_ASIDE = "set aside"  # beginning of the names of tags that say why a player is left out
SCHEMA = {
    "question_id": pl.String, "clue": pl.Int64, "sample": pl.String, "guess": pl.String, "confidence": pl.Float64,
    "buzz": pl.Boolean, "failed": pl.Boolean,
}  # fmt: skip


def finished_questions(log: PlayLog, secret: str) -> dict[str, list[Played[Any]]]:
    """Return each player's finished questions with the entries, in the player's order, by pseudonym.

    Steps that a player let time out count as finished, whether or not the player came back. Raises ``SessionError`` or
    ``StoreError``.
    """
    session, now = read_session(log, secret), clock()
    mode: Mode[Any] = MODES[session.mode]
    spoken: dict[int, dict[int, str]] = {}
    for row in log.answers(digest(secret)):
        spoken.setdefault(row.place, {})[row.step] = row.answer
    for place, entries in spoken.items():
        overdue = mode.overdue(session, place, entries, now)
        entries.update({step: msgspec.json.encode(entry).decode() for step, entry in overdue.items()})
    return {f"P{place + 1:03d}": mode.played(session, place, entries) for place, entries in spoken.items()}


def session_responses(log: PlayLog, secret: str, set_aside: Collection[str] = ()) -> pl.DataFrame:
    """Return what is collected from finished questions, with rows for each player and question. ``set_aside`` are left out.

    The columns are ``question_id, clue, sample, guess, confidence, buzz, failed``: ``sample`` is the pseudonym of the player,
    ``confidence`` is in [0, 1], and ``failed`` marks questions that a player heard without answering. ``buzz`` and ``failed`` are
    left out if they have no value. Questions that a player left before their end and attention checks are not included. Raises
    ``SessionError`` or ``StoreError``.
    """
    mode: Mode[Any] = MODES[read_session(log, secret).mode]
    rows = [
        (played.question.question_id, row.clue, player, row.guess, row.confidence, row.buzz, row.confidence is None or None)
        for player, questions in finished_questions(log, secret).items()
        if player not in set_aside
        for played in questions
        if not played.question.is_check
        for row in mode.rows(played)
    ]
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return table.select(column for column in table if column.name not in ("buzz", "failed") or column.count())


def collect(store: Store, secret: str, by: str | None = None, set_aside: Mapping[str, str] | None = None) -> Report:
    """Import the answers given in a session so far as a run called ``People, N players``.

    Importing the same answers again changes nothing. More answers make a further run, and so do fewer, after a player was erased
    or set aside. ``set_aside`` gives the reasons by pseudonym: these answers stay in the log, and the run keeps the reasons as
    tags.

    Raises ``StoreError``, ``SessionError`` if nobody has finished a question or a pseudonym is unknown, ``BadTag`` for a reason
    that is blank or too long, and ``Refused`` if the dataset's questions are no longer those that were asked.
    """
    log = store.register.play_log()
    left_out = dict(set_aside or {})
    unknown = sorted(left_out.keys() - {player for player, questions in finished_questions(log, secret).items() if questions})
    if unknown:
        raise SessionError("unknown_player", f"no player who finished a question is called {unknown[0]}")
    tags = tuple(checked_tag(f"{SET_ASIDE} {player}", reason) for player, reason in left_out.items())
    responses = session_responses(log, secret, left_out)
    players = responses["sample"].n_unique()
    if not players:
        raise SessionError("no_questions", "nobody has finished a question yet")
    session = read_session(log, secret)
    options = ImportOptions(
        form="responses",
        dataset=session.dataset,
        model=f"People, {counted(players, 'player')}",
        elicitation=MODES[session.mode].elicitation,
        respondents=True,
        tags=tags,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        responses.write_csv(path)
        report = import_paths(store, [path], options, names=["people.csv"], by=by, content="runs")
    if silent := responses["confidence"].null_count():
        report.lines.append(f"{counted(silent, 'time')} a player heard a question and did not buzz: these are no answers")
    return report
