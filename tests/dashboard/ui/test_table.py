"""Tables of pages: columns that a view declares, and how their values are written."""

from operator import itemgetter
from types import SimpleNamespace

from dashboard.registry.tables import Table, columns
from dashboard.ui.html import markup
from dashboard.ui.table import Body, Cell, PageColumn, bracketed, html_table, interval

SLOPES = Table("", lambda answer: answer, columns("run", "slope", "questions", "low", "high"))
ROWS = [
    SimpleNamespace(run="a", slope=-0.12345, questions=1200, low=-0.2, high=0.1, missing=None),
    SimpleNamespace(run="b", slope=None, questions=3, low=None, high=None, missing="too few questions"),
]


def test_declared_columns_are_written_in_one_style():
    slope = PageColumn("Slope", "slope", why=lambda row: row.missing)
    text = markup(html_table(["run", slope, "questions"], ROWS, "x", declared=SLOPES))
    assert '<th class="number" scope="col">Slope</th><th class="number" scope="col">Questions</th>' in text
    assert '<th scope="row">a</th><td class="number">−0.123</td><td class="number">1,200</td>' in text
    assert '<td class="number" title="None, because too few questions">–</td>' in text


def test_an_interval_has_two_ends_or_a_reason():
    text = markup(html_table(["run", interval(why=lambda row: row.missing)], ROWS, "x", declared=SLOPES))
    assert "−0.200 to 0.100" in text and 'title="None, because too few questions">–</td>' in text
    assert bracketed(0.5, 0.25, 0.75) == "0.500 [0.250, 0.750]" and bracketed(0.5, None, None) == "0.500"


def test_a_cell_has_its_own_class_tooltip_and_attributes():
    cell = Cell("✓", "right", "mark", {"data-key": "k"})
    text = markup(html_table([PageColumn("Run", itemgetter(0)), PageColumn("Mark", lambda row: cell)], [("a",)], "x"))
    assert '<td class="mark" data-key="k" title="right">✓</td>' in text


def test_a_group_of_rows_has_a_line_above_unless_it_is_empty():
    bodies = [Body([("a", 1)]), Body([("b", 2)], "Not ranked"), Body([], "Nobody")]
    text = markup(html_table([PageColumn("Run", itemgetter(0)), None, PageColumn("Rank", itemgetter(1))], bodies, "x"))
    assert text.count("<tbody") == 2 and '<th colspan="2" scope="rowgroup">Not ranked</th>' in text and "Nobody" not in text
