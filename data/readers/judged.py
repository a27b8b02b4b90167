"""Judged answers as the scripts of HLE and BrowseComp write them: one JSON object of answers by question id.

Each value holds ``model, response`` and ``judge_response {correct_answer, model_answer, correct, confidence}``, with ``correct``
yes or no and ``confidence`` from 0 to 100, also 100 if an answer states none.
"""

from __future__ import annotations

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
answer states none; the report says how many confidences are 100. Answers that were not judged are counted and left out.
Answers without a confidence are kept without it.
""",
)
TITLES = {"browsecomp": "BrowseComp", "hle": "Humanity's Last Exam"}
CHECKED_ANSWERS = 100  # answers that are checked to recognise a file: some may not have been judged
FULL_CONFIDENCE = 100  # also written for an answer that states no confidence
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
        confidence = _add(log, question, answer, place, options)
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
    log.add_to(staging, options)


def _add(log: EvaluationLog, question: str, answer: dict[str, Any], place: str, options: ImportOptions) -> object:
    """Add one answer. Return its confidence as in the file; None if it has none or was not judged."""
    model = answer.get("model")
    name = options.model or (str(model) if model else None)
    verdict = answer.get("judge_response")
    if not isinstance(verdict, dict):
        log.skip(STATED, NOT_JUDGED, name)
        return None
    if "correct" not in verdict and verdict and all(isinstance(opinion, dict) for opinion in verdict.values()):
        judges = ", ".join(map(str, verdict))[:200]
        raise refuse(log.name, f"each answer has verdicts of several judges ({judges}); keep that of one in judge_response")
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
    )  # fmt: skip
    return confidence
