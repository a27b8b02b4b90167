"""Tables of forecasts: the probability of yes for each question, and what came true."""

from __future__ import annotations

from dataclasses import replace

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_contract import MAX_NAME_LENGTH, Column
from clueline.data.readers import Format
from clueline.data.readers.responses import has_forecasts
from clueline.data.readers.shared.evaluation_log import EvaluationLog

FORMAT = Format(
    key="forecasts",
    reads="Forecasts: a table of probabilities of yes (CSV, JSON Lines or Parquet)",
    recognised="Columns `question_id` and `probability`, and none of `confidence`, `token_logprobs` and `options`",
    becomes="A dataset of kind `forecast` with the outcomes, and a run for each forecaster",
    rules="""
`outcome` is 1 for yes, 0 for no, or a share in between. `model` names the forecaster, otherwise you do. `text` and `category` of
the question can be in each of its rows. A row without an outcome is counted and left out. A row without a probability is a failed
call. A table without the column `outcome` adds runs to a stored dataset.

In a dataset of kind `forecast`, also as a bundle, the confidence of a response is the probability of yes. A response with the
guess `no` is stored as what it says about yes. The answer of a question is `yes`, `no` or a share.
""",
)
PROBABILITY = Column("probability", "number", low=0, high=1, hint="percent")
COLUMNS = (
    Column("question_id", required=True),
    Column("outcome", "truth", low=0, high=1),
    Column("model", longest=MAX_NAME_LENGTH),
    Column("text"),
    Column("category"),
)
ELICITATION = "forecast"
NO_PROBABILITY = "no probability is stated"
NOT_RESOLVED = "the question has no outcome"


def recognises(incoming: Incoming) -> bool:
    return has_forecasts(incoming.columns)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    file = incoming.file
    if not options.dataset:
        raise refuse(file.name, "which dataset are these forecasts of?", hint="dataset")
    known = staging.dataset(options.dataset)
    if known is not None and known["kind"] != FORECAST and not options.replace:
        reason = (
            f"dataset {options.dataset!r} is of kind {known['kind']}, whose answers have a confidence, not a probability of yes"
        )
        raise refuse(file.name, reason, line=1, column="probability")
    probability = replace(PROBABILITY, divisor=100, hint=None) if options.percent else PROBABILITY
    columns = staging.load(file, (*COLUMNS, probability))
    if known is None and "outcome" not in columns:
        raise refuse(file.name, "this column is missing: a new dataset needs outcomes", line=1, column="outcome")
    if staging.report.problems:
        return
    ignored = [name for name in file.columns if name not in columns]
    if ignored:
        staging.report.warnings.append(f"{file.name}: columns that were not kept: {', '.join(ignored)[:500]}")
    log = EvaluationLog(
        file.name, options.dataset, title=options.dataset, source="Forecasts", model=None, classes=[YES, NO], kind=FORECAST
    )
    rows = staging.connection.execute(
        "select question_id, probability, outcome, model, text, category, ordinal from loaded order by ordinal"
    ).fetchall()
    lines = file.places_of({row[-1] for row in rows})
    for question, probability, outcome, model, text, category, ordinal in rows:
        place = f"line {lines[ordinal].line}"
        if "outcome" in columns:
            if outcome is None:
                log.skip(ELICITATION, NOT_RESOLVED, options.model or model)
                continue
            answer = {1.0: YES, 0.0: NO}.get(outcome, repr(outcome))
            log.add_question(question, text, answer, place, category)
        if probability is None:
            log.skip(ELICITATION, NO_PROBABILITY, options.model or model)
            log.add_answer(question, ELICITATION, place, model=model, failed=True)
        else:
            log.add_forecast(question, ELICITATION, place, probability, model)
    log.add_to(staging, replace(options, percent=False))  # they are shares by now
