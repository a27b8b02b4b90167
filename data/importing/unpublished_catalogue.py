"""The catalogue of an import before it is published: the datasets that the import changes, as they would be.

An import publishes it; a dry run shows it. It starts with the stored rows of the datasets that the files add to. The responses
and statistics of new runs are written to objects, without a lock. Publishing is then quick: it copies the rows to the next
catalogue of the store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import duckdb

from clueline.data import human_curves
from clueline.data.duckdb_and_polars import execute, execute_with, literal
from clueline.data.importing.report import Problem
from clueline.data.importing.run_gradings import GUESSES, add_gradings, add_to_stored, grade_guesses, renew_gradings
from clueline.data.importing.staging import PEOPLE, STORED, Staging
from clueline.data.store import StoreMoved, difficulty, models, run_statistics
from clueline.data.store.answer_states import NEVER_RIGHT, among_states
from clueline.data.store.cache_validity_tokens import State, renew_revisions, states
from clueline.data.store.catalogue_schema import tables_of_datasets
from clueline.data.store.run_files import Kind, Objects, copy_rows, graded_kind, record_objects, stored_objects

TABLES_OF_RUNS = ("gradings", "corrections", "tags", "response_attributes")  # further tables of the catalogue with rows on runs
RUN_TABLES = ("objects", "runs", *TABLES_OF_RUNS)
GRADED_KINDS: tuple[Kind, ...] = ("grades", "statistics")  # kinds of objects of a further grading
GRADED_BY_QUESTION = f"{{0}}.graded not in ('file', 'person') and not {among_states(NEVER_RIGHT, '{0}')}"


@dataclass
class UnpublishedCatalogue:
    """A catalogue with some datasets as they would be. Its tables are those of the store."""

    connection: duckdb.DuckDBPyConnection
    path: Path
    objects: Objects
    before: dict[str, State | None]  # dataset -> its state when the unpublished catalogue was made; None for a new dataset
    rebased: set[str]  # the datasets whose questions, people or earlier runs change
    runs: list[str]  # ids of the new runs
    gradings: list[tuple[str, str]]  # run and name of each grading that a stored run gets

    def close(self) -> None:
        """Write the unpublished catalogue to its file, which publishing reads."""
        self.connection.execute("checkpoint unpublished")
        self.connection.close()

    def publish(self, connection: duckdb.DuckDBPyConnection, hidden: Collection[str] = ()) -> None:
        """Copy the changes into the next catalogue of the store. Raises ``StoreMoved`` if a dataset has changed meanwhile.

        ``hidden`` are datasets that the importer may not read: no run becomes one of their models.
        """
        self._check_unchanged(connection)
        connection.execute(f"attach {literal(self.path)} as unpublished (read_only)")
        next_run, next_dataset = (_next_position(connection, table) for table in ("runs", "datasets"))
        stored = {dataset for dataset in self.rebased if self.before[dataset]}
        for table in tables_of_datasets(connection, "new") if self.rebased else ():
            if stored:
                connection.execute(f"delete from {table} where {_among(stored)}")
            if table not in ("datasets", "objects", "revisions", "runs"):
                connection.execute(f"insert into {table} by name from unpublished.{table} where {_among(self.rebased)}")
        if self.rebased:
            new = _among(dataset for dataset, state in self.before.items() if state is None)
            connection.execute(_insert("datasets", _among(self.rebased), new, next_dataset))
        new = _among(self.runs, "run")
        connection.execute(_insert("runs", f"({_among(self.rebased)} or {new})", new, next_run))
        models.add_names(connection, hidden)
        rows = f"{_among(self.rebased)} or {self.new_rows('objects')}"
        connection.execute(f"insert into objects by name from unpublished.objects where {rows}")
        for table in TABLES_OF_RUNS:
            rows = f"{self.new_rows(table)} and not {_among(self.rebased)}"
            connection.execute(f"insert into {table} by name from unpublished.{table} where {rows}")
        others = {*self.before} - self.rebased
        added = connection.execute(f"select run from runs where {new} and {_among(others)}").fetchall()
        difficulty.add_accuracies(connection, self.objects, [run for (run,) in added])
        for dataset in others:
            difficulty.derive(connection, dataset)
        renew_revisions(connection, datasets=self.before, bases=self.rebased)

    def _check_unchanged(self, connection: duckdb.DuckDBPyConnection) -> None:
        current = states(connection)
        for dataset, before in self.before.items():
            state = current.get(dataset)
            if state != before and (dataset in self.rebased or state is None or before is None or state.base != before.base):
                raise StoreMoved
        if connection.execute(f"select 1 from runs where {_among(self.runs, 'run')} limit 1").fetchone():
            raise StoreMoved  # another process has just stored one of the runs
        if connection.execute(f"select 1 from gradings where {self.new_rows('gradings')} limit 1").fetchone():
            raise StoreMoved  # or given a run a grading of the same name
        if not all(map(self.objects.exists, self.objects.added[:1])):
            raise StoreMoved  # or swept what this import wrote, because the clock jumped ahead: what was written first goes first

    def new_rows(self, table: str) -> str:
        """Return a SQL condition for the new rows of a table on runs: those of new runs, and of new gradings of stored runs."""
        names = {
            "gradings": [("name", name, run) for run, name in self.gradings],
            "objects": [("kind", graded_kind(kind, name), run) for run, name in self.gradings for kind in GRADED_KINDS],
        }.get(table, [])
        added = [f"({column} = {literal(name)} and run = {literal(run)})" for column, name, run in names]
        return f"({' or '.join([_among(self.runs, 'run'), *added])})"


def _among(names: Iterable[str], column: str = "dataset") -> str:
    return f"list_contains([{', '.join(map(literal, sorted(names)))}]::varchar[], {column})"


def _next_position(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return int(connection.execute(f"select coalesce(max(position), -1) + 1 from {table}").fetchall()[0][0])


def _insert(table: str, chosen: str, new: str, position: int) -> str:
    """Return SQL that copies chosen rows from the unpublished catalogue. The new ones get positions from ``position`` on."""
    numbered = f"{position} + (row_number() over (partition by {new} order by position))::integer - 1"
    return f"""insert into {table} by name
        select * replace (if({new}, {numbered}, position) as position) from unpublished.{table} where {chosen}"""


def make_unpublished_catalogue(
    staging: Staging, objects: Objects, by: str | None = None, shown: str | None = None
) -> UnpublishedCatalogue:
    """Make an unpublished catalogue from what was read and checked. A dry run shows the dataset ``shown``."""
    connection, path = staging.connection, staging.path.with_name("unpublished.duckdb")
    run = connection.execute
    rebased = _rebased(connection)
    regraded = {name for (name,) in run("select distinct dataset from scratch.added_gradings").fetchall()}
    datasets = sorted(_datasets(connection, *STORED) | rebased | regraded | ({shown} if shown else set()))
    run("use store")
    before = states(connection)
    run(f"attach {literal(path)} as unpublished (recovery_mode no_wal_writes)")
    for table in tables_of_datasets(connection, "store"):
        # Tables that new runs do not change need not be copied to be published.
        kind = "table" if rebased or shown or table in RUN_TABLES else "view"
        run(f"create {kind} unpublished.{table} as from store.{table} where {_among(datasets)}")
    run("use unpublished")
    _add_rows(connection, by)
    _add_responses(connection, objects)
    if run("select 1 from scratch.new_runs limit 1").fetchone():
        add_gradings(staging, objects, by)
        _find_same_answers(staging)
    added = add_to_stored(staging, objects, by)
    replaced = sorted(_datasets(connection, "datasets") & {*before})
    for dataset in replaced:
        _fit_to_replaced(connection, objects, dataset)
    with_people = _datasets(connection, "buzzes", "exposures") | {*replaced}
    for dataset in sorted(with_people):
        human_curves.derive(connection, dataset)
        run_statistics.derive(connection, objects, dataset)
    new_runs: dict[str, list[str]] = dict(
        run("select dataset, list(run order by position) from scratch.new_runs group by 1").fetchall()
    )
    for dataset, names in new_runs.items():
        if dataset not in with_people:
            run_statistics.derive(connection, objects, dataset, names)
    dataset_of = dict(run("select run, dataset from scratch.added_gradings").fetchall())
    for name, grading in added:
        if dataset_of[name] not in with_people:
            run_statistics.derive(connection, objects, dataset_of[name], [name], [grading])
    for dataset in sorted(rebased):
        difficulty.derive_accuracies(connection, objects, dataset)
        difficulty.derive(connection, dataset)
    if shown and shown not in rebased:
        difficulty.add_accuracies(connection, objects, new_runs.get(shown, []))
        difficulty.derive(connection, shown)
    runs = [row[0] for row in run("select run from scratch.new_runs order by position").fetchall()]
    return UnpublishedCatalogue(
        connection, path, objects, {dataset: before.get(dataset) for dataset in datasets}, rebased, runs, added
    )


def _rebased(connection: duckdb.DuckDBPyConnection) -> set[str]:
    replaced = connection.execute("select dataset from scratch.replaced_people").fetchall()
    return _datasets(connection, "datasets", *PEOPLE, "answers") | {dataset for (dataset,) in replaced}


def _add_rows(connection: duckdb.DuckDBPyConnection, by: str | None) -> None:
    run = connection.execute
    if run("select 1 from scratch.new_datasets limit 1").fetchone():
        for table in ("questions", "clues", "attributes", "datasets"):
            run(f"delete from {table} where dataset in (select dataset from scratch.new_datasets)")
    if run("select 1 from scratch.replaced_people limit 1").fetchone():
        for table, what in PEOPLE.items():
            run(f"delete from {table} where dataset in (select dataset from scratch.replaced_people where what = '{what}')")
    for table in STORED:
        if table != "runs" and run(f"select 1 from scratch.new_{table} limit 1").fetchone():
            run(f"insert into {table} by name from scratch.new_{table}")
    if run("select 1 from scratch.new_exposures where not end_stated limit 1").fetchone():
        execute(
            connection,
            """delete from left_out_plays l where l.reason = $reason and exists (
                from scratch.new_exposures e where not e.end_stated
                and e.dataset = l.dataset and e.question_id = l.question_id and e.match_id = l.match_id)""",
            {"reason": human_curves.UNSTATED_LEFT_OUT},
        )
    execute(connection, "insert into runs by name select * replace ($by as imported_by) from scratch.new_runs", {"by": by})
    if run("select 1 from scratch.new_answers limit 1").fetchone():
        run("""update questions q set answer = v.answer from scratch.new_answers v
            where q.answer is null and q.dataset = v.dataset and q.question_id = v.question_id""")


def _add_responses(connection: duckdb.DuckDBPyConnection, objects: Objects) -> None:
    if not connection.execute("select 1 from scratch.new_runs limit 1").fetchone():
        return
    runs = connection.execute("""
        select r.dataset, r.run, min(s.row), max(s.row)
        from scratch.responses_graded s join scratch.runs_to_store r on r.n = s.run_number
        group by all order by 3""").fetchall()

    def write(first: int, last: int, path: Path) -> int:
        rows = f"from scratch.responses_graded where row between {first} and {last}"  # DuckDB copies the rows of a table in order
        return copy_rows(connection, "responses", rows, path, objects.form)

    parts = [objects.add("responses", dataset, name, partial(write, first, last)) for dataset, name, first, last in runs]
    record_objects(connection, parts)
    attributed = """select run from scratch.runs_to_store where n in (
        select run_number from scratch.responses_graded where attributes is not null) order by n"""
    for (name,) in connection.execute(attributed).fetchall():
        run_statistics.list_attributes(connection, objects, name)


def _find_same_answers(staging: Staging) -> None:
    """Warn of new runs that answer and are graded exactly as a run of another model, or raise ``Refused`` if that is wanted.

    The files of equal answers are equal, unless another version of DuckDB wrote one of them.
    """
    rows = staging.connection.execute("""
        select coalesce(new.file_name, ''), new.run, new.model, new.elicitation, first.run, first.model, first.elicitation
        from runs new join scratch.new_runs using (run) join objects own on own.run = new.run and own.kind = 'responses'
        join objects other on other.kind = own.kind and other.dataset = own.dataset and other.sha256 = own.sha256
        join runs first on first.run = other.run
        where first.withdrawn_at is null and first.position < new.position and first.model <> new.model
        qualify row_number() over (partition by new.run order by first.position) = 1 order by new.position""").fetchall()
    for file, run, model, elicitation, other, *name in rows:
        text = f"run {run} ({model}, {elicitation}) has exactly the answers of run {other} ({', '.join(name)})"
        if staging.refuse_same_answers:
            staging.report.problems.append(Problem(file, None, None, None, text, "same_answers"))
        else:
            staging.report.warn(text, "same_answers")
    staging.report.raise_problems()


def _datasets(connection: duckdb.DuckDBPyConnection, *tables: str) -> set[str]:
    sql = " union ".join(f"select dataset from scratch.new_{table}" for table in tables)
    return {dataset for (dataset,) in connection.execute(sql).fetchall()}


def _fit_to_replaced(connection: duckdb.DuckDBPyConnection, objects: Objects, dataset: str) -> None:
    """Delete people's rows on questions that are gone, and withdraw runs that answered them or cannot be graded any more."""
    run = connection.execute
    for table in PEOPLE:
        sql = f"""delete from {table} t where t.dataset = $d and not exists (
                select 1 from questions q where q.dataset = t.dataset and q.question_id = t.question_id)"""
        run(sql, {"d": dataset})
    sql = """update buzzes b set clue = f.clue from (
            select b.question_id, b.match_id, b.team, coalesce(min(c.clue) filter (c.word_end > b.word), max(c.clue)) as clue
            from buzzes b join clues c using (dataset, question_id) where b.dataset = $d group by all
        ) f where b.dataset = $d and b.question_id = f.question_id and b.match_id = f.match_id and b.team = f.team"""
    run(sql, {"d": dataset})
    ungraded = _grade_again(connection, objects, dataset)
    renew_gradings(connection, objects, dataset)
    responses = objects.relation("responses", stored_objects(connection, "responses", dataset=dataset))
    sql = f"""update runs set withdrawn_at = make_timestamp(epoch_us(now())) where withdrawn_at is null and (
            list_contains($ungraded::varchar[], run)
            or run in (select run from {responses} anti join clues using (dataset, question_id, clue)))"""
    run(sql, {"ungraded": ungraded})
    sql = """update runs r set missing_questions = greatest(f.total - r.questions, 0)
        from (select count(*)::integer as total from questions where dataset = $d) f where r.dataset = $d"""
    run(sql, {"d": dataset})


