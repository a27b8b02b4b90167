"""Parts of a page that are drawn anew in their places."""

from __future__ import annotations

from typing import Any

from dash import html


def live(name: str, children: Any, **more: Any) -> html.Div:
    """A part that is drawn anew in its place, unique on the page; see ``dashboard.view.View.live``."""
    return html.Div(children, id={"role": "live", "part": name}, **more)
