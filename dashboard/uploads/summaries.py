"""Summary of the runs of a file, for the response to an upload and for ``clueline score --json``."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import msgspec

from clueline.data.importing.report import rows_without_answer
from clueline.data.plurals import counted
from clueline.data.store import Snapshot
from clueline.data.store.answer_states import OTHER_STATES
from clueline.queries.engine.common_questions import coverage
from clueline.queries.runs import run
from clueline.queries.selection import Selection


class IncomingRun(msgspec.Struct):
    """One run of a file.

    ``missing_questions`` counts the questions of the dataset that the run does not answer, and ``items`` its answers with a
    confidence. ``scored`` answers have a number instead that is no probability. Answers that are ``unparsed`` could not be read.
    The model declined the ``abstained`` ones. ``failed`` counts calls without an answer, and ``skipped`` rows without an answer
    with a confidence, by reason. ``already_stored`` says whether the store had exactly this run before; ``stored`` is its earlier
    name, which will go. ``gradings`` names further gradings that the file adds to such a run.
    """

    run: str
    model: str
    elicitation: str
    sha256: str
    items: int
    questions: int
    missing_questions: int
    scored: int
    no_confidence: int
    unparsed: int
    abstained: int
    failed: int
    skipped: dict[str, int]
    already_stored: bool
    stored: bool
    gradings: list[str]


def incoming_runs(
    snapshot: Snapshot, names: Sequence[str], stored: Collection[str], gradings: Sequence[tuple[str, str]]
) -> list[IncomingRun]:
    """Return a summary of each run of a file, in the order of the file.

    ``snapshot`` contains the runs, after an import or in a dry run. ``names`` are their ids, and ``stored`` the ids that the
    store already had. ``gradings`` are pairs of the id of a stored run and the name of a grading that it gets.
    """
    shared = [field for field in IncomingRun.__struct_fields__ if field not in ("already_stored", "stored", "gradings")]
    return [
        IncomingRun(
            **{field: getattr(row, field) for field in shared},
            already_stored=row.run in stored,
            stored=row.run in stored,
            gradings=[grading for name, grading in gradings if name == row.run],
        )
        for row in (run(snapshot, name) for name in names)
    ]


def answered(run: IncomingRun, dataset: str = "") -> str:
    """Return a run with what it answered and what it did not, which counts in no metric, or only in some."""
    missing = [f"{counted(run.missing_questions, 'question')} not answered"] if run.missing_questions else []
    missing += rows_without_answer({state: getattr(run, state) for state in OTHER_STATES}, run.skipped)
    items = f"{counted(run.items, 'item')} of {counted(run.questions, 'question')}" + (f" of {dataset}" if dataset else "")
    return "; ".join([items, *missing])


def runs_below_the_line(snapshot: Snapshot, names: Sequence[str]) -> list[str]:
    """Say which of some stored runs are not ranked among the runs of their dataset, and why, in a sentence each.

    ``names`` are run ids.
    """
    facts = [run(snapshot, name) for name in names]
    clues: dict[str, int] = dict(snapshot.rows("select dataset, count(*) from clues group by dataset"))
    # A run that answered everything is always ranked.
    datasets = {row.dataset for row in facts if row.missing_questions or row.items < clues[row.dataset]}
    apart = {
        name: reason for dataset in sorted(datasets) for name, reason in coverage(snapshot, Selection(dataset)).apart.items()
    }
    return [
        f"{row.model} ({row.elicitation}) is not ranked among the runs of {row.dataset}: {apart[row.run]}"
        for row in facts
        if row.run in apart
    ]
