"""The responses and the statistics of runs: immutable Parquet files, one of each kind for each run.

A further grading of a run adds two files: ``grades.NAME``, with a row for each row of the responses, and ``statistics.NAME``.

A file is in ``objects/<kind>/dataset=<id>/run=<id>/``: run and dataset are in its path and not in the file, as other tools
expect of a partitioned table. Its name is never reused. The catalogue says which files a version of the store consists of.
"""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Literal, NamedTuple

import duckdb

from clueline.data.duckdb_and_polars import execute, literal
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.errors import DamagedStore, NeedsMigration, StoreError, reason
from clueline.data.store.files import OBJECTS, FileState, StoreFiles, file_state, fingerprint
from clueline.data.sufficient_statistics import BIN_COLUMNS, BINS_USED, COLUMNS

Kind = Literal["responses", "statistics", "grades"]
KINDS: tuple[Kind, ...] = ("responses", "statistics")  # of every run
ROW_GROUP = 20_480  # rows: a question is read three times as fast as with DuckDB's 122,880
PARQUET = f"format parquet, compression zstd, row_group_size {ROW_GROUP}"  # DuckDB reads its own files faster than polars' files
FORM = 4  # which columns a file has, see TYPES
# Columns that files of earlier forms lack, by kind and form.
ADDED: dict[str, dict[int, tuple[str, ...]]] = {
    "responses": {1: ("sample", "buzz", "attributes", "state"), 2: ("attributes", "state"), 3: ("state",)}
}
SWEPT = f"{OBJECTS}/SWEPT"  # notes: the time of a sweep, and the files that no catalogue named then
THREADS = 8  # that fetch objects and compare them with their checksums
PAUSE = 3600.0  # seconds between two searches for files that no catalogue names
TYPES: dict[Kind, dict[str, str]] = {
    # In the order of question ids, samples and clues.
    "responses": {
        "question_id": "varchar",
        "clue": "integer",
        "guess": "varchar",
        "confidence": "double",  # in [0, 1]; 0 for a failed call, a rank where it is scored, null in other states
        "correct": "double",  # in [0, 1]; a probability for LifeEval
        # file (stated), person (decided by the analyst who imported it), answer (against the answer line), prompt (matched a
        # prompt only), table (life table); or the state that rules out a correct answer: failed, unparsed, abstained
        "graded": "varchar",
        "token_logprobs": "double[]",
        "options": "double[]",  # whole distribution
        "option_names": "varchar[]",  # its classes, if they are not the dataset's
        "failed": "boolean",  # no answer was received
        # scored, no_confidence, unparsed or abstained; null for an answer with a confidence, and for a failed call
        "state": "varchar",
        "sample": "varchar",  # which of several answers to the same clue; null if there is only one
        "buzz": "boolean",  # the system's own decision to answer; null if it does not say
        "attributes": "map(varchar, varchar)",  # what further columns of the file state, by name in ascending order; never empty
    },
    # A row for each row of the responses, in their order. Only ``correct`` and ``graded`` are read; the other columns are for
    # people and tools that open the file on its own.
    "grades": {
        "question_id": "varchar",
        "clue": "integer",
        "sample": "varchar",
        "correct": "double",
        "graded": "varchar",  # as in responses; review: a reviewer corrected it
    },
    # In the order of questions. Sums are over answers with a confidence; see data/sufficient_statistics.py.
    "statistics": {
        "position": "integer",  # of the question in its dataset
        **dict.fromkeys(COLUMNS, "double"),
        BINS_USED: "smallint",
        **dict.fromkeys(BIN_COLUMNS, "double[]"),
    },
}


class StoredObject(NamedTuple):
    """A row of the catalogue's table ``objects``: a file. ``name`` is its path under the folder of objects.

    For a further grading, ``kind`` is from ``graded_kind``. ``form`` says which columns the file has; of statistics, it is the
    ``EDITION`` that computed them.
    """

    kind: str
    dataset: str
    run: str
    form: int
    name: str
    rows: int
    bytes: int
    sha256: str


