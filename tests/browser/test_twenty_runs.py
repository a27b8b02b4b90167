"""Pages of twenty runs with long names are not longer than a reader scrolls, and wide enough for their names."""

import random
import shutil

from clueline.data.store import open_store
from tests.helpers.bundle_factory import put_file
from tests.helpers.page_walk import follow, shown

# Plotly hides a label of an axis for which there is no room beside the plot.
HIDDEN = """() => [...document.querySelectorAll(".js-plotly-plot .xtick text, .js-plotly-plot .ytick text")]
    .filter((label) => label.style.display === "none" && label.closest(".js-plotly-plot").offsetParent)
    .map((label) => `${label.closest("[data-figure]").dataset.figure}: ${label.textContent}`)"""
# Rows of panels that end left of the right edge of their figure.
SHORT = """() => [...document.querySelectorAll(".js-plotly-plot")].filter((plot) => {
    const keys = (letter) => Object.keys(plot.layout).filter((key) => key.startsWith(letter + "axis"));
    const axes = (letter) => keys(letter).map((key) => plot.layout[key].domain);
    const rows = new Set(axes("y").map((domain) => String(domain)));
    return (plot.layout.meta || {}).panels && rows.size > 1 && Math.max(...axes("x").map((domain) => domain[1])) < 0.98;
}).map((plot) => plot.closest("[data-figure]").dataset.figure)"""
# Figures whose names leave less than half of the width to what is drawn.
SQUEEZED = """() => [...document.querySelectorAll(".js-plotly-plot")].filter((plot) => {
    const inside = plot.offsetParent && plot.querySelector(".nsewdrag");
    return inside && inside.getBoundingClientRect().width < plot.clientWidth / 2;
}).map((plot) => plot.closest("[data-figure]").dataset.figure)"""
RUNS, QUESTIONS, CATEGORIES = 20, 80, "ABCDEFGH"
HIGHEST = {
    "/": 1800, "/reliability": 1500, "/reliability?tab=decomposition": 1500, "/reliability?tab=tests": 1500, "/slices": 2500,
    "/decide": None, "/compare": None, "/difficulty": None, "/which-ece": None,
}  # fmt: skip


def test_pages_are_not_too_high_and_lose_no_label(visit, serving, first_start, tmp_path):
    """The runs are overconfident to different degrees. LifeEval has models, references, people, and notices above."""
    draw, lines = random.Random(26), ["question,category,model,confidence,correct"]
    for run in range(RUNS):
        for number in range(QUESTIONS):
            right = draw.random() < 0.4 + 0.02 * run
            confidence = min(max(draw.gauss(0.5 + 0.02 * run * right, 0.15), 0.01), 1)
            category = CATEGORIES[number % len(CATEGORIES)]
            lines.append(f"Question {number}?,{category},lab/a-model-with-a-long-name-{run:02}-pro,{confidence:.2f},{right:d}")
    store = shutil.copytree(first_start, tmp_path / "store")
    put_file(open_store(store), tmp_path / "crowd.csv", "\n".join(lines))
    server = serving(store)
    for width in (1440, 390):
        page = visit(on=server, width=width)
        page.goto("/metrics")
        for address, highest in HIGHEST.items():
            in_sight(page, address, "crowd")
            assert page.evaluate(HIDDEN) == [] == page.evaluate(SHORT), address
            assert "gap" not in page.evaluate(SQUEEZED)
            if width == 1440 and highest:
                height, beyond = page.evaluate(
                    "[document.documentElement.scrollHeight, document.documentElement.scrollWidth - innerWidth]"
                )
                assert height <= highest and beyond <= 0, address

            if width == 1440 and highest:
                in_sight(page, address, "lifeeval")
                assert page.evaluate("document.documentElement.scrollHeight") <= highest, address


def in_sight(page, address, dataset):
    follow(page, f"{address}{'&' if '?' in address else '?'}dataset={dataset}")
    shown(page)
