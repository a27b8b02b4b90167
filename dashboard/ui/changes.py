"""Buttons that change the store; ``assets/changes.js`` asks for what they need and sends the request."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.service import service
from dashboard.ui.html import aria, data


def change_button(
    text: str,
    request: str,
    done: str,
    fields: Sequence[tuple[str, str, str]] = (),
    body: Mapping[str, object] | None = None,
    *,
    title: str = "",
    undo: str = "",
    then: str = "",
    **marks: str,
) -> html.Button:
    """Return a button that sends a ``request``, such as ``DELETE /api/v1/runs/RUN``; ``done`` is what the page says afterwards.

    Before, it asks for the values of ``fields``: key, label and present value. ``body`` are values that need not be asked.
    ``title`` says what changes. ``undo`` is the request that undoes it. ``then`` is the key of the field with the name of the
    model whose page is shown afterwards. ``marks`` are further ``data-`` attributes.
    """
    given = {
        "fields": json.dumps(fields) if fields else "",
        "body": json.dumps(body) if body else "",
        "title": title,
        "undo": undo,
        "then": then,
    }
    stated = {key: value for key, value in given.items() if value}
    return html.Button(
        text, type="button", className="quiet", **aria(label=title or text), **data(send=request, done=done, **stated, **marks)
    )


def change_message() -> list[Component]:
    """Return the field for a token, if the server asks for one, and the place of messages about changes."""
    mode = service().access.page_mode()
    return [
        *([] if mode == "off" else [html.Div(className="api-token", **data(mode=mode))]),
        html.P(className="status-message", role="status", id="change-message"),
    ]
