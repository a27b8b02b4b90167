"""Human teams, against a slow definition over the rows of the store."""

from collections import defaultdict
from statistics import mean, quantiles

import pytest

from clueline.data.store import open_store
from clueline.queries.selection import Selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.teams import human_teams
from tests.helpers.bundle_factory import put, write

# The first question has its power mark after seven words, one of them a pronunciation guide; the second has none.
MARKED = {
    "questions": """question_id,text,answer
q1,"This city (“SIT-ee”) has a tower of iron. (*) It stands on the Seine.",Paris
q2,This river is long. It ends near Alexandria.,Nile
""",
    "clues": None,
    "exposures": """question_id,match_id,team,team_kind
q1,Final,Ash,human
q1,Final,Birch,human
q1,Semi,Ash,human
q1,Alone,Cedar,human
q2,Final,Ash,human
q2,Final,Birch,human
""",
    "buzzes": """question_id,match_id,team,word,correct
q1,Final,Birch,6,true
q1,Semi,Ash,7,true
q1,Alone,Cedar,2,false
q2,Final,Ash,0,true
q2,Final,Birch,3,false
""",
}


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    folder = tmp_path_factory.mktemp("marked")
    store = open_store(folder / "store", threads=1)
    put(store, write(folder / "toy", **MARKED))
    return store.snapshot()


@pytest.fixture(scope="module")
def played(snapshot):
    """Question id -> (room, team) pairs that heard it, and human buzzes (team, room, share read, correct, word)."""
    played = {}
    for name, words in snapshot.rows(
        "select question_id, max(word_end) from clues where dataset = 'relay' group by all order by question_id"
    ):
        of_people = "where dataset = 'relay' and team_kind = 'human' and question_id = $q"
        heard = set(snapshot.rows(f"select match_id, team from exposures {of_people}", {"q": name}))
        rows = snapshot.rows(f"select team, match_id, word, correct from buzzes {of_people}", {"q": name})
        buzzes = [(team, room, min(word + 1, words) / words, correct, word) for team, room, word, correct in rows]
        if heard:
            played[name] = (heard, buzzes)
    return played


def test_teams_equal_a_count_by_hand(snapshot, played):
    result = human_teams(snapshot, Selection("relay"))
    names = {team for heard, _ in played.values() for _, team in heard}
    assert {row.team for row in result.teams} == names and len(names) > 2
    for row in result.teams:
        own = [buzz for _, buzzes in played.values() for buzz in buzzes if buzz[0] == row.team]
        right = [at for _, _, at, correct, _ in own if correct]
        assert row.heard == sum(1 for heard, _ in played.values() for _, team in heard if team == row.team)
        assert (row.correct, row.incorrect) == (len(right), len(own) - len(right))
        assert row.correct_share == pytest.approx(len(right) / row.heard)
        assert row.precision == (pytest.approx(len(right) / len(own)) if own else None)
        assert row.correct_at == (pytest.approx(mean(right)) if right else None)
        if len(right) > 1:
            assert row.correct_at_quartiles == pytest.approx(quantiles(right, method="inclusive"))
        earliest = ({b[0] for b in buzzes if b[3] and b[4] == min(x[4] for x in buzzes if x[3])} for _, buzzes in played.values())
        assert row.first == sum(row.team in teams for teams in earliest)
    assert [row.correct_share for row in result.teams] == sorted((row.correct_share for row in result.teams), reverse=True)


def _equals(part, names, played):
    """Check that a summary is that of some questions."""
    heard = [(name, room) for name in names for room, _ in played[name][0]]
    right = [(name, *buzz) for name in names for buzz in played[name][1] if buzz[3]]
    wrong = [buzz for name in names for buzz in played[name][1] if not buzz[3]]
    first = defaultdict(list)
    for name, _, _, at, *_ in right:
        first[name].append(at)
    assert (part.heard, part.rooms) == (len(heard), len(set(heard)))
    assert (part.correct, part.incorrect) == (len(right), len(wrong))
    assert part.conversion == pytest.approx(len({(name, room) for name, _, room, *_ in right}) / len(set(heard)))
    assert part.correct_at == (pytest.approx(mean(at for _, _, _, at, *_ in right)) if right else None)
    assert part.first_at == (pytest.approx(mean(map(min, first.values()))) if right else None)


def test_questions_and_categories_equal_a_count_by_hand(snapshot, played):
    result = human_teams(snapshot, Selection("relay"))
    assert [row.question_id for row in result.questions] == list(played)
    by_category = defaultdict(list)
    for row in result.questions:
        _equals(row, [row.question_id], played)
        by_category[row.category].append(row.question_id)
    assert {row.category: row.questions for row in result.categories} == {key: len(names) for key, names in by_category.items()}
    assert len(by_category) > 2
    for part in result.categories:
        _equals(part, by_category[part.category], played)


def test_buzzes_of_a_team_have_their_place(snapshot, played):
    result = human_teams(snapshot, Selection("relay"), "Ash")
    assert len(result.buzzes) == sum(buzz[0] == "Ash" for _, buzzes in played.values() for buzz in buzzes) > 3
    for buzz in result.buzzes:
        right = [word for *_, correct, word in played[buzz.question_id][1] if correct]
        assert buzz.places == len(right)
        assert buzz.place == (1 + sum(word < buzz.word for word in right) if buzz.correct else None)


def test_a_selection_may_have_no_team_or_not_the_team(snapshot):
    history = human_teams(snapshot, Selection("relay", category=("History",)))
    assert {row.category for row in history.questions} == {"History"} == {row.category for row in history.categories}
    spans = human_teams(snapshot, Selection("spans"))
    assert (spans.teams, spans.missing) == ([], "no human team heard any of these questions")
    for name in ("Nobody", "Robot"):  # the latter is a model that played
        with pytest.raises(BadRequest, match=name):
            human_teams(snapshot, Selection("relay"), name)


def test_powers_are_right_before_the_mark(marked):
    result = human_teams(marked, Selection("toy"), "Ash")
    assert {row.question_id: (row.power_words, row.powers) for row in result.questions} == {"q1": (7, 1), "q2": (None, None)}
    assert {row.team: row.powers for row in result.teams} == {"Ash": 0, "Birch": 1, "Cedar": 0}
    assert [row.powers for row in result.categories] == [1]
    assert {(buzz.question_id, buzz.room): buzz.power for buzz in result.buzzes} == {("q1", "Semi"): False, ("q2", "Final"): None}
    (buzz,) = [buzz for buzz in human_teams(marked, Selection("toy"), "Birch").buzzes if not buzz.correct]
    assert (buzz.question_id, buzz.power) == ("q2", None), "without a mark, there is no missed power"


def test_rooms_are_where_teams_met(marked):
    (final,) = human_teams(marked, Selection("toy")).rooms  # nobody met Ash in the semi-final, nor Cedar
    assert (final.room, final.questions, final.converted, final.powers) == ("Final", 2, 2, 1)
    assert [(team.team, team.correct, team.incorrect) for team in final.teams] == [("Ash", 1, 0), ("Birch", 1, 1)]

    def listed(*whose):
        return [(buzz.question_id, buzz.team) for buzz in human_teams(marked, Selection("toy"), *whose).buzzes]

    assert listed(None, "Final") == [("q1", "Birch"), ("q2", "Ash"), ("q2", "Birch")]
    assert listed("Ash", "Final") == [("q2", "Ash")]
    with pytest.raises(BadRequest, match="Nowhere"):
        listed(None, "Nowhere")
