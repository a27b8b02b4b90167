"""Files of the QANTA challenge: packets of tossups, what systems answered (run files), and how people played.

- A packet is a JSON list of ``{qid, question, answer, answerline, tokens: [{content, position, type}]}``. Images and pauses are
  tokens as well, and positions count them.
- A run file is JSON Lines of ``{qid, run_outputs: [{guess, confidence, buzz, correct, token_position}]}``. ``token_position`` is
  the number of tokens revealed. A run consists of the files with one name, ``tossup__DATE__TIME__OWNER__SYSTEM.jsonl``, in the
  folders of packets.
- Plays are a CSV of ``packet, nano, reveal_fraction, correct, censored``.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import Any

import polars as pl

from clueline.data.duckdb_and_polars import execute_with
from clueline.data.importing.file_folder_or_zip import Incoming, beginning, files_below, without_copies
from clueline.data.importing.report import Problem, refuse
from clueline.data.importing.staging import ImportOptions, RunKey, Staging
from clueline.data.importing.table_contract import CLUES, GRADE_PREFIX, MAX_SHOWN_LENGTH, Column, grade_columns, responses_columns
from clueline.data.plurals import counted
from clueline.data.quizbowl.question_words import TAG, sentences
from clueline.data.readers import Format
from clueline.data.readers.shared.evaluation_log import add_table, as_dict, as_dicts, clean, json_lines, whole
from clueline.data.readers.shared.quizbowl_games import PlayedQuestion, add_questions
from clueline.data.store.gradings import grading_name

FORMAT = Format(
    key="qanta",
    reads="QANTA challenge: packets of tossups (JSON), run files (JSON Lines), plays of people (CSV), a folder or zip of these",
    recognised="`run_outputs`; `nano` and `reveal_fraction`; `qid` with `tokens` or `answerline` in a JSON list",
    becomes="The dataset `qanta`, a run for each system, and plays, each by a separate team",
    rules="The words of a question are its tokens, including images and pauses. Its clues end where the runs were asked: all "
    "runs of a question must be asked at the same positions. Packets of later rounds are added to the stored ones, and "
    "runs answer those that they cover. A play ended at the token whose position, counted from 0, is `reveal_fraction` times the "
    "number of tokens. If the text was edited after play, positions are scaled, and a warning names the question. A censored "
    "play with the fraction 1.0 is a placeholder: nobody stated when it ended, so it counts as heard to the end, without a buzz, "
    "and pages say how many plays do. If there are two gradings of the same outputs, the first by path is that of the "
    "run. The other one is stored under the name of its folder, even if it is imported later (`other` if a file comes "
    "without a folder). Outputs for other packets that are imported later become a separate run, with a warning: for one "
    "run, import the files of all packets together. Bonuses are ignored.",
)
DATASET = "qanta"
ELICITATION = "system"  # the system's own confidence; no file says how it was elicited
OUTPUT = ("guess", "confidence", "correct", "buzz")  # keys of an output that are read, as well as its position
PLAYS = (
    Column("nano", required=True), Column("reveal_fraction", "number", required=True, low=0, high=1),
    Column("correct", "truth", required=True), Column("censored", "truth"),
)  # fmt: skip
ENDINGS = (".json", ".jsonl", ".csv", ".jsonl.gz", ".jsonl.zst")
SAMPLE = 300  # files of a folder that are checked to recognise it
OTHER_SIDE = "the other side"
UNKNOWN_QUESTION = "not a question of this dataset"
OWN = "Tossup/run.jsonl"  # ending of a run file with the challenge's own grades; other graders have folders with longer names
RUN_NAME = re.compile(r"tossup__(?:.+__)?(?P<owner>[^_](?:.*?[^_])?)__(?P<system>.+?)(?:\.buzz)?\.jsonl(?:\.gz|\.zst)?$")
EDITED = 0.02  # tokens: a play that ended further than this from the end of every token was of another version of the text


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        if (incoming.folder / "dataset.json").exists():
            return False
        return any(_kind(path.name, beginning(path)) for path in islice(files_below(incoming.folder, *ENDINGS), SAMPLE))
    return _kind(incoming.name, incoming.start) is not None


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    kinds: dict[str | None, list[Incoming]] = defaultdict(list)
    for file in incoming.files(*ENDINGS):
        kinds[_kind(file.name, file.start)].append(file)
    if not {*kinds} - {None}:
        reason = "neither a packet (qid, tokens) nor a run (qid, run_outputs) nor plays (nano, reveal_fraction)"
        raise incoming.unreadable or refuse(incoming.name, reason)
    dataset = options.dataset or DATASET
    for kind in ("packet", "plays"):
        kinds[kind], copies = without_copies(kinds[kind])
        staging.report.lines += copies
    if packets := kinds["packet"]:
        title = options.title or "QANTA challenge"
        staging.add_dataset(incoming.name, dataset, kind="incremental", title=title, source="QANTA challenge, as released")
        if not options.replace:
            _add_to_stored(staging, dataset, _question_ids(packets))
        for file in packets:
            with staging.report.collecting():
                _read_packet(file, dataset, staging)
        _cut_as_stored(dataset, staging)
    elif not staging.dataset(dataset):
        reason = f"there is no dataset {dataset!r} with the questions; import the packets first, or with this"
        raise refuse(incoming.name, reason, hint="dataset")
    if runs := kinds["run"]:
        _read_runs(runs, dataset, staging, options)
    for file in kinds["plays"]:
        with staging.report.collecting():
            _read_plays(file, dataset, staging)
    if bonuses := len(kinds["bonus"]):
        ignored = counted(bonuses, "file of bonuses was", "files of bonuses were")
        staging.report.warnings.append(f"{incoming.name}: {ignored} ignored")


def _kind(name: str, start: bytes) -> str | None:
    """Return the kind of a file: ``packet``, ``run``, ``plays``, ``bonus`` or None."""
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    header = text.partition(b"\n")[0].decode("utf-8", "replace").strip().replace('"', "").split(",")
    if {"nano", "reveal_fraction", "correct"} <= set(header):
        return "plays"
    if text[:1] not in (b"{", b"[") and not name.lower().endswith((".gz", ".zst")):
        return None
    if b'"part_outputs"' in text or (text[:1] == b"[" and b'"leadin"' in text and b'"qid"' in text):
        return "bonus"
    if b'"run_outputs"' in text and b'"qid"' in text:
        return "run"
    if text[:1] == b"[" and b'"qid"' in text and (b'"tokens"' in text or b'"answerline"' in text):
        return "packet"
    return "run" if RUN_NAME.search(name) and name.lower().endswith((".gz", ".zst")) else None


def _question_ids(packets: list[Incoming]) -> set[str]:
    qids = [tossup.get("qid") for file in packets for tossup in as_dicts(file.document)]
    return {question_id(qid) for qid in qids if isinstance(qid, str)}


def _read_packet(file: Incoming, dataset: str, staging: Staging) -> None:
    document = file.document
    if not isinstance(document, list):
        raise file.unreadable or refuse(file.name, "a packet is a JSON list of tossups")
    questions: list[PlayedQuestion] = []
    clues: list[dict[str, Any]] = []
    for number, tossup in enumerate(document, start=1):
        place = f"tossup {number}"
        tokens = _tokens(tossup) if isinstance(tossup, dict) and isinstance(tossup.get("qid"), str) else []
        if not tokens:
            reason = "a tossup needs a qid and a question"
            staging.report.problems.append(Problem(file.name, None, None, None, reason, row=place))
            continue
        category = tossup.get("category") or as_dict(tossup.get("metadata")).get("category")
        answer = tossup.get("answerline") or tossup.get("answer")
        identity = question_id(tossup["qid"])
        questions.append(
            PlayedQuestion(identity, None, str(answer) if answer else None, str(category) if category else None, None, place)
        )
        ends = [*accumulate(len(part.split(" ")) for part in sentences(" ".join(tokens)))]
        clues += _clue_rows(identity, tokens, ends if ends[-1:] == [len(tokens)] else [len(tokens)], place)
    add_questions(staging, file.name, dataset, questions)
    add_table(staging, "clues", file.name, dataset, clues, CLUES)


def _tokens(tossup: dict[str, Any]) -> list[str]:
    """Return the tokens of a tossup, each without white space. A token without text is given as its type in brackets."""
    tokens = tossup.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, dict) for token in tokens):
        text = clean(tossup.get("question")) or ""
        return TAG.sub(lambda tag: " [media] " if "multimodal" in tag.group() else "", text).split()
    if all(isinstance(token.get("position"), int) for token in tokens):
        tokens = sorted(tokens, key=lambda token: token["position"])
    kinds = ("".join(filter(str.isalnum, str(token.get("type") or "media")))[:20] for token in tokens)
    contents = ((clean(token.get("content")) or "").split() or [f"[{kind}]"] for token, kind in zip(tokens, kinds, strict=True))
    return ["\u00a0".join(parts) for parts in contents]


def _clue_rows(question: str, tokens: list[str], ends: Sequence[int], place: str) -> list[dict[str, Any]]:
    return [
        {"question_id": question, "clue": clue, "text": " ".join(tokens[start:end]), "word_end": end, "place": place}
        for clue, (start, end) in enumerate(pairwise((0, *ends)))
    ]


def _lengths(dataset: str, staging: Staging) -> dict[str, int]:
    sql = "select question_id, max(word_end) from known_clues where dataset = $d group by 1"
    return dict(staging.connection.execute(sql, {"d": dataset}).fetchall())


# -- stored questions that are read again, so that files add to them instead of replacing them ------------------------------


def _add_to_stored(staging: Staging, dataset: str, brought: Collection[str]) -> None:
    """Read again the questions of a stored dataset that a file lacks, so that the questions of the file are added to them."""
    run, d = staging.connection.execute, {"d": dataset}
    stored = {question for (question,) in run("select question_id from store.questions where dataset = $d", d).fetchall()}
    if stored and {*brought} - stored:
        staging.recut.add(dataset)
    files = [index for index, file in enumerate(staging.files) if file.name == _as_stored(dataset)]
    again = d | {"q": [*brought], "files": files}  # questions that another packet of this import lacked, and this one has
    names = "select question_id from questions_read where dataset = $d and list_contains($files::integer[], file)"
    for table in ("clues_read", "questions_read"):
        where = f"dataset = $d and list_contains($q::varchar[], question_id) and question_id in ({names})"
        run(f"delete from {table} where {where}", again)
    known = run("select question_id from questions_read where dataset = $d", d).fetchall()
    if stored:
        _read_stored(staging, dataset, {*brought, *(question for (question,) in known)})


def _as_stored(dataset: str) -> str:
    return f"dataset {dataset}, as stored"


def _read_stored(staging: Staging, dataset: str, others: Collection[str]) -> None:
    """Read the stored questions and clues of a dataset again, except those whose ids are in ``others``."""
    run = staging.connection.execute
    left = {"d": dataset, "others": [*others]}
    where = "where dataset = $d and not list_contains($others::varchar[], question_id)"
    stored = run(f"select question_id, answer, category, subcategory from store.questions {where} order by position", left)
    questions = [PlayedQuestion(row[0], None, row[1], row[2], row[3], f"question {row[0]}") for row in stored.fetchall()]
    if not questions:
        return
    add_questions(staging, _as_stored(dataset), dataset, questions)
    clues = run(f"select question_id, clue, text, word_end from store.clues {where} order by question_id, clue", left)
    columns = ("question_id", "clue", "text", "word_end")
    add_table(staging, "clues", dataset, dataset, [dict(zip(columns, row, strict=True)) for row in clues.fetchall()], CLUES)


# -- runs ------------------------------------------------------------------------------------------------------------------


@dataclass
class Run:
    """The outputs of one system, whose name begins with its owner's. Gradings are from other files with the same outputs."""

    model: str
    outputs: dict[str, list[tuple[str, dict[str, Any]]]] = field(default_factory=dict)  # question -> with places for reports
    files: dict[str, str] = field(default_factory=dict)  # question -> the file with its outputs
    gradings: dict[str, dict[str, object]] = field(default_factory=dict)  # name -> place of the output -> stated correctness
    again: dict[str, list[str]] = field(default_factory=dict)  # name of a grading -> the files that it is from


