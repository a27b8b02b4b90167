"""A metric by release date, against the leaderboard and a plain definition of the best so far."""

from datetime import date

import pytest

from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.rankings import read_date, release_dates
from clueline.queries.selection import Selection, read_facets, read_selection
from tests.helpers.bundle_factory import CLUES, QUESTIONS, write

RELEASED = {
    "late": "2025", "first": "2023-03-14", "twin": "2023-03-14", "worse": "2024-02", "better": "2024-11-05",
    "odd": "next spring", "undated": None,
}  # fmt: skip
CONFIDENCES = {"late": 0.3, "first": 0.9, "twin": 0.8, "worse": 0.95, "better": 0.55, "odd": 0.5, "undated": 0.45}
RESPONSES = "model,elicitation,question_id,clue,guess,confidence\n" + "".join(
    f"{model},verbalized,{question},{clue},{guess},{confidence}\n"
    for model, confidence in CONFIDENCES.items()
    for question, guess in (("q1", "Paris"), ("q2", "nobody"))
    for clue in range(2)
)
TAGS = "model,elicitation,tag,value\n" + "".join(
    f"{model},verbalized,released,{text}\n" for model, text in RELEASED.items() if text
)
SELECTION = Selection("toy")


@pytest.fixture(scope="module")
def dated(importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dated")
    bundle = write(folder / "toy", questions=QUESTIONS, clues=CLUES, responses=RESPONSES, tags=TAGS)
    return importing(folder / "store", bundle).snapshot()


def test_dates_are_read_as_written():
    for text, day in {
        "2024-05-13": "2024-05-13", " 2024-05-13 ": "2024-05-13", "2024-02": "2024-02-16", "2023": "2023-07-02",
        **dict.fromkeys(("2024-02-30", "2024-13", "13.05.2024", "0000", "", "24-05-13")),
    }.items():  # fmt: skip
        assert read_date(text) == (None if day is None else date.fromisoformat(day)), text


@pytest.mark.parametrize("key", ["brier", "accuracy", "overconfidence", "mean_confidence"])
def test_values_are_those_of_the_leaderboard(dated, key):
    metric = CATALOGUE[key]
    result = release_dates(dated, SELECTION, metric)
    assert [run.model for run in result.runs] == ["first", "twin", "worse", "better", "late"]
    assert [run.day for run in result.runs] == ["2023-03-14", "2023-03-14", "2024-02-16", "2024-11-05", "2025-07-02"]
    assert result.undated == 1 and list(result.unreadable.values()) == ["next spring"]
    board = {row.run: row.metrics[key] for row in leaderboard(dated, SELECTION, [metric], True).rows}
    for run in result.runs:
        cell = board[run.run]
        assert (run.value, run.low, run.high, run.questions) == (cell.value, cell.low, cell.high, cell.questions)
        assert run.released == RELEASED[run.model]
        loss = {"lower": lambda value: value, "higher": lambda value: -value, "zero": abs, "none": None}[metric.direction]
        earlier = [loss(other.value) for other in result.runs if loss and other.day <= run.day]
        assert run.best_so_far == (loss(run.value) == min(earlier) if loss else None), "better than all before"
    assert not metric.ranks or [run.best_so_far for run in result.runs].count(True) >= (2 if key != "accuracy" else 1)


def test_a_selection_leaves_out_runs(dated):
    pairs = [("dataset", "toy"), ("tag.released", "2025"), ("tag.released", "2024-02")]
    selection = read_selection(pairs, lambda dataset: read_facets(dated, dataset))
    result = release_dates(dated, selection, CATALOGUE["brier"])
    assert [run.model for run in result.runs] == ["worse", "late"]
    assert (result.undated, result.unreadable) == (0, {})
