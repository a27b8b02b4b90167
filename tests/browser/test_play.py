"""A session of people to its end: a player with a mouse, one on a phone who uses only the keyboard, and the resulting run."""

import json
import re
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.life_table import probability_within
from clueline.data.store import open_store
from tests.helpers.bundle_factory import FACTS, RESPONSES, VOTED, put, write
from tests.helpers.page_actions import grave_violations
from tests.helpers.page_visits import PATIENCE
from tests.helpers.run_tables import stored_rows
from tests.helpers.serving import call_cli

CLUES = {"This city": ("q1", 3), "This river": ("q2", 2)}  # how a question begins -> its id, and how many clues it has
RIGHT = {"q1": "Paris", "q2": "Nile"}
# Texts that last two minutes at the slowest pace, however busy the machine is.
LONG = "question_id,clue,text\n" + "".join(f"{name},0,{' '.join(f'word{place}' for place in range(120))}\n" for name in RIGHT)
LIVES = "question_id,text,sex,minimum_age,radius\nm40,How old will a man of 40 become?,male,40,5\n"
MESSAGES = "question_id,text\nv1,Good.\n"
VOTES = "question_id,class,votes\nv1,yes,7\nv1,no,1\n"
PHONE = {"width": 390, "height": 800, "theme": "dark"}
ENDS = {"q1": (5, 10, 16), "q2": (4, 8)}  # words revealed by the end of each clue


@pytest.fixture(scope="module")
def toy(serving, tmp_path_factory):
    """A server with two datasets of two questions and one for each other mode. Tests that collect have their own dataset."""
    folder = tmp_path_factory.mktemp("play")
    store = open_store(folder / "store", threads=1)
    for name in ("toy", "race"):
        put(store, write(folder / name, FACTS | {"dataset": name}, responses=RESPONSES), model="alpha")
    put(store, write(folder / "long", FACTS | {"dataset": "long"}, clues=LONG))
    put(store, write(folder / "lives", {"dataset": "lives", "kind": "lifeeval"}, questions=LIVES, clues=None))
    put(store, write(folder / "voted", VOTED, questions=MESSAGES, clues=None, votes=VOTES))
    store.close()
    return serving(folder / "store")


def invite(server, dataset, mode):
    """Create a session and return its link."""
    until = (datetime.now(UTC) + timedelta(days=2)).date().isoformat()
    invited = call_cli("invite", dataset, "--mode", mode, "--until", until, "--base", server.address, store=server.store)
    assert invited.returncode == 0, invited.stderr
    return invited.stdout.strip()


def wait_for_step(page, question, clue):
    """Wait until a clue is shown. Question and clue are counted from 1."""
    page.get_by_role("heading", name=f"Question {question} of 2").wait_for()
    page.locator("#play-progress", has_text=re.compile(f"^Clue {clue}$")).wait_for()


def play(page, answers, send, reload_at=None):
    """Answer every clue. Return the guess and the confidence in percent by question and clue."""
    given = {}
    for question in (1, 2):
        wait_for_step(page, question, 1)
        name, clues = next(value for start, value in CLUES.items() if page.locator("#play-clues").inner_text().startswith(start))
        for clue in range(clues):
            wait_for_step(page, question, clue + 1)
            if reload_at == (question, clue):
                page.reload()
                wait_for_step(page, question, clue + 1)
            given[name, clue] = answers(name, clue)
            send(page, *given[name, clue])
        last = page.locator("#play-last")
        last.get_by_text(f"The answer was: {RIGHT[name]}").wait_for()
        assert last.locator("li").count() == clues
        page.locator("#play-models summary").wait_for()
        page.locator("#play-models li", has_text=re.compile("^alpha .*% sure, (right|wrong)$")).wait_for(state="attached")
    page.get_by_role("heading", name="Done. Thank you!").wait_for()
    page.locator("#play-result tr.own").wait_for()
    assert page.locator("#play-form").is_hidden()
    return given


def send_by_mouse(page, guess, confidence):
    page.get_by_label("Your answer").fill(guess)
    page.get_by_label("How sure").fill(str(confidence))
    page.get_by_label("I would buzz here").check()
    page.get_by_role("button", name="Next").click()