def _read_runs(files: list[Incoming], dataset: str, staging: Staging, options: ImportOptions) -> None:
    runs: dict[str, Run] = {}
    names = {Path(file.name).name for file in files}
    for file in files:
        with staging.report.collecting():
            name = Path(file.name).name
            match = RUN_NAME.search(name)
            model = options.model if options.model and len(names) == 1 else match and f"{match['owner']}/{match['system']}"
            if not model:
                raise refuse(file.name, "which system is this? It is not named tossup__DATE__TIME__OWNER__SYSTEM", hint="model")
            read_run(file, runs.setdefault(name, Run(model)), staging)
    lengths = _lengths(dataset, staging)
    positions = _positions(runs.values(), dataset, lengths, staging)
    shown = files[0].name if len(files) == 1 else ", ".join(sorted(names))[:MAX_SHOWN_LENGTH]
    for run in runs.values():
        _add_run(run, shown, positions, dataset, staging, options)


def _positions(runs: Iterable[Run], dataset: str, lengths: dict[str, int], staging: Staging) -> dict[str, dict[int, int]]:
    """Cut questions where the runs were asked, or check that they are. Returns question -> position in its run files -> clue."""
    run, d = staging.connection.execute, {"d": dataset}
    run("create table if not exists asked_positions (dataset varchar, question_id varchar, ends integer[])")
    of_this_import = run("select question_id, ends from asked_positions where dataset = $d", d).fetchall()
    answered = set(staging.answered(dataset))
    known = {question: ends for question, ends in _stored_ends(dataset, staging) if question in answered} | dict(of_this_import)
    shortened: list[str] = []
    result: dict[str, dict[int, int]] = {}
    new: dict[str, list[int]] = {}
    for system in runs:
        for question, rows in system.outputs.items():
            if question not in lengths:
                continue
            positions = sorted({whole(output["token_position"]) or 0 for _, output in rows})
            ends = scaled(positions, lengths[question])
            if ends[-1] > lengths[question]:
                reason = f"asked at {len(positions)} positions, but the question has only {lengths[question]} tokens"
                staging.report.problems.append(Problem(system.model, None, "token_position", question, reason))
                continue
            if ends != positions and question not in shortened:
                shortened.append(question)
            known_ends = known.get(question) or new.get(question)
            if known_ends is None:
                new[question] = known_ends = ends if ends[-1:] == [lengths[question]] else [*ends, lengths[question]]
            if others := sorted(set(ends) - set(known_ends)):
                places = ", ".join(map(str, others[:5]))
                reason = (
                    f"{system.model} was asked after {places} tokens, where no clue of the question ends: all runs of a question "
                    "are asked at the same positions"
                )
                file, _, row = rows[0][0].partition(", ")
                staging.report.problems.append(Problem(file, None, "token_position", question, reason, row=row))
                continue
            index = {end: clue for clue, end in enumerate(known_ends)}
            result.setdefault(question, {}).update((before, index[end]) for before, end in zip(positions, ends, strict=True))
    if shortened:
        names = ", ".join(shortened[:5])
        staging.report.warnings.append(
            f"{counted(len(shortened), 'question has', 'questions have')} fewer tokens than were read to the systems "
            f"(edited since); positions are scaled: {names}"
        )
    if new:
        _cut(new, dataset, staging)
        staging.recut.add(dataset)
        cuts = pl.DataFrame([(dataset, q, ends) for q, ends in new.items()], schema=["d", "q", "ends"], orient="row")
        execute_with(staging.connection, cuts, "insert into asked_positions from given")
    return result


