"""The question page, links to it, and pages in odd conditions: wrong addresses, narrow windows, both themes, hostile text."""

from urllib.parse import quote

import pytest

from dashboard.ui.notices import DISPUTED
from dashboard.ui.quizbowl import without_markup
from tests.helpers.browser_bundles import BOLD, IDS, IMAGE, RUNS, SCRIPT, TURNED, write_crowd, write_nasty
from tests.helpers.page_actions import (
    NoServer,
    answers,
    api,
    board,
    board_is,
    chip,
    choose,
    cursor,
    entries,
    eventually,
    fetched,
    ids,
    listed,
    pairs,
    traces,
    written,
)
from tests.helpers.page_rest import let_scripts_run

PYRAMID = ("dataset", "pyramid")
QUESTION = "/questions/pyramid/lit-01"


@pytest.fixture(scope="module")
def awkward(server, cli_process, tmp_path_factory):
    """Import two more datasets into the server's store while it serves."""
    folder = tmp_path_factory.mktemp("bundles")
    write_nasty(folder / "nasty")
    write_crowd(folder / "crowd")
    done = cli_process("import", folder / "nasty", folder / "crowd", store=server.store)
    assert done.returncode == 0, done.stderr


def drawn(page):
    """Wait until the question's answers and its figure are there."""

    def complete():
        assert answers(page) and cursor(page) is not None

    eventually(page, complete)


def opened(page, address):
    response = page.goto(address)
    assert response.status == 200
    drawn(page)


def at_clue(page, question, clue):
    """Wait until everything on the page is at one clue: text, title, answers, figure and address."""
    ends = [place["word_end"] for place in question["clues"]]
    last = len(ends) - 1
    surest, expected = [], []
    for run in question["runs"]:
        answer = next((response for response in run["clues"] if response["clue"] == clue), None)
        assert answer, "every run of the sample answers every clue"
        mark = "✓" if answer["correct"] >= 0.5 else "✗"
        surest.append(-answer["confidence"])
        expected.append([answer["guess"], mark, written(answer["confidence"])])
    expected = [row for _, row in sorted(zip(surest, expected, strict=True), key=lambda pair: pair[0])]

    def check():
        states = page.evaluate("[...document.querySelectorAll('#clues .clue')].map((li) => li.className.replace('clue ', ''))")
        assert states == ["past"] * clue + ["now"] + ["ahead"] * (last - clue)
        assert [row[1:4] for row in answers(page)] == expected
        assert page.locator("#answers-title").inner_text().startswith(f"Answers after clue {clue + 1} of {last + 1}")
        assert cursor(page) == ends[clue]
        assert dict(pairs(page)).get("clue") == (None if clue == last else str(clue))

    eventually(page, check)


def point_at(page, word, clue):
    """Point at a word in the figure until its clue is chosen. What is above the figure can still change its height."""

    def pointed():
        x, y = page.evaluate(
            """(word) => {
                const gd = document.querySelector(".figure-clues .js-plotly-plot");
                const box = gd.querySelector(".draglayer .xy .nsewdrag").getBoundingClientRect();
                const [low, high] = gd.layout.xaxis.range;
                return [box.left + ((word - low) / (high - low)) * box.width, box.top + box.height / 2];
            }""",
            word,
        )
        page.mouse.move(x, y + 10)
        page.mouse.move(x, y, steps=3)
        assert page.locator("#clues .now").get_attribute("data-clue") == str(clue)

    eventually(page, pointed)


def test_keys_and_mouse_move_the_cursor_without_the_server(page):
    opened(page, f"{QUESTION}?clue=4")
    question = api(page, "questions/pyramid/lit-01")
    at_clue(page, question, 4)
    plot = page.locator(".figure-clues .js-plotly-plot")
    plot.scroll_into_view_if_needed()
    before = entries(page)
    with NoServer(page):
        # Keys that are pressed faster than the page follows all count.
        pressed = "new KeyboardEvent('keydown', { key: 'ArrowLeft', bubbles: true })"
        page.evaluate(f"() => {{ for (let time = 0; time < 3; time++) document.body.dispatchEvent({pressed}); }}")
        at_clue(page, question, 1)
        for key, clue in (("ArrowRight", 2), ("ArrowDown", 3), ("ArrowLeft", 2), ("ArrowUp", 1)):
            page.keyboard.press(key)
            at_clue(page, question, clue)
        for key, clue in (("ArrowLeft", 0), ("ArrowRight", 5)):  # not beyond the first or the last
            for _ in range(6):
                page.keyboard.press(key)
            at_clue(page, question, clue)
        for clue in (4, 1, 3):
            point_at(page, question["clues"][clue]["word_end"] - 2, clue)
            at_clue(page, question, clue)
        page.locator("#clues [data-clue='2']").click()
        at_clue(page, question, 2)
        page.locator("#clues [data-clue='5']").focus()
        page.keyboard.press("Enter")
        at_clue(page, question, 5)
        let_scripts_run(page, 300)
    assert entries(page) == before


