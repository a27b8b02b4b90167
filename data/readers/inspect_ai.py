"""Logs of Inspect AI: ``.eval`` files, which are zips of a header and one JSON file per sample, and logs as one JSON document."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from data.importing.file_folder_or_zip import START, Incoming, zip_member
from data.importing.report import Problem, Refused, refuse
from data.importing.staging import ImportOptions, Staging
from data.plurals import counted
from data.readers import Format
from data.readers.shared.evaluation_log import (
    UNSTATED,
    EvaluationLog,
    dataset_id,
    read_each,
    shared_classes,
)
from data.readers.shared.inspect_ai_sample import Sample, read_sample
from data.store.answer_states import State

FORMAT = Format(
    key="inspect",
    reads="Inspect AI: a log as `.eval` or JSON, or a folder or zip of `.eval` files",
    recognised="`header.json` or `_journal` in the zip; `eval` with `task` and `model` in JSON",
    becomes="A dataset for each task, and a run for each scorer and kind of confidence (stated, or of tokens)",
    source="inspect.aisi.org.uk, logs of `inspect eval`",
    rules="""
C, I, P and N are 1, 0, 1/2 and 0; a scorer with a value that is not a number between 0 and 1 makes no run. The confidence is the
`confidence` in a score's metadata, in upper or lower case. It applies to all scorers of the sample that state none themselves:
the run `verbalized`. If the log has log-probabilities, there is a run `token`. For a multiple-choice answer, it has the
probabilities of all letters at the answer's letter if they are all among the likely tokens, otherwise the probability of that
letter; for any other answer, the mean probability of its tokens. If there are several scorers, each is a run, named
`verbalized (SCORER)`. If a value has several parts, each part is a scorer. If a score was edited, the last edit counts. Samples
without a score (NaN) are counted and left out; those that ended with an error are failed calls. N is an abstention, as is an
answer that a content filter stopped. A wrong answer to a multiple-choice question is unparsed if its scorer names the choice in
other samples, but not here. Answers without a confidence are kept; a log without any is the run `no confidence`. A
sample's metadata can name a `category` or `subject`. If a folder has several logs of a task and model, the last finished one
counts.
""",
)
STATUS = re.compile(rb'"status"\s*:\s*"(\w+)"')
STATED, TOKEN = "verbalized", "token"
UNSCORED = "the sample is not scored"
NOT_STATED = "no confidence is stated"
NO_TOKENS = "no log-probabilities of the answer's tokens"


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return _header_path(incoming.folder) is not None or any(incoming.folder.rglob("*.eval"))
    document = incoming.document
    header = document.get("eval") if isinstance(document, dict) else None
    return isinstance(header, dict) and {"task", "model"} <= header.keys()


def log_status(path: Path) -> str | None:
    """Return the status of a log, which is "started" until it is finished; None if the file is no log, or cannot be read."""
    if path.suffix == ".eval":
        header = zip_member(path, "header.json")
        if header is None:
            return "started" if zip_member(path, "_journal/start.json") is not None else None
        try:
            document = json.loads(header)
        except ValueError:
            return None
        status = document.get("status") if isinstance(document, dict) else None
        return status if isinstance(status, str) else None
    try:
        with path.open("rb") as file:
            start = file.read(START)
    except OSError:
        return None
    match = STATUS.search(start) if b'"eval"' in start else None
    return match[1].decode() if match else None


def _header_path(folder: Path) -> Path | None:
    """Return the path of the header of an unpacked log; for an unfinished log, that of its start. None if there is neither."""
    return next((path for path in (folder / "header.json", folder / "_journal" / "start.json") if path.is_file()), None)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        document = incoming.document
        if not isinstance(document, dict) or not isinstance(document.get("eval"), dict):
            raise incoming.unreadable or refuse(incoming.name, "this is not an Inspect AI log: it has no `eval`")
        samples = document.get("samples")
        numbered = enumerate(samples if isinstance(samples, list) else [], start=1)
        _read_log(incoming.name, document, ((f"sample number {nth}", sample) for nth, sample in numbered), staging, options)
        return
    header = _header_path(incoming.folder)
    if header is not None:
        read_samples = _sample_files(incoming)
        _read_log(incoming.name, _document(header, incoming), read_samples, staging, options)
        return
    logs = [
        Incoming(path, staging, f"{incoming.name}/{path.relative_to(incoming.folder)}", options.password)
        for path in sorted(incoming.folder.rglob("*.eval"))
    ]
    if not logs:
        raise refuse(incoming.name, "there is neither a header.json nor an .eval file in it")
    latest = _latest(logs)
    if left := len(logs) - len(latest):
        reason = "there is a later log, or one that was finished, of the same task and model"
        staging.report.warnings.append(f"{incoming.name}: {counted(left, 'log')} left out: {reason}")
    read_each([partial(read, log, staging, options) for log in latest], staging)


def _latest(logs: list[Incoming]) -> list[Incoming]:
    """Keep one log for each task, its arguments and model: the last one that was finished, otherwise the last one."""
    by_task: dict[str, tuple[bool, str, Incoming]] = {}
    for log in logs:
        try:
            path = _header_path(log.folder) if log.folder else None
            header = _document(path, log) if path else {}
        except Refused:
            header = {}
        about = header.get("eval") if isinstance(header, dict) else None
        parts = [about.get(key) for key in ("task", "task_args", "model")] if isinstance(about, dict) else [log.name]
        rank = (header.get("status") == "success", str(about.get("created"))) if isinstance(about, dict) else (False, "")
        key = json.dumps(parts, sort_keys=True)
        if key not in by_task or rank >= by_task[key][:2]:
            by_task[key] = (*rank, log)
    return [log for _, _, log in by_task.values()]


def _sample_files(incoming: Incoming) -> Iterator[tuple[str, Any]]:
    folder = incoming.folder
    for path in sorted((folder / "samples").rglob("*.json")) if folder else ():  # an id with a slash becomes a folder
        yield f"samples/{path.name}", _document(path, incoming)


def _document(path: Path, incoming: Incoming) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise refuse(f"{incoming.name}/{path.name}", "the text of this part of the log is not UTF-8") from None
    except (ValueError, OSError, RecursionError) as error:
        raise refuse(f"{incoming.name}/{path.name}", f"this part of the log is not valid JSON: {error}") from error


def _read_log(name: str, header: Any, documents: Iterator[tuple[str, Any]], staging: Staging, options: ImportOptions) -> None:
    about = header.get("eval") if isinstance(header, dict) else None
    if not isinstance(about, dict):
        raise refuse(name, "the header of the log has no `eval`")
    task = str(about.get("task") or "")
    dataset = options.dataset or dataset_id(task)
    if not dataset:
        raise refuse(name, "which task is this? The log does not say", hint="dataset")
    model = about.get("model")
    samples: list[Sample] = []
    invalid = 0
    for place, document in documents:
        if not isinstance(document, dict) or document.get("id") is None:
            staging.report.problems.append(Problem(name, None, "id", None, "a sample needs an id", row=place))
        elif document.get("invalidation"):
            invalid += 1
        else:
            samples.append(read_sample(document))
    if invalid:
        staging.report.warnings.append(f"{name}: {counted(invalid, 'sample')} left out: invalidated in the log")
    if not samples:
        staging.report.raise_problems()
        raise refuse(name, "there are no samples in this log; only logs that keep their samples can be read")
    if isinstance(header.get("status"), str) and header["status"] != "success":
        staging.report.warnings.append(
            f"{name}: this evaluation was not finished (status {header['status']}); what it has was read"
        )
    log = EvaluationLog(
        name, dataset, title=task or dataset, source=f"Inspect AI, task {task or dataset}",
        model=model if isinstance(model, str) and model else None,
        classes=shared_classes([sample.options for sample in samples]),
    )  # fmt: skip
    _add_runs(log, samples, staging)
    log.add_to(staging, options)


def _add_runs(log: EvaluationLog, samples: list[Sample], staging: Staging) -> None:
    scores = [score for sample in samples for score in sample.scores.values()]
    stated = any(score.confidence is not None for score in scores)
    tokens = any(score.tokens is not None for score in scores)
    if not scores:
        raise refuse(log.name, "no sample of this log is scored")
    scorers = _scorers(log, samples, staging)
    several_epochs = len({sample.epoch for sample in samples}) > 1
    for sample in samples:
        log.add_question(sample.question_id, sample.text, sample.answer, sample.place, sample.category)
    for scorer in scorers:
        names_choices = any(score.answer is not None for sample in samples if (score := sample.scores.get(scorer)))
        for kind in ([STATED] if stated else []) + ([TOKEN] if tokens else []) or [UNSTATED]:
            elicitation = f"{kind} ({scorer})" if len(scorers) > 1 else kind
            for sample in samples:
                epoch = sample.epoch if several_epochs else None
                _add_answer(log, sample, scorer, kind, elicitation, epoch, names_choices)


def _scorers(log: EvaluationLog, samples: list[Sample], staging: Staging) -> list[str]:
    """Return the names of the scorers that say whether answers are right, in the order of the log. Warn of the others."""
    names = list(dict.fromkeys(name for sample in samples for name in sample.scores))
    usable, unusable = [], []
    for name in names:
        scores = [sample.scores[name] for sample in samples if name in sample.scores]
        wrong = [score.value for score in scores if not score.unscored and score.correct is None]
        if wrong:
            example = json.dumps(wrong[0], ensure_ascii=False)[:60]
            unusable.append((name, f"its values, such as {example}, do not lie between 0 and 1"))
        elif all(score.unscored for score in scores):
            unusable.append((name, "it scored no sample"))
        else:
            usable.append(name)
    if not usable:
        reasons = "".join(f"; {name}: {reason}" for name, reason in unusable)
        raise refuse(log.name, f"no scorer of this log says whether the answers are right{reasons}")
    staging.report.warnings += [f"{log.name}: scorer {name} was left out: {reason}" for name, reason in unusable]
    return usable


def _add_answer(
    log: EvaluationLog, sample: Sample, scorer: str, kind: str, elicitation: str, epoch: str | None, names_choices: bool
) -> None:
    """Add the answer of a sample. ``names_choices`` says whether the scorer names the answer that it read in any sample."""
    score = sample.scores.get(scorer)
    if sample.failed and (score is None or score.unscored):
        log.skip(elicitation, sample.failed)
        log.add_answer(sample.question_id, elicitation, sample.place, failed=True, sample=epoch)
        return
    if score is None or score.unscored:
        log.skip(elicitation, UNSCORED)
        return
    state: State | None = None
    if score.declined or sample.refused:
        state = "abstained"
    elif sample.options and names_choices and score.answer is None and score.correct == 0:
        state = "unparsed"
    elif (score.tokens if kind == TOKEN else score.confidence) is None:
        log.skip(elicitation, NO_TOKENS if kind == TOKEN else NOT_STATED)
        state = "no_confidence"
    if state is not None:
        correct = score.correct if state == "no_confidence" else None
        log.add_answer(
            sample.question_id, elicitation, sample.place, guess=score.answer, correct=correct, state=state, sample=epoch
        )
        return
    tokens = score.tokens if kind == TOKEN else None
    log.add_answer(
        sample.question_id, elicitation, sample.place, guess=score.answer, correct=score.correct, sample=epoch,
        confidence=score.confidence if kind == STATED else None,
        options=tokens.options if tokens else None, token_logprobs=tokens.logprobs if tokens else None,
    )  # fmt: skip
