#!/usr/bin/env python3
"""Time from a filter change to the last painted mark, in Chromium, on bundled data and on a large dataset; writes redraw.md.

Needs the development packages and a Chromium: .venv/bin/python -m benchmarks.redraw
"""

import argparse
import json
import os
import platform
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.extend([str(ROOT / "tests"), str(ROOT / "tests" / "browser")])

import numpy as np  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402

from benchmarks.synthetic_data import write, write_bundle  # noqa: E402
from clueline.data.importing.ingest import import_paths  # noqa: E402
from clueline.data.importing.seed import seed  # noqa: E402
from clueline.data.importing.staging import ImportOptions  # noqa: E402
from clueline.data.store import open_store  # noqa: E402
from tests.helpers.page_rest import COUNT  # noqa: E402
from tests.helpers.page_walk import shown  # noqa: E402
from tests.helpers.serving import FLAGS, chromium, start_server  # noqa: E402

PAGES = ("/", "/reliability", "/difficulty", "/questions", "/compare", "/slices")
HARDEST = 0.75  # where the range begins
QUIET = 400  # ms without a change and without a pending answer, after which a change counts as the last one
# Notes when any content last changed, in view and anywhere, by the time of the next frame.
WATCH = r"""() => {
    window.painted = { start: 0, asked: 0, answered: 0, last: 0, seen: 0 };
    const partOf = ({ target }) => {
        const element = target.nodeType === Node.ELEMENT_NODE ? target : target.parentElement;
        return element && element.closest("figure, [data-html], #content > *");
    };
    const inView = (part) => {
        const box = part.getBoundingClientRect();
        return box.bottom > 0 && box.top < window.innerHeight;
    };
    const mark = (changes) => window.requestAnimationFrame(() => {
        window.painted.last = performance.now();
        if ([...new Set(changes.map(partOf))].some((part) => part && inView(part))) window.painted.seen = window.painted.last;
    });
    new MutationObserver(mark).observe(document.getElementById("content"),
        { subtree: true, childList: true, attributes: true, characterData: true });
    const fetched = window.fetch;
    window.fetch = function (...asked) {
        const ours = /_dash-update|_rows/.test(String(asked[0]));
        if (ours) window.painted.asked = performance.now();
        const answer = fetched.apply(this, asked);
        if (ours) answer.then(() => { window.painted.answered = performance.now(); });
        return answer;
    };
}"""
# Starts the clock in the event itself.
START = r"""(kind) => {
    const p = window.painted; p.last = p.seen = 0;
    document.addEventListener(kind, () => { p.start = performance.now(); }, { once: true, capture: true });
}"""
DONE = f"""() => window.painted.last && !window.owed && performance.now() - window.painted.last > {QUIET}
    && !document.querySelector("#content [aria-busy=true]")"""
READ = "() => [painted.seen, painted.last, painted.answered].map((at, place) => at - (place < 2 ? painted.start : painted.asked))"


def once(page: Any, act: Callable[[], Any], kind: str) -> tuple[float, float, float]:
    """Return milliseconds from a change to its last painted mark in view and anywhere, and from request to answer."""
    page.evaluate(START, kind)
    act()
    page.wait_for_function(DONE, polling=50)
    in_view, whole, served = page.evaluate(READ)
    return in_view, whole, served