def _stored_ends(dataset: str, staging: Staging) -> list[tuple[str, list[int]]]:
    sql = "select question_id, list(word_end order by clue) from store.clues where dataset = $d group by 1"
    return staging.connection.execute(sql, {"d": dataset}).fetchall()


def _cut_as_stored(dataset: str, staging: Staging) -> None:
    """Give questions that are read again their stored clues, so that they stay the same."""
    lengths = _lengths(dataset, staging)
    ends = {question: ends for question, ends in _stored_ends(dataset, staging) if lengths.get(question) == ends[-1]}
    if ends:
        _cut(ends, dataset, staging)


def _cut(ends: dict[str, list[int]], dataset: str, staging: Staging) -> None:
    """Cut questions into clues that end after the given numbers of tokens, ascending.

    If no question of the dataset is incoming, the stored questions are read again first.
    """
    run, d = staging.connection.execute, {"d": dataset}
    if not staging.is_incoming(dataset):
        names = ("title", "kind", "licence", "source", "note", "simulated")
        facts = run(f"select {', '.join(names)} from store.datasets where dataset = $d", d).fetchall()[0]
        staging.add_dataset(dataset, dataset, **dict(zip(names, facts, strict=True)))
        _read_stored(staging, dataset, ())
    sql = "select question_id, string_agg(text, ' ' order by clue) from clues_read where dataset = $d group by 1"
    rows = [
        row
        for question, text in run(sql, d).fetchall()
        if question in ends
        for row in _clue_rows(question, text.split(" "), ends[question], f"question {question}")
    ]
    run("delete from clues_read where dataset = $d and list_contains($q::varchar[], question_id)", d | {"q": [*ends]})
    add_table(staging, "clues", dataset, dataset, rows, CLUES)


