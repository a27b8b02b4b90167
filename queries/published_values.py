"""Figures printed in papers, to compare with computed ones. They are not in the store and are never ranked."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import msgspec

FACTS = Path(__file__).parent / "facts"
COUNT = "n"  # not a metric: how many answers the paper had


class PublishedTable(msgspec.Struct, frozen=True):
    """A table of a paper."""

    key: str  # its name in addresses
    paper: str
    table: str
    about: str  # the data that it is about
    by: str  # key of a selection by which its slices divide the questions; blank where they do not
    common: bool  # whether its runs were measured on the questions that all of them answered
    caveat: str

    @property
    def title(self) -> str:
        """Short name of the paper, and the table."""
        return f"{self.paper.partition(' ')[0]}, {self.table}"


class PublishedValue(msgspec.Struct, frozen=True):
    """A figure of a table."""

    key: str  # key of its table
    paper: str
    table: str
    model: str
    elicitation: str | None
    slice: str | None  # part of the data or kind of model, where the table has several
    metric: str  # a key of the catalogue, or ``n``
    value: float


class Published(msgspec.Struct, frozen=True):
    """Answer of ``/api/v1/published``; values in the order of their tables."""

    tables: list[PublishedTable]
    values: list[PublishedValue]


@cache
def published() -> Published:
    """Return every table and figure that is known."""
    with (FACTS / "published_tables.csv").open(encoding="utf-8", newline="") as file:
        tables = {row["key"]: PublishedTable(**row | {"common": row["common"] == "1"}) for row in csv.DictReader(file)}
    with (FACTS / "published_metrics.csv").open(encoding="utf-8", newline="") as file:
        values = [
            PublishedValue(
                key=row["table"],
                paper=tables[row["table"]].paper,
                table=tables[row["table"]].table,
                model=row["model"],
                elicitation=row["elicitation"] or None,
                slice=row["slice"] or None,
                metric=row["metric"],
                value=float(row["value"]),
            )
            for row in csv.DictReader(file)
        ]
    return Published(list(tables.values()), values)


class PublishedRow(msgspec.Struct, frozen=True):
    """The row of one model in a table."""

    model: str
    elicitation: str | None
    slice: str | None
    values: dict[str, float]  # by metric


def published_rows(key: str) -> tuple[PublishedTable, list[PublishedRow]]:
    """Return a table as rows of models, in the order of the table. Raises ``KeyError`` for an unknown key."""
    known = published()
    tables = {table.key: table for table in known.tables}
    rows: dict[tuple[str, str | None, str | None], dict[str, float]] = {}
    for value in known.values:
        if value.key == key:
            rows.setdefault((value.model, value.elicitation, value.slice), {})[value.metric] = value.value
    return tables[key], [PublishedRow(*who, values) for who, values in rows.items()]
