"""Files of the QANTA challenge: packets of tossups, what systems answered (run files), and how people played.

- A packet is a JSON list of ``{qid, question, answer, answerline, tokens: [{content, position, type}]}``. Images and pauses are
  tokens as well, and positions count them.
- Run files are described in ``data.readers.shared.qanta_runs``.
- Plays are a CSV of ``packet, nano, reveal_fraction, correct, censored``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from data.duckdb_and_polars import ArrowStream
from data.importing.file_folder_or_zip import Incoming
from data.importing.report import Problem, refuse
from data.importing.sqlite_file import whole
from data.importing.staging import ImportOptions, RunKey, Staging
from data.importing.table_contract import CLUES, GRADE_PREFIX, MAX_SHOWN_LENGTH, Column, grade_columns, responses_columns
from data.plurals import counted
from data.quizbowl.question_words import TAG, sentences
from data.readers import Format
from data.readers.shared.evaluation_log import clean
from data.readers.shared.merge_stored_questions import add_to_stored, read_stored
from data.readers.shared.qanta_runs import OWN, RUN_NAME, Run, name_by_folders, question_id, read_run, scaled
from data.readers.shared.quizbowl_games import LeftOut, PlayedQuestion, add_left_out, add_questions, add_table

FORMAT = Format(
    key="qanta",
    reads="QANTA challenge: packets of tossups (JSON), run files (JSON Lines), plays of people (CSV), a folder or zip of these",
    recognised="`run_outputs`; `nano` and `reveal_fraction`; `qid` with `tokens` or `answerline` in a JSON list",
    becomes="The dataset `qanta`, a run for each system, and plays, each by a separate team",
    rules="The words of a question are its tokens, including images and pauses. Its clues end where the runs were asked: all "
    "runs of a question must be asked at the same positions. Packets of later rounds are added to the stored ones, and "
    "runs answer those that they cover. A play ended at the token whose position, counted from 0, is `reveal_fraction` times the "
    "number of tokens. If the text was edited after play, positions are scaled, and a warning names the question. A censored "
    "play with the fraction 1.0 is a placeholder: when it ended is unknown, so it is left out and counted beside the human "
    "curve. If there are two gradings of the same outputs, the first by path is that of the "
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
SAMPLE, START = 300, 65_536  # files of a folder that are checked to recognise it, and bytes of each
OTHER_SIDE = "the other side"
PLACEHOLDER = "plays that were broken off at an unknown word (censored, with the fraction 1.0)"
UNKNOWN_QUESTION = "not a question of this dataset"
EDITED = 0.02  # tokens: a play that ended further than this from the end of every token was of another version of the text


def recognises(incoming: Incoming) -> bool:
    if incoming.folder is not None:
        if (incoming.folder / "dataset.json").exists():
            return False
        return any(_kind(path.name, _start(path)) for path in _paths(incoming.folder)[:SAMPLE])
    return _kind(incoming.name, incoming.start) is not None


def read(incoming: Incoming, staging: Staging, options: ImportOptions) -> None:
    root = incoming.folder
    files = [incoming]
    if root is not None:
        files = [Incoming(path, staging, f"{incoming.name}/{path.relative_to(root)}") for path in _paths(root)]
    kinds = [(file, _kind(file.name, file.start)) for file in files]
    if not any(kind for _, kind in kinds):
        if incoming.unreadable:
            raise incoming.unreadable
        raise refuse(
            incoming.name, "neither a packet (qid, tokens) nor a run (qid, run_outputs) nor plays (nano, reveal_fraction)"
        )
    dataset = options.dataset or DATASET
    packets = [file for file, kind in kinds if kind == "packet"]
    if packets:
        title = options.title or "QANTA challenge"
        staging.add_dataset(incoming.name, dataset, kind="incremental", title=title, source="QANTA challenge, as released")
        if not options.replace:
            add_to_stored(staging, dataset, _question_ids(packets))
        for file in packets:
            with staging.report.collecting():
                _read_packet(file, dataset, staging)
        _cut_as_stored(dataset, staging)
    elif not staging.dataset(dataset):
        reason = f"there is no dataset {dataset!r} with the questions; import the packets first, or with this"
        raise refuse(incoming.name, reason, hint="dataset")
    runs = [file for file, kind in kinds if kind == "run"]
    if runs:
        _read_runs(runs, dataset, staging, options)
    for file, kind in kinds:
        if kind == "plays":
            with staging.report.collecting():
                _read_plays(file, dataset, staging)
    bonuses = sum(kind == "bonus" for _, kind in kinds)
    if bonuses:
        staging.report.warnings.append(
            f"{incoming.name}: {counted(bonuses, 'file of bonuses was', 'files of bonuses were')} ignored"
        )


def _paths(folder: Path) -> list[Path]:
    paths = (path for path in folder.rglob("*") if path.name.lower().endswith(ENDINGS) and "__MACOSX" not in path.parts)
    return sorted(path for path in paths if path.is_file() and not path.name.startswith("."))


def _start(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(START)


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
    tossups = [tossup for file in packets for tossup in (file.document if isinstance(file.document, list) else ())]
    qids = [tossup.get("qid") for tossup in tossups if isinstance(tossup, dict)]
    return {question_id(clean(qid) or "") for qid in qids if isinstance(qid, str)}


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
        metadata = tossup.get("metadata") if isinstance(tossup.get("metadata"), dict) else {}
        category = tossup.get("category") or metadata.get("category")
        answer = tossup.get("answerline") or tossup.get("answer")
        identity = question_id(clean(tossup["qid"]) or "")
        questions.append(
            PlayedQuestion(identity, None, str(answer) if answer else None, str(category) if category else None, None, place)
        )
        parts = sentences(" ".join(tokens))
        ends = [sum(len(part.split(" ")) for part in parts[: index + 1]) for index in range(len(parts))]
        clues += _clue_rows(identity, tokens, ends if ends and ends[-1] == len(tokens) else [len(tokens)], place)
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
    contents = ((clean(token.get("content")) or "").split() or [f"[{_kind_of(token)}]"] for token in tokens)
    return ["\u00a0".join(parts) for parts in contents]


def _kind_of(token: dict[str, Any]) -> str:
    return "".join(letter for letter in str(token.get("type")) if letter.isalnum())[:20] if token.get("type") else "media"


def _clue_rows(question: str, tokens: list[str], ends: Iterable[int], place: str) -> list[dict[str, Any]]:
    rows, start = [], 0
    for clue, end in enumerate(ends):
        text = " ".join(tokens[start:end])
        rows.append({"question_id": question, "clue": clue, "text": text, "word_end": end, "place": place})
        start = end
    return rows


def _lengths(dataset: str, staging: Staging) -> dict[str, int]:
    sql = """select question_id, max(word_end) from clues_read where dataset = $d group by 1 union all
        select question_id, max(word_end) from store.clues where dataset = $d
            and not exists (select 1 from clues_read where dataset = $d) group by 1"""
    return dict(staging.connection.execute(sql, {"d": dataset}).fetchall())


# -- runs ------------------------------------------------------------------------------------------------------------------


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
    for run in runs.values():
        _add_run(
            run,
            files[0].name if len(files) == 1 else ", ".join(sorted(names))[:MAX_SHOWN_LENGTH],
            positions,
            dataset,
            staging,
            options,
        )


def _positions(runs: Iterable[Run], dataset: str, lengths: dict[str, int], staging: Staging) -> dict[str, dict[int, int]]:
    """Cut questions where the runs were asked, or check that they are. Returns question -> position in its run files -> clue."""
    run = staging.connection.execute
    run("create table if not exists asked_positions (dataset varchar, question_id varchar, ends integer[])")
    d = {"d": dataset}
    known: dict[str, list[int]] = dict(
        run("select question_id, ends from asked_positions where dataset = $d", d).fetchall()
    )  # by runs of this import
    if answered := staging.answered(dataset):
        stored = run(
            """select question_id, list(word_end order by clue) from store.clues
            where dataset = $d and list_contains($answered::varchar[], question_id) group by 1""",
            d | {"answered": answered},
        )
        known = dict(stored.fetchall()) | known
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
            if not set(ends) <= set(known_ends):
                places = ", ".join(map(str, sorted(set(ends) - set(known_ends))[:5]))
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
        cuts = ArrowStream(pl.DataFrame([(dataset, q, ends) for q, ends in new.items()], schema=["d", "q", "ends"], orient="row"))
        run("insert into asked_positions select * from cuts")
        del cuts
    return result


def _cut_as_stored(dataset: str, staging: Staging) -> None:
    """Give questions that are read again their stored clues, so that they stay the same."""
    stored = staging.connection.execute(
        "select question_id, list(word_end order by clue) from store.clues where dataset = $d group by 1", {"d": dataset}
    ).fetchall()
    lengths = _lengths(dataset, staging)
    ends = {question: ends for question, ends in stored if lengths.get(question) == ends[-1]}
    if ends:
        _cut(ends, dataset, staging)


def _cut(ends: dict[str, list[int]], dataset: str, staging: Staging) -> None:
    """Cut questions into clues that end after the given numbers of tokens, ascending.

    If no question of the dataset is incoming, the stored questions are read again first.
    """
    run = staging.connection.execute
    d = {"d": dataset}
    if not run("select 1 from questions_read where dataset = $d limit 1", d).fetchone():
        names = ("title", "kind", "licence", "source", "note", "simulated")
        facts = run(f"select {', '.join(names)} from store.datasets where dataset = $d", d).fetchall()[0]
        staging.add_dataset(dataset, dataset, **dict(zip(names, facts, strict=True)))
        read_stored(staging, dataset, ())
    texts = run(
        "select question_id, string_agg(text, ' ' order by clue) from clues_read where dataset = $d group by 1", d
    ).fetchall()
    rows = [
        row
        for question, text in texts
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
    staging.add(
        "responses",
        file,
        """select $dataset as dataset, $model as model, $elicitation as elicitation, question_id, clue, guess, confidence,
            correct, buzz, ordinal from loaded""",
        key._asdict(),
    )
    staging.add_grades(file, further)


def _cell(value: object) -> str | None:
    return None if value is None else str(int(value)) if isinstance(value, bool) else clean(value)


# -- plays -----------------------------------------------------------------------------------------------------------------


def _read_plays(file: Incoming, dataset: str, staging: Staging) -> None:
    staging.load(file.file, PLAYS)
    lengths = _lengths(dataset, staging)
    plays = staging.connection.execute(
        """select ordinal, nano, reveal_fraction, correct, coalesce(censored, 0) from loaded
        where nano is not null order by ordinal"""
    ).fetchall()
    counts: Counter[str] = Counter()
    left_out: LeftOut = Counter()
    edited: dict[str, None] = {}
    rows: list[tuple[Any, ...]] = []
    numbers: dict[str, int] = defaultdict(int)
    for ordinal, nano, fraction, correct, censored in plays:
        question = question_id(nano)
        numbers[question] += 1
        team = f"Play {question}-{numbers[question]}"
        if question not in lengths or fraction is None or correct is None:
            counts["unknown"] += question not in lengths
            continue
        exact = fraction * lengths[question]
        if abs(exact - round(exact)) > EDITED:
            edited[question] = None
        if censored and fraction == 1:
            left_out[question, team, PLACEHOLDER] += 1
            continue
        word = min(round(exact), lengths[question] - 1)  # the fraction times the number of tokens is a position, from 0
        rows.append((ordinal, question, team, word, correct, bool(censored)))
    if counts["unknown"]:
        staging.report.warnings.append(
            f"{file.name}: {counted(counts['unknown'], 'play')} of questions that the dataset does not have, left out"
        )
    if edited:
        examples = ", ".join([*edited][:5])
        staging.report.warnings.append(
            f"{file.name}: {counted(len(edited), 'question was', 'questions were')} edited after play: "
            f"plays that ended within a token of today's text are scaled to it: {examples}"
        )
    add_left_out(staging, file.name, dataset, left_out)
    if not rows:
        if plays and counts["unknown"] == len(plays):
            reason = f"no play is of a question of dataset {dataset!r}"
            staging.report.problems.append(Problem(file.name, None, "nano", None, reason))
        return
    names = ["ordinal", "question_id", "team", "word", "correct", "censored"]
    kinds = [pl.Int64, pl.String, pl.String, pl.Int64, pl.Float64, pl.Boolean]
    played = ArrowStream(pl.DataFrame(rows, schema=dict(zip(names, kinds, strict=True)), orient="row"))
    staging.connection.execute("create or replace table played as select * from played")
    del played
    identity = "select $dataset as dataset, question_id, team as match_id, team, ordinal"
    staging.add(
        "exposures",
        file.file,
        f"""{identity}, 'human' as team_kind, word + 1 as heard_words,
            case when censored then '{OTHER_SIDE}' when correct = 1 then team end as ended_by from played""",
        {"dataset": dataset},
    )
    staging.add(
        "buzzes",
        file.file,
        f"{identity}, word, correct from played where not censored",
        {"dataset": dataset},
    )
    staging.connection.execute("drop table played")
