"""The Metrics page: formulas are typeset without another host, and a link to a metric scrolls to it."""

from tests.helpers.page_actions import board_is, choose, entries, eventually, heading, pairs
from tests.helpers.page_walk import shown


def in_sight(page, key, top=40):
    """Wait until the entry is at the top of the window, or as near to it as the end of the page allows."""

    def stands():
        place, end = page.evaluate(
            """(key) => [document.getElementById(key)?.getBoundingClientRect().top,
                document.documentElement.scrollHeight - window.innerHeight - window.scrollY]""",
            key,
        )
        assert place is not None and place >= -2 and (place < top or end < 2)

    eventually(page, stands)


def typeset(page):
    def all_set():
        formulas, done = page.locator(".formula").count(), page.locator(".formula math > mrow").count()
        assert formulas == done > 20

    eventually(page, all_set)


def test_every_formula_is_typeset(visit):
    requested = []
    page = visit(new_context=True)
    page.on("request", lambda request: requested.append(request.url))
    page.goto("/metrics")
    typeset(page)
    assert heading(page) == "Metrics"
    assert "\\" not in "".join(page.locator(".formula").all_inner_texts())  # no LaTeX command is left
    assert page.locator(".formula math [tabindex]").count() == 0  # no tab stops
    boxes = page.locator(".formula math").evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert min(boxes) > 10  # the browser draws them
    assert not any("mathjax" in url for url in requested)


def test_no_other_page_loads_the_font_of_formulas(visit):
    requested = []
    page = visit(new_context=True)
    page.on("request", lambda request: requested.append(request.url))
    page.goto("/")
    page.wait_for_load_state("networkidle")
    assert requested and not any("math" in url for url in requested)


def test_a_link_to_a_metric_shows_it(page):
    page.goto("/metrics#corp_mcb")
    typeset(page)
    in_sight(page, "corp_mcb")


def test_the_table_of_contents_adds_no_history(page):
    page.goto("/metrics")
    typeset(page)
    before = entries(page)
    page.get_by_role("navigation", name="Metrics").get_by_role("link", name="KS seq.").click()
    in_sight(page, "ks_sequential")
    assert page.url.endswith("/metrics#ks_sequential")
    assert entries(page) == before
    assert page.locator(".formula math").count() > 20


def test_a_heading_of_the_leaderboard_leads_to_its_definition(page):
    page.goto("/")
    board_is(page, [])
    page.locator('th a.defined[href="/metrics#ece"]').click(force=True)
    typeset(page)
    in_sight(page, "ece")
    page.go_back()
    board_is(page, [])


def test_it_fits_a_small_screen(visit):
    page = visit(width=390, height=844, theme="dark")
    page.goto("/metrics")
    typeset(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_published_rows_can_be_switched_on_and_off(page):
    page.goto("/")
    alone = board_is(page, [])
    choose(page, "published", "LifeEval, Table 2")
    eventually(page, lambda: rows_printed(page, 12))
    assert pairs(page) == [("published", "lifeeval-table-2")]
    assert page.locator("table.board tbody tr[data-run]").count() == len(alone)
    choose(page, "published", "None")
    eventually(page, lambda: rows_printed(page, 0))
    assert pairs(page) == []


def rows_printed(page, count):
    assert page.locator("tbody.published tr").count() == count


def test_a_list_of_keys_opens_and_closes_by_keyboard(page):
    page.goto("/questions?dataset=pyramid")
    shown(page)
    dialog = page.locator("#keys")
    assert not dialog.is_visible()
    page.keyboard.press("?")
    assert dialog.is_visible() and "Previous or next clue" in dialog.inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()
