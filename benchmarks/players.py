"""Two hundred players of a race at once: milliseconds to each answer, and the cost for the server; writes players.md.

    python -m benchmarks.players                                    two minutes
    python -m benchmarks.players --seconds 30 --players 50          a quick look (writes no file unless --out is given)

The players run in a separate process, and share the machine with the server. Each player asks for words twice a second, buzzes,
thinks for two to six seconds, answers, sees what models said, and goes on.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import descendants, machine, markdown_table, processor_seconds, resident_bytes
from clueline.data.importing.seed import seed
from clueline.data.store import open_store
from tests.helpers.race_players import lost_entries, outcome, start_players
from tests.helpers.serving import run_cli, start_server

OUT = Path(__file__).with_suffix(".md")
PLAYERS, FULL = 200, 120  # players, seconds
SLOW = 100  # milliseconds: limit of p95 of a buzz
NAMES = {
    "join": "join", "start": "start a question", "words": "ask for words", "buzz": "buzz", "answer": "answer",
    "models": "see what models said",
}  # fmt: skip


def measure(folder: Path, players: int, seconds: int) -> dict[str, Any]:
    """Serve, let players play, and check what is in the log."""
    store = open_store(folder / "store", threads=2)
    seed(store)
    places = players * 3 // 2 + 1  # all players have one address, and a third of the places is kept for others
    server = start_server(folder / "store", folder / "log", workers=2)
    try:
        invited = run_cli(
            "invite", "pyramid", "--mode", "race", "--questions", "24", "--players", str(places), "--until", "2100-01-01",
            "--base", server.address, store=folder / "store",
        )  # fmt: skip
        link = invited.stdout.strip()
        processes = [server.process.pid, *descendants(server.process.pid)]
        before = processor_seconds(processes)
        played: dict[str, Any] = outcome(start_players(link, players, seconds))
        played["processor"] = processor_seconds(processes) - before
        played["memory"] = sum(map(resident_bytes, processes))
    finally:
        server.stop()
    with closing(store):
        played["lost"] = len(lost_entries(store.register.play_log(), link, played["acknowledged"]))
    return played


def report(played: dict[str, Any], players: int, seconds: int, began: str) -> str:
    """Return what was measured as Markdown."""
    took = {name: 1000 * np.array(played["took"][name]) for name in NAMES if name in played["took"]}
    rows = [
        [NAMES[name], f"{len(times):,}", *(f"{value:,.0f}" for value in (*np.percentile(times, (50, 95, 99)), times.max()))]
        for name, times in took.items()
    ]
    requests = sum(map(len, took.values()))
    p95 = float(np.percentile(took["buzz"], 95))
    verdict = "reached" if p95 < SLOW else "missed"
    refused = ", ".join(f"{count} of {why}" for why, count in played["refused"].items()) or "none"
    return "\n".join([
        f"# {players} players of a race at once",
        "",
        f"Written by `benchmarks/players.py`: {began}; load average {os.getloadavg()[0]:.1f} at the end. Two workers, "
        f"{seconds} s; players and server share the machine; the load average includes other programs. Times in milliseconds.",
        "",
        *markdown_table(["", "answers", "p50", "p95", "p99", "most"], rows),
        "",
        f"The server used {played['processor']:.0f} s of processor time, {1000 * played['processor'] / requests:.1f} ms for each "
        f"answer, and {played['memory'] / 1e6:,.0f} MB of memory.",
        "",
        f"p95 of a buzz: {p95:.0f} ms (goal: {SLOW} ms: {verdict}). Buzzes, starts and answers acknowledged: "
        f"{len(played['acknowledged']):,}; lost: {played['lost']}. Refused: {refused}.",
        "",
    ])  # fmt: skip


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--players", type=int, default=PLAYERS)
    parser.add_argument("--seconds", type=int, default=FULL)
    parser.add_argument("--out", type=Path)
    chosen = parser.parse_args()
    began = machine()
    with tempfile.TemporaryDirectory() as folder:
        text = report(measure(Path(folder), chosen.players, chosen.seconds), chosen.players, chosen.seconds, began)
    print(text)
    out = chosen.out or (OUT if (chosen.players, chosen.seconds) == (PLAYERS, FULL) else None)
    if out:
        out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
