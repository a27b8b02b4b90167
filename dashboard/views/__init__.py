"""Views, a folder each, without an ``__init__.py``.

``view.py`` declares address, keys and tables, ``page.py`` lays out the page, ``addresses.py`` has addresses that are no views.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from flask import Flask

PARTS = ("view", "page", "addresses")


def register_all(server: Flask) -> None:
    """Import what all folders declare, which registers it, and serve the ``ROUTES`` of pages: what their scripts request."""
    for path in sorted(Path(__file__).parent.glob("*/*.py")):
        if path.stem in PARTS:
            module = importlib.import_module(f"{__name__}.{path.parent.name}.{path.stem}")
            for address, answer in getattr(module, "ROUTES", {}).items():
                server.add_url_rule(address, view_func=answer, strict_slashes=False)
