"""Views, a folder each.

``view.py`` declares address, keys and tables, ``page.py`` lays out the page, ``addresses.py`` has addresses that are no views.
"""

from __future__ import annotations

import importlib
import pkgutil

from flask import Flask

PARTS = ("view", "page", "addresses")


def register_all(server: Flask) -> None:
    """Import what all folders declare, which registers it, and serve the ``ROUTES`` of pages: what their scripts request."""
    for folder in pkgutil.iter_modules(__path__, f"{__name__}."):
        for module in pkgutil.iter_modules(importlib.import_module(folder.name).__path__):
            if module.name in PARTS:
                imported = importlib.import_module(f"{folder.name}.{module.name}")
                for path, answer in getattr(imported, "ROUTES", {}).items():
                    server.add_url_rule(path, view_func=answer)
