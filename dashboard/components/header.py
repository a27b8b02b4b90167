"""The header of every page: name, navigation, datasets, theme."""

from __future__ import annotations

import json
from urllib.parse import urlencode

from dash import html

from dashboard.components.attributes import aria, data
from dashboard.components.links import page_link
from queries.datasets import Dataset
from queries.selection import Selection


def header(
    datasets: list[Dataset], chosen: str | None, path: str, pairs: list[tuple[str, str]], pages: list[tuple[str, str]]
) -> html.Header:
    """Navigation that keeps the selection, and the switch between datasets.

    Args:
        datasets: every dataset.
        chosen: the one that the page shows.
        path: of this page.
        pairs: keys and values of its address.
        pages: path and title of those that are linked.
    """
    query = urlencode([(key, value) for key, value in pairs if key in Selection.kinds()])
    return html.Header(
        [
            html.A("Skip to content", href="#main", className="skip"),
            page_link([html.Span("◢", className="mark", **aria(hidden="true")), "Clueline"], href="/", class_name="brand"),
            html.Nav(
                [
                    html.A(
                        title,
                        href=f"{target}?{query}" if query else target,
                        className="current" if target == path else "",
                        **data(link="", path=target),
                    )
                    for target, title in pages
                ],
                **aria(label="Pages"),
                **data(keys=json.dumps(list(Selection.kinds()))),
            ),
            html.Div(
                [
                    page_link(
                        dataset.title,
                        href=f"{path}?dataset={dataset.dataset}",
                        class_name="current" if dataset.dataset == chosen else "",
                        title=f"{dataset.questions:,} questions, {dataset.runs} runs",
                    )
                    for dataset in datasets
                ],
                className="datasets",
                role="group",
                **aria(label="Dataset"),
            ),
            html.Button("◐", id="theme-switch", className="quiet", title="Light or dark theme", **aria(label="Switch theme")),
        ],
        className="top",
    )
