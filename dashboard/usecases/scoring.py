"""The metrics of a file that is not stored: what ``python -m dashboard score`` says, as JSON and as a table to read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from dashboard.uploads.incoming_runs import IncomingRun, incoming_runs
from data.importing.dry_run import DryRun
from queries.leaderboard import Leaderboard, leaderboard
from queries.metrics import CATALOGUE, Metric
from queries.selection import facets, read_selection

Pairs = Sequence[tuple[str, str]]


class Score(msgspec.Struct):
    """The leaderboard of the file's runs, among themselves, and what its import would report."""

    leaderboard: Leaderboard
    runs: list[IncomingRun]
    warnings: list[str]
    repaired: dict[str, int]

    def json(self) -> bytes:
        """The answer of ``/api/v1/leaderboard`` with three keys more."""
        report = {"runs": self.runs, "warnings": self.warnings, "repaired": self.repaired}
        return msgspec.json.encode(msgspec.structs.asdict(self.leaderboard) | report)


def score(trial: DryRun, conventions: Pairs, metrics: Sequence[Metric]) -> Score:
    """Compute metrics of the runs of a rehearsed import; ``conventions`` are keys of a selection. Raises ``BadRequest``."""
    snapshot, report = trial.snapshot, trial.report
    pairs = [("dataset", trial.dataset), *(("run", name) for name in report.runs), *conventions]
    selection = read_selection(pairs, lambda dataset: facets(snapshot, dataset))
    runs = incoming_runs(snapshot, report.runs, trial.stored)
    return Score(leaderboard(snapshot, selection, metrics), runs, report.warnings, dict(sorted(report.repaired.items())))


def lines(score: Score) -> Iterator[str]:
    """A score as text: per run what it answered, and a line per metric with its value or why there is none."""
    facts = {one.run: one for one in score.runs}
    for row in score.leaderboard.rows:
        of = facts[row.run]
        told = f"{row.model} ({row.elicitation}): {of.items:,} items of {of.questions:,} questions"
        told += f"; {of.missing_questions:,} questions not answered" if of.missing_questions else ""
        told += "".join(f"; {count:,} rows skipped: {reason}" for reason, count in sorted(of.skipped.items()))
        yield told + (f"; in the store as run {of.run}" if of.stored else "")
        width = max(map(len, row.metrics), default=0)
        for key, cell in row.metrics.items():
            if cell.value is None:
                yield f"  {key:<{width}}  {'-':>10}  {cell.missing}"
                continue
            line = f"  {key:<{width}}  {cell.value:>10.6f}"
            if cell.low is not None and cell.high is not None:
                line += f"  [{cell.low:.6f}, {cell.high:.6f}]"
            if CATALOGUE[key].level == "question" and cell.questions < row.questions:
                line += f"  over {cell.questions:,} questions"
            yield line
