"""Rows that a reader extracts from a document that is not a table: JSON, a log, a database.

Their cells are unchanged, and are then checked against a contract like those of a CSV file.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from data.importing.report import Place

PLACE = "place"  # column of the frame that says where a row is in its document


class FrameFile:
    """The rows of one document. A column ``place`` says in words where a row is (``question 12``), for reports."""

    format: Literal["frame"] = "frame"

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.name = name
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        return [name for name in self.rows.columns if name != PLACE]

    def places_of(self, ordinals: set[int]) -> dict[int, Place]:
        """Return the places of some rows, given by ordinal, 1-based."""
        places = self.rows[PLACE] if PLACE in self.rows.columns else None
        return {ordinal: Place(None, None if places is None else places[ordinal - 1]) for ordinal in ordinals}
