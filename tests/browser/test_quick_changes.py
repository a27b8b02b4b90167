"""Controls that are moved faster than the server answers."""

from driving import eventually, pairs
from walking import COUNT, shown, shows


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
