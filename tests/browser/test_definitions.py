"""The Metrics page: formulas are typeset without another host, and a link to a metric scrolls to it."""

from tests.helpers.page_actions import board_is, entries, eventually, heading


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


def test_every_formula_is_typeset_on_a_small_screen(visit):
    """Its font is loaded by no other page."""
    requested = []
    page = visit(new_context=True, width=390, height=844, theme="dark")
    page.on("request", lambda request: requested.append(request.url))
    page.goto("/datasets")
    page.wait_for_load_state("networkidle")
    assert requested and not any("math" in url for url in requested)
    page.goto("/metrics")
    typeset(page)
    assert heading(page) == "Metrics"
    assert "\\" not in "".join(page.locator(".formula").all_inner_texts())  # no LaTeX command is left
    assert page.locator(".formula math [tabindex]").count() == 0  # no tab stops
    boxes = page.locator(".formula math").evaluate_all("all => all.map((one) => one.getBoundingClientRect().height)")
    assert min(boxes) > 10  # the browser draws them
    assert not any("mathjax" in url for url in requested)
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_links_to_metrics_show_them_and_add_no_history(page):
    page.goto("/metrics#corp_mcb")
    typeset(page)
    in_sight(page, "corp_mcb")
    before = entries(page)
    page.get_by_role("navigation", name="Metrics").get_by_role("link", name="KS seq.").click()
    in_sight(page, "ks_sequential")
    assert page.url.endswith("/metrics#ks_sequential")
    assert entries(page) == before
    assert page.locator(".formula math").count() > 20


def test_definitions_and_keys_from_the_board(page):
    page.goto("/")
    board_is(page, [])
    page.locator('th a.defined[href="/metrics#ece"]').click(force=True)
    typeset(page)
    in_sight(page, "ece")
    page.go_back()
    board_is(page, [])

    dialog = page.locator("#keys")
    assert not dialog.is_visible()
    page.keyboard.press("?")
    assert dialog.is_visible() and "Previous or next clue" in dialog.inner_text()
    page.keyboard.press("Escape")
    assert not dialog.is_visible()
    page.get_by_role("button", name="Keyboard shortcuts").click()
    dialog.get_by_role("button", name="Close").click()
    assert not dialog.is_visible()
