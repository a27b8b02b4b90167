"""What all benchmarks share: seconds, seconds of processors, memory, and the line that names the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Timings:
    """Repetitions of some work.

    Attributes:
        seconds: of each repetition.
        processor: seconds of processors of each repetition.
    """

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def percentile(self, q: float) -> float:
        """Percentile of the seconds, ``q`` from 0 to 100."""
        return float(np.percentile(self.seconds, q))

    @property
    def cost(self) -> float:
        """Mean seconds of processors of a repetition."""
        return float(np.mean(self.processor))

    @contextmanager
    def repetition(self, processor_seconds: Callable[[], float] = time.process_time) -> Iterator[None]:
        """Time what happens within, unless it fails.

        Args:
            processor_seconds: a clock, of this process unless another one does the work.
        """
        began, busy = time.perf_counter(), processor_seconds()
        yield
        self.seconds.append(time.perf_counter() - began)
        self.processor.append(processor_seconds() - busy)


def timed(work: Callable[[], object], repeat: int = 1) -> Timings:
    """Repeat some work of this process."""
    timings = Timings()
    for _ in range(repeat):
        with timings.repetition():
            work()
    return timings


def least_processor_seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Least seconds of processors that some work takes: what other programs do adds to all but the best repetition."""
    return min(timed(work, repeat).processor)


# -- other processes ---------------------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Processes that a process started, and those that these started, in order of their ids."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        if fields := _stat(int(stat.parent.name)):
            parents[int(stat.parent.name)] = int(fields[1])
    children = {pid}
    while new := {child for child, parent in parents.items() if parent in children} - children:
        children |= new
    return sorted(children - {pid})


def processor_seconds(pids: Sequence[int]) -> float:
    """Seconds of processors that some processes have used so far; those that have ended count as 0."""
    return sum((int(fields[11]) + int(fields[12])) / TICKS for pid in pids if (fields := _stat(pid)))


def processor_seconds_with_children(pid: int) -> float:
    """Seconds of processors that a process and its descendants have used so far, those that have ended among them."""
    pids = [pid, *descendants(pid)]
    return sum(sum(map(int, fields[11:15])) / TICKS for pid in pids if (fields := _stat(pid)))


def resident_bytes(pid: int) -> int:
    """Resident bytes of a process; 0 where it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def peak_bytes(pid: int | str = "self") -> int:
    """Most resident bytes that a process ever had; getrusage would count the process that started it, too."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def _stat(pid: int) -> list[str]:
    """Fields of /proc/PID/stat from the state on; none where the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


# -- reports -----------------------------------------------------------------------------------------------------------


def machine() -> str:
    """Day, machine and load: figures without them mean nothing."""
    memory = PAGE_BYTES * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{date.today()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load average {os.getloadavg()[0]:.1f}"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> list[str]:
    """Lines of a table, of which the first ``texts`` columns are texts and the others are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(header) - texts)
    return [f"| {' | '.join(map(str, row))} |" for row in (header, rule, *rows)]