def measure(browser: Any, address: str, path: str, dataset: str, times: int) -> dict[str, list[tuple[float, float, float]]]:
    """Time a category's chip and a handle of the difficulty range. The first time of each value is cold, later times are warm."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(COUNT)
    page.set_default_timeout(120_000)
    page.goto(f"{address}{path}?dataset={dataset}&difficulty=0..{HARDEST}")  # each step leaves out some questions
    shown(page)
    page.evaluate(WATCH)
    times_by_change: dict[str, list[tuple[float, float, float]]] = {}
    chips = page.locator(".filter-category label")
    if not chips.count():  # with many categories, a menu takes the place of the chips, and stays open
        page.locator(".filter-category button.menu").click()
        chips = page.locator(".dash-dropdown-content label")
    once(page, chips.first.click, "pointerdown")
    once(page, chips.first.click, "pointerdown")  # now the browser has run its scripts
    times_by_change["category, cold"] = []
    for index in range(1, chips.count()):
        times_by_change["category, cold"].append(once(page, chips.nth(index).click, "pointerdown"))
        once(page, chips.nth(index).click, "pointerdown")
    times_by_change["category, warm"] = [once(page, chips.first.click, "pointerdown") for _ in range(times)]
    handle = page.locator(".filter-difficulty [role=slider]").last
    handle.focus()
    times_by_change["range, cold"] = [once(page, lambda: handle.press("ArrowLeft"), "keydown") for _ in range(times)]
    times_by_change["range, warm"] = [once(page, lambda: handle.press("ArrowRight"), "keydown") for _ in range(times)]
    context.close()
    return times_by_change


def first_load(browser: Any, address: str) -> tuple[int, int]:
    """Return the compressed bytes that the first page loads over the network: Plotly's script, and everything else."""
    context = browser.new_context()
    page = context.new_page()
    session = context.new_cdp_session(page)
    session.send("Network.enable")
    names: dict[str, str] = {}
    sizes: dict[str, int] = {}
    session.on("Network.requestWillBeSent", lambda sent: names.__setitem__(sent["requestId"], sent["request"]["url"]))
    session.on("Network.loadingFinished", lambda done: sizes.__setitem__(done["requestId"], done["encodedDataLength"]))
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.wait_for_timeout(1000)
    plotly = sum(size for name, size in sizes.items() if "plotly" in names.get(name, "").rsplit("/", 1)[-1].lower())
    context.close()
    return int(plotly), int(sum(sizes.values()) - plotly)


def large(store: Path, folder: Path, responses: int) -> None:
    """Add a dataset of 25,000 questions with ``responses`` responses to the bundled ones."""
    questions = 25_000
    seed(open_store(store))
    import_paths(open_store(store), [write_bundle(folder / "bundle", "large", questions)], ImportOptions())
    path = folder / "responses.parquet"
    write(path, questions, responses)
    import_paths(open_store(store), [path], ImportOptions(dataset="large"))


def table(browser: Any, address: str, dataset: str, pages: Sequence[str], times: int) -> list[str]:
    """Measure on a dataset, and return the figures as Markdown."""
    with urllib.request.urlopen(f"{address}/api/v1/leaderboard?dataset={dataset}&metrics=brier") as answer:
        rows = json.loads(answer.read())["rows"]
    lines = [
        f"## {dataset}: {sum(row['items'] for row in rows):,} responses of {len(rows)} runs, {times} repetitions",
        "",
        "| Page | Change | in view, p50, ms | p95, ms | whole page, p50 | p95 | server and network, p50 | p95 |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for path in pages:
        for change, seconds in measure(browser, address, path, dataset, times).items():
            quantiles = np.percentile(np.array(seconds), [50, 95], axis=0).T.ravel()
            lines.append(f"| {path} | {change} | " + " | ".join(f"{value:.0f}" for value in quantiles) + " |")
            print(lines[-1], flush=True)
    return [*lines, ""]


def main() -> None:
    """Serve, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--pages", nargs="*", default=PAGES)
    parser.add_argument("--responses", type=int, default=5_000_000, help="of the large dataset")
    parser.add_argument("--large-times", type=int, default=8, help="repetitions on it")
    options = parser.parse_args()
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        store = Path(folder) / "store"
        large(store, Path(folder), options.responses)
        server = start_server(store, Path(folder) / "log", workers=2)
        try:
            browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
            plotly, rest = first_load(browser, server.address)
            load = os.getloadavg()[0]
            for dataset, times in (("pyramid", options.times), ("large", options.large_times)):
                lines += table(browser, server.address, dataset, options.pages, times)
            browser.close()
        finally:
            server.stop()
    report = [
        "# From a filter to the redrawn page",
        "",
        f"Written by `benchmarks/redraw.py` on {date.today()}: {platform.machine()}, {os.cpu_count()} cores, load "
        f"{load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end (the browser included), "
        "the server has two workers. Times are from the input event to the frame after the last change in the "
        "visible part of the page, and of the whole page, because figures out of view are painted when the browser is "
        "idle. Cold: values that nobody asked for before. Each step of the range leaves out some questions.",
        "",
        *lines,
        f"First load: {rest / 1000:,.0f} kB compressed, and {plotly / 1000:,.0f} kB of Plotly's script.",
        "",
    ]
    (ROOT / "benchmarks" / "redraw.md").write_text("\n".join(report), encoding="utf-8")
    print("\n".join(report))


if __name__ == "__main__":
    main()
