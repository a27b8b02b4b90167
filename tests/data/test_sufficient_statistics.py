"""The statistics compared with sums over raw rows, item by item; how they are stored; and how difficulty follows from them."""

import math
import random
from itertools import chain, pairwise

import duckdb
import numpy as np
import polars as pl
import pytest

from clueline.data import sufficient_statistics
from clueline.data.human_curves import TEAM_CURVES
from clueline.data.store import Snapshot, create_schema, difficulty, run_statistics
from clueline.data.store.files import StoreFiles
from clueline.data.store.run_files import Objects
from clueline.data.sufficient_statistics import (
    BIN_COLUMNS,
    BINS_USED,
    COLUMNS,
    CURVE_SUMS,
    CURVES,
    ITEM_SUMS,
    STATISTICS,
    UNSTORED_SUMS,
    Bins,
    Items,
    bin_of,
)
from tests.helpers.run_tables import add_questions, add_responses, with_runs

EDGES = [k / 10 for k in range(11)] + [
    0.1 + 0.2, 0.7 - 1e-16, 0.1 * 7, 1 - 1e-16, 5e-324, 0.15, 0.35, 0.55, 1 / 3, 0.05 + 1e-10, 0.05 + 1e-8,
]  # fmt: skip


def reference_bin(confidence):
    """Return the bin, 0 to 9, or 10 for confidence 1. The edges are decimals as written, not multiples of a float."""
    return max(k for k in range(11) if confidence >= float(f"{k / 10:.1f}"))


def reference(items, curve):
    """Return the statistics of a run on a question: items of (clue, confidence, correct), a curve {clue: (h by CURVES)}."""
    items = sorted(items)
    c, y = np.array([item[1] for item in items]), np.array([item[2] for item in items])
    row = {
        "items": len(items), "confidence": c.sum(), "correct": y.sum(), "confidence_sq": (c**2).sum(), "correct_sq": (y**2).sum(),
        "confidence_correct": (c * y).sum(), "sign_confidence": ((2 * y - 1) * c).sum(),
        "half_reward": (2 * y[c > 0.5] - 1).sum(),
        "incorrect": (1 - y).sum(), "confidence_incorrect": (c * (1 - y)).sum(),
        "rounded": sum(any(abs(value - k / 20) <= 1e-9 for k in range(21)) for value in c),
    }  # fmt: skip
    used = sorted({reference_bin(confidence) for confidence in c})
    row[BINS_USED] = sum(2**k for k in used)
    for name, values in zip(BIN_COLUMNS, (np.ones(len(c)), c, y), strict=True):
        row[name] = [sum(v for v, conf in zip(values, c, strict=True) if reference_bin(conf) == k) for k in used]
    if curve is None:
        return row | dict.fromkeys(CURVE_SUMS)
    buzz, reached = [], 1.0
    for value in [*c[:-1], 1.0]:  # the last confidence counts as 1
        buzz.append(reached * value)
        reached *= 1 - value
    reward = np.cumsum(np.array(buzz) * y)
    for index, name in enumerate(CURVES):
        h = np.array([curve[clue][index] for clue, _, _ in items])
        row[f"{name}_weight"] = (1 - h).sum()
        row[f"{name}_sign_confidence"] = ((1 - h) * (2 * y - 1) * c).sum()
        if name in TEAM_CURVES:
            m = np.diff(h, prepend=0.0)
            row[f"{name}_reward"] = (m * reward).sum() + (1 - m.sum()) * reward[-1]
    return row


@pytest.fixture(scope="module")
def random_data():
    """Random responses by run and question, and the curves by question, which one in three lacks."""
    chance = random.Random(7)
    responses, curves = {}, {}
    for q in range(60):
        count = chance.randint(1, 7)
        steps = [sorted(chance.random() for _ in range(count)) for _ in range(3)]
        if q % 3:
            curves[f"q{q}"] = {t: (chance.random(), steps[2][t], steps[0][t], steps[1][t]) for t in range(count)}
        for run in ("a", "b"):
            answered = [t for t in range(count) if chance.random() < 0.9] or [0]
            responses[run, f"q{q}"] = [
                (t, chance.choice([chance.choice(EDGES), chance.random()]), chance.choice([0.0, 1.0, 1.0, chance.random()]))
                for t in answered
            ]
    return responses, curves