class Objects:
    """The objects of a store, or those that an import adds.

    Objects that are not among the ``files`` are looked for in ``others``. ``form`` says which columns added objects have.
    ``added`` names the objects that were added through this instance, and ``damaged`` those that were not what was written when
    they were last compared.
    """

    def __init__(self, files: StoreFiles, others: Objects | None = None, form: int = FORM) -> None:
        self.files = files
        self.form = form
        self.others = others
        self.added: list[str] = []
        # By name: the state of the file when it was compared with its checksum, None if it was gone; and what was wrong.
        self._compared: dict[str, tuple[FileState | None, str | None]] = {}
        self.damaged: set[str] = set()
        self._ordered: dict[str, bool] = {}  # whether rows are in the order of question ids, by name

    def path(self, name: str) -> Path:
        if self.others is not None and not self.files.exists(_file(name)):
            return self.others.path(name)
        return self.files.path(_file(name))

    def exists(self, name: str) -> bool:
        return self.files.exists(_file(name))

    def add(self, kind: str, dataset: str, run: str, write: Callable[[Path], int], form: int | None = None) -> StoredObject:
        """Write an object and make it durable. It belongs to no version of the store until a catalogue names it.

        ``write`` writes a Parquet file to a path that does not exist, with the columns of ``form``, and returns its number of
        rows. Raises ``StoreError``.
        """
        name = f"{kind}/dataset={dataset}/run={run}/{secrets.token_hex(8)}.parquet"
        try:
            draft = self.files.draft(_file(name))
            try:
                rows = write(draft)
                size, digest = fingerprint(draft)
                self.files.add(_file(name), draft)
                self._compared[name] = (self._state(name), None)
            except BaseException:
                draft.unlink(missing_ok=True)
                raise
        except OSError as error:
            raise StoreError(f"the store cannot be written: {reason(error)}") from error
        self.added.append(name)
        return StoredObject(kind, dataset, run, self.form if form is None else form, name, rows, size, digest)

    def copy(self, source: Objects, part: StoredObject) -> None:
        """Copy an object from another store, unless it is here and intact. Raises ``DamagedStore`` if it is damaged there."""
        if self.files.exists(_file(part.name)) and self._compare(part, again=True) is None:
            return
        source.check([part], again=True)
        draft = self.files.draft(_file(part.name))
        shutil.copyfile(source.path(part.name), draft)
        self.files.add(_file(part.name), draft)
        self.check([part], again=True)

    def check(self, parts: Iterable[StoredObject], *, again: bool = False) -> None:
        """Compare objects with their checksums: once, unless a file changes or ``again``. Raises ``DamagedStore``."""
        for part, damage in self.damages(parts, again=again):
            raise damaged_object(part, damage)

    def damages(self, parts: Iterable[StoredObject], *, again: bool = False) -> Iterator[tuple[StoredObject, str]]:
        """Yield the objects that are not what was written, each with what is wrong. See ``check``. Raises ``StoreError``."""
        try:
            yield from self._damages(parts, again)
        except OSError as error:
            raise StoreError(f"the files of runs cannot be read ({error.strerror or error})") from error

    def _damages(self, parts: Iterable[StoredObject], again: bool) -> Iterator[tuple[StoredObject, str]]:
        unknown = []
        for part in parts:
            compared = None if again else self._compared.get(part.name)
            if compared is None or compared[0] != self._state(part.name):
                unknown.append(part)
            elif compared[1] is not None:
                yield part, compared[1]
        if unknown:
            with ThreadPoolExecutor(THREADS) as threads:
                for part, damage in zip(unknown, threads.map(partial(self._compare, again=again), unknown), strict=True):
                    if damage is not None:
                        yield part, damage

    def _state(self, name: str) -> FileState | None:
        try:
            return file_state(self.path(name))
        except FileNotFoundError:
            return None

    def _compare(self, part: StoredObject, again: bool) -> str | None:
        """Return what is wrong with an object, None if it is what was written. With ``again``, a local copy is fetched again."""
        state = self._state(part.name)
        damage = self._damage(part, again)
        if damage is None:
            self.damaged.discard(part.name)
        else:
            self.damaged.add(part.name)
        if not self.files.copied:
            self._compared[part.name] = (state, damage)
        elif damage is None:
            self._compared[part.name] = (self._state(part.name), None)  # of the copy that was fetched
        else:
            self._compared.pop(part.name, None)  # it may be intact when it is fetched again
        return damage

    def _damage(self, part: StoredObject, again: bool) -> str | None:
        expected = (part.bytes, part.sha256)
        try:
            if not (again and self.files.copied) and fingerprint(self.path(part.name)) == expected:
                return None
            if self.files.copied:
                self.files.renew_copy(_file(part.name))
                if fingerprint(self.path(part.name)) == expected:
                    return None
        except FileNotFoundError:
            return "is gone"
        return "is not what was written"

    def relation(self, kind: Kind, parts: Sequence[StoredObject], *, numbered: bool = False) -> str:
        """Return SQL for the rows of some objects in this order, with ``dataset`` and ``run``. Checks the objects first.

        If ``numbered``, there is ``file_row_number``, from 0 in each object. Raises ``DamagedStore`` or ``StoreError``.
        """
        if not parts:
            columns = ", ".join(f"null::{type_} as {name}" for name, type_ in TYPES[kind].items())
            number = ", null::bigint as file_row_number" if numbered else ""
            return f"(select {columns}, null::varchar as dataset, null::varchar as run{number} limit 0)"
        self.check(parts)
        files = ", ".join(literal(self.path(part.name)) for part in parts)
        options = "hive_partitioning = true, hive_types = {'dataset': varchar, 'run': varchar}"
        options += ", file_row_number = true" if numbered else ""
        lacking = {ADDED.get(kind, {}).get(part.form, ()) for part in parts}
        options += ", union_by_name = true" if len(lacking) > 1 else ""
        added = [f"null::{TYPES[kind][name]} as {name}" for name in min(lacking, key=len)]  # no file has them
        if not added:
            return f"read_parquet([{files}], {options})"
        return f"(select * exclude (dataset, run), {', '.join(added)}, dataset, run from read_parquet([{files}], {options}))"

    def in_disorder(self, connection: duckdb.DuckDBPyConnection, parts: Sequence[StoredObject]) -> list[StoredObject]:
        """Return the responses whose rows are not in the order of question ids, as earlier versions stored some large runs.

        They wrote whole blocks of rows in another order, so the least and the greatest id of each block tell. Without them, as
        of very long ids, the order counts as unknown.
        """
        large = [part for part in parts if part.rows > ROW_GROUP]
        paths = {str(self.path(part.name)): part.name for part in large if part.name not in self._ordered}
        if paths:
            ends = connection.execute(
                f"""select file_name, list([stats_min_value, stats_max_value] order by row_group_id)
                from parquet_metadata([{", ".join(map(literal, paths))}]) where path_in_schema = 'question_id' group by 1"""
            ).fetchall()
            for path, blocks in ends:
                ids = [end for block in blocks for end in block]
                self._ordered[paths[path]] = None not in ids and ids == sorted(ids)
        return [part for part in large if not self._ordered[part.name]]

    def graded_responses(
        self,
        parts: Sequence[StoredObject],
        grades: Mapping[str, StoredObject],
        *,
        numbered: bool = False,
        opinions: Mapping[str, Sequence[StoredObject]] | None = None,
        questions: Sequence[str] = (),
    ) -> str:
        """Return SQL for the rows of responses under a grading. See ``relation``. Those of a few ``questions`` are in any order.

        Runs without ``grades`` keep the grading of their responses. If ``opinions``, the grades of every further grading by run,
        are given, there is a column ``disputed``, which says whether the gradings of the run differ on the response. A failed
        call is never disputed.
        """
        of_questions = f" where r.question_id in ({', '.join(map(literal, questions))})" if questions else ""
        if opinions is None and not any(part.run in grades for part in parts):
            rows = self.relation("responses", parts, numbered=numbered)
            return f"(select * from {rows} r{of_questions})" if questions else rows

        def grades_of(objects: Sequence[StoredObject], name: str) -> str:
            # A positional join is faster for all rows, but reads all of them. Other joins skip the blocks of other questions.
            if questions:
                return f" join {self.relation('grades', objects, numbered=True)} {name} using (run, file_row_number)"
            return f" positional join {self.relation('grades', objects)} {name}"

        def kind(part: StoredObject) -> tuple[bool, int]:
            return part.run in grades, len((opinions or {}).get(part.run, ()))

        blocks, never = [], among_states(NEVER_RIGHT, "r")
        for (graded, others), group in groupby(parts, key=kind):
            runs = [*group]
            columns = "r.*" if numbered or not questions else "r.* exclude (file_row_number)"
            rows = f"{self.relation('responses', runs, numbered=numbered or bool(questions))} r"
            if graded:
                columns += " replace (g.correct as correct, g.graded as graded)"
                rows += grades_of([grades[part.run] for part in runs], "g")
            if opinions is not None:
                differs = " or ".join(f"o{nth}.correct <> r.correct" for nth in range(others))
                columns += f", {f'not {never} and ({differs})' if differs else 'false'} as disputed"
                opinions_of = zip(*(opinions.get(part.run, ()) for part in runs), strict=True)
                for nth, opinion in enumerate(opinions_of):
                    rows += grades_of(opinion, f"o{nth}")
            blocks.append(f"select {columns} from {rows}{of_questions}")
        empty = f"select *, false as disputed from {self.relation('responses', (), numbered=numbered)}"
        return f"({' union all by name '.join(blocks or [empty])})"

    def sweep(self, named: Callable[[], set[str]], pause: float = PAUSE) -> None:
        """Remove files that no catalogue names, neither now nor at the previous sweep, at least ``pause`` seconds ago.

        So an import has time to name what it wrote, and readers of an earlier version have time to read files that a later
        version does not name.
        """
        noted = self.files.read_small(SWEPT)
        swept_at, *before = (noted.content.decode(errors="replace") if noted else "0").splitlines() or [""]
        if not swept_at.isdecimal():
            before = []  # the notes are damaged
        elif time.time() - pause < int(swept_at) <= time.time():
            return
        present = self.files.objects()
        if not present:
            return
        unnamed = present - {_file(name) for name in named()}
        for name in unnamed.intersection(before):
            self.files.remove(name)
        left = sorted(unnamed.difference(before))
        self.files.write_small(SWEPT, "\n".join([str(int(time.time())), *left]).encode())

    def remove(self, name: str) -> None:
        with suppress(OSError):
            self.files.remove(_file(name))


