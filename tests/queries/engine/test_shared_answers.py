"""Runs that answered different questions: adjusted means, and differences on what two runs both answered."""

import numpy as np
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.compare import compare
from clueline.queries.engine.counted import count_answers
from clueline.queries.engine.gather import gather
from clueline.queries.engine.shared_answers import adjusted_means, pair_differences
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import FACTS, table, write

QUESTIONS, RUNS = 50, 5
MEANS = ("accuracy", "brier", "net_score", "log_score")
OTHERS = ("ece", "hmr", "auroc")


def imported(folder, name, clues, misses):
    """Import a dataset whose runs lack answers by chance: ``misses`` is the share of clues that each run lacks."""
    random = np.random.default_rng(11)
    names = [f"q{index}" for index in range(QUESTIONS)]
    easy = random.random(QUESTIONS)
    rows = []
    for run, miss in enumerate(misses):
        for index, question in enumerate(names):
            for clue in range(clues):
                right = random.random() < easy[index] ** (1 + run / 3)
                row = {
                    "question_id": question,
                    "clue": clue,
                    "guess": "yes" if right else "no",
                    "confidence": round(random.random(), 2),
                    "model": f"m{run}",
                }
                if random.random() > miss:
                    rows.append(row)
    store = open_store(folder / "store")
    tables = {
        "questions": table([{"question_id": question, "answer": "yes"} for question in names]),
        "clues": table(
            [
                {"question_id": question, "clue": clue, "text": f"{question} {clue}", "word_end": 3 * clue + 3}
                for question in names
                for clue in range(clues)
            ]
        ),
        "responses": table(rows),
    }
    import_paths(store, [write(folder / name, FACTS | {"dataset": name}, **tables)], ImportOptions(elicitation="logit"))
    return store.snapshot()


@pytest.fixture(scope="module", params=[1, 4], ids=["one clue", "four clues"])
def holes(request, tmp_path_factory):
    misses = [0, 0.04, 0.05, 0.03, 0.6]
    return imported(tmp_path_factory.mktemp("holes"), "holes", request.param, misses)


@pytest.fixture(scope="module")
def complete(tmp_path_factory):
    return imported(tmp_path_factory.mktemp("complete"), "complete", 2, [0] * RUNS)


def cells(snapshot, dataset):
    """Return run, question, clue, confidence and correctness of every answer, straight from the store."""
    responses = snapshot.responses([run for (run,) in snapshot.rows("select run from runs")])
    return snapshot.rows(f"select r.model, question_id, clue, confidence, correct from {responses} p join runs r using (run)")


SCORES = {
    "accuracy": lambda c, y: y,
    "brier": lambda c, y: (c - y) ** 2,
    "net_score": lambda c, y: np.where(c > 0.5, 2 * y - 1, 0.0),
    "log_score": lambda c, y: -(y * np.log(np.clip(c, 1e-6, 1 - 1e-6)) + (1 - y) * np.log(1 - np.clip(c, 1e-6, 1 - 1e-6))),
}


def least_squares(rows, key, part):
    """Fit run and clue effects by an ordinary solver; return each run's effect plus the mean effect of the expected clues.

    The run that answered few clues has no say in what is expected.
    """
    rows = [row for row in rows if row[0] in part]
    runs, clues = sorted({row[0] for row in rows}), sorted({row[1:3] for row in rows})
    design = np.zeros((len(rows), len(runs) + len(clues)))
    for index, row in enumerate(rows):
        design[index, runs.index(row[0])] = design[index, len(runs) + clues.index(row[1:3])] = 1
    confidence, correct = (np.array([row[place] for row in rows], float) for place in (3, 4))
    fitted = np.linalg.lstsq(design, SCORES[key](confidence, correct), rcond=None)[0]
    expected = [sum(row[1:3] == clue for row in rows) >= len(part) / 2 for clue in clues]
    return dict(zip(runs, fitted[: len(runs)] + fitted[len(runs) :][expected].mean(), strict=True))


@pytest.mark.parametrize("key", MEANS)
def test_adjusted_means_are_least_squares(holes, key):
    metric = CATALOGUE[key]
    counted = count_answers(holes, Selection("holes"), [metric])
    names = [run.model for run in counted.evidence.runs]
    assert names == ["m0", "m1", "m2", "m3"]
    expected = least_squares(cells(holes, "holes"), key, names)
    adjusted = adjusted_means(counted.evidence, metric)
    assert dict(zip(names, adjusted.values, strict=True)) == pytest.approx(expected, abs=1e-9)
    assert np.abs(adjusted.values - counted.evidence.values(metric)).max() > 1e-4
    assert np.abs(adjusted.replicates.mean(axis=0) - adjusted.values).max() < 0.02
    # Most of the answers are there, so most of what a draw changes is what it changes in the plain means.
    plain = counted.evidence.replicates(metric)
    alike = [np.corrcoef(adjusted.replicates[:, run], plain[:, run])[0, 1] for run in range(len(names))]
    assert min(alike) > 0.93