def table(responses, curves):
    """Return the statistics of each of some responses, as the table has them."""
    items = [(item, curves.get(q)) for (_, q), answers in responses.items() for item in sorted(answers)]
    sizes = [len(answers) for answers in responses.values()]
    h = np.array([curve[item[0]] if curve else (math.nan,) * len(CURVES) for item, curve in items], float)
    grouped = Items(
        np.array([item[1] for item, _ in items], float),
        np.array([item[2] for item, _ in items], float),
        np.append(0, np.cumsum(sizes)),
        dict(zip(CURVES, h.T, strict=True)),
    )
    columns = {name: pl.Series(values).fill_nan(None) for name, values in sufficient_statistics.sums(grouped).items()}
    rows = pl.DataFrame(columns | sufficient_statistics.bin_sums(grouped).to_columns()).to_dicts()
    return dict(zip(responses, rows, strict=True))


def row_of(items, team_share=None):
    """Return the statistics of one question from items of (confidence, correct)."""
    curve = team_share and {clue: (0.0, h, h, h) for clue, h in enumerate(team_share)}
    answers = {("r", "q"): [(clue, *item) for clue, item in enumerate(items)]}
    return table(answers, {"q": curve})["r", "q"]


def compare(rows, expected):
    assert rows.keys() == expected.keys()
    for key, values in expected.items():
        assert rows[key].keys() == values.keys() == {*COLUMNS, BINS_USED, *BIN_COLUMNS}
        for name, value in values.items():
            assert rows[key][name] == (None if value is None else pytest.approx(value, abs=1e-12, rel=1e-12)), (key, name)


def test_sums_of_whole_questions(random_data):
    responses, curves = random_data
    compare(table(responses, curves), {(run, q): reference(items, curves.get(q)) for (run, q), items in responses.items()})


def test_sums_of_some_clues(random_data):
    responses, curves = random_data
    kept = {key: [item for item in items if item[0] >= 2] for key, items in responses.items()}
    kept = {key: items for key, items in kept.items() if items}
    compare(table(kept, curves), {(run, q): reference(items, curves.get(q)) for (run, q), items in kept.items()})


def test_each_statistic_has_a_meaning():
    assert [*STATISTICS] == [statistic.name for statistic in STATISTICS.values()] == [*COLUMNS, *UNSTORED_SUMS]
    assert all(statistic.meaning for statistic in STATISTICS.values())
    assert {*CURVE_SUMS}.isdisjoint(ITEM_SUMS)


def test_without_people_there_are_no_curve_sums():
    items = Items(np.array([0.5, 0.25]), np.array([1.0, 0.0]), np.array([0, 2]))
    sums = sufficient_statistics.sums(items)
    assert all(np.isnan(sums[name]).all() for name in CURVE_SUMS)
    assert all(np.isfinite(sums[name]).all() for name in ITEM_SUMS)


def test_sums_are_as_exact_as_floats_allow():
    """They are compared with sums without rounding error, of numbers near 0 and 1."""
    chance = np.random.default_rng(5)
    values = np.concatenate([chance.random(500), 2.0 ** -chance.integers(0, 90, 500).astype(float), [0, 1]])
    chance.shuffle(values)
    first = np.unique([0, *chance.choice(len(values), 60), len(values)])
    items = Items(values, values[::-1].copy(), first)
    for name, one_by_one in {
        "confidence": values,
        "incorrect": 1 - items.correct,
        "confidence_correct": values * items.correct,
    }.items():
        exact = [math.fsum(one_by_one[start:end]) for start, end in pairwise(first)]
        assert sufficient_statistics.sums(items, [name])[name] == pytest.approx(exact, rel=1e-14)


