"""Details of lighteval: Parquet files with the document, the metrics and the response of each sample of a task."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from clueline.data.duckdb_and_polars import literal
from clueline.data.importing.evaluation_times import read_time
from clueline.data.importing.file_folder_or_zip import Incoming, files_below
from clueline.data.importing.report import refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.importing.table_files import PARQUET, TableFile
from clueline.data.readers import Format
from clueline.data.readers.shared.chosen_metric import choose_metric, grading_metrics, grading_name
from clueline.data.readers.shared.evaluation_log import (
    NOT_STATED,
    EvaluationLog,
    as_dict,
    as_list,
    dataset_id,
    letters,
    number,
    read_each,
    shared_classes,
    shares,
    with_choices,
)
from clueline.data.readers.table.cells import labelled_answer

FORMAT = Format(
    key="lighteval",
    reads="lighteval: `details_<task>_<date>.parquet`, or a folder or zip with such files",
    recognised="Parquet with `doc`, `metric` and `model_response`; in a folder or zip, the names of the files",
    becomes="A dataset for each task, and a run: with whole distributions, if the file has log-probabilities of the options",
    source="github.com/huggingface/lighteval, `EvaluationTracker.save_details`",
    rules="""
The model is named by the folders between `details` and that of the date, or by you. Of several dates, the last one counts.
Where the file has log-probabilities of the options, softmax makes probabilities of them. The metric that says yes exactly where
the most probable option is right counts; of texts, the only metric from 0 to 1. Otherwise you are asked which one, with what each
gives. Other metrics become gradings.
""",
)
NAME = re.compile(r"details_(?P<task>.+?)_(?P<date>\d{4}-\d\d-\d\dT[\d:.-]+)\.parquet")
KEYS = {"doc", "metric", "model_response"}
LIKELIHOOD = "likelihood"  # elicitation of probabilities of options
SOURCE = "Details of lighteval"


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return any(
            NAME.fullmatch(path.name) and _has_keys(incoming.part(path)) for path in files_below(incoming.folder, ".parquet")
        )
    return _has_keys(incoming)


def _has_keys(incoming: Incoming) -> bool:
    return incoming.start.startswith(b"PAR1") and incoming.columns >= KEYS


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        own = incoming.path.name == incoming.name  # and not the path of an upload
        _read_file(incoming.file, incoming.path.resolve() if own else Path(incoming.name), staging, options)
        return
    paths = files_below(incoming.folder, ".parquet")
    parts = []
    for path in sorted(paths, key=lambda path: path.name):
        if NAME.fullmatch(path.name) and _has_keys(incoming.part(path)):
            below = Path(incoming.name) / path.relative_to(incoming.folder)
            parts.append(partial(_read_file, staging.open(path, str(below)), below, staging, options))
    read_each(parts, staging)


def _model_of(path: Path) -> str:
    """Return the model that the folders of a file name: those between ``details`` and the folder of the date.

    >>> _model_of(Path("out/details/lab/m7/2026-05-01T10-00-00/details_quiz|0_2026-05-01T10-00-00.parquet"))
    'lab/m7'
    """
    folders = [*path.parts[:-2]]
    start = len(folders) - folders[::-1].index("details") if "details" in folders else max(0, len(folders) - 1)
    return "/".join(folders[start:])


def _read_file(file: TableFile, path: Path, staging: Staging, options: ImportOptions) -> None:
    match = NAME.fullmatch(path.name)
    task = match["task"].partition("|")[0] if match else ""
    rows = _rows(file, staging)
    docs = [as_dict(row[0]) for row in rows]
    named = task or next((str(doc["task_name"]).partition("|")[0] for doc in docs if doc.get("task_name")), "")
    dataset = options.dataset or dataset_id(named)
    if not dataset:
        raise refuse(file.name, "which questions do these answer? Neither the file nor its name says", hint="dataset")
    model = options.model or _model_of(path) or None
    offered = [[str(choice).strip() for choice in as_list(doc.get("choices"))] for doc in docs]
    log = EvaluationLog(file.name, dataset, title=named or dataset, source=SOURCE, model=model)
    log.evaluated_at = read_time(match["date"]) if match else None
    likely = [_distribution(as_dict(row[2]), choices) for row, choices in zip(rows, offered, strict=True)]
    is_of_options = bool(likely) and all(likely)
    log.classes = shared_classes(offered) if is_of_options else None
    scores = _scores([as_dict(row[1]) for row in rows])
    gold = [_gold(doc, choices) for doc, choices in zip(docs, offered, strict=True)]
    metric = choose_metric(file.name, scores, options, _proven(scores, likely, gold) if is_of_options else None)
    others = {name: values for name, values in grading_metrics(scores).items() if name != metric}
    for n, (doc, choices) in enumerate(zip(docs, offered, strict=True)):
        place, question = f"row {n + 1}", str(doc.get("id") or n)
        text = doc.get("query") if isinstance(doc.get("query"), str) else None
        names = letters(len(choices)) if is_of_options else []
        listed = with_choices(str(text), choices) if text and is_of_options and choices[:1] != names[:1] else text
        log.add_question(question, listed, _answer_of(gold[n], choices), place)
        correct, gradings = scores[metric][n], {grading_name(name): values[n] for name, values in others.items()}
        if probable := likely[n] if is_of_options else None:
            best = max(probable, key=lambda option: probable[option])
            log.add_answer(
                question, LIKELIHOOD, place, guess=best, confidence=probable[best], options=probable, correct=correct,
                gradings=gradings,
            )  # fmt: skip
            continue
        output = _output(as_dict(rows[n][2]))
        log.skip(UNSTATED, NOT_STATED)
        guess = labelled_answer(output) if output else None
        log.add_answer(
            question, UNSTATED, place, guess=guess, state="no_confidence", output=output, correct=correct, gradings=gradings
        )
    log.add_to(staging, options)


def _rows(file: TableFile, staging: Staging) -> list[tuple[Any, ...]]:
    file.check_parquet(staging.connection, file.columns)
    sql = f"select doc, metric, model_response from read_parquet({literal(file.pattern)}, {PARQUET})"
    return staging.connection.execute(sql).fetchall()


def _distribution(response: Mapping[str, Any], choices: Sequence[str]) -> dict[str, float] | None:
    """Return the probabilities of the options, by their texts; None if the response has no log-probability for each."""
    logarithms = [number(value) for value in as_list(response.get("logprobs"))]
    known = [value for value in logarithms if value is not None]
    if len(choices) < 2 or len(known) != len(choices) or len({*choices}) != len(choices):
        return None
    probable = shares(known)
    return dict(zip(choices, probable, strict=True)) if probable else None


def _gold(doc: Mapping[str, Any], choices: Sequence[str]) -> list[int]:
    stated = doc.get("gold_index")
    numbers = [number(value) for value in (stated if isinstance(stated, list) else [stated])]
    return [int(value) for value in numbers if value is not None and 0 <= value < len(choices)]


def _answer_of(gold: Sequence[int], choices: Sequence[str]) -> str | None:
    return " or ".join(choices[n] for n in gold) or None


def _proven(
    scores: Mapping[str, Sequence[float | None]], likely: Sequence[Mapping[str, float] | None], gold: Sequence[Sequence[int]]
) -> str | None:
    """Return the metric that says yes exactly where the most probable option is right; None if there is none."""
    right = []
    for shares_of, numbers in zip(likely, gold, strict=True):
        values = [*(shares_of or {}).values()]
        right.append(float(values.index(max(values)) in numbers))
    return next((name for name, values in scores.items() if list(values) == right), None)


def _scores(metrics: Sequence[Mapping[str, Any]]) -> dict[str, list[float | None]]:
    names = dict.fromkeys(name for some in metrics for name in some)
    return {name: [number(some.get(name)) for some in metrics] for name in names}


def _output(response: Mapping[str, Any]) -> str | None:
    """Return the only text of a response; None if there are several, of which the metrics are a mean."""
    texts = [
        text for text in as_list(response.get("text_post_processed")) or as_list(response.get("text")) if isinstance(text, str)
    ]
    return texts[0] if len(texts) == 1 else None
