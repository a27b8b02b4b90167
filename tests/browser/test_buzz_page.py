"""The page Buzz in a browser: sliders that write the address, and everything that follows them."""

import pytest

from tests.helpers.browser_bundles import RUNS, write_crowd, write_tokens
from tests.helpers.page_actions import NoServer, api, chip, choose, eventually, heading, listed, pairs, says, written
from tests.helpers.page_rest import let_scripts_run

PYRAMID = ("dataset", "pyramid")
ROWS = """() => [...document.querySelectorAll(".threshold")].map((row) => ({
    run: row.dataset.run,
    at: Number(row.querySelector("[role=slider]")?.getAttribute("aria-valuenow")),
    label: row.querySelector("[role=slider]")?.getAttribute("aria-label"),
    box: row.querySelector("input").value,
    said: [...row.querySelectorAll(".readout b")].map((part) => part.innerText),
    kept: row.querySelector(".kept").innerText }))"""
TABLE = """() => Object.fromEntries([...document.querySelectorAll("table.outcomes tbody tr")].map((row) => [row.dataset.run,
    Object.fromEntries([...row.querySelectorAll("td")].map((cell) => [cell.dataset.key, cell.firstChild.textContent]))]))"""
DOTS = """() => { const gd = document.querySelector(".figure-wins .js-plotly-plot");
    return gd && gd._fullData ? Object.fromEntries(
        (gd.layout.shapes || []).map((shape) => [shape.name, [shape.xanchor, shape.yanchor]])) : {}; }"""


@pytest.fixture(scope="module")
def more(server, cli_process, tmp_path_factory):
    """Add a dataset of token log-probabilities and one with many runs and no people to the server's store."""
    folder = tmp_path_factory.mktemp("bundles")
    write_tokens(folder / "tokens")
    write_crowd(folder / "throng", "throng")
    done = cli_process("import", folder / "tokens", folder / "throng", store=server.store)
    assert done.returncode == 0, done.stderr


def rows(page):
    return page.evaluate(ROWS)


def readout(outcome):
    """Return the read-out of an outcome."""
    win = "–" if outcome["win"] is None else f"{100 * outcome['win']:.1f} %"
    return [written(outcome["expected_wins"]), "–" if outcome["score"] is None else written(outcome["score"], 2), win]


def view_is(page, query):
    """Wait until the address is ``query``, and sliders, table and dots show what the API says of it."""
    query = sorted(query)
    runs = api(page, "buzz", query)["explorer"]["runs"]
    own = dict(value.rpartition(":")[::2] for key, value in query if key == "threshold" and ":" in value)

    def check():
        assert pairs(page) == query
        table, dots = page.evaluate(TABLE), page.evaluate(DOTS)
        shown = rows(page)  # last, so that it is at least as new as what it is compared with
        assert [row["run"] for row in shown] == [run["run"] for run in runs if run["curve"]]
        assert list(table) == [run["run"] for run in runs]
        outcomes = {run["run"]: run["outcome"] for run in runs}
        for row in shown:
            outcome = outcomes[row["run"]]
            assert row["at"] == outcome["threshold"] and row["said"] == readout(outcome)
            assert (float(row["box"]) if row["box"] else None) == (float(own[row["run"]]) if row["run"] in own else None)
            assert dots.get(row["run"]) == [outcome["threshold"], outcome["expected_wins"]], dots
            assert (row["label"] or "").startswith("Threshold of ")
        for run, outcome in outcomes.items():
            cells = table[run]
            for key, digits in (("threshold", 3), ("expected_wins", 3), ("revealed", 3), ("score", 2)):
                assert cells[key] == ("–" if outcome[key] is None else written(outcome[key], digits)), key
            for key in ("correct", "incorrect", "no_buzz"):
                assert cells[key] == ("–" if outcome[key] is None else f"{outcome[key]:g}"), key
        return shown

    return eventually(page, check)


