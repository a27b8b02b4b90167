"""Statistics in SQL against the same from raw rows, one by one."""

import math
import random

import duckdb
import numpy as np
import pytest

from data import statistics, sums
from data.importing import run_statistics
from data.statistics import BIN_COLUMNS, BINS_USED, COLUMNS, CURVE_SUMS, ITEM_SUMS, select_sql
from data.store.generations import create_schema

EDGES = [k / 10 for k in range(11)] + [
    0.1 + 0.2,
    0.7 - 1e-16,
    0.1 * 7,
    1 - 1e-16,
    5e-324,
    0.15,
    0.35,
    0.55,
    1 / 3,
    0.05 + 1e-10,
    0.05 + 1e-8,
]


def bin_of(confidence):
    """0 to 9, or 10 for 1: the edges as they are written, not as multiples of a float."""
    return max(k for k in range(11) if confidence >= float(f"{k / 10:.1f}"))


def slow(items, curve):
    """Statistics of one run on one question: items of (clue, confidence, correct), a curve {clue: (buzz, team, survival)}."""
    items = sorted(items)
    c, y = np.array([item[1] for item in items]), np.array([item[2] for item in items])
    found = {
        "items": len(items), "confidence": c.sum(), "correct": y.sum(), "confidence_sq": (c**2).sum(), "correct_sq": (y**2).sum(),
        "confidence_correct": (c * y).sum(), "sign_confidence": ((2 * y - 1) * c).sum(),
        "incorrect": (1 - y).sum(), "confidence_incorrect": (c * (1 - y)).sum(),
        "rounded": sum(any(abs(value - k / 20) <= 1e-9 for k in range(21)) for value in c),
    }  # fmt: skip
    used = sorted({bin_of(conf) for conf in c})
    found[BINS_USED] = sum(2**k for k in used)
    for name, values in zip(BIN_COLUMNS, (np.ones(len(c)), c, y), strict=True):
        found[name] = [sum(v for v, conf in zip(values, c, strict=True) if bin_of(conf) == k) for k in used]
    if curve is None:
        return found | dict.fromkeys(CURVE_SUMS)
    buzz, reached = [], 1.0
    for value in [*c[:-1], 1.0]:  # the last confidence counts as 1
        buzz.append(reached * value)
        reached *= 1 - value
    reward = np.cumsum(np.array(buzz) * y)
    for index, name in enumerate(("buzz_share", "team_share", "survival")):
        h = np.array([curve[clue][index] for clue, _, _ in items])
        found[f"{name}_weight"] = (1 - h).sum()
        found[f"{name}_sign_confidence"] = ((1 - h) * (2 * y - 1) * c).sum()
        if name != "buzz_share":
            m = np.diff(h, prepend=0.0)
            found[f"{name}_reward"] = (m * reward).sum() + (1 - m.sum()) * reward[-1]
    return found


@pytest.fixture(scope="module")
def drawn():
    """A connection with random responses, of which one question in three has no curve, and the rows in Python."""
    chance = random.Random(7)
    connection = duckdb.connect(config={"threads": 2})
    create_schema(connection)
    responses, curves = {}, {}
    for q in range(60):
        count = chance.randint(1, 7)
        steps = [sorted(chance.random() for _ in range(count)) for _ in range(2)]
        if q % 3:
            curves[f"q{q}"] = {t: (chance.random(), steps[0][t], steps[1][t]) for t in range(count)}
        for run in ("a", "b"):
            answered = [t for t in range(count) if chance.random() < 0.9] or [0]
            responses[run, f"q{q}"] = [
                (t, chance.choice([chance.choice(EDGES), chance.random()]), chance.choice([0.0, 1.0, 1.0, chance.random()]))
                for t in answered
            ]
    rows = [(run, "d", q, t, None, c, y, "file", None, None, None) for (run, q), items in responses.items() for t, c, y in items]
    chance.shuffle(rows)
    connection.executemany(f"insert into responses values ({', '.join('?' * 11)})", rows)
    connection.executemany(
        "insert into curves values ('d', ?, ?, 5, ?, ?, ?)", [(q, t, *h) for q, curve in curves.items() for t, h in curve.items()]
    )
    return connection, responses, curves


