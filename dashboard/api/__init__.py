"""The JSON addresses, one module each; a new address is one new module here.

Each is a thin wrapper: read the address, ask the query that the page asks, encode what it says.
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
