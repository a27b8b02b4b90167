"""Exports of Metaculus: ``question_data.csv`` and ``forecast_data.csv``, with every forecast that anybody made.

Names of users are left out: forecasters are identified by number or, in anonymised exports, by the beginning of a hash.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_files import TableFile, misfit
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import EvaluationLog, as_list, number, parsed

FORMAT = Format(
    key="metaculus",
    reads="Metaculus: an export, as a zip or folder with `question_data.csv` and `forecast_data.csv`",
    recognised="The names of these files",
    becomes="A dataset of resolved questions, and a run for each forecaster and aggregate: the last forecast before the close",
    source="metaculus.com, the data export of questions and projects",
    rules="""
If all resolved questions ask yes or no, the dataset is of kind `forecast`: the confidence is the probability of yes. Otherwise
the guess is the likeliest answer, and questions with options have whole distributions. Forecasts made after the close, and
forecasts changed or withdrawn before it, are counted and left out. So are questions that were annulled, ask for a number or are
open.

With a number of moments (`series`), such as ten, the dataset is `metaculus-series`: the clues of a question are ten moments from
its opening to its close, and the answers at a clue are the forecasts in force at that moment. The pages then show calibration
over time. If the opening of a question is not stated, it opens with its first forecast.
""",
)
QUESTIONS, FORECASTS = "question_data.csv", "forecast_data.csv"
DATASET, SERIES = "metaculus", "metaculus-series"
CLOSES = ("Actual Close Time", "Scheduled Close Time")
OPENINGS = ("Open Time", "Post Published Time", "Created Time")
ELICITATION = "forecast"
BINARY, CHOICE = "binary", "multiple_choice"
VOID = ("annulled", "ambiguous")
# Forecasts have a probability for each option that ever existed; earlier exports have one column of options.
OPTIONS = ("MC Options (All)", "MC Options (Current)", "MC Options", "Options")
FORECASTER, SHARES = "Forecaster (Anonymized)", "Probability Yes Per Category"
HASH_DIGITS = 12
MAX_LIST_LENGTH = 100_000  # characters of a cell that holds a list
MAX_FORECASTERS = 1000
AFTER_CLOSE = "made after the question closed"
TWICE = "questions that are in the file twice, counted once"
UNKNOWN = f"the question is not in {QUESTIONS}"
NO_PROBABILITY = "states no probability"


@dataclass(frozen=True)
class Question:
    """A resolved question. ``options`` are those of a multiple-choice question; a yes-or-no question has none."""

    question_id: str
    text: str
    resolution: str
    options: list[str]
    opening: datetime | None
    close: datetime | None
    line: int


@dataclass(frozen=True)
class Forecast:
    """One forecast, and its line in the file. ``end`` is None if the file states none."""

    line: int
    start: datetime
    end: datetime | None
    row: Mapping[str, str]


def recognises(incoming: Incoming) -> bool:
    return bool(_paths(incoming, FORECASTS))


def _paths(incoming: Incoming, name: str) -> list[Path]:
    return sorted(path for path in incoming.folder.rglob(name) if "__MACOSX" not in path.parts) if incoming.folder else []


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    paths = {name: _paths(incoming, name) for name in (QUESTIONS, FORECASTS)}
    if missing := [name for name, exports in paths.items() if not exports]:
        raise refuse(incoming.name, f"there is no {' and no '.join(missing)} in it; import the whole export")
    if len(paths[FORECASTS]) > 1:
        raise refuse(incoming.name, f"there are several {FORECASTS} in it; import one export at a time")
    files = {name: staging.open(exports[0], f"{incoming.name}/{name}") for name, exports in paths.items()}
    dataset, title = (SERIES, "Metaculus, over time") if options.series else (DATASET, "Metaculus")
    log = EvaluationLog(
        incoming.name, options.dataset or dataset, title, source="Metaculus, exported data", model=None,
        moments=_moments(options.series),
    )  # fmt: skip
    questions, exported = _questions(log, files[QUESTIONS], staging)
    if questions and not any(question.options for question in questions.values()):
        log.classes, log.kind = [YES, NO], FORECAST
    for question in questions.values():
        log.add_question(question.question_id, question.text, question.resolution, f"{QUESTIONS}, line {question.line}")
    forecasts = _forecasts(log, files[FORECASTS], questions, exported, staging)
    if options.series:
        _add_series(log, files[FORECASTS], questions, forecasts, options.series, staging)
    else:
        _add_last(log, files[FORECASTS], questions, forecasts, staging)
    log.add_to(staging, options)


def _moments(series: int | None) -> tuple[str, ...]:
    """Return the texts of the clues of a series.

    >>> _moments(2)
    ('after 50 % of the time until it closed', 'after 100 % of the time until it closed')
    """
    shares = [] if series is None else [number / series for number in range(1, series + 1)]
    return tuple(f"after {100 * share:.3g} % of the time until it closed" for share in shares)


def _rows(file: TableFile, needed: set[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the rows of a CSV file by column, with their line numbers. Raises ``Refused``."""
    header = file.columns
    if missing := sorted(needed - set(header)):
        raise refuse(file.name, f"this column is missing; the file has: {', '.join(header)[:300]}", line=1, column=missing[0])
    for line, row in file.records(strict=True):
        if len(row) != len(header):
            raise refuse(file.name, misfit(len(row), len(header)), line=line, value=",".join(row)[:80])
        yield line, dict(zip(header, (cell.strip() for cell in row), strict=True))


