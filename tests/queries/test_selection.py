"""Addresses: what is read, what is refused and how, and that text never becomes SQL."""

from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.queries.engine.gather import gather
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.question import question
from clueline.queries.questions import QuestionOrder, ordered_questions
from clueline.queries.selection import Selection, read_address, read_facets, read_selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, MetricList, Text
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters, key_forms
from tests.helpers.examples import examples
from tests.helpers.question_pages import questions
from tests.helpers.small_store import ODD
from tests.helpers.strategies import selections

OFFERED = Facets(
    dataset="relay", title="Relay", kind="incremental", simulated=False, note=None, questions=3, human_teams=2, longest=4,
    values={
        "model": ("alpha", "beta"), "elicitation": ("verbalized", "logit"), "category": ("Arts", "Science"),
        "subcategory": ("Modern",), "radius": (1, 5),
        "tag.a = b": ("ü",), "tag.reasoning": ("no", "yes"),
        "attr.in $dataset, it's/~net": ("12.5",), "attr.language": ("ar", "fr"),
    },
    difficulty=(0.1, 0.9), difficulty_source="given",
    runs=(("a1", "alpha", "verbalized"), ("a2", "alpha", "logit"), ("b1", "beta", "logit")), withdrawn=("z9",),
)  # fmt: skip


KEYS = Selection.kinds()


class SortParameters(Parameters, frozen=True):
    sort: Annotated[str, Text("the order")] = ""
    metrics: Annotated[tuple, MetricList("which")] = ()


def read(*pairs, parameters=NoParameters, **more):
    return read_address(pairs, lambda dataset: OFFERED, parameters, **more)


# -- there and back ----------------------------------------------------------------------------------------------------


@examples(300)
@given(selection=selections(OFFERED))
def test_a_selection_comes_back_from_its_address(selection):
    again = read(*selection.pairs())
    assert again.selection == selection
    assert (again.facets, again.parameters, again.ignored) == (OFFERED, NoParameters(), ())


@examples(100)
@given(numbers=st.lists(st.floats(0, 1), min_size=2, max_size=2).map(sorted))
def test_numbers_survive_being_written_and_read(numbers):
    address = [("difficulty", f"{numbers[0]:.20f}..{numbers[1]:.20f}"), ("beta", f"{numbers[1] + 0.5:.30f}")]
    first = read(*address).selection
    assert read(*first.pairs()).selection == first


@pytest.mark.parametrize(
    "pairs, expected",
    [
        ([], Selection("relay")),
        ([("dataset", "relay")], Selection("relay")),
        ([("category", "Science"), ("category", "Arts")], Selection("relay", category=("Science", "Arts"))),
        ([("category", "Arts"), ("category", "Arts")], Selection("relay", category=("Arts",))),
        ([("run", "z9"), ("run", "a1")], Selection("relay", run=("z9", "a1"))),
        ([("radius", "5")], Selection("relay", radius=(5,))),
        ([("difficulty", "0..1"), ("revealed", "0.0..1.0")], Selection("relay")),
        ([("difficulty", "0..0")], Selection("relay", difficulty=(0, 0))),
        ([("revealed", ".25..1")], Selection("relay", revealed=(0.25, 1))),
        ([("revealed", "1e-3..1e-0")], Selection("relay", revealed=(0.001, 1))),
        ([("q", "")], Selection("relay")),
        ([("q", " a b ")], Selection("relay", q=" a b ")),
        ([("q", "x" * 500)], Selection("relay", q="x" * 500)),
        ([("binning", "width10")], Selection("relay")),
        (
            [("binning", "mass7"), ("beta", "2"), ("human", "survival")],
            Selection("relay", conventions=Conventions("mass7", "survival", 2)),
        ),
        ([("t", "0")], Selection("relay", conventions=Conventions(t=0))),
        ([("t", "0.50")], Selection("relay")),
    ],
    ids=str,
)
def test_addresses(pairs, expected):
    assert read(*pairs).selection == expected


@pytest.mark.parametrize(
    "selection, pairs",
    [
        (Selection("relay"), [("dataset", "relay")]),
        (
            Selection("relay", run=("a1",), radius=(1, 5), conventions=Conventions("width10+1", None, 0.5)),
            [("dataset", "relay"), ("run", "a1"), ("radius", "1"), ("radius", "5"), ("binning", "width10+1"), ("beta", "0.5")],
        ),
        (Selection("relay", difficulty=(0.25, 1.0), q="a b"), [("dataset", "relay"), ("difficulty", "0.25..1"), ("q", "a b")]),
        (Selection("relay", common=True), [("dataset", "relay"), ("common", "1")]),
        (Selection("relay", common=False), [("dataset", "relay"), ("common", "0")]),
        (Selection("relay", questions=("r1",), question_mask="01"), [("dataset", "relay")]),  # internal to a query
    ],
    ids=str,
)  # fmt: skip
def test_an_address_leaves_out_what_is_the_default(selection, pairs):
    assert selection.pairs() == pairs


