"""Stored questions of a quizbowl dataset that are read again, so that files add to them instead of replacing them."""

from __future__ import annotations

from collections.abc import Collection

from data.importing.staging import Staging
from data.importing.table_contract import CLUES
from data.readers.shared.quizbowl_games import PlayedQuestion, add_questions, add_table


def add_to_stored(staging: Staging, dataset: str, brought: Collection[str]) -> None:
    """Read again the questions of a stored dataset that a file lacks, so that the questions of the file are added to them."""
    run, d = staging.connection.execute, {"d": dataset}
    stored = {question for (question,) in run("select question_id from store.questions where dataset = $d", d).fetchall()}
    if stored and {*brought} - stored:
        staging.recut.add(dataset)
    files = [index for index, file in enumerate(staging.files) if file.name == _as_stored(dataset)]
    again = d | {"q": [*brought], "files": files}  # questions that another packet of this import lacked, and this one has
    names = "select question_id from questions_read where dataset = $d and list_contains($files::integer[], file)"
    for table in ("clues_read", "questions_read"):
        run(
            f"delete from {table} where dataset = $d and list_contains($q::varchar[], question_id) and question_id in ({names})",
            again,
        )
    known = run("select question_id from questions_read where dataset = $d", d).fetchall()
    if stored:
        read_stored(staging, dataset, {*brought, *(question for (question,) in known)})


def _as_stored(dataset: str) -> str:
    return f"dataset {dataset}, as stored"


def read_stored(staging: Staging, dataset: str, others: Collection[str]) -> None:
    """Read the stored questions and clues of a dataset again, except those whose ids are in ``others``."""
    run = staging.connection.execute
    left = {"d": dataset, "others": [*others]}
    where = "where dataset = $d and not list_contains($others::varchar[], question_id)"
    stored = run(f"select question_id, answer, category, subcategory from store.questions {where} order by position", left)
    questions = [PlayedQuestion(row[0], None, row[1], row[2], row[3], f"question {row[0]}") for row in stored.fetchall()]
    if not questions:
        return
    add_questions(staging, _as_stored(dataset), dataset, questions)
    clues = run(f"select question_id, clue, text, word_end from store.clues {where} order by question_id, clue", left)
    columns = ("question_id", "clue", "text", "word_end")
    add_table(staging, "clues", dataset, dataset, [dict(zip(columns, row, strict=True)) for row in clues.fetchall()], CLUES)
