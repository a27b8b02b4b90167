"""Functions that write a file of each quizbowl format below a folder, and return its path."""

from tests.helpers.buzzpoints_database import write_database
from tests.helpers.grace_packets import write_packets
from tests.helpers.qanta_files import NAME, write_challenge
from tests.helpers.qbj_games import write_games

FILES = {
    "grace": [
        lambda folder: write_packets(folder / "release"),
        lambda folder: write_packets(folder / "release") / "packet3_buzzpoints.json",
    ],
    "qanta": [
        lambda folder: write_challenge(folder / "all"),
        lambda folder: write_challenge(folder / "all") / "packet1_final" / "tossup.json",
        lambda folder: write_challenge(folder / "all") / "out" / "Packet 1 - Ann" / "Tossup" / NAME,
        lambda folder: write_challenge(folder / "all") / "plays.csv",
    ],
    "qbj": [
        lambda folder: write_games(folder / "open"),
        lambda folder: write_games(folder / "open") / "game.qbj",
        lambda folder: write_games(folder / "open") / "Packet 1.json",
    ],
    "buzzpoints": [lambda folder: write_database(folder / "buzzes.db")],
}
