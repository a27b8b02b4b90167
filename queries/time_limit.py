"""A limit on the time that a query may take.

DuckDB is interrupted from another thread. Computations on arrays cannot be: they call ``check_time_limit`` at each step, such as
a metric or a run.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import duckdb

INTERRUPT_AGAIN = 0.1  # seconds; an interrupt between two statements has no effect

_deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


class TimeLimitExceeded(Exception):
    """A query took too long and was ended."""


@contextmanager
def time_limit(seconds: float, interrupt: Callable[[], object]) -> Iterator[None]:
    """End what this thread does after some seconds.

    Args:
        seconds: from now.
        interrupt: ends what DuckDB does for this thread; called in another thread, perhaps several times.

    Raises:
        TimeLimitExceeded: the time is up.
    """
    done = threading.Event()

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            interrupt()
            wait = INTERRUPT_AGAIN

    watcher = threading.Thread(target=watch, name="time limit", daemon=True)
    token = _deadline.set(time.monotonic() + seconds)
    watcher.start()
    try:
        yield
    except duckdb.InterruptException:
        raise TimeLimitExceeded from None
    finally:
        _deadline.reset(token)
        done.set()
        watcher.join()


def check_time_limit() -> None:
    """End a computation whose time is up; do nothing where no limit was set. Raises ``TimeLimitExceeded``."""
    deadline = _deadline.get()
    if deadline is not None and time.monotonic() > deadline:
        raise TimeLimitExceeded
