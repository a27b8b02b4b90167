"""Output of commands: progress, warnings, and the report of refused files."""

from __future__ import annotations

import csv
import shlex
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from clueline.dashboard.access.signed_links import read_end
from clueline.dashboard.http.bodies import spreadsheet_text
from clueline.dashboard.http.messages import error_message
from clueline.data.importing.column_mapping import BadMapping
from clueline.data.importing.ingest import Progress
from clueline.data.importing.report import Hint, Problem, ProblemKind, Refused, Report
from clueline.data.importing.seed import seed
from clueline.data.importing.staging import REPEATS
from clueline.data.play_sessions.session_definition import SessionError
from clueline.data.plurals import counted
from clueline.data.store import Store, StoreError
from clueline.data.store.gradings import NoSuchGuess
from clueline.data.store.kept_mappings import KeepingError
from clueline.data.store.models import BadModel
from clueline.data.store.run_tags import BadTag
from clueline.data.store.run_withdrawal import NoSuchRun
from clueline.data.store.tokens_and_readers import TokenError
from clueline.queries.selection.parameter_kinds import BadRequest

MAX_ROWS = 20  # problems listed one by one; above this, one line per kind, and all problems go to a file
MAX_KINDS = 50
HINTS: dict[Hint, str] = {
    "agreement": "--agreement takes the most frequent answer, and its share of the samples as the confidence",
    "align": "add --align content to align questions by text and reference answer, or --align OFFSET to add a number to each id",
    "classes": "add --classes A,B,C",
    "column": "say so with --column ROLE=COLUMN",
    "dataset": "add --dataset ID",
    "dataset_upload": "use clueline import",
    "format": "say which one with --as FORMAT",
    "map": "--map isotonic or --map logistic makes probabilities of them, fitted to other questions",
    "mapping": "--mapping NAME reads the columns as it says",
    "model": "add --model NAME",
    "one_run": "for one run of all questions, import all of its files at once; the page of a run can withdraw it, and another "
    "--model or --elicitation distinguishes it",
    "password": "set CLUELINE_GRACE_PASSWORD, or run this in a terminal, where you are asked for it",
    "pattern": "--confidence-pattern PATTERN reads it",
    "percent": "if the file has percentages, add --confidence-scale percent",
    "repeats": "add --repeats samples if these are several answers, or --repeats gradings if they are several grades of one",
    "replace": "use --replace to replace the stored questions, or --dataset to import these under another name",
    "replace_people": "use --replace, with the whole bundle, to replace what is stored",
    "respondents": "say so with --column; with --respondents, each value of the column sample is a person",
    "same_answers": "if both are one model, models merge NAME NAME --into NAME joins them; the page of a run can withdraw it",
    "unit": "leave out --confidence-scale percent",
    "words": "say so with --words",
}


class CommandRefused(click.ClickException):
    """Ends the command with exit code 1."""

    exit_code = 1


def checked(read: Callable[[Any], Any]) -> Callable[[click.Context, click.Parameter, Any], Any]:
    """Return a ``callback`` that reads what was given for an option; what is invalid is reported with the option."""

    def callback(context: click.Context, parameter: click.Parameter, given: Any) -> Any:
        try:
            return read(given)
        except ValueError as error:
            raise click.BadParameter(str(error)) from error

    return callback


END_DATE = checked(lambda text: None if text is None else read_end(text))  # the value of an option that is a date or a time


@contextmanager
def progress_bar(title: str) -> Iterator[Progress]:
    """Show a progress bar on a terminal, and nothing elsewhere. Yields a function to call at each step."""
    if not sys.stderr.isatty():
        yield lambda label, done, total: None
        return
    with click.progressbar(length=1, label=title, file=sys.stderr, show_eta=False, item_show_func=str, width=30) as bar:

        def step(label: str, done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos, label)

        yield step


def seed_empty_store(store: Store) -> None:
    """Import the bundled datasets into a store that was never written to, with a message on standard error."""
    if store.version() != "0":
        return
    click.echo("The store is empty: importing the bundled datasets first.", err=True)
    with progress_bar("Preparing the bundled datasets") as progress:
        seed(store, progress=progress)


