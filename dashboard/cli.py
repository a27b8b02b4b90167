"""The command line. Exit codes: 0 done, 1 refused (the report is on standard error), 2 usage."""

from __future__ import annotations

import csv
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from dashboard.parameters import MetricsParameters
from dashboard.settings import BadSetting, Settings, read_settings, unknown_settings
from dashboard.usecases.scoring import lines, score
from data.importing.dry_run import open_dry_run
from data.importing.ingest import Progress, import_paths, seed
from data.importing.report import Refused, Report
from data.importing.staging import ImportOptions
from data.readers import readers
from data.store.generations import StoreError, open_store
from data.store.repair import damage_of, versions_on_disk
from data.tokens import TokenError, Tokens
from queries.datasets import datasets
from queries.parameters import BadRequest
from queries.selection import facets, read_address

SHOWN = 200  # bad rows on standard error; the rest stand in a file that is named there


class Refusal(click.ClickException):
    """Ends the command with exit code 1."""

    exit_code = 1


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.pass_context
def main(context: click.Context) -> None:
    """Clueline: how well language models know what they know.

    Settings are environment variables such as CLUELINE_STORE and CLUELINE_PORT; the README lists them.
    """
    try:
        context.obj = read_settings()
    except BadSetting as error:
        raise click.UsageError(str(error)) from error
    for name in unknown_settings():
        click.echo(f"warning: there is no setting {name}; the README lists those there are", err=True)


@main.command()
@click.pass_obj
def serve(settings: Settings) -> None:
    """Serve the dashboard and its JSON addresses; an empty store is given the bundled datasets first."""
    _check_port(settings)
    try:
        if open_store(settings.store).version() == "0":
            with _progress("Preparing the bundled datasets") as progress:
                seed(open_store(settings.store), progress)
    except (StoreError, Refused) as error:
        raise Refusal(str(error)) from error
    # gunicorn forks its workers, and a process that has so much as imported DuckDB cannot be forked and end cleanly.
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "dashboard.server"])


def _about_files(command: Callable[..., None]) -> Callable[..., None]:
    """The argument and options of commands that read files of runs."""
    for add in (
        click.option(
            "--confidence-scale",
            type=click.Choice(["unit", "percent"]),
            default="unit",
            show_default=True,
            help="Scale of the file's confidences.",
        ),
        click.option("--classes", metavar="A,B,C", help="Classes in order: of a dataset, or of ChaosNLI predictions."),
        click.option("--elicitation", help="How its confidence was elicited, where the file does not say."),
        click.option("--model", help="Model of a run, where the file does not say."),
        click.option("--as", "form", metavar="FORMAT", help="Format of the files; without it, recognised by name and content."),
        click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="PATH..."),
    ):
        command = add(command)
    return command


@main.command("import")
@_about_files
@click.option("--dataset", metavar="ID", help="Dataset to create or to attach to.")
@click.option("--title", help="Title of a dataset that is created.")
@click.option("--replace", is_flag=True, help="Put these questions in the place of a dataset's other ones.")
@click.pass_obj
def import_command(
    settings: Settings, paths: Sequence[Path], form: str | None, confidence_scale: str, classes: str | None, **said: Any
) -> None:
    """Import datasets and runs from files, folders and zips: everything or, if anything is wrong, nothing."""
    _check_form(form)
    options = _options(confidence_scale, classes, **said)
    try:
        with _progress("Importing") as progress:
            report = import_paths(open_store(settings.store), paths, options, form=form, progress=progress)
    except Refused as refused:
        raise Refusal(_refusal(refused, "imported")) from refused
    except StoreError as error:
        raise Refusal(str(error)) from error
    _say(report)


