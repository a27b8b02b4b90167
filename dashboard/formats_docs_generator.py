"""``python -m dashboard.formats_docs_generator`` writes docs/formats.md, and the table of formats into docs/importing.md."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from data.importing.table_contract import BUZZES, CLUES, CORRECTIONS, EXPOSURES, GRADE_PREFIX, QUESTIONS, RESPONSES, VOTES, Column
from data.readers import Format, formats

ROOT = Path(__file__).parents[1]
TABLES = {
    "questions.csv": QUESTIONS, "clues.csv": CLUES, "exposures.csv": EXPOSURES, "buzzes.csv": BUZZES, "votes.csv": VOTES,
    "responses/*.csv": (*RESPONSES, Column(f"{GRADE_PREFIX}NAME", "truth", low=0, high=1)), "corrections.csv": CORRECTIONS,
}  # fmt: skip
TYPES = {
    "text": "text", "integer": "whole number", "number": "number", "truth": "true, false or a number", "flag": "true or false",
    "numbers": "list of numbers", "options": "map of option to probability, or a list in the order of the classes",
}  # fmt: skip
HEAD = """# Formats

What `python -m dashboard import` and the page Upload read. A file's format is recognised by its content; `--as KEY` or
`format=KEY` names it. CSV, JSON and JSON Lines may be packed with gzip or zstd. A folder may be a zip.

Each reader is one module of `data/readers/`. This page is written by
`python -m dashboard.formats_docs_generator`.
"""


STORED = """## Runs that are stored

A run is named by its content, and never changes. What holds for every format:

- The same answers again, with the same grades: already there. Nothing changes.
- The same answers of the same dataset, model and elicitation, with other grades: the stored run gets them as a further
  grading, which `grading=NAME` chooses. Its first grading stays, and so does every other. Grades under `correct.NAME` have
  that name; those of `correct` have the name of the file, in QANTA of the folder. A name that the run has already for other
  grades gets a number: `pedant-2`. Grades that the run has under another name, and a file without grades, add nothing.
  Withdrawn runs get no grades in this way, and answers of which an analyst decided grades at import are a run of their own.
- Other answers under the same dataset, model and elicitation, also if they are the same ones and more: a run of its own. A
  warning names the stored one and says how many answers they share. For one run of questions that came in parts, import the
  files of all parts together, and withdraw the runs of the parts. Files are not joined to a stored run, since links and
  citations name it by its content.
"""


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows))


def format_table(rows: Sequence[Format]) -> str:
    """What each format reads, how it is recognised and what it becomes."""
    cells = [[f"`{row.key}`", row.reads, row.recognised, row.becomes] for row in rows]
    return table(["key", "what it reads", "how it is recognised", "what it becomes"], cells)


def _cells(column: Column) -> list[str]:
    """Name, content and need of a column."""
    what = " or ".join(f"`{choice}`" for choice in column.choices) or TYPES[column.type]
    if column.low is not None and column.high is not None:
        what += f", {column.low:g} to {column.high:g}"
    elif column.low is not None or column.high is not None:
        what += f", at least {column.low:g}" if column.high is None else f", at most {column.high:g}"
    what += f", at most {column.longest} characters" if column.longest else ""
    return [f"`{column.name}`", what, "yes" if column.required else ""]


def documentation() -> str:
    """The text of docs/formats.md."""
    rows = formats()
    parts = [HEAD, format_table(rows), "", "## Clueline's own tables", ""]
    parts += [
        "Each may be CSV, JSON Lines or Parquet. All but `questions` may be absent. One file of responses can be imported alone.",
        "`correct.NAME` is another grading of the same answers; NAME is made of a-z, 0-9 and -, and `grading=NAME` chooses it.",
        "Any other column of `questions` or of responses is an attribute: at most 50 of a table, of up to 500 characters. "
        "Responses with more are taken without their attributes, with a warning; questions with more are refused.",
        "`corrections` is the log of what reviewers decided of grades, as an export writes it.",
        "",
    ]
    for name, columns in TABLES.items():
        parts += [f"### {name}", "", table(["column", "what", "required"], [_cells(column) for column in columns]), ""]
    parts += [STORED]
    for row in rows:
        if row.source or row.rules:
            parts += [
                f"## {row.key}",
                "",
                *([f"{row.source}.", ""] if row.source else []),
                *([row.rules.strip(), ""] if row.rules else []),
            ]
    return "\n".join(parts)


def in_guide(text: str) -> str:
    """The text of docs/importing.md with the table of formats as it should be. Raises ``ValueError`` where it has no place."""
    before, start, rest = text.partition("<!-- formats, generated -->\n")
    _, end, after = rest.partition("<!-- end of formats -->")
    if not start or not end:
        raise ValueError("docs/importing.md has no place for the table of formats")
    return f"{before}{start}{format_table(formats())}\n{end}{after}"


def main() -> None:
    """Write docs/formats.md, and the table of formats into docs/importing.md."""
    (ROOT / "docs" / "formats.md").write_text(documentation(), encoding="utf-8")
    guide = ROOT / "docs" / "importing.md"
    guide.write_text(in_guide(guide.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
