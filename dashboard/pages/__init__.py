"""The pages, one module each; a new page is one new module here."""

from __future__ import annotations

import importlib
import pkgutil

from flask import Flask


def register_all(server: Flask) -> None:
    """Import every page, which registers it, and serve what its scripts ask for: ``ROUTES`` of its module, by address."""
    for result in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{result.name}")
        for path, answer in getattr(module, "ROUTES", {}).items():
            server.add_url_rule(path, view_func=answer)
