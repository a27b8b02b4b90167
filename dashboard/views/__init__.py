"""Views, a folder each: ``view.py`` declares its address, keys and tables, ``page.py`` lays out its page."""

from __future__ import annotations

import importlib
import pkgutil

PARTS = ("view", "page")


def register_all() -> None:
    """Import the declarations and pages of all folders, which registers them."""
    for folder in pkgutil.iter_modules(__path__, f"{__name__}."):
        for module in pkgutil.iter_modules(importlib.import_module(folder.name).__path__):
            if module.name in PARTS:
                importlib.import_module(f"{folder.name}.{module.name}")
