"""The figures and tables of LifeEval's paper, from the bundled answers, which ``tests/real`` compares with the release."""

from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from scipy.stats import linregress

from clueline.data.life_table import best_guess
from clueline.data.sample import make_lifeeval
from clueline.data.store import open_store
from clueline.data.sufficient_statistics import ITEM_SUMS, Items, pooled, sums
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.reliability import reliability
from clueline.queries.selection import Selection, read_facets, read_selection
from tests.helpers.run_tables import with_runs

# Names of the eleven models in the paper, and in the release.
NAMES = {
    "Claude-Sonnet-3.7": "claude-3-7-sonnet-20250219", "Claude-Sonnet-4": "claude-sonnet-4-20250514",
    "DeepSeek-R1": "deepseek-r1", "Gemini-2.5-Pro": "gemini-2.5-pro", "GPT-o3": "o3-2025-04-16",
    "Claude-Haiku-3": "claude-3-haiku-20240307", "DeepSeek-V3": "deepseek-v3", "Gemini-2.5-Flash": "gemini-2.5-flash",
    "GPT-4o": "gpt-4o", "Llama-3.1-70B": "Meta-Llama-3.1-70B-Instruct", "Llama-3.1-8B": "Meta-Llama-3.1-8B-Instruct",
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
BUNDLED = make_lifeeval.FOLDER.parent
MODELS = "dataset = 'lifeeval' and elicitation = 'verbalized' and model <> 'People'"  # not the reference forecasters
KEYS = ("accuracy", "ece", "mean_confidence", "pct_rounded", "hard_easy_slope")


@pytest.fixture(scope="module")
def store(first_start):
    """A store with the bundled datasets."""
    return open_store(first_start, threads=1)


def selected(snapshot, dataset, *pairs):
    return read_selection([("dataset", dataset), *pairs], lambda dataset: read_facets(snapshot, dataset))


def of_models(snapshot, *pairs):
    """Return a leaderboard of the eleven models."""
    models = (("model", model) for model in NAMES.values())
    return leaderboard(snapshot, selected(snapshot, "lifeeval", *pairs, *models), METRICS)


@pytest.fixture(scope="module")
def board(store):
    return {row.model: row for row in of_models(store.snapshot(), ("binning", "width10+1"), ("common", "0")).rows}


def test_every_model_is_a_run(store, board):
    assert set(board) == {*NAMES.values()}
    snapshot = store.snapshot()
    assert snapshot.rows(
        """select count(*), count(distinct sex), count(distinct minimum_age), count(distinct radius) from questions
        where dataset = 'lifeeval'"""
    ) == [(808, 2, 101, 4)]
    assert with_runs(snapshot).rows(
        f"""select distinct graded, elicitation from responses r join runs using (dataset, run)
        where {MODELS} and not r.failed and state is null"""
    ) == [("table", "verbalized")]
    assert snapshot.rows(f"select count(*) from runs where {MODELS}") == [(11,)]


@pytest.mark.parametrize("model", PUBLISHED)
def test_published_figures(board, model):
    items, score, *values = PUBLISHED[model]
    row = board[model]
    assert (row.items, row.questions) == (items, items)
    assert [row.metrics[key].value for key in KEYS[1:]] == pytest.approx(values, abs=1e-3)
    assert of_answered(row) == pytest.approx(score, abs=1e-3)
    responses = items + row.no_confidence + row.unparsed
    assert row.metrics["accuracy"].value == pytest.approx(score * items / responses, abs=2e-3), "unparsed answers are not right"


def of_answered(row):
    """Return the accuracy of the answers with a confidence, which is the score of the paper."""
    return row.metrics["mean_confidence"].value - row.metrics["overconfidence"].value


def test_the_error_of_the_slope_is_that_of_scipy(store, board):
    for row in board.values():
        points = with_runs(store.snapshot()).rows(
            """select q.difficulty, s.confidence - s.correct from statistics s join questions q using (dataset, question_id)
            where s.run = $run""",
            {"run": row.run},
        )
        fit = linregress(*zip(*points, strict=True))
        slope = [row.metrics[key].value for key in ("hard_easy_slope", "hard_easy_slope_se")]
        assert slope == pytest.approx([fit.slope, fit.stderr], abs=1e-10)


def test_mean_difficulty(store):
    rows = store.snapshot().rows(
        """select radius, avg(1 - difficulty) from questions where dataset = 'lifeeval'
        group by rollup (radius) order by radius nulls first"""
    )
    assert rows == [
        (r, pytest.approx(mas, abs=5e-5)) for r, mas in [(None, 0.5699), (1, 0.1311), (5, 0.4832), (10, 0.7310), (20, 0.9343)]
    ]


# -- table 2 and the text: over the 751 questions that all eleven models answered --------------------------------------

COMMON = 751
UNCLEAR = "the paper does not say over which questions, and with which weights, the sets are averaged"
# Rows of the text that do not follow from the release, and why.
NOT_RECOMPUTED = {
    "mean stated confidence, all sets": UNCLEAR,
    "mean accuracy, all sets": UNCLEAR,
    "LSAT-AR mean accuracy": "the released answers give 54.4 % over all of them and 58.4 % over the 87 common questions",
    "flagged by keywords": "the keywords are not in the release",
}


class CommonAnswers:
    """Answers of one model to the common questions, in the order of the questions."""

    def __init__(self, rows):
        self.confidence, self.correct, self.difficulty, self.radius = np.array(rows).T

    def metric(self, key):
        """Return a metric of the catalogue, with the default conventions."""
        items = Items(self.confidence, self.correct, np.arange(len(self.correct) + 1))
        totals = sums(items, ITEM_SUMS) | {"difficulty": self.difficulty}
        metric = CATALOGUE[key]
        if metric.pairs is not None:
            return metric.of_pairs(self.confidence, self.correct)
        columns = metric.contributions({name: totals[name] for name in metric.reads(Conventions())}, Conventions())
        return float(metric.value({name: part.sum(axis=0) for name, part in columns.items()}, Conventions()))

    def ece(self, binning="width10r"):
        conventions = Conventions(binning)
        return float(CATALOGUE["ece"].value(pooled(self.confidence, self.correct, conventions.closed), conventions))

    def rounded(self):
        """Return the share of multiples of 5 %, by the release's own test in floating point."""
        return float(((100 * self.confidence) % 5 == 0).mean())


@pytest.fixture(scope="module")
def common(store):
    rows = with_runs(store.snapshot()).rows(
        f"""with answers as (
            select model, question_id, r.confidence, r.correct from responses r join runs using (dataset, run)
            where {MODELS} and not r.failed
        )
        select model, r.confidence, r.correct, q.difficulty, q.radius from answers r join questions q using (question_id)
        where q.dataset = 'lifeeval' and (select count(confidence) from answers where question_id = r.question_id) = 11
        order by model, q.position"""
    )
    by_model = defaultdict(list)
    for model, *values in rows:
        by_model[model].append(values)
    return {name: CommonAnswers(by_model[model]) for name, model in NAMES.items()}


@pytest.fixture(scope="module")
def table_2(published):
    return [row for row in published("published_metrics") if row["paper"].startswith("LifeEval") and row["table"] == "Table 2"]


def test_table_2_to_the_last_digit(store, common, table_2):
    """The questions that all runs answered are those of the paper. Only the test of rounding differs."""
    board = of_models(store.snapshot(), ("binning", "width10r"), ("common", "1"))
    assert (board.questions, board.common) == (808, COMMON)
    rows = {row.model: row for row in board.rows}
    assert all(row.ranked and row.questions == COMMON for row in rows.values())
    assert {len(answers.correct) for answers in common.values()} == {COMMON}
    figures = [row for row in table_2 if row["metric"] != "n"]
    assert len(figures) == 55
    for row in figures:
        of_model = rows[NAMES[row["model"]]]
        computed = {key: cell.value for key, cell in of_model.metrics.items()}
        computed |= {"accuracy": of_answered(of_model), "pct_rounded": common[row["model"]].rounded()}
        # The file has four decimals, the paper three.
        assert computed[row["metric"]] == pytest.approx(float(row["value"]), abs=5e-4 + 1e-9), row


def test_table_2_counts_are_not_of_its_questions(board, table_2):
    counts = {row["model"]: int(row["value"]) for row in table_2 if row["metric"] == "n"}
    own = {name: board[model].items for name, model in NAMES.items()}
    assert {name for name in own if own[name] != counts[name]} == {"Gemini-2.5-Pro"}  # 807 in the release
    assert min(counts.values()) > COMMON


def test_table_2_needs_bins_closed_on_the_right(common, table_2):
    """With half-open bins, as in the paper's text, some of its ECEs cannot be reached."""
    printed = {row["model"]: float(row["value"]) for row in table_2 if row["metric"] == "ece"}
    for binning in ("width10", "width10+1"):
        assert any(abs(answers.ece(binning) - printed[name]) > 5e-4 for name, answers in common.items())


def test_rounding_in_floats_misses_multiples(common):
    for answers in common.values():
        assert answers.metric("pct_rounded") >= answers.rounded()
    assert 100 * 0.55 % 5 != 0 and any(answers.metric("pct_rounded") > answers.rounded() for answers in common.values())


def test_figures_of_the_text(store, common, table_2, published):
    printed = {row["quantity"]: row["printed"] for row in published("lifeeval_text_numbers")}
    kinds = {row["model"]: row["slice"] for row in table_2}
    by_kind = {kind: [common[name] for name in common if kinds[name] == kind] for kind in ("chat", "reasoning")}
    everyone = list(common.values())

    def at(radius, column):
        return 100 * np.mean([getattr(answers, column)[answers.radius == radius].mean() for answers in everyone])

    computed = {
        "LifeEval upper bound (MAS)": 100 * (1 - everyone[0].difficulty.mean()),
        "LifeEval radius 1: mean confidence": at(1, "confidence"),
        "LifeEval radius 1: actual probability": at(1, "correct"),
        "LifeEval radius 20: mean confidence": at(20, "confidence"),
        "LifeEval radius 20: actual probability": at(20, "correct"),
        "% rounded, chat": 100 * np.mean([answers.rounded() for answers in by_kind["chat"]]),
        "% rounded, reasoning": 100 * np.mean([answers.rounded() for answers in by_kind["reasoning"]]),
        "mean correlation, reasoning": np.mean([answers.metric("correlation") for answers in by_kind["reasoning"]]),
        "mean correlation, others": np.mean([answers.metric("correlation") for answers in by_kind["chat"]]),
        "HaluEval accuracy": 100 * accuracy_of_common_questions(store, "lifeeval-halu-eval-qa"),
    }
    counts = {"responses judged", "no evidence"}  # tested below
    assert printed.keys() == computed.keys() | counts | NOT_RECOMPUTED.keys()
    for quantity, value in computed.items():
        text = printed[quantity].rstrip("%")
        assert abs(value - float(text)) <= 0.5 * 10.0 ** -len(text.partition(".")[2]), quantity


def accuracy_of_common_questions(store, dataset):
    """Return the accuracy on the questions of another set that all eleven models answered."""
    ((accuracy,),) = with_runs(store.snapshot()).rows(
        """with questions as (
            select avg(r.correct) as correct from responses r join runs using (dataset, run)
            where dataset = $dataset and elicitation = 'verbalized' and not r.failed group by question_id having count(*) = 11
        )
        select avg(correct) from questions""",
        {"dataset": dataset},
    )
    return accuracy


def test_lsat_accuracy_is_near_but_not_the_printed_one(store):
    accuracy = accuracy_of_common_questions(store, "lifeeval-lsat-ar-test")
    assert accuracy == pytest.approx(0.584, abs=5e-4)  # printed: 58.6 %


def test_counts_of_the_appendix(common, published):
    printed = {row["quantity"]: row["printed"] for row in published("lifeeval_text_numbers") if row["place"] == "app. G"}
    rows = [row for row in published("published_metrics") if row["paper"].startswith("LifeEval") and row["metric"] == "n"]
    judged = sum(len(answers.correct) for answers in common.values())
    without_evidence = sum(int(row["value"]) for row in rows if row["table"].startswith("Table 5"))
    assert printed["responses judged"] == f"{judged:,} = {COMMON} x {len(common)}"
    assert printed["no evidence"] == f"{without_evidence:,}"
    assert f"({6244 / judged:.1%})" in printed["flagged by keywords"]


def test_published_best_ages(published):
    rows = published("lifeeval_best_ages")
    assert len(rows) == 88
    for row in rows:
        best, probability = best_guess(int(row["radius"]), int(row["minimum_age"]), row["sex"])
        assert probability == pytest.approx(float(row["probability"]), abs=1e-6), row
        # Several ages are equally good if everybody is within the radius.
        assert best == int(row["best_age"]) or probability > 1 - 1e-6, row


def test_the_answers_of_people(store):
    snapshot = with_runs(store)
    ((run, *facts),) = snapshot.rows("select run, items, questions, samples, failed from runs where model = 'People'")
    assert facts == [980, 88, 19, 0]
    # No guess is more probable by the life table than the best guess, which the file states correctly.
    best = snapshot.rows(
        """select max(correct - (1 - difficulty)) from responses join questions using (dataset, question_id) where run = $run""",
        {"run": run},
    )
    assert best[0][0] < 1e-6


# -- by model and set: accuracy (11), ECE (12) and reliability (9) ------------------------------------------------------

# These figures print no numbers. The numbers below come from the appendix's two tables of models by question set, in the authors'
# repository (NoamMichael/Comparing-Confidence-in-LLMs, paper/final/final.tex).
OF_TABLES = (
    "claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "deepseek-r1", "o3-2025-04-16", "gemini-2.5-pro",
    "claude-3-haiku-20240307", "deepseek-v3", "gpt-4o", "gemini-2.5-flash", "Meta-Llama-3.1-70B-Instruct",
    "Meta-Llama-3.1-8B-Instruct",
)  # fmt: skip
ACCURACY = {
    "boolq-valid": (83.14, 84.30, 84.50, 86.06, 84.90, 78.15, 82.90, 85.30, 84.54, 78.59, 69.32),
    "halu-eval-qa": (52.12,) * 11,
    "lsat-ar-test": (41.86, 45.35, 95.35, 96.51, 96.51, 29.07, 34.88, 36.05, 96.51, 38.37, 33.72),
    "sat-en": (97.69, 98.84, 94.22, 97.69, 98.84, 88.44, 94.80, 93.06, 98.84, 91.91, 83.82),
    "sciq-test": (97.29, 96.88, 97.59, 98.09, 97.59, 94.07, 97.09, 96.88, 96.68, 95.38, 91.06),
}  # percent
ECE = {
    "boolq-valid": (0.12, 0.08, 0.11, 0.04, 0.15, 0.12, 0.10, 0.08, 0.15, 0.12, 0.17),
    "halu-eval-qa": (0.08, 0.45, 0.11, 0.02, 0.11, 0.37, 0.15, 0.24, 0.11, 0.14, 0.20),
    "lsat-ar-test": (0.39, 0.33, 0.05, 0.15, 0.01, 0.42, 0.32, 0.50, 0.04, 0.52, 0.57),
    "sat-en": (0.14, 0.17, 0.10, 0.22, 0.07, 0.22, 0.24, 0.15, 0.10, 0.10, 0.12),
    "sciq-test": (0.05, 0.05, 0.04, 0.15, 0.03, 0.11, 0.11, 0.05, 0.04, 0.04, 0.05),
}


@pytest.fixture(scope="module")
def snapshot(store):
    return store.snapshot()


def gaps(snapshot, metric, printed, scale=1.0):
    """Return by set how far each value on the common questions, times the scale, is from the printed one."""
    result = {}
    for name, values in printed.items():
        selection = Selection(
            f"lifeeval-{name}", elicitation=("verbalized",), common="all", conventions=Conventions(binning="width10r")
        )
        rows = {row.model: row.metrics[metric].value for row in leaderboard(snapshot, selection, [CATALOGUE[metric]]).rows}
        assert rows.keys() == {*OF_TABLES}
        result[name] = [abs(scale * rows[model] - value) for model, value in zip(OF_TABLES, values, strict=True)]
    return result


def agreeing(values, step):
    """Return how many values agree to the last printed digit."""
    return sum(value <= step / 2 + 1e-9 for value in values)


def test_accuracy_by_set_is_figure_11(snapshot):
    apart = gaps(snapshot, "accuracy", ACCURACY, scale=100)
    for name in ("boolq-valid", "halu-eval-qa", "sat-en"):
        assert agreeing(apart[name], 0.01) == 11, name
    # The common questions differ: 87 of LSAT-AR and 996 of SciQ in the release, multiples of 1/86 and 1/995 in print.
    assert max(apart["sciq-test"]) < 0.11 and max(apart["lsat-ar-test"]) < 1.21
    for name, questions in (("lsat-ar-test", 86), ("sciq-test", 995)):
        for value in ACCURACY[name]:
            assert abs(value * questions / 100 - round(value * questions / 100)) <= questions * 0.005 / 100 + 1e-9


def test_ece_by_set_is_figure_12(snapshot):
    apart = gaps(snapshot, "ece", ECE)
    assert agreeing(apart["boolq-valid"], 0.01) == agreeing(apart["sciq-test"], 0.01) == 11
    assert agreeing(apart["sat-en"], 0.01) == 10 and max(apart["sat-en"]) < 0.029
    assert max(apart["halu-eval-qa"]) < 0.031 and max(apart["lsat-ar-test"]) < 0.031


def test_reliability_by_set_is_figure_9(snapshot):
    """The bins of every model on every set are compared with bins counted from the file."""
    compared = 0
    for dataset in (f"lifeeval-{name}" for name in ECE):
        of_models = defaultdict(dict)
        answers = pl.read_parquet(BUNDLED / dataset / "responses" / "models.parquet").filter(elicitation="verbalized")
        for row in answers.iter_rows(named=True):
            of_models[row["model"]][row["question_id"]] = (row["confidence"], bool(row["correct"]))
        selection = Selection(
            dataset,
            elicitation=("verbalized",),
            common="all",
            conventions=Conventions(binning="width10+1"),
        )
        common = set.intersection(*(set(asked) for asked in of_models.values()))
        for run in reliability(snapshot, selection).runs:
            counted = defaultdict(list)
            for question in common:
                confidence, right = of_models[run.model][question]
                counted[sum(confidence >= edge / 10 for edge in range(1, 11))].append((confidence, right))
            filled = [bin_ for bin_ in run.bins if bin_.items]
            assert [bin_.items for bin_ in filled] == [len(counted[place]) for place in sorted(counted)]
            for bin_, place in zip(filled, sorted(counted), strict=True):
                confidences, rights = zip(*counted[place], strict=True)
                assert bin_.mean_confidence == pytest.approx(sum(confidences) / len(confidences), abs=1e-9)
                assert bin_.accuracy == pytest.approx(sum(rights) / len(rights), abs=1e-9)
            compared += 1
    assert compared == 55
