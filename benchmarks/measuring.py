"""What all benchmarks share: seconds, processor seconds, memory, and the line that describes the machine."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[1]
TICKS = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass
class Timings:
    """Timings of repetitions of some work.

    Attributes:
        seconds: of each repetition.
        processor: processor seconds of each repetition.
    """

    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def percentile(self, q: float) -> float:
        """Return a percentile of the seconds, ``q`` from 0 to 100."""
        return float(np.percentile(self.seconds, q))

    @property
    def cost(self) -> float:
        """Mean processor seconds of a repetition."""
        return float(np.mean(self.processor))

    @contextmanager
    def repetition(self, processor_seconds: Callable[[], float] = time.process_time) -> Iterator[None]:
        """Time the block, unless it fails.

        Args:
            processor_seconds: a clock of processor seconds: of this process, unless another one does the work.
        """
        began, busy = time.perf_counter(), processor_seconds()
        yield
        self.seconds.append(time.perf_counter() - began)
        self.processor.append(processor_seconds() - busy)


def timed(work: Callable[[], object], repeat: int = 1) -> Timings:
    """Repeat some work in this process, and time each repetition."""
    timings = Timings()
    for _ in range(repeat):
        with timings.repetition():
            work()
    return timings


def least_processor_seconds(work: Callable[[], object], repeat: int = 5) -> float:
    """Return the least processor seconds of some work. Other programs lengthen all repetitions except the best one."""
    return min(timed(work, repeat).processor)


# -- other processes ---------------------------------------------------------------------------------------------------


def descendants(pid: int) -> list[int]:
    """Return the ids of the processes that a process started, and of all that these started, in ascending order."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        if fields := _stat(int(stat.parent.name)):
            parents[int(stat.parent.name)] = int(fields[1])
    children = {pid}
    while new := {child for child, parent in parents.items() if parent in children} - children:
        children |= new
    return sorted(children - {pid})


def processor_seconds(pids: Sequence[int]) -> float:
    """Return the processor seconds that some processes have used so far. Processes that have ended count as 0."""
    return sum((int(fields[11]) + int(fields[12])) / TICKS for pid in pids if (fields := _stat(pid)))


def processor_seconds_with_children(pid: int) -> float:
    """Return the processor seconds of a process and its descendants so far, including those that have ended."""
    pids = [pid, *descendants(pid)]
    return sum(sum(map(int, fields[11:15])) / TICKS for pid in pids if (fields := _stat(pid)))


def resident_bytes(pid: int) -> int:
    """Return the resident bytes of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE_BYTES
    except (OSError, IndexError):
        return 0


def peak_bytes(pid: int | str = "self") -> int:
    """Return the most resident bytes that a process ever had. getrusage would count the process that started it, too."""
    return int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0]) * 1024


def _stat(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on; an empty list if the process has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return []


# -- reports -----------------------------------------------------------------------------------------------------------


def write_figures(file: Path, arguments: Sequence[str], environment: Mapping[str, str], report: Callable[[Path], str]) -> int:
    """Run pytest; ``report`` makes a text of the figures that the tests left in a folder. Write it if they passed.

    In the arguments, ``{folder}`` stands for the folder. Returns pytest's exit code.
    """
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable,
            "-m",
            "pytest",
            *(argument.replace("{folder}", folder) for argument in arguments),
            *sys.argv[1:],
        ]
        code = subprocess.run(command, check=False, cwd=ROOT, env=os.environ | environment | {"SOAK_FIGURES": folder}).returncode
        text = report(Path(folder))
    if code == 0:
        file.write_text(text, encoding="utf-8")
    print(text)
    return code


def machine() -> str:
    """Describe the day, the machine and its load. Figures mean nothing without them."""
    memory = PAGE_BYTES * os.sysconf("SC_PHYS_PAGES") / 2**30
    return (
        f"{date.today()}, {os.cpu_count()} cores, {memory:.0f} GiB, {platform.system()} {platform.machine()}, Python "
        f"{platform.python_version()}, load average {os.getloadavg()[0]:.1f}"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[Any]], texts: int = 1) -> list[str]:
    """Return the lines of a table. The first ``texts`` columns are texts, the others are numbers."""
    rule = ["---"] * texts + ["---:"] * (len(header) - texts)
    return [f"| {' | '.join(map(str, row))} |" for row in (header, rule, *rows)]
