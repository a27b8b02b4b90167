"""Logs of Inspect AI: ``.eval`` files, which are zips of a header and one JSON file per sample, and logs as one JSON document."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from clueline.data.importing.column_mapping import excerpt
from clueline.data.importing.evaluation_times import read_time
from clueline.data.importing.file_folder_or_zip import Incoming, beginning, files_below, zip_member
from clueline.data.importing.report import Problem, Refused, refuse
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
    letters,
    number,
    option_shares,
    read_each,
    shared_classes,
    with_choices,
)
from clueline.data.store.answer_states import State

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
letter; for any other answer, the mean probability of its tokens. If there are several scorers, each is a run, named `verbalized
(SCORER)`. If a value has several parts, each part is a scorer. If a score was edited, the last edit counts. Samples without a
score (NaN) are counted and left out; those that ended with an error are failed calls. N is an abstention, as is an answer that a
content filter stopped. A wrong answer to a multiple-choice question is unparsed if its scorer names the choice in other samples,
but not here. Answers without a confidence are kept; a log without any is the run `no confidence`. A sample's metadata can name a
`category` or `subject`. Samples can be files, or folders of chunks. Each finished log of a folder is a
run; of a task and model without any, the last one is read. A log is dated by `created`, and its day is the tag `date` of its
runs; the tags `harness` and `version` say what made it. If the log states an accuracy that its samples do not have,
there is a warning.
""",
)
STATUS = re.compile(rb'"status"\s*:\s*"(\w+)"')
TOKEN = "token"
MEAN = "mean"  # how the scores of several epochs become one, unless the log says otherwise
SHELL, CHUNKED = "sample.json", re.compile(r"_epoch_\d+$")  # of a sample that is stored in chunks, and how its folder ends
UNSCORED = "the sample is not scored"
NO_TOKENS = "no log-probabilities of the answer's tokens"
LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
WORDS = {"correct": 1.0, "yes": 1.0, "true": 1.0, "incorrect": 0.0, "no": 0.0, "false": 0.0}
NO_ANSWER = "N"
CONTENT_FILTER = "content_filter"  # the reason why an output ended
ENDED_BY_ERROR = "the sample ended with an error"
ROUNDING = 1e-3  # by which a log-probability may exceed 0


@dataclass(frozen=True)
class Score:
    """The score that one scorer gave a sample, after all edits, and the answer that the scorer took from the output.

    ``tokens`` has ``options``, the probabilities of all options, or ``token_logprobs``, those of the answer's tokens; None if the
    log has no log-probabilities for the answer. ``output`` is what is searched for a confidence if none is stated.
    """

    value: object
    answer: str | None
    confidence: object
    tokens: dict[str, Any] | None
    output: str = ""

    @property
    def declined(self) -> bool:
        return isinstance(self.value, str) and self.value.strip() == NO_ANSWER

    @property
    def unscored(self) -> bool:
        return self.value is None or (not isinstance(self.value, str | bool) and math.isnan(number(self.value) or 0))

    @property
    def correct(self) -> float | None:
        """The value as a correctness in [0, 1]; None if it cannot be read as one."""
        word = str(self.value).strip() if isinstance(self.value, str | bool) else ""
        share = LETTERS.get(word, WORDS.get(word.lower(), number(self.value)))
        return share if share is not None and 0 <= share <= 1 else None


@dataclass(frozen=True)
class Sample:
    """One sample of a log."""

    question_id: str
    text: str
    answer: str | None
    category: str | None
    options: list[str]  # the letters of the question's choices
    epoch: str
    failed: str | None  # why there is no answer
    refused: bool  # by a content filter, which stopped the output
    scores: dict[str, Score]  # by scorer

    @property
    def place(self) -> str:
        return f"sample {self.question_id}" + ("" if self.epoch == "1" else f", epoch {self.epoch}")


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return _header_path(incoming.folder) is not None or any(files_below(incoming.folder, ".eval"))
    return {"task", "model"} <= as_dict(as_dict(incoming.document).get("eval")).keys()


def log_status(path: Path) -> str | None:
    """Return the status of a log, which is "started" until it is finished; None if the file is no log, or cannot be read."""
    if path.suffix == ".eval":
        header = zip_member(path, "header.json")
        if header is None:
            return "started" if zip_member(path, "_journal/start.json") is not None else None
        with suppress(ValueError):
            status = as_dict(json.loads(header)).get("status")
            return status if isinstance(status, str) else None
        return None
    with suppress(OSError):
        start = beginning(path)
        if b'"eval"' in start and (match := STATUS.search(start)):
            return match[1].decode()
    return None


