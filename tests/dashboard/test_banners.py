"""Banners shown above the content of a page."""

import msgspec

from dashboard.ui.html import content_markup
from dashboard.ui.messages import simulated_people
from queries.selection.facets import Facets

FACETS = Facets(
    dataset="toy", title="Toy", kind="incremental", simulated=True, note="The teams are simulated.", questions=2, human_teams=3,
    longest=3, values={}, difficulty=None, difficulty_source=None, runs=(), withdrawn=("b",), people_imported=True,
    human_collections=(("c", "People, 9 players"), ("b", "People, 8 players"), ("a", "People, 4 players")),
)  # fmt: skip


def test_players_of_a_collection_are_not_called_simulated():
    alone = msgspec.structs.replace(FACETS, people_imported=False, withdrawn=("c",))
    names = {
        "": None, "imported": None, "a": "People, 4 players", "b": "People, 8 players", "c": "People, 9 players",
    }  # fmt: skip
    for people, name in names.items():
        chosen = FACETS.human_collection(people)
        assert (chosen and chosen[1]) == name, people
        chip = simulated_people(FACETS, people)
        assert (chip is None) == (name is not None)
        assert chip is None or "The teams are simulated." in str(content_markup(chip))
    assert alone.human_collection("") == ("b", "People, 8 players")  # the newest that is not withdrawn
    assert simulated_people(msgspec.structs.replace(FACETS, simulated=False), "") is None