def _add_run(
    run: Run, name: str, positions: dict[str, dict[int, int]], dataset: str, staging: Staging, options: ImportOptions
) -> None:
    key = RunKey(dataset, run.model, options.elicitation or ELICITATION)
    staging.grading_names[key] = name_by_folders(OWN, min(run.files.values(), default=""))
    rows: list[dict[str, Any]] = []
    unknown = 0
    for question, outputs in run.outputs.items():
        clues = positions.get(question)
        for place, output in outputs:
            if clues is None:
                unknown += 1
                continue
            cells = {column: _cell(output.get(column)) for column in OUTPUT}
            cells |= {GRADE_PREFIX + name: _cell(correct.get(place)) for name, correct in run.gradings.items()}
            clue = clues[whole(output["token_position"]) or 0]
            rows.append({"question_id": question, "clue": clue, **cells, "place": place})
    for name, files in run.again.items():
        staging.report.warnings.append(
            f"{run.model}: {counted(len(files), 'file holds', 'files hold')} the same outputs with another "
            f"grading, which is kept as {name!r}: {files[0]}"
        )
    if unknown:
        staging.skip(key, {UNKNOWN_QUESTION: unknown})
    if not rows:
        if run.outputs and not staging.report.problems:
            reason = f"none of the outputs of {run.model} is for a question of dataset {dataset!r}"
            staging.report.problems.append(Problem(name, None, "qid", None, reason))
        return
    further = [GRADE_PREFIX + name for name in run.gradings]
    schema = {column: pl.String for column in ("question_id", *OUTPUT, *further, "place")} | {"clue": pl.Int64}
    file = staging.add_rows(name, pl.DataFrame(rows, schema=schema))
    staging.load(file, (*responses_columns(percent=options.percent), *grade_columns(further)))
    sql = """select $dataset as dataset, $model as model, $elicitation as elicitation, question_id, clue, guess, confidence,
            correct, buzz, ordinal from loaded"""
    staging.add("responses", file, sql, key._asdict())
    staging.add_grades(file, further)


