"""Rows that a reader took out of a document that is no table: JSON, a log, a database.

A reader of such a document makes a polars frame of cells as they are and gives it to ``Staging.add_rows``. They are then checked
against a contract as the cells of a CSV file are.
"""

from __future__ import annotations

from typing import Literal

import polars as pl

from data.importing.report import Place

PLACE = "place"  # a column of the frame: where a row stands in its document


class FrameFile:
    """The rows of one document.

    Attributes:
        name: what reports call the document.
        rows: cells as they stand in the document. A column ``place`` says where a row is, in words (``question 12``), and
            heads the reports of its bad cells.
    """

    format: Literal["frame"] = "frame"

    def __init__(self, name: str, rows: pl.DataFrame) -> None:
        self.name = name
        self.rows = rows

    @property
    def columns(self) -> list[str]:
        """Names of the columns, without ``place``."""
        return [name for name in self.rows.columns if name != PLACE]

    def places_of(self, ordinals: set[int]) -> dict[int, Place]:
        """Where some rows stand, given by ordinal, which counts from 1."""
        places = self.rows[PLACE] if PLACE in self.rows.columns else None
        return {ordinal: Place(None, None if places is None else places[ordinal - 1]) for ordinal in ordinals}
