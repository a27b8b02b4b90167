"""A withdrawn run is shown only in the list of runs and where the address names it; such a page says that it is withdrawn."""

import shutil
from urllib.parse import urlencode

import pytest

from dashboard.app import create_app
from dashboard.registry.pages import PAGES
from dashboard.settings import Settings
from data.store.run_withdrawal import withdraw
from tests.helpers.drawn_pages import everything


@pytest.fixture(scope="module")
def gone(seeded, tmp_path_factory):
    """An app whose store has withdrawn the second run of Pyramid, and that run."""
    app = create_app(Settings(store=str(shutil.copytree(seeded, tmp_path_factory.mktemp("gone") / "store")), workers=1))
    store = app.extensions["clueline"].store
    run, model, elicitation = store.snapshot().rows(
        "select run, model, elicitation from runs where dataset = 'pyramid' order by position limit 1 offset 1"
    )[0]
    withdraw(store, run, "ann")
    return app, run, f"{model} ({elicitation}), run {run}, was withdrawn on "


def drawn(app, name, query):
    path = "/questions/pyramid/lit-01" if name == "question" else PAGES[name].path
    return everything(app, path, urlencode(query if name == "question" else {"dataset": "pyramid"} | query))


def test_it_is_shown_only_where_it_is_named(gone):
    app, run, notice = gone
    names = [name for name, view in PAGES.items() if view.order is not None]
    assert len(names) >= 8
    for name in (*names, "question"):
        assert (run in drawn(app, name, {})) == (name == "runs"), name
        shown = drawn(app, name, {"run": run})
        assert notice in shown and " by ann. " in shown, name


def test_the_notice_is_shown_when_other_keys_name_it(gone):
    app, run, notice = gone
    other = app.extensions["clueline"].facets("pyramid").runs[0][0]
    assert notice in drawn(app, "compare", {"a": other, "b": run})
    assert notice in drawn(app, "questions", {"sort": f"brier:{run}"})
