"""Controls that change faster than the server answers, a server that is busy, and figures that change in place."""

import json
import re

import pytest

from tests.helpers.page_actions import board, checked, chip, eventually, pairs
from tests.helpers.page_rest import let_scripts_run
from tests.helpers.page_walk import shown, shows


def test_a_page_waits_for_a_busy_server(page):
    answers = []

    def refuse_twice(route):
        answer = route.fetch()
        answers.append(answer.status)
        if len(answers) > 2:
            return route.fulfill(response=answer)
        content = answer.json()
        drawing = json.loads(content["response"]["answer"]["data"])
        drawing |= {"again": 1, "content": [], "outline": "", "fragments": {}, "figures": {}, "states": {}}
        content["response"]["answer"]["data"] = json.dumps(drawing)
        return route.fulfill(json=content)

    page.route("**/_dash-update-component*", refuse_twice)
    page.goto("/?dataset=tone")
    page.locator("table.board").wait_for()
    assert len(answers) == 3 and len(board(page)) == 6


def test_the_last_of_many_quick_changes_wins(visit):
    """Requests in between may be answered late or never. What stays is the view of the address."""
    page, other = visit(), visit()
    page.goto("/compare?dataset=pyramid")
    shown(page)
    chips = page.locator(".filter-category label")
    for place in (0, 1, 2, 1, 3, 0):
        chips.nth(place).click(no_wait_after=True)
    handle = page.locator(".filter-difficulty [role=slider]").last
    handle.focus()
    for _ in range(12):
        handle.press("ArrowLeft", no_wait_after=True)
    chips.nth(4).click(no_wait_after=True)
    let_scripts_run(page, 100)
    eventually(page, lambda: "difficulty" in dict(pairs(page)) and [key for key, _ in pairs(page)].count("category") == 3)
    other.goto(page.url)
    expected = shown(other)
    shows(page, expected, "after quick changes")
    let_scripts_run(page, 500)  # no late answer to an earlier request may come in
    shows(page, expected, "a moment later")


UPDATE, HEALTH = "**/_dash-update-component*", "**/healthz"
CHOSEN = [("category", "Literature"), ("dataset", "pyramid")]


def opened_board(visit):
    """Open a board of a visitor who has already touched the page. What the connection loses is no complaint."""
    page = visit(despite=r"ERR_FAILED|Failed to fetch|Callback|_dash-update")
    page.goto("/?dataset=pyramid")
    shown(page)
    return page, board(page)


def test_address_controls_and_numbers_agree_after_a_loss(visit):
    page, before = opened_board(visit)
    for address in (UPDATE, HEALTH):
        page.route(address, lambda route: route.abort())
    chip(page, "category", "Literature").click()
    page.locator("#unreachable").wait_for()
    eventually(page, lambda: checked(page) == [])
    let_scripts_run(page, 1000)  # the controls that went back ask for nothing
    assert pairs(page) == [("dataset", "pyramid")] and checked(page) == [] and board(page) == before
    assert page.locator("#unreachable").is_visible()

    for address in (UPDATE, HEALTH):
        page.unroute(address)
    page.get_by_role("button", name="Retry").click()
    page.locator("#unreachable").wait_for(state="detached")
    eventually(page, lambda: board(page) != before)
    assert pairs(page) == CHOSEN and checked(page) == [["category", "Literature"]]


def test_a_late_answer_brings_its_address_and_controls(visit):
    """So does one that is slow while the server misses a probe; nothing goes back then."""
    page, before = opened_board(visit)
    held, probes = [], []

    def hold(route):
        held.append(route)

    def miss_first(route):
        probes.append(route)
        if len(probes) == 1:
            route.abort()
        else:
            route.continue_()

    page.route(UPDATE, hold)
    page.route(HEALTH, miss_first)
    chip(page, "category", "Literature").click()
    eventually(page, lambda: len(probes) > 1)
    let_scripts_run(page, 500)
    assert pairs(page) == CHOSEN and not page.locator("#unreachable").count()

    page.unroute(HEALTH)
    page.route(HEALTH, lambda route: route.abort())
    page.locator("#unreachable").wait_for()
    eventually(page, lambda: checked(page) == [])
    assert pairs(page) == [("dataset", "pyramid")] and board(page) == before
    for route in held:
        route.continue_()
    page.locator("#unreachable").wait_for(state="detached")
    eventually(page, lambda: board(page) != before and checked(page) == [["category", "Literature"]])
    assert pairs(page) == CHOSEN


# Everything drawn in each figure: kind, class, shape, place, text. Shapes are in the order in which they are drawn.
# Texts are sorted, since Plotly appends them again when their axis moves.
MARKS = r"""() => Object.fromEntries([...document.querySelectorAll("#content .js-plotly-plot")]
    .filter((plot) => !plot.closest("details:not([open])")).map((plot) => [
    plot.layout.meta.figure,
    [[".main-svg path, .main-svg rect.bg", false], [".main-svg text", true]].flatMap(([selector, sorted]) => {
        const marks = [...plot.querySelectorAll(selector)].map((one) => [
            one.tagName, one.getAttribute("class"), one.getAttribute("d"), one.getAttribute("transform"), one.textContent,
        ]);
        return sorted ? marks.map((mark) => JSON.stringify(mark)).sort().map((mark) => JSON.parse(mark)) : marks;
    }),
]))"""
MOVED = r"""() => {
    window.moved = 0;
    const animate = window.Plotly.animate;
    window.Plotly.animate = function () { window.moved += 1; return animate.apply(this, arguments); };
}"""
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def apart(shape, other):
    """Return the pixels between two shapes; infinity if they are not of the same kind."""
    if NUMBER.sub("", shape or "") != NUMBER.sub("", other or ""):
        return float("inf")
    return max(
        (abs(float(a) - float(b)) for a, b in zip(NUMBER.findall(shape or ""), NUMBER.findall(other or ""), strict=True)),
        default=0,
    )


@pytest.mark.parametrize("address", ["/?dataset=pyramid&sort=model", "/reliability?dataset=pyramid"])
def test_a_figure_changed_in_place_equals_a_new_one(visit, address):
    """Bars are an exception: a new figure puts them on whole pixels."""
    page, other = visit(), visit()
    page.goto(address)
    shown(page)
    page.evaluate(MOVED)
    before = page.evaluate(MARKS)
    page.locator(".filter-category label").nth(1).click()
    page.wait_for_url(re.compile("category"))
    other.goto(page.url)
    shown(page), shown(other)
    assert page.evaluate("moved") > 0
    changed, expected = page.evaluate(MARKS), other.evaluate(MARKS)
    assert before != changed and list(changed) == list(expected)
    for name, marks in expected.items():
        assert len(changed[name]) == len(marks), name
        for mark, anew in zip(changed[name], marks, strict=True):
            assert (mark[:2], mark[3:]) == (anew[:2], anew[3:]), name
            assert apart(mark[2], anew[2]) < (1 if name == "reliability" else 1e-6), (name, mark, anew)


def test_what_is_typed_fast_stays_in_order(visit):
    """This is tried on a slow machine, which redraws the page between two keys."""
    page = visit(new_context=True)
    page.goto("/questions?dataset=pyramid")
    box = page.locator(".filter-q input")
    box.wait_for()
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": 8})
    for text in ("opera by", "a river of"):
        box.fill("")
        box.type(text)
        eventually(page, lambda text=text: ("q", text) in pairs(page))
        let_scripts_run(page, 500)  # no earlier key may take effect later
        assert box.input_value() == text and ("q", text) in pairs(page)
