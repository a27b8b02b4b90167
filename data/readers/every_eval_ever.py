"""Every Eval Ever: records of single samples (``*_samples.jsonl``), and the aggregate results next to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import UNSTATED, ImportOptions, Staging
from clueline.data.quizbowl.guess_grading import MAX_GUESS_LENGTH
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import (
    NOT_STATED,
    STATED,
    EvaluationLog,
    as_dict,
    as_dicts,
    as_list,
    category_of,
    dataset_id,
    json_lines,
    letters,
    number,
    read_each,
    shared_classes,
    truth,
    with_choices,
)
from clueline.data.store.answer_states import STORED_STATES, State

FORMAT = Format(
    key="every-eval-ever",
    reads="Every Eval Ever: records of samples (`*_samples.jsonl`, schemas 0.2 and 0.3), or a folder or zip of them",
    recognised="`evaluation_id`, `sample_id` and `interaction_type`",
    becomes="A dataset for each evaluation, and a run for each model and result",
    source="github.com/evaleval/every_eval_ever, `instance_level_eval.schema.json`",
    rules="""
`is_correct` says whether an answer is right; a `score` strictly between 0 and 1 counts instead. The guess is the terminal value
of `answer_attribution`, otherwise the output or the last message of the assistant. The schema has no confidence: it is the
`confidence` in `metadata`, where exports of Clueline write it, with `elicitation`, `sample`, `clue` and `state`. Without any,
the run is `no confidence`. `epoch` or `sample` in `metadata` tells several answers to a question apart; `category` or `subject`
is the category. A `filter` in `metadata` that ends the name of an evaluation is part of the run, not of the dataset. If records
of a sample belong to several results (`evaluation_result_id`), each result is a run. A record with an `error` and no output is a
failed call. Several files of a model and evaluation in a folder are refused as repeats. Runs are written in schema 0.3.0
(see [importing.md](importing.md)).
""",
)
KEYS = {"evaluation_id", "sample_id", "interaction_type"}
FAILED = "the record has an error and no output"
ENDINGS = ("samples.jsonl", "samples.jsonl.gz", "samples.jsonl.zst")


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return any(part.columns >= KEYS for part in _files(incoming))
    return incoming.columns >= KEYS or as_dict(incoming.document).keys() >= {"evaluation_id", "evaluation_results"}


def _files(incoming: Incoming) -> list[Incoming]:
    return incoming.files(*ENDINGS) if incoming.folder else [incoming]


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None and not incoming.columns >= KEYS:
        reason = "these are aggregate results, without answers to single questions; import the `_samples.jsonl` next to it"
        raise refuse(incoming.name, reason)
    published: dict[tuple[str, str], float] = {}
    for part in incoming.files(".json") if incoming.folder else ():
        published |= dict(_published(part.document))
    records = [(part.name, line, record) for part in _files(incoming) for line, record in json_lines(part.file, staging)]
    if not (logs := _logs(records, published, staging, options)):
        staging.report.raise_problems()
        raise refuse(incoming.name, "there are no records of samples in it")
    read_each([partial(log.add_to, staging, options) for log in logs], staging)


def _published(document: object) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the accuracies among aggregate results, by evaluation and result."""
    evaluation = str(as_dict(document).get("evaluation_id"))
    for result in as_dicts(as_dict(document).get("evaluation_results")):
        metric, score = as_dict(result.get("metric_config")), number(as_dict(result.get("score_details")).get("score"))
        is_accuracy = "accuracy" in str(metric.get("metric_id") or metric.get("metric_kind") or metric.get("metric_name")).lower()
        if score is not None and is_accuracy:
            share = score / 100 if metric.get("metric_unit") == "percent" or metric.get("max_score") == 100 else score
            yield (evaluation, str(result.get("evaluation_result_id") or result.get("evaluation_name"))), share