def test_a_page_takes_keys_of_its_own():
    request = read(("sort", "brier:a1"), ("category", "Arts"), ("metrics", "ece,brier"), parameters=SortParameters)
    assert request.selection == Selection("relay", category=("Arts",))
    assert request.parameters == SortParameters(sort="brier:a1", metrics=(CATALOGUE["ece"], CATALOGUE["brier"]))
    assert request.parameters.pairs() == [("sort", "brier:a1"), ("metrics", "ece,brier")]
    with pytest.raises(BadRequest, match="'sort' can be given only once"):
        read(("sort", "brier:a1"), ("sort", "x"), parameters=SortParameters)


def test_unknown_keys_can_be_ignored():
    request = read(("utm_source", "x"), ("category", "Arts"), ("utm_source", "y"), ("fbclid", "z" * 501), ignore_unknown=True)
    assert request.selection == Selection("relay", category=("Arts",))
    assert request.ignored == ("utm_source", "fbclid")
    with pytest.raises(BadRequest):  # unknown values are not ignored
        read(("category", "Cookery"), ignore_unknown=True)


# -- what is refused ---------------------------------------------------------------------------------------------------

UNKNOWN = [
    # Pairs, the last of them invalid, and the values allowed there.
    ([("run", "x")], ["a1", "a2", "b1", "z9"]),
    ([("model", "Alpha")], ["alpha", "beta"]),
    ([("elicitation", "")], ["verbalized", "logit"]),
    ([("category", "Arts"), ("category", "arts")], ["Arts", "Science"]),
    ([("subcategory", "x")], ["Modern"]),
    ([("radius", "2")], ["1", "5"]),
    ([("radius", "5.0")], ["1", "5"]),
    ([("human", "people")], ["buzz_share", "release_share", "team_share", "survival"]),
    ([("tag.reasoning", "maybe")], ["no", "yes"]),
    ([("attr.language", "de")], ["ar", "fr"]),
    ([("attr.language", "")], ["ar", "fr"]),
    *(
        ([("binning", text)], ["width10", "width10r", "width10+1", "mass15"])
        for text in ("", "mass", "mass1", "mass101", "mass015", "width5", "mass15 ", "mass٣")
    ),
]
RANGES = (
    "", "0.5", "..", "0..", "..1", "0.8..0.2", "-0.1..1", "0..1.1", "a..b", "0..0.5..1", "nan..1", "NaN..NaN", "0..inf",
    "0..1e999", "1e99..1e99", "0,2..0,8", " 0..1", "0..1\n", "0x0..1", "0_0..1", "٠..١", "+0..1", "0..1.",
)  # fmt: skip
MALFORMED = {
    "difficulty": RANGES,
    "revealed": RANGES,
    "t": ("", "1", "1.0", "-1", "nan", "0.5.", "half"),
    "beta": ("", "0", "0.0", "-1", "nan", "inf", "1000.1", "1e99", "1e999", "1e-999", "one", "1,5", "1 ", "1e5000"),
}
TWICE = {"dataset": "relay", "difficulty": "0..1", "revealed": "0..1", "q": "a", "binning": "mass15", "human": "survival",
         "beta": "1", "t": "0.5"}  # fmt: skip
BAD = [
    *(([(key, "x")], "unknown_key", key, key_forms(KEYS)) for key in ("colour", "questions", "Category", "")),
    *(([(key, "x")], "unknown_key", key, key_forms(KEYS)) for key in ("tag", "tag.", "model.x")),
    ([("tag.size", "big")], "unknown_key", "tag.size", ["tag.a = b", "tag.reasoning"]),
    ([("attr.size", "big")], "unknown_key", "attr.size", ["attr.in $dataset, it's/~net", "attr.language"]),
    *((pairs, "unknown_value", pairs[-1][0], allowed) for pairs, allowed in UNKNOWN),
    *(([(key, text)], "bad_value", key, []) for key, texts in MALFORMED.items() for text in texts),
    *(([(key, "x" * 501)], "bad_value", key, []) for key, kind in KEYS.items() if not kind.named),
    *(([(key, value)] * 2, "repeated_key", key, []) for key, value in TWICE.items()),
]


