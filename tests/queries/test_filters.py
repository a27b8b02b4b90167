"""Filters as objects: how each describes itself, and that a new filter needs only one field of a selection."""

from typing import Annotated

import msgspec
import polars as pl
import pytest

from clueline.queries.buzzing import Rules, buzz
from clueline.queries.datasets import prompts
from clueline.queries.engine.common_questions import coverage
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.questions import sparklines
from clueline.queries.runs import selected_runs
from clueline.queries.selection import CONVENTIONS, Selection, read_facets
from clueline.queries.selection.filters import ColumnFilter, Filter, MenuControl
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import collect, decode, split_key
from tests.helpers.run_tables import with_runs

EVERY = Selection(
    "relay", ("a1",), ("alpha", "beta"), ("logit",), (("reasoning", ("yes",)),), ("Arts", "History"), ("Modern",), (1, 5),
    (("language", ("fr",)),), (0.25, 1.0), (0.0, 0.5), "river",
)  # fmt: skip


class WithSource(Selection, frozen=True):
    """A selection with one more filter."""

    difficulty_source: Annotated[
        tuple[str, ...], ColumnFilter("questions whose difficulty comes from there", "Source of difficulty", "questions")
    ] = ()


@pytest.fixture(scope="module")
def relay(snapshot):
    return read_facets(snapshot, "relay")


def test_every_filter_has_words():
    words = {key: kind.sentence(key, EVERY.value(key)) for key, kind in EVERY.applied().items()}
    assert list(words.values()) == [
        "run a1", "model alpha or beta", "elicitation logit", "reasoning yes", "category Arts or History", "subcategory Modern",
        "radius 1 or 5", "language fr", "difficulty 0.25 to 1", "revealed 0 to 0.5", "text “river”",
    ]  # fmt: skip
    assert [split_key(key)[0] for key in words] == list(Selection.filters())
    assert Selection("relay").applied() == {}


def test_every_filter_narrows_its_own_table():
    parameters = {key: kind.condition(key, EVERY.value(key), "t")[1] for key, kind in EVERY.applied().items()}
    names = [name for values in parameters.values() for name in values]
    assert len(names) == len(set(names)), "two filters share a parameter"
    for narrows, (_, values) in {
        "runs": EVERY.run_filter(), "questions": EVERY.question_filter(), "clues": EVERY.clue_filter(),
    }.items():  # fmt: skip
        kinds = {key: kind for key, kind in Selection.filters().items() if kind.narrows == narrows}
        assert set(values) == {"dataset", *(name for key in parameters if split_key(key)[0] in kinds for name in parameters[key])}


@pytest.mark.parametrize("key", [key for key, kind in Selection.filters().items() if not kind.named])
def test_an_applied_filter_has_a_control_that_shows_it(snapshot, relay, key):
    kind = Selection.filters()[key]
    assert isinstance(kind, Filter) and kind.label
    value = relay.values.get(key, ()) or {"run": relay.all_runs[:1], "q": "river"}.get(key, (0.25, 0.5))
    control = kind.control(key, value, relay)
    if key in ("subcategory", "radius"):  # relay has one subcategory and no radius: nothing to choose
        assert control is None
    else:
        assert control.label == kind.label and control.chosen == value


def test_a_menu_includes_the_current_value(relay):
    for key, label, standard, other, options in (
        ("binning", "Bins", "width10", "mass7", (
            ("", "10 equal widths"), ("width10r", "10 equal widths, closed right"), ("width10+1", "10 equal widths, 1 apart"),
            ("mass15", "15 equal masses"),
        )),
        ("t", "Answers above", 0.5, 0.6, (("", "0.5"), ("0.25", "0.25"), ("0.75", "0.75"), ("0.9", "0.9"))),
    ):  # fmt: skip
        kind = CONVENTIONS.keys[key]
        assert kind.control(key, standard, relay) == MenuControl(label, options, "")
        assert kind.control(key, other, relay) == MenuControl(label, (*options, (str(other), str(other))), str(other))


