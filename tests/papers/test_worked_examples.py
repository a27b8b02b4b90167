"""The worked examples of Sakai and of GRACE, computed with our kernels and compared with every printed cell."""

from collections import Counter, defaultdict

import numpy as np
import pytest

from clueline.data.human_curves import CURVES
from clueline.data.sufficient_statistics import BIN_COLUMNS, Items, pooled, sums
from clueline.queries.metric_definitions import sakai_examples
from clueline.queries.metrics import CATALOGUE, Conventions
from clueline.queries.metrics.kernels import bins, distributions, per_question

BINS = 3  # Sakai's number of bins of equal mass
EXAMPLES = {"Table 1": "1", "Table 4": "2", "Table 9": "3"}  # Sakai's tables with the probabilities
KEYS = {
    "accuracy": "accuracy",
    "R_O": "r_over",
    "R_U": "r_under",
    "HMR": "hmr",
    "ECE": "ece",
    "MCE": "max_ce",
    "KS": "ks_sequential",
}
# Printed cells of Sakai that are slips, and the correct values.
SLIPS = {("sec. 4.2.1", "Y", "3", "abs_difference"): 0.033}


def printed_as(value, printed):
    """Return whether a value rounds to the printed digits. A fraction such as 2/3 is compared as a number."""
    if "/" in printed:
        numerator, denominator = printed.split("/")
        return value == pytest.approx(int(numerator) / int(denominator), abs=1e-12)
    digits = len(printed.partition(".")[2])
    return abs(value - float(printed)) <= 0.5 * 10.0**-digits + 1e-9


# -- Sakai -------------------------------------------------------------------------------------------------------------


class Example:
    """The answers of one system in one example."""

    def __init__(self, rows):
        classes = [name for name in ("p1", "p2", "p3", "p4", "p5", "p6") if rows[0][name]]
        self.shares = np.array([[float(row[name]) for name in classes] for row in rows])
        self.gold = np.array([int(row["true_class"]) - 1 for row in rows])
        self.confidence = self.shares.max(axis=1)
        self.correct = (self.shares.argmax(axis=1) == self.gold).astype(float)
        assert [int(row["guess"]) - 1 for row in rows] == self.shares.argmax(axis=1).tolist()
        assert [float(row["confidence"]) for row in rows] == self.confidence.tolist()
        assert [float(row["correct"]) for row in rows] == self.correct.tolist()

    @property
    def ascending(self):
        order = np.argsort(self.confidence, kind="stable")
        return self.confidence[order], self.correct[order]

    @property
    def bins(self):
        return bins.mass_bins(self.confidence, self.correct, BINS)

    def measures(self):
        """Return the measures by the names that the paper uses."""
        totals = pooled(self.confidence, self.correct) | dict(zip(BIN_COLUMNS, self.bins, strict=True))
        conventions = Conventions(f"mass{BINS}")
        values = {name: float(CATALOGUE[key].value(totals, conventions)) for name, key in KEYS.items() if name != "KS"}
        values["KS"] = CATALOGUE[KEYS["KS"]].of_pairs(self.confidence, self.correct)
        values["KS_ties_together"] = CATALOGUE["ks"].of_pairs(self.confidence, self.correct)
        values["NBR"] = float(distributions.quadratic_score(self.shares, self.gold).mean())
        return values

    def steps(self):
        """Return the walk behind KS by the names of the columns of tables 3 and 6, one value per instance."""
        confidence, correct = self.ascending
        stated, right = np.cumsum(confidence) / len(confidence), np.cumsum(correct) / len(confidence)
        return {"p_j": confidence, "cp_j": stated, "GOLD_j": correct, "cGOLD_j": right, "delta_j": np.abs(stated - right)}

    def in_bins(self):
        """Return the values by the names that sec. 4.1.2 and 4.2.1 use, one value per bin."""
        items, confidence, correct = self.bins
        gaps = np.abs(confidence - correct) / items
        return {"mean_confidence": confidence / items, "accuracy": correct / items, "abs_difference": gaps}


