"""Many players of a race at once, and workers killed with kill -9 in mid-game: no acknowledged buzz or answer is lost."""

import random
import time
from collections import Counter
from contextlib import closing
from types import SimpleNamespace
from urllib.parse import urlsplit

import pytest

from clueline.data.store import open_store
from tests.helpers.process_kills import descendants, kill
from tests.helpers.race_players import lost_entries, outcome, start_players
from tests.helpers.serving import call_cli, start_server
from tests.helpers.soak_figures import note


@pytest.fixture
def network(copied, tmp_path):
    """A server, its store, and the link of a race."""
    served = start_server(copied, tmp_path / "log", workers=2)
    wanted = ["--mode", "race", "--questions", "24", "--players", "300", "--until", "2100-01-01", "--base", served.address]
    made = call_cli("invite", "pyramid", *wanted, store=copied)
    assert made.returncode == 0, made.stderr
    network = SimpleNamespace(served=served, store=copied, link=made.stdout.strip())
    yield network
    network.served.stop()


def play(network, players, seconds, kills, pace):
    """Let people play while workers are killed, whether others are ready or not; then start the server again.

    Returns:
        The outcome of the players, and how many workers were killed.
    """
    process = start_players(network.link, players, seconds, think=(0.2, 1.0), pace=pace)
    chance, killed = random.Random(players), 0
    while process.poll() is None and killed < kills:
        time.sleep(chance.uniform(0.5, seconds / (kills + 1)))
        if workers := sorted(descendants(network.served.process.pid)):
            kill(chance.choice(workers))
            killed += 1
    network.served.stop()
    log, port = network.served.log, urlsplit(network.link).port
    network.served = start_server(network.store, log.with_name("second log"), workers=2, port=port)
    return outcome(process), killed


def check(network, played):
    """Check that every acknowledged entry is stored once, and that the session can be collected."""
    with closing(open_store(network.store, threads=1)) as store:
        assert lost_entries(store.register.play_log(), network.link, played["acknowledged"]) == []
    keys = Counter((player, step) for player, step, _ in played["acknowledged"])
    assert set(keys.values()) == {1}
    done = call_cli("collect", network.link, store=network.store)
    assert done.returncode == 0, done.stderr
    unavailable = ("0 ", "429 ", "503 ")
    assert [why for why in played["refused"] if not why.startswith(unavailable)] == []


def test_kills_and_a_restart_lose_no_buzz(network):
    played, killed = play(network, players=10, seconds=6, kills=2, pace=400)
    assert killed == 2
    check(network, played)


@pytest.mark.soak
def test_two_hundred_players_and_fifty_kills(network):
    played, killed = play(network, players=200, seconds=300, kills=50, pace=180)
    check(network, played)
    assert killed == 50
    buzzes = sum(step % 4 == 1 for _, step, _ in played["acknowledged"])
    note(
        "players",
        [
            ("players at once", 200),
            ("kill -9 of a worker in mid-game", killed),
            ("buzzes and answers acknowledged", len(played["acknowledged"])),
            ("of these buzzes", buzzes),
            ("lost", 0),
            ("requests that were sent again", played["again"]),
        ],
    )