def test_a_new_filter_is_one_field(snapshot, relay):
    known = msgspec.structs.replace(relay, values=relay.values | {"difficulty_source": ("given", "runs")})
    texts, _ = collect([("difficulty_source", "given"), ("category", "History")], WithSource.kinds())
    selection = decode(WithSource, texts, known, dataset="relay")
    assert selection.pairs() == [("dataset", "relay"), ("category", "History"), ("difficulty_source", "given")]
    condition, parameters = selection.question_filter()
    narrowed = snapshot.rows(f"select question_id from questions q where {condition} order by 1", parameters)
    plain, _ = selection.replace(difficulty_source=()).question_filter()
    expected = snapshot.rows(
        f"select question_id from questions q where {plain} and difficulty_source = 'given' order by 1",
        {name: value for name, value in parameters.items() if not name.startswith("difficulty_source")},
    )
    assert narrowed == expected
    with pytest.raises(BadRequest) as caught:
        decode(WithSource, {"difficulty_source": ["nowhere"]}, known, dataset="relay")
    assert (caught.value.field, caught.value.allowed) == ("difficulty_source", ["given", "runs"])


class WithClue(Selection, frozen=True):
    """A selection with one more filter, on clues."""

    clue: Annotated[tuple[int, ...], ColumnFilter("clues with these numbers", "Clue", "clues")] = ()


SOME_CLUES = WithClue("relay", clue=(0, 2), common=False)
RESPONSES = """responses join runs using (dataset, run)
    where dataset = 'relay' and clue in (0, 2) and not responses.failed and withdrawn_at is null"""


def test_a_filter_on_clues_reaches_every_view(snapshot):
    metric, stored = CATALOGUE["mean_confidence"], with_runs(snapshot)
    expected = stored.rows(f"select run, count(*), count(distinct question_id), avg(confidence) from {RESPONSES} group by 1")
    rows = leaderboard(snapshot, SOME_CLUES, [metric]).rows
    listed = [(row.run, row.items, row.questions, pytest.approx(row.metrics[metric.key].value)) for row in rows]
    assert sorted(listed) == sorted(expected)
    expected = stored.rows(f"select run, count(distinct question_id) filter (clue = 2) from {RESPONSES} group by 1")
    assert sorted(coverage(snapshot, SOME_CLUES.replace(clue=(2,))).answered.items()) == sorted(expected)
    assert set(pl.concat(prompts(snapshot, SOME_CLUES))["clue"]) == {0, 2}
    every, some = (sparklines(snapshot, chosen, ("r03",))["r03"] for chosen in (Selection("relay"), SOME_CLUES))
    assert some.people.h == every.people.h[::2]
    first = f"select run, question_id, arg_min(correct, clue) as correct from {RESPONSES} and confidence > 0 group by all"
    expected = stored.rows(f"select run, sum(correct) from ({first}) group by 1")
    runs = buzz(snapshot, SOME_CLUES, Rules(threshold=0.0)).explorer.runs
    assert sorted((run.run, pytest.approx(run.outcome.correct)) for run in runs) == sorted(expected)


class WithFile(Selection, frozen=True):
    """A selection with one more filter, on runs."""

    file_name: Annotated[tuple[str, ...], ColumnFilter("runs of files of this name", "File", "runs")] = ()


def test_a_filter_on_runs_reaches_the_runs(snapshot):
    files = snapshot.rows("select file_name, list(run) from runs where dataset = 'relay' and withdrawn_at is null group by 1")
    assert len(files) > 1
    for name, runs in files:
        selection = WithFile("relay", file_name=(name,), common=False)
        assert sorted(selected_runs(snapshot, selection)) == sorted(runs)
        assert {row.run for row in leaderboard(snapshot, selection, ()).rows} <= {*runs}
        assert selection.on_runs(["a1"]) == WithFile("relay", run=("a1",), common=False)
        assert selection.without_filters("runs") == WithFile("relay", common=False)
