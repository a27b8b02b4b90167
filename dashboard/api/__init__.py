"""The JSON addresses, one module per group. A new module in this folder is registered automatically.

Each address is a thin wrapper: it reads the query string, calls the same query as the page, and encodes the result.
"""

from __future__ import annotations

import importlib
import pkgutil

from flask import Blueprint


def register_all() -> Blueprint:
    """Import every module of addresses, which adds them to the blueprint, and return the blueprint."""
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    blueprint: Blueprint = importlib.import_module(f"{__name__}.endpoint_decorators").api
    return blueprint
