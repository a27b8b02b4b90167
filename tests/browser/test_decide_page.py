"""Answer or abstain in a browser: everything follows the slider, and the server is asked only once it rests."""

from tests.helpers.page_actions import NoServer, api, eventually, heading, pairs, written

PYRAMID = ("dataset", "pyramid")
STATE = """() => ({
    cost: document.querySelector(".decide-cost .cost")?.textContent,
    rows: Object.fromEntries([...document.querySelectorAll("table.decide tr[data-run]")].map((row) => [row.dataset.run,
        Object.fromEntries([...row.querySelectorAll("[data-part]")].map((cell) => [cell.dataset.part, cell.textContent]))])),
    lines: ["net", "murphy", "murphy-difference"].map((name) => {
        const plot = document.querySelector(`.figure-${name} .js-plotly-plot`);
        const shapes = plot && plot._fullData && plot.layout.shapes || [];
        return shapes.find((shape) => shape.name === "t")?.x0; }),
    dots: ["risk-coverage", "accuracy-coverage"].map((name) => {
        const plot = document.querySelector(`.figure-${name} .js-plotly-plot`);
        const shapes = plot && plot._fullData && plot.layout.shapes || [];
        return Object.fromEntries(shapes.filter((shape) => shape.visible !== false)
            .map((shape) => [shape.name, [shape.xanchor, shape.yanchor]])); }) })"""


def shows(page, decisions, t):
    """Wait until words, table, lines and dots are those of t."""
    place = round(100 * t)

    def check():
        state = page.evaluate(STATE)
        assert f"t = {t:.2f}: a wrong answer costs {t / (1 - t):.2f}" in state["cost"]
        assert state["lines"] == [t, t, t]
        for run in decisions["runs"]:
            for part, text in state["rows"][run["run"]].items():
                if part == "best_threshold":
                    assert text == written(run[part][place])
                    continue
                ends = [written(round(run[part][side][place], 4)) for side in ("values", "low", "high")]
                assert text == f"{ends[0]} [{ends[1]}, {ends[2]}]"
            for dots, accuracy in zip(state["dots"], (False, True), strict=True):
                risk = run["risk"][place]
                assert (run["run"] in dots) == (risk is not None)
                if risk is not None:
                    x, y = dots[run["run"]]
                    assert abs(x - run["answered"][place]) < 1e-4
                    assert abs(y - (1 - risk if accuracy else risk)) < 1e-4
        people = decisions["people"]["net_score"]["values"][place]
        assert state["rows"][""]["net_score"].startswith(written(round(people, 4)))

    eventually(page, check)


def test_everything_follows_the_slider(page):
    page.goto("/decide?dataset=pyramid")
    page.wait_for_selector(".decide-cost [role=slider]")
    assert heading(page) == "Answer or abstain"
    decisions = api(page, "decide", [PYRAMID])
    shows(page, decisions, 0.5)
    box = page.locator(".decide-cost .dash-slider-root, .decide-cost [role=slider]").first.bounding_box()
    thumb = page.locator(".decide-cost [role=slider]")
    at = thumb.bounding_box()
    with NoServer(page):
        page.mouse.move(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
        page.mouse.down()
        page.mouse.move(at["x"] + at["width"] / 2 + box["width"] / 5, at["y"] + at["height"] / 2, steps=5)
        eventually(page, lambda: float(thumb.get_attribute("aria-valuenow")) != 0.5)
        t = float(thumb.get_attribute("aria-valuenow"))
        shows(page, decisions, t)
        assert pairs(page) == [PYRAMID]
    page.mouse.up()
    eventually(page, lambda: pairs(page) == [PYRAMID, ("t", f"{t:g}")])
    shows(page, decisions, t)
    thumb.press("ArrowRight")
    t = round(t + 0.01, 2)
    eventually(page, lambda: pairs(page) == [PYRAMID, ("t", f"{t:g}")])
    shows(page, decisions, t)
