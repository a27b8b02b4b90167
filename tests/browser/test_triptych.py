"""The figures next to the reliability diagrams in a browser, and how they follow a filter."""

from tests.helpers.page_actions import api, chip, eventually, heading, pairs, written

PYRAMID = ("dataset", "pyramid")
LINES = """(name) => { const plot = document.querySelector(`.figure-${name} .js-plotly-plot`);
    if (!plot || !plot._fullData) return {};
    const mode = name === "plane" ? "markers" : "lines";
    const lines = plot.data.filter((trace) => trace.meta && String(trace.mode).startsWith(mode));
    return Object.fromEntries(lines.map((trace) => [trace.meta, [[...trace.x], [...trace.y]]])); }"""
TESTS = """() => [...document.querySelectorAll("table.calibration-tests tbody tr")].map(
    (row) => [...row.querySelectorAll("td")].map((cell) => cell.innerText))"""


def near(line, points):
    return len(line[0]) == len(points) and all(
        abs(x - point[0]) < 1e-4 and abs(y - point[1]) < 1e-4 for x, y, point in zip(*line, points, strict=True)
    )


def shows(page, query):
    """Wait until hulls, plane and smooth diagrams are those of an address."""
    runs = api(page, "triptych", query)["runs"]

    def check():
        assert pairs(page) == sorted([*query, ("tab", "decomposition")])
        hulls, plane, smooth = (page.evaluate(LINES, name) for name in ("roc", "plane", "smooth"))
        assert list(plane) == [run["run"] for run in runs]
        for run in runs:
            assert {*hulls} == {*smooth} == {*plane}, "not all figures are drawn"
            assert near(hulls[run["run"]], run["hull"])
            assert near(plane[run["run"]], [[run["mcb"], run["dsc"]]])
            assert near(smooth[run["run"]], list(zip(*run["smooth"].values(), strict=True)))

    eventually(page, check)


def test_the_triptych_follows_a_filter(page):
    page.goto("/reliability?dataset=pyramid")
    page.get_by_role("link", name="Decomposition").click()
    page.wait_for_selector(".figure-plane")
    assert heading(page) == "Reliability"
    shows(page, [PYRAMID])
    chip(page, "category", "History").click()
    shows(page, [PYRAMID, ("category", "History")])


def test_the_tests_are_those_of_the_json(page):
    page.goto("/reliability?dataset=pyramid&tab=tests")
    runs = api(page, "triptych", [PYRAMID])["runs"]
    p_values = [[run[key] for key in ("p_spiegelhalter", "p_kuiper", "p_ks")] for run in runs]
    expected = [["< 0.001" if p < 0.001 else written(p) for p in row] for row in p_values]

    def check():
        assert [row[:3] for row in page.evaluate(TESTS)] == expected

    eventually(page, check)
