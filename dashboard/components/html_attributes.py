"""Attributes whose names are not valid Python names, for Dash's HTML components."""

from __future__ import annotations

from typing import Any


def aria(**values: str) -> dict[str, Any]:
    """Return ``aria-`` attributes: ``aria(label="Pages")``."""
    return {f"aria-{name}": value for name, value in values.items()}


def data(**values: str) -> dict[str, Any]:
    """Return ``data-`` attributes, which the scripts in ``assets`` look for."""
    return {f"data-{name}": value for name, value in values.items()}
