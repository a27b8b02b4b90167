"""A key of the selection changes the answer of a view that uses it, and of no other; pages offer only what changes something."""

import json
import random
from functools import cache
from urllib.parse import urlencode

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import page
from clueline.dashboard.registry.views import VIEWS, View, serve
from clueline.dashboard.settings import Settings
from clueline.data.store import open_store
from clueline.queries.selection import Selection
from clueline.queries.selection.view_parameters_base import NoParameters
from tests.helpers.bundle_factory import FACTS, put, table, write
from tests.helpers.json_api import get

NAMES = [f"q{number:02}" for number in range(20)]
RUNS = {
    "m0 said": 1,
    "m0 tokens": 1,
    "m1 said": 1,
    "m2 tokens": 1,
    "m3 said": 0.5,
}  # and the share of questions that each answered
FAILED = NAMES[6]  # a question of which a call failed
STATES = {"m1": "failed", "m2": "unparsed"}  # of the last answer to every fourth question


def answers(chance):
    """Yield answers that two gradings grade otherwise, and that two prompts asked for."""
    for run, share in RUNS.items():
        model, elicitation = run.split()
        state = STATES.get(model)
        for number, name in enumerate(NAMES[: int(len(NAMES) * share)]):
            for clue in range(3):
                right = chance.random() < 0.2 + 0.2 * clue and number > 3  # nobody answers the first questions
                row = {"question_id": name, "clue": clue, "model": model, "elicitation": elicitation}
                row["prompt"] = chance.choice(["long", "short"])
                if state and number % 4 == 2 and clue == 2:
                    yield row | {"state": state}
                    continue
                second = int(chance.random() < 0.3) if number > 1 else 0
                guess = f"Answer {number}" if right else f"Wrong {chance.randint(0, 2)}"
                given = {"guess": guess, "confidence": round(chance.random(), 2), "correct": int(right)}
                yield row | given | {"state": "answered", "correct.second": second}


def people(chance):
    """Return plays in rooms of one team, some with an end that nobody stated, and buzzes."""
    heard, buzzes = [], []
    for name in NAMES:
        for team in ("Ash", "Birch", "Cedar", "Dogwood", "Elm", "Fir"):
            play = {"question_id": name, "match_id": team, "team": team}
            buzzed = chance.random() < 0.6
            stated = buzzed or chance.random() < 0.5
            heard.append(play | {"team_kind": "human", "end_stated": str(stated).lower()})
            if buzzed:
                right = "true" if chance.random() < 0.7 else "false"
                buzzes.append(play | {"word": chance.randint(1, 15), "correct": right, "guess": "x"})
    return table(heard), table(buzzes)


def write_board(folder, dataset):
    """Write a dataset on which every key of the selection changes something, except the radius; people only played ``board``."""
    chance = random.Random("keys2")
    played = dict(zip(("exposures", "buzzes"), people(chance), strict=True)) if dataset == "board" else {}
    questions = [
        {
            "question_id": name,
            "answer": f"Answer {number}",
            "category": "AB"[number % 2],
            "subcategory": "xyz"[number % 3],
            "packet": number // 4,
        }
        for number, name in enumerate(NAMES)
    ]
    clues = [
        {"question_id": name, "clue": clue, "text": f"{name} has clue {clue}", "word_end": 5 * clue + 5}
        for name in NAMES
        for clue in range(3)
    ]
    tags = [
        {"model": model, "elicitation": "said", "tag": tag, "value": value}
        for model, size, day in (("m0", "big", "2024-05"), ("m1", "small", "2025-01"), ("m3", "big", "2025-02"))
        for tag, value in (("size", size), ("released", day))
    ]
    return write(
        folder / dataset,
        FACTS | {"dataset": dataset},
        questions=table(questions),
        clues=table(clues),
        tags=table(tags),
        responses=table(list(answers(chance))),
        **played,
    )


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    store = open_store(folder / "store", threads=1)
    for name in ("board", "alone"):
        put(store, write_board(folder, name))
    runs = dict(store.snapshot().rows("select model || ' ' || elicitation, run from runs where dataset = 'board'"))
    return create_app(Settings(store=store.url, workers=1)).test_client(), runs