def _questions(log: EvaluationLog, file: TableFile, staging: Staging) -> tuple[dict[str, Question], set[str]]:
    """Return the questions resolved to yes, no or an option, by id, and the ids of all questions. Warn of the others."""
    questions: dict[str, Question] = {}
    first: dict[str, tuple[str, int]] = {}  # resolution and line of each question
    left_out = {"not resolved": 0, "annulled or resolved as ambiguous": 0, "asking for a number or a date": 0}
    for line, row in _rows(file, {"Question ID", "Resolution"}):
        kind = (row.get("Question Type") or BINARY).lower().replace(" ", "_")
        resolution = row["Resolution"]
        before, line_before = first.setdefault(row["Question ID"], (resolution, line))
        if before != resolution:
            reason = f"question {row['Question ID']} has a different resolution in line {line_before}"
            log.problems.append(Problem(file.name, line, "Resolution", resolution[:80], reason))
        elif line_before != line:
            staging.report.repaired[TWICE] += 1
        elif not resolution:
            left_out["not resolved"] += 1
        elif resolution.lower() in VOID:
            left_out["annulled or resolved as ambiguous"] += 1
        elif kind not in (BINARY, CHOICE):
            left_out["asking for a number or a date"] += 1
        else:
            stated = next((some for name in OPTIONS if kind == CHOICE and (some := _list(row.get(name, "")))), [])
            names = [*map(str, stated)] or [YES, NO]
            answer = resolution.lower() if kind == BINARY else resolution
            if answer not in names:
                reason = f"must be one of: {', '.join(names)}"
                log.problems.append(Problem(file.name, line, "Resolution", resolution[:80], reason))
                continue
            times = ((_time(log, file, line, row, name) for name in columns) for columns in (CLOSES, OPENINGS))
            close, opening = (next(filter(None, some), None) for some in times)
            text, options = row.get("Question Title") or row["Question ID"], names if kind == CHOICE else []
            questions[row["Question ID"]] = Question(row["Question ID"], text, answer, options, opening, close, line)
    staging.report.warn_left_out(file.name, "question", left_out)
    if not questions and not log.problems:
        raise refuse(file.name, "no question of this export was resolved to yes, no or an option")
    return questions, set(first)


Forecasts = dict[tuple[str, str], list[Forecast]]  # (forecaster, question) -> forecasts in the order of their start


def _forecasts(
    log: EvaluationLog, file: TableFile, questions: dict[str, Question], exported: set[str], staging: Staging
) -> Forecasts:
    """Read the forecasts that were made before the close of their question, and count the others in warnings."""
    forecasts: Forecasts = {}
    left_out: Counter[str] = Counter()
    for line, row in _rows(file, {"Question ID", "Start Time"}):
        question = questions.get(row["Question ID"])
        if question is None:  # questions that were exported but left out are counted already
            left_out[UNKNOWN] += row["Question ID"] not in exported
        elif not (row.get("Probability Yes") or row.get(SHARES)):
            left_out[NO_PROBABILITY] += 1
        elif not row["Start Time"]:
            log.problems.append(Problem(file.name, line, "Start Time", None, "a value is required here"))
        elif start := _time(log, file, line, row, "Start Time"):
            if question.close and start >= question.close:
                left_out[AFTER_CLOSE] += 1
                continue
            own = forecasts.setdefault((_forecaster(row), question.question_id), [])
            own.append(Forecast(line, start, _time(log, file, line, row, "End Time"), row))
    if len({forecaster for forecaster, _ in forecasts}) > MAX_FORECASTERS:
        reason = f"there are more than {MAX_FORECASTERS:,} forecasters; export fewer questions, or only aggregates"
        raise refuse(file.name, reason)
    staging.report.warn_left_out(file.name, "forecast", left_out)
    for own in forecasts.values():
        own.sort(key=lambda forecast: (forecast.start, forecast.line))
    return forecasts


