"""Figures measured by the long tests, for ``benchmarks/uploads-soak.md``. ``make soak`` sets their file in SOAK_FIGURES."""

import json
import os
from pathlib import Path


def note(topic, rows):
    """Store rows of (what, figure) under a topic, if figures are wanted."""
    path = os.environ.get("SOAK_FIGURES")
    if path:
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / f"{topic}.json").write_text(json.dumps(rows), encoding="utf-8")
