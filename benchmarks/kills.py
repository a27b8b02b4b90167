"""Kill each kind of change of a store at random moments: ``python -m benchmarks.kills``, which writes ``kills.md``.

``CLUSTER_KILLS`` is the number of kills of each kind of change and store, 100 by default. Arguments are pytest's.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.measuring import write_figures

FILE = Path(__file__).with_name("kills.md")
TEST = "tests/cluster/test_change_kills.py"  # fails if a change is lost, is there in part, or is not in the audit


def report(folder: Path) -> str:
    """Return the figures that the tests left in a folder as Markdown."""
    rows = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")]
    lines = [
        "# Changes that were killed",
        "",
        f"Written by `python -m benchmarks.kills` on {datetime.now(UTC):%Y-%m-%d}: {os.cpu_count()} cores, {platform.system()} "
        f"{platform.machine()}, Python {platform.python_version()}. The process that makes a change is killed with `kill -9` at "
        "a random moment before it acknowledges the change. *After* means that the change was in force nevertheless.",
        "",
        "| write path | kind of store | kills | killed before / after the change | lost or in part | audit complete |",
        "|---|---|--:|--:|--:|---|",
    ]
    for change, kind, action, before, after in sorted(rows, key=lambda row: (row[1], row[0])):
        audit = "yes" if action else "not in the audit"
        lines.append(f"| {change} | {kind} | {before + after} | {before} / {after} | 0 | {audit} |")
    kills = sum(before + after for *_, before, after in rows)
    return "\n".join([*lines, "", f"In all: {kills:,} kills of {len(rows)} kinds of change and store."]) + "\n"


if __name__ == "__main__":
    kills = os.environ.get("CLUSTER_KILLS", "100")
    sys.exit(write_figures(FILE, ("-q", "-m", "cluster", TEST), {"CLUSTER_KILLS": kills}, report))
