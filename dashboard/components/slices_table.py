"""Parts of a selection where a run does better or worse."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from dash import html

from dashboard.components.links import page_link
from dashboard.components.numbers import p_value_text, short
from dashboard.components.run_names_and_colours import RunColours, named
from dashboard.components.table import table
from data.plurals import counted
from queries.engine.bootstrap import SIGNIFICANCE
from queries.metrics import Metric
from queries.selection.view_parameters_base import split_key
from queries.slices import Slice

MAX_SIGNIFICANT = 200  # significant rows in a table
MIN_ROWS = 10  # rows in a table; it is filled up with the largest differences that are not significant


def slices_section(
    title: str,
    slices: Sequence[Slice],
    metric: Metric,
    names: Mapping[str, str],
    colours: RunColours,
    link: Callable[[Slice], str],
) -> html.Section:
    """Return the significant slices, and the largest differences of the others.

    Args:
        title: title of the section.
        slices: slices in order.
        metric: metric by which runs are compared.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        link: function from a slice to the address that shows it.
    """
    significant = [part for part in slices if part.p_adjusted < SIGNIFICANCE][:MAX_SIGNIFICANT]
    others = sorted((part for part in slices if part.p_adjusted >= SIGNIFICANCE), key=lambda part: -abs(part.difference))
    rows = [
        html.Tr(
            [
                html.Th(named(colours.get(part.run), names.get(part.run, part.model)), scope="row"),
                html.Td(_name(part) if part.of_others else page_link(_name(part), href=link(part), title="Show this part")),
                html.Td(short(part.value), className="number"),
                html.Td(short(part.reference), className="number"),
                html.Td(f"{short(part.difference)} [{short(part.low)}, {short(part.high)}]", className="number"),
                html.Td(f"{part.questions:,}", className="number"),
                html.Td(p_value_text(part.p_value), className="number"),
                html.Td(p_value_text(part.p_adjusted), className="number"),
            ]
        )
        for part in [*significant, *others[: max(MIN_ROWS - len(significant), 0)]]
    ]
    difference = "Difference" if metric.direction == "zero" else "Worse by"
    head = ["Run", "Part", metric.label, "Compared with", f"{difference}, 95 % interval", "Questions", "p", "p, adjusted"]
    summary = f"{len(significant)} of {counted(len(slices), 'part')} significant" if slices else "No parts."
    body = [html.H2(title), html.P(summary, className="note"), table(head, rows, title) if rows else None]
    return html.Section(body, className="section")


def _name(part: Slice) -> str:
    difficulty = "difficulty for other models " if part.of_others else "difficulty "
    names = {"category": "", "radius": "radius ", "difficulty": difficulty}
    return " · ".join(f"{names.get(by, f'{split_key(by)[1]} ')}{value}" for by, value in part.filters.items())
