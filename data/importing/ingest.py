"""Import: file -> reader -> contract -> checks and grading -> statistics -> store. All of it or nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import duckdb

from data import human_curves, statistics
from data.importing import run_statistics
from data.importing.checks import run_checks
from data.importing.grading import grade_guesses
from data.importing.incoming_file import Incoming
from data.importing.report import Report, refuse
from data.importing.staging import STORED, ImportOptions, Staging, open_staging
from data.importing.table_files import LARGEST
from data.polars_frames import ArrowStream, literal
from data.readers import reader_for
from data.store import GenerationStore, StoreError, StoreMoved
from data.store.revisions import renew

NOT_RUNS = ("datasets", "exposures", "buzzes", "votes")  # what a file can bring beside runs
GRADED_BY_QUESTION = "r.graded not in ('file', 'person', 'failed')"
NEW_RESPONSES = run_statistics.NumberedResponses(
    "incoming.responses_graded", "incoming.runs_to_store", "incoming.numbered_questions"
)
Progress = Callable[[str, int, int], None]  # called with the current step in words, steps done, steps in all


def import_paths(
    store: GenerationStore,
    paths: Sequence[Path],
    options: ImportOptions,
    *,
    form: str | None = None,
    names: Sequence[str] | None = None,
    by: str | None = None,
    only_runs: bool = False,
    largest: int = LARGEST,
    progress: Progress = lambda what, done, total: None,
) -> Report:
    """Import files, folders and zips together: all of them or none.

    Args:
        store: where to.
        paths: in order; later ones may answer questions of earlier ones.
        options: what the analyst states beside the files.
        form: key of a format; None to recognise the format of each path.
        names: what reports call the paths, where their own names mean nothing.
        by: name of the token of an upload.
        only_runs: refuse anything but runs of one existing dataset.
        largest: bytes that the packed files may unpack to.
        progress: called before each step.

    Returns:
        What was imported.

    Raises:
        Refused: with every problem; the store is unchanged.
        StoreError: the store or the machine does not allow it; the message says what to do.
    """
    steps = len(paths) + 2
    while True:
        version = store.version()
        try:
            with open_staging(store, largest) as staging:
                read_and_check(staging, paths, options, form, names, progress)
                if only_runs:
                    answered_dataset(staging, paths, names)
                if staging.changes():
                    progress("storing", steps - 1, steps)
                    staging.close()
                    store.write(partial(publish, scratch=staging.path, by=by), expect=version)
                progress("done", steps, steps)
                return staging.report
        except StoreMoved:
            continue  # another process wrote in between: check against the new version
        except duckdb.OutOfMemoryException as error:
            raise StoreError(
                f"the import needs more memory than it may have; allow more, or divide the file ({error})"
            ) from error
        except (duckdb.IOException, OSError) as error:
            if store.version() != version:
                continue  # other processes wrote so often that this version was removed
            raise StoreError(f"the import cannot work with its files: {error}") from error


def read_and_check(
    staging: Staging,
    paths: Sequence[Path],
    options: ImportOptions,
    form: str | None,
    names: Sequence[str] | None,
    progress: Progress,
) -> None:
    """Read files into a scratch database and work out what they would add to the store. Raises ``Refused``."""
    steps = len(paths) + 2
    for done, path in enumerate(paths):
        name = names[done] if names else None
        progress(f"reading {name or path.name}", done, steps)
        with staging.report.collecting():
            _read(Incoming(path, staging, name), staging, options, form)
    if staging.report.unread:
        staging.report.raise_problems()
    progress("checking and grading", steps - 2, steps)
    run_checks(staging, options)


def _read(incoming: Incoming, staging: Staging, options: ImportOptions, form: str | None) -> None:
    reader = reader_for(incoming, form)
    if form is None:
        staging.report.lines.append(f"{incoming.name}: read as {reader.KEY}")
    staging.report.formats.append(reader.KEY)
    reader.read(incoming, staging, options)


def answered_dataset(staging: Staging, paths: Sequence[Path], names: Sequence[str] | None) -> str:
    """The dataset that the files answer. Raises ``Refused`` unless they bring runs of one dataset and nothing else."""
    name = ", ".join(names or [path.name for path in paths])
    for what in NOT_RUNS:
        row = staging.connection.execute(f"select dataset from new_{what} limit 1").fetchone()
        if row:
            raise refuse(name, f"this brings {what} for dataset {row[0]!r}, not only answers; import it first")
    datasets: list[str] = [
        row[0] for row in staging.connection.execute("select distinct dataset from responses_read order by 1").fetchall()
    ]
    if len(datasets) != 1:
        content = f"answers to several datasets ({', '.join(datasets)}); give one at a time" if datasets else "no answers"
        raise refuse(name, f"this holds {content}")
    return datasets[0]


def publish(connection: duckdb.DuckDBPyConnection, scratch: Path, by: str | None) -> None:
    """Add the ``new_*`` tables of a scratch database to a new generation, and derive what depends on them."""
    run = connection.execute
    run(f"attach {literal(scratch)} as incoming (read_only)")
    replaced = run("select dataset from datasets semi join incoming.new_datasets using (dataset)").fetchall()
    for (dataset,) in replaced:
        for table in ("datasets", "questions", "clues"):
            run(f"delete from {table} where dataset = $d", {"d": dataset})
    for what, tables in (("buzzes", ("buzzes", "exposures")), ("votes", ("votes",))):
        for table in tables:
            run(
                f"delete from {table} where dataset in (select dataset from incoming.replaced_people where what = $what)",
                {"what": what},
            )
    run("set disabled_optimizers = 'join_order,build_side_probe_side'")  # keeps responses in the order of runs and questions
    for table in STORED:
        if table != "responses":
            rows = f"from incoming.new_{table}"
            if table == "runs":
                rows = f"select * replace ($by as imported_by) {rows}"
            run(f"insert into {table} by name {rows}", {"by": by} if table == "runs" else None)
    with_people = _datasets(connection, "buzzes", "exposures") | {dataset for (dataset,) in replaced}
    with _storing_responses(connection, beside=not with_people):
        for dataset in sorted(_datasets(connection, "runs") - with_people):
            run_statistics.derive_new(connection, dataset, NEW_RESPONSES)
    run("reset disabled_optimizers")
    run("""update questions q set answer = v.answer from incoming.new_answers v
        where q.answer is null and q.dataset = v.dataset and q.question_id = v.question_id""")
    for (dataset,) in replaced:
        _fit_to_replaced(connection, dataset)
    for dataset in sorted(with_people):
        human_curves.derive(connection, dataset)
        run_statistics.derive(connection, dataset)
    for dataset in sorted(with_people | _datasets(connection, "datasets", "runs")):
        statistics.derive_difficulty(connection, dataset)
    replaced_people = {row[0] for row in run("select dataset from incoming.replaced_people").fetchall()}
    renew(
        connection,
        datasets=_datasets(connection, "answers", *(set(STORED) - {"responses"})),
        bases=with_people | replaced_people | _datasets(connection, "datasets"),
    )


@contextmanager
def _storing_responses(connection: duckdb.DuckDBPyConnection, *, beside: bool) -> Iterator[None]:
    """Store the new responses, either before the body of the ``with`` or, with ``beside``, in parallel to it.

    In parallel they are a transaction of their own, which the body does not see. That is safe: a generation is opened by
    readers only once it is complete.
    """
    insert = "insert into responses by name from incoming.new_responses"
    if not beside:
        connection.execute(insert)
        yield
        return
    database, threads = connection.execute("select current_database(), current_setting('threads')::integer").fetchall()[0]
    with connection.cursor() as other, ThreadPoolExecutor(1) as thread:
        other.execute(f'use "{database}"')
        # A thread that runs a query works on it, too. With a thread too many, DuckDB keeps a processor busy waiting.
        connection.execute(f"set threads = {max(1, threads - 1)}")
        try:
            stored = thread.submit(other.execute, insert)
            yield
            stored.result()
        except BaseException:
            other.interrupt()
            raise
        finally:
            connection.execute(f"set threads = {threads}")


def _datasets(connection: duckdb.DuckDBPyConnection, *tables: str) -> set[str]:
    """Datasets with new rows in any of these tables."""
    return {
        row[0] for table in tables for row in connection.execute(f"select distinct dataset from incoming.new_{table}").fetchall()
    }


def _fit_to_replaced(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Fit people's rows and runs to replaced questions; runs that answered questions that are gone are withdrawn."""
    run = connection.execute
    for table in ("exposures", "buzzes", "votes"):
        run(
            f"""delete from {table} t where t.dataset = $d and not exists (
                select 1 from questions q where q.dataset = t.dataset and q.question_id = t.question_id)""",
            {"d": dataset},
        )
    run(
        """update buzzes b set clue = f.clue from (
            select b.question_id, b.match_id, b.team, coalesce(min(c.clue) filter (c.word_end > b.word), max(c.clue)) as clue
            from buzzes b join clues c using (dataset, question_id) where b.dataset = $d group by all
        ) f where b.dataset = $d and b.question_id = f.question_id and b.match_id = f.match_id and b.team = f.team""",
        {"d": dataset},
    )
    _grade_again(connection, dataset)
    run(
        """update runs set withdrawn_at = make_timestamp(epoch_us(now())) where withdrawn_at is null and run in (
            select run from responses r anti join clues c using (dataset, question_id, clue) where r.dataset = $d
            union select run from ungraded)""",
        {"d": dataset},
    )
    run("drop table ungraded")
    run(
        """update runs r set missing_questions = greatest(f.total - r.questions, 0)
        from (select count(*)::integer as total from questions where dataset = $d) f where r.dataset = $d""",
        {"d": dataset},
    )


def _grade_again(connection: duckdb.DuckDBPyConnection, dataset: str) -> None:
    """Grade guesses again by replaced questions; table ``ungraded`` lists the runs with guesses that have no answer now."""
    run = connection.execute
    guesses = run(
        f"""select distinct d.kind, r.dataset, r.question_id, r.guess, q.answer, q.sex, q.minimum_age, q.radius from responses r
        join datasets d using (dataset) join questions q using (dataset, question_id)
        where r.dataset = $d and {GRADED_BY_QUESTION}""",
        {"d": dataset},
    ).fetchall()
    graded = ArrowStream(grade_guesses(guesses))
    run("create temp table regraded as select * from graded")
    del graded
    matching = "g.question_id = r.question_id and g.guess is not distinct from r.guess"
    run("create temp table ungraded as select distinct r.run from responses r, regraded g "
        f"where r.dataset = $d and {GRADED_BY_QUESTION} and g.correct is null and {matching}", {"d": dataset})  # fmt: skip
    run(f"""update responses r set correct = g.correct, graded = g.graded from regraded g
        where r.dataset = $d and {GRADED_BY_QUESTION} and g.correct is not null and {matching}""", {"d": dataset})  # fmt: skip
    run("drop table regraded")