def test_the_figure_shows_what_the_api_says(page):
    opened(page, QUESTION)
    question = api(page, "questions/pyramid/lit-01")
    ends = [clue["word_end"] for clue in question["clues"]]
    drawn_lines = {trace["meta"]: trace for trace in traces(page) if trace.get("meta")}
    assert set(drawn_lines) == {run["run"] for run in question["runs"]}
    assert len({trace["colour"] for trace in drawn_lines.values()}) == 4  # best, worst, surest and wrong; the others are grey
    for run in question["runs"]:
        line = drawn_lines[run["run"]]
        assert line["x"] == [ends[answer["clue"]] for answer in run["clues"]]
        assert line["y"] == [answer["confidence"] for answer in run["clues"]]
        assert ["circle" in symbol for symbol in line["symbol"]] == [answer["correct"] >= 0.5 for answer in run["clues"]]
    people = next(trace for trace in traces(page) if trace["name"] == "People")
    assert people["x"] == [0, *ends] and people["y"] == [0, *question["human"][question["drawn_curve"]]]
    buzzes = [trace for trace in traces(page) if trace["name"] == "Buzzes"]
    assert sum(len(sign) for trace in buzzes for sign in trace["text"] or []) == len(question["human"]["buzzes"])
    assert page.locator("#clues .tick").count() == len(question["human"]["buzzes"])


def test_a_copied_address_gives_the_same_view(page, visit):
    opened(page, "/questions/pyramid/lit-01?category=Literature&sort=-difficulty&clue=4")
    choose(page, "run", "BM25 · softmax")
    choose(page, "run", "LSA 64 · margin")
    choose(page, "human", "Share of teams")

    def both_runs():
        assert len(answers(page)) == 2
        assert cursor(page) is not None
        assert page.evaluate("document.querySelector('.figure-clues figcaption').innerText").endswith("answered correctly so far")

    eventually(page, both_runs)
    page.locator("#clues [data-clue='3']").click()
    question = api(page, "questions/pyramid/lit-01", pairs(page))
    at_clue(page, question, 3)
    address = page.url

    other = visit()
    opened(other, address)
    at_clue(other, question, 3)

    def seen(page):
        return {
            "heading": page.locator(".question-heading").inner_text(),
            "answers": answers(page),
            "title": page.locator("#answers-title").inner_text(),
            "cursor": cursor(page),
            "figure": traces(page),
            "runs": page.locator(".filter-run button.menu").inner_text(),
            "human": page.locator(".filter-human button.menu").inner_text(),
            "address": pairs(page),
            "back": page.locator(".crumbs a").get_attribute("href"),
        }

    assert seen(other) == seen(page)
    assert seen(other)["human"] == "Share of teams"
    assert "of 10" in seen(other)["heading"]


def test_the_theme_is_kept_by_the_address_and_by_the_browser(page, visit):
    opened(page, QUESTION)
    theme = "document.documentElement.dataset.theme"
    inks = {}
    for name in ("light", "dark", "light"):
        assert page.evaluate(theme) == name
        colour = next(trace["colour"] for trace in traces(page) if trace["name"] == "People")
        assert inks.setdefault(name, colour) == colour
        page.locator("#theme-switch").click()
        turned = "dark" if name == "light" else "light"

        def recoloured(turned=turned, old=colour):
            assert page.evaluate(theme) == turned
            assert dict(pairs(page))["theme"] == turned
            assert next(trace["colour"] for trace in traces(page) if trace["name"] == "People") != old

        eventually(page, recoloured)
    assert len(set(inks.values())) == 2
    page.goto("/datasets")
    assert "theme" not in dict(pairs(page)) and page.evaluate(theme) == "dark"
    other = visit()
    other.goto("/datasets?theme=dark")
    assert other.evaluate(theme) == "dark"


def test_the_error_panel_leads_back_to_what_there_is(visit):
    page = visit(allow=(400, 404))
    page.goto("/?dataset=pyramid&category=Cookery&elicitation=softmax")
    panel = page.locator(".panel[role=alert]")
    panel.get_by_role("link", name="Remove category from the link").click()
    board_is(page, [PYRAMID, ("elicitation", "softmax")])
    page.go_back()
    panel.get_by_role("link", name="History").click()
    board_is(page, [PYRAMID, ("category", "History"), ("elicitation", "softmax")])
    page.goto(f"{QUESTION}?clue=77")
    panel.get_by_role("link", name="3", exact=True).click()
    drawn(page)
    assert page.locator("#clues .now").get_attribute("data-clue") == "3"
    page.goto("/questions/pyramid/lit-99")
    panel.get_by_role("link", name="To the leaderboard").click()
    board_is(page, [])
    page.goto("/nowhere")
    assert "no such page" in panel.inner_text()
    page.get_by_role("navigation", name="Places").get_by_role("link", name="Questions").click()
    listed(page)


def question_address(name):
    return f"/questions/nasty/{quote(name, safe='')}"