def _logs(
    records: list[tuple[str, int, dict[str, Any]]],
    published: Mapping[tuple[str, str], float],
    staging: Staging,
    options: ImportOptions,
) -> list[EvaluationLog]:
    """Return a log of the records of each dataset. Whether a run has confidences and samples, all of its records say."""
    logs: dict[str, EvaluationLog] = {}
    runs: dict[tuple[str, str, str], list[tuple[str, int, dict[str, Any]]]] = defaultdict(list)
    names: dict[str, str] = {}
    choices: dict[str, list[list[str]]] = defaultdict(list)
    for file, line, record in records:
        if missing := [key for key in (*sorted(KEYS), "model_id", "input", "evaluation") if not record.get(key)]:
            staging.report.problems.append(Problem(file, line, ", ".join(missing), None, "this key is missing"))
            continue
        task, kept = _task(record)
        dataset = options.dataset or dataset_id(task.replace("/", "-")) or "evaluation"
        names[dataset] = task
        choices[dataset].append(letters(len(as_list(as_dict(record["input"]).get("choices")))))
        runs[dataset, str(record["model_id"]), f"{record.get('evaluation_result_id') or ''}\n{kept}"].append((file, line, record))
    for (dataset, model, which), rows in runs.items():
        result, _, kept = which.partition("\n")
        log = logs.setdefault(dataset, EvaluationLog(
            rows[0][0], dataset, title=names[dataset], source=f"Every Eval Ever, {names[dataset]}", model=None,
            classes=shared_classes(choices[dataset]),
        ))  # fmt: skip
        several = len({key[2] for key in runs if key[:2] == (dataset, model)}) > 1
        facts = [as_dict(record.get("metadata")) for _, _, record in rows]
        stated = any(_given(fact, "confidence") for fact in facts)
        elicitation = next((name for fact in facts if (name := _given(fact, "elicitation"))), STATED if stated else UNSTATED)
        suffix = ", ".join(part for part in (kept, result if several else "") if part)
        elicitation += f" ({suffix})" if suffix else ""
        samples = [_given(fact, "epoch") or _given(fact, "sample") for fact in facts]
        for (_, line, record), sample in zip(rows, samples, strict=True):
            _add_record(log, record, model, elicitation, f"line {line}", sample if len({*samples}) > 1 else None, stated)
        key = (str(rows[0][2]["evaluation_id"]), result or str(rows[0][2].get("evaluation_name")))
        if key in published:
            log.published[model, elicitation] = published[key]
    return list(logs.values())


def _task(record: Mapping[str, Any]) -> tuple[str, str]:
    """Return the name of an evaluation, and the filter of answers that lm-eval's converter appends to it."""
    name = str(record.get("evaluation_name") or str(record["evaluation_id"]).partition("/")[0])
    kept = _given(as_dict(record.get("metadata")), "filter") or ""
    return (name.removesuffix(f"/{kept}"), kept) if kept and name.endswith(f"/{kept}") else (name, "")


def _given(facts: Mapping[str, Any], key: str) -> str | None:
    """Return a fact about a sample as text; None if it is absent or blank. All facts are texts by the schema."""
    value = next((value for name, value in facts.items() if str(name).lower() == key), None)
    return str(value).strip() or None if value is not None else None


def _add_record(
    log: EvaluationLog, record: Mapping[str, Any], model: str, elicitation: str, place: str, sample: str | None, stated: bool
) -> None:
    asked, facts = as_dict(record["input"]), as_dict(record.get("metadata"))
    offered = [str(choice) for choice in as_list(asked.get("choices"))]
    text = str(asked.get("raw") or "")
    if offered and offered[0] not in text:
        text = with_choices(text, offered)
    question, clue = str(record["sample_id"]), _given(facts, "clue")
    if clue is None:  # otherwise these are the words of the question so far, and a dataset has it already
        right = " or ".join(map(str, as_list(asked.get("reference"))))
        log.add_question(question, text or None, right or None, place, category_of(facts))
    guess, judged = _guess(record), as_dict(record["evaluation"])
    score, correct = number(judged.get("score")), judged.get("is_correct")
    if record.get("error") and guess is None:
        log.skip(elicitation, FAILED, model)
        log.add_answer(question, elicitation, place, model=model, failed=True, sample=sample)
        return
    confidence, given = _given(facts, "confidence"), _given(facts, "state")
    state: State | None = next((known for known in STORED_STATES if known == given), None)
    if state is None and confidence is None:
        state = "no_confidence"
        if stated:
            log.skip(elicitation, NOT_STATED, model)
    log.add_answer(
        question, elicitation, place, model=model, guess=guess, confidence=None if state else confidence, sample=sample,
        state=state,
        correct=score if score is not None and 0 < score < 1 else None if correct is None else truth(correct),
        clue=int(clue) if clue and clue.isdecimal() else 0,
    )  # fmt: skip


def _guess(record: Mapping[str, Any]) -> str | None:
    extracted = [part.get("extracted_value") for part in as_dicts(record.get("answer_attribution")) if part.get("is_terminal")]
    outputs = as_list(as_dict(record.get("output")).get("raw"))
    messages = [part.get("content") for part in as_dicts(record.get("messages")) if part.get("role") == "assistant"]
    texts = [text for text in (*extracted[-1:], *outputs[-1:], *messages[-1:]) if isinstance(text, str) and text.strip()]
    return texts[0][:MAX_GUESS_LENGTH] if texts else None