def _grade_again(connection: duckdb.DuckDBPyConnection, objects: Objects, dataset: str) -> list[str]:
    """Grade guesses again after questions were replaced, and return the runs with guesses that nothing grades any more."""
    run = connection.execute
    parts = stored_objects(connection, "responses", dataset=dataset)
    responses = objects.relation("responses", parts)
    guesses = run(f"{GUESSES.format(responses)} where {GRADED_BY_QUESTION.format('s')}").fetchall()
    execute_with(connection, grade_guesses(guesses), "create temp table regraded as from given")
    by_question = GRADED_BY_QUESTION.format("r")
    matching = f"{by_question} and g.question_id = r.question_id and g.guess is not distinct from r.guess"
    ungraded = run(f"select distinct r.run from {responses} r join regraded g on {matching} and g.correct is null").fetchall()
    changed = run(f"""select distinct r.run from {responses} r join regraded g on {matching}
        and g.correct is not null and (g.correct <> r.correct or g.graded <> r.graded)""").fetchall()

    def write(relation: str, path: Path) -> int:
        sql = f"""select r.* replace (coalesce(g.correct, r.correct) as correct,
                if(g.correct is null, r.graded, g.graded) as graded)
            from {relation} r left join regraded g on g.question_id = case when {by_question} then r.question_id end
                and g.guess is not distinct from r.guess
            order by r.file_row_number"""  # only equalities: with any other condition, DuckDB compares all rows with all
        return copy_rows(connection, "responses", sql, path, objects.form)

    regraded = {name for (name,) in changed}
    relations = {part.run: objects.relation("responses", [part], numbered=True) for part in parts if part.run in regraded}
    added = [objects.add("responses", dataset, name, partial(write, sql)) for name, sql in relations.items()]
    record_objects(connection, added)
    run("drop table regraded")
    return [name for (name,) in ungraded]
