#!/usr/bin/env python3
"""Time from a filter change to the last painted mark, for several ways to draw the same page; writes rendering.md.

The ways take turns, change by change, so that other load on the machine slows all of them. docs/rendering.md says which one was
chosen. Needs the development packages and a Chromium: .venv/bin/python -m benchmarks.rendering
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

import numpy as np  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from benchmarks.redraw import WATCH, once  # noqa: E402
from benchmarks.synthetic_data import write, write_bundle  # noqa: E402
from clueline.data.importing.ingest import import_paths  # noqa: E402
from clueline.data.importing.seed import seed  # noqa: E402
from clueline.data.importing.staging import ImportOptions  # noqa: E402
from clueline.data.store.store import open_store  # noqa: E402
from tests.helpers.page_rest import COUNT  # noqa: E402
from tests.helpers.serving import FLAGS, chromium, environment, free_port, start_server  # noqa: E402

VARIANTS = {
    "components": "Dash components, `dcc.Graph` and `Patch`",
    "grids": "the same, dash-ag-grid for tables",
    "fragments": "HTML fragments (idiomorph), `dcc.Graph`",
    "clueline": "Clueline: fragments in Dash's layout, `dcc.Graph(animate=...)` where it can",
}
CASES = (("/", "pyramid"), ("/", "many"), ("/reliability", "pyramid"), ("/reliability", "many"))
CHANGES = (("category", 0), ("category", 0), ("category", 1), ("category", 1), ("range", "ArrowLeft"), ("range", "ArrowRight"))
RUNS, QUESTIONS = 50, 300
STARTED = 60.0  # seconds that an app may take to start
TOO_SLOW = 6000.0  # ms; a variant that takes longer twice is not measured again


def serve(variant: str, store: Path, log: Path, path: str, query: str) -> tuple[str, Callable[[], Any]]:
    """Start a variant of a page. Return its address and a function that stops it."""
    if variant == "clueline":
        served = start_server(store, log, workers=1)
        return f"{served.address}{path}?{query}", served.stop
    port = free_port()
    command = [sys.executable, "-m", "benchmarks.rendering_variants.apps", variant, str(store), str(port), path, query]
    with log.open("wb") as out:
        process = subprocess.Popen(command, cwd=ROOT, env=environment(), stdout=out, stderr=subprocess.STDOUT)

    def stop() -> None:
        process.terminate()
        process.wait()

    address = f"http://127.0.0.1:{port}/"
    until = time.monotonic() + STARTED
    while time.monotonic() < until and process.poll() is None:
        try:
            with urllib.request.urlopen(address, timeout=5):
                return address, stop
        except OSError:
            time.sleep(0.2)
    stop()
    raise RuntimeError(f"{variant} did not start:\n{log.read_text(errors='replace')}")


def change(page: Any, kind: str, what: Any) -> float:
    """Press a category's chip, or a key on the difficulty range. Return the milliseconds until the whole page is painted."""
    if kind == "category":
        return once(page, page.locator(".filter-category label").nth(what).click, "pointerdown")[1]
    handle = page.locator(".filter-difficulty [role=slider]").last
    handle.focus()
    return once(page, lambda: handle.press(what), "keydown")[1]


def measure(browser: Any, store: Path, folder: Path, path: str, dataset: str, times: int) -> dict[str, list[tuple[str, float]]]:
    """Return the milliseconds of each change, by variant. The first round, in which values are cold, does not count."""
    query = f"dataset={dataset}&difficulty=0..0.75"
    rows: dict[str, list[tuple[str, float]]] = {name: [] for name in VARIANTS}
    with ExitStack() as stack:
        shown: dict[str, Any] = {}
        for name in VARIANTS:
            address, stop = serve(name, store, folder / f"{name}.log", path, query)
            stack.callback(stop)
            context = browser.new_context(viewport={"width": 1280, "height": 900})
            stack.callback(context.close)
            page = shown[name] = context.new_page()
            page.set_default_timeout(300_000)
            page.add_init_script(COUNT)
            page.goto(address)
            page.locator("#content .js-plotly-plot .main-svg").first.wait_for()
            page.wait_for_timeout(1500)
            page.evaluate(WATCH)
        for turn in range(times + 1):
            for kind, what in CHANGES:
                for name, page in shown.items():
                    if sum(taken > TOO_SLOW for _, taken in rows[name]) >= 2:
                        continue
                    page.bring_to_front()
                    taken = change(page, kind, what)
                    if turn or taken > TOO_SLOW:
                        rows[name].append((kind, taken))
    return rows


def table(rows: dict[str, list[tuple[str, float]]], title: str) -> list[str]:
    """Return the measurements of one page as Markdown."""
    lines = [f"## {title}", "", "| Way | Category, p50, ms | p95 | Range, p50, ms | p95 |", "| --- | ---: | ---: | ---: | ---: |"]
    for name, taken in rows.items():
        cells = []
        for kind in ("category", "range"):
            values = [value for what, value in taken if what == kind]
            cells += [f"{value:,.0f}" for value in np.percentile(values, [50, 95])] if values else ["not measured", ""]
        lines.append(f"| {VARIANTS[name]} | {' | '.join(cells)} |")
    return [*lines, ""]


def main() -> None:
    """Serve, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=8)
    options = parser.parse_args()
    lines = [
        "# Ways to draw a page",
        "",
        f"Written by `benchmarks/rendering.py` on {date.today()}: {platform.machine()}, {os.cpu_count()} cores, load "
        f"{os.getloadavg()[0]:.1f} at the start. Times are from the input event to the frame after the last change of the "
        f"page. Every value was asked for before. {2 * options.times} clicks on a category and as many keys on a "
        f"range, with the ways taking turns. A way that took more than {TOO_SLOW / 1000:.0f} s was measured only twice.",
        "",
    ]
    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        folder = Path(name)
        store = folder / "store"
        seed(open_store(store))
        import_paths(open_store(store), [write_bundle(folder / "bundle", "many", QUESTIONS)], ImportOptions())
        path = folder / "responses.parquet"
        write(path, QUESTIONS, QUESTIONS * 4 * RUNS)
        import_paths(open_store(store), [path], ImportOptions(dataset="many"))
        browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
        for where, dataset in CASES:
            runs = 8 if dataset == "pyramid" else RUNS
            lines += table(measure(browser, store, folder, where, dataset, options.times), f"{where}, {runs} runs ({dataset})")
            print("\n".join(lines[-9:]), flush=True)
        browser.close()
    (ROOT / "benchmarks" / "rendering.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
