"""A metric over the release dates of models."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

from dashboard.figures.run_labels_and_lines import grey_first, run_labels
from dashboard.figures.style import FAINT, INK, MUTED, OTHERS, PlotlyJson, axis, layout, padded, plain
from queries.metrics import Metric
from queries.release_dates import DatedRun

HEIGHT = 340  # pixels
ROOM = 0.08  # space before the first date, as a share of the span of dates; after the last there is three times as much


def release_dates_figure(
    runs: list[DatedRun], metric: Metric, names: Mapping[str, str], colours: Mapping[str, str]
) -> PlotlyJson:
    """Draw a dot per run at its date, with its interval, and a stepped line through the best so far.

    Args:
        runs: runs by date, each with a value.
        metric: metric that is shown.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
    """
    by_id = {run.run: run for run in runs}
    labels = run_labels(names, [run for run in by_id if run in colours])
    data: list[PlotlyJson] = []
    best = [run for run in runs if run.best_so_far]
    if best:
        data.append({
            "type": "scatter", "mode": "lines", "x": [*(run.day for run in best), runs[-1].day],
            "y": [*(run.value for run in best), best[-1].value],
            "line": {"color": FAINT, "width": 2, "shape": "hv"}, "name": "Best so far", "hoverinfo": "skip",
        })  # fmt: skip
    for run_id in grey_first([*by_id], colours):
        run, colour = by_id[run_id], colours.get(run_id, OTHERS)
        reach = {} if run.low is None or run.high is None or run.value is None else {
            "error_y": {
                "type": "data", "symmetric": False, "array": [run.high - run.value], "arrayminus": [run.value - run.low],
                "color": colour, "thickness": 1.5, "width": 3,
            }
        }  # fmt: skip
        data.append({
            "type": "scatter", "mode": "markers", "meta": run_id, "name": plain(names[run_id]),
            "showlegend": run_id in colours, "x": [run.day], "y": [run.value],
            "cliponaxis": False, "marker": {"size": 9, "color": colour}, "customdata": [run.released],
            "hovertemplate": "%{fullData.name}<br>%{customdata}: %{y:.3f}<extra></extra>",
        } | reach)  # fmt: skip
    ends = [value for run in runs for value in (run.value, run.low, run.high)]
    # They have the same name as the labels of lines, so that a narrow screen leaves them out too.
    annotations = [
        {
            "name": "end-label", "x": by_id[run].day, "y": by_id[run].value, "text": label, "showarrow": False,
            "xanchor": "left", "xshift": 8, "font": {"size": 11, "color": INK},
        }
        for run, label in labels.items()
    ]  # fmt: skip
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            annotations=annotations,
            xaxis=axis("release date", type="date", range=_range(runs), tickfont={"size": 11, "color": MUTED}),
            yaxis=axis(plain(metric.name), range=padded(ends)),
        ),
    }


def _range(runs: list[DatedRun]) -> list[str]:
    """The range of the date axis, with more room at the end for the names."""
    first, last = (date.fromisoformat(run.day) for run in (runs[0], runs[-1]))
    span = max((last - first).days, 60)
    return [(first - timedelta(ROOM * span)).isoformat(), (last + timedelta(3 * ROOM * span)).isoformat()]
