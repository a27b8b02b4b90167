#!/usr/bin/env python3
"""Imports and cold reads, compared with the first version of Clueline on the same data; writes first_version.md.

The code of version 0.1.0 comes from the history of this repository, so a clone must contain it. It needs two libraries that
Clueline no longer uses; pip installs them into a folder that is deleted afterwards. Each read is by a fresh process. The versions
take turns. Needs the development packages: .venv/bin/python -m benchmarks.first_version
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from benchmarks.measuring import machine, markdown_table
from benchmarks.synthetic_data import write, write_bundle

ROOT = Path(__file__).resolve().parents[1]
OUT = Path(__file__).with_suffix(".md")
FIRST = "c59f952"  # the last commit before the store, the names and the pages were redone
LIBRARIES = ("cachelib~=0.17", "flask-caching~=2.5")
CLUES, RUNS = 4, 50
METRICS = "brier,accuracy,overconfidence,ece,r_over,r_under,mean_confidence,calscore"
FIRST_SHOWN = "one question"  # the best thresholds of all runs are stored and read for the questions after it
READS = {
    "leaderboard of 8 metrics": "/api/v1/leaderboard?dataset=large&difficulty=0..{end}&metrics=" + METRICS,
    "reliability diagrams": "/api/v1/reliability?dataset=large&difficulty=0..{end}",
    FIRST_SHOWN: "/api/v1/questions/large/q{turn:07}",
}
READ = """
import sys, time
from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
client = create_app(Settings(store=sys.argv[1], workers=1)).test_client()
began = time.process_time()
answer = client.get(sys.argv[2])
assert answer.status_code == 200, answer.data[:500]
print(time.process_time() - began)
"""


def extract_first_version(folder: Path) -> None:
    """Put the code of the first version and the libraries that it needs into a folder."""
    archive = subprocess.run(["git", "archive", FIRST], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "libraries"), *LIBRARIES]
    subprocess.run(command, check=True)


def run(code: Path, store: Path, *arguments: str) -> str:
    """Run Python with the code of one version and a store, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CLUELINE_")}
    environment |= {
        "PYTHONPATH": os.pathsep.join(map(str, (code, code / "libraries", code / "scripts" / "package"))),
        "CLUELINE_STORE": str(store),
    }
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=code, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout


def seconds_of_children() -> float:
    """Return the processor seconds of processes that this one started and that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measure(responses: int, times: int) -> dict[str, dict[str, float]]:
    """Return processor seconds by what is done and by version; for reads, the minimum of some repetitions."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        extract_first_version(folder / "0.1.0")
        versions = {"0.1.0": folder / "0.1.0", "today": ROOT}
        questions = responses // (CLUES * RUNS)
        bundle, answers = write_bundle(folder / "bundle", "large", questions), folder / "answers.parquet"
        write(answers, questions, responses)
        result: dict[str, dict[str, float]] = {"import": {}}
        stores = {version: folder / f"store {version}" for version in versions}
        for version, code in versions.items():
            run(code, stores[version], "-m", "dashboard", "import", str(bundle))
            began = seconds_of_children()
            run(code, stores[version], "-m", "dashboard", "import", str(answers), "--dataset", "large")
            result["import"][version] = seconds_of_children() - began
            print(version, "imported", round(result["import"][version], 1), flush=True)
        for what, address in READS.items():
            seconds: dict[str, list[float]] = {version: [] for version in versions}
            for turn in range(times):
                # Each turn asks for something else, so that no result on disk can be reused.
                query = address.format(turn=turn, end=round(0.99 - turn / 1000, 3))
                for version, code in versions.items():
                    seconds[version].append(float(run(code, stores[version], "-c", READ, str(stores[version]), query)))
            if what == FIRST_SHOWN:  # computes what later reads take from disk
                result[f"{what}, the first after an import"] = {version: taken[0] for version, taken in seconds.items()}
                result[f"{what}, later ones"] = {version: min(taken[1:]) for version, taken in seconds.items()}
            else:
                result[what] = {version: min(taken) for version, taken in seconds.items()}
            print(what, seconds, flush=True)
        return result


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--responses", type=int, default=10_000_000)
    parser.add_argument("--times", type=int, default=3, help="repetitions of each read")
    options = parser.parse_args()
    result = measure(options.responses, options.times)
    rows = [
        [what, f"{taken['0.1.0']:.2f}", f"{taken['today']:.2f}", f"{taken['today'] / taken['0.1.0']:.2f}"]
        for what, taken in result.items()
    ]
    lines = [
        "# Compared with the first version",
        "",
        f"Written by `benchmarks/first_version.py`: {machine()}. {options.responses:,} responses of {RUNS} runs; the questions "
        f"have {CLUES} clues each. Processor seconds. For reads, the minimum of {options.times}, each in a process that has "
        "read nothing before.",
        "",
        *markdown_table(["What", "0.1.0", "today", "ratio"], rows),
    ]
    OUT.write_text("\n".join([*lines, ""]), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