def fast(connection, responses="select * from responses"):
    cursor = connection.execute(select_sql(responses))
    names = [column[0] for column in cursor.description]
    return {(row[0], row[2]): dict(zip(names[3:], row[3:], strict=True)) for row in cursor.fetchall()}


def compare(found, wanted):
    assert found.keys() == wanted.keys()
    for place, values in wanted.items():
        assert found[place].keys() == values.keys() == {*COLUMNS, BINS_USED, *BIN_COLUMNS}
        for name, value in values.items():
            assert found[place][name] == (None if value is None else pytest.approx(value, abs=1e-12, rel=1e-12)), (place, name)


def test_sums_of_whole_questions(drawn):
    connection, responses, curves = drawn
    compare(fast(connection), {(run, q): slow(items, curves.get(q)) for (run, q), items in responses.items()})


def test_sums_of_some_clues(drawn):
    connection, responses, curves = drawn
    kept = {place: [item for item in items if item[0] >= 2] for place, items in responses.items()}
    wanted = {(run, q): slow(items, curves.get(q)) for (run, q), items in kept.items() if items}
    compare(fast(connection, "select * from responses where clue >= 2"), wanted)


def test_derived_sums_are_those(drawn):
    connection, _, _ = drawn
    connection.execute("insert into statistics by name select 'z' as run, 'other' as dataset, 'q' as question_id, " + ", ".join(
        [f"0 as {name}" for name in (*ITEM_SUMS, BINS_USED)] + [f"[] as {name}" for name in BIN_COLUMNS]))  # fmt: skip
    run_statistics.derive(connection, "d")
    run_statistics.derive(connection, "d")
    assert connection.execute("select run, count(*) from statistics group by 1 order by 1").fetchall() == [
        ("a", 60),
        ("b", 60),
        ("z", 1),
    ]
    cursor = connection.execute("select * from statistics where dataset = 'd'")
    names = [column[0] for column in cursor.description]
    stored = {(row[0], row[2]): dict(zip(names[3:], row[3:], strict=True)) for row in cursor.fetchall()}
    compare(stored, fast(connection))


@pytest.mark.parametrize("confidence", EDGES)
def test_each_confidence_is_in_one_bin(confidence):
    connection = duckdb.connect(config={"threads": 1})
    create_schema(connection)
    connection.execute("insert into responses values ('r', 'd', 'q', 0, null, ?, 1, 'file', null, null, null)", [confidence])
    found = fast(connection)["r", "q"]
    assert found[BINS_USED] == 2 ** bin_of(confidence)
    assert found["bin_items"] == found["bin_correct"] == [1]
    assert found["bin_confidence"] == [pytest.approx(confidence, abs=1e-24, rel=1e-15)]
    assert found["rounded"] == float(min(abs(confidence - k / 20) for k in range(21)) <= 1e-9)


def test_bins_of_floats_that_are_not_what_they_look_like():
    assert [bin_of(x) for x in (0.3, 0.1 + 0.2, 0.7, 0.1 * 7, 0.7 - 1e-15, 1.0, 1 - 1e-16)] == [3, 3, 7, 7, 6, 10, 9]
    assert 0.3 * 10 < 0.1 * 3 * 10  # why they are not multiplied
    near = np.array([k / 10 for k in range(11)])
    near = np.clip(np.concatenate([near, np.nextafter(near, 0), np.nextafter(near, 1), EDGES]), 0, 1)
    assert sums.bin_of(near).tolist() == [bin_of(x) for x in near]


def test_the_digits_do_not_depend_on_the_order_of_rows_or_on_threads():
    """The same selection gives the same digits everywhere: sums of floats in another order would not."""
    found = []
    for order, threads in (("random()", 1), ("i", 3), ("-i", 4)):
        connection = duckdb.connect(config={"threads": threads})
        create_schema(connection)
        connection.execute(f"""
            insert into responses select 'r', 'd', 'q' || i // 700, i % 700, null, i * 0.6180339887498949 % 1,
                i * 0.7548776662466927 % 1, 'file', null, null, null from range(140000) t(i) order by {order}""")
        connection.execute(
            "insert into curves select dataset, question_id, clue, 1, correct, clue / 700, sqrt(clue / 700) from responses"
        )
        found.append(
            connection.execute(
                f"select md5(string_agg(t::varchar order by question_id)) from ({select_sql('from responses')}) t"
            ).fetchall()
        )
    assert found[0] == found[1] == found[2]


