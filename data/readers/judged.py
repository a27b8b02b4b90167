"""Judged answers as the scripts of HLE and BrowseComp write them: one JSON object of answers by question id.

Each value holds ``model, response`` and ``judge_response {correct_answer, model_answer, correct, confidence}``, with ``correct``
yes or no and ``confidence`` from 0 to 100, also 100 if an answer states none.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from clueline.data.importing.file_folder_or_zip import Incoming
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import NOT_STATED, STATED, EvaluationLog, NothingToCalibrate, as_dict, number

FORMAT = Format(
    key="judged",
    reads="HLE or BrowseComp: answers with a judge's verdicts (JSON)",
    recognised="Objects with `judge_response` by question id",
    becomes="A dataset of the right answers, without the questions' texts, and a run",
    source="github.com/centerforaisafety/hle, files of `run_judge_results.py`",
    rules="""
The dataset is named after the file (`hle`, `browsecomp`), or by you. Confidences run from 0 to 100. The judge writes 100 if an
answer states none; the report says how many confidences are 100. Answers that were not judged are counted and left out; the
script of the benchmark counts them as wrong, and the report says what accuracy that gives. Answers without a confidence are
kept without it. If `judge_response` has a verdict of each of several judges, by name, the first one counts if all agree;
otherwise you are asked which one, with what each gives. The verdicts of the others become gradings.
""",
)
TITLES = {"browsecomp": "BrowseComp", "hle": "Humanity's Last Exam"}
CHECKED_ANSWERS = 100  # answers that are checked to recognise a file: some may not have been judged
FULL_CONFIDENCE = 100  # also written for an answer that states no confidence
NOT_IN_NAMES = re.compile(r"[^a-z0-9]+")  # what names of gradings do not have
NOT_JUDGED = "the answer was not judged"


def recognises(incoming: Incoming) -> bool:
    answers = list(as_dict(incoming.document).values())[:CHECKED_ANSWERS]
    return all(isinstance(answer, dict) for answer in answers) and any("judge_response" in answer for answer in answers)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    if incoming.folder is not None:
        raise refuse(incoming.name, "this is a folder or zip; judged answers are JSON files: name them one by one")
    document = incoming.require_document()
    if not isinstance(document, dict):
        raise refuse(incoming.name, "judged answers are one JSON object, with a key for each question id")
    name = Path(incoming.name).name.lower()
    dataset = options.dataset or next((key for key in TITLES if key in name), None)
    if not dataset:
        raise refuse(incoming.name, "which questions do these answer? Neither the file nor its name says", hint="dataset")
    judge = _judge(incoming.name, document, options)
    log = EvaluationLog(
        incoming.name, dataset, title=TITLES.get(dataset, dataset), source="Answers with a judge's verdicts (HLE, BrowseComp)",
        model=None, percent=True,
    )  # fmt: skip
    stated = certain = above_one = 0
    for question, answer in document.items():
        place = f"question {question}"
        if not isinstance(answer, dict):
            log.problems.append(Problem(log.name, None, None, str(answer)[:80], "an answer is a JSON object", row=place))
            continue
        confidence = _add(log, question, answer, place, options, judge)
        stated += confidence is not None
        certain += str(confidence) in (str(FULL_CONFIDENCE), f"{FULL_CONFIDENCE}.0")
        above_one += not 0 <= (number(confidence) or 0) <= 1
    if document and not stated and not log.problems:
        raise NothingToCalibrate(log.name)
    if certain:
        written = "which the judge also writes for answers that state none"
        staging.report.warnings.append(f"{log.name}: {certain:,} of {stated:,} confidences are {FULL_CONFIDENCE}, {written}")
    if stated > 1 and not above_one:
        reason = f"no confidence exceeds 1, although {FULL_CONFIDENCE} means certain; do these run from 0 to 1?"
        staging.report.warnings.append(f"{log.name}: {reason}")
    _compare_with_script(incoming.name, document, judge, staging)
    log.add_to(staging, options)


def _opinions(answer: object) -> dict[str, dict[str, Any]]:
    """Return the verdicts of several judges on an answer, by judge; empty if it has that of one judge or none."""
    verdicts = as_dict(as_dict(answer).get("judge_response"))
    several = "correct" not in verdicts and bool(verdicts) and all(isinstance(opinion, dict) for opinion in verdicts.values())
    return {str(judge): opinion for judge, opinion in verdicts.items()} if several else {}


def _judge(name: str, document: dict[str, Any], options: ImportOptions) -> str | None:
    """Return the judge whose verdicts count: the one that is stated or, if all agree, the first; None if there is only one.

    Raises ``Refused``, with what each gives, if they differ and none is stated.
    """
    judges = list(dict.fromkeys(judge for answer in document.values() for judge in _opinions(answer)))
    if not judges:
        return None
    stated = next((column for role, column in options.columns if role == "correct"), None)
    if stated is not None and stated not in judges:
        raise refuse(name, f"there is no judge {stated!r} in this file; it has: {', '.join(judges)}"[:400])
    verdicts = [{judge: _is_right(opinion) for judge, opinion in _opinions(answer).items()} for answer in document.values()]
    if stated is None and any(len({*row.values()}) > 1 for row in verdicts):
        figures = []
        for judge in judges:
            grades = [row[judge] for row in verdicts if judge in row]
            figures.append(f"by {judge}, {sum(grades):,} of {len(grades):,} right")
        reason = f"each answer has verdicts of several judges, which differ: {'; '.join(figures)}; which one counts?"
        raise refuse(name, reason[:400], hint="column", choices=tuple(f"correct={judge}" for judge in judges))
    return stated or judges[0]


def _is_right(verdict: dict[str, Any]) -> bool:
    return str(verdict.get("correct")).lower() in ("yes", "true", "1")


def _verdict(answer: object, judge: str | None) -> object:
    """Return the verdict that counts; None if the answer was not judged."""
    return as_dict(answer).get("judge_response") if judge is None else _opinions(answer).get(judge)


def _compare_with_script(name: str, document: dict[str, Any], judge: str | None, staging: Staging) -> None:
    """Say what accuracy the script of HLE prints if it differs: it counts an answer that was not judged as wrong."""
    verdicts = [verdict for answer in document.values() if isinstance(verdict := _verdict(answer, judge), dict)]
    unjudged, right = len(document) - len(verdicts), sum(map(_is_right, verdicts))
    if unjudged and right:
        ours, theirs = right / len(verdicts), right / len(document)
        how = f"the script of the benchmark counts these as wrong, which gives {theirs:.2%}; here, the accuracy is {ours:.2%}"
        staging.report.warnings.append(f"{name}: {unjudged:,} of {len(document):,} answers were not judged; {how}")


def _add(
    log: EvaluationLog, question: str, answer: dict[str, Any], place: str, options: ImportOptions, judge: str | None
) -> object:
    """Add one answer. Return its confidence as in the file; None if it has none or was not judged."""
    model = answer.get("model")
    name = options.model or (str(model) if model else None)
    verdict = _verdict(answer, judge)
    if not isinstance(verdict, dict):
        log.skip(STATED, NOT_JUDGED, name)
        return None
    text, right = answer.get("question"), verdict.get("correct_answer")
    log.add_question(question, text if isinstance(text, str) else None, None if right is None else str(right), place)
    correct = verdict.get("correct")
    if correct is None:
        log.problems.append(Problem(log.name, None, "judge_response.correct", None, "a value is required here", row=place))
    guess = verdict.get("model_answer")
    if guess is None and isinstance(answer.get("response"), str):
        guess = answer["response"]
    confidence = None if verdict.get("confidence") == "" else verdict.get("confidence")
    if confidence is None:
        log.skip(STATED, NOT_STATED, name)
    log.add_answer(
        question, STATED, place, model=name, guess=None if guess in (None, "None") else str(guess),
        confidence=confidence, correct=correct, state="no_confidence" if confidence is None else None,
        gradings={_grading(other): opinion.get("correct") for other, opinion in _opinions(answer).items() if other != judge},
    )  # fmt: skip
    return confidence


def _grading(judge: str) -> str:
    """Return the name of the grading by a judge.

    >>> _grading("openai/GPT_9")
    'openai-gpt-9'
    """
    return NOT_IN_NAMES.sub("-", judge.lower()).strip("-") or "judge"