@main.command("score")
@_about_files
@click.option("--dataset", metavar="ID", help="Dataset of the store that the files answer.")
@click.option("--metrics", metavar="A,B", help="Metrics to compute; without it, all.")
@click.option("--binning", metavar="NAME", help="width10 (the default), width10+1 or massB: B bins of equal size.")
@click.option("--human", metavar="NAME", help="Human curve: buzz_share, team_share or survival; without it, each metric's own.")
@click.option("--beta", metavar="NUMBER", help="Weight of R_U against R_O in HMR; 1 by default.")
@click.option("--json", "as_json", is_flag=True, help="JSON as /api/v1/leaderboard gives it, and what an import would report.")
@click.pass_obj
def score_command(
    settings: Settings,
    paths: Sequence[Path],
    form: str | None,
    confidence_scale: str,
    classes: str | None,
    metrics: str | None,
    as_json: bool,
    binning: str | None,
    human: str | None,
    beta: str | None,
    **said: str | None,
) -> None:
    """Compute the metrics of files of runs, without storing anything."""
    _check_form(form)
    options = _options(confidence_scale, classes, **said)
    pairs = [(key, value) for key, value in (("binning", binning), ("human", human), ("beta", beta)) if value is not None]
    store = open_store(settings.store)
    try:
        # A mistake there is reported before a large file is read.
        named = [] if metrics is None else [("metrics", metrics)]
        chosen = read_address([*pairs, *named], lambda name: facets(store.snapshot(), name), MetricsParameters).parameters.metrics
        with _progress("Scoring") as progress, open_dry_run(store, paths, options, form=form, progress=progress) as trial:
            found = score(trial, pairs, chosen)
    except BadRequest as error:
        if error.code == "empty_store":
            raise Refusal(error.message) from error
        allowed = f" There are: {', '.join(error.allowed)}." if error.allowed else ""
        raise click.BadParameter(error.message + allowed, param_hint=f"--{error.field}") from error
    except Refused as refused:
        raise Refusal(_refusal(refused, "scored")) from refused
    except StoreError as error:
        raise Refusal(str(error)) from error
    if as_json:
        click.echo(found.json())
        return
    for line in lines(found):
        click.echo(line)
    _remark(found.repaired, found.warnings)


@main.command("datasets")
@click.pass_obj
def datasets_command(settings: Settings) -> None:
    """List the datasets of the store."""
    try:
        found = datasets(open_store(settings.store).snapshot()).datasets
    except StoreError as error:
        raise Refusal(str(error)) from error
    if not found:
        click.echo(f"The store in {settings.store} is empty.")
    for dataset in found:
        people = f", {dataset.human_teams} human teams" if dataset.human_teams else ""
        people += f", {dataset.votes:,} human votes" if dataset.votes else ""
        click.echo(
            f"{dataset.dataset}: {dataset.title} ({dataset.kind}), {dataset.questions:,} questions, {dataset.runs} runs{people}"
        )


@main.command("repair")
@click.option("--yes", is_flag=True, help="Restore the newest whole version without asking.")
@click.pass_obj
def repair_command(settings: Settings, yes: bool) -> None:
    """Look for damage in the store; if there is any, list the versions in its folder and restore the newest whole one."""
    store = open_store(settings.store)
    damage = damage_of(store)
    if damage is None:
        click.echo(f"The store in {settings.store} is {'whole' if store.generation() else 'empty'}: nothing to repair.")
        return
    click.echo(str(damage))
    versions = versions_on_disk(store)
    for version in versions:
        state = f"damaged: {version.damage}" if version.damage else f"whole: {version.datasets} datasets, {version.runs} runs"
        click.echo(f"  {version.name}  {version.written_at:%Y-%m-%d %H:%M} UTC  {version.size / 2**20:,.1f} MiB  {state}")
    newest = next((version for version in versions if version.damage is None), None)
    if newest is None:
        raise Refusal("No whole version is left; restore the folder from a backup. Nothing was changed.")
    if not yes:
        click.confirm(f"Restore {newest.name}?", abort=True)
    try:
        store.restore(newest.name)
    except StoreError as error:
        raise Refusal(str(error)) from error
    click.echo(f"{newest.name} is in force again. No file was deleted.")


@main.group("token")
def token_group() -> None:
    """Make, list and revoke the tokens that uploads need."""


