"""Which ECE in a browser: the table, the bins of a chosen run, and the text to paste."""

from tests.helpers.page_actions import api, choose, eventually, heading, pairs, written

PYRAMID = ("dataset", "pyramid")
TABLE = """() => [...document.querySelectorAll("table.which-ece tbody tr")].map(
    (row) => [...row.querySelectorAll("td.number")].map((cell) => cell.firstChild.textContent))"""
PANELS = """() => { const plot = document.querySelector(".figure-which-bins .js-plotly-plot");
    const dots = plot && plot._fullData ? plot.data.filter((trace) => trace.mode === "markers") : [];
    return dots.map((trace) => trace.x.length); }"""


def shows(page, answer):
    """Wait until the table and the bins are those of an answer."""
    place = [run["run"] for run in answer["runs"]].index(answer["focus"])
    left_out = [f"{variant['runs'][place]['left_out']:,}" for variant in answer["variants"]]
    values = [[written(cell["value"]) for cell in variant["runs"]] for variant in answer["variants"]]
    drawn = [variant["bins"] for variant in answer["variants"] if variant["bins"]]
    dots = [sum(part["counted"] == counted for part in bins) for bins in drawn for counted in (True, False)]

    def check():
        assert page.evaluate(TABLE) == [[*cells, count] for cells, count in zip(values, left_out, strict=True)]
        assert page.evaluate(PANELS) == dots

    eventually(page, check)


def test_bins_follow_the_run_that_is_chosen(page):
    page.goto("/which-ece?dataset=pyramid")
    page.wait_for_selector("table.which-ece")
    assert heading(page) == "Which ECE is this?"
    first = api(page, "which-ece", [PYRAMID])
    shows(page, first)
    assert "does not say which calibration error" in page.locator(".review").inner_text()
    other = first["runs"][3]
    name = f"{other['model']} · {other['elicitation']}"
    choose(page, "focus", name)
    eventually(page, lambda: _address(page, [PYRAMID, ("focus", other["run"])]))
    shows(page, api(page, "which-ece", [PYRAMID], focus=other["run"]))
    assert name in page.locator(".review").inner_text()
    choose(page, "intervals", "Shown")
    with_intervals = api(page, "which-ece", [PYRAMID], focus=other["run"], intervals=1)
    cells = [cell for variant in with_intervals["variants"] for cell in variant["runs"]]
    eventually(page, lambda: _intervals(page, [f"[{written(cell['low'])}, {written(cell['high'])}]" for cell in cells]))
    shows(page, with_intervals)


def _intervals(page, texts):
    assert page.locator("table.which-ece .row-note").all_inner_texts() == texts


def _address(page, query):
    assert pairs(page) == query