def damaged_object(part: StoredObject, damage: str) -> DamagedStore:
    """Return the error that names a damaged object. ``damage`` is from ``Objects.damages``."""
    return DamagedStore(f"the file {_file(part.name)} {damage}")


def _file(name: str) -> str:
    return f"{OBJECTS}/{name}"


def copy_rows(connection: duckdb.DuckDBPyConnection, kind: Kind, rows: str, path: Path, form: int = FORM) -> int:
    """Write the rows of a query to a new Parquet file, and return their number. Other columns are left out.

    An earlier form has fewer columns. Raises ``NeedsMigration`` if the rows have values in those that it lacks.
    """
    lacking = ADDED.get(kind, {}).get(form, ())
    values = " or ".join(f"{name} is not null" for name in lacking)
    if lacking and connection.execute(f"select 1 from ({rows}) where {values} limit 1").fetchone():
        raise NeedsMigration(", ".join(lacking))
    columns = ", ".join(f"{name}::{type_} as {name}" for name, type_ in TYPES[kind].items() if name not in lacking)
    sql = f"copy (select {columns} from ({rows})) to {literal(path)} ({PARQUET})"
    return int(connection.execute(sql).fetchall()[0][0])


def graded_kind(kind: Kind, grading: str) -> str:
    """Return the kind of the objects that hold the grades or the statistics of a further grading."""
    return f"{kind}.{grading}"


