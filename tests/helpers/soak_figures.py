"""What the long tests measured, for ``benchmarks/uploads-soak.md``; ``make soak`` says where by SOAK_FIGURES."""

import json
import os
from pathlib import Path


def note(topic, rows):
    """Keep rows of (what, figure) under a topic, where figures are asked for."""
    path = os.environ.get("SOAK_FIGURES")
    if path:
        Path(path).mkdir(parents=True, exist_ok=True)
        (Path(path) / f"{topic}.json").write_text(json.dumps(rows), encoding="utf-8")
