"""A metric by release date: the figure, its table, and which runs are left out."""

from __future__ import annotations

from collections.abc import Mapping

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import DASH, short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import row, table
from dashboard.figures.release_dates import release_dates_figure
from data.plurals import counted
from queries.metrics import Metric
from queries.release_dates import ReleaseDates

MIN_DATES = 2  # fewer dates make no figure


def release_dates_section(
    result: ReleaseDates, metric: Metric, names: Mapping[str, str], colours: RunColours
) -> html.Section | None:
    """Return the metric of each run at the release date of its model; None with fewer than two dates.

    Args:
        result: runs by date.
        metric: metric that is shown.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    runs = [run for run in result.runs if run.value is not None]
    if len({run.day for run in runs}) < MIN_DATES:
        return None
    rows = [
        row(
            named(colours.get(run.run), names[run.run]),
            run.released,
            short(run.value),
            DASH if run.low is None else f"{short(run.low)} to {short(run.high)}",
            "yes" if run.best_so_far else "",
        )
        for run in runs
    ]
    left_out = [f"{counted(result.undated, 'run has', 'runs have')} no tag “released”"] if result.undated else []
    left_out += [f"{names[run]} has “{text}”, which is not a date" for run, text in result.unreadable.items()]
    return html.Section(
        [
            html.H2("By release date"),
            figure(
                "release-dates",
                release_dates_figure(runs, metric, names, colours),
                f"{metric.name} of each run at the release date of its model, with its 95 % interval"
                + (". The line is the best so far" if metric.ranks else ""),
                table(["Run", "Released", metric.name, "95 % interval", "Best so far"], rows, f"{metric.name} by release date"),
                legend([run.run for run in runs], names, colours),
            ),
            html.P(f"Left out: {'; '.join(left_out)}. See docs/importing.md.", className="note") if left_out else None,
        ],
        id="release-dates",
    )
