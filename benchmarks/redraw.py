#!/usr/bin/env python3
"""From a change of a filter to the last painted mark, in Chromium, on the bundled data; writes benchmarks/redraw.md.

Needs the development packages and a Chromium: .venv/bin/python benchmarks/redraw.py
"""

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests" / "browser")]

import numpy as np  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402
from serving import FLAGS, chromium, start_server  # noqa: E402
from walking import COUNT, shown  # noqa: E402

PAGES = ("/", "/reliability", "/difficulty", "/questions", "/compare", "/slices")
QUIET = 400  # ms without a change and without an answer owed: it was the last one
# Notes when anything of the content changed for the last time, by the time of the frame after it.
WATCH = r"""() => {
    window.painted = { start: 0, asked: 0, answered: 0, last: 0 };
    const mark = () => window.requestAnimationFrame((at) => { window.painted.last = performance.now(); });
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
    const p = window.painted; p.last = 0;
    document.addEventListener(kind, () => { p.start = performance.now(); }, { once: true, capture: true });
}"""
DONE = f"() => window.painted.last && !window.owed && performance.now() - window.painted.last > {QUIET}"
READ = "() => [painted.last - painted.start, painted.answered - painted.asked]"


def once(page: Any, act: Callable[[], Any], kind: str) -> tuple[float, float]:
    """Milliseconds from one change to the last painted mark, and of these from the last request to its answer."""
    page.evaluate(START, kind)
    act()
    page.wait_for_function(DONE, polling=50)
    whole, served = page.evaluate(READ)
    return whole, served


def measure(browser: Any, address: str, path: str, times: int) -> dict[str, list[tuple[float, float]]]:
    """A category's chip and a handle of the range of difficulty: the first time of each value is cold, the same again warm."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.add_init_script(COUNT)
    page.goto(f"{address}{path}?dataset=pyramid")
    shown(page)
    page.evaluate(WATCH)
    found: dict[str, list[tuple[float, float]]] = {}
    chips = page.locator(".filter-category label")
    for _ in range(2):  # both ways once, for the cache
        once(page, chips.first.click, "pointerdown")
    found["category, warm"] = [once(page, chips.first.click, "pointerdown") for _ in range(times)]
    handle = page.locator(".filter-difficulty [role=slider]").last
    handle.focus()
    found["range, cold"] = [once(page, lambda: handle.press("ArrowLeft"), "keydown") for _ in range(times)]
    found["range, warm"] = [once(page, lambda: handle.press("ArrowRight"), "keydown") for _ in range(times)]
    context.close()
    return found


def first_load(browser: Any, address: str) -> tuple[int, int]:
    """Compressed bytes of the first page that come over the network: of Plotly's script, and of all else."""
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


def main() -> None:
    """Serve, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--pages", nargs="*", default=PAGES)
    options = parser.parse_args()
    lines = [
        "| Page | Change | p50, ms | p95, ms | of it server and network, p50 | p95 |",
        "| --- | --- | ---: | ---: | ---: | ---: |",
    ]
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        server = start_server(Path(folder) / "store", Path(folder) / "log")
        try:
            browser = driver.chromium.launch(executable_path=chromium(), args=FLAGS)
            plotly, rest = first_load(browser, server.address)
            load = os.getloadavg()[0]
            for path in options.pages:
                for change, times in measure(browser, server.address, path, options.times).items():
                    (half, served), (most, longest) = np.percentile(np.array(times), [50, 95], axis=0)
                    lines.append(f"| {path} | {change} | {half:.0f} | {most:.0f} | {served:.0f} | {longest:.0f} |")
                    print(lines[-1], flush=True)
            browser.close()
        finally:
            server.stop()
    said = [
        "# Filter to redraw",
        "",
        f"Written by `benchmarks/redraw.py` on {date.today()}: {platform.machine()}, {os.cpu_count()} cores, load "
        f"{load:.1f} at the start, {os.getloadavg()[0]:.1f} at the end (the browser included), "
        f"dataset pyramid, {options.times} repetitions. From "
        "the input event to the frame after the last change of the page. Cold: values that nobody asked for before.",
        "",
        *lines,
        "",
        f"First load: {rest / 1000:,.0f} kB compressed, and {plotly / 1000:,.0f} kB of Plotly's script.",
        "",
    ]
    (ROOT / "benchmarks" / "redraw.md").write_text("\n".join(said), encoding="utf-8")
    print("\n".join(said))


if __name__ == "__main__":
    main()
