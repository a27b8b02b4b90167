"""Withdraws, restores and deletes runs. A withdrawn run is marked, and only such a run can be deleted."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import duckdb

from clueline.data.store import difficulty
from clueline.data.store.audit import AuditEvent, new_event
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.run_files import stored_objects
from clueline.data.store.store import Store


class NoSuchRun(Exception):
    """The store has no run with this id."""


class CannotRestore(Exception):
    """The questions that the run answered have changed; the message says how."""


class CannotDelete(Exception):
    """The run was not withdrawn."""


def withdraw(store: Store, run: str, by: str | None, reason: str | None = None) -> bool:
    """Mark a run as withdrawn. Returns False if it was already withdrawn. Raises ``NoSuchRun`` or ``StoreError``.

    ``by`` is the name of the caller's token, None for the operating-system user.
    """
    sql = """update runs set withdrawn_at = make_timestamp(epoch_us(now())), withdrawn_by = $by, withdrawn_reason = $reason
        where run = $run"""

    def change(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(sql, {"by": by, "reason": reason, "run": run})

    return _change(store, run, change, -1, partial(new_event, "withdrew", by, run=run, reason=reason))


def delete(store: Store, run: str, by: str | None) -> None:
    """Delete a withdrawn run with its grades, corrections and tags. Raises ``NoSuchRun``, ``CannotDelete`` or ``StoreError``.

    Its files are removed by the first sweep after which no kept version of the store names them. ``by`` is as for ``withdraw``.
    """

    def write(connection: duckdb.DuckDBPyConnection) -> tuple[str, str]:
        dataset, withdrawn = find_run(connection, run)
        if not withdrawn:
            raise CannotDelete(run)
        ((model,),) = connection.execute("select model from runs where run = $r", {"r": run}).fetchall()
        tables = "select table_name from duckdb_columns() where database_name = current_database() and column_name = 'run'"
        for (table,) in connection.execute(f"{tables} and not internal").fetchall():
            connection.execute(f"delete from {table} where run = $r", {"r": run})
        renew_revisions(connection, [dataset])
        return dataset, model

    store.write(write, lambda deleted: [new_event("deleted", by, dataset=deleted[0], run=run, model=deleted[1])])


def restore(store: Store, run: str, by: str | None = None) -> bool:
    """Remove the mark of a withdrawn run. Returns False if it was not withdrawn. ``by`` is as for ``withdraw``.

    Raises ``NoSuchRun``, ``StoreError`` or, if the questions were replaced and the new ones do not fit, ``CannotRestore``.
    """

    def change(connection: duckdb.DuckDBPyConnection) -> None:
        responses = store.objects.relation("responses", stored_objects(connection, "responses", runs=[run]))
        missing = f"select 1 from {responses} anti join clues using (dataset, question_id, clue) limit 1"
        gone = connection.execute(missing).fetchone()
        ungraded = connection.execute(
            f"""select 1 from {responses} r join questions q using (dataset, question_id)
            where r.graded in ('answer', 'prompt') and q.answer is null limit 1"""
        ).fetchone()
        if gone or ungraded:
            why = "it answers some that are gone" if gone else "nothing is left to grade it by"
            raise CannotRestore(f"the questions of its dataset were replaced, and {why}")
        sql = "update runs set withdrawn_at = null, withdrawn_by = null, withdrawn_reason = null where run = $r"
        connection.execute(sql, {"r": run})

    return _change(store, run, change, 1, partial(new_event, "restored", by, run=run))


def _change(
    store: Store,
    run: str,
    change: Callable[[duckdb.DuckDBPyConnection], None],
    sign: Literal[1, -1],
    event: Callable[..., AuditEvent],
) -> bool:
    """Restore a run that is withdrawn (sign 1), or withdraw one that is not (sign -1). ``event`` takes its dataset."""
    # Checked before the catalogue is copied, and again in the copy: another process may have been faster.
    dataset, withdrawn = find_run(store.snapshot().connection, run)
    if withdrawn != (sign == 1):
        return False

    def write(connection: duckdb.DuckDBPyConnection) -> bool:
        if find_run(connection, run)[1] != (sign == 1):
            return False
        change(connection)
        difficulty.add_accuracies(connection, store.objects, [run], sign)
        difficulty.derive(connection, dataset)  # it may depend on the runs that are not withdrawn
        renew_revisions(connection, [dataset])
        return True

    return store.write(write, lambda changed: [event(dataset=dataset)] if changed else [])


def find_run(connection: duckdb.DuckDBPyConnection, run: str) -> tuple[str, bool]:
    """Return the dataset of a run, and whether it is withdrawn. Raises ``NoSuchRun``."""
    row = connection.execute("select dataset, withdrawn_at is not null from runs where run = $r", {"r": run}).fetchone()
    if row is None:
        raise NoSuchRun(run)
    return row[0], row[1]