@pytest.fixture(scope="module")
def examples(published):
    by_system = defaultdict(list)
    for row in published("sakai_items_wide"):
        by_system[row["example"], row["system"]].append(row)
    return {key: Example(rows) for key, rows in by_system.items()}


@pytest.fixture(scope="module")
def sakai(published):
    return published("sakai_examples")


def recomputed(examples, row):
    """Recompute what a row of the file states about one system, from the probabilities."""
    example = examples[row["example"], row["system"]]
    place = int(row["instance_j"] or 1) - 1
    match row["kind"]:
        case "probability":
            return example.shares[place, int(row["class_m"]) - 1]
        case "ks_step":
            return example.steps()[row["measure"]][place]
        case "bin":
            return example.in_bins()[row["measure"]][place]
        case "result":
            return example.measures()[row["measure"]]
    raise ValueError(row["kind"])


def test_sakai_every_cell(sakai, examples):
    seen = Counter()
    for row in sakai:
        seen[row["kind"]] += 1
        if row["kind"] == "true_class":
            assert row["system"] == "all"
            golds = [e.gold for (example, _), e in examples.items() if example == row["example"]]
            assert {int(gold[int(row["instance_j"]) - 1]) + 1 for gold in golds} == {int(row["value"])}
            continue
        value = recomputed(examples, row)
        assert value == pytest.approx(float(row["value"]), abs=1e-9), row
        slip = SLIPS.get((row["table"], row["system"], row["instance_j"], row["measure"]))
        if slip is not None:
            assert not printed_as(value, row["printed"]) and round(value, 3) == slip
        elif row["printed"]:
            assert printed_as(value, row["printed"]), row
    assert seen == {"probability": 288, "true_class": 21, "ks_step": 180, "bin": 36, "result": 100}
    assert sum(seen.values()) == len(sakai) == 625


def test_sakai_examples_of_the_product(examples, sakai):
    """The page Metrics shows these instances, and the values that the paper prints."""
    product = {(str(e.example), s.system): s for e in sakai_examples() for s in e.systems}
    assert product.keys() == examples.keys()
    for key, system in product.items():
        assert system.items == list(zip(examples[key].confidence.tolist(), examples[key].correct.tolist(), strict=True))
    for row in sakai:
        if row["kind"] == "result" and (key := KEYS.get(row["measure"])):
            assert product[row["example"], row["system"]].values[key] == pytest.approx(float(row["value"]), abs=1e-9)


def test_sakai_slip_contradicts_its_own_table(sakai):
    printed = {
        (row["table"], row["system"], row["instance_j"], row["measure"]): row["printed"]
        for row in sakai
        if row["kind"] in ("bin", "result")
    }
    gaps = [float(printed["sec. 4.2.1", "Y", str(k), "abs_difference"]) for k in (1, 2, 3)]
    ece = float(printed["Table 5", "Y", "", "ECE"])
    assert gaps[2] == 0.7
    assert round(sum(gaps) / 3, 3) != ece  # bins of three items each
    assert round((gaps[0] + gaps[1] + 0.033) / 3, 3) == ece


def test_sakai_example_2_ties_change_ks(examples):
    values = examples["2", "X"].measures()
    assert (round(values["KS"], 3), round(values["KS_ties_together"], 3)) == (0.078, 0.056)


def test_sakai_example_3_ks_misses_only_underconfidence(examples):
    # The text says that KS fails completely there.
    values = {system: round(examples["3", system].measures()["KS"], 3) for system in "XYZW"}
    assert values == {"X": 0.267, "Y": 0.267, "Z": 0.3, "W": 0.3}


# -- GRACE -------------------------------------------------------------------------------------------------------------


def numbers(rows, column):
    return np.array([float(row[column]) for row in rows])


def one_question(confidence, correct, curve):
    return Items(confidence, correct, np.array([0, len(confidence)]), dict.fromkeys(CURVES, curve))


