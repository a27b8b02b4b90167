"""Questions that all runs answered; and that all views agree on the same two runs."""

import numpy as np
import pytest

from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions
from data.store import open_store
from queries.compare import compare, comparisons
from queries.engine.bootstrap import SIGNIFICANCE
from queries.engine.coverage import coverage, restrict
from queries.leaderboard import leaderboard
from queries.metrics import CATALOGUE
from queries.selection import Selection
from queries.slices import slices
from tests.helpers.bundle_factory import FACTS, table, write

METRICS = [CATALOGUE[key] for key in ("accuracy", "brier", "hmr", "ece", "grace_mce", "auroc")]
QUESTIONS, CATEGORIES = 40, ("Arts", "History", "Science")
RUNS = 5


@pytest.fixture(scope="module")
def gaps(tmp_path_factory):
    """A dataset whose runs each miss some questions, and one run most of them."""
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
    store = open_store(folder / "store")
    store.write(lambda connection: None)  # without the bundled datasets
    import_paths(store, [write(folder / "gaps", FACTS | {"dataset": "gaps"}, questions=questions, clues=clues)], ImportOptions())
    for run in range(RUNS + 1):
        miss = 0.7 if run == RUNS else 0.12
        answered = [name for name in names if random.random() > miss]
        rows = []
        for name in answered:
            for clue in (0, 1) if random.random() > 0.2 else (0,):
                right = random.random() < 0.35 + 0.1 * run
                rows.append({
                    "question_id": name, "clue": clue, "guess": "yes" if right else "no", "confidence": round(random.random(), 2),
                })  # fmt: skip
        path = folder / f"run{run}.csv"
        path.write_text(table(rows))
        import_paths(store, [path], ImportOptions(dataset="gaps", model=f"m{run}", elicitation="logit"))
    return store.snapshot()


def runs_of(snapshot):
    return [run for (run,) in snapshot.rows("select run from runs order by position")]


def selections(snapshot):
    """Selections at random: runs, categories, clues, and which questions count."""
    random, runs = np.random.default_rng(8), runs_of(snapshot)
    for index in range(12):
        count = random.integers(2, len(runs) + 1)
        chosen = tuple(runs[place] for place in sorted(random.choice(len(runs), count, replace=False)))
        categories = tuple(name for name in CATEGORIES if random.random() < 0.7)
        revealed = (0.0, 0.6) if random.random() < 0.3 else None
        yield Selection("gaps", run=chosen, category=categories, revealed=revealed, common=bool(index % 2))


def answered_in_store(snapshot, selection):
    """Questions of a selection that each run answered, straight from the store."""
    condition, parameters = selection.question_filter()
    low, high = selection.revealed or (0, 1)
    rows = snapshot.rows(
        f"""select distinct p.run, p.question_id from responses p join questions q using (dataset, question_id)
        join clues c using (dataset, question_id, clue) where {condition} and c.revealed between $low and $high""",
        parameters | {"low": low, "high": high},
    )
    chosen = {run: set() for run in runs_of(snapshot) if not selection.run or run in selection.run}
    for run, question in rows:
        if run in chosen:
            chosen[run].add(question)
    return chosen


def test_coverage_counts_what_the_store_holds(gaps):
    for selection in (*selections(gaps), Selection("gaps")):
        answered = answered_in_store(gaps, selection)
        counts = coverage(gaps, selection)
        assert counts.answered == {run: len(questions) for run, questions in answered.items()}
        union = set().union(*answered.values())
        apart = [run for run, questions in answered.items() if len(questions) < len(union) / 2]
        assert counts.apart == apart
        taking_part = [questions for run, questions in answered.items() if run not in apart]
        assert counts.common == len(set.intersection(*taking_part))


def test_the_restricted_selection_has_the_common_questions(gaps):
    selection = Selection("gaps", common=True)
    restricted, counts = restrict(gaps, selection)
    assert set(restricted.run) == set(counts.taking_part) and len(counts.apart) == 1
    assert 0 < counts.common < QUESTIONS
    again = answered_in_store(gaps, restricted)
    assert {len(questions) for questions in again.values()} == {counts.common}
    assert restrict(gaps, restricted)[0] == restricted


def test_nothing_changes_where_all_answered_the_same(bundled):
    selection = Selection("pyramid", common=True)
    restricted, counts = restrict(bundled, selection)
    assert restricted is selection and not counts.differs
    assert restrict(bundled, Selection("pyramid")) == (Selection("pyramid"), None)


def test_runs_without_a_question_in_common(gaps):
    runs = runs_of(gaps)
    answered = answered_in_store(gaps, Selection("gaps"))
    lone = next(name for name in answered[runs[0]] if name not in answered[runs[1]])
    other = next(name for name in answered[runs[1]] if name not in answered[runs[0]])
    selection = Selection("gaps", run=tuple(runs[:2]), questions=(lone, other))
    _, counts = restrict(gaps, selection, by_default=True)
    assert counts.common == 0
    assert leaderboard(gaps, selection, METRICS, True).rows == []
    board = leaderboard(gaps, selection.replace(common=False), METRICS, True)
    assert [row.answered for row in board.rows] == [1, 1]


def test_all_views_agree_on_the_same_two_runs(gaps):
    """Letters of the leaderboard, /pairs, /compare and /slices, over random selections with missing answers."""
    pairs_seen = letters_seen = 0
    for selection in selections(gaps):
        board = leaderboard(gaps, selection, METRICS, intervals=True)
        rows = {row.run: row for row in board.rows if row.ranked}
        family = comparisons(gaps, selection, None, METRICS).comparisons
        assert {(pair.a.run, pair.b.run) for pair in family} == {
            (a, b) for a in rows for b in rows if a in [*rows][: [*rows].index(b)]
        }
        for pair in family:
            alone = compare(gaps, selection, pair.a.run, pair.b.run, METRICS)
            for key, difference in pair.metrics.items():
                pairs_seen += 1
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
    assert pairs_seen > 300 and letters_seen > 100


def test_a_slice_is_the_comparison_in_that_part(gaps):
    metric = CATALOGUE["brier"]
    selection = Selection("gaps", run=tuple(runs_of(gaps)[:RUNS]), common=True)
    against = selection.run[0]
    parts = [part for part in slices(gaps, selection, metric, against).slices if [*part.filters] == ["category"]]
    assert parts
    for part in parts:
        narrowed = selection.replace(category=(part.filters["category"],))
        pair = compare(gaps, narrowed, part.run, against, [metric])
        assert pair.questions == part.questions
        assert pair.metrics["brier"].difference == pytest.approx(part.difference, abs=1e-12)
