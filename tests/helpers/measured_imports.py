"""Reads files as uploads in a process of its own, and says of each what became of it, how soon, and with how much memory.

    python -m tests.helpers.measured_imports STORE MEMORY_MB PATH...

Prints a JSON object for each file. The memory is the peak of all processes that read files so far, as the system counted it.
"""

import json
import resource
import sys
import time
from pathlib import Path

from clueline.dashboard.uploads.import_process import ImportJob, ImportProcesses, Rejected, TooMuchMemory
from clueline.data.importing.staging import ImportOptions


def main(store, memory_mb, *paths):
    processes = ImportProcesses()
    for path in map(Path, paths):
        options = ImportOptions(dataset="tone", model="m")
        job = ImportJob(store, str(path), path.name, options, "ann", False, 2**33, 1, memory_mb=int(memory_mb))
        began = time.monotonic()
        outcome = processes.run(job)
        says = outcome.message if isinstance(outcome, TooMuchMemory) else ""
        if isinstance(outcome, Rejected):
            says = outcome.rows[0].reason
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
        print(json.dumps({"says": says, "seconds": time.monotonic() - began, "peak": peak}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
