"""Rollouts of verifiers and prime-rl: ``results.jsonl`` with a row for each rollout, and ``metadata.json`` beside it."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from clueline.data.importing.evaluation_times import read_time
from clueline.data.importing.file_folder_or_zip import Incoming, beginning, files_below
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.importing.table_files import TableFile
from clueline.data.readers import Format
from clueline.data.readers.shared.chosen_metric import choose_metric, grading_metrics, grading_name
from clueline.data.readers.shared.evaluation_log import (
    NOT_STATED,
    EvaluationLog,
    as_dict,
    as_dicts,
    dataset_id,
    json_lines,
    number,
    read_each,
)
from clueline.data.readers.table.cells import labelled_answer

FORMAT = Format(
    key="verifiers",
    reads="verifiers or prime-rl: `results.jsonl` of an evaluation, or a folder or zip with such files",
    recognised="`example_id`, `completion` and `reward`; in a folder or zip, the names of the files",
    becomes="A dataset for each environment, and a run whose samples are the rollouts",
    source="github.com/PrimeIntellect-ai/verifiers, `save_utils.py`",
    rules="""
The environment and the model are those of `metadata.json` beside the file, or of the folder `ENVIRONMENT--MODEL` above it, or are
stated by you. The last message of the user is the question, and the last one of the assistant the answer. `reward` says what is
right if it is 0 or 1 for all rollouts; otherwise you are asked which metric does, with what each gives. Other metrics from 0 to 1
become gradings. A rollout with an `error` is a failed call. If `avg_reward` of the metadata is another mean than that of the
rewards, the report warns of it.
""",
)
KEYS = {"example_id", "completion", "reward"}
FILE = "results.jsonl"
REWARD = "reward"
SOURCE = "Rollouts of verifiers"
# Keys of a row that are no metrics, although their values can be numbers.
NO_METRICS = {
    "example_id", "prompt", "completion", "answer", "info", "error", "error_chain", "long_error_chain", "timing", "is_completed",
    "is_truncated", "stop_condition", "metrics", "tool_defs", "token_usage", "task", "trajectory",
}  # fmt: skip


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is None:
        return incoming.columns >= KEYS
    return any(True for _ in _rollout_files(incoming.folder))


def _rollout_files(folder: Path) -> list[Path]:
    return [path for path in files_below(folder, FILE) if path.name == FILE and _has_keys(path)]


def _has_keys(path: Path) -> bool:
    with suppress(ValueError, RecursionError, OSError):
        return as_dict(json.loads(beginning(path).partition(b"\n")[0])).keys() >= KEYS
    return all(json.dumps(key).encode() in beginning(path) for key in KEYS)  # a first line that is longer than what was read


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        own = incoming.path.name == incoming.name  # and not the path of an upload
        _read_file(incoming.file, incoming.path if own else None, staging, options)
        return
    parts = []
    for path in _rollout_files(incoming.folder):
        file = staging.open(path, f"{incoming.name}/{path.relative_to(incoming.folder)}")
        parts.append(partial(_read_file, file, path, staging, options))
    read_each(parts, staging)


def _read_file(file: TableFile, path: Path | None, staging: Staging, options: ImportOptions) -> None:
    metadata = _metadata(path.parent) if path else {}
    stated = as_text(metadata.get("env_id")), as_text(metadata.get("model"))
    of_folder = path.parent.parent.name.partition("--") if path and "--" in path.parent.parent.name else ("", "", "")
    environment = stated[0] or of_folder[0] or Path(file.name).parent.name or Path(file.name).stem.removesuffix("results")
    dataset = options.dataset or dataset_id(environment)
    if not dataset:
        raise refuse(file.name, "which questions do these answer? Neither the file nor its folder says", hint="dataset")
    model = options.model or stated[1] or of_folder[2].replace("--", "/") or None
    log = EvaluationLog(file.name, dataset, title=environment or dataset, source=SOURCE, model=model)
    log.evaluated_at = read_time(as_text(metadata.get("date")))
    rows = [*json_lines(file, staging)]
    scores = _scores([row for _, row in rows])
    of_reward = {value for value in scores.get(REWARD, ()) if value is not None}
    metric = choose_metric(file.name, scores, options, REWARD if of_reward and of_reward <= {0, 1} else None)
    gradings = {name: values for name, values in grading_metrics(scores).items() if name != metric}
    if metric == REWARD and (average := number(metadata.get("avg_reward"))) is not None:
        log.published[None, UNSTATED] = average
    rollouts: Counter[str] = Counter()
    repeated = len({str(row.get("example_id")) for _, row in rows}) < len(rows)
    for n, (line, row) in enumerate(rows):
        place, example = f"line {line}", str(row.get("example_id"))
        if row.get("example_id") is None:
            log.problems.append(Problem(file.name, line, "example_id", None, "a value is required here"))
            continue
        rollouts[example] += 1
        sample = str(rollouts[example]) if repeated else None
        log.add_question(example, _last(row.get("prompt"), "user"), as_text(row.get("answer")) or None, place)
        if row.get("error"):
            log.add_answer(example, UNSTATED, place, failed=True, sample=sample)
            continue
        output = _last(row.get("completion"), "assistant")
        log.skip(UNSTATED, NOT_STATED)
        others = {grading_name(name): values[n] for name, values in gradings.items()}
        log.add_answer(
            example, UNSTATED, place, guess=output and labelled_answer(output), correct=scores[metric][n], state="no_confidence",
            sample=sample, output=output, gradings=others,
        )  # fmt: skip
    log.add_to(staging, options)


def _metadata(folder: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        return as_dict(json.loads((folder / "metadata.json").read_text(encoding="utf-8-sig")))
    return {}


def _scores(rows: list[dict[str, object]]) -> dict[str, list[float | None]]:
    """Return the reward and the other metrics of each row, by name. Earlier versions write these beside the reward."""
    metrics = [as_dict(row.get("metrics")) for row in rows]
    beside = [key for row in rows for key, value in row.items() if key not in NO_METRICS and isinstance(value, int | float)]
    names = dict.fromkeys([*beside, *(key for some in metrics for key in some)])
    return {
        name: [number(row.get(name, some.get(name))) for row, some in zip(rows, metrics, strict=True)]
        for name in (REWARD, *names)
    }


def as_text(value: object) -> str:
    """Return a value as text; blank if it is none, or has parts."""
    return str(value) if isinstance(value, str | int | float) else ""


def _last(messages: object, role: str) -> str | None:
    """Return the last text of a role in a conversation, or the text that stands in place of one."""
    if isinstance(messages, str):
        return messages
    texts = [_text(message.get("content")) for message in as_dicts(messages) if message.get("role") == role]
    return next((text for text in reversed(texts) if text), None)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(as_text(part.get("text")) for part in as_dicts(content)).strip()
