"""A difficulty that comes from runs is, for each run, made of other models with other answers."""

import numpy as np
import pytest

from queries.engine.gather_evidence import gather
from queries.engine.question_difficulties import UNITS, OtherRuns, RunShares
from queries.metrics import CATALOGUE
from queries.selection import Selection
from queries.slices import slices
from tests.helpers import bundle_factory as bundles

SLOPE = CATALOGUE["hard_easy_slope"]


def others(shares, models, alike):
    """Return the difficulties from runs with these shares of right answers, NaN where a run has no answer."""

    def read(runs):
        for run in runs:
            known = np.flatnonzero(np.isfinite(shares[run]))
            yield RunShares(known, np.rint(np.array(shares[run])[known] * UNITS).astype(np.int64))

    return OtherRuns(len(next(iter(shares.values()))), models, [*shares], alike, read)


def test_the_same_model_or_answers_are_no_others():
    shares = {"a": [1, 0, 1], "a2": [0, 0, 1], "b": [1, 1, 0], "c": [0.5, 1, np.nan], "d": [1, 1, 0]}
    models = {"a": "A", "a2": "A", "b": "B", "c": "C", "d": "D"}
    made = others(shares, models, {"b": ["d"], "d": ["b"]})
    np.testing.assert_array_equal(made.difficulties("a"), [round(1 - 2.5 / 3, 12), 0, 1])
    np.testing.assert_array_equal(made.difficulties("b"), [0.5, round(2 / 3, 12), np.nan])  # only model A is left for the last


def toy(importing, folder):
    """Import three models, one of them twice, on sixty questions, and a copy of the first model's answers."""
    names = [f"q{k}" for k in range(60)]
    questions = "question_id,answer\n" + "".join(f"{name},yes\n" for name in names)
    clues = "question_id,clue,text\n" + "".join(f"{name},0,a\n" for name in names)
    store = importing(folder / "store", bundles.write(folder / "toy", questions=questions, clues=clues))
    chance = np.random.default_rng(5)
    ease = chance.random(60)
    for model in ("one", "two", "three"):
        guesses = np.where(chance.random(60) < ease, "yes", "no")
        for name, stated in ((model, 0.5), *(((f"{model} again", 0.7),) if model == "one" else ())):
            path = folder / f"{name}.csv"
            rows = [f"{question},0,{guess},{stated}\n" for question, guess in zip(names, guesses, strict=True)]
            path.write_text("question_id,clue,guess,confidence\n" + "".join(rows))
            bundles.put(store, path, dataset="toy", model=name)
    return store


@pytest.fixture
def snapshot(prefilled):
    return prefilled(toy).snapshot()


def test_the_slope_of_a_run_does_not_use_its_own_answers(snapshot):
    evidence = gather(snapshot, Selection("toy"), [SLOPE])
    right = dict(zip((run.model for run in evidence.runs), np.split(evidence.sums["correct"], evidence.starts[1:]), strict=True))
    given = dict(
        zip((run.model for run in evidence.runs), np.split(evidence.sums["difficulty"], evidence.starts[1:]), strict=True)
    )
    expected = 1 - (right["two"] + right["three"]) / 2
    np.testing.assert_allclose(given["one"], expected)
    np.testing.assert_allclose(given["one again"], expected)
    np.testing.assert_allclose(given["two"], 1 - (2 * right["one"] + right["three"]) / 3)


def test_a_filter_on_difficulty_leaves_nothing_to_test(snapshot):
    hard = Selection("toy", difficulty=(0.5, 1.0))
    assert np.isnan(gather(snapshot, hard, [SLOPE]).values(SLOPE)).all()
    assert gather(snapshot, hard, [SLOPE]).selected_by_answers
    assert slices(snapshot, hard, CATALOGUE["overconfidence"]).slices == []
    assert slices(snapshot, Selection("toy"), CATALOGUE["overconfidence"]).slices == []