@token_group.command("create")
@click.argument("name")
@click.pass_obj
def token_create(settings: Settings, name: str) -> None:
    """Make a token for whoever is called NAME, and show it: this once, for only its hash is kept."""
    with _telling():
        click.echo(_tokens(settings).create(name))


@token_group.command("list")
@click.pass_obj
def token_list(settings: Settings) -> None:
    """List the tokens: name, when made, when revoked; separated by tabs."""
    with _telling():
        for token in _tokens(settings).all():
            click.echo(f"{token.name}\t{token.made_at}\t{f'revoked {token.revoked_at}' if token.revoked_at else 'valid'}")


@token_group.command("revoke")
@click.argument("name")
@click.pass_obj
def token_revoke(settings: Settings, name: str) -> None:
    """End the token called NAME, at once and for good; what it brought stays."""
    with _telling():
        _tokens(settings).revoke(name)
    click.echo(f"The token {name!r} is revoked.")


def _tokens(settings: Settings) -> Tokens:
    return Tokens(open_store(settings.store).folder)


@contextmanager
def _telling() -> Iterator[None]:
    """What is wrong with a token ends the command in one line."""
    try:
        yield
    except (TokenError, StoreError) as error:
        raise Refusal(str(error)) from error


def _check_form(form: str | None) -> None:
    if form is not None and form not in readers():
        raise click.BadParameter(f"this version reads: {', '.join(sorted(readers()))}", param_hint="--as")


def _options(confidence_scale: str, classes: str | None, **said: Any) -> ImportOptions:
    return ImportOptions(percent=confidence_scale == "percent", classes=tuple(classes.split(",")) if classes else (), **said)


def _check_port(settings: Settings) -> None:
    """Say in one line that the address is taken, where gunicorn would try five times."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((settings.host, settings.port))
        except OSError as error:
            raise Refusal(
                f"cannot listen on {settings.host}, port {settings.port}: {error.strerror}. Is Clueline running already? "
                "Choose another port: CLUELINE_PORT=8051"
            ) from error


class _progress:
    """A progress bar on a terminal, nothing elsewhere."""

    def __init__(self, title: str) -> None:
        self._bar = click.progressbar(length=1, label=title, file=sys.stderr, show_eta=False, item_show_func=str, width=30)
        self._shown = sys.stderr.isatty()

    def __enter__(self) -> Progress:
        if self._shown:
            self._bar.__enter__()
        return self._step

    def _step(self, what: str, done: int, total: int) -> None:
        if self._shown:
            self._bar.length = total
            self._bar.update(done - self._bar.pos, what)

    def __exit__(self, *error: Any) -> None:
        if self._shown:
            self._bar.__exit__(*error)


def _say(report: Report) -> None:
    for line in report.lines:
        click.echo(line)
    _remark(report.repaired, report.warnings)


def _remark(repaired: Mapping[str, int], warnings: Sequence[str]) -> None:
    for what, count in sorted(repaired.items()):
        click.echo(f"repaired: {count:,} {what}")
    for warning in warnings:
        click.echo(f"warning: {warning}", err=True)


def _refusal(refused: Refused, done: str) -> str:
    """The report of files that were refused: each bad row, and where the rest stands if there are very many."""
    problems = refused.problems
    lines = [f"{refused.total:,} {'problem' if refused.total == 1 else 'problems'}; nothing was {done}"]
    lines += map(str, problems[:SHOWN])
    if len(problems) > SHOWN:
        with tempfile.NamedTemporaryFile(
            "w", prefix="clueline-report-", suffix=".csv", delete=False, encoding="utf-8", newline=""
        ) as file:
            writer = csv.writer(file)
            writer.writerow(["file", "line", "column", "value", "reason"])
            writer.writerows((p.file, p.line, p.column, p.value, p.reason) for p in problems)
        rest = "all of them" if len(problems) == refused.total else f"the first {len(problems):,}"
        lines.append(f"... and {refused.total - SHOWN:,} more; {rest}: {file.name}")
    return "\n".join(lines)
