"""The buzzes of the GRACE tournaments (Sung et al. 2025): twelve files ``packetN_buzzpoints.json`` in an encrypted zip.

A file is a list of ``{tossup_index, category, question, answer, question_buzzpoints, position}``. ``position`` says at which
word, from 0, each team buzzed, as ``{"54": "[H6, -]"}``: teams H1, H2, ... are people, M1, M2, ... models.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from clueline.data.importing.file_folder_or_zip import Incoming, files_below
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_contract import CLUES, MAX_SHOWN_LENGTH
from clueline.data.quizbowl.question_words import plain_text, sentences
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import add_table, as_dict, clean, starts_with_keys
from clueline.data.readers.shared.quizbowl_games import (
    Buzz,
    LeftOut,
    PlayedQuestion,
    add_people,
    add_questions,
    one_buzz_per_team,
)

FORMAT = Format(
    key="grace",
    reads="The GRACE release: the encrypted zip of `packetN_buzzpoints.json`, a folder of them or one of them. It opens with the "
    "password that its authors print",
    recognised="The names `packetN_buzzpoints.json`, or `tossup_index` and `position` in a JSON list",
    becomes="The dataset `grace` with the buzzes of people and of three models; a team that buzzed in a packet counts as having "
    "heard all of it",
    source="Sung et al. 2025, CC BY 4.0",
    rules="The teams H1, H2, ... are people, and M1, M2, M3 are GPT-4, GPT-4o and Mistral-7b-Instruct. A question is identified "
    "by packet and `tossup_index`. Words are separated by white space; a buzz after the end counts as one on the last word.",
)
DATASET = "grace"
WHO_HEARD = (
    "the release does not say who heard a question; a team that buzzed in a packet counts as having heard all its questions to "
    "the end, and no other team as having heard any"
)
NAME = re.compile(r"packet(?P<packet>\w+?)_buzzpoints\.json$", re.IGNORECASE)
KEYS = {"tossup_index", "question", "position"}
BUZZ = re.compile(r"\[?\s*(?P<team>[A-Za-z]+\d+)\s*,\s*(?P<sign>[+-])\s*\]?$")
MODEL = "M"  # the letter of teams that are models
GROUPS = {
    "painting/sculpture": "Arts", "classical music": "Arts", "other arts": "Arts", "other fine arts": "Arts",
    "geo/ce": "Geo/CE", "geo/ce/other": "Geo/CE",
    "american hist": "History", "euro hist": "History", "world hist": "History", "other hist": "History",
    "american lit": "Literature", "british lit": "Literature", "euro lit": "Literature", "world/other lit": "Literature",
    "world/other": "Literature",
    "religion": "RMPSS", "myth": "RMPSS", "myth/other academic": "RMPSS", "philosophy": "RMPSS", "social science": "RMPSS",
    "biology": "Science", "chemistry": "Science", "physics": "Science", "other sci": "Science",
}  # fmt: skip
# Parts of words by which a category that is not in the release is grouped.
HINTS = {
    "social": "RMPSS", "reli": "RMPSS", "myth": "RMPSS", "philo": "RMPSS", "psych": "RMPSS", "geo": "Geo/CE", "current": "Geo/CE",
    "hist": "History", "lit": "Literature", "sci": "Science", "bio": "Science", "chem": "Science", "physic": "Science",
    "math": "Science", "art": "Arts", "music": "Arts", "paint": "Arts",
}  # fmt: skip


class Packet(NamedTuple):
    """One file: its name in reports, the name of the packet, and its tossups."""

    name: str
    packet: str
    tossups: list[Any]


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        return any(NAME.match(path.name) for path in files_below(incoming.folder))
    return b'"tossup_index"' in incoming.start and starts_with_keys(incoming.document, KEYS)


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    dataset = options.dataset or DATASET
    staging.add_dataset(
        incoming.name, dataset, kind="incremental", title=options.title or "GRACE tournaments", licence="CC BY 4.0",
        source="GRACE (Sung et al. 2025), as released", note=f"{WHO_HEARD[0].upper()}{WHO_HEARD[1:]}.",
    )  # fmt: skip
    for packet in _packets(incoming, staging):
        _read_packet(packet, dataset, staging)
    staging.report.warnings.append(f"{incoming.name}: {WHO_HEARD}")


def _packets(incoming: Incoming, staging: Staging) -> Iterator[Packet]:
    files = [file for file in incoming.files() if file is incoming or NAME.match(file.path.name)]
    if not files:
        raise refuse(incoming.name, "there is no packetN_buzzpoints.json in it")
    for file in sorted(files, key=lambda file: (len(file.path.name), file.path.name)):
        with staging.report.collecting():
            document = file.document
            if not starts_with_keys(document, KEYS):
                raise file.unreadable or refuse(file.name, f"must be a list of tossups with {', '.join(sorted(KEYS))}")
            assert isinstance(document, list)
            match = NAME.search(file.name)
            yield Packet(file.name, match["packet"] if match else Path(file.name).stem, document)


def _read_packet(packet: Packet, dataset: str, staging: Staging) -> None:
    questions: list[PlayedQuestion] = []
    clues: list[dict[str, Any]] = []
    buzzes: list[Buzz] = []
    last_words: dict[str, int] = {}
    problems: list[Problem] = []
    for number, tossup in enumerate(packet.tossups, start=1):
        place = f"tossup {number}"
        index, text = (as_dict(tossup).get(key) for key in ("tossup_index", "question"))
        if not isinstance(index, str | int) or not isinstance(text, str) or not text.split():
            problems.append(Problem(packet.name, None, None, None, "needs a tossup_index and a question", row=place))
            continue
        question_id = f"{packet.packet}/{(clean(index) or '').strip()}"
        # The words as the file counts them: separated by white space, including pronunciation guides.
        parts = sentences(" ".join(plain_text(text).split()))
        category = str(tossup.get("category") or "").strip() or None
        answer = tossup.get("answer")
        questions.append(PlayedQuestion(question_id, None, str(answer) if answer else None, _group(category), category, place))
        end = 0
        for clue, part in enumerate(parts):
            end += len(part.split())
            clues.append({"question_id": question_id, "clue": clue, "text": part, "word_end": end, "place": place})
        if question_id not in last_words:  # a second question of this number is reported by the checks
            last_words[question_id] = end - 1
            buzzes += _buzzes(packet, question_id, tossup.get("position"), place, problems)
    staging.report.problems += problems
    add_questions(staging, packet.name, dataset, questions)
    add_table(staging, "clues", packet.name, dataset, clues, CLUES)
    left_out: LeftOut = Counter()
    settled = one_buzz_per_team(buzzes, last_words, staging.report.repaired, left_out, one_answer=False)
    add_people(staging, packet.name, dataset, _exposures(packet, last_words, settled), settled, left_out)


def _buzzes(packet: Packet, question_id: str, position: object, place: str, problems: list[Problem]) -> Iterator[Buzz]:
    """Yield the buzzes on one tossup. ``position`` maps words to buzzes, or is a list of such maps."""
    for entry in position if isinstance(position, list) else [position]:
        for word, values in entry.items() if isinstance(entry, dict) else [("", entry)]:
            for value in values if isinstance(values, list) else [values]:
                match = BUZZ.match(value.strip()) if isinstance(value, str) else None
                if match and str(word).strip().isdecimal() and len(str(word)) < 10:
                    yield Buzz(question_id, _match(packet), match["team"].upper(), int(word), match["sign"] == "+", place)
                elif value is not None:
                    shown = (clean(f"{word}: {value}") or "")[:MAX_SHOWN_LENGTH]
                    reason = 'must be a word and a buzz, such as {"54": "[H6, -]"}'
                    problems.append(Problem(packet.name, None, "position", shown, reason, row=place))


def _group(category: str | None) -> str | None:
    if category is None:
        return None
    key = " ".join(category.lower().split())
    return GROUPS.get(key) or next((group for hint, group in HINTS.items() if hint in key), category)


def _exposures(packet: Packet, questions: Iterable[str], buzzes: Iterable[Buzz]) -> list[dict[str, Any]]:
    """Return a row for each question and team of a packet. A team that never buzzed in the packet did not play it."""
    teams = sorted({buzz.team for buzz in buzzes})
    return [
        {
            "question_id": question, "match_id": _match(packet), "team": team,
            "team_kind": "model" if team.startswith(MODEL) else "human", "place": f"question {question}",
        }
        for question in questions
        for team in teams
    ]  # fmt: skip


def _match(packet: Packet) -> str:
    return f"packet {packet.packet}"
