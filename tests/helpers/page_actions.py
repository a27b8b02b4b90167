"""Reads and operates the pages as a visitor does."""

import json
import math
from urllib.parse import parse_qsl, urlencode, urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from tests.helpers.page_rest import eventually, let_scripts_run, wait_for_rest
from tests.helpers.page_visits import PATIENCE

OF_PAGES = ("sort", "theme", "clue", "metric")  # keys for how a page looks, which the JSON addresses do not take
BOARD = """() => [...document.querySelectorAll("table.board tbody tr[data-run]")].map((row) => ({
    run: row.dataset.run,
    model: row.querySelector("th .name").innerText,
    note: row.querySelector("th .row-note")?.innerText ?? null,
    elicitation: row.querySelectorAll("td")[0].innerText,
    answered: row.querySelectorAll("td")[1].innerText,
    metrics: Object.fromEntries([...row.querySelectorAll("td[data-metric]")].map(
        (cell) => [cell.dataset.metric, cell.querySelector(".value").innerText])),
}))"""
ANSWERS = """() => [...document.querySelectorAll("#answers tbody:not([hidden]) tr[data-run]")]
    .map((row) => [...row.children].map((cell) => cell.innerText))"""
GRID = """() => [...document.querySelectorAll(".ag-row")]
    .filter((row) => row.querySelector("a"))
    .sort((a, b) => Number(a.getAttribute("row-index")) - Number(b.getAttribute("row-index")))
    .map((row) => Object.fromEntries([...row.querySelectorAll("[role=gridcell]")].map(
        (cell) => [cell.getAttribute("col-id"), cell.querySelector("a") ? cell.querySelector("a").title : cell.innerText])))"""
CURSOR = """() => {
    const gd = document.querySelector(".figure-clues .js-plotly-plot");
    return gd && gd.layout && gd._fullData && (gd.layout.shapes || []).length ? gd.layout.shapes[0].x0 : null;
}"""
# The columns that the leaderboard shows by default; the API has every metric.
SHOWN = ("accuracy", "ece", "overconfidence")
PRIMARY = ("calscore", "net_score", "dist_ce", "brier")  # by kind of dataset, next to those

TRACES = """(within) => {
    const gd = document.querySelector(within + " .js-plotly-plot");
    return gd && gd._fullData ? gd._fullData.map((trace) => ({
        name: trace.name, meta: trace.meta, x: [...trace.x], y: [...trace.y],
        text: trace.text, colour: trace.line && trace.line.color, symbol: trace.marker && trace.marker.symbol })) : [];
}"""


def pairs(page):
    """Return the query string of the page's address, sorted because the order of keys does not matter."""
    return sorted(parse_qsl(urlsplit(page.url).query, keep_blank_values=True))


def path(page):
    return urlsplit(page.url).path


def written(value, digits=3):
    """Return a number as pages write it."""
    text = f"{value:.{digits}f}"
    return (text.lstrip("-") if float(text) == 0 else text).replace("-", "\u2212")


def says(page, selector, text):
    """Wait until an element contains a text."""
    expect(page.locator(selector)).to_contain_text(text, timeout=PATIENCE)


def grave_violations(page, **options):
    """Return the violations of axe-core's rules that are serious or critical."""
    violations = Axe().run(page, options={"resultTypes": ["violations"]} | options).response["violations"]
    return [violation for violation in violations if violation["impact"] in ("serious", "critical")]


def heading(page):
    return page.locator("h1").inner_text()


def board(page):
    return page.evaluate(BOARD)


def answers(page):
    return page.evaluate(ANSWERS)


def grid(page):
    """Return the rows of the list that are in the page, in order, with cells by column."""
    return page.evaluate(GRID)


def cursor(page):
    """Return the position of the figure's cursor, in words."""
    return page.evaluate(CURSOR)


def traces(page, figure=None):
    """Return the traces of a figure by name; by default, those of the first figure."""
    return page.evaluate(TRACES, f".figure-{figure}" if figure else "#content")


def fetched(page, address):
    """Return status and body of an address, requested on a connection separate from the page's."""
    answer = page.request.get(address, timeout=120_000)
    return answer.status, answer.body()


