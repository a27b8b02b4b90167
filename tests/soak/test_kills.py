"""kill -9 at random moments: nothing acknowledged is lost, nothing is stored in part, and the store stays usable."""

import random

import pytest

from tests.helpers.process_kills import Siege
from tests.helpers.soak_figures import note

WAYS = ("kill_worker", "kill_importer", "kill_import", "kill_server")


def besiege(copied, tmp_path, ways, seed, senders=2):
    siege = Siege(copied, tmp_path, random.Random(seed), senders)
    try:
        siege.start()
        for index, way in enumerate(ways):
            getattr(siege, way)()
            if index % 5 == 4:
                siege.check()
        siege.stop()
        siege.check()
        whole = siege.check_after()
    finally:
        siege.stop()
    return siege, whole


def test_a_few_kills(copied, tmp_path):
    siege, _ = besiege(copied, tmp_path, WAYS, seed=1, senders=1)
    assert sum(siege.kills.values()) == len(WAYS)


@pytest.mark.soak
def test_two_hundred_kills(copied, tmp_path):
    chance = random.Random(200)
    ways = chance.choices(WAYS, weights=(5, 5, 3, 1), k=205)
    siege, whole = besiege(copied, tmp_path, ways, seed=2)
    assert sum(siege.kills.values()) >= 200  # a few find nothing to kill
    note(
        "kills",
        [
            ("kill -9", ", ".join(f"{what}: {count}" for what, count in sorted(siege.kills.items()))),
            ("kills in all", sum(siege.kills.values())),
            ("runs sent", len(siege.sent)),
            ("acknowledged", len(siege.acknowledged)),
            ("of these there and whole", len(siege.acknowledged)),
            ("of these lost", 0),
            ("not acknowledged, and whole in the store", whole - len(siege.acknowledged)),
            ("in the store, but not whole", 0),
            ("slowest opening of the store after a kill", f"{siege.slowest:.2f} s of the processor"),
        ],
    )
