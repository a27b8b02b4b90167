"""One question: what people did, what each run answered, and how CalScore is worked out."""

from __future__ import annotations

from dashboard.registry.composed import question_with_buzzpoints
from dashboard.registry.tables import RUN_FIRST, Table, fields
from dashboard.registry.views import View, register
from queries.buzzing import BuzzParameters
from queries.calscore_steps import ClueStep, clue_steps
from queries.question import ClueResponse
from queries.selection.view_parameters_base import NoParameters

QUESTION = register(
    View(
        "questions/<dataset>/<path:question_id>",
        question_with_buzzpoints,
        BuzzParameters,
        """One question: its clues, what people did or voted, what each run answered, and where it buzzes, by default at each
        run's best threshold on the selection.""",
        (
            Table(
                "Each run's answers to it as CSV, clue by clue. If a question's own id ends in `.csv`, this address returns that "
                "question as JSON; add another `.csv` to get its table.",
                rows=lambda answer: [(run, clue) for run in answer.runs for clue in run.clues],
                columns=(*RUN_FIRST, *fields(ClueResponse, at=1)),
                file="{dataset}-{question_id}",
            ),
        ),
    )
)
CLUE_STEPS = register(
    View(
        "clue-steps/<dataset>/<path:question_id>",
        clue_steps,
        NoParameters,
        "CalScore and CalScore squared of each run on one question, term by term, as GRACE's tables 6 and 7 work them out.",
        (
            Table(
                "The same as CSV, a row per run and clue. If a question's own id ends in `.csv`, this returns that question "
                "as JSON.",
                rows=lambda answer: [(run, step) for run in answer.runs for step in run.steps],
                columns=(*RUN_FIRST, *fields(ClueStep, at=1)),
                file="{dataset}-{question_id}-clue-steps",
            ),
        ),
    )
)
