"""Sessions of people on the command line: odd answers of players, and who is set aside."""

import re
from datetime import UTC, datetime, timedelta

import pytest

from clueline.data.play_sessions.every_clue import Answer
from clueline.data.play_sessions.sessions import add_answer, join
from clueline.data.store import open_store

PLAYER = "a" * 32


@pytest.fixture
def played(cli, copied):
    """The command ``collect`` for a session in which one player answered everything at once with the same confidence."""
    until = (datetime.now(UTC) + timedelta(days=1)).date().isoformat()
    done = cli(
        "invite", "pyramid", "--questions", "4", "--attention-checks", "1", "--players", "3", "--until", until, store=copied
    )
    link = re.fullmatch(r"(http://\S+/play#\S+)\n", done.stdout)[1]
    store, secret = open_store(copied), link.rpartition("#")[2]
    log = store.register.play_log()
    state = join(log, secret, PLAYER)
    while not state.done:
        state = add_answer(log, secret, PLAYER, state.step, Answer("Poe", 0.5, False, received_ms=state.step * 200.0))
    store.close()
    return lambda *arguments: cli("collect", link, *arguments, store=copied)


@pytest.mark.parametrize(
    ("options", "settings", "address", "notices"),
    [
        ((), {}, "http://127.0.0.1:8050", ["Only this machine", "datasets private tone"]),
        ((), {"url": "https://lab.example", "read": "token"}, "https://lab.example", []),
        (("--base", "https://other.example/"), {"url": "https://lab.example"}, "https://other.example", ["private tone"]),
    ],
)  # fmt: skip
def test_a_link_has_an_address_that_others_can_open(cli, copied, options, settings, address, notices):
    done = cli("invite", "tone", "--mode", "vote", "--until", "2199-01-01", *options, store=copied, **settings)
    lines = done.stderr.splitlines()
    assert done.returncode == 0 and done.stdout.startswith(f"{address}/play#")
    assert len(lines) == len(notices) and all(words in line for words, line in zip(notices, lines, strict=True))
    signed = cli("sign", "/?dataset=tone", "--until", "2199-01-01", store=copied, **settings).stdout
    assert signed.startswith(f"{settings.get('url', '')}/?dataset=tone&signed=")


def test_each_player_can_have_a_link(cli, copied):
    done = cli("invite", "tone", "--mode", "vote", "--players", "3", "--personal", "--until", "2199-01-01", store=copied)
    links = done.stdout.split()
    assert len({*links}) == 3 and len({link.rpartition("/")[0] for link in links}) == 1
    assert "nobody has finished a question" in cli("collect", links[2], store=copied).stderr


def runs(store):
    return {model for (model,) in open_store(store).snapshot().rows("select model from runs where dataset = 'pyramid'")}


def test_odd_answers_are_reported_and_change_nothing(played, copied):
    before = runs(copied)
    done = played("--check")
    assert done.returncode == 0, done.stderr
    assert re.search(
        r"^P001 too fast: answered \d+ of \d+ clues faster than 1,000 words a minute can be read$", done.stdout, re.M
    )
    assert "P001 missed checks: missed 1 of 1 attention checks" in done.stdout
    assert re.search(r"^P001 one confidence: was 50% sure of", done.stdout, re.M)
    assert runs(copied) == before
    assert "P001 too fast" in played().stdout and runs(copied) == before | {"People, 1 player"}


def test_a_bad_set_aside_option_is_refused(played, copied):
    before = runs(copied)
    for set_aside, status, message in (
        ("P001", 2, "is not PLAYER=REASON"), ("P001=", 2, "is not PLAYER=REASON"),
        ("P009=too fast", 1, "no player who finished a question is called P009"),
        ("P001=" + "x" * 501, 1, "more than 500 characters"), ("P001=too fast", 1, "nobody has finished a question"),
    ):  # fmt: skip
        done = played("--set-aside", set_aside)
        assert done.returncode == status and message in done.stderr, done.stderr
    assert runs(copied) == before
