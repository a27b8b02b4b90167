"""What commands print: progress, warnings, and the report of files that were refused."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import click

from dashboard.expiry_dates import read_end
from data.importing.ingest import Progress
from data.importing.report import Hint, Problem, ProblemKind, Refused
from data.importing.seed import seed
from data.store import Store

MAX_ROWS = 20  # problems that are listed one by one; of more, a line for each kind, and all of them in a file
MAX_KINDS = 50
HINTS: dict[Hint, str] = {
    "classes": "give --classes A,B,C",
    "dataset": "give --dataset ID",
    "dataset_upload": "python -m dashboard import reads it",
    "format": "say which with --as FORMAT",
    "model": "give --model NAME",
    "one_run": "for one run of all questions, give all of its files in one import; the page of a run withdraws it, and another "
    "--model or --elicitation tells it apart",
    "password": "set CLUELINE_GRACE_PASSWORD, or run this on a terminal, which asks for it",
    "percent": "if the file states percent, say so: --confidence-scale percent",
    "replace": "give --replace to put these in their place, or --dataset to import them under another name",
    "replace_people": "give --replace, with the whole bundle, to put these in its place",
}


class Refusal(click.ClickException):
    """Ends the command with exit code 1."""

    exit_code = 1


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """A progress bar on a terminal, nothing elsewhere. What the context gives is called with each step."""
    if not sys.stderr.isatty():
        yield lambda label, done, total: None
        return
    with click.progressbar(length=1, label=title, file=sys.stderr, show_eta=False, item_show_func=str, width=30) as bar:

        def step(label: str, done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos, label)

        yield step


def seed_empty_store(store: Store) -> None:
    """Import the bundled datasets into a store that was never written to, and say so on standard error."""
    if store.version() != "0":
        return
    click.echo("The store is empty: importing the bundled datasets first.", err=True)
    with progress_bar("Preparing the bundled datasets") as progress:
        seed(store, progress=progress)


def print_remarks(repaired: Mapping[str, int], warnings: Sequence[str], hints: Sequence[Hint] = ()) -> None:
    """Print what an import repaired, and its warnings on standard error, with what can be done about them."""
    for defect, count in sorted(repaired.items()):
        click.echo(f"repaired: {count:,} {defect}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    for hint in hints:
        click.echo(f"  {HINTS[hint]}", err=True)


def refusal(refused: Refused, done: str) -> Refusal:
    """The report of files that were refused: the problems one by one or, if there are many, by kind, and a file with all of them.

    Args:
        refused: the problems.
        done: what was not done with the files, as a participle.
    """
    problems, kinds = refused.problems, refused.kinds
    lines = [f"{refused.total:,} {'problem' if refused.total == 1 else 'problems'}; nothing was {done}", *refused.advice]
    if refused.total <= MAX_ROWS:
        lines += [f"{problem.place}: {_reason(problem)}" for problem in problems]
    else:
        lines += [line for kind in kinds[:MAX_KINDS] for line in _kind_lines(kind)]
        with tempfile.NamedTemporaryFile(
            "w", prefix="clueline-report-", suffix=".csv", delete=False, encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file)
            writer.writerow(["file", "line", "row", "column", "value", "reason"])
            writer.writerows((p.file, p.line, p.row, p.column, p.value, _reason(p)) for p in problems)
        more = f"and {len(kinds) - MAX_KINDS:,} more kinds; " if len(kinds) > MAX_KINDS else ""
        extent = "all problems" if len(problems) == refused.total else f"the first {len(problems):,} problems"
        lines.append(f"{more}{extent}, row by row: {file.name}")
    return Refusal("\n".join(lines))


def _kind_lines(kind: ProblemKind) -> list[str]:
    """A line for a kind of problem, with its first examples; a line for each of a few."""
    first = kind.examples[0]
    if kind.count <= len(kind.examples):
        return [f"{problem.place}: {_reason(problem)}" for problem in kind.examples]
    column = f", column {first.column}" if first.column else ""
    rows = [f"{f'line {p.line}' if p.line else p.row or p.file}" + (f" ({p.value!r})" if p.value else "") for p in kind.examples]
    return [f"{first.file}{column}, {kind.count:,} times: {_reason(first)}; as in {', '.join(rows)}"]


def _reason(problem: Problem) -> str:
    """What is wrong and, in the words of the command line, what would mend it."""
    return f"{problem.reason}; {HINTS[problem.hint]}" if problem.hint else problem.reason


class Until(click.ParamType[datetime]):
    """A date, which ends with its day, or a time, in UTC unless it says otherwise."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> datetime:
        """The end."""
        if isinstance(value, datetime):
            return value
        try:
            return read_end(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
