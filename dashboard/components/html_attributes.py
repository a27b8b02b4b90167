"""Attributes whose names are no Python names, for Dash's HTML components."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """``aria-`` attributes: ``aria(label="Pages")``."""
    return {f"aria-{name}": value for name, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """``data-`` attributes, which the scripts in ``assets`` look for."""
    return {f"data-{name}": value for name, value in values.items()}
