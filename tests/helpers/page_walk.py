"""Walks through the pages: every page of the navigation, every control on it, and everything that it shows.

The address is the only state. So every control of every page is set, and the resulting address must show the same view wherever
it is opened: in another browser, after a reload, and on the way back.
"""

import json
from urllib.parse import quote

from tests.helpers.page_actions import api, back_to
from tests.helpers.page_rest import AT_REST, eventually, let_scripts_run, wait_for_rest

NEAR = 2  # pixels that a text of a figure can be away from where it is expected
# Paths of the navigation. The slowest come first, so that workers that share them end at the same time.
OVERVIEWS = ("/reliability", "/decide", "/which-ece", "/", "/slices", "/difficulty", "/by-clue", "/across", "/people", "/teams")
DETAILS = ("/compare", "/questions", "/buzz", "question", "/wrong", "/write")
WITHOUT_CONTROLS = ("/models", "/runs", "/gradings", "/upload", "/datasets", "/metrics")
BUNDLED = ("pyramid", "lifeeval", "tone")
# Everything that a visitor sees below the header, the data of its figures, and what they made of it.
SHOWN = r"""() => {
    const unfolded = (plot) => !plot.closest("details:not([open])");
    const plots = [...document.querySelectorAll("#content .js-plotly-plot")].filter(unfolded);
    const axes = (layout) => Object.fromEntries(Object.entries(layout || {})
        .filter(([key]) => /^[xy]axis\d*$/.test(key))
        .map(([key, axis]) => [key, [axis.title && axis.title.text, axis.range && [...axis.range], axis.domain]]));
    const words = (element) => element.innerText.replace(/\s+/g, " ").trim();
    // Texts of a figure with their positions. Their order means nothing, because Plotly appends an annotation when it changes it.
    const texts = (plot) => {
        const corner = plot.getBoundingClientRect();
        return [...plot.querySelectorAll("text")].map((text) => {
            const box = text.getBoundingClientRect();
            return [text.textContent, box.x - corner.x, box.y - corner.y];
        });
    };
    const labels = plots.map(texts);
    plots.forEach((plot) => { plot.hidden = true; });
    // The grid's tooltip, shown where the mouse has rested for a while, is not part of the page's state.
    document.querySelectorAll("#content .ag-tooltip").forEach((tip) => { tip.style.display = "none"; });
    const text = document.getElementById("content") ? words(document.getElementById("content")) : null;
    plots.forEach((plot) => { plot.hidden = false; });
    const list = (values) => (values && values.length !== undefined && typeof values !== "string" ? [...values] : values);
    return JSON.stringify({
        text: text, labels: labels,
        chosen: [...document.querySelectorAll('[id*=\'"role":"control"\']')].map((one) =>
            [one.id, one.tagName === "INPUT" ? one.value : one.innerText.replace(/\s+/g, " "),
             [...one.querySelectorAll("input")].map((input) => [input.type, input.value, input.checked])]),
        titles: [...document.querySelectorAll("#content td[title]")].map((cell) => cell.title),
        current: [...document.querySelectorAll("#clues [aria-current]")].map((clue) => clue.dataset.clue),
        sorted: [...document.querySelectorAll("[aria-sort]")].map((head) => [head.innerText, head.getAttribute("aria-sort")]),
        figures: plots.map((plot) => ({
            traces: (plot._fullData || []).map((trace) => ({
                name: trace.name, type: trace.type, x: list(trace.x), y: list(trace.y), z: trace.z && trace.z.map(list),
                colour: [trace.line && trace.line.color, trace.marker && list(trace.marker.color)],
                text: list(trace.text), more: list(trace.customdata) })),
            axes: axes(plot.layout),
            cursor: ((plot.layout || {}).shapes || []).map((shape) => [shape.x0, shape.x1, shape.y0, shape.y1]),
        })),
    });
}"""
# Nothing is pending: the server owes no response, the page's own state is the address, and all figures and rows are there.
CONTROLS = r"""() => [...document.querySelectorAll('[id*=\'"role":"control"\']')]
    .filter((one) => one.id.endsWith("}") && one.closest(".filter")).map((one) => JSON.parse(one.id))"""
# Open what folds an element away: a disclosure around it, or the one before the filters.
UNFOLD = """one => {
    one.closest(".filters")?.previousElementSibling?.setAttribute("open", "");
    one.closest("details")?.setAttribute("open", "");
}"""
SETTERS = r"""() => [...document.querySelectorAll("#content [data-set]")].map((one) => one.dataset.set)"""


def pages(page):
    """Return every page of the navigation, and a question, for each bundled dataset: (path, dataset, address)."""
    page.goto("/")
    page.locator(".top nav a").first.wait_for()
    paths = [path for path in (*OVERVIEWS, *DETAILS, *WITHOUT_CONTROLS) if path != "question"]
    listed = page.eval_on_selector_all(".datasets a", "links => links.map((l) => new URL(l.href).searchParams.get('dataset'))")
    names = [name for name in listed if name in BUNDLED]  # other tests may have added more
    assert sorted(names) == sorted(BUNDLED)
    questions = {name: api(page, "questions", dataset=name, limit=1)["questions"][0]["question_id"] for name in names}
    addresses = [(path, name, f"{path}?dataset={name}") for path in paths for name in names]
    return addresses + [("question", name, f"/questions/{name}/{quote(first)}") for name, first in questions.items()]


