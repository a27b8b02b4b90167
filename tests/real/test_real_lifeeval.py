"""The answers of eleven models to LifeEval, as released, through the real importer: what the paper reports."""

import json

import pytest
from scipy.stats import linregress

from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions
from queries.leaderboard import leaderboard
from queries.metrics import METRICS
from queries.selection import facets, read_selection

pytestmark = pytest.mark.real

MODELS = {
    "Meta-Llama-3.1-70B-Instruct", "Meta-Llama-3.1-8B-Instruct", "claude-3-7-sonnet-20250219", "claude-3-haiku-20240307",
    "claude-sonnet-4-20250514", "deepseek-r1", "deepseek-v3", "gemini-2.5-flash", "gemini-2.5-pro", "gpt-4o", "o3-2025-04-16",
}  # fmt: skip
# items, score, ECE, mean confidence, share rounded, slope of overconfidence on difficulty
PUBLISHED = {
    "claude-3-7-sonnet-20250219": (808, 0.546, 0.040, 0.529, 0.923, 0.185),
    "claude-3-haiku-20240307": (808, 0.531, 0.267, 0.798, 1.000, 0.996),
    "deepseek-r1": (808, 0.546, 0.033, 0.574, 0.295, 0.057),
    "gemini-2.5-pro": (807, 0.540, 0.025, 0.535, 0.206, 0.092),
    "gpt-4o": (808, 0.547, 0.084, 0.595, 1.000, 0.604),
    "o3-2025-04-16": (761, 0.542, 0.030, 0.541, 0.719, 0.188),
    "Meta-Llama-3.1-8B-Instruct": (800, 0.486, 0.136, 0.599, 1.000, 0.938),
}
KEYS = ("accuracy", "ece", "mean_confidence", "pct_rounded", "hard_easy_slope")


@pytest.fixture(scope="module")
def imported(store, shared):
    """Reports by model, after the questions and all answer files were imported."""
    folder = shared("lifeeval")
    import_paths(store, [folder / "life_eval_formatted.csv"], ImportOptions())
    reports = {}
    for path in sorted((folder / "answers").glob("*.csv")):
        model = path.stem.removeprefix("life_eval_")
        reports[model] = import_paths(store, [path], ImportOptions(model=model))
    return reports


@pytest.fixture(scope="module")
def board(store, imported):
    snapshot = store.snapshot()
    selection = read_selection([("binning", "width10+1")], lambda dataset: facets(snapshot, dataset))
    return {row.model: row for row in leaderboard(snapshot, selection, METRICS).rows}


def test_every_model_is_a_run(store, imported, board):
    assert set(imported) == set(board) == MODELS
    snapshot = store.snapshot()
    assert snapshot.rows(
        "select count(*), count(distinct sex), count(distinct minimum_age), count(distinct radius) from questions"
    ) == [(808, 2, 101, 4)]
    assert snapshot.rows("select distinct graded from responses") == [("table",)]
    assert snapshot.rows("select distinct elicitation from runs") == [("verbalized",)]


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_figures(board, model):
    items, *values = PUBLISHED[model]
    row = board[model]
    assert (row.items, row.questions) == (items, items)
    assert [row.metrics[key].value for key in KEYS] == pytest.approx(values, abs=1e-3)


def test_the_error_of_the_slope_is_that_of_scipy(store, board):
    for row in board.values():
        points = store.snapshot().rows(
            """select q.difficulty, s.confidence - s.correct from statistics s join questions q using (dataset, question_id)
            where s.run = $run""",
            {"run": row.run},
        )
        fit = linregress(*zip(*points, strict=True))
        found = [row.metrics[key].value for key in ("hard_easy_slope", "hard_easy_slope_se")]
        assert found == pytest.approx([fit.slope, fit.stderr], abs=1e-10)


def test_what_was_skipped_is_told(store, imported):
    for model, skipped, items, missing in store.snapshot().rows("select model, skipped, items, missing_questions from runs"):
        counts = json.loads(skipped) if skipped else {}
        assert items + missing == 808
        assert sum(counts.values()) == missing or model.startswith("o3"), model  # o3's file lacks rows besides
        line = imported[model].lines[-1]
        assert all(f"{count:,} rows skipped: {reason}" in line for reason, count in counts.items())


def test_the_same_files_again_change_nothing(store, imported, shared):
    version = store.version()
    path = shared("lifeeval") / "answers" / "life_eval_gpt-4o.csv"
    report = import_paths(store, [shared("lifeeval") / "life_eval_formatted.csv", path], ImportOptions(model="gpt-4o"))
    assert report.runs == imported["gpt-4o"].runs
    assert store.version() == version


def test_mean_difficulty(store, imported):
    rows = store.snapshot().rows(
        "select radius, avg(1 - difficulty) from questions group by rollup (radius) order by radius nulls first"
    )
    assert rows == [
        (r, pytest.approx(mas, abs=5e-5)) for r, mas in [(None, 0.5699), (1, 0.1311), (5, 0.4832), (10, 0.7310), (20, 0.9343)]
    ]