def changes(runs):
    """Return addresses' values of each key of the selection, and other keys with which the value has an effect."""
    several = urlencode([("run", runs[name]) for name in ("m0 said", "m1 said", "m2 tokens")])
    teams, stated = "human=team_share", "people=stated-ends"
    return {
        "run": [f"run={runs['m0 said']}", several],
        "tag": ["tag.size=big"],
        "model": ["model=m0", "model=m2"],
        "elicitation": ["elicitation=tokens"],
        "category": ["category=A", "category=B"],
        "subcategory": ["subcategory=x", "subcategory=y"],
        "attr": ["attr.packet=1", "attr.packet=2"],
        "difficulty": ["difficulty=0..0.45", "difficulty=0.55..1"],
        "revealed": ["revealed=0..0.7", "revealed=0.6..1"],
        "q": ["q=q0", "q=q1"],
        "binning": ["binning=mass2"],
        "human": ["human=survival", "human=buzz_share", "human=team_share"],
        "beta": ["beta=3", "beta=0.1"],
        "t": ["t=0.9", "t=0"],
        "failed": ["failed=1"],
        "grading": ["grading=second"],
        "undisputed": ["undisputed=1"],
        "people": [("", stated), (teams, stated), (f"{teams}&difficulty=0..0.6", stated)],
        "cluster": ["cluster=packet"],
        "primary": ["primary=brier", "primary=calscore"],
        "common": ["common=1", "common=0", "common=all"],
    }


def own_keys(path, runs):
    """Return keys with which a view shows most, one after the other: of ``board`` unless they name a dataset."""
    pair = urlencode({"a": runs["m0 said"], "b": runs["m1 said"]})
    some = ("accuracy", "calscore", "ece", "hmr", "net_score")
    metrics = f"metrics={','.join(some)}"
    return {
        "compare": [f"{pair}&{metrics}"],
        "power": [f"{pair}&{metrics}"],
        "items": [f"focus={runs['m1 said']}"],
        "slices": [f"metric={metric}" for metric in some],
        "release-dates": [f"metric={metric}" for metric in some],
        "leaderboard": [f"intervals=1&{metrics}"],
        "breakdown": [f"intervals=1&{metrics}"],
        "pairs": [metrics],
        "agreement": ["", metrics],
        "recalibration": [metrics],
        "finding": ["", "dataset=alone"],
        "questions": [f"{metrics}&sort=accuracy:{runs['m1 said']}"],
    }.get(path, [""])


def without_the_question(answer):
    """Return an answer without what it says of the selection."""
    return json.dumps({key: value for key, value in answer.items() if key != "selection"}, sort_keys=True)


def keys_that_change(client, runs, path):
    """Return the keys of the selection that change the answer of a view."""
    address = path.replace("<dataset>", "board").replace("<path:question_id>", FAILED)

    @cache
    def ask(*keys):
        query = "&".join(filter(None, keys))
        dataset = "" if "dataset" in query or "board" in address else "dataset=board&"
        return without_the_question(get(client, f"/api/v1/{address}?{dataset}{query}"))

    def changed(key, own, change):
        if key in ("people", "run") and "dataset" in own:
            return False  # not of that dataset
        others, change = change if isinstance(change, tuple) else ("", change)
        return ask(own, others, change) != ask(own, others)

    return {
        key
        for key, listed in changes(runs).items()
        if any(changed(key, own, change) for own in own_keys(path, runs) for change in listed)
    }


# They show nothing of this dataset.
OF_OTHERS = {"people", "gradings/reviewed"}


@pytest.mark.slow
def test_used_keys_change_the_answer(board):
    client, runs = board
    views = {path: view for path, view in VIEWS.items() if view.selected and path not in OF_OTHERS}
    assert len(views) > 20
    used = {path: {key for key in changes(runs) if view.uses(key)} for path, view in views.items()}
    changing = {path: keys_that_change(client, runs, path) for path in views}
    idle = {path: unseen for path in views if (unseen := used[path] - changing[path])}
    undeclared = {path: seen for path in views if (seen := changing[path] - used[path])}
    assert (idle, undeclared) == ({}, {})


def about(snapshot, selection: Selection):
    """A query."""


def test_a_page_offers_only_what_its_views_use():
    view = View("nothing", about, NoParameters, "Nothing.", unused=("t",))
    with pytest.raises(TypeError, match="offers t, radius, which none of its views uses"):
        page("/nothing", "Nothing", NoParameters, views=(), filters=("t", "radius"))(lambda request: [])
    with pytest.raises(TypeError, match="offers t, which none"):
        page("/nothing", "Nothing", NoParameters, views=(view,), filters=("t", "radius"))(lambda request: [])


def test_a_view_names_keys_that_there_are():
    with pytest.raises(TypeError, match="The selection has no temperature"):
        serve("nothing", about, NoParameters, "Nothing.", unused=("temperature",))
