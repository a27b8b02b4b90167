"""The header of every page: name, datasets, link, keyboard help and theme; below them the navigation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html

from dashboard.components.dataset_menu import dataset_menu
from dashboard.components.html_attributes import aria, data
from dashboard.components.keyboard_help import keyboard_help
from dashboard.components.links import page_link
from queries.datasets import Dataset


def header(
    datasets: list[Dataset],
    chosen: str | None,
    path: str,
    pairs: list[tuple[str, str]],
    pages: list[tuple[str, str]],
    shared_keys: Sequence[str],
    account: tuple[str, str] | None = None,
) -> html.Header:
    """Return the dataset menu, the link to this view, keyboard help and theme; below them navigation that keeps the selection.

    Args:
        datasets: every dataset.
        chosen: id of the dataset that the page shows.
        path: path of this page.
        pairs: keys and values of its address.
        pages: path and title of the pages in the navigation.
        shared_keys: keys of the address that links keep, including keys that start with one of them and a dot.
        account: text and address of the link to the login page; None for no link.
    """
    query = urlencode([(key, value) for key, value in pairs if key.partition(".")[0] in shared_keys])
    return html.Header(
        [
            html.A("Skip to content", href="#main", className="skip"),
            page_link([html.Span("◢", className="mark", **aria(hidden="true")), "Clueline"], href="/", class_name="brand"),
            dataset_menu(datasets, chosen, path),
            html.Span(className="gap"),
            html.A(account[0], href=account[1], className="quiet account", title="Log in or out") if account else None,
            html.Button(
                "Copy link", type="button", className="quiet", title="Copy a link to exactly this view", **data(copy="address")
            ),
            *keyboard_help(),
            html.Button("◐", id="theme-switch", className="quiet", title="Light or dark theme", **aria(label="Switch theme")),
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
                **data(keys=json.dumps(list(shared_keys))),
            ),
        ],
        className="top",
    )