def print_remarks(repaired: Mapping[str, int], warnings: Sequence[str], hints: Sequence[Hint] = ()) -> None:
    """Print what an import repaired and, on standard error, its warnings and what can be done about them."""
    for defect, count in sorted(repaired.items()):
        click.echo(f"repaired: {count:,} {defect}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)
    for hint in hints:
        click.echo(f"  {HINTS[hint]}", err=True)


def print_report(report: Report) -> None:
    """Print what an import did, and its remarks."""
    for line in report.lines:
        click.echo(line)
    print_remarks(report.repaired, report.warnings, report.hints)


def refusal(refused: Refused, done: str) -> CommandRefused:
    """Return the report of refused files: the problems one by one or, if there are many, by kind and all of them in a file.

    ``done`` is the participle of what was not done with the files, such as ``imported``.
    """
    problems, kinds = refused.problems, refused.kinds
    lines = [f"{counted(refused.total, 'problem')}; nothing was {done}", *refused.advice]
    if refused.total <= MAX_ROWS:
        lines += [f"{problem.place}: {_reason(problem)}" for problem in problems]
    else:
        lines += [line for kind in kinds[:MAX_KINDS] for line in _kind_lines(kind)]
        with tempfile.NamedTemporaryFile(
            "w", prefix="clueline-report-", suffix=".csv", delete=False, encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file)
            writer.writerow(["file", "line", "row", "column", "value", "reason"])
            rows = ((p.file, p.line, p.row, p.column, p.value, _reason(p)) for p in problems)
            writer.writerows([spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
        more = f"and {len(kinds) - MAX_KINDS:,} more kinds; " if len(kinds) > MAX_KINDS else ""
        extent = "all problems" if len(problems) == refused.total else f"the first {len(problems):,} problems"
        lines.append(f"{more}{extent}, row by row: {file.name}")
    if command := _complete_command(problems):
        lines.append(command)
    return CommandRefused("\n".join(lines))


def _complete_command(problems: Sequence[Problem]) -> str | None:
    """Return the command that was given, with the options that answer what was asked; None if nothing can be answered so.

    Of several columns that could be meant, the first is named, and the others below it. No command reads doubtful numbers as
    percentages: 0.9 would become 0.9 %.
    """
    asked = [problem for problem in problems if problem.choices]
    repeated = any(problem.hint == "repeats" for problem in problems)
    known = ("column", "words", "repeats", "respondents")
    if not (asked or repeated) or any(problem.hint not in known for problem in problems):
        return None
    options, others = [], []
    for problem in asked:
        if problem.hint == "words":
            options += ["--words", ",".join(problem.choices)]
        else:
            options += ["--column", problem.choices[0], *(["--respondents"] if problem.hint == "respondents" else [])]
            others += [f"--column {shlex.quote(choice)}" for choice in problem.choices[1:]]
    if repeated:
        options += [] if options else ["--repeats", REPEATS[0]]
        others += [f"--repeats {repeats}" for repeats in REPEATS if repeats not in options]
    lines = [f"For example: clueline {shlex.join([*click.get_current_context().meta['clueline.arguments'], *options])}"]
    if others:
        lines.append(f"instead of the first that fits: {', or '.join(others)}")
    return "\n".join(lines)


def _kind_lines(kind: ProblemKind) -> list[str]:
    """Return one line for a kind of problem, with its first examples, or one line per problem if there are only a few."""
    first = kind.examples[0]
    if kind.count <= len(kind.examples):
        return [f"{problem.place}: {_reason(problem)}" for problem in kind.examples]
    column = f", column {first.column}" if first.column else ""
    rows = [f"{f'line {p.line}' if p.line else p.row or p.file}" + (f" ({p.value!r})" if p.value else "") for p in kind.examples]
    return [f"{first.file}{column}, {kind.count:,} times: {_reason(first)}; as in {', '.join(rows)}"]


def _reason(problem: Problem) -> str:
    """Return what is wrong and, in terms of command-line options, how to fix it."""
    return f"{problem.reason}; {HINTS[problem.hint]}" if problem.hint else problem.reason


def refusal_of(error: Exception) -> CommandRefused | None:
    """Return what a command says when it ends with an error that users can cause; None for any other error."""
    if isinstance(error, Refused):
        return refusal(error, "imported")
    if isinstance(error, StoreError | BadRequest):
        return CommandRefused(error_message(error))
    if isinstance(error, NoSuchRun):
        return CommandRefused(f"there is no run {str(error)!r}")
    if isinstance(error, BadMapping | BadModel | BadTag | KeepingError | NoSuchGuess | SessionError | TokenError):
        return CommandRefused(str(error))
    return None
