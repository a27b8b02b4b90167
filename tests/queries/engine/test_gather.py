"""Totals by cluster of questions against the rows they come from."""

import shutil
from dataclasses import replace

import msgspec
import numpy as np
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.compare import compare
from clueline.queries.engine.evidence import OUTLINE, counts_of, outcomes_of, sums_of
from clueline.queries.engine.gather import gather
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, metric_intervals
from clueline.queries.engine.ranked_metric_rows import NOT_SAME
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.selection import Selection

QUESTIONS, RUNS, CLUES = 1_200, 4, 2
OF_SUMS = [metric for metric in METRICS if metric.pairs is None and "whole distribution" not in metric.needs]
# Of sums, of bins, by fold, of questions, of people, of questions against their difficulty, and of the accuracy alone.
OF_EACH_KIND = ("brier", "ece", "ece_debiased", "grace_mce", "calscore", "hard_easy_slope_se", "uncertainty")
OTHER_BINS = Conventions("width10+1", beta=2.0)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A store with a dataset of 1,200 questions. Of its six runs, one answered half of them and one answered 30."""
    folder = tmp_path_factory.mktemp("many")
    bundle = folder / "many"
    (bundle / "responses").mkdir(parents=True)
    chance = np.random.default_rng(5)
    ids = [f"q{number:04}" for number in range(QUESTIONS)]
    (bundle / "dataset.json").write_text('{"dataset": "many", "title": "Many", "kind": "incremental"}')
    lines = [f"{name},{name},{chance.random():.3f},{place // 30},{place // 1.1:.0f}" for place, name in enumerate(ids)]
    (bundle / "questions.csv").write_text("\n".join(["question_id,answer,difficulty,packet,pair", *lines]))
    lines = [f"{name},{clue},one two three" for name in ids for clue in range(CLUES)]
    (bundle / "clues.csv").write_text("\n".join(["question_id,clue,text", *lines]))
    for run in range(RUNS + 2):
        answered = {RUNS: ids[::2], RUNS + 1: ids[:30]}.get(run, ids)
        lines = [
            f"model {run},{name},{clue},guess,{(confidence := round(chance.random(), 2))},{int(chance.random() < confidence)}"
            for name in answered
            for clue in range(CLUES)
        ]
        text = "\n".join(["model,question_id,clue,guess,confidence,correct", *lines])
        (bundle / "responses" / f"{run}.csv").write_text(text)
    store = open_store(folder / "store")
    import_paths(store, [bundle], ImportOptions())
    return store


ALL = Selection("many", common=False)


@pytest.mark.parametrize(
    ("cluster", "conventions", "metrics"),  # of 1,200, 40 and 1,091 units
    [
        ("question", Conventions(), [CATALOGUE[key] for key in OF_EACH_KIND]),
        ("packet", OTHER_BINS, [CATALOGUE["ece"], CATALOGUE["hmr"]]),
        ("pair", OTHER_BINS, [CATALOGUE["max_ce"]]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_totals_give_what_rows_give(many, cluster, conventions, metrics):
    snapshot, selection = many.snapshot(), ALL.replace(conventions=conventions, cluster=cluster)
    summed, rows = (gather(snapshot, selection, metrics) for _ in range(2))
    rows = rows.select_rows(np.ones(len(rows.places), dtype=bool))
    assert summed.stored and not rows.stored
    assert summed.runs == rows.runs and len(rows.runs) == RUNS + 2
    assert [summed.run_facts(run) for run in range(RUNS + 2)] == [rows.run_facts(run) for run in range(RUNS + 2)]
    for metric in metrics:
        close = {"rel": 1e-12, "abs": 1e-12, "nan_ok": True}
        assert summed.values(metric) == pytest.approx(rows.values(metric), **close), metric.key
        assert summed.questions_with(metric).tolist() == rows.questions_with(metric).tolist()
        assert summed.units_with(metric).tolist() == rows.units_with(metric).tolist()
        assert summed.replicates(metric) == pytest.approx(rows.replicates(metric), **close), metric.key
        of_totals, of_rows = metric_intervals(summed, metric), metric_intervals(rows, metric)
        for ends, expected in zip(of_totals[:3], of_rows[:3], strict=True):
            assert ends == pytest.approx(expected, **close), metric.key
        assert of_totals.methods == of_rows.methods
        assert difference_tests(summed, metric) == pytest.approx(difference_tests(rows, metric), **close), metric.key


@pytest.mark.parametrize("conventions", [Conventions(), OTHER_BINS])
def test_any_totals_can_be_computed_alone(many, conventions):
    """Where the others are still in memory, nothing is read but the statistics that these totals name."""
    summed = gather(many.snapshot(), ALL.replace(conventions=conventions), OF_SUMS)
    runs, needed = [run.run for run in summed.runs], {OUTLINE}
    for metric in OF_SUMS:
        needed.update([counts_of(metric, conventions), outcomes_of(metric, conventions), *sums_of(metric, conventions)])
    for sums in needed:
        alone = replace(summed, source=summed.source(runs, {"items", *sums.reads}), stored=None).by_cluster(sums)
        for name, column in summed.by_cluster(sums).items():
            np.testing.assert_allclose(alone[name], column, rtol=1e-12, atol=1e-12, err_msg=f"{sums.key}: {name}")


def test_totals_are_sums_over_rows(many):
    """Digits do not depend on which other runs are requested: a run alone has the same sums as together with others."""
    snapshot, brier = many.snapshot(), CATALOGUE["brier"]
    together = gather(snapshot, ALL, [brier])
    run = together.runs[1].run
    assert gather(snapshot, ALL.on_runs([run]), [brier]).values(brier)[0] == together.values(brier)[1]
    rows = gather(snapshot, ALL.on_runs([run]), [brier])
    assert rows.sums["confidence_sq"].sum() == pytest.approx(together.totals(brier)["confidence_sq"][1], rel=1e-12)


def test_letters_need_the_same_questions(many):
    snapshot, brier = many.snapshot(), CATALOGUE["brier"]
    summed = gather(snapshot, ALL, [brier])
    assert not summed.same_questions
    assert gather(snapshot, ALL.on_runs([run.run for run in summed.runs[:RUNS]]), [brier]).same_questions


@pytest.mark.parametrize("key", ["brier", "ece"])
def test_equality_within_a_margin_from_totals(many, key):
    """The board tests totals, a comparison tests rows; unequal samples are left to the comparison."""
    snapshot, metrics = many.snapshot(), [CATALOGUE[key]]
    runs = [run.run for run in gather(snapshot, ALL, metrics).runs[:RUNS]]
    board = leaderboard(snapshot, ALL.on_runs(runs), metrics, margin=0.02)
    cells = {row.run: row.metrics[key].margin for row in board.rows if row.metrics[key].margin}
    assert len(cells) == RUNS - 1
    for run, cell in cells.items():
        alone = compare(snapshot, ALL, run, cell.against, metrics, 0.02).metrics[key].margin
        assert cell.verdict and (cell.difference, cell.low, cell.high) == pytest.approx((alone.difference, alone.low, alone.high))
    unequal = leaderboard(snapshot, ALL, metrics, margin=0.02)
    assert {row.metrics[key].margin.undefined for row in unequal.rows if row.metrics[key].margin} == {NOT_SAME}


def test_no_file_is_read_for_totals_in_memory(many, tmp_path):
    shutil.copytree(many.url, tmp_path / "store")
    snapshot = open_store(tmp_path / "store").snapshot()
    metrics = [CATALOGUE["brier"], CATALOGUE["ece"]]
    expected = gather(snapshot, ALL, metrics)
    shutil.rmtree(tmp_path / "store" / "objects")
    again = gather(snapshot, ALL, metrics)
    assert again.values(CATALOGUE["ece"]).tolist() == expected.values(CATALOGUE["ece"]).tolist()


def test_what_needs_items_or_few_questions_is_gathered(many):
    snapshot, brier = many.snapshot(), [CATALOGUE["brier"]]
    for selection, metrics in (
        (ALL, [CATALOGUE["auroc"]]),
        (ALL.replace(conventions=Conventions("mass15")), [CATALOGUE["ece"]]),
        (ALL.replace(revealed=(0.0, 0.6)), brier),
        (ALL.replace(difficulty=(0.0, 0.3)), brier),
    ):
        assert not gather(snapshot, selection, metrics).stored


def test_rows_that_do_not_fit_memory_are_released(many):
    """With little memory only the totals remain, and the leaderboard is the same, digit by digit."""
    metrics = [CATALOGUE[key] for key in ("brier", "ece", "ece_debiased", "hmr")]
    small = open_store(many.url, capacity=1_000_000).snapshot()
    expected = leaderboard(many.snapshot(), ALL, metrics, True)
    assert msgspec.json.encode(leaderboard(small, ALL, metrics, True)) == msgspec.json.encode(expected)
