"""Human collections: equal to players imported as teams, checked by a slow definition, and never mixed with imported people."""

import random

import msgspec
import pytest

from clueline.data.play_sessions.every_clue import EveryClue
from clueline.data.store import open_store
from clueline.queries.buzzing import Rules, buzz
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.question import question
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.reference_people import human_collections, with_people
from clueline.queries.teams import human_teams
from tests.helpers.bundle_factory import FACTS, PEOPLE, RESPONSES, put, write

LENGTHS = {"q1": 3, "q2": 2}
ENDS = {"q1": (5, 10, 16), "q2": (4, 8)}  # words revealed by the end of each clue
RIGHT = {"q1": "Paris", "q2": "Nile"}
ALPHA = Selection("toy", model=("alpha",))
PLAYERS = [f"P{index:03d}" for index in range(1, 7)]


def played(seed):
    """Return what each player says: (player, question) -> guess, confidence and whether to buzz, for each clue."""
    chance = random.Random(seed)
    return {
        (player, name): [
            (RIGHT[name] if chance.random() < 0.6 else "Rome", chance.choice((0, 0.3, 0.8, 1)), chance.random() < 0.4)
            for _ in range(count)
        ]
        for player in PLAYERS
        for name, count in LENGTHS.items()
        if name == "q1" or player != "P002"
    }


def first_buzz(answers, name):
    """Return the clue and correctness of the first buzz, or None without one."""
    return next(((clue, guess == RIGHT[name]) for clue, (guess, _, buzzes) in enumerate(answers) if buzzes), None)


def put_collection(store, folder, answers, model):
    lines = [
        f"{name},{clue},{player},{guess},{confidence},{str(buzzes).lower()}"
        for (player, name), given in answers.items()
        for clue, (guess, confidence, buzzes) in enumerate(given)
    ]
    path = folder / f"{model}.csv"
    path.write_text("question_id,clue,sample,guess,confidence,buzz\n" + "\n".join(lines) + "\n")
    return put(
        store, path, form="responses", dataset="toy", model=model, elicitation=EveryClue.elicitation, respondents=True
    ).runs[0]


@pytest.fixture(scope="module")
def played_store(tmp_path_factory):
    """A dataset with imported people, a model and two collections."""
    folder = tmp_path_factory.mktemp("collections")
    store = open_store(folder / "store", threads=1)
    put(store, write(folder / "toy", responses=RESPONSES, **PEOPLE), model="alpha")
    return store, [put_collection(store, folder, played(seed), f"People {seed}") for seed in (1, 2)]


@pytest.fixture(scope="module")
def collected(played_store):
    """The dataset with the people of the first collection."""
    store, (run, _) = played_store
    return with_people(store.snapshot(), "toy", run)


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """The same dataset and model, with the players of the first collection imported as teams, each in its own room."""
    folder = tmp_path_factory.mktemp("twin")
    heard = ["question_id,match_id,team,team_kind,heard_words,ended_by"]
    buzzes = ["question_id,match_id,team,word,correct,guess"]
    for (player, name), answers in played(1).items():
        heard.append(f"{name},{player},{player},human,,")
        if buzzed := first_buzz(answers, name):
            clue, right = buzzed
            buzzes.append(f"{name},{player},{player},{ENDS[name][clue] - 1},{str(right).lower()},{answers[clue][0]}")
    store = open_store(folder / "store", threads=1)
    tables = {"exposures": "\n".join(heard) + "\n", "buzzes": "\n".join(buzzes) + "\n"}
    put(store, write(folder / "toy", responses=RESPONSES, **tables), model="alpha")
    return store.snapshot()


def plain(result):
    """Return a result without the fields that name the version or the people."""
    built = msgspec.to_builtins(result)
    for key in ("data_version", "selection", "difficulty", "difficulty_source"):
        built.pop(key, None)
    return built


def without_guesses(result):
    """Return a result without the guesses before a buzz, which are unknown for imported teams."""
    for team in result.habits.teams:
        team.given_correct = team.given_incorrect = None
        team.missing = {}
    for teams in result.accuracy.teams:
        for fraction in teams.fractions:
            fraction.accuracy = None
    return plain(result)


def test_chances_to_buzz_are_those_of_a_slow_definition(collected, twin):
    rates = {"correct": [], "incorrect": []}
    for player in PLAYERS:
        seen = [
            (guess == RIGHT[name], clue == stop)
            for name in LENGTHS
            if (player, name) in played(1)
            for stop in [(first_buzz(played(1)[player, name], name) or [99])[0]]
            for clue, (guess, _, _) in enumerate(played(1)[player, name])
            if clue <= stop
        ]
        for kind, wanted in (("correct", True), ("incorrect", False)):
            buzzes = [buzzes for right, buzzes in seen if right is wanted]
            rates[kind] += [sum(buzzes) / len(buzzes)] if buzzes else []
    everybody, *_ = buzz(collected, ALPHA, Rules()).habits.teams
    assert (everybody.name, everybody.teams) == ("people", len(PLAYERS))
    assert everybody.given_correct == pytest.approx(sum(rates["correct"]) / len(rates["correct"]))
    assert everybody.given_incorrect == pytest.approx(sum(rates["incorrect"]) / len(rates["incorrect"]))
    assert not everybody.missing
    teams, *_ = buzz(twin, ALPHA, Rules()).habits.teams
    assert teams.given_correct is None and "not recorded" in teams.missing["given_correct"]


