"""Run files of the QANTA challenge: JSON Lines of ``{qid, run_outputs: [{guess, confidence, buzz, correct, token_position}]}``.

``token_position`` is the number of tokens revealed. A run consists of the files with one name in the folders of packets; the name
is ``tossup__DATE__TIME__OWNER__SYSTEM.jsonl``.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from data.importing.file_folder_or_zip import Incoming
from data.importing.report import Problem
from data.importing.sqlite_file import whole
from data.importing.staging import Staging
from data.importing.table_contract import MAX_SHOWN_LENGTH
from data.importing.table_files import WRONG_LINE
from data.readers.shared.evaluation_log import clean
from data.store.gradings import grading_name

OWN = "Tossup/run.jsonl"  # ending of a run file with the challenge's own grades; other graders have folders with longer names
RUN_NAME = re.compile(r"tossup__(?:.+__)?(?P<owner>[^_](?:.*?[^_])?)__(?P<system>.+?)(?:\.buzz)?\.jsonl(?:\.gz|\.zst)?$")


@dataclass
class Run:
    """The outputs of one system.

    Attributes:
        model: owner and system.
        outputs: question -> outputs, each with its place for reports.
        files: question -> the file with its outputs.
        gradings: from other files with the same outputs: name of the grading -> place of the output -> correctness that the file
            states.
        again: name of the grading -> the files that it is from.
    """

    model: str
    outputs: dict[str, list[tuple[str, dict[str, Any]]]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    gradings: dict[str, dict[str, object]] = field(default_factory=dict)
    again: dict[str, list[str]] = field(default_factory=dict)


def name_by_folders(first: str, second: str) -> str:
    """Name a grading after the folders that hold two files of one run: the one with the run's own grading, and the other one.

    >>> name_by_folders("Packet 1/Tossup/run.jsonl", "Packet 1/Tossup_pedant/run.jsonl")
    'pedant'
    >>> name_by_folders("a/run.jsonl", "b/run.jsonl")
    'b'
    """
    folders = zip(reversed(Path(first).parent.parts), reversed(Path(second).parent.parts), strict=False)
    before, folder = next((pair for pair in folders if pair[0] != pair[1]), ("", Path(second).parent.name))
    return grading_name(folder.removeprefix(before) or folder)


def question_id(qid: str) -> str:
    """Return the last part of a ``qid``, or all of it if that part is a number of fewer than five digits.

    >>> question_id("advvqa-packet5-t-XYZ"), question_id("umd-qanta25-01-3")
    ('XYZ', 'umd-qanta25-01-3')
    """
    last = qid.strip().rpartition("-")[2]
    return qid.strip() if last.isdecimal() and len(last) < 5 else last


def read_run(file: Incoming, run: Run, staging: Staging) -> None:
    """Read one file of a run into ``run``. A file with the same outputs as another file of the run is a further grading."""
    problems = staging.report.problems
    outputs: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    try:
        lines = file.file.path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise file.file.not_utf8() from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        given = row.get("run_outputs") if isinstance(row, dict) else None
        if not isinstance(row, dict) or not isinstance(row.get("qid"), str) or not isinstance(given, list):
            reason = WRONG_LINE if not isinstance(row, dict) else "a line needs a qid and a list of run_outputs"
            problems.append(Problem(file.name, number, None, line[:MAX_SHOWN_LENGTH], reason))
            continue
        question = question_id(clean(row["qid"]) or "")
        if question in outputs:
            problems.append(
                Problem(file.name, number, "qid", question[:MAX_SHOWN_LENGTH], "this question is in the file already")
            )
            continue
        for index, output in enumerate(given, start=1):
            position = whole(output.get("token_position")) if isinstance(output, dict) else None
            if position is None or position < 1:
                value = (clean(output.get("token_position")) or "")[:MAX_SHOWN_LENGTH] if isinstance(output, dict) else None
                reason = "must be a whole number from 1, the number of tokens revealed"
                problems.append(Problem(file.name, number, "token_position", value, reason))
            else:
                outputs.setdefault(question, []).append((f"{file.name}, line {number}, output {index}", output))
    repeated = outputs.keys() & run.outputs.keys()
    same = all([_answers(outputs[q]) == _answers(run.outputs[q]) for q in repeated])
    if repeated and same:
        name = name_by_folders(run.files[min(repeated)], file.name)
        run.again.setdefault(name, []).append(file.name)
        for question in repeated:
            pairs = zip(sorted(run.outputs[question], key=_answer), sorted(outputs[question], key=_answer), strict=True)
            run.gradings.setdefault(name, {}).update((place, output.get("correct")) for (place, _), (_, output) in pairs)
    elif repeated:
        reason = (
            f"another file of this run has different outputs for {len(repeated):,} of these questions, such as {min(repeated)!r}"
        )
        problems.append(Problem(file.name, None, "qid", None, reason))
    run.outputs |= {question: rows for question, rows in outputs.items() if question not in repeated}
    run.files |= {question: file.name for question in outputs if question not in repeated}


def _answers(rows: list[tuple[str, dict[str, Any]]]) -> list[tuple[int, str, str]]:
    return sorted(map(_answer, rows))


def _answer(row: tuple[str, dict[str, Any]]) -> tuple[int, str, str]:
    output = row[1]
    return whole(output.get("token_position")) or 0, str(output.get("guess")), str(output.get("confidence"))


def scaled(positions: list[int], length: int) -> list[int]:
    """Scale ascending positions, from 1, to the length of a text that has been shortened, and keep them all different.

    Returns the old ones if they fit already, or are too many to remain different.
    """
    if not positions or positions[-1] <= length or len(positions) > length:
        return positions
    ends = [max(1, round(position * length / positions[-1])) for position in positions]
    for index in range(1, len(ends)):
        ends[index] = max(ends[index], ends[index - 1] + 1)
    ends[-1] = length
    for index in range(len(ends) - 2, -1, -1):
        ends[index] = min(ends[index], ends[index + 1] - 1)
    return ends
