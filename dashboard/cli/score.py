"""``clueline score``: computes the metrics of a file without storing it, as JSON or as a readable table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from clueline.dashboard.cli.importing import file_options, import_options
from clueline.dashboard.cli.progress import print_remarks, progress_bar, refusal
from clueline.dashboard.http.messages import message_with_allowed
from clueline.dashboard.registry.keys import MetricsParameters
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads.summaries import IncomingRun, answered, incoming_runs
from clueline.data.importing.ingest import DryRun, open_dry_run
from clueline.data.importing.report import Refused
from clueline.data.plurals import counted
from clueline.data.store import open_store
from clueline.queries.leaderboard import Leaderboard, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection import read_address, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.reference_people import with_people

Pairs = Sequence[tuple[str, str]]
CONVENTIONS = ("binning", "human", "beta", "t", "failed", "common")  # options that are keys of a selection
HUMAN_HELP = "Human curve: buzz_share, release_share, team_share or survival; by default, each metric's own."


@click.command("score")
@file_options
@click.option("--dataset", metavar="ID", help="Dataset in the store that the files answer.")
@click.option("--metrics", metavar="A,B", help="Metrics to compute; by default, all.")
@click.option("--binning", metavar="NAME", help="width10 (the default), width10r, width10+1 or massB: B bins of equal size.")
@click.option("--human", metavar="NAME", help=HUMAN_HELP)
@click.option("--beta", metavar="NUMBER", help="Weight of R_U relative to R_O in HMR; 1 by default.")
@click.option("--t", metavar="NUMBER", help="Confidence above which an answer counts in the net score; 0.5 by default.")
@click.option("--failed", metavar="0|1", help="1: failed calls count as wrong in accuracy; left out by default.")
@click.option("--grading", metavar="NAME", help="Grading in the files to use: a column correct.NAME, or graded (by the rules).")
@click.option("--common", metavar="0|1|all", help="0: each run on its own questions; all: every run takes part in common ones.")
@click.option("--json", "as_json", is_flag=True, help="JSON as from /api/v1/leaderboard, with what an import would report.")
@click.pass_obj
def score_command(
    settings: Settings, paths: Sequence[Path], metrics: str | None, as_json: bool, grading: str | None, **stated: Any
) -> None:
    """Compute the metrics of files of runs, without storing anything."""
    conventions = [(key, value) for key in CONVENTIONS if (value := stated.pop(key)) is not None]
    store = open_store(settings.store)
    try:
        # A mistake in the options is reported before a large file is read.
        named = [] if metrics is None else [("metrics", metrics)]
        request = read_address([*conventions, *named], lambda name: read_facets(store.snapshot(), name), MetricsParameters)
        with (
            progress_bar("Scoring") as progress,
            open_dry_run(store, paths, import_options(store, **stated), content="datasets", progress=progress) as dry_run,
        ):
            named_grading = [] if grading is None else [("grading", grading)]  # only the files say which gradings exist
            board, runs = score(dry_run, [*conventions, *named_grading], request.parameters.metrics)
    except BadRequest as error:
        if error.code == "empty_store":
            raise
        raise click.BadParameter(message_with_allowed(error), param_hint=f"--{error.field}") from error
    except Refused as refused:
        raise refusal(refused, "scored") from refused
    report = dry_run.report
    if as_json:
        imported = {"runs": runs, "warnings": report.warnings, "repaired": dict(sorted(report.repaired.items()))}
        click.echo(msgspec.json.encode(msgspec.structs.asdict(board) | imported))
        return
    for line in score_lines(board, runs):
        click.echo(line)
    print_remarks(report.repaired, report.warnings, report.hints)


def score(dry_run: DryRun, conventions: Pairs, metrics: Sequence[Metric]) -> tuple[Leaderboard, list[IncomingRun]]:
    """Compute metrics of the runs in a dry run, ranked among themselves.

    ``conventions`` are keys of a selection and their values, such as ``("binning", "mass15")``. Raises ``BadRequest`` if one has
    an invalid value.
    """
    snapshot, report = dry_run.snapshot, dry_run.report
    pairs = [("dataset", dry_run.dataset), *(("run", name) for name in report.runs), *conventions]
    selection = read_selection(pairs, lambda dataset: read_facets(snapshot, dataset))
    runs = incoming_runs(snapshot, report.runs, dry_run.stored, report.gradings)
    measured = with_people(snapshot, selection.dataset, selection.people)
    return leaderboard(measured, selection, metrics), runs


def score_lines(board: Leaderboard, runs: Sequence[IncomingRun]) -> Iterator[str]:
    """Yield a line per run, followed by a line per metric with its value or the reason why it has none."""
    facts = {run.run: run for run in runs}
    for row in board.rows:
        run = facts[row.run]
        line = f"{row.model} ({row.elicitation}): {answered(run)}"
        if board.common is not None:
            line += f"; measured on {counted(row.items, 'item')} of {counted(row.questions, 'question')}"
        if row.unranked:
            line += f"; not ranked: {row.unranked}"
        yield line + (f"; in the store as run {run.run}" if run.already_stored else "")
        width = max(map(len, row.metrics), default=0)
        for key, cell in row.metrics.items():
            if cell.value is None:
                yield f"  {key:<{width}}  {'-':>10}  {cell.missing}"
                continue
            line = f"  {key:<{width}}  {cell.value:>10.6f}"
            if cell.low is not None and cell.high is not None:
                line += f"  [{cell.low:.6f}, {cell.high:.6f}]"
            if CATALOGUE[key].level == "question" and cell.questions < row.questions:
                line += f"  over {counted(cell.questions, 'question')}"
            yield line
