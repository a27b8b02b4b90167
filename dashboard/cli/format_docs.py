"""Writes docs/formats.md, and the table of formats in docs/importing.md. Run ``python -m dashboard.cli.format_docs``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from data.importing.table_contract import GRADE_PREFIX, RESPONSES, TABLES, Column
from data.readers import Format, formats

ROOT = Path(__file__).parents[2]
RESPONSES_TABLE = (*RESPONSES, Column(f"{GRADE_PREFIX}NAME", "truth", low=0, high=1))
FILES = {f"{name}.csv": columns for name, columns in TABLES.items()} | {"responses/*.csv": RESPONSES_TABLE}
TYPES = {
    "text": "text", "integer": "whole number", "number": "number", "truth": "true, false or a number", "flag": "true or false",
    "time": "time", "numbers": "list of numbers",
    "options": "map of option to probability, or a list in the order of the classes",
}  # fmt: skip
HEAD = """# Formats

The formats that `python -m dashboard import` and the page Upload read. A file's format is detected from its content; `--as KEY`
or `format=KEY` sets it. CSV, JSON and JSON Lines can be compressed with gzip or zstd. A folder can be a zip.

Each reader is one module of `data/readers/`. This page is written by
`python -m dashboard.cli.format_docs`.
"""


DATASETS = """### dataset.json

A bundle has this file beside its tables. For a table of another project, Clueline makes the dataset itself: see [table](#table).

| key | what | required |
| --- | --- | --- |
| `dataset` | id, of a-z, 0-9 and - | yes |
| `kind` | what a question is, and what an answer to it means | yes |
| `title` | text; the id by default | |
| `licence`, `source`, `note` | text, which pages show | |
| `simulated` | true or false: whether the data is invented | |
| `private` | true or false: whether only tokens with the right can read it | |
| `classes` | list: the classes of votes, or the options that all questions share | |

| kind | its questions | a confidence is about | its answers are right by |
| --- | --- | --- | --- |
| `single` | are shown whole | the guess | the answer line, or the file |
| `incremental` | are revealed clue by clue | the guess at each clue | the answer line, or the file |
| `lifeeval` | ask for an age at death | the guessed age, give or take a radius | the life table |
| `votes` | are items with the votes of people | each class | the shares of votes |
| `forecast` | ask whether something will happen | yes | the outcome: the answer is `yes`, `no` or a share |

A run of any kind can have whole distributions over options (`options`).
"""
STORED = """## Runs that are stored

A run is identified by its content, and never changes. These rules hold for every format:

- The same answers with the same grades are already in the store. Nothing changes.
- The same answers for the same dataset, model and elicitation, but with other grades, become a further grading of the stored
  run, which `grading=NAME` selects. Its first grading and all others stay. Grades in `correct.NAME` get that name; grades in
  `correct` get the name of the file or, in QANTA, of the folder. If the run already has other grades under that name, a number
  is added: `pedant-2`. Grades that the run has under another name, and a file without grades, add nothing. Withdrawn runs get
  no grades in this way. Answers for which an analyst decided grades at import are a run of their own.
- Other answers for the same dataset, model and elicitation are a run of their own, even if they include all the stored answers.
  A warning names the stored run and says how many answers they share. To get one run of questions that came in parts, import
  the files of all parts together, and withdraw the runs of the parts. Files are never added to a stored run, because links and
  citations identify it by its content.
"""


STATES_OF_RESPONSES = (
    "The `state` of a response can be blank: a guess without a confidence (blank, or NaN) is `no_confidence`, other rows are "
    "`answered` or, with `failed`, failed calls. `unparsed` (no answer could be read) and `abstained` (the model declined) are "
    "never right. `scored` is a guess with a number that is no probability, in the column `certainty` or `uncertainty`. These "
    "rows need no confidence; one that is stated is left out, with a warning."
)


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


def documentation() -> str:
    """Return the text of docs/formats.md."""
    rows = formats()
    parts = [HEAD, format_table(rows), "", "## Clueline's own tables", ""]
    parts += [
        "Each can be CSV, JSON Lines or Parquet. All except `questions` are optional. A responses file can be imported alone.",
        "`correct.NAME` is another grading of the same answers. NAME consists of a-z, 0-9 and -, and `grading=NAME` selects it.",
        "Any other column of `questions` or of responses is an attribute: at most 50 per table, of up to 500 characters each. "
        "Responses with more are imported without their attributes, with a warning; questions with more are refused.",
        STATES_OF_RESPONSES,
        "`left_out_plays` counts what a reader left out of what people did, as an export writes it. `reason` says in words what "
        "was left out and why; pages show it beside the human curve.",
        "`corrections` is the log of reviewers' corrections of grades and of answers drawn for review, as an export writes it.",
        "",
        DATASETS,
    ]
    for name, columns in FILES.items():
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
    """Return the text of docs/importing.md with an up-to-date table of formats. Raises ``ValueError`` if it has no place."""
    before, start, rest = text.partition("<!-- formats, generated -->\n")
    _, end, after = rest.partition("<!-- end of formats -->")
    if not start or not end:
        raise ValueError("docs/importing.md has no place for the table of formats")
    return f"{before}{start}{format_table(formats())}\n{end}{after}"


def main() -> None:
    """Write docs/formats.md, and the table of formats in docs/importing.md."""
    (ROOT / "docs" / "formats.md").write_text(documentation(), encoding="utf-8")
    guide = ROOT / "docs" / "importing.md"
    guide.write_text(in_guide(guide.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
