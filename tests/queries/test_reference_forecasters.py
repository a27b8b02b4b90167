"""Formulas among models are shown, and are no contestants: they have no rank and are compared only if they are named."""

import pytest

from clueline.data.store import open_store
from clueline.queries.decide import decide
from clueline.queries.leaderboard import leaderboard
from clueline.queries.selection import Selection
from clueline.queries.which_ece import WHICH_METRICS, which_ece
from tests.helpers.bundle_factory import FACTS, put, table, write

BOARD = Selection("board")
QUESTIONS = 40


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Return a dataset of two models and a formula that is better than both."""
    folder = tmp_path_factory.mktemp("formulas")
    stated = {("formula", "computed"): (0.98, 0.02), ("near", "verbalized"): (0.8, 0.3), ("far", "verbalized"): (0.6, 0.6)}
    rows = [
        {
            "question_id": f"q{n}",
            "model": model,
            "elicitation": elicitation,
            "guess": "a",
            "confidence": shares[n % 2],
            "correct": 1 - n % 2,
        }
        for (model, elicitation), shares in stated.items()
        for n in range(QUESTIONS)
    ]
    questions = [{"question_id": f"q{n}", "answer": "a"} for n in range(QUESTIONS)]
    store = open_store(folder / "store", threads=1)
    facts = FACTS | {"dataset": "board", "kind": "single"}
    put(store, write(folder / "board", facts, questions=table(questions), clues=None, responses=table(rows)))
    return store.snapshot()


def test_they_have_no_rank(board):
    rows = {row.run: row for row in leaderboard(board, BOARD, WHICH_METRICS).rows}
    result = which_ece(board, BOARD)
    assert [run.model for run in result.runs] == ["near", "far", "formula"]
    for variant in result.variants:
        for run, cell in zip(result.runs, variant.runs, strict=True):
            expected = rows[run.run].metrics[variant.key]
            assert (cell.value, cell.rank) == (expected.value, expected.rank), (variant.key, run.model)
            assert (cell.rank is None) == (run.model == "formula" or cell.value is None)
        assert variant.first in (None, result.runs[0].run, result.runs[1].run)
    shown = which_ece(board, BOARD, result.runs[2].run, intervals=True)
    (bins,) = (variant.bins for variant in shown.variants if variant.key == "ece_width10")
    assert [part.items for part in bins if part.items] == [20, 20] and bins[0].accuracy == 0


def test_they_are_compared_only_if_named(board):
    usual = decide(board, BOARD)
    (formula,) = (run.run for run in usual.runs if run.model == "formula")
    assert {usual.difference.a.model, usual.difference.b.model} == {"near", "far"}
    named = decide(board, BOARD, a=formula).difference
    assert (named.a.model, named.b.model) == ("formula", "near")