def _add_last(
    log: EvaluationLog, file: TableFile, questions: dict[str, Question], forecasts: Forecasts, staging: Staging
) -> None:
    earlier, withdrawn = sum(len(own) - 1 for own in forecasts.values()), 0
    for (forecaster, question_id), own in forecasts.items():
        question = questions[question_id]
        if own[-1].end and question.close and own[-1].end < question.close:
            withdrawn += 1
        else:
            _add_forecast(log, file, forecaster, question, own[-1])
    reasons = {"changed by the forecaster before the close": earlier, "withdrawn before the close": withdrawn}
    staging.report.warn_left_out(file.name, "forecast", reasons)


def _add_series(
    log: EvaluationLog, file: TableFile, questions: dict[str, Question], forecasts: Forecasts, series: int, staging: Staging
) -> None:
    """Add the forecast of each forecaster in force at each moment of each question. At some moments there may be none."""
    first: dict[str, datetime] = {}
    for (_, name), own in forecasts.items():
        first[name] = min(own[0].start, first.get(name, own[0].start))
    timeless = 0
    for (forecaster, question_id), own in forecasts.items():
        question = questions[question_id]
        opening = question.opening or first[question_id]
        if question.close is None or opening >= question.close:
            timeless += len(own)
            continue
        for clue in range(series):
            moment = opening + (question.close - opening) * (clue + 1) / series
            in_force = next((forecast for forecast in reversed(own) if forecast.start < moment), None)
            if in_force and (in_force.end is None or in_force.end >= moment):
                _add_forecast(log, file, forecaster, question, in_force, clue)
    staging.report.warn_left_out(file.name, "forecast", {"the question has no closing time": timeless})


def _forecaster(row: Mapping[str, str]) -> str:
    """Return a name for the forecaster: by number or hash or, for an aggregate, which has neither, by name."""
    if row.get("Forecaster ID"):
        return f"forecaster {row['Forecaster ID']}"
    anonymous = row.get(FORECASTER, "")
    if len(anonymous) == 64 and set(anonymous) <= set("0123456789abcdef"):
        return f"forecaster {anonymous[:HASH_DIGITS]}"
    return f"aggregate {row.get('Forecaster Username') or anonymous or 'of all'}"


def _add_forecast(
    log: EvaluationLog, file: TableFile, forecaster: str, question: Question, forecast: Forecast, clue: int = 0
) -> None:
    place, cell = f"{FORECASTS}, line {forecast.line}", forecast.row.get(SHARES, "")
    stated = _list(cell)
    correct = None
    if not question.options:
        probability: object = forecast.row.get("Probability Yes") or (stated[-1] if stated else None)
        share = number(probability)
        if log.kind == FORECAST or share is None or not 0 <= share < 0.5:
            log.add_forecast(question.question_id, ELICITATION, place, probability, forecaster, clue)
            return
        best, options = NO, {YES: share, NO: 1 - share}  # as with options, the guess is the likeliest answer
    else:
        shares = [number(share) if share is not None else 0.0 for share in stated]
        if len(shares) != len(question.options) or None in shares or not sum(share or 0.0 for share in shares) > 0:
            reason = f"must be a list of {len(question.options)} probabilities, one for each option of the question"
            log.problems.append(Problem(file.name, forecast.line, SHARES, cell[:80], reason))
            return
        options = {name: share or 0.0 for name, share in zip(question.options, shares, strict=True)}
        best = max(options, key=options.__getitem__)
        correct = float(best == question.resolution)
    log.add_answer(
        question.question_id, ELICITATION, place, model=forecaster, guess=best, options=options, correct=correct, clue=clue
    )


def _list(cell: str) -> list[object]:
    """Read a list from a cell, written as JSON or by Python, also with None and nan as values; empty for anything else."""
    if not cell.startswith("[") or len(cell) > MAX_LIST_LENGTH:
        return []
    return as_list(parsed(cell) or parsed(re.sub(r"\bnan\b", "None", cell)))


def _time(log: EvaluationLog, file: TableFile, line: int, row: Mapping[str, str], column: str) -> datetime | None:
    """Read a time from a cell. None if the cell is blank, or not a time, which is reported. Without a zone, it is UTC."""
    cell = row.get(column, "")
    if not cell:
        return None
    try:
        time = datetime.fromisoformat(cell)
    except ValueError:
        reason = "must be a time, such as 2024-05-01 12:00:00+00:00"
        log.problems.append(Problem(file.name, line, column, cell[:80], reason))
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)
