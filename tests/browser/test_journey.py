"""An analyst's way through the product, and what the address remembers of it."""

from tests.helpers.page_actions import (
    answers,
    api,
    back_to,
    begin_step,
    between,
    board,
    board_is,
    checked,
    chip,
    choose,
    cursor,
    eventually,
    heading,
    ids,
    listed,
    pairs,
    path,
    written,
)
from tests.helpers.page_rest import let_scripts_run, wait_for_rest
from tests.helpers.page_walk import follow

PYRAMID = ("dataset", "pyramid")


def to_pyramid(page):
    page.goto("/")
    page.locator(".datasets summary").click()
    page.locator(".datasets").get_by_role("link", name="Pyramid").click()
    board_is(page, [PYRAMID])
    wait_for_rest(page)


def test_a_filter_is_a_step_for_back(page):
    to_pyramid(page)
    all_of_it = board(page)

    chip(page, "category", "History").click()
    query = [PYRAMID, ("category", "History")]
    history = board_is(page, query)
    assert history != all_of_it

    begin_step(page)
    chip(page, "elicitation", "softmax").click()
    query.append(("elicitation", "softmax"))
    softmax = board_is(page, query)
    assert 0 < len(softmax) < len(history)

    begin_step(page)
    between(page, "difficulty", high=0.3)
    query.append(("difficulty", "0..0.3"))
    easy = board_is(page, query)
    assert easy != softmax

    choose(page, "human", "Survival")
    query.append(("human", "survival"))
    survival = board_is(page, query)
    assert [row["metrics"]["calscore"] for row in survival] != [row["metrics"]["calscore"] for row in easy]
    errors = [{row["run"]: row["metrics"]["ece"] for row in rows} for rows in (survival, easy)]
    assert errors[0] == errors[1]
    assert "Aalen-Johansen" in page.locator("td[data-metric=calscore]").first.get_attribute("title")

    begin_step(page)
    chip(page, "elicitation", "softmax").click()
    query.remove(("elicitation", "softmax"))
    assert len(board_is(page, query)) == len(history)
    back_to(page, "/?dataset=pyramid&category=History")
    assert board_is(page, [PYRAMID, ("category", "History")]) == history
    page.go_forward()
    board_is(page, [PYRAMID, ("category", "History"), ("elicitation", "softmax")])


def test_controls_of_a_page_that_is_left_write_nothing(page):
    """Neither does what somebody sets meanwhile: the address is already that of another page, and Forward leads back."""
    to_pyramid(page)
    for category in ("History", "Arts"):
        chip(page, "category", category).click()
        wait_for_rest(page)
        begin_step(page)
    history, late = [PYRAMID, ("category", "History")], []

    def hold(route):
        late.append(route)

    page.route("**/_dash-update-component*", hold)
    page.go_back()
    chip(page, "category", "Literature").click()
    let_scripts_run(page, 100)
    assert pairs(page) == sorted(history)
    for route in late:
        route.continue_()
    page.unroute("**/_dash-update-component*")
    board_is(page, history)
    page.go_forward()
    board_is(page, [*history, ("category", "Arts")])


def test_a_range_is_set_by_typing_and_by_its_handles(page):
    to_pyramid(page)
    between(page, "difficulty", high=0.3, leave="Enter")
    board_is(page, [PYRAMID, ("difficulty", "0..0.3")])
    page.locator(".filter-revealed [role=slider]").nth(1).focus()
    for _ in range(3):
        page.keyboard.press("ArrowLeft")
    board_is(page, [PYRAMID, ("difficulty", "0..0.3"), ("revealed", "0..0.97")])