def handle(page, index):
    """Return the middle of a slider's handle, in the window."""
    thumb = page.locator(".threshold [role=slider]").nth(index)
    thumb.scroll_into_view_if_needed()
    box = thumb.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def slider(page, index):
    return page.locator(".threshold [role=slider]").nth(index)


def test_a_slider_asks_the_server_on_release_only(page):
    page.goto("/buzz?dataset=pyramid")
    before = view_is(page, [PYRAMID])
    assert heading(page) == "Buzz" and len(before) == 8
    run = before[0]["run"]
    x, y = handle(page, 0)
    page.mouse.move(x, y)
    with NoServer(page):
        page.mouse.down()
        for step in range(1, 21):
            page.mouse.move(x - 6 * step, y)
        eventually(page, lambda: rows(page)[0]["at"] != before[0]["at"])
        at = rows(page)[0]["at"]
        outcome = api(page, "buzz", [PYRAMID], threshold=f"{run}:{at}")["explorer"]["runs"][0]["outcome"]

        def follows():
            row = rows(page)[0]
            # The curve's steps have six digits, so the last digit shown can be the neighbour of the exact one.
            for text, value, unit in zip(row["said"], readout(outcome), (0.001, 0.01, 0.1), strict=True):
                assert abs(_number(text) - _number(value)) <= unit * 1.01
            dot = page.evaluate(DOTS)[run]
            assert dot == [at, pytest.approx(outcome["expected_wins"], abs=1e-5)]

        eventually(page, follows)
        assert pairs(page) == [PYRAMID]
    page.mouse.up()
    own = ("threshold", f"{run}:{at}")
    after = view_is(page, [PYRAMID, own])
    eventually(page, lambda: rows(page)[0]["kept"] == f"Reset to {written(before[0]['at'])}")
    assert [row["at"] for row in after[1:]] == [row["at"] for row in before[1:]]

    other = before[2]["run"]  # the arrow keys move another slider, which keeps the focus
    slider(page, 2).focus()
    page.keyboard.press("End")
    for _ in range(4):
        page.keyboard.press("ArrowLeft")
    view_is(page, [PYRAMID, own, ("threshold", f"{other}:0.996")])
    page.get_by_role("button", name="Reset to").first.click()
    after = view_is(page, [PYRAMID, ("threshold", f"{other}:0.996")])
    assert after[0] == before[0]


def _number(text):
    return float(text.replace("\u2212", "-").replace(" %", ""))


def test_the_address_is_the_view(page):
    """A threshold of all runs stays if some get their own, and those of hidden runs outlast filters."""
    query = [PYRAMID, ("category", "History"), ("threshold", "0.4")]
    page.goto("/buzz?dataset=pyramid&category=History&threshold=0.4")
    shown = view_is(page, query)
    assert {row["at"] for row in shown} == {0.4} and {row["kept"] for row in shown} == {"at the threshold for all runs"}
    for index in (0, 1):
        slider(page, index).focus()
        page.keyboard.press("Home")
        page.keyboard.press("PageUp")
        query.append(("threshold", f"{shown[index]['run']}:0.01"))
    shown = view_is(page, query)
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Questions").click()
    listed(page)
    assert pairs(page) == [("category", "History"), PYRAMID]
    page.go_back()
    assert view_is(page, query) == shown
    page.get_by_role("button", name="Reset to 0.400").nth(1).click()
    query.pop()
    view_is(page, query)
    chip(page, "elicitation", "margin").click()
    assert shown[0]["run"] not in [row["run"] for row in view_is(page, [*query, ("elicitation", "margin")])]
    chip(page, "elicitation", "margin").click()
    assert view_is(page, query)[0]["at"] == 0.01


