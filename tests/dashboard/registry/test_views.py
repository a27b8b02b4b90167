"""A view and its query fit together, and a table is declared once."""

from types import SimpleNamespace

import pytest

from clueline.dashboard.registry.keys import MetricsParameters
from clueline.dashboard.registry.tables import column, columns, parts, reasons, with_interval, with_json
from clueline.dashboard.registry.views import filled_path, serve
from clueline.queries.selection.view_parameters_base import NoParameters


def takes_a_run(snapshot, selection, run):
    """A query with an argument that no key of ``NoParameters`` gives."""


def takes_no_metrics(snapshot, selection):
    """A query that ignores a key."""


def test_a_query_that_lacks_a_key_is_refused():
    with pytest.raises(TypeError, match="lacks keys for run of its query"):
        serve("x", takes_a_run, NoParameters, "Nothing.")


def test_a_key_that_the_query_does_not_take_is_refused():
    with pytest.raises(TypeError, match="does not take metrics"):
        serve("x", takes_no_metrics, MetricsParameters, "Nothing.")


def test_a_part_of_the_path_is_an_argument():
    with pytest.raises(TypeError, match="lacks keys for selection"):
        serve("x/<dataset>/<path:run>", takes_a_run, NoParameters, "Nothing.", selected=False)
    assert filled_path("x/<dataset>/<path:run>", {"dataset": "a b", "run": "c/d"}) == "x/a b/c/d"
    assert filled_path("x/<dataset>/<path:run>", {"dataset": "a b", "run": "c/d"}, quoted=True) == "x/a%20b/c%2Fd"


def test_columns_read_rows_of_structs_and_of_tuples():
    row = SimpleNamespace(run="r1", value=0.5)
    assert [one.value(row) for one in columns("run", "value")] == ["r1", 0.5]
    assert [one.value((row, 7)) for one in (*columns("run", at=0), *parts("number", start=1))] == ["r1", 7]


@pytest.mark.parametrize(
    ("key", "heading"),
    [
        ("mean_confidence", "Mean confidence"),
        ("p_holm", "p (adjusted)"),
        ("attr.language", "attr.language"),
        ("left_out", "Left out"),
    ],
)
def test_headings_are_words(key, heading):
    assert column(key, str).heading == heading
    assert column(key, str, "Other").heading == "Other"


def test_the_interval_of_a_column_is_in_two_others():
    assert column("value", str).ends == ("value_low", "value_high")
    (other, value) = with_interval(columns("other", "value"), "value")
    assert (other.ends, value.ends) == (("other_low", "other_high"), ("low", "high"))


def test_nested_cells_are_json():
    (one,) = with_json(columns("tags"))
    assert one.value(SimpleNamespace(tags={"a": "b"})) == '{"a":"b"}'
    assert one.value(SimpleNamespace(tags=None)) is None


def test_reasons_are_one_cell():
    assert reasons({}) is None
    assert reasons({"mcb": "one cluster", "dsc": "no error"}) == "mcb: one cluster; dsc: no error"
