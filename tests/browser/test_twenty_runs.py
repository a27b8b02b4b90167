"""Pages of twenty runs with long names are not longer than a reader scrolls, and wide enough for their names."""

import random

import pytest

from data.store import open_store
from tests.helpers.bundle_factory import put_file
from tests.helpers.page_visits import Visit
from tests.helpers.page_walk import shown
from tests.helpers.serving import start_server

# Plotly hides a label of an axis for which there is no room beside the plot.
HIDDEN = """() => [...document.querySelectorAll(".js-plotly-plot .xtick text, .js-plotly-plot .ytick text")]
    .filter((label) => label.style.display === "none" && label.closest(".js-plotly-plot").offsetParent)
    .map((label) => `${label.closest("[data-figure]").dataset.figure}: ${label.textContent}`)"""
RUNS, QUESTIONS, CATEGORIES = 20, 200, "ABCDEFGH"


@pytest.fixture(scope="module")
def crowd(tmp_path_factory):
    """A server whose only dataset has twenty runs, which are overconfident to different degrees."""
    folder, draw = tmp_path_factory.mktemp("crowd"), random.Random(26)
    lines = ["question,category,model,confidence,correct"]
    for run in range(RUNS):
        for number in range(QUESTIONS):
            right = draw.random() < 0.4 + 0.02 * run
            confidence = min(max(draw.gauss(0.5 + 0.02 * run * right, 0.15), 0.01), 1)
            category = CATEGORIES[number % len(CATEGORIES)]
            lines.append(f"Question {number}?,{category},lab/a-model-with-a-long-name-{run:02}-pro,{confidence:.2f},{right:d}")
    put_file(open_store(folder / "store"), folder / "crowd.csv", "\n".join(lines))
    server = start_server(folder / "store", folder / "log", workers=1)
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("address", "highest"),
    [
        ("/", 1800), ("/reliability", 1500), ("/reliability?tab=decomposition", 1500), ("/reliability?tab=tests", 1500),
        ("/slices", 2500),
    ],
)  # fmt: skip
def test_a_page_is_not_higher_than(browser, crowd, address, highest):
    visit = Visit(browser, crowd, width=1440)
    visit.page.goto(address)
    shown(visit.page)
    height, beyond = visit.page.evaluate(
        "[document.documentElement.scrollHeight, document.documentElement.scrollWidth - innerWidth]"
    )
    visit.close()
    assert not visit.complaints
    assert height <= highest and beyond <= 0


@pytest.mark.parametrize("width", [1440, 390])
def test_no_label_of_an_axis_is_lost(browser, crowd, width):
    visit = Visit(browser, crowd, width=width)
    for address in ("/", "/reliability", "/reliability?tab=decomposition", "/decide", "/compare", "/difficulty", "/which-ece"):
        visit.page.goto(address)
        shown(visit.page)
        assert visit.page.evaluate(HIDDEN) == [], address
    visit.close()
    assert not visit.complaints