def test_accuracy_by_fraction_is_that_of_a_slow_definition(collected, twin):
    people, *_ = buzz(collected, ALPHA, Rules()).accuracy.teams
    for fraction in people.fractions:
        shares = []
        for name, ends in ENDS.items():
            clues = [clue for clue, end in enumerate(ends) if end / ends[-1] <= fraction.revealed + 1e-12]
            right = [given[clues[-1]][0] == RIGHT[name] for (_, asked), given in played(1).items() if asked == name and clues]
            shares += [sum(right) / len(right)] if right else []
        assert fraction.accuracy == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert {fraction.accuracy for fraction in buzz(twin, ALPHA, Rules()).accuracy.teams[0].fractions} == {None}


@pytest.mark.parametrize("human", [None, "buzz_share", "release_share", "team_share", "survival"])
def test_metrics_are_those_of_the_same_people_imported(collected, twin, human):
    alpha = ALPHA.replace(conventions=Conventions(human=human))
    metrics = [metric for metric in METRICS if "difficulty" not in metric.reads(alpha.conventions)]
    copied, original = (leaderboard(source, alpha, metrics) for source in (collected, twin))
    assert plain(copied)["rows"][0]["metrics"] == plain(original)["rows"][0]["metrics"]
    assert copied.rows[0].metrics["calscore"].value is not None


def test_buzzing_is_that_of_the_same_people_imported(collected, twin):
    for rules in (Rules(), Rules(curve="dataset", threshold=0.4)):
        assert without_guesses(buzz(collected, ALPHA, rules)) == without_guesses(buzz(twin, ALPHA, rules))
    for name in LENGTHS:
        assert plain(question(collected, ALPHA, name)) == plain(question(twin, ALPHA, name))
    assert plain(human_teams(collected, ALPHA)) == plain(human_teams(twin, ALPHA))
    shown = buzz(collected, Selection("toy"), Rules())
    assert [row.model for row in shown.explorer.runs] == [row.model for row in shown.accuracy.runs] == ["alpha"], (
        "people are no system"
    )


def test_the_curves_are_those_of_a_slow_definition(collected):
    rows = collected.rows("select question_id, clue, teams, buzz_share, team_share from curves")
    curves = {(name, clue): tuple(values) for name, clue, *values in rows}
    answers = played(1)
    for name, count in LENGTHS.items():
        players = [player for player in PLAYERS if (player, name) in answers]
        firsts = [first_buzz(answers[player, name], name) for player in players]
        for clue in range(count):
            so_far = [right for buzzed in firsts if buzzed for at, right in [buzzed] if at <= clue]
            share = sum(so_far) / len(so_far) if so_far else 0
            assert curves[name, clue] == (len(players), pytest.approx(share), pytest.approx(sum(so_far) / len(players)))


def test_people_are_never_mixed(played_store):
    """Each choice gives the same value in any order of reading, and other people give other values."""
    store, (first, second) = played_store

    def calscore(people):
        source = with_people(store.snapshot(), "toy", people)
        assert {kind for (kind,) in source.rows("select distinct team from exposures")} <= {
            *(PLAYERS if people in (first, second) else ("Ash", "Birch", "Robot"))
        }
        return leaderboard(source, ALPHA, [CATALOGUE["calscore"]]).rows[0].metrics["calscore"].value

    values = {people: calscore(people) for people in ("imported", first, second)}
    assert len({*values.values()}) == 3
    for people in (second, "imported", first, "", second):
        assert calscore(people) == values[people or "imported"]


def test_the_newest_collection_is_the_default_without_people(played_store, tmp_path):
    store, runs = played_store
    assert with_people(store.snapshot(), "toy", "").people == ""
    assert [part.run for part in human_collections(store.snapshot(), "toy")] == runs[::-1]
    bare = open_store(tmp_path / "store", threads=1)
    put(bare, write(tmp_path / "toy", FACTS, responses=RESPONSES), model="alpha")
    assert read_facets(bare.snapshot(), "toy").human_teams == 0
    older, newer = (put_collection(bare, tmp_path, played(seed), f"People {seed}") for seed in (3, 4))
    assert with_people(bare.snapshot(), "toy", "").people == newer
    assert with_people(bare.snapshot(), "toy", "imported").people == ""
    assert read_facets(bare.snapshot(), "toy").human_teams == len(PLAYERS)
    bare.write(lambda connection: connection.execute(f"update runs set withdrawn_at = now()::timestamp where run = '{newer}'"))
    assert with_people(bare.snapshot(), "toy", "").people == older
    assert with_people(bare.snapshot(), "toy", newer).people == newer  # links to it still work
    bare.close()


def test_an_address_names_the_people(played_store):
    store, (run, _) = played_store
    offered = read_facets(store.snapshot(), "toy")
    chosen = read_selection([("people", run)], lambda _: offered)
    assert chosen.people == run and chosen.pairs() == [("dataset", "toy"), ("people", run)]
    with pytest.raises(BadRequest) as caught:
        read_selection([("people", offered.runs[0][0])], lambda _: offered)
    assert caught.value.field == "people" and caught.value.allowed[0] == "imported"
    control = Selection.kinds()["people"].control("people", run, offered)
    assert [name for _, name in control.options] == ["Imported with the dataset", "People 2", "People 1"]
    assert (control.options[0][0], control.chosen) == ("", run)
