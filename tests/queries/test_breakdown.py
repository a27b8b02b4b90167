"""Parts of a breakdown against the leaderboard with the filter of each part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.importing import ingest
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.breakdown import BREAKDOWN_FIELDS, breakdown
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS
from clueline.queries.selection import Selection
from tests.helpers.examples import examples
from tests.helpers.small_store import write_steps
from tests.helpers.strategies import selections

RELAY = Selection("relay", common=False)  # each run on its own questions


def part_of(by, question):
    """Return the part that a question belongs to, computed independently."""
    value = question[by]
    if by != "difficulty" or value is None:
        return None if value is None else str(value)
    step = max(k for k in range(10) if value >= k / 10)
    return f"{step / 10 or 0:g}..{(step + 1) / 10:g}"


def same(cell, other):
    value = None if other.value is None else pytest.approx(other.value, abs=1e-12)
    assert (cell.value, cell.missing, cell.questions, cell.rank) == (value, other.missing, other.questions, other.rank)


@examples(12)
@given(data=st.data(), dataset=st.sampled_from(["relay", "spans"]), by=st.sampled_from(BREAKDOWN_FIELDS))
def test_a_part_is_the_leaderboard_over_its_questions(snapshot, rows, offered, data, dataset, by):
    selection = data.draw(selections(offered[dataset]))
    result = breakdown(snapshot, selection, by, METRICS)
    questions = rows[dataset].kept_questions(selection)
    names = {part: [] for part in sorted({part_of(by, q) for q in questions} - {None}, key=lambda p: (by == "radius") * len(p))}
    if by in ("radius", "difficulty"):
        names = {part: [] for part in sorted(names, key=lambda part: float(part.split("..")[0]))}
    for question in questions:
        names.setdefault(part_of(by, question), []).append(question["question_id"])
    assert result.by == by
    assert {part.value: part.questions for part in result.parts} == {part: len(names[part]) for part in names}
    values = [part.value for part in result.parts]
    if by in ("radius", "difficulty"):
        assert values == [*names]
    else:
        assert values == sorted(value for value in values if value is not None) + [None] * (None in values)
    for part in result.parts:
        board = leaderboard(snapshot, selection.replace(questions=tuple(names[part.value])), METRICS)
        assert [(row.run, row.model, row.elicitation, row.questions, row.items) for row in part.rows] == [
            (row.run, row.model, row.elicitation, row.questions, row.items) for row in board.rows
        ]
        for row, other in zip(part.rows, board.rows, strict=True):
            for metric in METRICS:
                same(row.metrics[metric.key], other.metrics[metric.key])


DIFFICULTIES = (0.0, 0.3, 0.1 + 0.2, 0.7, 1.0, 0.95, 0.9, float(np.nextafter(0.9, 0)), 0.1)


@pytest.fixture(scope="module")
def stated(tmp_path_factory):
    """A dataset of questions with these difficulties, and one question that nobody answered, which has no difficulty."""
    folder = tmp_path_factory.mktemp("stated")
    write_steps(folder / "steps", DIFFICULTIES)
    store = open_store(folder / "store")
    ingest.import_paths(store, [folder / "steps"], ImportOptions())
    return store.snapshot()


def test_steps_of_difficulty(stated):
    """Steps are half-open except the last: 0.3 is in [0.3, 0.4), 1 in [0.9, 1], the number before 0.9 in [0.8, 0.9)."""
    steps = Selection("steps", common=False)
    result = breakdown(stated, steps, "difficulty", METRICS).parts
    assert [(part.value, part.questions) for part in result] == [
        ("0..0.1", 1), ("0.1..0.2", 1), ("0.3..0.4", 2), ("0.7..0.8", 1), ("0.8..0.9", 1), ("0.9..1", 3), (None, 1),
    ]  # fmt: skip
    assert result[-1].rows == []
    hard = leaderboard(stated, steps.replace(difficulty=(0.9, 1.0)), METRICS)
    assert hard.questions == 3
    for row, other in zip(result[-2].rows, hard.rows, strict=True):
        for metric in METRICS:
            same(row.metrics[metric.key], other.metrics[metric.key])


def test_intervals_within_parts(snapshot, rows):
    plainly = breakdown(snapshot, RELAY, "category", METRICS[::4])
    result = breakdown(snapshot, RELAY, "category", METRICS[::4], intervals=True)
    seen = 0
    for part, other in zip(result.parts, plainly.parts, strict=True):
        for row, without in zip(part.rows, other.rows, strict=True):
            for key, cell in row.metrics.items():
                same(cell, without.metrics[key])
                assert without.metrics[key].low is None
                if cell.low is None:  # a slope's standard error needs three questions after one is left out
                    assert cell.value is None or cell.questions < 4
                    assert (cell.high, cell.replicates) == (None, None)
                else:
                    assert cell.value is not None and cell.questions > 1
                seen += cell.low is not None
    assert seen > 20
    assert any(cell.replicates < 1000 for part in result.parts for row in part.rows for cell in row.metrics.values() if cell.low)


@pytest.mark.parametrize("by", BREAKDOWN_FIELDS)
def test_nothing_selected(snapshot, by):
    assert breakdown(snapshot, RELAY.replace(q="no such text"), by, METRICS, intervals=True).parts == []
    unanswered = breakdown(snapshot, RELAY.replace(model=("unheard",), category=("History",)), by, METRICS, intervals=True)
    assert sum(part.questions for part in unanswered.parts) == 3
    assert all(part.rows == [] for part in unanswered.parts)
