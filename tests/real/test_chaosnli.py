"""ChaosNLI-SNLI and the classifiers of Baan et al. 2022, imported and compared with the released figures and the paper's."""

import gzip
import json

import numpy as np
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import METRICS
from clueline.queries.metrics.kernels import bins, distributions
from clueline.queries.selection import Selection
from tests.helpers.run_tables import with_runs

pytestmark = pytest.mark.real

CHAOS = Selection("chaosnli-snli")
CLASSES = ("entailment", "contradiction", "neutral")  # in the order of the predictions
ITEMS = 1514
SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def items(shared):
    """Rows of the release."""
    with (shared("chaosnli") / "chaosNLI_snli.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def logits(shared, items, seed):
    """Return RoBERTa's logits in ChaosNLI's order of classes, shape (items, 3)."""
    by_item = {}
    for path in sorted((shared("chaosnli") / "predictions").glob(f"SNLI_*_roberta-base_{seed}.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            by_item |= {row["uid"]: row["logits"] for row in map(json.loads, lines)}
    order = [CLASSES.index(name) for name in ("entailment", "neutral", "contradiction")]
    return np.array([by_item[item["uid"]] for item in items])[:, order]


def softmax(scores, temperature):
    weights = np.exp((scores - scores.max(axis=1, keepdims=True)) / temperature)
    return weights / weights.sum(axis=1, keepdims=True)


def tempered(shared, items, seed):
    """Return RoBERTa's shares after one temperature on its logits, fitted to the majority labels of these items."""
    scores = logits(shared, items, seed)
    gold = np.array(["enc".index(item["majority_label"]) for item in items])
    temperature = min(np.linspace(1, 4, 301), key=lambda t: -np.log(softmax(scores, t)[np.arange(len(gold)), gold]).sum())
    return softmax(scores, temperature)


def write(folder, model, items, distributions):
    """Write a file of responses. The guess follows from the distribution; the oracle guesses what most people said."""
    path = folder / f"{model}.jsonl"
    with path.open("w", encoding="utf-8") as out:
        for item, shares in zip(items, distributions, strict=True):
            row = {"question_id": item["uid"], "options": list(shares), "model": model, "elicitation": "softmax"}
            if model == "Oracle":
                row["guess"] = {"e": "entailment", "n": "neutral", "c": "contradiction"}[item["majority_label"]]
            out.write(json.dumps(row) + "\n")
    return path


@pytest.fixture(scope="module")
def board(store, shared, items, tmp_path_factory):
    """Leaderboard rows by model: released runs, RoBERTa with a temperature, the oracle f = pi, and a second human reference."""
    folder = shared("chaosnli")
    import_paths(store, [folder / "chaosNLI_snli.jsonl"], ImportOptions(dataset="chaosnli-snli"))
    for model, name in [(f"RoBERTa-{seed}", f"roberta-base_{seed}") for seed in SEEDS] + [("BERT-0", "bert-base-uncased_0")]:
        paths = sorted((folder / "predictions").glob(f"SNLI_*_{name}.json.gz"))
        report = import_paths(store, paths, ImportOptions(dataset="chaosnli-snli", model=model, classes=CLASSES))
        assert report.warnings == []
        assert "1,514 items of 1,514 questions imported; 8,328 rows skipped: not a question of this dataset" in report.lines[-1]
    counts = np.array([item["label_count"] for item in items])
    chance = np.random.default_rng(22)
    human = np.array([chance.multivariate_hypergeometric(row, 20) for row in counts]) / 20
    made = tmp_path_factory.mktemp("made")
    tempered_ones = {f"RoBERTa-TS-{seed}": tempered(shared, items, seed) for seed in SEEDS}
    further = (tempered_ones | {"Oracle": counts / 100, "H2": human}).items()
    files = [write(made, model, items, shares.tolist()) for model, shares in further]
    import_paths(store, files, ImportOptions(dataset="chaosnli-snli"))
    return {row.model: row for row in leaderboard(store.snapshot(), CHAOS, METRICS).rows}


def test_items_and_votes(store, board):
    snapshot = store.snapshot()
    assert snapshot.rows("select kind, classes from datasets") == [("votes", ["entailment", "neutral", "contradiction"])]
    assert snapshot.rows("select count(*), count(distinct question_id), sum(votes) from votes") == [
        (3 * ITEMS, ITEMS, 100 * ITEMS)
    ]
    answers = snapshot.rows("select answer, count(*) from questions group by 1 order by 1")
    assert answers == [("contradiction", 280), ("entailment", 421), ("neutral", 813)]
    assert {row.items for row in board.values()} == {ITEMS}


def test_figures_that_came_with_the_data(board):
    values = {key: cell.value for key, cell in board["RoBERTa-0"].metrics.items()}
    keys = ("accuracy", "ece", "dist_ce", "ent_ce_abs", "rank_cs")
    assert [round(values[key], 3) for key in keys] == [0.739, 0.146, 0.259, 0.310, 0.625]
    assert round(board["Oracle"].metrics["ece"].value, 3) == 0.245


# Distance of a figure of the paper from ours, where it is more than rounding. The divergences of the paper are of seed 0 alone
# and depend on the draw of the reference: see ``test_table_2_is_of_seed_0_at_t_2``.
APART = {
    ("RoBERTa", "kl_ref"): 0.018, ("RoBERTa", "tvd_ref"): 0.013, ("RoBERTa-TS", "kl_ref"): 0.01, ("RoBERTa-TS", "tvd_ref"): 0.003,
    ("H2", "kl_ref"): 0.001, ("H2", "tvd_ref"): 0.012, ("RoBERTa-TS", "classwise_ece"): 0.032, ("Oracle", "classwise_ece"): 0.011,
}  # fmt: skip
KEYS = {"ent_ce_abs_mean": "ent_ce_abs", "dist_ce_mean": "dist_ce"}


def test_published_figures(board, published):
    rows = [
        row for row in published("published_metrics") if row["paper"] == "Baan et al. 2022" and row["slice"] == "ChaosNLI-SNLI"
    ]
    assert len(rows) == 24
    for row in rows:
        key, model = KEYS.get(row["metric"], row["metric"]), row["model"]
        seeds = SEEDS[:1] if key in ("kl_ref", "tvd_ref") else SEEDS
        names = [f"{model}-{seed}" for seed in seeds] if model.startswith("RoBERTa") else [model]
        mean = np.mean([board[name].metrics[key].value for name in names])
        rounding = 0.51 * 10.0 ** -len(row["value"].partition(".")[2])
        assert mean == pytest.approx(float(row["value"]), abs=APART.get((model, key), rounding)), (model, key)


def test_another_order_of_the_classes_would_rank_otherwise(store, board, items):
    """RankCS in the paper sorts in ascending order, in ChaosNLI's order of classes. Any other choice gives another figure."""
    stated = dict(
        with_runs(store.snapshot()).rows(
            "select question_id, options from responses join runs using (run) where model = 'RoBERTa-0' and options is not null"
        )
    )
    shares, votes = np.array([stated[item["uid"]] for item in items]), np.array([item["label_count"] for item in items])

    def score(sign, order):
        both = [np.argsort(sign * values[:, order], axis=1, kind="stable") for values in (shares, votes)]
        return (both[0] == both[1]).all(axis=1).mean()

    assert board["RoBERTa-0"].metrics["rank_cs"].value == score(1, [0, 1, 2]) == pytest.approx(0.6255, abs=5e-5)
    assert {round(score(-1, [0, 1, 2]), 3), round(score(1, [0, 2, 1]), 3), round(score(1, [2, 1, 0]), 3)} == {0.636, 0.637}


# -- seed 0 at T = 1 and T = 2, as the paper's figures and its table 2 have it ------------------------------------------

TEMPERATURES = (1.0, 2.0)
# Rows of the figures that do not follow from the data, and why. ChaosNLI-MNLI has no predictions next to the checkout.
NOT_RECOMPUTED = {
    ("fig. 5", "ECE %"): "T = 2 gives 3.59; the printed 3.33 is passed between T = 1.95 and T = 2",
    ("app. B.1", "EntCE median and mean"): "-.26 is T = 1; T = 2 gives .07 and .05, and .12 is only reached near T = 2.25",
}


@pytest.fixture(scope="module")
def seed_0(shared, items):
    """RoBERTa's shares by temperature."""
    scores = logits(shared, items, 0)
    return {temperature: softmax(scores, temperature) for temperature in (*TEMPERATURES, 1.95, 2.25)}


@pytest.fixture(scope="module")
def votes(items):
    return np.array([item["label_count"] for item in items])


def ece(shares, votes):
    """Return the ECE in ten bins. The right class has the most votes; in a tie, it is the first in class order."""
    confidence, correct = shares.max(axis=1), shares.argmax(axis=1) == votes.argmax(axis=1)
    place = np.searchsorted(np.arange(1, 10) / 10, confidence, side="left")
    return float(bins.ece(*(np.bincount(place, weights, 10) for weights in (None, confidence, correct))))


def test_figures_of_seed_0(published, seed_0, votes):
    rows = published("baan_figure_numbers")
    checked = 0
    for row in rows:
        if row["dataset"] == "ChaosNLI-MNLI" or (row["place"], row["measure"]) in NOT_RECOMPUTED:
            continue
        assert (row["dataset"], row["model"]) == ("ChaosNLI-SNLI", "RoBERTa-0")
        shares = seed_0[float(row["temperature"])]
        value = {
            "ECE %": 100 * ece(shares, votes),
            "HCE (mean DistCE)": distributions.total_variation(shares, distributions.vote_shares(votes)).mean(),
            "accuracy": (shares.argmax(axis=1) == votes.argmax(axis=1)).mean(),
            # The figures break ties in the opposite way to table 1, or leave them: .636 and .645.
            "HRE (RankCS)": distributions.compatible_ranking(shares, votes).mean(),
        }[row["measure"]]
        digits = len(row["printed"].partition(".")[2])
        assert abs(value - float(row["printed"])) <= 0.5 * 10.0**-digits, row
        checked += 1
    assert checked == 7
    assert {row["place"] for row in rows if row["dataset"] == "ChaosNLI-MNLI"} == {"fig. 10", "fig. 11"}
    assert len(rows) == checked + 8 + len(NOT_RECOMPUTED)


def test_figures_that_t_2_does_not_give(seed_0, votes):
    assert 100 * ece(seed_0[2.0], votes) == pytest.approx(3.59, abs=5e-3)
    assert 100 * ece(seed_0[1.95], votes) == pytest.approx(3.34, abs=5e-3)
    human = distributions.entropy(distributions.vote_shares(votes))
    gaps = {temperature: distributions.entropy(shares) - human for temperature, shares in seed_0.items()}
    centres = {temperature: (round(np.median(gap), 2), round(gap.mean(), 2)) for temperature, gap in gaps.items()}
    assert centres[1.0] == (-0.26, -0.26)
    assert centres[2.0] == (0.07, 0.05)
    assert centres[2.25] == (0.12, 0.11)


def test_table_2_is_of_seed_0_at_t_2(published, seed_0, votes):
    """The printed values lie among those of 400 draws of the reference, within 0.002, as the product computes them."""
    printed = {
        (row["model"], row["metric"]): float(row["value"])
        for row in published("published_metrics")
        if row["paper"] == "Baan et al. 2022" and row["table"] == "Table 2" and row["model"] != "H2"
    }
    pi = distributions.vote_shares(votes)

    def histogram(distance):
        return np.bincount(distributions.error_bin(distance), minlength=30).astype(float)

    runs = {name: histogram(distributions.total_variation(seed_0[t], pi)) for name, t in (("RoBERTa", 1.0), ("RoBERTa-TS", 2.0))}
    values = {key: [] for key in printed}
    each = np.repeat(np.tile(np.arange(3, dtype=np.int8), ITEMS), votes.ravel()).reshape(ITEMS, 100)  # the class of each vote
    chance = np.random.default_rng(2)
    for _ in range(400):
        shown = chance.permuted(each, axis=1)[:, :20]
        drawn = np.stack([(shown == k).mean(axis=1) for k in range(3)], axis=1)
        reference = histogram(np.abs(drawn - pi).sum(axis=1) / 2)
        for name, run in runs.items():
            values[name, "kl_ref"].append(distributions.kl_divergence(reference, run))
            values[name, "tvd_ref"].append(distributions.histogram_distance(reference, run))
    assert len(printed) == 4
    for key, figure in printed.items():
        assert min(values[key]) <= figure <= max(values[key]), key
        assert np.abs(np.array(values[key]) - figure).min() < 0.002, key
