"""Paths of the checkout."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "scripts" / "package"  # the folder from which ``clueline`` is imported