def walk(visit, path):
    """Set every control of a page, one after the other, then go all the way back. Return what fails for each."""
    page, other = visit(), visit()
    walked = controls(page, path)
    assert walked
    views, failures = [], []
    for address, kind, name in walked:
        try:
            views.append(_set_one(page, other, address, kind, name))
        except AssertionError as error:
            failures.append(str(error))
    if not failures:  # a control that failed leaves a different history
        failures += _reload_and_go_back(page, views)
    assert not failures, "\n".join(failures)


def controls(page, path):
    """Return every control of one page once: (page's address, "control", key) or, for buttons, (address, "press", change)."""
    walked, seen = [], set()
    for at, _, address in pages(page):
        if at != path:
            continue
        page.goto(address)
        shown(page)
        here = [("control", control["key"], control["key"]) for control in page.evaluate(CONTROLS)]
        here += [("press", change.partition("=")[0], change) for change in page.evaluate(SETTERS)]
        for kind, key, name in here:
            if key not in seen:
                seen.add(key)
                walked.append((address, kind, name))
    return walked


def _set_one(page, other, address, kind, name):
    """Set one control, and check that another browser shows the same view at its address: (address, what it shows)."""
    where = f"{name} on {address}"
    follow(page, address)
    before, was = shown(page), page.url
    if kind == "control":
        set_otherwise(page, name)
    else:
        page.locator(f"#content [data-set='{name}']").first.click()
    moved(page, was)
    left, moved_on = settled(page)
    other.goto(left, wait_until="commit")
    expected = shown(other)
    assert differences(expected, before), f"{where}: {left} shows what was shown before"
    assert not (apart := differences(moved_on, expected)), f"{where}, set: {apart}"
    return left, expected


def _reload_and_go_back(page, views):
    """Check the last view after a reload and after a detour by the navigation; then check each earlier one on the way back."""
    failures = []
    left, expected = views[-1]
    page.reload(wait_until="commit")
    shows(page, expected, f"{left}, reloaded")
    page.locator(".top nav a:not(.current)").first.click()
    moved(page, left)
    shown(page)
    for address, expected in reversed(views):
        try:
            back_to(page, address)
            shows(page, expected, f"{address}, come back to")
        except AssertionError as error:
            failures.append(str(error))
    return failures


def settled(page):
    """Return the address and everything shown, once no change is pending: a slider may still be handling key presses."""

    def stays():
        at, seen = page.url, shown(page)
        let_scripts_run(page, 250)
        assert page.url == at, "the address still changes"
        return at, seen

    return eventually(page, stays)


def shown(page):
    """Return everything shown, once the page is at rest: two looks in a row, a moment apart, must see the same."""

    def rests():
        assert page.evaluate(AT_REST), f"{page.url} does not come to rest"
        seen = page.evaluate(SHOWN)
        let_scripts_run(page, 60)
        assert page.evaluate(AT_REST) and page.evaluate(SHOWN) == seen, f"{page.url} does not come to rest"
        return json.loads(seen)

    return eventually(page, rests)


def shows(page, expected, where):
    """Wait until the page shows exactly this."""

    def same():
        seen = shown(page)
        assert not (apart := differences(seen, expected)), f"{where}: {apart}"

    eventually(page, same)


def differences(seen, expected):
    """Return what is shown differently than expected; empty if nothing is."""
    apart = [key for key in expected if key != "labels" and seen[key] != expected[key]]
    if len(seen["labels"]) != len(expected["labels"]) or not all(map(_same_labels, seen["labels"], expected["labels"])):
        apart.append("labels")
    return ", ".join(f"{key} {_apart(seen[key], expected[key])}" for key in apart)


def _same_labels(seen, expected):
    """Return whether two figures have the same texts in the same places.

    The margin that Plotly leaves for an axis varies by less than a pixel with what it drew before.
    """
    left = list(expected)
    for text, x, y in seen:
        match = next((label for label in left if label[0] == text and max(abs(label[1] - x), abs(label[2] - y)) < NEAR), None)
        if match is None:
            return False
        left.remove(match)
    return not left


def follow(page, address):
    """Go to an address of this server as a link in the page does, once the page is at rest."""
    wait_for_rest(page)
    page.evaluate("(address) => window.clueline.open(address)", address)
    let_scripts_run(page, 20)


def _apart(seen, expected):
    """Return a short text on where two things begin to differ."""
    a, b = (view if isinstance(view, str) else json.dumps(view) for view in (seen, expected))
    start = next((place for place, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    begin = max(0, start - 40)
    return f"shows ...{a[begin : start + 60]!r} for ...{b[begin : start + 60]!r}"


def element(page, key):
    """Return the control of a key of the address."""
    return page.locator(f"""[id*='"key":"{key}"'][id*='"role":"control"']""").first


def set_otherwise(page, key):
    """Give a control another value, as a visitor does."""
    control = element(page, key)
    control.evaluate(UNFOLD)
    control.scroll_into_view_if_needed()
    if control.evaluate("one => one.tagName === 'INPUT'"):
        control.fill("the")
        control.press("Enter")
    elif control.evaluate("one => one.matches('.dash-dropdown')"):
        control.click()
        control.page.locator(".dash-dropdown-content label:not(:has(input:checked))").first.click()
        if page.locator(".dash-dropdown-content").is_visible():
            page.keyboard.press("Escape")
    elif control.locator("[role=slider]").count():
        handle = control.locator("[role=slider]").last
        handle.focus()
        step = "ArrowLeft" if handle.get_attribute("aria-valuenow") == handle.get_attribute("aria-valuemax") else "ArrowRight"
        for _ in range(8):
            handle.press(step)
    else:
        control.locator("label:not(:has(input:checked))").last.click()


def moved(page, before):
    """Wait until the address has changed."""

    def other():
        assert page.url != before, f"the address stays {before}"

    eventually(page, other)
