"""The scratch database of an import: files are read into it, checked against each other and the store, and graded.

Its relations, in the order in which they are filled:

- ``datasets_read``, ``questions_read``, ``clues_read``, ``exposures_read``, ``buzzes_read``, ``left_out_plays_read``,
  ``votes_read``: the rows of the files, with the number of the file and ``ordinal``, their place in it. Readers fill them.
- ``responses_read``: the same for responses. A single file is read in place through a view; rows of several files are copied.
  ``evaluated_at`` is the time that a row states, in UTC, and after ``data.importing.checks.evaluation_days`` that of its run.
- ``grades_read``: the grades of further gradings, by file and ordinal. ``corrections_read``: what reviewers decided.
- ``attributes_read``: what the files state about questions in columns other than those that Clueline knows.
- ``tags_read``: tags of runs, by model and elicitation.
- ``numbered_questions``, ``numbered_runs``: the questions of the answered datasets, and the runs that answer them.
- ``responses_ordered``: responses by ``run_number``, ``question_number`` and ``question_id``, in the order of run, question and
  clue. From here on, a failed call has no guess, the confidence 0 and no distribution. ``state`` is null or one of
  ``STORED_STATES``; then a response has neither confidence nor distribution (``data.importing.checks.responses``).
- ``responses_resolved``: the same, with a confidence for every answered response and complete distributions in the order of
  classes.
- ``responses_graded``: the same, with a correctness for every response.
- ``runs_to_store``: the runs that the store does not have, by number.
- ``added_gradings``: the further gradings that stored runs get, by the number of the incoming run with the same answers.
  ``column`` is the column of the grades, without its prefix; null for ``correct``.
- ``new_datasets``, ``new_questions``, ``new_runs``, ... : what publishing adds to the store, with the columns of its tables.
- ``replaced_people``, ``new_answers``: what publishing changes as well.

Views named after some tables of the store (``datasets``, ``questions``, ``clues``, ``exposures``, ``votes``) show stored and
incoming rows together. ``known_questions`` and ``known_clues`` do so for readers, before anything is checked: incoming ones
replace the stored ones of their dataset.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import polars as pl

from clueline.data.dataset_kinds import KINDS
from clueline.data.duckdb_and_polars import execute, first_rows, frame, literal, quoted
from clueline.data.importing.column_mapping import ColumnMapping
from clueline.data.importing.report import MAX_LISTED_PROBLEMS, Hint, Problem, Report, refuse
from clueline.data.importing.table_contract import GRADE_PREFIX, MAX_SHOWN_LENGTH, REPORTED, RESPONSES, TAGS, Column, stage
from clueline.data.importing.table_contract import TABLES as CONTRACTS
from clueline.data.importing.table_files import MAX_UNPACKED_BYTES, FrameFile, TableFile, UnpackingLimit
from clueline.data.scratch_folders import scratch_folder
from clueline.data.store import Store, check_schema, create_schema
from clueline.data.store.catalogue_schema import tables_of_datasets
from clueline.data.store.run_files import TYPES, Objects, stored_objects
from clueline.data.store.run_tags import MAX_VALUE_LENGTH
from clueline.data.store.snapshot import rows_without

MAX_MOMENTS = 100  # in a series of forecasts
UNSTATED = "no confidence"  # elicitation of a run that is only right or wrong
CONTENT = "content"  # aligns questions by text and reference answer
ALIGN = re.compile(rf"{CONTENT}|[+-]?\d{{1,9}}")  # values of ``ImportOptions.align``
Repeats = Literal["samples", "gradings"]
REPEATS: tuple[Repeats, ...] = ("samples", "gradings")


def columns_sql(contract: Sequence[Column]) -> str:
    """Return SQL for the columns of a table of incoming rows."""
    return f"dataset varchar, {', '.join(f'{quoted(c.name)} {c.sql_type}' for c in contract)}, file integer, ordinal bigint"


TABLES = f"""
{"".join(f"create table {table}_read ({columns_sql(contract)});" for table, contract in CONTRACTS.items())}
create table datasets_read (dataset varchar, title varchar, kind varchar, licence varchar, source varchar, simulated boolean,
    note varchar, classes varchar[], file varchar);