def test_hostile_questions_are_listed_opened_and_shown_as_text(visit, awkward):
    page = visit()
    assert {name: fetched(page, question_address(name))[0] for name in IDS} == dict.fromkeys(IDS, 200)
    assert [api(page, question_address(name).removeprefix("/"))["question_id"] for name in IDS] == list(IDS)
    page.goto("/questions?dataset=nasty")
    assert ids(listed(page)) == list(IDS)
    page.locator(".ag-row a").first.click()
    for name in IDS:

        def shown(name=name):
            assert page.locator(".question-heading code").first.inner_text() == name
            assert [row[1].removesuffix(f"\n{DISPUTED}") for row in answers(page)] == [IMAGE, TURNED, SCRIPT]
            text = page.locator("#clues").inner_text()
            assert not [piece for piece in (SCRIPT, IMAGE, without_markup(BOLD), TURNED.split()[-1]) if piece not in text]
            assert cursor(page) is not None

        eventually(page, shown)
        page.keyboard.press("n")


def test_the_box_moves_buzzpoints_without_own_thresholds(page):
    def buzzing(threshold, own):
        question = api(page, "questions/pyramid/lit-08")
        ends = [clue["word_end"] for clue in question["clues"]]
        expected = {}
        for run in question["runs"]:
            tau = own.get(run["run"], threshold)
            above = [clue["clue"] for clue in run["clues"] if clue["confidence"] > tau]
            if above:
                expected[f"Buzz of {run['model']} · {run['elicitation']}"] = [ends[above[0]]]

        def check():
            buzzes = {trace["name"]: trace["x"] for trace in traces(page) if trace["name"].startswith("Buzz of ")}
            assert buzzes == expected

        eventually(page, check)

    pins = [("pin", run["run"]) for run in api(page, "questions/pyramid/lit-08")["runs"]]  # only runs in colour have a mark
    own = pins[0][1]
    keys = "&".join(f"pin={run}" for _, run in pins)
    opened(page, f"/questions/pyramid/lit-08?{keys}&threshold=0.3&threshold={own}:0.9")
    buzzing(0.3, {own: 0.9})
    box = page.locator(".question-thresholds input")
    for text in ("0.6", ".45"):
        box.fill(text)
        box.press("Enter")
        buzzing(float(text), {own: 0.9})
        assert pairs(page) == sorted([*pins, ("threshold", f"{float(text):g}"), ("threshold", f"{own}:0.9")])
    box.fill("beauty")
    box.press("Enter")
    let_scripts_run(page, 300)
    assert ("threshold", "0.45") in pairs(page)
    box.fill("")
    box.press("Enter")
    page.get_by_text("above its best threshold").wait_for()
    assert pairs(page) == sorted([*pins, ("threshold", f"{own}:0.9")])


def test_hostile_text_is_text_on_every_page(visit, awkward):
    page = visit()
    made = "document.querySelectorAll('main script, main img, main b, main i').length"
    page.goto("/?dataset=nasty")
    board_is(page, [("dataset", "nasty")])
    assert page.evaluate(made) == 0
    assert IMAGE in page.locator(".simulated").first.text_content()
    assert [row["model"] for row in board(page)] == [BOLD, SCRIPT, "plain"]
    # The server has not been restarted since the import.
    assert {"Crowd", f"Nasty {BOLD}"} <= set(page.locator(".datasets a .name").all_text_contents())

    def labels():  # Plotly treats some text in labels as markup
        shown = "[...document.querySelectorAll('.figure-gap :is(.ytick, .annotation) text')].map((text) => text.textContent)"
        assert {BOLD, SCRIPT, "plain"} <= {*page.evaluate(shown)}

    eventually(page, labels)
    chip(page, "category", "A&B=C;D").click()
    board_is(page, [("dataset", "nasty"), ("category", "A&B=C;D")])
    page.goto("/datasets")
    page.locator(".dataset").first.wait_for()
    assert f"Nasty {BOLD}" in page.locator("main").inner_text()
    assert page.evaluate(made) == 0
    opened(page, question_address(IDS[1]))
    assert page.evaluate(made.replace("main b,", "main b *,")) == 0
    assert {*page.locator("main b").all_inner_texts()} == {"bold"}  # the one tag that questions may have


def test_more_runs_than_colours_are_grey_until_they_are_chosen(visit, awkward):
    first, second = visit(), visit()
    opened(first, "/questions/crowd/c0")
    lines = [trace for trace in traces(first) if trace.get("meta")]
    assert len(lines) == RUNS
    colours = [trace["colour"] for trace in lines]
    greys = [colour for colour in colours if colours.count(colour) > 1]
    # Three are in colour: the best, the worst, and the one that is surest and wrong; some can be the same run.
    assert RUNS - 3 <= len(greys) < RUNS and len(set(colours)) == 1 + RUNS - len(greys)
    choose(first, "run", "model 03")
    choose(first, "run", "model 07")

    def two():
        lines = [trace for trace in traces(first) if trace.get("meta")]
        assert [trace["name"] for trace in lines] == ["model 03", "model 07"]
        assert len({trace["colour"] for trace in lines}) == 2

    eventually(first, two)
    opened(second, first.url)
    assert traces(second) == traces(first)
