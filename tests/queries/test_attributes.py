"""Attributes of questions: import, filters, breakdowns and exports."""

import shutil

import msgspec
import pytest

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.report import Refused
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.breakdown import breakdown, breakdown_fields
from clueline.queries.changes import pinned_version
from clueline.queries.datasets import datasets
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.question import question
from clueline.queries.questions import question_table
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.slices import slices
from tests.helpers.bundle_factory import CLUES, QUESTIONS, table, write

ODD = "cost in $dataset, it's/~net"
WITH_ATTRIBUTES = f"""question_id,answer,category,language,"{ODD}",year
q1,Paris [accept City of Light; prompt on France],Places,fr,12.5,9
q2,Nile,Places, ar ,,10
"""
RESPONSES = "model,question_id,clue,guess,confidence\na,q1,0,Rome,0.25\na,q1,1,Paris,0.5\na,q2,1,Nile,0.75\n"
BRIER = CATALOGUE["brier"]


@pytest.fixture(scope="module")
def described(importing, tmp_path_factory):
    folder = tmp_path_factory.mktemp("described")
    store = open_store(folder / "store", threads=2)
    report = import_paths(
        store, [write(folder / "toy", questions=WITH_ATTRIBUTES, clues=CLUES, responses=RESPONSES)], ImportOptions()
    )
    assert any("kept as attributes of questions: language" in line for line in report.lines) and not report.warnings
    return store


def read(snapshot, *pairs):
    return read_selection(pairs, lambda dataset: read_facets(snapshot, dataset))


def test_extra_columns_become_attributes(described):
    snapshot = described.snapshot()
    assert question(snapshot, Selection("toy"), "q1").attributes == {ODD: "12.5", "language": "fr", "year": "9"}
    assert question(snapshot, Selection("toy"), "q2").attributes == {"language": "ar", "year": "10"}
    assert datasets(snapshot).datasets[0].attributes == [ODD, "language", "year"]
    assert read_facets(snapshot, "toy").values["attr.year"] == ("9", "10")
    page = question_table(snapshot, Selection("toy"), [])[0]
    assert page.select("question_id", f"attr.{ODD}", "attr.language").rows() == [("q1", "12.5", "fr"), ("q2", None, "ar")]


def test_keys_of_later_jsonl_lines_become_attributes(importing, tmp_path):
    lines = '{"question_id": "q1", "answer": "Paris"}\n\n{"question_id": "q2", "answer": "Nile", "language": "ar"}\n'
    tables = {"questions__jsonl": lines, "questions": None}
    snapshot = importing(tmp_path / "store", write(tmp_path / "toy", clues=CLUES, **tables)).snapshot()
    assert question(snapshot, Selection("toy"), "q2").attributes == {"language": "ar"}


def test_questions_are_chosen_by_their_attributes(described):
    snapshot = described.snapshot()
    for pairs, expected in (
        ([("attr.language", "fr")], ["q1"]),
        ([("attr.language", "fr"), ("attr.language", "ar")], ["q1", "q2"]),
        ([("attr.language", "ar"), ("attr.year", "10")], ["q2"]),
        ([("attr.language", "ar"), (f"attr.{ODD}", "12.5")], []),
    ):
        selection = read(snapshot, ("dataset", "toy"), *pairs)
        assert question_table(snapshot, selection, [])[0]["question_id"].to_list() == expected
        assert selection.pairs() == [("dataset", "toy"), *pairs]
        assert selection.without_filters("questions") == Selection("toy")
    selection = read(snapshot, ("dataset", "toy"), ("attr.language", "fr"))
    whole = leaderboard(snapshot, Selection("toy"), (BRIER,)).rows[0].metrics["brier"].value
    part = leaderboard(snapshot, selection, (BRIER,)).rows[0].metrics["brier"].value
    assert (whole, part) == (pytest.approx((0.0625 + 0.25 + 0.0625) / 3), pytest.approx((0.0625 + 0.25) / 2))


