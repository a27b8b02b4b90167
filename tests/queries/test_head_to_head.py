"""Where teams play head to head, survival is the human curve of teams unless another one is chosen."""

import pytest

from clueline.queries.buzzing import Rules, buzz
from clueline.queries.hard_easy_effect import difficulty
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.selection import Selection, read_facets, read_selection

CALSCORE2 = CATALOGUE["calscore2"]


def values(snapshot, selection):
    return [row.metrics["calscore2"].value for row in leaderboard(snapshot, selection, [CALSCORE2]).rows]


@pytest.mark.parametrize("human", [None, "buzz_share", "release_share"])
def test_calscore2_uses_survival(bundled, human):
    survival = values(bundled, Selection("pyramid", conventions=Conventions(human="survival")))
    assert values(bundled, Selection("pyramid", conventions=Conventions(human=human))) == survival
    assert values(bundled, Selection("pyramid", conventions=Conventions(human="team_share"))) != survival


def test_addresses_know_the_curve_in_use(bundled, snapshot):
    for store, dataset, curve in ((bundled, "pyramid", "survival"), (snapshot, "relay", "team_share")):
        selection = read_selection([("dataset", dataset)], lambda name, store=store: read_facets(store, name))
        assert CALSCORE2.human_curve(selection.conventions) == curve
        assert CATALOGUE["calscore"].human_curve(selection.conventions) == "buzz_share"
        assert selection.pairs() == [("dataset", dataset)]
        assert values(store, selection) == values(store, Selection(dataset))
        assert buzz(store, selection, Rules(curve="dataset")).explorer.human_curve == curve


def test_the_difficulty_page_counts_what_its_slope_uses(snapshot, bundled):
    """Two questions of the relay have no difficulty because nobody heard them."""
    result = difficulty(snapshot, Selection("relay", common=False))
    with_difficulty = snapshot.rows("select count(*) from questions where dataset = 'relay' and difficulty is not null")[0][0]
    assert result.without == 12 - with_difficulty > 0
    for run in result.runs:
        assert run.questions == len(run.points) <= with_difficulty
    assert sum(result.sources.values()) == with_difficulty and set(result.sources) == {"given", "human"}
    assert difficulty(bundled, Selection("pyramid")).sources == {"rooms": 60}