def test_pooled_sums_are_those_of_one_question(random_data):
    responses, curves = random_data
    for (_, q), items in responses.items():
        row = reference(items, curves.get(q))
        pooled = sufficient_statistics.pooled(*np.array([item[1:] for item in items]).T)
        assert pooled.keys() == {*ITEM_SUMS, *BIN_COLUMNS}
        used = [k for k in range(11) if row[BINS_USED] >> k & 1]
        for name, value in pooled.items():
            assert (value[used] if name in BIN_COLUMNS else value) == pytest.approx(np.array(row[name]), abs=1e-12), name
            assert value.sum() == pytest.approx(np.sum(row[name]), abs=1e-12), name


def test_nothing_pooled_is_0():
    pooled = sufficient_statistics.pooled([], [])
    assert {name: value.shape for name, value in pooled.items()} == dict.fromkeys(ITEM_SUMS, ()) | dict.fromkeys(
        BIN_COLUMNS, (11,)
    )
    assert not any(value.any() for value in pooled.values())


def test_each_confidence_is_in_one_bin():
    for confidence in EDGES:
        row = row_of([(confidence, 1.0)])
        assert row[BINS_USED] == 2 ** reference_bin(confidence)
        assert row["bin_items"] == row["bin_correct"] == [1]
        assert row["bin_confidence"] == [confidence]
        assert row["rounded"] == float(min(abs(confidence - k / 20) for k in range(21)) <= 1e-9)


def test_bins_of_floats_that_only_look_round():
    edges = (0.3, 0.1 + 0.2, 0.7, 0.1 * 7, 0.7 - 1e-15, 1.0, 1 - 1e-16)
    assert [reference_bin(x) for x in edges] == bin_of(edges).tolist() == [3, 3, 7, 7, 6, 10, 9]
    assert 0.3 * 10 < 0.1 * 3 * 10  # why multiplying is not enough
    near = np.array([k / 10 for k in range(11)])
    near = np.clip(np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 1), EDGES]), 0, 1)
    assert bin_of(near).tolist() == [reference_bin(x) for x in near]


def test_bins_of_other_widths():
    for count in (1, 3, 7, 10, 30, 49):
        edges = np.arange(count + 1) / count
        near = np.concatenate([edges, np.nextafter(edges, 0), np.nextafter(edges, 2), np.random.default_rng(1).random(100)])
        assert bin_of(near, count).tolist() == [int((edges[1:] <= x).sum()) for x in near]


@pytest.mark.parametrize("bins", [[[0]], [[3, 10], [10], [0, 1, 2]], [[*range(11)]]], ids=str)
def test_bins_are_stored_and_read_again(bins):
    first = np.append(0, np.cumsum([len(question) for question in bins]))
    values = np.arange(first[-1], dtype=float)
    made = Bins(first, np.array([*chain(*bins)], np.int8), {name: values + k for k, name in enumerate(BIN_COLUMNS)})
    read = Bins.from_columns(pl.DataFrame(made.to_columns()))
    assert (read.first.tolist(), read.bin.tolist()) == (made.first.tolist(), made.bin.tolist())
    for name in BIN_COLUMNS:
        assert read.values[name].tolist() == made.values[name].tolist()
        assert made.dense()[name].sum() == made.values[name].sum()
        assert [*made.dense()[name][0, bins[0]]] == [*made.values[name][: len(bins[0])]]


