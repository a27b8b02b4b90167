"""A limit on the time of a query, which also ends when nobody waits for its result any more.

DuckDB is interrupted from another thread. Computations on arrays cannot be interrupted: they call ``check_time_limit`` at each
step, such as a metric or a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

import duckdb

WATCH_INTERVAL = 0.5  # seconds between two checks whether somebody still waits
INTERRUPT_AGAIN = 0.1  # seconds between interrupts; one that comes between two statements has no effect


class TimeLimitExceeded(Exception):
    """A query took too long and was ended."""


class Abandoned(Exception):
    """A query was ended because nobody waits for its result."""


@dataclass
class _Limit:
    """When the query of a thread has to end, in seconds of ``time.monotonic``; ``reason`` is set once it has to."""

    deadline: float
    reason: type[TimeLimitExceeded | Abandoned] | None = None


_limit: ContextVar[_Limit | None] = ContextVar("limit", default=None)


@contextmanager
def time_limit(seconds: float, interrupt: Callable[[], object], abandoned: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """End the work of this thread after some seconds, or when it is abandoned: raise ``TimeLimitExceeded`` or ``Abandoned``.

    Both functions are called from another thread: ``interrupt``, perhaps several times, ends DuckDB's work for this thread;
    ``abandoned`` says whether nobody waits for the result any more.
    """
    limit, done = _Limit(time.monotonic() + seconds), threading.Event()

    def watch() -> None:
        while not done.wait(INTERRUPT_AGAIN if limit.reason else min(WATCH_INTERVAL, max(0, limit.deadline - time.monotonic()))):
            if time.monotonic() >= limit.deadline:
                limit.reason = TimeLimitExceeded
            elif limit.reason is None and abandoned():
                limit.reason = Abandoned
            if limit.reason:
                interrupt()

    watcher = threading.Thread(target=watch, name="time limit", daemon=True)
    token = _limit.set(limit)
    watcher.start()
    try:
        yield
    except duckdb.InterruptException:
        raise limit.reason or TimeLimitExceeded from None
    finally:
        _limit.reset(token)
        done.set()
        watcher.join()


def check_time_limit() -> None:
    """Raise ``TimeLimitExceeded`` or ``Abandoned`` if the time is up or nobody waits; do nothing where no limit was set."""
    limit = _limit.get()
    if limit is None:
        return
    if limit.reason:
        raise limit.reason
    if time.monotonic() > limit.deadline:
        raise TimeLimitExceeded