def _cell(value: object) -> str | None:
    return None if value is None else str(int(value)) if isinstance(value, bool) else clean(value)


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
    whole_id = (clean(qid) or "").strip()
    last = whole_id.rpartition("-")[2]
    return whole_id if last.isdecimal() and len(last) < 5 else last


def read_run(file: Incoming, run: Run, staging: Staging) -> None:
    """Read one file of a run into ``run``. A file with the same outputs as another file of the run is a further grading."""
    problems = staging.report.problems
    outputs: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for number, row in json_lines(file.file, staging):
        qid, given = row.get("qid"), row.get("run_outputs")
        if not isinstance(qid, str) or not isinstance(given, list):
            shown = json.dumps(row, ensure_ascii=False)[:MAX_SHOWN_LENGTH]
            problems.append(Problem(file.name, number, None, shown, "a line needs a qid and a list of run_outputs"))
            continue
        question = question_id(qid)
        if question in outputs:
            reason = "this question is in the file already"
            problems.append(Problem(file.name, number, "qid", question[:MAX_SHOWN_LENGTH], reason))
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
    same = all(sorted(map(_answer, outputs[q])) == sorted(map(_answer, run.outputs[q])) for q in repeated)
    if repeated and same:
        name = name_by_folders(run.files[min(repeated)], file.name)
        run.again.setdefault(name, []).append(file.name)
        for question in repeated:
            pairs = zip(sorted(run.outputs[question], key=_answer), sorted(outputs[question], key=_answer), strict=True)
            run.gradings.setdefault(name, {}).update((place, output.get("correct")) for (place, _), (_, output) in pairs)
    elif repeated:
        those = f"{len(repeated):,} of these questions, such as {min(repeated)!r}"
        reason = f"another file of this run has different outputs for {those}"
        problems.append(Problem(file.name, None, "qid", None, reason))
    run.outputs |= {question: rows for question, rows in outputs.items() if question not in repeated}
    run.files |= {question: file.name for question in outputs if question not in repeated}


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
    ends = [*accumulate(ends, lambda before, end: max(end, before + 1))][:-1]
    return [*accumulate((length, *reversed(ends)), lambda after, end: min(end, after - 1))][::-1]