def test_a_box_takes_any_threshold_and_a_blank_one_is_the_best(page):
    page.goto("/buzz?dataset=pyramid")
    before = view_is(page, [PYRAMID])
    best = before[1]
    box = page.locator(".threshold input").nth(1)
    box.fill("0.12345")
    chosen = [PYRAMID, ("threshold", f"{best['run']}:0.12345")]
    view_is(page, chosen)
    for bad in ("7", "half", "-0.1", "0.5:1"):
        box.fill(bad)
        assert not box.evaluate("box => box.validity.valid")
    let_scripts_run(page, 900)
    assert pairs(page) == sorted(chosen)
    box.fill(".5")
    view_is(page, [PYRAMID, ("threshold", f"{best['run']}:0.5")])
    box.fill("")
    assert view_is(page, [PYRAMID])[1] == best

    choose(page, "curve", "Published curve")  # which has other best thresholds
    assert view_is(page, [PYRAMID, ("curve", "polynomial")]) != before
    assert page.locator(".filter-scale").count() == 0 and page.locator(".filter-curve").count() == 1  # no log-probabilities


def test_late_answers_move_no_slider_and_lose_no_key(page):
    page.goto("/buzz?dataset=pyramid")
    before = view_is(page, [PYRAMID])
    waiting = []

    def hold(route):
        if waiting:
            route.continue_()
        waiting.append(route)

    page.route("**/_dash-update-component*", hold)
    slider(page, 0).focus()
    page.keyboard.press("End")
    eventually(page, lambda: len(waiting) > 0)
    x, y = handle(page, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    for step in range(1, 11):
        page.mouse.move(x + 5 * step, y)
    waiting[0].continue_()
    eventually(page, lambda: page.evaluate(TABLE)[before[0]["run"]]["threshold"] == "1.000")
    page.mouse.move(x + 60, y)
    moved = rows(page)[1]["at"]
    assert moved > before[1]["at"]
    page.mouse.up()
    query = [PYRAMID, ("threshold", f"{before[0]['run']}:1"), ("threshold", f"{before[1]['run']}:{moved}")]
    view_is(page, query)

    slider(page, 5).focus()
    page.keyboard.press("Home")
    for pause in (0, 30, 60, 90, 120, 150, 200, 250, 300, 400):
        page.wait_for_timeout(pause)
        page.keyboard.press("PageUp")
    view_is(page, [*query, ("threshold", f"{before[5]['run']}:0.1")])


def test_another_scale_drops_the_thresholds_of_the_old_one(page, more):
    tokens = ("dataset", "tokens")
    runs = api(page, "buzz", [tokens])["explorer"]["runs"]
    assert len(runs) == 3
    page.goto(f"/buzz?dataset=tokens&threshold=0.3&threshold={runs[1]['run']}:0.5")
    view_is(page, [tokens, ("threshold", "0.3"), ("threshold", f"{runs[1]['run']}:0.5")])
    choose(page, "scale", "Token log-probability")
    query = [tokens, ("scale", "logprob")]
    shown = view_is(page, query)
    assert len(shown) == 2 and "No values for silent" in page.locator(".explorer .note").first.inner_text()
    page.locator(".threshold input").nth(0).fill("-0.5")
    view_is(page, [*query, ("threshold", f"{shown[0]['run']}:-0.5")])
    choose(page, "scale", "Confidence")
    view_is(page, [tokens])


def test_many_runs_have_sliders_once_they_are_chosen(page, more):
    throng = ("dataset", "throng")
    page.goto("/buzz?dataset=throng&threshold=0.5")
    eventually(page, lambda: len(page.evaluate(TABLE)) == RUNS)
    assert page.locator(".threshold").count() == 0
    says(page, ".explorer", "Choose up to 8 runs")
    says(page, ".rooms", "no human team heard")
    page.get_by_role("button", name="Reset all to their best threshold").click()
    eventually(page, lambda: pairs(page) == sorted([throng]))
    choose(page, "run", "model 03")
    page.locator(".threshold").first.wait_for()
    (row,) = rows(page)
    view_is(page, [throng, ("run", row["run"])])