def test_bad_addresses():
    for pairs, code, field, allowed in BAD:
        with pytest.raises(BadRequest) as caught:
            read(*pairs)
        error = caught.value
        assert (error.code, error.field, error.allowed, error.status) == (code, field, allowed, 400), pairs
        assert error.message == str(error) and error.message.endswith(".") and len(error.message) < 700


def test_the_dataset_of_the_path():
    assert read(("dataset", "relay"), dataset="relay").selection == read(dataset="relay").selection == Selection("relay")
    with pytest.raises(BadRequest) as caught:
        read(("dataset", "spans"), dataset="relay")
    assert (caught.value.code, caught.value.field, caught.value.allowed) == ("unknown_value", "dataset", ["relay"])


def test_an_unknown_dataset(snapshot):
    with pytest.raises(BadRequest) as caught:
        read_selection([("dataset", "nosuch")], lambda dataset: read_facets(snapshot, dataset))
    assert (caught.value.code, caught.value.field, caught.value.allowed) == ("unknown_value", "dataset", ["relay", "spans"])


# -- text is text ------------------------------------------------------------------------------------------------------

EVIL = [
    "' or 1=1 --", "'; drop table runs; --", '"; drop table runs; --', "') union select * from runs --", "$dataset", "{0}", "%",
    "_", "\\", "\x00", "r0%", "a' || 'b", "$$", "?", "null", "🙂", "\ufeff",
]  # fmt: skip


@pytest.mark.parametrize("key", ["run", "model", "elicitation", "category", "subcategory", "q", "dataset"])
def test_what_an_analyst_types_never_becomes_sql(snapshot, rows, key):
    for text in EVIL:
        selection = Selection("relay").replace(**{key: text if key in ("q", "dataset") else (text,)})
        board = leaderboard(snapshot, selection, [CATALOGUE["brier"]])
        about_runs = key in ("run", "model", "elicitation")
        expected = [row["question_id"] for row in rows["relay"].kept_questions(selection)] if key != "dataset" else []
        assert ordered_questions(snapshot, selection).questions == expected, text
        assert board.questions == len(expected), text
        assert bool(board.rows) == bool(expected and not about_runs), text
    assert len(gather(snapshot, Selection("relay"), METRICS).runs) == 6  # the store is unchanged


@pytest.mark.parametrize("text", EVIL, ids=repr)
def test_ids_sort_orders_and_cursors_never_become_sql(snapshot, text):
    for ask in (question, ordered_questions, lambda *known: ordered_questions(*known[:2], f"brier:{text}"),
                lambda *known: questions(*known[:2], [], cursor=text)):  # fmt: skip
        with pytest.raises(BadRequest):
            ask(snapshot, Selection("relay"), text)


# -- what filters mean -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes, expected",
    [
        ({}, [f"r{index:02}" for index in range(12)]),
        ({"category": ("History",)}, ["r00", "r04", "r08"]),
        ({"category": ("History", ODD)}, ["r00", "r02", "r04", "r06", "r08", "r10"]),
        ({"subcategory": ("Modern",), "category": ("History",)}, ["r04", "r08"]),
        ({"difficulty": (0.25, 0.25)}, ["r00"]),
        ({"difficulty": (0.75, 0.75)}, ["r01"]),
        ({"q": "R00"}, ["r00"]),
        ({"q": "answer 11"}, ["r11"]),
        ({"q": "answer"}, [f"r{index:02}" for index in range(12)]),
        ({"questions": ("r05", "r03", "none")}, ["r03", "r05"]),
        ({"questions": ("r09", "r10", "r11"), "difficulty": (0.0, 0.999)}, ["r09"]),  # the others have none
        ({"category": (ODD,)}, ["r02", "r06", "r10"]),
        ({"questions": ()}, []),
        ({"radius": (5,)}, []),
    ],
    ids=str,
)
def test_filters_on_questions(snapshot, changes, expected):
    assert ordered_questions(snapshot, Selection("relay").replace(**changes)).questions == expected


@pytest.mark.parametrize("revealed, items", [((0.5, 0.5), 1), ((0.0, 0.5), 2), ((0.75, 1.0), 2), ((0.51, 0.74), 0)])
def test_both_ends_of_a_range_of_clues_count(snapshot, offered, revealed, items):
    four_clues = Selection("relay", questions=("r03",), run=(offered["relay"].runs[0][0],), revealed=revealed)
    assert sum(row.items for row in leaderboard(snapshot, four_clues, []).rows) == items


def test_case_is_ignored_beyond_ascii(snapshot):
    upper, lower = (ordered_questions(snapshot, Selection("relay", q=text)) for text in ("ÅNGSTRÖM", "ångström"))
    assert upper == lower != QuestionOrder([], None)
