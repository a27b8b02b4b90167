"""Views: each is a module or, if it is long, a folder without an ``__init__.py``.

The module, or ``page.py`` of the folder, declares address, keys and tables, and lays out the page.
"""

from __future__ import annotations

import importlib
from pathlib import Path

from flask import Flask

FOLDER = Path(__file__).parent


def register_all(server: Flask) -> None:
    """Import what all views declare, which registers it, and serve the ``ROUTES`` of pages: what their scripts request."""
    for path in sorted(FOLDER.rglob("[a-z]*.py")):
        module = importlib.import_module(".".join([__name__, *path.relative_to(FOLDER).with_suffix("").parts]))
        for address, answer in getattr(module, "ROUTES", {}).items():
            server.add_url_rule(address, view_func=answer, strict_slashes=False)
