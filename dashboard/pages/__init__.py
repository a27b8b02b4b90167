"""The pages, one module each. A new page is a new module here."""

from __future__ import annotations

import importlib
import pkgutil

from flask import Flask


def register_all(server: Flask) -> None:
    """Import every page, which registers it, and serve the ``ROUTES`` of its module: what its scripts request, by address."""
    for result in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{result.name}")
        for path, answer in getattr(module, "ROUTES", {}).items():
            server.add_url_rule(path, view_func=answer)
