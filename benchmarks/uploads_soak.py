"""Run the long tests of uploads and write what they measured: ``python -m benchmarks.uploads_soak``, or ``make soak``.

Arguments are pytest's (``-k kills``). Figures of tests that did not run are left out, so each table comes from a single day.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from xml.etree import ElementTree

from benchmarks.measuring import write_figures

FILE = Path(__file__).with_name("uploads-soak.md")
TESTS = ("tests/soak", "tests/data/readers/test_hostile_files.py", "tests/data/readers/test_readers_fuzzed.py")
TITLES = {
    "kills": "Killed at random points",
    "disk": "Disks that run full",
    "silent": "Crowds and slow clients",
    "readers": "Crowds and slow clients",
    "crowd": "Crowds and slow clients",
    "headers": "Crowds and slow clients",
    "unread": "Crowds and slow clients",
    "trickle": "Crowds and slow clients",
    "players": "Players of a race",
}


def hostile(report: Path) -> list[tuple[str, str]]:
    """Return the figures of the hostile files, from the properties that their tests left in a JUnit report."""
    cases = []
    for case in ElementTree.parse(report).iter("testcase"):
        properties = {item.get("name"): item.get("value", "") for item in case.iter("property")}
        if "outcome" in properties:
            cases.append((case.get("name", ""), properties))
    if not cases:
        return []
    slowest = max(cases, key=lambda case: float(case[1]["seconds"]))
    largest = max(cases, key=lambda case: int(case[1]["mib"]))

    def named(case: tuple[str, dict[str | None, str]]) -> str:
        return case[0].partition("[")[2].rstrip("]").strip("'\"") or case[0]

    return [
        ("malformed and hostile files", f"{len(cases):,}"),
        ("refused with a reason", f"{sum(properties['outcome'] == 'refused' for _, properties in cases):,}"),
        ("imported right", f"{sum(properties['outcome'] == 'imported' for _, properties in cases):,}"),
        ("slowest", f"{float(slowest[1]['seconds']):.1f} s of the processor ({named(slowest)})"),
        ("most memory added", f"{largest[1]['mib']} MiB ({named(largest)})"),
    ]


def table(folder: Path) -> str:
    """Return the figures that the tests left in a folder as Markdown."""
    sections: dict[str, list[tuple[str, str]]] = {"Hostile files": hostile(folder / "report.xml")}
    for topic, title in TITLES.items():
        if (folder / f"{topic}.json").exists():
            sections.setdefault(title, []).extend(json.loads((folder / f"{topic}.json").read_text(encoding="utf-8")))
    lines = [
        "# Uploads under attack",
        "",
        f"Written by `make soak` on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}.",
    ]
    for title, rows in sections.items():
        if rows:
            lines += ["", f"## {title}", "", "| | |", "|---|---|", *(f"| {what} | {figure} |" for what, figure in rows)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    options = ("-q", "-m", "soak or not soak", "-o", "junit_family=xunit1", "--junitxml={folder}/report.xml")
    sys.exit(write_figures(FILE, (*options, *TESTS), {"HYPOTHESIS_PROFILE": "soak"}, table))
