"""Games in QBJ, the schema of quizbowl.technology as MODAQ exports it, with their packets in MODAQ's JSON.

A match holds ``match_teams`` and ``match_questions[].{question_number, tossup_question.question_number, buzzes[]}``; a buzz has
``team.name``, ``buzz_position.word_index`` and ``result.value``. A serialised tournament has ``objects[]``, which refer to each
other by ``$ref``. A packet is ``{"tossups": [{"question", "answer"}]}``; a match names its packet in ``packets``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from clueline.data.importing.file_folder_or_zip import Incoming, beginning, files_below
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, Staging
from clueline.data.importing.table_contract import MAX_SHOWN_LENGTH
from clueline.data.quizbowl.question_words import count_words, plain_text
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import as_dicts, as_list, clean, dataset_id, starts_with_keys, whole
from clueline.data.readers.shared.quizbowl_games import (
    NO_POSITION,
    Buzz,
    Hearing,
    LeftOut,
    PlayedQuestion,
    add_people,
    add_questions,
    exposure_rows,
    one_buzz_per_team,
    stable_pseudonym,
)

FORMAT = Format(
    key="qbj",
    reads="QBJ: games as MODAQ exports them, and packets in MODAQ's JSON; one file, or a folder or zip of many",
    recognised="`match_teams`, `objects` with matches, or `tossups` with `question` and `answer`",
    becomes="The questions of the packets, and the buzzes of teams under pseudonyms",
    rules="If a tossup was replaced, the replacement is the one that was heard. A correct buzz ends the question for both teams. "
    "A second buzz of a team is left out: the correct one counts, otherwise the first. A buzz past the end is moved to the end. "
    "The id of a question is its packet and number, as in `Packet 3/12`; games without packets are added to a dataset with such "
    "ids.",
)
REPLACED = "tossups that were thrown out; their replacements count as heard"
ENDINGS = (".qbj", ".json")
PACKET = {"question", "answer"}  # keys of the tossups of a packet
SAMPLE = 200  # files of a folder that are searched for matches


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        starts = map(beginning, islice(files_below(incoming.folder, *ENDINGS), SAMPLE))
        keys = (b'"match_teams"', b'"match_questions"', b'"tossups"')
        return not (incoming.folder / "dataset.json").exists() and any(key in start for start in starts for key in keys)
    if not any(key in incoming.start for key in (b'"match_', b'"objects"', b'"tossups"')):
        return False
    document = incoming.document
    return isinstance(document, dict) and (bool(_matches(document)) or starts_with_keys(document.get("tossups"), PACKET))


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    packets: dict[str, tuple[Incoming, dict[str, Any]]] = {}
    matches: list[tuple[Incoming, int, Mapping[str, Any], dict[str, Any]]] = []
    for file in incoming.files(*ENDINGS):
        with staging.report.collecting():
            document = file.document
            if document is None and (file.unreadable or file.name.lower().endswith(".qbj")):
                raise file.unreadable or refuse(file.name, "this is not a JSON document in UTF-8")
            if isinstance(document, dict) and starts_with_keys(document.get("tossups"), PACKET):
                packets[Path(file.name).stem] = (file, document)
            elif isinstance(document, dict) and _matches(document):
                objects = {str(o["id"]): o for o in as_dicts(document.get("objects")) if "id" in o}
                matches += [(file, number, match, objects) for number, match in enumerate(_matches(document), start=1)]
            elif file is incoming:
                raise refuse(incoming.name, "neither a game (match_teams, match_questions) nor a packet (tossups)")
            else:
                staging.report.warnings.append(f"{file.name}: neither a game nor a packet, ignored")
    dataset = options.dataset or (dataset_id(Path(incoming.name).stem) if incoming.folder and packets else None)
    if not dataset:
        raise refuse(incoming.name, "which dataset do these games and packets belong to?", hint="dataset")
    if packets:
        staging.add_dataset(
            incoming.name, dataset, kind="incremental", title=options.title or Path(incoming.name).stem, source="Games in QBJ"
        )
        for name, (file, document) in packets.items():
            _read_packet(file.name, name, document, dataset, staging)
    elif not staging.dataset(dataset):
        reason = f"there is no dataset {dataset!r} with the questions of these games; import their packets with them"
        raise refuse(incoming.name, reason, hint="dataset")
    if matches:
        _Games(incoming.name, dataset, staging, options.names).read(matches)


def _matches(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the matches of a document: the document itself, or those among its objects."""
    objects = document.get("objects")
    nested: list[Mapping[str, Any]] = []
    for candidate in as_dicts(objects) if isinstance(objects, list) else [document]:
        phases = [candidate, *as_dicts(candidate.get("phases"))]
        parts = [part for phase in phases for part in (phase, *as_dicts(phase.get("rounds")))][1:]  # without the tournament
        nested += [candidate, *(match for part in parts for match in as_dicts(part.get("matches")))]
    return [match for match in nested if isinstance(match.get("match_questions"), list)]


def _read_packet(file: str, name: str, document: Mapping[str, Any], dataset: str, staging: Staging) -> None:
    questions = []
    for position, tossup in enumerate(as_list(document.get("tossups")), start=1):
        place = f"tossup {position}"
        if not isinstance(tossup, dict) or not isinstance(tossup.get("question"), str):
            staging.report.problems.append(Problem(file, None, "question", None, "a tossup needs a question", row=place))
            continue
        number = whole(tossup.get("number")) or position
        category, subcategory = _category(tossup)
        answer = str(tossup.get("answer") or "") or None
        text = plain_text(tossup["question"]) or None
        questions.append(PlayedQuestion(f"{name}/{number}", text, answer, category, subcategory, place))
    if questions:
        add_questions(staging, file, dataset, questions)


