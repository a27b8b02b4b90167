"""A difficulty that is a simple share is stored as the number that people write, so that a range from or to it keeps it."""

import pytest

from clueline.queries.selection import Selection
from tests.helpers import bundle_factory as bundles

RUNS, CLUES = 10, 3


def right_clues(question, run):
    """Return how many of the three clues of a question a run answers correctly: 15 for all runs together, in many ways."""
    counts = [0, 3, 1, 2, 2, 1, 3, 0, 1, 2] if question % 2 else [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]
    return counts[(run + question) % RUNS]


@pytest.fixture(scope="module")
def snapshot(importing, tmp_path_factory):
    """Ten runs: question k is answered correctly by k of them; half of the clues of question hN are right in all."""
    folder = tmp_path_factory.mktemp("ten_runs")
    right = {f"q{k}": lambda run, k=k: int(run < k) for k in range(RUNS + 1)}
    right |= {f"h{k}": lambda run, k=k: right_clues(k, run) for k in range(20)}
    places = [(name, clue) for name in right for clue in range(CLUES if name[0] == "h" else 1)]
    answers = [
        {"model": f"model {run}", "question_id": name, "clue": clue, "guess": "yes" if clue < right[name](run) else "no"}
        for run in range(RUNS)
        for name, clue in places
    ]
    bundle = bundles.write(
        folder / "toy",
        questions=bundles.table([{"question_id": name, "answer": "yes"} for name in right]),
        clues=bundles.table([{"question_id": name, "clue": clue, "text": "a"} for name, clue in places]),
        responses=bundles.table([answer | {"confidence": 0.5} for answer in answers]),
    )
    return importing(folder / "store", bundle).snapshot()


def test_shares_are_stored_as_they_are_written(snapshot):
    stored = dict(snapshot.rows("select question_id, difficulty from questions"))
    assert {name: value for name, value in stored.items() if name[0] == "q"} == {f"q{k}": (RUNS - k) / 10 for k in range(11)}
    assert {value for name, value in stored.items() if name[0] == "h"} == {0.5}


def test_a_range_keeps_its_ends(snapshot):
    def kept(*ends):
        condition, parameters = Selection("toy", difficulty=ends).question_filter()
        rows = snapshot.rows(f"select question_id from questions q where {condition}", parameters)
        return {name for (name,) in rows if name[0] == "q"}

    for tenths in range(1, 10):
        assert kept(0.0, float(f"0.{tenths}")) == {f"q{k}" for k in range(RUNS + 1) if RUNS - k <= tenths}
        assert kept(float(f"0.{tenths}"), 1.0) == {f"q{k}" for k in range(RUNS + 1) if RUNS - k >= tenths}