@pytest.fixture(scope="module")
def table_6(published):
    rows = published("grace_table6")
    correct = (numbers(rows, "correct_printed") + 1) / 2
    return rows, one_question(numbers(rows, "confidence_printed"), correct, numbers(rows, "h_implied"))


@pytest.fixture(scope="module")
def table_7(published):
    """The printed h_t are increments of the curve."""
    rows = published("grace_table7")
    curve = np.cumsum(numbers(rows, "h_t_printed"))
    return rows, one_question(numbers(rows, "confidence_printed"), numbers(rows, "correct_inferred"), curve)


def value_of_question(key, items):
    """Return a metric of the catalogue over one question."""
    metric, conventions = CATALOGUE[key], Conventions()
    totals = metric.contributions(sums(items, metric.reads(conventions)), conventions)
    return float(metric.value({name: part.sum(axis=0) for name, part in totals.items()}, conventions))


# What the text says about table 7. The reward and the first SH_3 contradict the table.
TEXT_ONLY = {
    ("Table 7", "'reported' reward in app. M"): "0.53",
    ("Table 7", "SH_3 in app. M text"): "0.02 (0.27)",
    ("Table 7", "h_t in app. M text"): "",  # it gives h_0 as 0.1, and calls that an approximation of 1/3
}


def test_grace_results_of_both_tables(published, table_6, table_7):
    six, seven = table_6[1], table_7[1]
    total = float(sums(six, ["buzz_share_sign_confidence"])["buzz_share_sign_confidence"][0])
    steps = numbers(table_7[0], "h_t_printed")
    right = float(seven.buzzed_right[-1])
    reward = float(sums(seven, ["team_share_reward"])["team_share_reward"][0])
    values = {
        ("Table 6", "sum of per-clue values"): total,
        ("Table 6", "mean of per-clue values"): total / 4,
        ("Table 6", "r(sum)"): float(per_question.unit_logistic(total)),
        ("Table 6", "1 - r(sum)"): 1 - float(per_question.unit_logistic(total)),
        ("Table 6", "r(mean)"): float(per_question.unit_logistic(total / 4)),
        ("Table 6", "CalScore by eq. 1 = 1 - r(mean)"): value_of_question("calscore", six),
        ("Table 6", "GRACE MCE by sec. 4.2 = 1 - r(mean g c)"): value_of_question("grace_mce", six),
        ("Table 6", "calscore_weighted = 1 - r(sum (1-h) g c / sum (1-h))"): value_of_question("calscore_weighted", six),
        ("Table 6", "calscore, weights 1-h, h implied by the printed rows"): value_of_question("calscore", six),
        ("Table 7", "sum K_t"): float((steps * seven.buzzed_right).sum()),
        ("Table 7", "(1 - sum h) * sum b g"): (1 - steps.sum()) * right,
        ("Table 7", "reward (eq. 2, h as increments)"): reward,
        ("Table 7", "CalScore^2 = 1 - reward"): value_of_question("calscore2", seven),
        ("Table 7", "SH_3 in app. M text"): float(steps[-1] * right),
        ("Table 7", "unadjusted S_q = sum b g"): right,
    }
    rows = {(row["table"], row["quantity"]): row for row in published("grace_tables6_7_results")}
    assert rows.keys() == values.keys() | TEXT_ONLY.keys()
    for key, row in rows.items():
        assert bool(row["computed"]) == (key in values), key
        if row["computed"]:
            assert values[key] == pytest.approx(float(row["computed"]), abs=1e-11), key
        if key in TEXT_ONLY:
            assert row["printed"] == TEXT_ONLY[key]
        elif row["printed"]:
            assert printed_as(values[key], row["printed"]), key
    # Eq. 1 as printed puts the example's CalScore above its MCE, so weights in [0, 1] can do that.
    assert value_of_question("calscore", six) > value_of_question("grace_mce", six)
    assert reward != pytest.approx(0.53, abs=0.05) and right != pytest.approx(0.53, abs=0.05)
