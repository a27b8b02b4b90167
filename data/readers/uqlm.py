"""Results of UQLM: ``UQResult.to_dict()`` as JSON, with prompts, responses and the scores of one or more scorers."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import (
    EvaluationLog,
    NothingToCalibrate,
    as_dict,
    common_start,
    known_questions,
    number,
)

FORMAT = Format(
    key="uqlm",
    reads="UQLM: `UQResult.to_dict()` as JSON",
    recognised="`data` with `responses`",
    becomes="A run for each scorer, graded against the answers of a dataset whose questions are the prompts",
    source="github.com/cvs-health/uqlm, `UQResult.to_dict()`, written with `json.dump`",
    rules="""
Each column of numbers between 0 and 1 is a scorer, and becomes a run. A prompt belongs to the question with the same text or, if
there is none, to the only question whose text it contains. You name the model and the dataset when importing.
""",
)
COLUMNS_WITHOUT_SCORES = {"prompts", "responses", "index"}  # columns that are never scorers; nor are columns that are not numbers
MAX_COMPARED = 2 * 10**9  # characters of prompts that are compared with questions
START = 8  # characters at the start of a question that are searched for first


def recognises(incoming: Incoming) -> bool:
    return incoming.folder is None and isinstance(_data(incoming.document).get("responses"), list)


def _data(document: object) -> Mapping[str, Any]:
    return as_dict(as_dict(document).get("data"))


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is not None:
        raise refuse(incoming.name, "this is a folder or zip; results of UQLM are JSON files: name them one by one")
    name, data = incoming.name, _data(incoming.require_document())
    prompts, responses = data.get("prompts"), data.get("responses")
    if not isinstance(prompts, list) or not isinstance(responses, list) or len(prompts) != len(responses):
        raise refuse(name, "a result needs a list of `prompts`, and a list of `responses` to them")
    if not options.dataset:
        reason = "which dataset has these questions? The result says neither this nor which answers are right"
        raise refuse(name, reason, hint="dataset")
    log = EvaluationLog(name, options.dataset, title="", source="", model=options.model)
    if staging.existing(log.dataset, name)["kind"] == "incremental":
        raise refuse(name, f"the questions of dataset {log.dataset!r} have clues, but these answers do not name them")
    scorers = _scorers(name, data, len(prompts), staging)
    questions = _matched(log, [_text(prompt) for prompt in prompts], staging)
    for scorer in scorers:
        for nth, question in questions.items():
            place, score = f"prompt {nth + 1}", data[scorer][nth]
            if responses[nth] is None:
                log.skip(scorer, "no response")
                log.add_answer(question, scorer, place, failed=True)
            elif _is_missing(score):
                log.skip(scorer, "no score")
                log.add_answer(question, scorer, place, guess=str(responses[nth]), state="no_confidence")
            else:
                log.add_answer(question, scorer, place, guess=str(responses[nth]), confidence=score)
    log.add_to(staging, options)


def _scorers(name: str, data: Mapping[str, Any], count: int, staging: Staging) -> list[str]:
    """Return the columns of numbers between 0 and 1, which are scorers. Raises ``NothingToCalibrate`` if there are none."""
    scorers = []
    for column, values in data.items():
        if column in COLUMNS_WITHOUT_SCORES or not isinstance(values, list) or len(values) != count:
            continue
        scores = [number(value) for value in values if not _is_missing(value)]
        if not scores or None in scores or any(isinstance(value, str) for value in values):
            continue
        if all(score is not None and 0 <= score <= 1 for score in scores):
            scorers.append(column)
        else:
            staging.report.warnings.append(f"{name}: {column} was left out: its values do not lie between 0 and 1")
    if not scorers:
        raise NothingToCalibrate(name)
    return scorers


def _is_missing(score: object) -> bool:
    """Whether a scorer gave no score. A judge whose words cannot be read gives NaN."""
    return score is None or (isinstance(score, float) and math.isnan(score))


def _text(prompt: object) -> str:
    if isinstance(prompt, list) and prompt:
        return _text(prompt[-1])
    return _text(prompt.get("content")) if isinstance(prompt, dict) else str(prompt)


def _matched(log: EvaluationLog, prompts: list[str], staging: Staging) -> dict[int, str]:
    """Return the id of the question of each prompt: the only one whose text is the prompt, or part of it."""
    plain = {question: " ".join((text or "").split()) for question, (text, _) in known_questions(staging, log.dataset).items()}
    by_text: dict[str, list[str]] = {}
    for question, text in plain.items():
        by_text.setdefault(text, []).append(question)
    texts = sorted(filter(None, by_text))
    most = max(map(len, texts), default=0)
    width = min([START, *map(len, texts)])
    starts = {text[:width] for text in texts}
    matched: dict[int, str] = {}
    compared = 0
    for nth, prompt in enumerate(" ".join(prompt.split()) for prompt in prompts):
        questions = by_text.get(prompt, [])
        if not questions:
            places = [place for place in range(len(prompt)) if prompt[place : place + width] in starts]
            compared += len(places) * most
            if compared > MAX_COMPARED:
                reason = f"the prompts are too long to be searched for the questions of dataset {log.dataset!r}"
                raise refuse(log.name, reason)
            parts = {part for place in places if (part := longest_beginning(prompt[place : place + most], texts))}
            longest = max(parts, key=len, default="")
            # If the text of one fitting question is part of another's, the longer one counts.
            questions = by_text[longest] if longest and all(part in longest for part in parts) else []
        if len(questions) == 1:
            matched[nth] = questions[0]
        elif plain:
            reason = f"the prompt is the text of {'several questions' if questions else 'no question'} of dataset {log.dataset!r}"
            log.problems.append(Problem(log.name, None, "prompts", prompts[nth][:80], reason, row=f"prompt {nth + 1}"))
    return matched


def longest_beginning(text: str, texts: Sequence[str]) -> str | None:
    """Return the longest of some sorted texts that is the beginning of a text; None if there is none.

    >>> longest_beginning("Which river is it?", ["Where", "Which", "Which river", "Which sea"])
    'Which river'
    """
    while text and (place := bisect_right(texts, text)):
        before = texts[place - 1]
        if text.startswith(before):
            return before
        text = common_start([text, before])
    return None
