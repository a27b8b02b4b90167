"""``clueline check``: a gate for builds. It says whether answers keep to limits, or are worse than a baseline."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl
from xml.etree import ElementTree

import click
import numpy as np

from clueline.dashboard.cli.importing import file_options, import_options
from clueline.dashboard.cli.progress import CommandRefused, print_remarks, progress_bar, refusal
from clueline.dashboard.http.messages import error_message, message_with_allowed
from clueline.dashboard.settings import Settings
from clueline.dashboard.ui.text import p_value_text, short
from clueline.dashboard.uploads.summaries import IncomingRun, answered, incoming_runs
from clueline.data.importing.column_mapping import BadMapping
from clueline.data.importing.ingest import DryRun, import_paths, open_dry_run
from clueline.data.importing.report import Refused
from clueline.data.importing.seed import seed
from clueline.data.importing.staging import ImportOptions
from clueline.data.plurals import counted
from clueline.data.scratch_folders import scratch_folder
from clueline.data.store import Snapshot, Store, StoreError, open_store
from clueline.data.store.kept_mappings import KeepingError
from clueline.queries.compare import Difference, comparison
from clueline.queries.completeness import Completeness, completeness
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.common_questions import MIN_SHARE
from clueline.queries.engine.inference import SMALL_SAMPLE
from clueline.queries.engine.multiple_comparisons import holm
from clueline.queries.leaderboard import LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.selection import Selection, read_facets, read_selection
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.reference_people import with_people

Side = Literal["at most", "at least"]
SINGLE = "these are the answers to a single question"
NOTE = (
    "Intervals are 95 % intervals. What is not shown to be worse, or outside a limit, can still be so: the fewer questions, the "
    "larger a difference has to be to show."
)


class CannotCheck(click.ClickException):
    """Ends the command with exit code 2, because nothing could be judged."""

    exit_code = 2


class Limit(NamedTuple):
    """What a metric may be at most or at least."""

    metric: Metric
    side: Side
    value: float

    @property
    def text(self) -> str:
        return f"{self.side} {self.value:g}"


class Verdict(NamedTuple):
    """A rule for a run: what it is about, its text, what was measured, and what follows, which begins with holds or fails."""

    run: IncomingRun
    about: str
    rule: str
    measured: str
    says: str

    @property
    def fails(self) -> bool:
        return self.says.startswith("fails")

    @property
    def line(self) -> str:
        return f"{self.about} {self.measured}, {self.rule}: {self.says}"


def _read_metric(key: str) -> Metric:
    if key not in CATALOGUE:
        raise click.BadParameter(f"there is no metric {key!r}; there are: {', '.join(CATALOGUE)}")
    return CATALOGUE[key]


def _read_limits(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> list[Limit]:
    side: Side = "at most" if parameter.name == "most" else "at least"
    limits = []
    for text in texts:
        key, _, number = text.partition("=")
        try:
            limits.append(Limit(_read_metric(key), side, float(number)))
        except ValueError:
            raise click.BadParameter(f"{text!r} is not METRIC=NUMBER, such as ece=.1") from None
    return limits


def _read_compared(context: click.Context, parameter: click.Parameter, keys: tuple[str, ...]) -> list[Metric]:
    metrics = [_read_metric(key) for key in dict.fromkeys(keys)]
    for metric in metrics:
        if metric.direction == "none":
            raise click.BadParameter(f"no value of {metric.key} is better than another one; choose a metric that ranks runs")
        if metric.direction == "zero":
            reason = f"{metric.key} is best at 0, and a difference does not show which of two runs is nearer to it"
            raise click.BadParameter(f"{reason}; limit it with --max and --min")
    return metrics


@click.command("check")
@file_options
@click.option("--dataset", metavar="ID", help="Dataset that the answers are for.")
@click.option("--max", "most", metavar="METRIC=X", multiple=True, callback=_read_limits, help="At most X; can be repeated.")
@click.option("--min", "least", metavar="METRIC=X", multiple=True, callback=_read_limits, help="At least X; can be repeated.")
@click.option("--not-worse", metavar="METRIC", multiple=True, callback=_read_compared, help="Not worse than the baseline.")
@click.option(
    "--margin",
    type=click.FloatRange(0, min_open=True),
    metavar="M",
    help="With --not-worse: the whole 95 % interval shows that the run is less than M worse than the baseline.",
)
@click.option(
    "--baseline", metavar="RUN|NAME|FILE", help="A run of the store, the name of a baseline, or a file with answers of one run."
)
@click.option(
    "--min-complete",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    default=MIN_SHARE,
    show_default=True,
    help="At least this share of the questions is answered; a failed call is no answer. 0: however few.",
)
@click.option("--strict", is_flag=True, help="Judge by the values alone, however uncertain they are.")
@click.option("--query", metavar="TEXT", default="", help="Filters and conventions of an address: 'binning=mass15&failed=1'.")
@click.option("--summary", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Append a report in Markdown.")
@click.option("--junit", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE", help="Write a report as JUnit XML.")
@click.option("--store", metavar="STORE", help="The store with the dataset, instead of CLUELINE_STORE; it is only read.")
@click.pass_obj
def check_command(
    settings: Settings,
    paths: Sequence[Path],
    most: list[Limit],
    least: list[Limit],
    not_worse: list[Metric],
    margin: float | None,
    baseline: str | None,
    min_complete: float,
    strict: bool,
    query: str,
    summary: Path | None,
    junit: Path | None,
    store: str | None,
    **stated: Any,
) -> None:
    """Check the answers in files against limits and a baseline. Nothing is stored, and no server is needed.

    A run that answered fewer than 90 % of the questions fails. A limit is broken if the whole 95 % interval lies beyond it. A run
    is worse than the baseline if the difference on the questions that both answered is significant: p < 0.05, adjusted for all
    --not-worse by Holm's method. With --margin, it must be shown not to be worse by that much: few questions fail. With --strict,
    values alone decide. Exit codes: 0 if all holds, 1 if something fails, 2 if it
    cannot be checked.
    """
    if not (most or least or not_worse):
        raise click.UsageError("Say what must hold, such as --max ece=.1, --min accuracy=.5 or --not-worse brier.")
    if bool(not_worse) != bool(baseline):
        raise click.UsageError("--not-worse and --baseline belong together, as in --not-worse brier --baseline RUN.")
    if margin is not None and (not not_worse or strict):
        raise click.UsageError("--margin says how much worse --not-worse allows: give --not-worse, and no --strict.")
    try:
        with ExitStack() as stack:
            opened = open_store(store or settings.store)
            options = import_options(opened, **stated)
            used, reference = stack.enter_context(_prepared(opened, baseline, options))
            known = [name for (name,) in used.snapshot().rows("select dataset from datasets order by position")]
            if stated["dataset"] is not None and stated["dataset"] not in known:
                raise CannotCheck(f"The store has no dataset {stated['dataset']!r}. There are: {', '.join(known)}.")
            progress = stack.enter_context(progress_bar("Checking"))
            dry_run = stack.enter_context(open_dry_run(used, paths, options, content="datasets", progress=progress))
            if min_complete and dry_run.dataset not in known:
                raise CannotCheck(
                    f"The store has no dataset {dry_run.dataset!r}, so nothing says which questions are missing. "
                    f"Name the dataset with --dataset, import it first, or add --min-complete 0. There are: {', '.join(known)}."
                )
            runs = incoming_runs(dry_run.snapshot, dry_run.report.runs, dry_run.stored, ())
            if reference is not None:
                baselines = dict(read_facets(dry_run.snapshot, dry_run.dataset).baselines)
                reference = baselines.get(reference, reference)
            gate = Gate(min_complete, [*most, *least], not_worse, margin, reference, strict)
            verdicts = judge(dry_run, runs, query, gate)
    except Refused as refused:
        raise CannotCheck(refusal(refused, "checked").message) from refused
    except BadRequest as error:
        more = (
            " A baseline can also be a file of answers, or a name that a run has as its tag `baseline`."
            if error.field == "b"
            else ""
        )
        raise CannotCheck(message_with_allowed(error) + more) from error
    except (BadMapping, KeepingError) as error:
        raise CannotCheck(str(error)) from error
    except (StoreError, CommandRefused) as error:
        raise CannotCheck(error_message(error) if isinstance(error, StoreError) else error.message) from error
    print_remarks(dry_run.report.repaired, dry_run.report.warnings)
    for run in runs:
        click.echo(_title(run, dry_run.dataset))
        for verdict in (verdict for verdict in verdicts if verdict.run is run):
            click.echo(f"  {verdict.line}")
    try:
        if summary:
            with summary.open("a", encoding="utf-8") as file:  # the steps of a job share one file
                file.write(markdown(dry_run.dataset, runs, verdicts))
        if junit:
            ElementTree.ElementTree(junit_xml(dry_run.dataset, verdicts)).write(junit, "utf-8", xml_declaration=True)
    except OSError as error:
        raise CannotCheck(f"{error.filename} cannot be written: {error.strerror}; choose another file.") from error
    if any(verdict.fails for verdict in verdicts):
        raise click.exceptions.Exit(1)


@contextmanager
def _prepared(store: Store, baseline: str | None, options: ImportOptions) -> Iterator[tuple[Store, str | None]]:
    """Yield the store to measure in, and the id of the baseline. A file goes into a copy of the store, made for this."""
    path = Path(baseline) if baseline and Path(baseline).exists() else None
    empty = store.version() == "0"
    if path is None and not empty:
        yield store, baseline
        return
    with scratch_folder() as folder, closing(open_store(folder / "store")) as copy:
        if empty:
            seed(copy)
        else:
            copy.adopt(store, store.pointer().name, is_copy=True)
        if path is not None:
            runs = import_paths(copy, [path], options).runs
            if len(runs) != 1:
                raise CannotCheck(f"{path} holds {counted(len(runs), 'run')}; a baseline is the answers of one run.")
            baseline = runs[0]
        yield copy, baseline


class Gate(NamedTuple):
    """The rules of a check: the share to be answered, limits, and metrics that are compared with a baseline, the id of a run.

    A run may be worse than the baseline by less than the ``margin`` or, if that is None, as far as nothing shows that it is.
    """

    min_complete: float
    limits: Sequence[Limit]
    compared: Sequence[Metric]
    margin: float | None
    baseline: str | None
    strict: bool


def judge(dry_run: DryRun, runs: Sequence[IncomingRun], query: str, gate: Gate) -> list[Verdict]:
    """Judge each run by each rule, in order. Each run is measured on its own, on all that it answered of the selection.

    Raises ``BadRequest`` if the query has an invalid key or value, or the dataset no such baseline.
    """
    snapshot = dry_run.snapshot
    pairs = [("dataset", dry_run.dataset), *parse_qsl(query, keep_blank_values=True)]
    selection = read_selection(pairs, lambda dataset: read_facets(snapshot, dataset))
    measured = with_people(snapshot, selection.dataset, selection.people)
    differences = {run.run: _differences(measured, selection, run.run, gate.baseline, gate.compared) for run in runs}
    family = [differences[run.run][metric.key] for run in runs for metric in gate.compared]
    raw = [np.nan if part is None or part.p_value is None else part.p_value for part in family]
    adjusted = iter(holm(np.array(raw)).tolist())
    verdicts = []
    for run in runs:
        verdicts.append(_complete(run, completeness(measured, selection, run.run), gate.min_complete))
        rows = leaderboard(measured, selection.on_runs([run.run]), [limit.metric for limit in gate.limits], intervals=True).rows
        for limit in gate.limits:
            verdicts.append(Verdict(run, limit.metric.label, limit.text, *_within(rows[0] if rows else None, limit, gate.strict)))
        for metric in gate.compared:
            difference, p_value = differences[run.run][metric.key], next(adjusted)
            if gate.margin is None:
                rule = "not worse than the baseline"
                judged = _compared(run, difference, p_value, gate.baseline or "", gate.strict)
            else:
                rule = f"less than {gate.margin:g} worse than the baseline"
                judged = _not_inferior(run, difference, metric, gate.margin)
            verdicts.append(Verdict(run, metric.label, rule, *judged))
    return verdicts


def _complete(run: IncomingRun, measure: Completeness, minimum: float) -> Verdict:
    """Judge how much of the selected questions a run answered."""
    share = round(measure.share or 0, 9)  # a mean of shares such as 1/3 is not exact
    shown = math.floor(1000 * share) / 10  # rounded down: what is too little must not look like enough
    measured = f"{shown:g} % of {counted(measure.questions, 'question')} answered, {counted(measure.failed, 'failed call')}"
    return Verdict(run, "Completeness", f"at least {100 * minimum:g} %", measured, "fails" if share < minimum else "holds")


def _differences(
    snapshot: Snapshot, selection: Selection, run: str, baseline: str | None, metrics: Sequence[Metric]
) -> dict[str, Difference | None]:
    """Return the differences to the baseline; None where it is the same run."""
    if baseline is None or run == baseline:
        return dict.fromkeys((metric.key for metric in metrics), None)
    return {**comparison(snapshot, selection, run, baseline, metrics).metrics}


def _within(row: LeaderboardRow | None, limit: Limit, strict: bool) -> tuple[str, str]:
    """Return what was measured of a limit, and what follows."""
    cell = row.metrics[limit.metric.key] if row else None
    if row is None or cell is None or cell.value is None:
        return "has no value", f"fails: {cell.missing if cell else 'the selection holds no answer of the run'}"

    def beyond(value: float) -> bool:
        return value > limit.value if limit.side == "at most" else value < limit.value

    if cell.low is None or cell.high is None:
        return short(cell.value), _by_value(beyond(cell.value), None if strict else cell.no_interval or row.unranked or SINGLE)
    measured = f"{short(cell.value)} [{short(cell.low)}, {short(cell.high)}]"
    direction = "above" if limit.side == "at most" else "below"
    if strict:
        return measured, _by_value(beyond(cell.value), None)
    if beyond(cell.low) and beyond(cell.high):
        return measured, f"fails, the whole interval is {direction}"
    if beyond(cell.low) or beyond(cell.high):
        return measured, f"holds, not shown to be {direction}{_few(cell.questions)}"
    return measured, "holds, the whole interval is within"


def _compared(run: IncomingRun, difference: Difference | None, p_value: float, baseline: str, strict: bool) -> tuple[str, str]:
    """Return what was measured of a difference to the baseline, and what follows; ``p_value`` is adjusted."""
    if difference is None:
        return "is that of the baseline", "holds, these are the same answers"
    if difference.difference is None:
        return "has no difference", f"fails: {difference.missing}"
    measured = f"{short(difference.a)} against {short(difference.b)}, difference {short(difference.difference)}"
    worse = difference.better == baseline
    if difference.low is None:
        return measured, _by_value(worse, None if strict else difference.no_interval or SINGLE)
    measured += f" [{short(difference.low)}, {short(difference.high)}], p {p_value_text(p_value)}"
    if strict:
        return measured, _by_value(worse, None)
    if difference.better is None or not p_value < SIGNIFICANCE:  # NaN shows nothing
        return measured, f"holds, not shown to be worse{_few(run.questions)}"
    return measured, "fails, shown to be worse" if worse else "holds, shown to be better"


def _not_inferior(run: IncomingRun, difference: Difference | None, metric: Metric, margin: float) -> tuple[str, str]:
    """Return what was measured of a difference to the baseline, and whether the run is shown to be less than the margin worse.

    The interval of 95 % is that of a one-sided test at 2.5 %, as is usual for non-inferiority. All rules must hold, so none is
    adjusted for the others.
    """
    if difference is None:
        return "is that of the baseline", "holds, these are the same answers"
    if difference.difference is None:
        return "has no difference", f"fails: {difference.missing}"
    measured = f"{short(difference.a)} against {short(difference.b)}, difference {short(difference.difference)}"
    if difference.low is None or difference.high is None:
        if difference.difference == 0 and run.questions >= SMALL_SAMPLE:
            return measured, "holds, the values are the same"
        return measured, f"fails, nothing shows how large the difference is: {difference.no_interval or SINGLE}"
    measured += f" [{short(difference.low)}, {short(difference.high)}]"
    most, least = (-difference.low, -difference.high) if metric.direction == "higher" else (difference.high, difference.low)
    if most < margin:
        return measured, "holds, the whole interval is within the margin"
    if least < margin:
        return measured, "fails, the interval reaches beyond the margin: more questions may show that the run is within it"
    return measured, "fails, the whole interval is beyond the margin"


def _by_value(fails: bool, no_interval: str | None) -> str:
    word = "fails" if fails else "holds"
    return f"{word} by the value alone, because there is no interval: {no_interval}" if no_interval else word


def _few(questions: int) -> str:
    return f"; with {counted(questions, 'question')}, little can be shown" if questions < SMALL_SAMPLE else ""


def _title(run: IncomingRun, dataset: str) -> str:
    return f"{run.model} ({run.elicitation}), {answered(run, dataset)}"


def markdown(dataset: str, runs: Sequence[IncomingRun], verdicts: Sequence[Verdict]) -> str:
    """Return a report for the summary of a job."""
    failed = sum(verdict.fails for verdict in verdicts)
    lines = [f"### Calibration: {f'{failed} of {len(verdicts)} rules fail' if failed else 'all rules hold'}"]
    for run in runs:
        lines += ["", _title(run, dataset), "", "| | | measured | rule | |", "|---|---|---|---|---|"]
        for verdict in (verdict for verdict in verdicts if verdict.run is run):
            cells = ("❌" if verdict.fails else "✅", verdict.about, verdict.measured, verdict.rule, verdict.says)
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join([*lines, "", NOTE, "", ""])


def junit_xml(dataset: str, verdicts: Sequence[Verdict]) -> ElementTree.Element:
    """Return a report as JUnit XML, a test case for each rule of each run."""
    failed = sum(verdict.fails for verdict in verdicts)
    suite = ElementTree.Element(
        "testsuite", name=f"clueline {dataset}", tests=str(len(verdicts)), failures=str(failed), errors="0"
    )
    for verdict in verdicts:
        name, run = f"{verdict.about} {verdict.rule}", f"{verdict.run.model} ({verdict.run.elicitation})"
        case = ElementTree.SubElement(suite, "testcase", classname=run, name=name)
        if verdict.fails:
            ElementTree.SubElement(case, "failure", message=verdict.line)
        ElementTree.SubElement(case, "system-out").text = verdict.line
    return suite
