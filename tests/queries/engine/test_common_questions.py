"""Questions and clues that all runs answered, and agreement of all views on the same two runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.compare import compare, comparisons
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.common_questions import coverage, taking_part
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.gather import gather
from clueline.queries.items import items
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from clueline.queries.slices import slices
from tests.helpers.bundle_factory import FACTS, table, write
from tests.helpers.run_tables import with_runs

METRICS = [CATALOGUE[key] for key in ("accuracy", "brier", "hmr", "ece", "grace_mce", "auroc")]
QUESTIONS, CATEGORIES = 40, ("Arts", "History", "Science")
RUNS = 5


def imported(folder, name, **tables):
    store = open_store(folder / "store")
    import_paths(store, [write(folder / name, FACTS | {"dataset": name}, **tables)], ImportOptions(elicitation="logit"))
    return store.snapshot()


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """A dataset whose runs each miss some questions; the last run misses most of them."""
    folder, random = tmp_path_factory.mktemp("gaps"), np.random.default_rng(5)
    names = [f"q{index}" for index in range(QUESTIONS)]
    questions = table([{"question_id": name, "answer": "yes", "category": CATEGORIES[int(name[1:]) % 3]} for name in names])
    clues = table(
        [
            {"question_id": name, "clue": clue, "text": f"{name} clue {clue}", "word_end": 3 * clue + 3}
            for name in names
            for clue in (0, 1)
        ]
    )
    rows = []
    for run in range(RUNS + 1):
        miss = 0.7 if run == RUNS else 0.02
        for name in [name for name in names if random.random() > miss]:
            for clue in (0, 1) if random.random() > 0.04 else (0,):
                right = random.random() < 0.35 + 0.1 * run
                rows.append({
                    "question_id": name, "clue": clue, "guess": "yes" if right else "no", "confidence": round(random.random(), 2),
                    "model": f"m{run}",
                })  # fmt: skip
    return imported(folder, "gaps", questions=questions, clues=clues, responses=table(rows))


def runs_of(snapshot):
    return [run for (run,) in snapshot.rows("select run from runs order by position")]


def selections(snapshot, count=8):
    """Yield random selections: runs, categories, revealed fractions, and whether only common questions count."""
    random, runs = np.random.default_rng(8), runs_of(snapshot)
    for index in range(count):
        places = random.choice(len(runs), random.integers(2, len(runs) + 1), replace=False)
        chosen = tuple(runs[place] for place in sorted(places))
        categories = tuple(name for name in CATEGORIES if random.random() < 0.7)
        revealed = (0.0, 0.6) if random.random() < 0.3 else None
        yield Selection("gaps", run=chosen, category=categories, revealed=revealed, common=bool(index % 2))


def answered_in_store(snapshot, selection):
    """Return the (question, clue) pairs of a selection that each run answered, read straight from the store."""
    condition, parameters = selection.question_filter()
    low, high = selection.revealed or (0, 1)
    rows = with_runs(snapshot).rows(
        f"""select p.run, p.question_id, p.clue from responses p join questions q using (dataset, question_id)
        join clues c using (dataset, question_id, clue)
        where not p.failed and {condition} and c.revealed between $low and $high""",
        parameters | {"low": low, "high": high},
    )
    chosen = {run: set() for run in runs_of(snapshot) if not selection.run or run in selection.run}
    for run, *clue in rows:
        if run in chosen:
            chosen[run].add(tuple(clue))
    return chosen


def questions_of(clues):
    return {question for question, _ in clues}


def expected_participants(answered):
    """Return the runs that take part, and the clues that a run is expected to answer, as docs/metrics.md says, from sets."""
    union = set().union(*answered.values())
    have_say = [clues for clues in answered.values() if clues and 2 * len(clues) >= len(union)]
    have_say = have_say or [clues for clues in answered.values() if clues]
    expected = {clue for clue in union if 2 * sum(clue in clues for clues in have_say) >= len(have_say)}
    part = [run for run, clues in answered.items() if clues and len(clues & expected) >= 0.9 * len(expected)]
    return part, expected


@given(st.integers(1, 12).flatmap(lambda clues: st.lists(st.lists(st.booleans(), min_size=clues, max_size=clues), max_size=8)))
def test_participants_of_any_answers(rows):
    answered = np.array(rows, dtype=bool).reshape(len(rows), len(rows[0]) if rows else 0)
    part, expected = taking_part(answered)
    sets = {run: set(np.flatnonzero(row).tolist()) for run, row in enumerate(answered)}
    assert (np.flatnonzero(part).tolist(), set(np.flatnonzero(expected).tolist())) == expected_participants(sets)


def test_coverage_counts_what_the_store_holds(gaps):
    for selection in (*selections(gaps), Selection("gaps")):
        answered = answered_in_store(gaps, selection)
        counts = coverage(gaps, selection)
        assert counts.answered_clues == {run: len(clues) for run, clues in answered.items()}
        assert counts.answered == {run: len(questions_of(clues)) for run, clues in answered.items()}
        part, expected = expected_participants(answered)
        assert (counts.taking_part, counts.expected_clues) == (part, len(expected))
        assert counts.apart == {
            run: f"answered {len(clues & expected)} of {len(expected)}" for run, clues in answered.items() if run not in part
        }
        common = set.intersection(*(answered[run] for run in part))
        assert (counts.common, counts.common_clues) == (len(questions_of(common)), len(common))
        assert counts.questions <= counts.clues <= 2 * QUESTIONS


def test_the_restricted_selection_has_the_common_clues(gaps):
    selection = Selection("gaps", common=True)
    counted = count_answers(gaps, selection, compared=False)
    restricted, counts = counted.selection, counted.coverage
    assert set(restricted.run) == set(counts.taking_part) and len(counts.apart) == 1
    assert 0 < counts.common < QUESTIONS and counts.common < counts.common_clues < 2 * counts.common
    answered = answered_in_store(gaps, selection)
    common = set.intersection(*(answered[run] for run in counts.taking_part))
    evidence = gather(gaps, restricted, METRICS)
    assert [facts["items"] for facts in map(evidence.run_facts, range(len(evidence.runs)))] == [len(common)] * RUNS
    assert {*evidence.questions.tolist()} == questions_of(common)
    items_of = {(item.question_id, item.clue) for item in items(gaps, selection, limit=1000, focus=restricted.run[:1]).items}
    assert items_of == common  # read by SQL; the evidence is read from memory
    assert count_answers(gaps, restricted).selection == restricted


def test_parts_of_a_list_are_on_the_same_clues(gaps):
    selection = Selection("gaps", common=True)
    every = {(item.run, item.question_id, item.clue) for item in items(gaps, selection, limit=1000).items}
    parts = [items(gaps, selection, limit=1000, within=Selection("gaps", category=(name,))).items for name in CATEGORIES]
    assert {(item.run, item.question_id, item.clue) for part in parts for item in part} == every
    (apart,) = coverage(gaps, selection).apart  # it is measured on its own answers
    own = items(gaps, selection, limit=1000, focus=(apart,)).items
    assert {(item.question_id, item.clue) for item in own} == answered_in_store(gaps, selection)[apart]


def test_a_run_does_not_win_by_skipping_clues(gaps, tmp_path):
    """A run that answers only late clues, or whose other calls fail, has the metrics of a complete run on those clues."""
    names = [f"q{index}" for index in range(20)]
    questions = table([{"question_id": name, "answer": "yes"} for name in names])
    places = [(name, clue) for name in names for clue in range(4)]
    clues = table([{"question_id": name, "clue": clue, "text": "some words", "word_end": 2 * clue + 2} for name, clue in places])
    answers = [
        {"question_id": name, "clue": clue, "guess": "yes" if clue > 1 else "no", "confidence": 0.4 + 0.1 * clue}
        for name, clue in places
    ]
    kept = {"whole": lambda clue: True, "late": lambda clue: clue > 0, "last": lambda clue: clue == 3}
    stated = [row | {"model": model} for model, keeps in kept.items() for row in answers if keeps(row["clue"])]
    stated += [row | {"model": "crashing"} | ({"guess": "ERROR", "confidence": 0} if row["clue"] == 0 else {}) for row in answers]
    snapshot = imported(tmp_path, "late", questions=questions, clues=clues, responses=table(stated))

    board = leaderboard(snapshot, Selection("late"), METRICS, intervals=True)
    assert (board.questions, board.clues, board.common, board.common_clues) == (20, 80, None, None)
    rows = {row.model: row for row in board.rows}
    assert {model: (row.answered, row.answered_clues, row.ranked) for model, row in rows.items()} == {
        "whole": (20, 80, True), "late": (20, 60, True), "last": (20, 20, False), "crashing": (20, 60, True),
    }  # fmt: skip
    ranked = [row for row in board.rows if row.ranked]
    assert [row.items for row in ranked] == [80, 60, 60]
    for metric in (metric for metric in METRICS if metric.mean):
        cells = [row.metrics[metric.key] for row in ranked]
        assert [cell.adjusted for cell in cells] == pytest.approx([cells[0].adjusted] * 3)
        assert {cell.rank for cell in cells} == {2.0}  # three tie
    assert {str(cell.letters) for row in ranked for cell in row.metrics.values()} == {"[1]"}  # they answered the same alike

    same = leaderboard(snapshot, Selection("late", common=True), METRICS, intervals=True)
    assert (same.common, same.common_clues) == (20, 60)
    ranked = [row for row in same.rows if row.ranked]
    assert all(row.metrics == ranked[0].metrics and row.items == 60 for row in ranked)
    assert {cell.rank for cell in ranked[0].metrics.values()} == {2.0}
    for family in (board.rows[:2], [rows["whole"], rows["last"]]):
        pair = compare(snapshot, Selection("late"), *(row.run for row in family), METRICS)
        assert pair.questions == 20 and {cell.difference for cell in pair.metrics.values()} <= {0.0, None}

    own = leaderboard(snapshot, Selection("late", common=False), METRICS, intervals=True).rows
    assert len({row.metrics["accuracy"].value for row in own}) == 3
    assert {cell.letters for row in own for cell in row.metrics.values()} == {None}  # different clues


def test_nothing_changes_where_all_answered_the_same(bundled):
    for common in (None, True):
        counted = count_answers(bundled, Selection("pyramid", common=common))
        assert counted.selection == Selection("pyramid", common=common) and not counted.coverage.differs
        assert counted.evidence.expected is None
    alone = count_answers(bundled, Selection("pyramid"), compared=False)
    assert (alone.selection, alone.coverage) == (Selection("pyramid"), None)


def test_runs_without_a_question_in_common(gaps):
    runs = runs_of(gaps)
    clues = answered_in_store(gaps, Selection("gaps"))
    first, second = (sorted(name for name, clue in clues[run] if clue == 1) for run in runs[:2])  # all of their clues
    lone = next(name for name in first if name not in questions_of(clues[runs[1]]))
    other = next(name for name in second if name not in questions_of(clues[runs[0]]))
    selection = Selection("gaps", run=tuple(runs[:2]), questions=(lone, other))
    assert count_answers(gaps, selection).coverage.common == 0
    for common in (None, False):
        board = leaderboard(gaps, selection.replace(common=common), METRICS, True)
        assert [row.answered for row in board.rows] == [1, 1]
        assert [row.unranked for row in board.rows] == [None if common is False else "answered 2 of 4"] * 2


def test_all_views_agree_on_the_same_two_runs(gaps):
    """Letters of the leaderboard, /pairs and /compare agree, over random selections with missing answers."""
    pairs_seen = letters_seen = 0
    for selection in selections(gaps, 6):
        board = leaderboard(gaps, selection, METRICS, intervals=True)
        rows = {row.run: row for row in board.rows if row.ranked}
        family = comparisons(gaps, selection, None, METRICS).comparisons
        assert {(pair.a.run, pair.b.run) for pair in family} == {
            (a, b) for a in rows for b in rows if a in [*rows][: [*rows].index(b)]
        }
        for place, pair in enumerate(family):
            alone = None if place % 3 else compare(gaps, selection, pair.a.run, pair.b.run, METRICS)
            for key, difference in pair.metrics.items():
                pairs_seen += 1
                if alone:
                    assert alone.metrics[key].difference == pytest.approx(difference.difference, abs=1e-12, nan_ok=True)
                    assert alone.metrics[key].p_value == pytest.approx(difference.p_value, abs=1e-12, nan_ok=True)
                cells = [rows[run].metrics[key] for run in (pair.a.run, pair.b.run)]
                if selection.common and difference.difference is not None:
                    assert cells[0].value - cells[1].value == pytest.approx(difference.difference, abs=1e-12)
                if all(cell.letters is not None for cell in cells) and difference.p_holm is not None:
                    letters_seen += 1
                    assert bool(set(cells[0].letters) & set(cells[1].letters)) == (difference.p_holm >= SIGNIFICANCE)
                elif selection.common:
                    assert CATALOGUE[key].direction == "none" or difference.p_holm is None
    assert pairs_seen > 250 and letters_seen > 80


def test_a_slice_is_the_comparison_in_that_part(gaps):
    metric = CATALOGUE["brier"]
    selection = Selection("gaps", run=tuple(runs_of(gaps)[:RUNS]), common=True)
    against = selection.run[0]
    parts = [part for part in slices(gaps, selection, metric, against).slices if [*part.filters] == ["category"]]
    compared = 0
    for part in parts:
        narrowed = selection.replace(category=(part.filters["category"],))
        if coverage(gaps, narrowed).taking_part != coverage(gaps, selection).taking_part:
            continue  # a run that skipped too much of this part
        compared += 1
        pair = compare(gaps, narrowed, part.run, against, [metric])
        assert pair.questions == part.questions
        assert pair.metrics["brier"].difference == pytest.approx(part.difference, abs=1e-12)
    assert compared
