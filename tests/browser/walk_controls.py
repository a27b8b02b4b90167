"""The address is the only state: every control of every page is set, and the address it leaves shows the same view wherever it
is opened: in another browser, here again, on the way back."""

import pytest
from driving import eventually, pairs
from walking import CONTROLS, COUNT, SETTERS, differences, follow, moved, pages, set_otherwise, shown, shows

WALKED = ("/", "/reliability", "/difficulty", "/buzz", "/questions", "/compare", "/slices", "/people", "question")
WITHOUT_CONTROLS = ("/runs", "/upload", "/datasets", "/metrics")


def controls(page, path):
    """Every control of one page once: (page's address, "control", key) and, for what is pressed, (address, "press", change)."""
    found, seen = [], set()
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
                found.append((address, kind, name))
    return found


def walk(page, other, address, kind, name):
    """Set one control; the view that it leaves is the view of its address, wherever that is opened."""
    where = f"{name} on {address}"
    follow(page, address)
    before, was = shown(page), page.url
    if kind == "control":
        set_otherwise(page, name)
    else:
        page.locator(f"#content [data-set='{name}']").first.click()
    moved(page, was)
    left, moved_on = settled(page)
    page.reload(wait_until="commit")
    other.goto(left, wait_until="commit")
    expected = shown(other)
    assert expected != before, f"{where}: {left} shows what was shown before"
    assert moved_on == expected, f"{where}, set: {differences(moved_on, expected)}"
    shows(page, expected, f"{where}, reloaded")
    page.locator(".top nav a:not(.current)").first.click()
    moved(page, left)
    shown(page)
    page.go_back()
    shows(page, expected, f"{where}, come back to")
    assert page.url == left, where


def settled(page):
    """The address and all that is shown, once no change is under way: a slider may still work off the keys that it was given."""

    def stays():
        at, seen = page.url, shown(page)
        page.wait_for_timeout(250)
        assert page.url == at, "the address still changes"
        return at, seen

    return eventually(page, stays)


def test_every_page_of_the_navigation_is_walked(visit):
    assert {path for path, _, _ in pages(visit())} == {*WALKED, *WITHOUT_CONTROLS}


@pytest.mark.parametrize("path", WALKED)
def test_the_address_holds_what_every_control_sets(visit, path):
    page, other = visit(), visit()
    for one in (page, other):
        one.add_init_script(COUNT)
    found = controls(page, path)
    assert found
    failures = []
    for address, kind, name in found:
        try:
            walk(page, other, address, kind, name)
        except AssertionError as error:
            failures.append(str(error))

    assert not failures, "\n".join(failures)


def test_the_last_of_many_quick_changes_wins(visit):
    """What was asked for in between may be answered late or never: what stays is the view of the address."""
    page, other = visit(), visit()
    for one in (page, other):
        one.add_init_script(COUNT)
    for address in ("/?dataset=pyramid", "/difficulty?dataset=pyramid", "/compare?dataset=pyramid"):
        page.goto(address)
        shown(page)
        chips = page.locator(".filter-category label")
        for place in (0, 1, 2, 1, 3, 0):
            chips.nth(place).click(no_wait_after=True)
        handle = page.locator(".filter-difficulty [role=slider]").last
        handle.focus()
        for _ in range(12):
            handle.press("ArrowLeft", no_wait_after=True)
        chips.nth(4).click(no_wait_after=True)
        page.wait_for_timeout(100)

        def settled():
            query = dict(pairs(page))
            assert "difficulty" in query and len([key for key, _ in pairs(page) if key == "category"]) == 3

        eventually(page, settled)
        other.goto(page.url)
        expected = shown(other)
        shows(page, expected, f"{address} after quick changes")
        page.wait_for_timeout(500)  # nothing that was asked for earlier may come in later
        shows(page, expected, f"{address} a moment later")