def stored_objects(
    connection: duckdb.DuckDBPyConnection, kind: str, *, runs: Sequence[str] | None = None, dataset: str | None = None
) -> list[StoredObject]:
    """Return the objects of one kind: those of given runs, in their order; else those of a dataset or all, in order of import."""
    columns = ", ".join(f"o.{name}" for name in StoredObject._fields)
    if runs is not None:
        # One text, because DuckDB looks for pandas at each value of a list: 0.7 s for 10,000 runs if pandas is not installed.
        sql = f"select {columns} from objects o where kind = $kind and run in (select unnest(string_split($runs, ',')))"
        rows = execute(connection, sql, {"kind": kind, "runs": ",".join(runs)}).fetchall()
        of_run = {row[2]: StoredObject(*row) for row in rows}
        return [of_run[run] for run in runs if run in of_run]
    sql = f"""select {columns} from objects o join runs r using (run)
        where kind = $kind and ($dataset is null or o.dataset = $dataset) order by r.position"""
    return [StoredObject(*row) for row in execute(connection, sql, {"kind": kind, "dataset": dataset}).fetchall()]


def all_objects(connection: duckdb.DuckDBPyConnection) -> list[StoredObject]:
    """Return every object that a catalogue names."""
    return [StoredObject(*row) for row in connection.execute(f"select {', '.join(StoredObject._fields)} from objects").fetchall()]


def record_objects(connection: duckdb.DuckDBPyConnection, parts: Sequence[StoredObject]) -> None:
    """Name objects in a catalogue, replacing those of the same kind and run."""
    for part in parts:
        execute(connection, "delete from objects where kind = $kind and run = $run", {"kind": part.kind, "run": part.run})
    if parts:
        connection.execute(f"insert into objects values {', '.join(f'({row})' for row in map(_literals, parts))}")


def _literals(part: StoredObject) -> str:
    """Return the values of an object as SQL. As parameters, each would make DuckDB look for pandas."""
    return ", ".join(str(value) if isinstance(value, int) else literal(value) for value in part)
