"""The JSON addresses, a module per group of them. A new module is found by being here.

Each address is a thin wrapper: it reads the query string, calls the query that the page calls, and encodes the result.
"""

from __future__ import annotations

import importlib
import pkgutil

from flask import Blueprint


def register_all() -> Blueprint:
    """Import every module of addresses, which adds them to the blueprint."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    blueprint: Blueprint = importlib.import_module(f"{__name__}.blueprint").api
    return blueprint