def _header_path(folder: Path) -> Path | None:
    """Return the path of the header of an unpacked log; for an unfinished log, that of its start. None if there is neither."""
    return next((path for path in (folder / "header.json", folder / "_journal" / "start.json") if path.is_file()), None)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is None:
        document = incoming.document
        if not isinstance(document, dict) or not isinstance(document.get("eval"), dict):
            raise incoming.unreadable or refuse(incoming.name, "this is not an Inspect AI log: it has no `eval`")
        numbered = enumerate(as_list(document.get("samples")), start=1)
        _read_log(incoming.name, document, ((f"sample number {nth}", sample) for nth, sample in numbered), staging, options)
        return
    header = _header_path(incoming.folder)
    if header is not None:
        documents = _samples(incoming.folder / "samples", incoming)
        _read_log(incoming.name, _document(header, incoming), documents, staging, options)
        return
    logs = incoming.files(".eval")
    if not logs:
        raise refuse(incoming.name, "there is neither a header.json nor an .eval file in it")
    kept = _finished(logs)
    reason = "not finished, or a copy; there is a finished log of the same task and model"
    staging.report.warn_left_out(incoming.name, "log", {reason: len(logs) - len(kept)})
    read_each([partial(read, log, staging, options) for log in kept], staging)


def _samples(folder: Path, incoming: Incoming) -> Iterator[tuple[str, Any]]:
    """Yield the samples of an unpacked log: a file each or, if they are chunked, a folder with ``sample.json`` and its parts."""
    paths = [*files_below(folder, ".json")]  # an id with a slash becomes a folder
    chunked = {path.parent for path in paths if path.name == SHELL and CHUNKED.search(path.parent.name)}
    for path in paths:
        own = path.parent in chunked and path.name == SHELL
        if own:
            yield f"samples/{path.parent.name}", _chunked_sample(path, incoming)
        elif not (chunked and chunked.intersection(path.parents)):
            yield f"samples/{path.name}", _document(path, incoming)


def _chunked_sample(path: Path, incoming: Incoming) -> Any:
    """Return a chunked sample without messages and events. Long texts are in files, which are named by their first index."""
    document = _document(path, incoming)
    if isinstance(document, dict):
        if (facts := path.with_name("metadata.json")).is_file():
            document["metadata"] = _document(facts, incoming)
        chunks = {int(chunk.stem): chunk for chunk in (path.parent / "attachments").glob("*.json") if chunk.stem.isdecimal()}
        texts = {first: as_list(_document(chunk, incoming)) for first, chunk in sorted(chunks.items())}
        document["attachments"] = {str(first + n): text for first, some in texts.items() for n, text in enumerate(some)}
    return document


def _finished(logs: list[Incoming]) -> list[Incoming]:
    """Keep each finished log and, of a task, its arguments and model without any, the last one. Copies of a log are one."""
    finished: dict[tuple[str, str], Incoming] = {}
    unfinished: dict[str, tuple[str, Incoming]] = {}
    for log in logs:
        header: dict[str, Any] = {}
        with suppress(Refused):
            if log.folder and (path := _header_path(log.folder)):
                header = as_dict(_document(path, log))
        about = header.get("eval")
        parts = [about.get(key) for key in ("task", "task_args", "model")] if isinstance(about, dict) else [log.name]
        key, created = json.dumps(parts, sort_keys=True), str(as_dict(about).get("created"))
        if header.get("status") == "success":
            finished[key, created] = log
        elif key not in unfinished or created >= unfinished[key][0]:
            unfinished[key] = (created, log)
    of_finished = {key for key, _ in finished}
    return [*finished.values(), *(log for key, (_, log) in unfinished.items() if key not in of_finished)]


def _document(path: Path, incoming: Incoming) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise refuse(f"{incoming.name}/{path.name}", "the text of this part of the log is not UTF-8") from None
    except (ValueError, OSError, RecursionError) as error:
        raise refuse(f"{incoming.name}/{path.name}", f"this part of the log is not valid JSON: {error}") from error


def _read_log(name: str, header: Any, documents: Iterator[tuple[str, Any]], staging: Staging, options: ImportOptions) -> None:
    about = as_dict(header).get("eval")
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
    staging.report.warn_left_out(name, "sample", {"invalidated in the log": invalid})
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
        evaluated_at=read_time(str(about.get("created"))), tags=_versions(about),
    )  # fmt: skip
    _add_runs(log, samples, staging, _published(header))
    log.add_to(staging, options)


def _versions(about: Mapping[str, Any]) -> dict[str, str]:
    """Return the harness with its version, and the commit and version of the task, as far as a log states them."""
    harness = as_dict(about.get("packages")).get("inspect_ai")
    commit = as_dict(about.get("revision")).get("commit")
    version = about.get("task_version")
    parts = [f"task {version}" if version not in (None, 0, "") else "", f"commit {commit}" if commit else ""]
    stated = {"harness": f"inspect_ai {harness}" if harness else "", "version": ", ".join(filter(None, parts))}
    return {tag: value for tag, value in stated.items() if value}


