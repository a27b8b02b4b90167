"""Power of a comparison on /compare in a browser: another metric or a stated difference gives another sentence."""

from tests.helpers.page_actions import api, choose, eventually, written

SECTION = """() => [...document.querySelectorAll("section")].filter((part) => part.querySelector(".figure-power"))
    .map((part) => part.querySelector("p").innerText)"""
DOT = """() => { const plot = document.querySelector(".figure-power .js-plotly-plot");
    return plot && plot._fullData ? [plot._fullData[1].x[0], plot._fullData[1].y[0]] : null; }"""


def test_the_sentence_about_power_follows_the_metric(page):
    runs = [row["run"] for row in api(page, "leaderboard", [("dataset", "lifeeval")], metrics="brier")["rows"]]
    page.goto(f"/compare?dataset=lifeeval&a={runs[0]}&b={runs[-1]}")
    page.wait_for_selector(".figure-power .js-plotly-plot")
    for metric, name in (("brier", None), ("net_score", "Net score")):
        if name:
            choose(page, "metric", name)
        keys = [("dataset", "lifeeval"), ("a", runs[0]), ("b", runs[-1])]
        (row,) = api(page, "power", keys, metrics=metric)["metrics"]
        eventually(page, lambda row=row: _shows(page, row))
    choose(page, "d", "0.02")
    (row,) = api(page, "power", keys, metrics="net_score", d="0.02")["metrics"]
    assert row["needed"] > 5
    eventually(page, lambda: _shows(page, row))


def _shows(page, row):
    (sentence,) = page.evaluate(SECTION)
    clusters = f" in {row['units']:,} clusters" if row["units"] != row["questions"] else ""
    assert (
        f"With {row['questions']:,} questions{clusters}, a difference of {written(row['detectable'])} would have been" in sentence
    )
    assert ("Detecting" in sentence) == (row["needed"] is not None)
    if row["needed"] is not None:
        assert f"Detecting {written(row['target'])} takes {row['needed']:,} questions" in sentence
    assert page.evaluate(DOT) == [row["questions"], row["detectable"]]