def test_a_heading_sorts_and_a_cell_explains(page):
    to_pyramid(page)
    assert "Simulated" in page.locator(".simulated").inner_text()
    rows = board(page)
    assert len(rows) == 8 and len(rows[0]["metrics"]) == 4
    row = api(page, "leaderboard", [PYRAMID])["rows"][0]
    title = page.locator(f"tr[data-run='{row['run']}'] td[data-metric=calscore]").get_attribute("title")
    assert f"CalScore = {written(row['metrics']['calscore']['value'], 5)}, over" in title
    assert "60 questions" in title and "human buzzes" in title

    button = page.locator("thead button", has_text="ECE")
    button.click()
    board_is(page, [PYRAMID, ("sort", "ece")])
    eventually(page, lambda: in_order(page, "ece", turned=False))
    assert page.locator("th[aria-sort=ascending]").inner_text().startswith("ECE")
    button.click()
    board_is(page, [PYRAMID, ("sort", "-ece")])
    eventually(page, lambda: in_order(page, "ece", turned=True))
    button.click()
    board_is(page, [PYRAMID])
    page.locator("thead button", has_text="Accuracy").click()  # of which more is better
    board_is(page, [PYRAMID, ("sort", "accuracy")])
    eventually(page, lambda: in_order(page, "accuracy", turned=True))
    assert page.locator("th[aria-sort=descending]").inner_text().startswith("Accuracy")

    page.get_by_role("button", name="All 13 columns").click()
    eventually(page, lambda: len(board(page)[0]["metrics"]) == 13)
    page.get_by_role("button", name="Only 4 columns").click()
    board_is(page, [PYRAMID, ("sort", "accuracy")])


def in_order(page, metric, turned):
    values = [float(row["metrics"][metric]) for row in board(page)]
    assert values and values == sorted(values, reverse=turned)


def sort_list(page, column):
    page.locator(f".ag-header-cell[col-id='{column}'] .ag-header-cell-label").click()


def test_from_the_board_to_a_question_and_all_the_way_back(page):
    to_pyramid(page)
    chip(page, "category", "History").click()
    chip(page, "elicitation", "softmax").click()
    selection = [PYRAMID, ("category", "History"), ("elicitation", "softmax")]
    board_before = board_is(page, selection)

    page.get_by_role("navigation", name="Places").get_by_role("link", name="Questions").click()
    rows = listed(page, lambda rows: len(rows) == 10)
    assert path(page) == "/questions" and pairs(page) == sorted(selection)
    assert checked(page) == [["elicitation", "softmax"], ["category", "History"]]
    assert {row["category"] for row in rows} == {"History"}
    assert sum(name.startswith("calscore:") for name in rows[0]) <= 4

    page.locator(".filter-q input").type("battle")
    searched = [*selection, ("q", "battle")]
    wanted = [question["question_id"] for question in api(page, "questions", searched)["questions"]]
    assert 1 < len(wanted) < 10
    listed(page, lambda rows: sorted(ids(rows)) == sorted(wanted))
    assert set(searched) <= set(pairs(page))

    sort_list(page, "difficulty")
    sort_list(page, "difficulty")
    expected = [question["question_id"] for question in api(page, "questions", searched, sort="-difficulty")["questions"]]
    listed(page, lambda rows: ids(rows) == expected)
    page.locator(".ag-row a").nth(1).click()
    eventually(page, lambda: bool(answers(page)) and cursor(page) is not None)
    assert path(page) == f"/questions/pyramid/{expected[1]}"
    assert "2 of" in heading(page)
    assert heading(page) != "Questions"

    page.go_back()
    listed(page, lambda rows: ids(rows) == expected)
    assert path(page) == "/questions"
    assert page.locator(".filter-q input").input_value() == "battle"
    assert checked(page) == [["elicitation", "softmax"], ["category", "History"]]
    assert page.locator(".ag-header-cell[col-id=difficulty]").get_attribute("aria-sort") == "descending"

    back_to(page, "/?dataset=pyramid&category=History&elicitation=softmax")
    assert board_is(page, selection) == board_before
    assert checked(page) == [["elicitation", "softmax"], ["category", "History"]]

    page.go_forward()
    listed(page, lambda rows: len(rows) == 10)


def test_a_press_on_a_dot_lists_what_leads_to_its_question(page):
    page.goto("/metrics")
    for address, figure in (("/difficulty", "hard-easy"), ("/compare", "scatter")):
        follow(page, f"{address}?dataset=pyramid&category=History")
        dot = page.locator(f".figure-{figure} .points path").nth(3)
        dot.wait_for()
        wait_for_rest(page)
        dot.scroll_into_view_if_needed()
        box = dot.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=4)
        label = page.locator(f".figure-{figure} .hovertext").first.text_content()
        page.mouse.down()
        page.mouse.up()
        page.locator("#drawer tbody a").first.click()
        page.wait_for_url("**/questions/pyramid/**")
        assert label.startswith(path(page).rsplit("/", 1)[1])
        assert ("category", "History") in pairs(page)
