"""What a file of runs amounts to, for the answer to an upload and for ``python -m dashboard score --json``."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence

import msgspec

from data.store import Snapshot
from queries.runs import run


class IncomingRun(msgspec.Struct):
    """One run of a file.

    Attributes:
        missing_questions: of the dataset, that the run does not answer.
        failed: calls that got no answer; they are not among the items.
        skipped: reason -> rows that the model failed to answer.
        stored: the store had this very run before.
        gradings: names of the further gradings that this brings to a run that the store had before.
    """

    run: str
    model: str
    elicitation: str
    sha256: str
    items: int
    questions: int
    missing_questions: int
    failed: int
    skipped: dict[str, int]
    stored: bool
    gradings: list[str]


def incoming_runs(
    snapshot: Snapshot, names: Sequence[str], stored: Collection[str], gradings: Sequence[tuple[str, str]]
) -> list[IncomingRun]:
    """The runs of a file.

    Args:
        snapshot: with the runs in it, imported or in a dry run.
        names: run ids, in the order of the file.
        stored: those that the store had before.
        gradings: run and name of each grading that a stored run gets.
    """
    shared = [field for field in IncomingRun.__struct_fields__ if field not in ("stored", "gradings")]
    added = defaultdict(list)
    for name, grading in gradings:
        added[name].append(grading)
    facts = [run(snapshot, name) for name in names]
    return [
        IncomingRun(**{field: getattr(row, field) for field in shared}, stored=row.run in stored, gradings=added[row.run])
        for row in facts
    ]