create table copied_responses ({columns_sql(RESPONSES)}, attributes {TYPES["responses"]["attributes"]}, evaluated_at timestamp);
create view responses_read as from copied_responses;
create table grades_read (name varchar, correct double, file integer, ordinal bigint);
create table attributes_read (dataset varchar, question_id varchar, attribute varchar, value varchar,
    file integer, ordinal bigint);
{REPORTED};
create table added_gradings (number integer, dataset varchar, run varchar, name varchar, "column" varchar);
-- Whose people's rows are replaced (buzzes, exposures and plays that are left out together, or votes), and answers that follow
-- from votes.
create table replaced_people (dataset varchar, what varchar);
create table new_answers (dataset varchar, question_id varchar, answer varchar);
"""

# SQL: whether a row of tags or corrections is about a run n of ``numbered_runs``. Without a time, it is about each of the name.
OF_RUN = """n.dataset = {0}.dataset and n.model = {0}.model and n.elicitation = {0}.elicitation
    and ({0}.evaluated_at is null or n.evaluated_at is not distinct from {0}.evaluated_at)"""
OF_QUESTION = "q on q.dataset = s.dataset and q.question_id = s.question_id where s.question_id is not null"
# Tables of what people did, and which of them are replaced together.
PEOPLE = {"exposures": "buzzes", "buzzes": "buzzes", "left_out_plays": "buzzes", "votes": "votes"}
STORED = ("datasets", "questions", "clues", "exposures", "buzzes", "left_out_plays", "votes", "runs", "tags", "attributes")

KEPT = "".join(
    f"create view kept_{table} as from store.{table} anti join (from replaced_people where what = '{what}') using (dataset);"
    for table, what in PEOPLE.items()
)
VIEWS = f"""{KEPT}
create view datasets as
    select distinct on (dataset) dataset, title, kind, simulated, classes from datasets_read
    union all select dataset, title, kind, simulated, classes from store.datasets anti join datasets_read using (dataset);
create view known_questions as
    select dataset, question_id, text, answer from questions_read union all
    select dataset, question_id, text, answer from store.questions anti join (select dataset from questions_read) using (dataset);
create view known_clues as
    select dataset, question_id, clue, word_end from clues_read union all
    select dataset, question_id, clue, word_end from store.clues anti join (select dataset from clues_read) using (dataset);
create view questions as
    from new_questions union all by name
    select * replace (coalesce(q.answer, v.answer) as answer) from (
        from store.questions anti join (select distinct dataset from new_questions) using (dataset)
    ) q left join new_answers v using (dataset, question_id);
create view clues as
    from new_clues union all by name from store.clues anti join (select distinct dataset from new_clues) using (dataset);