def _published(header: Any) -> dict[str, tuple[float, str]]:
    """Return the accuracy that a log states and how it makes one score of several epochs, by scorer; the mean if it is stated."""
    stated: dict[str, tuple[float, str]] = {}
    for scores in as_dicts(as_dict(header.get("results")).get("scores")):
        name, reducer = str(scores.get("name")), str(scores.get("reducer") or MEAN)
        share = number(as_dict(as_dict(scores.get("metrics")).get("accuracy")).get("value"))
        if share is not None and (name not in stated or reducer == MEAN):
            stated[name] = (share, reducer)
    return stated


def _add_runs(log: EvaluationLog, samples: list[Sample], staging: Staging, published: Mapping[str, tuple[float, str]]) -> None:
    scores = [score for sample in samples for score in sample.scores.values()]
    if not scores:
        raise refuse(log.name, "no sample of this log is scored")
    kinds = [STATED] * any(score.confidence is not None for score in scores)
    kinds += [TOKEN] * any(score.tokens is not None for score in scores)
    scorers = _scorers(log, samples, staging)
    several_epochs = len({sample.epoch for sample in samples}) > 1
    for sample in samples:
        log.add_question(sample.question_id, sample.text, sample.answer, sample.place, sample.category)
    for scorer in scorers:
        names_choices = any(score.answer is not None for sample in samples if (score := sample.scores.get(scorer)))
        for kind in kinds or [UNSTATED]:
            elicitation = f"{kind} ({scorer})" if len(scorers) > 1 else kind
            if scorer in published:
                log.published[None, elicitation], reducer = published[scorer]
                if reducer != MEAN:
                    log.reducers[elicitation] = reducer
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
    if score is None or score.unscored:
        log.skip(elicitation, sample.failed or UNSCORED)
        if sample.failed:
            log.add_answer(sample.question_id, elicitation, sample.place, failed=True, sample=epoch)
        return
    state: State | None = None
    if score.declined or sample.refused:
        state = "abstained"
    elif sample.options and names_choices and score.answer is None and score.correct == 0:
        state = "unparsed"
    elif (score.tokens if kind == TOKEN else score.confidence) is None:
        log.skip(elicitation, NO_TOKENS if kind == TOKEN else NOT_STATED)
        state = "no_confidence"
    confidence = score.tokens or {} if kind == TOKEN else {"confidence": score.confidence}
    counts = state in (None, "unparsed")  # an unparsed answer is wrong at its confidence
    log.add_answer(
        sample.question_id, elicitation, sample.place, guess=score.answer, state=state, sample=epoch, output=score.output,
        correct=None if state in ("abstained", "unparsed") else score.correct, **(confidence if counts else {}),
    )  # fmt: skip


# -- one sample ---------------------------------------------------------------------------------------------------


def read_sample(document: Mapping[str, Any]) -> Sample:
    """Read a sample from its JSON document, which must have an id."""
    attachments = as_dict(document.get("attachments"))
    choices = [_resolved(choice, attachments) for choice in as_list(document.get("choices"))]
    options = letters(len(choices))
    text = _text(document.get("input"), attachments)
    target = document.get("target")
    answer = " or ".join(map(str, target)) if isinstance(target, list) else str(target or "")
    return Sample(
        question_id=str(document["id"]),
        text=with_choices(text, choices) if choices else text,
        answer=_resolved(answer, attachments) or None,
        category=category_of(as_dict(document.get("metadata"))),
        options=options,
        epoch=str(document.get("epoch") or 1),
        failed=ENDED_BY_ERROR if document.get("error") else None,
        refused=_first_choice(document).get("stop_reason") == CONTENT_FILTER,
        scores=_scores(document, options, attachments),
    )


def _scores(document: Mapping[str, Any], options: list[str], attachments: Mapping[str, Any]) -> dict[str, Score]:
    """Return the scores of a sample by name. If a value has several parts, each part is a score."""
    raw = document.get("scores") or document.get("score") or {}
    if isinstance(raw, dict) and "value" in raw and not (isinstance(raw["value"], dict) and "value" in raw["value"]):
        raw = {"score": raw}  # logs of early versions have one score
    named = {str(name): _edited(score) for name, score in as_dict(raw).items() if isinstance(score, dict)}
    confidences = {name: _confidence(score) for name, score in named.items()}
    any_confidence = next((value for value in confidences.values() if value is not None), None)
    completion = _completion(document, attachments)
    tokens_of_output = as_dicts(as_dict(_first_choice(document).get("logprobs")).get("content"))
    content = [token for token in tokens_of_output if _logprob(token) is not None]
    result: dict[str, Score] = {}
    for name, score in named.items():
        stated = score.get("answer")
        answer = _resolved(stated, attachments) if isinstance(stated, str) and stated else None
        guess = answer if answer is not None or options else completion[:MAX_GUESS_LENGTH] or None
        confidence = confidences[name] if confidences[name] is not None else any_confidence
        tokens, output = _token_confidence(content, options, answer), excerpt(completion) if confidence is None else ""
        for part, value in _values(score.get("value")).items():
            declined = isinstance(value, str) and value.strip() == NO_ANSWER
            result[f"{name}.{part}" if part else name] = Score(value, None if declined else guess, confidence, tokens, output)
    return result


