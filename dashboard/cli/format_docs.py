"""Writes the generated parts of docs/formats.md and docs/importing.md. Run ``python -m clueline.dashboard.cli.format_docs``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from clueline.data.importing.table_contract import GRADE_PREFIX, RESPONSES, TABLES, Column
from clueline.data.readers import Format, formats

ROOT = Path(__file__).resolve().parents[2]
RESPONSES_TABLE = (*RESPONSES, Column(f"{GRADE_PREFIX}NAME", "truth", low=0, high=1))
FILES = {f"{name}.csv": columns for name, columns in TABLES.items()} | {"responses/*.csv": RESPONSES_TABLE}
TYPES = {
    "text": "text", "integer": "whole number", "number": "number", "truth": "true, false or a number", "flag": "true or false",
    "time": "time", "numbers": "list of numbers",
    "options": "map of option to probability, or a list in the order of the classes",
}  # fmt: skip


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def format_table(rows: Sequence[Format]) -> str:
    """Return a table of what each format reads, how it is recognised and what it becomes."""
    cells = [[f"`{row.key}`", row.reads, row.recognised, row.becomes] for row in rows]
    return table(["key", "what it reads", "how it is recognised", "what it becomes"], cells)


def _cells(column: Column) -> list[str]:
    """Return the cells of a column's row: its name, what it holds, and whether it is required."""
    what = " or ".join(f"`{choice}`" for choice in column.choices) or TYPES[column.type]
    if column.low is not None and column.high is not None:
        what += f", {column.low:g} to {column.high:g}"
    elif column.low is not None or column.high is not None:
        what += f", at least {column.low:g}" if column.high is None else f", at most {column.high:g}"
    what += f", at most {column.longest} characters" if column.longest else ""
    return [f"`{column.name}`", what, "yes" if column.required else ""]


def parts() -> dict[str, str]:
    """Return what is generated of docs/formats.md: the table of formats, the columns of each table, and rules of each format."""
    rows, rules = formats(), []
    for row in rows:
        if row.source or row.rules:
            rules += [f"## {row.key}", "", *([f"{row.source}.", ""] if row.source else [])]
            rules += [row.rules.strip(), ""] if row.rules else []
    columns = []
    for name, listed in FILES.items():
        columns += [f"### {name}", "", table(["column", "what", "required"], map(_cells, listed)), ""]
    return {"formats": format_table(rows), "columns": "\n".join(columns), "rules": "\n".join(rules)}


def filled(text: str, tables: Mapping[str, str]) -> str:
    """Return a document with these parts between its comments ``NAME, generated`` and ``end of NAME``.

    Raises ``ValueError`` if the place of one is missing.
    """
    for name, rows in tables.items():
        start, end = f"<!-- {name}, generated -->", f"<!-- end of {name} -->"
        if text.count(start) != 1 or text.count(end) != 1:
            raise ValueError(f"the document has no place for the part {name!r}: {start} and {end}")
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n{rows}\n{end}{rest.partition(end)[2]}"
    return text


def documents() -> dict[Path, str]:
    """Return the documents with generated parts, as they should be."""
    generated = parts()
    wanted = {"formats.md": generated, "importing.md": {"formats": generated["formats"]}}
    paths = {ROOT / "docs" / name: tables for name, tables in wanted.items()}
    return {path: filled(path.read_text(encoding="utf-8"), tables) for path, tables in paths.items()}


def main() -> None:
    """Write the generated parts of docs/formats.md, and the table of formats in docs/importing.md."""
    for path, text in documents().items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