@pytest.mark.parametrize("key", (*MEANS, *OTHERS))
def test_differences_are_those_of_two_runs(holes, key):
    """The board's differences are those of /compare, where two runs are measured on what both answered."""
    metric = CATALOGUE[key]
    evidence = count_answers(holes, Selection("holes"), [metric]).evidence
    differences = pair_differences(evidence, metric)
    for a, b in ((0, 1), (2, 1), (3, 2)):
        pair = compare(holes, Selection("holes"), evidence.runs[a].run, evidence.runs[b].run, [metric])
        assert differences[a, b] == pytest.approx(pair.metrics[key].difference, abs=1e-9)


def test_nothing_is_adjusted_where_nothing_is_missing(complete):
    for metric in (CATALOGUE[key] for key in MEANS):
        evidence = count_answers(complete, Selection("complete"), [metric]).evidence
        assert adjusted_means(evidence, metric) is None
        values = evidence.values(metric)
        assert pair_differences(evidence, metric) == pytest.approx(values[:, None] - values)


def test_a_means_replicates_are_plain_where_all_is_there(complete):
    """The fit and its influences of a complete table are those of plain means."""
    from dataclasses import replace

    metric = CATALOGUE["brier"]
    evidence = gather(complete, Selection("complete"), [metric])
    fitted = adjusted_means(replace(evidence, expected=np.ones(QUESTIONS, bool)), metric)
    assert fitted.values == pytest.approx(evidence.values(metric))
    assert fitted.replicates == pytest.approx(evidence.replicates(metric), abs=1e-9)
    assert fitted.widths == pytest.approx(1)


@pytest.mark.parametrize("metric", [metric for metric in METRICS if metric.mean], ids=lambda metric: metric.key)
def test_a_mean_is_that_of_its_questions(bundled, polled, metric):
    weighed = 0
    for snapshot, dataset in ((bundled, "pyramid"), (bundled, "lifeeval"), (polled, "polls")):
        evidence = gather(snapshot, Selection(dataset).for_metrics([metric]), [metric])
        of_rows = evidence.per_question(metric)
        weights = evidence.sums[metric.counts] if metric.level == "item" else np.ones(len(of_rows))
        known = np.isfinite(of_rows)
        for run, value in enumerate(evidence.values(metric)):
            rows = known & (evidence.run_of_rows == run)
            if rows.any():
                weighed += 1
                assert value == pytest.approx(np.average(of_rows[rows], weights=weights[rows]))
    assert weighed


def test_runs_are_ranked_by_adjusted_means(holes):
    metrics = [CATALOGUE[key] for key in (*MEANS, *OTHERS)]
    board = leaderboard(holes, Selection("holes"), metrics, intervals=True)
    ranked = [row for row in board.rows if row.ranked]
    (apart,) = [row for row in board.rows if not row.ranked]
    assert apart.model == "m4" and apart.unranked.startswith("answered ")
    assert {cell.adjusted for cell in apart.metrics.values()} == {None}
    for key in MEANS:
        direction = 1 if CATALOGUE[key].direction == "lower" else -1
        in_order = sorted(ranked, key=lambda row: row.metrics[key].rank)
        adjusted = [direction * row.metrics[key].adjusted for row in in_order]
        assert adjusted == sorted(adjusted)
        for row in ranked:
            cell = row.metrics[key]
            assert cell.adjusted_low < cell.adjusted < cell.adjusted_high
            assert cell.letters and cell.rank_low <= cell.rank <= cell.rank_high
    for key in OTHERS:
        assert {row.metrics[key].adjusted for row in ranked} == {None} and all(row.metrics[key].letters for row in ranked)


def test_a_runs_own_value_depends_on_no_other(holes):
    metrics = [CATALOGUE[key] for key in (*MEANS, *OTHERS)]
    together = leaderboard(holes, Selection("holes"), metrics).rows
    for row in together:
        (alone,) = leaderboard(holes, Selection("holes", run=(row.run,)), metrics).rows
        for key, cell in row.metrics.items():
            assert (alone.metrics[key].value, alone.metrics[key].questions) == (cell.value, cell.questions)