def test_questions_are_broken_down_by_attributes(described):
    snapshot = described.snapshot()
    assert breakdown_fields(read_facets(snapshot, "toy"))[-3:] == (f"attr.{ODD}", "attr.language", "attr.year")
    for by in ("attr.language", f"attr.{ODD}"):
        parts = breakdown(snapshot, Selection("toy"), by, [BRIER]).parts
        expected = {
            question(snapshot, Selection("toy"), name).attributes.get(by.removeprefix("attr.")): name for name in ("q1", "q2")
        }
        assert {part.value: part.questions for part in parts} == dict.fromkeys(expected, 1)
        for part in parts:
            alone = leaderboard(snapshot, Selection("toy", questions=(expected[part.value],)), (BRIER,)).rows[0]
            assert part.rows[0].metrics["brier"].value == alone.metrics["brier"].value


def test_slices_are_tested_by_attributes(importing, tmp_path):
    rows = [{"question_id": f"q{n:02}", "answer": "Nile", "language": "fr" if n < 10 else "ar", "half": n % 2} for n in range(20)]
    answers = [
        {"model": "a", "question_id": row["question_id"], "guess": "Nile", "confidence": 0.9 if row["language"] == "fr" else 0.2}
        for row in rows
    ]
    path = write(
        tmp_path / "toy", {"dataset": "toy", "kind": "single"}, questions=table(rows), clues=None, responses=table(answers)
    )
    snapshot = importing(tmp_path / "store", path).snapshot()
    tested = slices(snapshot, Selection("toy"), CATALOGUE["brier"]).slices
    assert {next(iter(part.filters.items())) for part in tested} >= {
        ("attr.language", "ar"), ("attr.language", "fr"), ("attr.half", "0"), ("attr.half", "1")
    }  # fmt: skip
    assert tested[0].filters.keys() == {"attr.language"}
    for part in tested:
        ((key, value),) = part.filters.items()
        selection = read(snapshot, ("dataset", "toy"), (key, value))
        assert part.questions == 10 and part.value == leaderboard(snapshot, selection, (BRIER,)).rows[0].metrics["brier"].value


def test_a_control_offers_few_values_or_the_chosen_ones(described):
    fields = read_facets(described.snapshot(), "toy")
    control = Selection.filters()["attr"].control
    assert control("attr.language", (), fields).options == (("ar", "ar"), ("fr", "fr"))
    many = msgspec.structs.replace(fields, values={"attr.url": tuple(f"page {number}" for number in range(101))})
    assert control("attr.url", (), many) is None
    several = msgspec.structs.replace(fields, values={f"attr.{name}": ("no", "yes") for name in "abcde"})
    assert control("attr.a", (), several).folded and not control("attr.language", (), fields).folded
    assert control("attr.url", ("page 7",), many).chosen == ("page 7",)


def test_a_stored_dataset_keeps_attributes_until_replaced(described, tmp_path):
    store = open_store(shutil.copytree(described.url, tmp_path / "store"), threads=1)

    def put(text, **options):
        return import_paths(store, [write(tmp_path / "toy", questions=text, clues=CLUES)], ImportOptions(**options)).warnings

    version = pinned_version(store.snapshot(), Selection("toy"))
    other = WITH_ATTRIBUTES.replace(",fr,", ",en,")
    assert [warning for warning in put(other) if "keeps the stored attributes" in warning]
    assert question(store.snapshot(), Selection("toy"), "q1").attributes["language"] == "fr"
    assert not put(WITH_ATTRIBUTES)
    put(other, replace=True)
    assert question(store.snapshot(), Selection("toy"), "q1").attributes["language"] == "en"
    assert pinned_version(store.snapshot(), Selection("toy")) != version
    put(QUESTIONS, replace=True)
    assert question(store.snapshot(), Selection("toy"), "q1").attributes == {}


@pytest.mark.parametrize(
    ("header", "cell", "reason"),
    [
        ("x" * 101, "a", "at most 100 characters"),
        ("si\u200bze", "a", "all printable"),
        ("size", "x" * 501, "must be at most 500 characters long"),
        (",".join(f"c{number}" for number in range(51)), ",".join("a" * 51), "51 columns besides its own"),
    ],
    ids=["long name", "unseen", "long value", "many"],
)
def test_attributes_that_cannot_be_stored_are_refused(empty, tmp_path, header, cell, reason):
    path = write(tmp_path / "toy", questions=f"question_id,answer,{header}\nq1,Paris,{cell}\nq2,Nile,{cell}\n", clues=CLUES)
    with pytest.raises(Refused, match=reason):
        import_paths(empty, [path], ImportOptions())