create view exposures as from new_exposures union all by name from kept_exposures;
create view votes as from new_votes union all by name from kept_votes;
"""


class RunKey(NamedTuple):
    """Dataset, model and elicitation of a run, as files name them. With its time, they identify it until it has an id."""

    dataset: str
    model: str
    elicitation: str


@dataclass(frozen=True)
class Decision:
    """An analyst's grade, in [0, 1], for a guess whose correctness the file does not state. A guess of None means no answer.

    ``clue`` is None for all clues of the question with this guess.
    """

    question_id: str
    clue: int | None
    guess: str | None
    correct: float


@dataclass(frozen=True)
class ImportOptions:
    """What the analyst states in addition to the files. None or an empty value: the files say it, or a default applies."""

    form: str | None = None  # key of the format of all files; None to recognise that of each
    dataset: str | None = None  # id of the dataset to create or to answer
    title: str | None = None  # of a dataset that is created
    model: str | None = None
    elicitation: str | None = None
    percent: bool = False  # whether confidences run from 0 to 100
    classes: tuple[str, ...] = ()  # of a dataset, or of the probabilities in a file, in order
    replace: bool = False  # whether questions and people replace the stored ones of their dataset
    decisions: tuple[Decision, ...] = ()
    password: str | None = field(default=None, repr=False)  # of encrypted zips; never stored
    respondents: bool = False  # whether several answers to a question come from different people, named by ``sample``
    names: bool = False  # whether the names of teams of people are kept; otherwise they get pseudonyms
    tags: tuple[tuple[str, str], ...] = ()
    readers: tuple[str, ...] = ()  # of a new dataset that its bundle calls private, as in ``Tokens.make_private``
    # Number of moments between the opening and the close of a question whose forecasts become its clues; None to import only its
    # last forecast.
    series: int | None = None
    columns: tuple[tuple[str, str], ...] = ()  # (role, column) of a table of another project; see ``ROLES``
    words: tuple[tuple[str, float | None], ...] = ()  # of confidence, with the share that each means; None if none was stated
    agreement: bool = False  # whether the share of samples that agree is the confidence of runs without any
    confidence_pattern: str = ""  # how outputs state one, as in ``column_mapping.read_pattern``; blank if it is not stated
    map: str | None = None  # how scores that are no probabilities become some: one of ``SCORE_MAPS``; None to keep them
    refuse_same_answers: bool = False  # whether a run with exactly the answers of another model's is refused, not warned of
    # Whether several rows of a run about one question are several answers (samples) or several grades of one answer (gradings);
    # None if there may be none.
    repeats: Repeats | None = None
    # How ids of questions are aligned with those of the dataset: ``CONTENT``, or a number that is added to each; None if they are
    # not.
    align: str | None = None
    mapping: ColumnMapping | None = None  # of the columns of such a table, if one was named
    offered: tuple[ColumnMapping, ...] = ()  # mappings that could be named, of which the report names those that fit


@dataclass
class Staging:
    """The scratch database of one import."""

    connection: duckdb.DuckDBPyConnection  # to the scratch database, with the store attached as ``store``
    objects: Objects
    workspace: Path  # a folder for unpacked files
    path: Path
    limit: UnpackingLimit = field(default_factory=UnpackingLimit)
    report: Report = field(default_factory=Report)
    files: list[TableFile | FrameFile] = field(default_factory=list)  # in the order of opening; relations refer to their indices
    reworded: set[str] = field(default_factory=set)  # datasets whose texts, as models saw them, replace the stored ones
    private: set[str] = field(default_factory=set)  # datasets whose bundles say that they are private
    # Stored datasets that may get further questions, and whose unanswered questions may get other clues.
    recut: set[str] = field(default_factory=set)
    respondents: set[RunKey] = field(default_factory=set)  # runs whose samples are respondents
    # (dataset, attribute of responses) -> name of the file that has it.
    response_attributes: dict[tuple[str, str], str] = field(default_factory=dict)
    # Names for the grades that files state, used for runs that turn out to be stored with other grades.
    grading_names: dict[RunKey, str] = field(default_factory=dict)
    refuse_same_answers: bool = False  # as in ``ImportOptions``
    _viewed: str | None = None  # SQL of the responses that are read in place

    # -- for readers -------------------------------------------------------------------------------------------------

    def open(self, path: Path, name: str | None = None) -> TableFile:
        """Add a file to this import, decompressed if necessary. Reports call it ``name``. Raises ``Refused``."""
        file = TableFile(path, self.workspace, name, self.limit)
        self.files.append(file)
        return file

    def add_rows(self, name: str, rows: pl.DataFrame) -> FrameFile:
        """Add the rows of a document that is not a table, as a file to ``load`` and ``add`` from. See ``FrameFile``."""
        file = FrameFile(name, rows)
        self.files.append(file)
        return file

    def load(
        self,
        file: TableFile | FrameFile,
        columns: tuple[Column, ...],
        further: Callable[[Sequence[str]], Sequence[Column]] | None = None,
    ) -> list[str]:
        """Read a file under a contract into the view ``loaded``, and return the contract columns that it has.

        ``further`` returns the contract of further columns, given the names of all columns of the file.
        """
        columns_read = stage(self.connection, file, columns, self.view_of(file), self.report, further)
        self.connection.execute(f"create or replace view loaded as from {self.view_of(file)}")
        self.report.columns += [name for name in columns_read if name not in self.report.columns]
        return columns_read

    def view_of(self, file: TableFile | FrameFile) -> str:
        """Return the name of a view of a loaded file. The view remains when another file is loaded."""
        return f"loaded_{self.files.index(file)}"

    def add(self, table: str, file: TableFile | FrameFile, select: str, parameters: dict[str, Any] | None = None) -> int:
        """Insert the rows of a select (the table's columns and ``ordinal``) into ``<table>_read``, and return their number."""
        if table == "responses":
            self.copy_responses()
        source = self.files.index(file)
        into = "copied_responses" if table == "responses" else f"{table}_read"
        sql = f"insert into {into} by name select *, {source} as file from ({select})"
        row = execute(self.connection, sql, parameters or {}).fetchone()
        return int(row[0]) if row else 0

    def add_tags(self, name: str, runs: Sequence[RunKey], tags: Mapping[str, str], evaluated_at: datetime | None) -> None:
        """Give runs of this time the tags that ``name`` states."""
        rows = [[*run, tag, value[:MAX_VALUE_LENGTH], str(evaluated_at or "")] for run in runs for tag, value in tags.items()]
        if rows:
            file = self.add_rows(name, pl.DataFrame(rows, ["dataset", *(column.name for column in TAGS)], orient="row"))
            self.load(file, (Column("dataset"), *TAGS))
            self.add("tags", file, "from loaded")

    def add_grades(self, file: TableFile | FrameFile, columns: Sequence[str]) -> None:
        """Add the further gradings of the responses of a loaded file. Columns without the prefix of a grading are ignored."""
        source = self.files.index(file)
        for column in columns:
            if column.startswith(GRADE_PREFIX):
                name, grade = literal(column.removeprefix(GRADE_PREFIX)), quoted(column)
                self.connection.execute(
                    f"""insert into grades_read by name select {name} as name, {grade} as correct, {source} as file, ordinal
                    from {self.view_of(file)} where {grade} is not null"""
                )

    def view_responses(self, file: TableFile | FrameFile, select: str) -> int:
        """Add responses as ``add`` does, but read those of a single file in place. The SQL reads the view of the file."""
        if self._viewed is None and not self.has("responses"):
            self._viewed = f"select *, {self.files.index(file)} as file from ({select})"
            self.connection.execute(f"create or replace view responses_read as {self._viewed}")
            return int(self.connection.execute("select count(*) from responses_read").fetchall()[0][0])
        return self.add("responses", file, select)

    def copy_responses(self) -> None:
        """Copy responses that are read in place into the table ``copied_responses``, in which they can be changed."""
        if self._viewed is not None:
            self.connection.execute(f"insert into copied_responses by name {self._viewed}")
            self.connection.execute("create or replace view responses_read as from copied_responses")
            self._viewed = None

    def add_dataset(self, file: str, dataset: str, **facts: Any) -> None:
        """Add a dataset with its columns, such as ``kind``. Raises ``Refused`` for a bad id, kind or list of classes."""
        if not dataset or not set(dataset) <= set("abcdefghijklmnopqrstuvwxyz0123456789-"):
            raise refuse(file, "a dataset id is made of a-z, 0-9 and -", column="dataset", value=dataset)
        if facts["kind"] not in KINDS:
            raise refuse(file, f"must be one of: {', '.join(KINDS)}", column="kind", value=str(facts["kind"]))
        classes = facts.get("classes")
        are_names = classes and all(isinstance(c, str) and c for c in classes) and len(set(classes)) == len(classes)
        if classes is not None and not are_names:
            shown = json.dumps(classes, ensure_ascii=False)
            raise refuse(file, "must be a list of different names", column="classes", value=shown)
        row = {"title": dataset, "simulated": False, "licence": None, "source": None, "note": None, "classes": None} | facts
        names = ["dataset", "file", *row]
        sql = f"insert into datasets_read ({', '.join(names)}) values ({', '.join(f'${name}' for name in names)})"
        execute(self.connection, sql, {"dataset": dataset, "file": file, **row})

    def skip(self, key: RunKey, reasons: dict[str, int], evaluated_at: datetime | None = None) -> None:
        self.report.skipped.setdefault((*key, evaluated_at), Counter()).update(reasons)

    def dataset(self, dataset: str) -> dict[str, Any] | None:
        """Return the row of a dataset, stored or incoming; None if there is none."""
        rows = frame(self.connection, "select * from datasets where dataset = $d", {"d": dataset}).to_dicts()
        return rows[-1] if rows else None

    def existing(self, dataset: str, file: str, advice: str = "import its questions first") -> dict[str, Any]:
        """Return the row of a dataset that a file answers. Raises ``Refused`` if there is none."""
        row = self.dataset(dataset)
        if row is None:
            raise refuse(file, f"there is no dataset {dataset!r} for these answers; {advice}", hint="dataset")
        return row

    def is_incoming(self, dataset: str) -> bool:
        """Whether a file of this import brings questions of a dataset."""
        sql = "select 1 from questions_read where dataset = $d limit 1"
        return self.connection.execute(sql, {"d": dataset}).fetchone() is not None

    def answered(self, dataset: str) -> list[str]:
        """Return the ids of the questions that the runs of a stored dataset answered or tried to. Withdrawn runs do not count."""
        sql = "select run from store.runs where dataset = $d and withdrawn_at is null"
        runs = [run for (run,) in self.connection.execute(sql, {"d": dataset}).fetchall()]
        if not runs:
            return []
        with self.connection.cursor() as reading:
            reading.execute("use store")
            responses = self.objects.relation("responses", stored_objects(reading, "responses", runs=runs))
            return [question for (question,) in reading.execute(f"select distinct question_id from {responses}").fetchall()]

    def datasets(self) -> list[str]:
        return [dataset for (dataset,) in self.connection.execute("select dataset from datasets order by 1").fetchall()]

    # -- for checks --------------------------------------------------------------------------------------------------

    def report_rows(
        self, table: str, column: str, reason: str, where: str, hint: Hint | None = None, *, value: str | None = None
    ) -> bool:
        """Report rows as bad, and return whether there are any. All arguments but ``column`` and ``hint`` are SQL.

        ``table`` is a relation with ``file`` and ``ordinal``; its alias is s. ``where`` is a condition that selects the bad rows,
        and can begin with joins. ``value`` is shown; None for that of the column.
        """
        shown = f"({value or f's.{quoted(column)}'})::varchar"
        columns = f"s.file, s.ordinal, ({shown})[:{MAX_SHOWN_LENGTH}] as value, {reason} as reason"
        sql = f"""from (select {columns} from {table} s {where}) b
            anti join reported r on r.view = 'loaded_' || b.file and r.ordinal = b.ordinal and r."column" = {literal(column)}"""
        bad = self.connection.execute(first_rows(sql, "file, ordinal", MAX_LISTED_PROBLEMS)).fetchall()
        if not bad:
            return False
        places = {
            index: self.files[index].places_of({row[1] for row in bad if row[0] == index}) for index in {row[0] for row in bad}
        }
        problems = [
            Problem(self.files[index].name, places[index][ordinal].line, column, shown, why, hint, places[index][ordinal].row)
            for index, ordinal, shown, why, _ in bad
        ]
        self.report.add(problems, bad[0][4])
        self.connection.execute(f"insert into reported select 'loaded_' || file, ordinal, {literal(column)} from ({sql})")
        return True

    def report_repeats(
        self, table: str, column: str, keys: Sequence[str], what: str, rows: str = "true", hint: Hint | None = None
    ) -> None:
        """Report rows that repeat the key of an earlier row; nulls count as different. ``keys`` and ``rows`` are SQL."""
        complete = " and ".join(f"{key} is not null" for key in keys)
        sql = f"""(select *, row_number() over (partition by {", ".join(keys)} order by file, ordinal) as nth from {table}_read
            where {complete} and ({rows}))"""
        self.report_rows(sql, column, f"'{what}'", "where nth > 1", hint)

    def has_problems(self, *tables: str) -> bool:
        """Return whether a file with incoming rows of any of these tables has a problem."""
        bad = {problem.file for problem in self.report.problems}
        files = {
            row[0] for table in tables for row in self.connection.execute(f"select distinct file from {table}_read").fetchall()
        }
        return any(self.files[index].name in bad for index in files)

    def has(self, *tables: str) -> bool:
        """Return whether there are incoming rows of any of these tables."""
        return any(self.connection.execute(f"select 1 from {table}_read limit 1").fetchone() for table in tables)

    def changes(self) -> bool:
        tables = (*(f"new_{table}" for table in ("datasets", *PEOPLE, "runs")), "added_gradings")
        return any(self.connection.execute(f"select 1 from {table} limit 1").fetchone() for table in tables)


@contextmanager
def open_staging(store: Store, largest: int = MAX_UNPACKED_BYTES, hidden: Collection[str] = ()) -> Iterator[Staging]:
    """Open a new scratch database with the current version of the store attached, which is only read. It is removed at the end.

    ``largest`` limits the bytes that compressed files may unpack to. ``hidden`` datasets are treated as missing.
    """
    with scratch_folder() as folder:
        path = folder / "scratch.duckdb"
        connection = duckdb.connect(":memory:", config={**store.options, "temp_directory": str(folder / "spill")})
        try:
            catalogue = store.catalogue()
            if catalogue:
                connection.execute(f"attach {literal(catalogue)} as store (read_only); use store")
                check_schema(connection, store.place)  # before anything is read
                if hidden:
                    _hide(connection, hidden)
            else:
                connection.execute("attach ':memory:' as store; use store")
                create_schema(connection)
            # Compression does not pay off for data that is written once and read twice.
            connection.execute("set force_compression = 'uncompressed'")
            # A scratch database is never recovered. Without a log, its many small steps need not wait for the disk. Without the
            # checkpoint, data that is about to be deleted is not written once more.
            connection.execute("pragma disable_checkpoint_on_shutdown")
            connection.execute(f"attach {literal(path)} as scratch (recovery_mode no_wal_writes); use scratch")
            connection.execute(
                TABLES + "".join(f"create table new_{table} as from store.{table} limit 0;" for table in STORED) + VIEWS
            )
            workspace = folder / "files"
            workspace.mkdir()
            yield Staging(connection, store.objects, workspace, path, UnpackingLimit(largest))
        finally:
            connection.close()


def _hide(connection: duckdb.DuckDBPyConnection, datasets: Collection[str]) -> None:
    ((path,),) = connection.execute("select path from duckdb_databases() where database_name = 'store'").fetchall()
    connection.execute(f"use memory; detach store; attach {literal(path)} as whole_store (read_only); attach ':memory:' as store")
    for table in tables_of_datasets(connection, "whole_store"):
        connection.execute(f"create view store.{table} as from whole_store.{table} where {rows_without(datasets)}")
    connection.execute("use store")