def api(page, address, query=(), **more):
    """Return the response of a JSON address to a page's query string."""
    parameters = [pair for pair in query if pair[0] not in OF_PAGES] + list(more.items())
    status, body = fetched(page, f"/api/v1/{address}?{urlencode(parameters)}")
    assert status == 200, body
    return json.loads(body)


def expected_board(page, query):
    """Return the leaderboard of a query string as the page should show it, best first by the primary metric."""
    answer = api(page, "leaderboard", [*query, ("metrics", ",".join((*PRIMARY, *SHOWN)))])
    shown = (answer["primary"], *SHOWN)
    by_primary = sorted(answer["rows"], key=lambda row: row["metrics"][answer["primary"]]["rank"] or math.inf)
    return [
        {
            "run": row["run"],
            "model": row["model"],
            "note": row["note"],
            "elicitation": row["elicitation"],
            "answered": f"{row['answered']:,}",
            "metrics": {
                key: written(cell["value"]) for key, cell in row["metrics"].items() if key in shown and cell["value"] is not None
            },
        }
        for row in by_primary
    ]


def board_is(page, query):
    """Wait until the address has exactly ``query`` and the table shows exactly what the API returns for it."""
    query = sorted(query)

    def check():
        assert pairs(page) == query
        shown = board(page)
        if not any(key == "sort" for key, _ in query):
            assert shown == expected
        else:
            assert sorted(shown, key=lambda row: row["run"]) == sorted(expected, key=lambda row: row["run"])
        return shown

    expected = expected_board(page, query)
    return eventually(page, check)


def chip(page, key, text):
    return page.locator(f".filter-{key} label", has=page.get_by_text(text, exact=True))


def checked(page):
    """Return the selected chips, by filter."""
    return page.evaluate(
        """() => [...document.querySelectorAll(".chips input:checked")].map((box) =>
            [box.closest(".filter").className.replace("filter filter-", ""), box.value])"""
    )


def unfold(page, key):
    """Unfold the group of controls that has a control, if it is folded away."""
    page.locator(f".filter-{key}").first.evaluate(
        "one => one.closest('.filters')?.previousElementSibling?.setAttribute('open', '')"
    )


def choose(page, key, text):
    """Choose from a menu. A menu with several choices stays open, so close it."""
    wait_for_rest(page)
    unfold(page, key)
    page.locator(f".filter-{key} button.menu").click()
    page.locator(".dash-dropdown-content label", has=page.get_by_text(text, exact=True)).click()
    if page.locator(".dash-dropdown-content").is_visible():
        page.keyboard.press("Escape")


def between(page, key, low=None, high=None, leave="Tab"):
    """Type the ends of a range and leave the boxes, so that they take effect."""
    for end, value in (("min", low), ("max", high)):
        if value is not None:
            wait_for_rest(page)
            box = page.locator(f".filter-{key} .dash-range-slider-{end}-input")
            box.fill(str(value))
            box.press(leave)


def begin_step(page):
    """Wait until the next change of a control is a step of its own: changes within 600 ms share one (assets/address.js)."""
    let_scripts_run(page, 700)


def entries(page):
    """Return the number of entries in the history."""
    return page.evaluate("window.history.length")


def back_to(page, address):
    """Go back until the page has an address: a change of a control may have taken several steps on a slow machine."""
    wanted = urlsplit(address)
    for _ in range(20):
        page.go_back()
        if path(page) == wanted.path and pairs(page) == sorted(parse_qsl(wanted.query)):
            return
    raise AssertionError(f"Back does not lead to {address}, but to {page.url}")


def listed(page, check=lambda rows: True):
    """Return the rows of the list as soon as they pass a check."""

    def complete():
        rows = grid(page)
        assert rows and check(rows), rows[:3]
        return rows

    return eventually(page, complete)


def ids(rows):
    return [row["question_id"].partition(" · ")[0] for row in rows]


class NoServer:
    """A context in which the page must not ask the server to draw anything or for data."""

    def __init__(self, page):
        self.page, self.requests = page, []

    def _note(self, request):
        if "/_dash-update-component" in request.url or "/api/" in request.url:
            self.requests.append(request.url)

    def __enter__(self):
        self.page.on("request", self._note)
        return self

    def __exit__(self, *error):
        self.page.remove_listener("request", self._note)
        if not any(error):
            assert not self.requests, self.requests
