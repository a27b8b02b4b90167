"""The answers of a session as a run of its dataset, in which each player is a respondent."""

from __future__ import annotations

import tempfile
from pathlib import Path

import msgspec
import polars as pl

from data.importing.ingest import import_paths
from data.importing.report import Report
from data.importing.staging import ImportOptions
from data.people.sessions import Answer, SessionError, digest, read_session
from data.store import Store
from data.store.play_log import PlayLog

ELICITATION = "every clue"
SCHEMA = {
    "question_id": pl.String, "clue": pl.Int64, "sample": pl.String, "guess": pl.String, "confidence": pl.Float64,
    "buzz": pl.Boolean,
}  # fmt: skip


def session_responses(log: PlayLog, secret: str) -> pl.DataFrame:
    """The answers to the questions that players finished, a row for each player and clue.

    Returns:
        ``question_id, clue, sample, guess, confidence, buzz``: ``sample`` is the pseudonym of the player, ``confidence`` is in
        [0, 1]. Answers to a question that a player left before its last clue are not in it.

    Raises:
        SessionError: there is no such session.
        StoreError: the log cannot be reached.
    """
    session = read_session(log, secret)
    answers: dict[int, list[Answer]] = {}
    for row in log.answers(digest(secret)):
        answers.setdefault(row.place, []).append(msgspec.json.decode(row.answer, type=Answer))
    rows: list[tuple[str, int, str, str | None, float, bool]] = []
    for place, given in answers.items():
        rows += [
            (question.question_id, clue, f"P{place + 1:03d}", answer.guess or None, answer.confidence, answer.buzz)
            for question, of_question in session.finished(place, given)
            for clue, answer in enumerate(of_question)
        ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def collect(store: Store, secret: str, by: str | None = None) -> Report:
    """Import the answers of a session, so far, as a run called ``People, N players``.

    The same answers again change nothing. Further ones make a further run, as do fewer, after a player was erased.

    Args:
        store: of the session.
        secret: of the session.
        by: who does, for the provenance of the run.

    Raises:
        SessionError: there is no such session, or nobody has finished a question.
        Refused: the dataset has changed so that its questions are not those that were asked.
        StoreError: the store cannot be read or written.
    """
    log = store.register.play_log()
    responses = session_responses(log, secret)
    players = responses["sample"].n_unique()
    if not players:
        raise SessionError("no_questions", "nobody has finished a question yet")
    options = ImportOptions(
        dataset=read_session(log, secret).dataset,
        model=f"People, {players} {'player' if players == 1 else 'players'}",
        elicitation=ELICITATION,
        respondents=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        responses.write_csv(path)
        return import_paths(store, [path], options, form="responses", names=["people.csv"], by=by, content="runs")
