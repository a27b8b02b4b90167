"""Tables in the shapes of releases that somebody else invented, and numpy's figures of them."""

import json

import pytest

from clueline.data.store import open_store
from tests.helpers.bundle_factory import put
from tests.helpers.study_tables import FIGURES, figures, same_figures, words_of

pytestmark = pytest.mark.real


def expected_figures(run):
    """Return the figures that a run should have, by the keys of metrics."""
    accuracy = run.get("accuracy", run.get("accuracy_of_all_answers", run.get("accuracy_at_half")))
    return {key: run[key] for key in FIGURES if key in run} | {"accuracy": accuracy}


def test_figures_are_those_of_numpy(shared, tmp_path):
    tables = json.loads((shared("../tables") / "expected.json").read_text(encoding="utf-8"))
    assert len(tables) == 12
    for name, runs in tables.items():
        store = open_store(tmp_path / name)
        put(store, shared("../tables") / name, words=words_of(name))
        assert same_figures(figures(store), [expected_figures(run) for run in runs.values()]), name