def _edited(score: Mapping[str, Any]) -> dict[str, Any]:
    """Return a score with the edits of its history applied in order; the last one counts."""
    result = dict(score)
    for edit in map(as_dict, as_list(score.get("history"))):
        result |= {key: edit[key] for key in ("value", "answer", "metadata") if edit.get(key) not in ("UNCHANGED", None)}
    return result


def _confidence(score: Mapping[str, Any]) -> object:
    """Return the confidence in a score's metadata or among the parts of its value; None if there is none."""
    for parts in (score.get("metadata"), score.get("value")):
        for key, value in as_dict(parts).items():
            unreadable = value is None or value == "" or (isinstance(value, float) and math.isnan(value))
            if str(key).strip().lower() == "confidence" and not unreadable:
                return value
    return None


def _values(value: object) -> dict[str, object]:
    """Return the parts of a value that are scores, by name. The name of a single part is empty."""
    if not isinstance(value, dict):
        return {"": value}
    parts = {str(key): part for key, part in value.items() if str(key).strip().lower() != "confidence"}
    return {"": next(iter(parts.values()))} if len(parts) == 1 else parts


def _resolved(text: object, attachments: Mapping[str, Any]) -> str:
    """Return a text. The log may store it separately among its attachments."""
    name = str(text).removeprefix("attachment://")
    return str(attachments[name]) if str(text).startswith("attachment://") and name in attachments else str(text)


def _text(content: object, attachments: Mapping[str, Any]) -> str:
    """Return the text of an input: the text itself, or that of its messages, each after its role if there are several."""
    if not isinstance(content, list):
        return _message_text(content, attachments)
    texts = [(str(one.get("role", "")), _message_text(one.get("content"), attachments)) for one in as_dicts(content)]
    return texts[0][1] if len(texts) == 1 else "\n".join(f"{role}: {text}" for role, text in texts)


def _message_text(content: object, attachments: Mapping[str, Any]) -> str:
    if not isinstance(content, list):
        return _resolved("" if content is None else content, attachments)
    return "\n".join(
        _resolved(part["text"], attachments) if isinstance(part.get("text"), str) else f"[{part.get('type', 'part')}]"
        for part in as_dicts(content)
        if part.get("type") != "reasoning"
    )


def _first_choice(document: Mapping[str, Any]) -> dict[str, Any]:
    return as_dict(next(iter(as_list(as_dict(document.get("output")).get("choices"))), None))


def _completion(document: Mapping[str, Any], attachments: Mapping[str, Any]) -> str:
    message = _first_choice(document).get("message")
    if isinstance(message, dict):
        return _message_text(message.get("content"), attachments)
    return _resolved(as_dict(document.get("output")).get("completion") or "", attachments)


def _logprob(token: Mapping[str, Any]) -> float | None:
    value = number(token.get("logprob"))
    return None if value is None or math.isnan(value) or value > ROUNDING else min(value, 0.0)


def _letter(token: Mapping[str, Any]) -> str:
    """Return the letters and digits of a token: B for ``" B"``, ``"(B"`` and ``"B."``."""
    return re.sub(r"[\W_]", "", str(token.get("token", "")))


def _token_confidence(content: list[dict[str, Any]], options: list[str], answer: str | None) -> dict[str, Any] | None:
    """Return the confidence from log-probabilities; None if there are none for the answer.

    With options, it is the probabilities of all options at the answer's letter if the log has them all, otherwise the
    log-probability of that letter. Without options, it is the log-probabilities of all tokens.
    """
    if not content:
        return None
    logprobs = [value for token in content if (value := _logprob(token)) is not None and math.isfinite(value)]
    if not options:
        return {"token_logprobs": tuple(logprobs)} if logprobs else None
    letter = _letter({"token": answer or ""})
    token: dict[str, Any] = next((token for token in reversed(content) if letter and _letter(token) == letter), {})
    if (own := _logprob(token)) is None:
        return None
    others = as_dicts(token.get("top_logprobs"))
    if str(token.get("token")) not in {str(other.get("token")) for other in others}:
        others.append(token)
    likely = ((_letter(other), value) for other in others if (value := _logprob(other)) is not None)
    if letter in options and (whole := option_shares(likely, options)):
        return {"options": whole}
    return {"token_logprobs": (own,)} if math.isfinite(own) else None
