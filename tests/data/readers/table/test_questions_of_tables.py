"""What tables say of questions: clusters and attributes, in the file of answers or in one beside it."""

import pytest

from clueline.data.importing.report import Refused
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import put, table

PASSAGES, EACH = 20, 8


def answers(name="unit", **further):
    """Return rows about questions on passages: whoever misreads a passage misses all of its questions."""
    return [
        {"id": f"p{p}q{q}", name: f"text-{p}", "question": f"P{p} Q{q}?", "correct": int(p % 2), "confidence": (p + 1) / 25}
        | {key: cell(p, q) for key, cell in further.items()}
        for p in range(PASSAGES) for q in range(EACH)
    ]  # fmt: skip


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(rows), encoding="utf-8")
    return path


def interval(store, dataset, **filters):
    board = leaderboard(store.snapshot(), Selection(dataset, **filters), [CATALOGUE["accuracy"]], intervals=True)
    cell = board.rows[0].metrics["accuracy"]
    return cell.low, cell.high


def test_a_column_can_be_stated_to_be_the_cluster(store, tmp_path):
    path = write(tmp_path / "quiz.csv", answers())
    put(store, path, model="m", columns=(("cluster", "unit"),))
    assert store.snapshot().rows("select count(distinct value), count(*) from attributes where attribute = 'unit'") == [(20, 160)]
    low, high = interval(store, "quiz")
    of_passages = interval(store, "quiz", cluster="unit")
    assert high - low < 0.2 < of_passages[1] - of_passages[0]  # half of 160 questions, or of 20 passages


@pytest.mark.parametrize("role", ["cluster", "question_attribute"])
def test_what_is_stated_of_a_question_has_one_value_for_it(store, tmp_path, role):
    rows = [row | {"model": model} for model in ("m1", "m2") for row in answers(turn=lambda p, q: q)]
    rows[-1]["unit"] = "another"
    with pytest.raises(Refused) as refused:
        put(store, write(tmp_path / "quiz.csv", rows), columns=((role, "unit"),))
    (problem,) = refused.value.problems
    assert (problem.column, problem.value) == ("unit", "another") and "'p19q7' has several values" in problem.reason
    put(store, tmp_path / "quiz.csv", columns=((role, "turn"),))
    assert store.snapshot().rows("select distinct attribute from attributes") == [("turn",)]


@pytest.mark.parametrize("name", ["questions.csv", "items.csv", "dataset/test.csv"])
def test_a_file_of_questions_beside_answers_is_joined_to_them(store, tmp_path, name):
    asked = [{"id": row["id"], "question": row["question"], "answer": f"Town {n}", "passage_id": row["unit"], "level": n % 3}
             for n, row in enumerate(answers())]  # fmt: skip
    write(tmp_path / "release" / name, asked)
    for model, every in (("gpt-4o", 2), ("llama-3", 3)):
        predictions = [{"id": row["id"], "prediction": row["answer"] if n % every else "Oslo", "confidence": 0.5}
                for n, row in enumerate(asked)]  # fmt: skip
        write(tmp_path / "release" / f"{model}.csv", predictions)
    report = put(store, tmp_path / "release")
    assert (len(report.datasets), len(report.runs)) == (1, 2)
    snapshot = store.snapshot()
    assert snapshot.rows("select attribute, count(*) from attributes group by 1 order by 1") == [
        ("level", 160),
        ("passage_id", 160),
    ]
    assert snapshot.rows(f"select run, avg(correct) from {snapshot.responses(report.runs)} group by 1 order by 2") != []
    means = [
        mean for (mean,) in snapshot.rows(f"select avg(correct) from {snapshot.responses(report.runs)} group by run order by 1")
    ]
    assert means == [pytest.approx(80 / 160), pytest.approx(106 / 160)]


def test_markup_is_no_part_of_answers_and_categories(store, tmp_path):
    subjects = ["Arts &amp; Letters", "Law"]
    rows = [
        {"id": n, "subject": subjects[n % 2], "answer": f"<b>Town {n}</b>", "prediction": f"Town {n - n % 2}", "confidence": 0.5}
        for n in range(12)
    ]
    report = put(store, write(tmp_path / "quiz.csv", rows), model="m")
    snapshot = store.snapshot()
    assert snapshot.rows("select distinct category from questions order by 1") == [("Arts & Letters",), ("Law",)]
    assert snapshot.rows("select answer from questions where question_id = '3'") == [("Town 3",)]
    assert snapshot.rows(f"select avg(correct) from {snapshot.responses(report.runs)}") == [(0.5,)]
