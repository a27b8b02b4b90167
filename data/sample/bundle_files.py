"""Writes the files of a bundle, identical on every system: UTF-8, LF line endings."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_json(path: Path, facts: Mapping[str, object]) -> None:
    """Write ``dataset.json``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8", newline="\n")


def write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    """Write rows, with the keys of the first one as header. None is an empty cell, a bool ``true`` or ``false``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: _cell(value) for key, value in row.items()} for row in rows)


def _cell(value: object) -> object:
    return str(value).lower() if isinstance(value, bool) else value