# -- plays -----------------------------------------------------------------------------------------------------------------


def _read_plays(file: Incoming, dataset: str, staging: Staging) -> None:
    staging.load(file.file, PLAYS)
    lengths = _lengths(dataset, staging)
    plays = staging.connection.execute(
        """select ordinal, nano, reveal_fraction, correct, coalesce(censored, 0) from loaded
        where nano is not null order by ordinal"""
    ).fetchall()
    unknown = 0
    edited: dict[str, None] = {}
    rows: list[tuple[Any, ...]] = []
    numbers: dict[str, int] = defaultdict(int)
    for ordinal, nano, fraction, correct, censored in plays:
        question = question_id(nano)
        numbers[question] += 1
        team = f"Play {question}-{numbers[question]}"
        if question not in lengths or fraction is None or correct is None:
            unknown += question not in lengths
            continue
        exact = fraction * lengths[question]
        if abs(exact - round(exact)) > EDITED:
            edited[question] = None
        word = min(round(exact), lengths[question] - 1)  # the fraction times the number of tokens is a position, from 0
        rows.append((ordinal, question, team, word, correct, bool(censored), not (censored and fraction == 1)))
    if unknown:
        plays_of_others = f"{counted(unknown, 'play')} of questions that the dataset does not have"
        staging.report.warnings.append(f"{file.name}: {plays_of_others}, left out")
    if edited:
        examples = ", ".join([*edited][:5])
        staging.report.warnings.append(
            f"{file.name}: {counted(len(edited), 'question was', 'questions were')} edited after play: "
            f"plays that ended within a token of today's text are scaled to it: {examples}"
        )
    if not rows:
        if plays and unknown == len(plays):
            reason = f"no play is of a question of dataset {dataset!r}"
            staging.report.problems.append(Problem(file.name, None, "nano", None, reason))
        return
    names = ["ordinal", "question_id", "team", "word", "correct", "censored", "end_stated"]
    kinds = [pl.Int64, pl.String, pl.String, pl.Int64, pl.Float64, pl.Boolean, pl.Boolean]
    played = pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row")
    execute_with(staging.connection, played, "create or replace table played as from given")
    identity = "select $dataset as dataset, question_id, team as match_id, team, ordinal"
    sql = f"""{identity}, 'human' as team_kind, case when end_stated then word + 1 end as heard_words, end_stated,
            case when not end_stated then null when censored then '{OTHER_SIDE}' when correct = 1 then team end as ended_by
        from played"""
    staging.add("exposures", file.file, sql, {"dataset": dataset})
    staging.add("buzzes", file.file, f"{identity}, word, correct from played where not censored", {"dataset": dataset})
    staging.connection.execute("drop table played")
