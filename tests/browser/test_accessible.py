"""No page has a serious or critical violation of axe-core's rules, in either theme, in a wide and a narrow window. The keyboard
reaches and uses every control.
"""

from urllib.parse import quote

import pytest

from tests.helpers.page_actions import eventually, grave_violations, pairs
from tests.helpers.page_walk import CONTROLS, DETAILS, OVERVIEWS, WITHOUT_CONTROLS, follow, pages, shown

# Rows of a table are alike: a few of each are enough, and hundreds take minutes.
UNFOLD = """() => {
    document.querySelectorAll("#content details").forEach((one) => { one.open = true; });
    document.querySelectorAll("#content tbody tr:nth-child(n + 6)").forEach((row) => { row.hidden = true; });
}"""
PAGES = (*OVERVIEWS, *DETAILS, *WITHOUT_CONTROLS)
SEEN = ["color-contrast", "scrollable-region-focusable", "target-size"]
# Links within a sentence may be lower (WCAG 2.5.8), and so may thumbs, because the whole slider is a target.
LOW = """() => [...document.querySelectorAll("a[href], button, input, select, summary")].filter((one) => {
    const box = (one.closest("label") || one).getBoundingClientRect();
    const hidden = !box.width || !box.height || getComputedStyle(one).visibility === "hidden";
    return !hidden && box.height < 23.5 && !one.closest(".ag-root-wrapper, .skip, p, li, dd, code, pre, .note");
}).map((one) => one.outerHTML.slice(0, 120))"""
FOCUSED = r"""() => {
    const one = document.activeElement;
    if (!one || one === document.body) return null;
    // Controls without a face of their own show the focus on what stands for them, such as a chip's label.
    const faces = [one, one.closest("label"), one.closest(".dash-input-container"), one.parentElement];
    const seen = faces.filter(Boolean).some((face) => {
        const style = window.getComputedStyle(face);
        return (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) || style.boxShadow !== "none";
    });
    const control = one.closest('[id*=\'"role":"control"\']');
    const key = control ? JSON.parse(control.id.replace(/}[^}]*$/, "}")).key : null;
    return { key: key, set: one.dataset.set || null, seen: seen, what: one.outerHTML.slice(0, 160) };
}"""


# Themes differ in colours, widths in what fits. Everything else on a page is the same in both, and is checked in one.
@pytest.mark.walk
@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("theme, width, rules", [("light", 1280, None), ("dark", 390, SEEN)])
def test_axe_finds_no_grave_violation(visit, theme, width, rules, path):
    page = visit(theme=theme, width=width)
    options = {"runOnly": {"type": "rule", "values": rules}} if rules else {}
    violations = {}
    for address in [address for at, _, address in pages(page) if at == path]:
        follow(page, address)
        shown(page)
        page.evaluate(UNFOLD)
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow == 0, f"{address} is {overflow} px too wide"
        assert page.evaluate(LOW) == [], address
        for violation in grave_violations(page, **options):
            nodes = [f"{node['target']} {node['html'][:120]} {node['failureSummary'][:240]}" for node in violation["nodes"]]
            violations.setdefault(f"{violation['id']}: {violation['help']}", []).append((address, len(nodes), nodes[0]))
    messages = [f"{rule}\n    " + "\n    ".join(map(str, places)) for rule, places in violations.items()]
    assert not messages, "\n".join(messages)


@pytest.mark.walk
def test_tab_reaches_every_control_and_shows_where_it_is(visit):
    page = visit()
    walked = set()
    for name, _, address in pages(page):
        if name in walked:
            continue
        walked.add(name)
        page.goto(address)  # Tab begins at the top of a new document, but not after a link
        shown(page)
        page.evaluate("document.querySelectorAll('.method, #content details').forEach((one) => { one.open = true; })")
        wanted = {control["key"] for control in page.evaluate(CONTROLS)}
        reached, unseen = set(), []
        for _ in range(400):
            page.keyboard.press("Tab")
            at = page.evaluate(FOCUSED)
            if at is None or wanted <= reached:
                break
            reached.add(at["key"])
            if not at["seen"]:
                unseen.append(at["what"])
        assert wanted <= reached, f"{address}: Tab does not reach {wanted - reached}"
        assert not unseen, f"{address}: the focus is not seen on {unseen}"


def test_the_keyboard_sets_controls(visit):
    page = visit()
    page.goto("/?dataset=pyramid")
    shown(page)
    page.locator(".filter-model input").first.focus()
    page.keyboard.press("Space")
    eventually(page, lambda: "model" in dict(pairs(page)))
    page.locator(".filter-difficulty [role=slider]").first.focus()
    page.keyboard.press("ArrowRight")
    eventually(page, lambda: "difficulty" in dict(pairs(page)))
    page.locator(".method summary").focus()
    page.keyboard.press("Enter")
    page.locator(".filter-human button").focus()
    page.keyboard.press("Enter")
    page.locator(".dash-dropdown-content input[value='']:focus").wait_for()  # the focus moves a frame after the key
    page.keyboard.press("ArrowDown")
    page.locator(".dash-dropdown-content input[value=buzz_share]:focus").wait_for()
    page.keyboard.press("Enter")
    eventually(page, lambda: "human" in dict(pairs(page)))
    shown(page)
    page.locator("thead [data-set]").first.focus()
    page.keyboard.press("Enter")
    eventually(page, lambda: "sort" in dict(pairs(page)))


def test_the_table_behind_the_scatter_opens_what_its_dots_open(visit):
    page = visit()
    page.goto("/compare?dataset=pyramid")
    shown(page)
    trace = page.evaluate("document.querySelector('.figure-scatter .js-plotly-plot').data.at(-1)")
    dots = [trace["meta"]["items"].replace("ID", quote(name, safe="")) for name in trace["customdata"]]
    page.locator(".figure-scatter summary").focus()
    page.keyboard.press("Enter")
    links = page.locator(".figure-scatter tbody th a")
    assert [link.get_attribute("data-items") for link in links.all()] == dots[:200]
    links.nth(3).focus()
    page.keyboard.press("Enter")
    page.locator("#drawer tbody tr").first.wait_for()
    assert dict(pairs(page))["items"] == dots[3]
    answers = page.locator("#drawer tbody a").evaluate_all("links => links.map((link) => link.pathname)")
    assert {*answers} == {f"/questions/pyramid/{quote(trace['customdata'][3])}"}