def _category(tossup: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Return category and subcategory: as stated, or from the end of the metadata, as in ``<Author, History - European>``."""
    if tossup.get("category"):
        return str(tossup["category"]), str(tossup.get("subcategory") or "") or None
    metadata = str(tossup.get("metadata") or "").strip(" <>").rpartition(",")[2]
    category, _, subcategory = metadata.partition(" - ")
    return category.strip() or None, subcategory.strip() or None


def _plain(name: object) -> str:
    """Return the name of a packet without case, spaces and punctuation, in which spellings differ."""
    return re.sub(r"[\W_]+", "", str(name or "").casefold())


class _Games:
    def __init__(self, name: str, dataset: str, staging: Staging, names: bool) -> None:
        self.name, self.dataset, self.staging, self.names = name, dataset, staging, names
        run = staging.connection.execute
        d = {"d": dataset}
        self.words: dict[str, int] = dict(
            run("select question_id, max(word_end) from store.clues where dataset = $d group by 1", d).fetchall()
        )
        texts = run("select question_id, text from questions_read where dataset = $d", d).fetchall()
        self.words |= {question: max(count_words(text or ""), 1) for question, text in texts}
        self.numbers: dict[str, dict[int, str]] = {}  # packet -> number -> question
        for question in self.words:
            packet, separator, number = question.rpartition("/")
            if separator and number.isdecimal():
                self.numbers.setdefault(packet, {})[int(number)] = question
        self.hearings: list[Hearing] = []
        self.buzzes: list[Buzz] = []
        self.left_out: LeftOut = Counter()

    def read(self, matches: list[tuple[Incoming, int, Mapping[str, Any], dict[str, Any]]]) -> None:
        for file, number, match, objects in matches:
            with self.staging.report.collecting():
                self._read_match(file.name, f"match {number}, " if len(matches) > 1 and objects else "", match, objects)
        settled = one_buzz_per_team(self.buzzes, self.words, self.staging.report.repaired, self.left_out)
        heard = exposure_rows(self.hearings, settled, self.words)
        add_people(self.staging, self.name, self.dataset, heard, settled, self.left_out)

    def _read_match(self, file: str, prefix: str, match: Mapping[str, Any], objects: Mapping[str, Any]) -> None:
        def resolved(value: object) -> Mapping[str, Any]:
            target = objects.get(str(value["$ref"])) if isinstance(value, dict) and "$ref" in value else value
            return target if isinstance(target, dict) else {}

        sides = [resolved(resolved(side).get("team")).get("name") for side in as_list(match.get("match_teams"))]
        teams = [(clean(side) or "").strip() for side in sides if side]
        if len(teams) != 2 or len(set(teams)) != 2:
            raise refuse(file, f"{prefix}a game needs two teams with different names in match_teams")
        packet = self._packet(file, match)
        label = {team: team if self.names else stable_pseudonym(team) for team in teams}
        known_as = " vs ".join(sorted(teams))
        # A match gets the same id in every import.
        title = f"{packet} {match.get('_round') or ''} {known_as}"
        match_id = known_as if self.names else f"Match {stable_pseudonym(title).partition(' ')[2]}"
        match_id = f"{packet}: {match_id}"
        for position, question in enumerate(map(resolved, as_list(match.get("match_questions"))), start=1):
            place = f"{prefix}question {whole(question.get('question_number')) or position}"
            replacement = resolved(question.get("replacement_tossup_question"))
            if replacement:
                self.staging.report.repaired[REPLACED] += 1
            tossup = replacement or resolved(question.get("tossup_question")) or question
            number = whole(tossup.get("question_number"))
            question_id = self.numbers[packet].get(-1 if number is None else number)
            if question_id is None:
                reason = f"packet {packet!r} has no such tossup; it has {len(self.numbers[packet])}"
                self.staging.report.problems.append(
                    Problem(file, None, "question_number", str(number)[:MAX_SHOWN_LENGTH], reason, row=place)
                )
                continue
            self.hearings.append(Hearing(question_id, match_id, tuple(label[team] for team in teams), place))
            for buzz in map(resolved, as_list(question.get("buzzes"))):
                team = (clean(resolved(buzz.get("team")).get("name")) or "").strip()
                word = whole(resolved(buzz.get("buzz_position")).get("word_index"))
                value = whole(resolved(buzz.get("result")).get("value"))
                if team not in label:
                    reason = "a buzz of a team that is not in match_teams"
                    self.staging.report.problems.append(Problem(file, None, "team", team, reason, row=place))
                elif word is None or word < 0 or value is None:
                    self.left_out[question_id, match_id, NO_POSITION] += 1
                else:
                    self.buzzes.append(Buzz(question_id, match_id, label[team], word, value > 0, place))

    def _packet(self, file: str, match: Mapping[str, Any]) -> str:
        """Return the packet that was read: by its name, by the number of the round, or the only one. Raises ``Refused``."""
        packets = match.get("packets")
        stated = packets[0] if isinstance(packets, list) and packets else packets
        wanted = _plain(stated.get("name") if isinstance(stated, dict) else stated)
        by_name = [packet for packet in self.numbers if wanted and _plain(packet) == wanted]
        round_number = whole(match.get("_round"))
        by_round = [packet for packet in self.numbers if str(round_number) in re.findall(r"[1-9]\d*", packet)]
        for candidates in (by_name, [] if wanted else by_round, [] if wanted else [*self.numbers]):
            if len(candidates) == 1:
                return candidates[0]
        names = ", ".join(sorted(self.numbers)[:20]) or "none"
        value = clean(stated) if wanted else None
        raise refuse(file, f"which packet was read? The dataset has: {names}", column="packets", value=value)
