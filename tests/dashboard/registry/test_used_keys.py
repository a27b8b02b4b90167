"""A key of the selection changes the answer of a view that uses it, and of no other; pages offer only what changes something."""

import json
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
from tests.helpers.bundle_factory import put
from tests.helpers.full_board import FAILED, write_board
from tests.helpers.json_api import get


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    store = open_store(folder / "store", threads=1)
    put(store, write_board(folder, "board"))
    put(store, write_board(folder, "alone", teams=()))
    runs = dict(store.snapshot().rows("select model || ' ' || elicitation, run from runs where dataset = 'board'"))
    return create_app(Settings(store=store.url, workers=1)).test_client(), runs


def changes(runs):
    """Return addresses' values of each key of the selection, and other keys with which the value has an effect."""
    several = urlencode([("run", runs[name]) for name in ("m0 verbalized", "m1 verbalized", "m2 token")])
    teams, stated = "human=team_share", "people=stated-ends"
    return {
        "run": [f"run={runs['m0 verbalized']}", several],
        "tag": ["tag.size=big"],
        "model": ["model=m0", "model=m2"],
        "elicitation": ["elicitation=token"],
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
    pair = urlencode({"a": runs["m0 verbalized"], "b": runs["m1 verbalized"]})
    some = ("accuracy", "calscore", "ece", "hmr", "net_score")
    metrics = f"metrics={','.join(some)}"
    return {
        "compare": [f"{pair}&{metrics}"],
        "power": [f"{pair}&{metrics}"],
        "items": [f"focus={runs['m1 verbalized']}"],
        "slices": [f"metric={metric}" for metric in some],
        "release-dates": [f"metric={metric}" for metric in some],
        "leaderboard": [f"intervals=1&{metrics}"],
        "breakdown": [f"intervals=1&{metrics}"],
        "pairs": [metrics],
        "agreement": ["", metrics],
        "recalibration": [metrics],
        "finding": ["", "dataset=alone"],
        "questions": [f"{metrics}&sort=accuracy:{runs['m1 verbalized']}"],
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


# In parts of so few questions, no letter depends on it.
UNSEEN = {"breakdown": {"primary"}}


@pytest.mark.slow
def test_used_keys_change_the_answer(board):
    client, runs = board
    views = {path: view for path, view in VIEWS.items() if view.selected and path not in OF_OTHERS}
    assert len(views) > 20
    used = {path: {key for key in changes(runs) if view.uses(key)} for path, view in views.items()}
    changing = {path: keys_that_change(client, runs, path) for path in views}
    idle = {path: unseen for path in views if (unseen := used[path] - changing[path] - UNSEEN.get(path, set()))}
    undeclared = {path: seen for path in views if (seen := changing[path] - used[path])}
    assert (idle, undeclared) == ({}, {})


# No board has them together with all the others: of LifeEval, and of runs that have days.
ELSEWHERE = {"dataset", "radius", "nights"}


def test_every_key_is_tried(board):
    _, runs = board
    assert {*changes(runs)} == {*Selection.kinds()} - ELSEWHERE


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