def send_by_keyboard(page, guess, confidence):
    """Answer by keyboard alone. The answer field has the focus when a clue is shown."""
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type(guess)
    page.keyboard.press("Tab")
    page.keyboard.type(str(confidence))
    page.keyboard.press("Enter")


def start_by_keyboard(page):
    page.locator("#play-start:focus").wait_for()
    page.keyboard.press("Enter")


def test_two_players_make_a_run(visit, toy):
    link = invite(toy, "toy", "every-clue")
    desk, phone = visit(on=toy), visit(on=toy, **PHONE)
    for page in (desk, phone):
        page.goto(link)
        page.get_by_text("No name and no address is kept").wait_for()
    desk.get_by_role("button", name="I agree").click()
    start_by_keyboard(phone)
    given = [
        play(desk, lambda name, clue: (RIGHT[name], 90 + clue), send_by_mouse, reload_at=(1, 1)),
        play(phone, lambda name, clue: (RIGHT[name] if clue else "Rome", 40 + clue), send_by_keyboard),
    ]
    for page, answers in zip((desk, phone), given, strict=True):
        right = sum(guess == RIGHT[name] for (name, _), (guess, _) in answers.items())
        sure = sum(confidence for _, confidence in answers.values()) / len(answers)
        own = page.locator("#play-result tr.own").inner_text().split("\t")
        assert own[:3] == ["You", f"{100 * right / len(answers):.0f} %", f"{sure:.0f} %"]
        assert not grave_violations(page)
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    done = call_cli("collect", link, store=toy.store)
    assert done.returncode == 0, done.stderr
    store = open_store(toy.store, threads=1)
    sql = """select question_id, clue, guess, round(100 * confidence), correct from responses
        join runs using (run) where model = 'People, 2 players' and runs.dataset = 'toy' and respondents"""
    expected = [
        (name, clue, guess, confidence, float(guess == RIGHT[name]))
        for answers in given
        for (name, clue), (guess, confidence) in answers.items()
    ]
    assert sorted(stored_rows(store, sql)) == sorted(expected)
    store.close()
    board = json.loads(desk.request.get("/api/v1/leaderboard?dataset=toy&metrics=accuracy&intervals=0").text())
    people = next(row for row in board["rows"] if row["model"] == "People, 2 players")
    # The mean over questions and clues of the share of players who were right.
    right = sum(correct for *_, correct in expected) / len(expected)
    assert people["metrics"]["accuracy"]["value"] == pytest.approx(right, rel=1e-12)
    # The dataset came without people, so the players are its people: one buzzed at once and was right, the other never buzzed.
    heard = json.loads(desk.request.get("/api/v1/questions/toy/q1").text())["human"]
    assert (heard["teams"], heard["team_share"], heard["buzz_share"]) == (2, [0.5] * 3, [1.0] * 3)


def wait_for_words(page, least):
    """Wait until at least this many words are shown."""
    page.locator("#play-words", has_text=re.compile(rf"^(\S+ ){{{least - 1}}}\S")).wait_for()


def question_shown(page):
    return next(name for start, (name, _) in CLUES.items() if start.split()[1] in page.locator("#play-words").inner_text())