def responses_of(items, team_share):
    connection = duckdb.connect(config={"threads": 1})
    create_schema(connection)
    for clue, ((confidence, correct), h) in enumerate(zip(items, team_share, strict=True)):
        connection.execute(
            "insert into responses values ('r', 'd', 'q', ?, null, ?, ?, 'file', null, null, null)", [clue, confidence, correct]
        )
        connection.execute("insert into curves values ('d', 'q', ?, 10, 0, ?, ?)", [clue, h, h])
    return fast(connection)["r", "q"]


def test_the_worked_example_of_grace():
    """App. M, table 7: b = (0.1, 0.63, 0.216, 0.054), increments of h (0.1, 0.1, 0.2, 0.3), the last confidence forced to 1."""
    confidences = [0.1, 0.7, 0.8, 0.9]
    found = responses_of(list(zip(confidences, [0, 1, 1, 1], strict=True)), [0.1, 0.2, 0.4, 0.7])
    for name in ("team_share", "survival"):
        assert found[f"{name}_reward"] == pytest.approx(0.7722, abs=1e-12)
    # By hand: 0.63 at the second clue, 0.846 at the third, 0.9 at the last and if people never know.
    assert found["team_share_reward"] == pytest.approx(0.1 * 0 + 0.1 * 0.63 + 0.2 * 0.846 + 0.3 * 0.9 + 0.3 * 0.9, abs=1e-12)
    sure = responses_of(list(zip([*confidences[:3], 0.0], [0, 1, 1, 1], strict=True)), [0.1, 0.2, 0.4, 0.7])
    assert sure["team_share_reward"] == found["team_share_reward"]


@pytest.mark.parametrize(
    ("items", "h", "reward"),
    [
        ([(0.0, 1)], [0.0], 1.0),  # one clue: the last confidence is 1 whatever it says
        ([(0.0, 1)], [1.0], 1.0),
        ([(1.0, 0), (1.0, 1)], [0.0, 0.0], 0.0),  # buzzed wrong at once
        ([(1.0, 1), (0.5, 0)], [1.0, 1.0], 1.0),
        ([(0.5, 1), (0.5, 0)], [0.5, 0.5], 0.5),
    ],
)
def test_rewards_at_the_limits(items, h, reward):
    assert responses_of(items, h)["team_share_reward"] == pytest.approx(reward, abs=1e-15)


def test_no_number_is_lost_for_a_long_question():
    count = 500
    found = responses_of([(0.5, k % 2) for k in range(count)], [k / count for k in range(count)])
    assert found["items"] == count
    assert math.isclose(found["team_share_reward"], 1 / 3, abs_tol=2e-3)


@pytest.mark.parametrize(
    ("given", "human", "runs", "wanted"),
    [
        (0.25, 0.5, [1.0], (0.25, "given")),
        (None, 0.75, [1.0], (0.25, "human")),
        (None, None, [1.0, 0.5, 0.0], (0.25, "runs")),  # the last of them is withdrawn
        (None, None, [], (None, None)),
    ],
)
def test_difficulty(given, human, runs, wanted):
    connection = duckdb.connect(config={"threads": 1})
    create_schema(connection)
    connection.execute(
        """insert into questions by name
        select 'd' as dataset, 'q' as question_id, 0 as position, 1 as clues, $g as given_difficulty""",
        {"g": given},
    )
    if human is not None:
        connection.execute("insert into curves values ('d', 'q', 0, 4, 0, 0.5, 0), ('d', 'q', 1, 4, 0, ?, 0)", [human])
    for index, correct in enumerate(runs):
        connection.execute(
            """insert into runs by name select $r as run, 'd' as dataset, 0 as position, $r as model, '' as elicitation,
                '' as sha256, now()::timestamp as imported_at, 1 as items, 1 as questions, 0 as missing_questions,
                case when $gone then now()::timestamp end as withdrawn_at""",
            {"r": f"r{index}", "gone": index == 2},
        )
        connection.execute(
            "insert into responses values (?, 'd', 'q', 0, null, 0.5, ?, 'file', null, null, null)", [f"r{index}", correct]
        )
    run_statistics.derive(connection, "d")
    statistics.derive_difficulty(connection, "d")
    assert connection.execute("select difficulty, difficulty_source from questions").fetchall() == [wanted]
