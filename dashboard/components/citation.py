"""The sections of a citation, each with a text to copy."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.citation.view_citation import Citation
from dashboard.components.html_attributes import aria, data
from dashboard.components.table import row, table
from dashboard.what_changed_since_version import rules_that_changed


def citation_sections(citation: Citation) -> list[Component | None]:
    """Return the link, the methods paragraph, the table and its formats, the references, and the script.

    If the view pins an earlier data version, what has changed since comes first.
    """
    rows = [row(line[0], *line[1:]) for line in citation.rows]
    left_out = citation.total - len(citation.rows)
    rules = citation.rules_changed
    return [
        html.P(f"{rules_that_changed(rules)} The figures below are today's.", className="note", role="note") if rules else None,
        _text("Permanent link", citation.permalink, f"Data version {citation.version}."),
        _text("Methods", citation.methods, "Check it against your view before you print it.", prose=True),
        html.Section(
            [
                html.Div([html.H2("Table"), html.A("CSV", href=citation.csv, className="quiet", title="All columns and digits")],
                         className="heading"),
                table(citation.columns, rows, "The table as printed") if rows else html.P("No rows.", className="note"),
                html.P(f"{left_out:,} further rows are in the CSV.", className="note") if left_out else None,
            ],
            className="section",
        ),
        _text("LaTeX", citation.latex, "Needs the package booktabs."),
        _text("Markdown", citation.markdown),
        _text("BibTeX", citation.bibtex or "% nothing to cite", "The papers that the metrics come from."),
        _text("Python", citation.script, "Prints the same table in full precision. See docs/client.md for what it needs."),
    ]  # fmt: skip


def _text(title: str, text: str, note: str = "", prose: bool = False) -> html.Section:
    """A text with a button that copies it."""
    return html.Section(
        [
            html.Div(
                [html.H2(title), html.Button("Copy", type="button", className="quiet", **data(copy="text"))], className="heading"
            ),
            html.P(note, className="note") if note else None,
            html.Pre(text, className="prose" if prose else "", tabIndex="0", role="region", **aria(label=title)),
        ],
        className="section citation",
    )