def race(page, plans, by_keyboard):
    """Play a race to its end.

    Args:
        page: the page with the first question ready.
        plans: by question, the word to buzz at or soon after (None: no buzz), the guess and the confidence.
        by_keyboard: whether only the keyboard is used.

    Returns:
        By question, the clue of the buzz; None if there was none.
    """
    clues = {}
    for question in (1, 2):
        page.get_by_role("heading", name=f"Question {question} of 2").wait_for()
        page.locator("#play-read:focus").wait_for()
        if by_keyboard:
            page.keyboard.press("Shift+Tab")
            page.keyboard.press("ControlOrMeta+a")
            page.keyboard.type("400")
            page.keyboard.press("Tab")
            page.keyboard.press("Space")
        else:
            page.get_by_label("Pace").fill("400")
            page.get_by_role("button", name=f"Read question {question}").click()
        wait_for_words(page, 2)
        name = question_shown(page)
        word, guess, confidence = plans[name]
        clues[name] = None
        if word is not None:
            wait_for_words(page, word)
            if by_keyboard:
                page.keyboard.press("Space")
            else:
                page.get_by_role("button", name="Buzz").click()
            page.locator("#play-guess:focus").wait_for()
            counted = len(page.locator("#play-clues").inner_text().split())
            clues[name] = next(clue for clue, end in enumerate(ENDS[name]) if counted <= end)
            page.keyboard.type(guess)
            page.get_by_label("How sure").fill(str(confidence)) if not by_keyboard else page.keyboard.press("Tab")
            if by_keyboard:
                page.keyboard.type(str(confidence))
            page.keyboard.press("Enter")
        elif by_keyboard:
            page.locator("#play-pass:visible").wait_for()
            page.keyboard.press("Tab")
            page.keyboard.press("Enter")
        else:  # the player does nothing, and the time for a buzz passes
            page.locator("#play-pass:visible").wait_for()  # all words are shown
            assert page.locator("#play-words").get_attribute("aria-hidden") == "true"
            spoken = page.locator("#play-spoken p").all_inner_texts()  # a screen reader hears each clue once
            assert len(spoken) == len(ENDS[name]) and " ".join(spoken) == page.locator("#play-words").inner_text()
        page.locator("#play-last").get_by_text(f"The answer was: {RIGHT[name]}").wait_for()
        page.locator("#play-models summary").wait_for()
    page.get_by_role("heading", name="Done. Thank you!").wait_for()
    return clues


def test_two_players_race(visit, toy):
    link = invite(toy, "race", "race")
    desk, phone = visit(on=toy), visit(on=toy, **PHONE)
    for page in (desk, phone):
        page.goto(link)
    desk.get_by_role("button", name="I agree").click()
    desk.locator("#play-read:focus").wait_for()  # so this player has joined first
    start_by_keyboard(phone)
    plans = [
        {"q1": (2, "Paris", 90), "q2": (None, "", 0)},
        {"q1": (7, "Rome", 40), "q2": (3, "Nile", 70)},
    ]
    buzzed = [race(desk, plans[0], by_keyboard=False), race(phone, plans[1], by_keyboard=True)]
    phone.locator("#play-result tr.own").wait_for()
    assert phone.evaluate("document.documentElement.scrollWidth <= innerWidth")
    done = call_cli("collect", link, store=toy.store)
    assert done.returncode == 0, done.stderr
    store = open_store(toy.store, threads=1)
    sql = """select question_id, clue, sample, guess, round(100 * confidence), correct, buzz, responses.failed from responses
        join runs using (run) where model = 'People, 2 players' and runs.dataset = 'race' and respondents"""
    expected = [("q2", 1, "P001", None, 0, 0, False, True)]
    for player, (plan, clues) in enumerate(zip(plans, buzzed, strict=True)):
        for name, clue in clues.items():
            _, guess, sure = plan[name]
            if clue is not None:
                expected.append((name, clue, f"P{player + 1:03d}", guess, sure, float(guess == RIGHT[name]), True, False))
    assert sorted(stored_rows(store, sql), key=str) == sorted(expected, key=str)
    store.close()
    # By the definition of the share of players who were right by each clue.
    for name, ends in ENDS.items():
        heard = json.loads(desk.request.get(f"/api/v1/questions/race/{name}").text())["human"]
        right = [row[1] for row in expected if row[0] == name and row[5] == 1]
        assert heard["team_share"] == [sum(clue <= at for clue in right) / 2 for at in range(len(ends))]
        assert heard["teams"] == 2


def read_in_race(page, link, pace):
    """Open a race and begin its first question."""
    page.goto(link)
    page.get_by_role("button", name="I agree").or_(page.locator("#play-read:focus")).first.wait_for()
    if page.locator("#play-start").is_visible():
        page.get_by_role("button", name="I agree").click()
    page.get_by_label("Pace").fill(str(pace))
    page.get_by_role("button", name="Read question 1").click()


