"""ForecastBench: resolution sets, which say what came true, and forecast sets with the probabilities of one or more forecasters.

A question is asked for a date: its key is the id and the resolution date. Market questions have one date, which forecasts leave
out. A combination of two questions has a list of two ids and a list of two directions.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from clueline.data.dataset_kinds import FORECAST, NO, YES
from clueline.data.importing.file_folder_or_zip import Incoming, beginning, files_below
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import (
    EvaluationLog,
    as_dict,
    as_dicts,
    as_list,
    dataset_id,
    known_questions,
    number,
)

FORMAT = Format(
    key="forecastbench",
    reads="ForecastBench: a resolution set or a forecast set (JSON), or a folder or zip of both, also with question sets",
    recognised="`resolutions` or `forecasts`, with `question_set` or `forecast_due_date`",
    becomes="A dataset of the resolved questions, or a run for each forecaster, whose confidence is the probability of yes",
    source="github.com/forecastingresearch/forecastbench-datasets, CC BY-SA 4.0",
    rules="""
The confidence is the forecast probability of yes, and the correctness is the outcome: see [Forecasts](metrics.md#forecasts).
Import the resolution set first, or a folder with both. Questions that were not resolved to 0 or 1 are left out. A forecast of a
market question has no date, and counts for its latest resolved date. If a set has a `user_id`, each user is a run.
""",
)
ELICITATION = "forecast"
SOURCE = "ForecastBench (Karger et al. 2025), resolution set"
ABOUT = {"question_set", "question-set", "forecast_due_date", "forecast_date"}  # a set has at least one of these keys
CHECKED = 300  # files of a folder that are opened to recognise it
BEGINNING = 4096  # bytes at the start of a file that are searched for such a key
NOT_RESOLVED = "the question is not resolved to yes or no"
REPEATED = "forecasts that a forecaster later changed; the last one counts"


def recognises(incoming: Incoming) -> bool:
    parts = [incoming] if incoming.folder is None else map(incoming.part, _sets(incoming.folder, CHECKED))
    return any(_kind(part.document) in ("resolutions", "forecasts") for part in parts)


def _sets(folder: Path, most: int | None = None) -> Iterator[Path]:
    for path in islice(files_below(folder, ".json"), most):
        start = beginning(path)[:BEGINNING]
        if any(f'"{key}"'.encode() in start for key in ABOUT):
            yield path


def _kind(document: object) -> str | None:
    facts = as_dict(document)
    kinds = (kind for kind in ("questions", "resolutions", "forecasts") if isinstance(facts.get(kind), list))
    return next(kinds, None) if ABOUT & facts.keys() else None


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    """Read one set or, from a folder, first the resolution sets and then the forecast sets."""
    if incoming.folder is None:
        documents = [(incoming.name, incoming.require_document())]
    else:
        files = {str(path.relative_to(incoming.folder)): incoming.part(path) for path in _sets(incoming.folder)}
        documents = [(f"{incoming.name}/{name}", file.document) for name, file in files.items()]
    sets = [(name, document, _kind(document)) for name, document in documents if isinstance(document, dict)]
    if incoming.folder is None and not sets:
        raise refuse(incoming.name, "a set of ForecastBench is one JSON object")
    if incoming.folder is None and sets[0][2] not in ("resolutions", "forecasts"):
        raise refuse(incoming.name, "neither a resolution set nor a forecast set of ForecastBench")
    texts = {
        _base(question): str(question["question"])
        for _, document, kind in sets
        if kind == "questions"
        for question in as_dicts(document["questions"])
        if isinstance(question.get("question"), str)
    }
    for name, document, _ in (part for part in sets if part[2] == "resolutions"):
        with staging.report.collecting():
            _read_resolutions(name, document, texts, staging, options)
    for name, document, _ in (part for part in sets if part[2] == "forecasts"):
        with staging.report.collecting():
            _read_forecasts(name, document, staging, options)


def _dataset(name: str, document: dict[str, Any], options: ImportOptions) -> str:
    stated = " ".join(
        str(document.get(key, "")) for key in ("forecast_due_date", "question_set", "question-set", "forecast_date")
    )
    date = re.search(r"\d{4}-\d{2}-\d{2}", stated)
    if not options.dataset and not date:
        raise refuse(name, "which round is this? Neither forecast_due_date nor question_set says", hint="dataset")
    return options.dataset or dataset_id(f"forecastbench-{date.group() if date else ''}")


def _base(row: dict[str, Any]) -> str:
    """Return the question of a row without its date: its id or, for a combination, both ids with their directions."""
    ids, directions = row.get("id"), row.get("direction")
    if not isinstance(ids, list):
        return str(ids)
    signs = ["-" if number(sign) == -1 else "+" for sign in as_list(directions)]
    signs += ["+"] * (len(ids) - len(signs))
    return " ".join(f"{sign}{question}" for sign, question in zip(signs, ids, strict=False))


def _read_resolutions(
    name: str, document: dict[str, Any], texts: dict[str, str], staging: Staging, options: ImportOptions
) -> None:
    dataset = _dataset(name, document, options)
    log = EvaluationLog(
        name, dataset, title=options.title or dataset.replace("forecastbench-", "ForecastBench "), source=SOURCE, model=None,
        classes=[YES, NO], licence="CC BY-SA 4.0", kind=FORECAST,
    )  # fmt: skip
    left_out = 0
    for nth, row in enumerate(document["resolutions"], start=1):
        place = f"resolution {nth}"
        if not isinstance(row, dict) or row.get("id") is None or not row.get("resolution_date"):
            log.problems.append(Problem(name, None, "id", None, "a resolution needs an id and a resolution_date", row=place))
        elif row.get("resolved") is not True or number(row.get("resolved_to")) not in (0, 1):
            left_out += 1
        else:
            base, date = _base(row), str(row["resolution_date"])[:10]
            text = (
                f"{texts[base]} (resolved {date})" if base in texts else f"{row.get('source') or 'question'}: {base}, on {date}"
            )
            answer = YES if number(row["resolved_to"]) == 1 else NO
            log.add_question(f"{base} {date}", text, answer, place, str(row["source"]) if row.get("source") else None)
    if left_out == len(document["resolutions"]) > 0:
        raise refuse(name, f"none of its questions ({left_out:,}) is resolved to yes or no")
    staging.report.warn_left_out(name, "question", {"not resolved to yes or no": left_out})
    log.add_questions_to(staging, options)


def _read_forecasts(name: str, document: dict[str, Any], staging: Staging, options: ImportOptions) -> None:
    dataset = _dataset(name, document, options)
    staging.existing(dataset, name, "import the resolution set of this round first, or with it")
    known = known_questions(staging, dataset)
    latest = dict(sorted(question.rpartition(" ")[::2] for question in known))
    stated = document.get("model")
    log = EvaluationLog(name, dataset, title=dataset, source=SOURCE, model=str(stated) if stated else None)
    forecasts: dict[tuple[str | None, str], tuple[str, object]] = {}
    unresolved: Counter[str | None] = Counter()
    for nth, row in enumerate(document["forecasts"], start=1):
        place = f"forecast {nth}"
        if not isinstance(row, dict) or row.get("id") is None:
            log.problems.append(Problem(name, None, "id", None, "a forecast needs an id", row=place))
            continue
        user = row.get("user_id")
        forecaster = None if user in (None, "") else f"{stated}: {user}" if stated else str(user)
        base, date = _base(row), str(row.get("resolution_date") or "")[:10]
        question = f"{base} {latest.get(base, '') if date in ('', 'N/A') else date}"
        if question not in known:
            unresolved[forecaster] += 1
            continue
        staging.report.repaired[REPEATED] += (forecaster, question) in forecasts
        forecasts[forecaster, question] = (place, row.get("forecast"))
    staging.report.repaired += Counter()  # drops entries that were counted 0 times
    for forecaster, count in unresolved.items():
        log.skip(ELICITATION, NOT_RESOLVED, forecaster, count)
    for (forecaster, question), (place, probability) in forecasts.items():
        if probability is None:
            log.skip(ELICITATION, "no probability is stated", forecaster)
            log.add_answer(question, ELICITATION, place, model=forecaster, failed=True)
        else:
            log.add_forecast(question, ELICITATION, place, probability, forecaster)
    log.add_to(staging, options)
