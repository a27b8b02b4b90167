"""The question page, links to it, and pages in odd conditions: wrong addresses, narrow windows, both themes, hostile text."""

from urllib.parse import quote, urlencode

import pytest

from clueline.dashboard.ui.messages import DISPUTED
from clueline.dashboard.ui.quizbowl import without_markup
from tests.helpers.browser_bundles import BOLD, IDS, IMAGE, ODD, SCRIPT, TURNED, write_nasty
from tests.helpers.page_actions import (
    NoServer,
    answers,
    api,
    board,
    board_is,
    chip,
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
    """Import another dataset into the server's store while it serves."""
    folder = tmp_path_factory.mktemp("bundles")
    write_nasty(folder / "nasty")
    done = cli_process("import", folder / "nasty", store=server.store)
    assert done.returncode == 0, done.stderr


def drawn(page):
    """Wait until the question's answers and its figure are there."""
    eventually(page, lambda: bool(answers(page)) and cursor(page) is not None)


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
        assert dict(pairs(page)).get("clue") == (None if clue == 0 else str(clue))

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


def test_the_box_sets_the_threshold_of_runs_without_their_own(page):
    question = api(page, "questions/pyramid/lit-08")
    own, other = question["runs"][:2]
    kept = [("pin", own["run"]), ("pin", other["run"]), ("threshold", f"{own['run']}:0.9")]
    name = f"Buzz of {other['model']} · {other['elicitation']}"
    opened(page, f"/questions/pyramid/lit-08?{urlencode(kept)}")

    def shows(clue, *more):
        def check():
            assert pairs(page) == sorted([*kept, *more])
            words = [trace["x"] for trace in traces(page) if trace["name"] == name]
            assert words == ([] if clue is None else [[question["clues"][clue]["word_end"]]])

        eventually(page, check)

    shows(0)  # its best threshold
    box = page.locator(".question-thresholds input")
    for text, clue, threshold in ((".5", 2, "0.5"), ("beauty", 2, "0.5"), ("0.6", None, "0.6")):
        box.fill(text)
        box.press("Enter")
        let_scripts_run(page, 300)
        shows(clue, ("threshold", threshold))
    box.fill("")
    box.press("Enter")
    page.get_by_text("above its best threshold").wait_for()
    shows(0)


def test_hostile_text_is_text_on_every_page(visit, awkward):
    page = visit()
    made = "document.querySelectorAll('main script, main img, main b, main i').length"
    page.goto("/?dataset=nasty")
    board_is(page, [("dataset", "nasty")])
    assert page.evaluate(made) == 0
    assert IMAGE in page.locator(".simulated").first.text_content()
    assert [row["model"] for row in board(page)] == [BOLD, SCRIPT, "plain"]
    # The server has not been restarted since the import.
    assert f"Nasty {BOLD}" in set(page.locator(".datasets a .name").all_text_contents())

    def labels():  # Plotly treats some text in labels as markup
        shown = "[...document.querySelectorAll('.figure-gap :is(.ytick, .annotation) text')].map((text) => text.textContent)"
        assert {BOLD, SCRIPT, "plain"} <= {*page.evaluate(shown)}

    eventually(page, labels)
    chip(page, "category", "A&B=C;D").click()
    page.locator(".filters label", has=page.get_by_text("yes", exact=True)).click()
    board_is(page, [("dataset", "nasty"), ("category", "A&B=C;D"), (f"attr.{ODD}", "yes")])
    page.goto("/datasets")
    page.locator(".dataset").first.wait_for()
    assert f"Nasty {BOLD}" in page.locator("main").inner_text()
    assert page.evaluate(made) == 0
    opened(page, question_address(IDS[1]))
    assert page.evaluate(made.replace("main b,", "main b *,")) == 0
    assert {*page.locator("main b").all_text_contents()} == {"bold"}  # the one tag that questions may have