def test_digits_do_not_depend_on_row_order_or_threads(tmp_path):
    """The same selection gives the same digits everywhere. Sums of floats in another order would not."""
    digests = []
    for order, threads in (("random()", 1), ("i", 3)):
        connection = duckdb.connect(config={"threads": threads})
        create_schema(connection)
        objects = Objects(StoreFiles(tmp_path / str(threads)))
        add_questions(connection, "select 'd' as dataset, 'q' || i as question_id, 700 as clues from range(200) t(i)")
        rows = f"""select 'r' as run, 'd' as dataset, 'q' || i // 700 as question_id, (i % 700)::integer as clue,
            i * 0.6180339887498949 % 1 as confidence, i * 0.7548776662466927 % 1 as correct from range(140000) t(i)
            order by {order}"""
        add_responses(connection, objects, rows)
        connection.execute(f"""insert into curves
            select dataset, question_id, clue, 1, correct, clue / 700, sqrt(clue / 700), clue / 900 from ({rows})""")
        run_statistics.derive(connection, objects, "d")
        stored = with_runs(Snapshot("", connection, objects=objects))
        digests.append(stored.rows("select md5(string_agg(t::varchar, '' order by question_id)) from statistics t"))
    assert digests[0] == digests[1]


@pytest.mark.parametrize(
    ("items", "h", "reward"),
    [
        ([(0.0, 1)], [0.0], 1.0),  # one clue: the last confidence counts as 1, whatever is stated
        ([(0.0, 1)], [1.0], 1.0),
        ([(1.0, 0), (1.0, 1)], [0.0, 0.0], 0.0),  # a wrong buzz at once
        ([(1.0, 1), (0.5, 0)], [1.0, 1.0], 1.0),
        ([(0.5, 1), (0.5, 0)], [0.5, 0.5], 0.5),
    ],
)
def test_rewards_at_the_limits(items, h, reward):
    assert row_of(items, h)["team_share_reward"] == pytest.approx(reward, abs=1e-15)


@pytest.mark.parametrize(
    ("given", "human", "runs", "wanted"),
    [
        (0.25, 0.5, [1.0], (0.25, "given")),
        (None, 0.75, [1.0], (0.25, "human")),
        (None, None, [1.0, 0.5, 0.0], (0.25, "runs")),  # the last of them is withdrawn
        (None, None, [], (None, None)),
    ],
)
def test_difficulty(given, human, runs, wanted, tmp_path):
    objects = Objects(StoreFiles(tmp_path))
    connection = duckdb.connect(config={"threads": 1})
    create_schema(connection)
    connection.execute(
        """insert into questions by name
        select 'd' as dataset, 'q' as question_id, 0 as position, 1 as clues, $g as given_difficulty""",
        {"g": given},
    )
    if human is not None:
        connection.execute("insert into curves values ('d', 'q', 0, 4, 0, 0.5, 0, 0), ('d', 'q', 1, 4, 0, ?, 0, 0)", [human])
    for index, correct in enumerate(runs):
        add_responses(
            connection,
            objects,
            f"select 'r{index}' as run, 'd' as dataset, 'q' as question_id, 0 as clue, 0.5 as confidence, {correct} as correct",
        )
    connection.execute("update runs set withdrawn_at = now()::timestamp where run = 'r2'")
    run_statistics.derive(connection, objects, "d")
    difficulty.derive_accuracies(connection, objects, "d")
    difficulty.derive(connection, "d")
    assert connection.execute("select difficulty, difficulty_source from questions").fetchall() == [wanted]


def test_pairs_are_those_of_one_sequence():
    """Two samples of three clues: pairs of different samples do not count."""
    h = np.array([0.0, 0.5, 1.0] * 2)
    items = Items(
        np.array([0.1, 0.9, 0.5, 0.3, 0.3, 0.2]), np.ones(6), np.array([0, 6]), dict.fromkeys(CURVES, h), np.array([0, 3, 6]),
        np.array([1.0, 2.0, 3.0] * 2),
    )  # fmt: skip
    totals = sufficient_statistics.sums(items, UNSTORED_SUMS)
    assert (totals["confidence_apart"], totals["survival_apart"], totals["survival_concordance"]) == (5, 6, 1 - 2)
    # 0.1 + 2 x 0.4 + 3 x 0.5, and 0.3 + 2 x 0.2 + 3 x 0.8
    assert totals["words"] == 12 and totals["survival_area"] == pytest.approx(2.4 + 3.1)
