"""The datasets of a store, and the filter values that a dataset offers."""

import msgspec
import pytest

from clueline.data.store import open_store
from clueline.queries.datasets import Datasets, datasets
from clueline.queries.selection import read_facets
from clueline.queries.selection.parameter_kinds import BadRequest
from tests.helpers.small_polls import POLLS
from tests.helpers.small_store import ODD


def test_datasets(snapshot, polled):
    listed = datasets(snapshot)
    relay, spans = listed.datasets
    assert (relay.dataset, relay.title, relay.kind, relay.simulated) == ("relay", "Relay", "incremental", False)
    assert (relay.questions, relay.runs, relay.human_teams) == (12, 6, 3)  # the withdrawn run and the robot do not count
    assert (relay.categories, relay.radii) == ([ODD, "History", "Science"], [])
    assert (spans.questions, spans.runs, spans.human_teams) == (16, 2, 0)
    assert (spans.categories, spans.radii) == ([], [1, 5, 10, 20])
    assert msgspec.json.decode(msgspec.json.encode(listed), type=Datasets) == listed
    polls = datasets(polled).datasets[0]
    counts = [sum(votes) for votes in POLLS if votes]
    assert (polls.dataset, polls.votes, polls.voted) == ("polls", sum(counts), sum(count > 0 for count in counts))
    buzzes = snapshot.rows("select team from buzzes where dataset = 'relay'")
    assert relay.human_buzzes == sum(team != "Robot" for (team,) in buzzes) < len(buzzes)
    assert (relay.votes, relay.voted, spans.human_buzzes) == (0, 0, 0)


def test_facets(snapshot):
    relay, spans = read_facets(snapshot, "relay"), read_facets(snapshot, "spans")
    assert read_facets(snapshot, None) == relay
    assert (relay.questions, relay.human_teams, relay.longest) == (12, 3, 6)
    assert (relay.texts("category"), relay.texts("subcategory"), relay.radii) == ((ODD, "History", "Science"), ("Modern",), ())
    assert (relay.texts("model"), relay.texts("elicitation")) == (
        ("plain", "twin", "partial", "unheard", "sure"),
        ("verbalized", "logit"),
    )
    assert (len(relay.runs), len(relay.withdrawn)) == (6, 1)
    assert (spans.radii, spans.difficulty_source) == ((1, 5, 10, 20), "given")
    assert 0 < spans.difficulty[0] < spans.difficulty[1] < 1


def test_an_empty_store(tmp_path):
    nothing = open_store(tmp_path / "none").snapshot()
    assert datasets(nothing).datasets == []
    with pytest.raises(BadRequest) as caught:
        read_facets(nothing, None)
    assert (caught.value.code, caught.value.status) == ("empty_store", 404)