def test_a_race_survives_reload_second_tab_and_offline(visit, toy):
    """A reload, a second tab, a connection lost during a buzz: the question goes on, and one buzz counts."""
    link = invite(toy, "long", "race")
    page = visit(on=toy, despite="ERR_INTERNET_DISCONNECTED")
    read_in_race(page, link, 60)
    wait_for_words(page, 2)
    page.reload()
    wait_for_words(page, 3)
    tab = page.context.new_page()
    tab.set_default_timeout(PATIENCE)
    tab.goto(link)
    wait_for_words(tab, 3)
    page.context.set_offline(True)
    page.keyboard.press("Space")
    page.get_by_text("it will be sent again").wait_for()
    page.context.set_offline(False)
    page.locator("#play-guess:focus").wait_for()
    tab.locator("#play-form").wait_for()  # the tab learns of the buzz when it asks for words, and gets no more of them
    buzzed = page.locator("#play-clues").inner_text()
    assert tab.locator("#play-clues").inner_text() == buzzed
    page.keyboard.type("Rome")
    page.get_by_label("How sure").fill("20")
    page.get_by_role("button", name="Answer", exact=True).click()
    page.locator("#play-last").get_by_text("Rome, 20 % sure: wrong").wait_for()
    tab.get_by_label("Your answer").fill("Paris")
    tab.get_by_label("How sure").fill("99")
    tab.get_by_role("button", name="Answer", exact=True).click()
    tab.locator("#play-last").get_by_text("Rome, 20 % sure: wrong").wait_for()
    page.get_by_label("Text size").select_option("very large")
    size = "getComputedStyle(document.getElementById('play-last')).fontSize"
    large = page.evaluate(size)
    page.reload()
    page.locator("#play-last").wait_for()
    assert page.evaluate(size) == large == "23.8px"
    assert page.get_by_label("Pace").input_value() == "60"
    assert not grave_violations(page)


def test_an_age_is_estimated_by_keyboard(visit, toy):
    page = visit(on=toy, **PHONE)
    page.goto(invite(toy, "lives", "estimate"))
    start_by_keyboard(page)
    page.get_by_text("within 5 years").wait_for()
    page.locator("#play-guess:focus").wait_for()
    page.keyboard.type("82")
    page.keyboard.press("Tab")
    page.keyboard.type("60")
    page.keyboard.press("Enter")
    chance = float(probability_within(82, 5, 40, "male"))
    expected = f"82 is near enough with a probability of {100 * chance:.0f} %. You were 60 % sure."
    page.locator("#play-last").get_by_text(expected).wait_for()
    page.locator("#play-result .play-diagram").wait_for()


def test_a_class_is_chosen_by_keyboard(visit, toy):
    page = visit(on=toy, **PHONE)
    page.goto(invite(toy, "voted", "vote"))
    start_by_keyboard(page)
    page.locator("#play-classes input:focus").wait_for()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("60")
    page.keyboard.press("Enter")
    last = page.locator("#play-last")
    last.get_by_text("Most people chose yes. You chose maybe, and were 60 % sure.").wait_for()
    assert last.locator("li").all_inner_texts() == [
        "yes: 7 of 8 people (88 %)", "maybe: 0 of 8 people (0 %)", "no: 1 of 8 people (13 %)"
    ]  # fmt: skip
    page.locator("#play-result .play-diagram").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert not grave_violations(page)


def test_a_clue_joins_those_before_and_answers_are_erased(browser, toy):
    """A screen reader reads what is new in the region of clues, which must be only the new clue."""
    page = browser.new_context(base_url=toy.address).new_page()  # a visit would dismiss the dialog
    page.set_default_timeout(PATIENCE)
    page.on("dialog", lambda dialog: dialog.accept())
    link = invite(toy, "toy", "every-clue")
    page.goto(link)
    page.get_by_role("button", name="I agree").click()
    wait_for_step(page, 1, 1)
    first = page.locator("#play-clues span").element_handle()
    text = first.inner_text()
    send_by_mouse(page, "Rome", 10)
    wait_for_step(page, 1, 2)
    assert page.locator("#play-clues").get_attribute("aria-live") == "polite"
    assert first.evaluate("span => span.isConnected") and page.locator("#play-clues span").count() == 2
    assert page.locator("#play-clues").inner_text().startswith(text)
    page.get_by_role("button", name="Erase my answers").click()
    page.get_by_role("heading", name="Your answers are erased").wait_for()
    done = call_cli("collect", link, store=toy.store)
    assert done.returncode == 1 and "nobody has finished a question" in done.stderr
    page.context.close()
