"""What is shown next to the reliability diagrams: ROC, confidences, Murphy curves, parts of the Brier score, tests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import partial

import numpy as np
from dash import html

from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.figure import QUARTERS, UNIT, PlotlyJson, bars, dots, drawn, lines
from clueline.dashboard.ui.html import note, section, side_by_side
from clueline.dashboard.ui.runs import RunStyle
from clueline.dashboard.ui.table import Cell, PageColumn, bracketed, html_table
from clueline.dashboard.ui.text import p_value_text, short
from clueline.data.plurals import counted
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.reliability import BINS, RunTriptych, Triptych

MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)  # t and confidences in the tables of figures
TESTS = {
    "p_spiegelhalter": ("Spiegelhalter", "does the Brier score match what the confidences imply"),
    "p_kuiper": ("Kuiper", "is there a range of confidence in which the run is off"),
    "p_ks": ("Kolmogorov-Smirnov", "do errors in one direction add up from the lowest confidence upwards"),
}
LINE = {
    "calibration_slope": ("Slope", "Calibration slope: 1 is calibrated; below 1, confidences are too extreme"),
    "calibration_intercept": ("Intercept", "Calibration in the large: 0 is calibrated; above 0, confidences are too low"),
}


def triptych_section(result: Triptych, style: RunStyle, panels: Collection[str], *, forecasts: bool) -> html.Section:
    """Return overall score, discrimination, the plane of miscalibration and discrimination, and smooth diagrams.

    ``panels`` are the ids of the runs that have a panel in the small multiples.
    """
    runs = result.runs
    stated, right = ("probability of yes", "outcome") if forecasts else ("confidence", "accuracy")
    uncertainties = {round(run.unc, 9) for run in runs if run.unc is not None}
    panelled = [run for run in runs if run.run in panels]
    murphy, smooth = murphy_panel(runs, result.thresholds, style), smooth_figure(panelled, style, forecasts=forecasts)

    def above(shares: list[float]) -> str:  # a confidence of one half
        return f"{sum(shares[len(shares) // 2 :]):.1%}"

    def table(columns: Iterable[PageColumn], label: str) -> html.Div:
        return html_table([style.column(), *columns], runs, label)

    return section(
        "Score, discrimination, calibration",
        style.legend([run.run for run in runs]),
        side_by_side(
            fig.figure(
                "triptych-murphy",
                murphy,
                "Overall: Murphy curves. The area below a line is the Brier score; lower is better at every t",
                style.table(murphy, "Murphy curves", {mark: f"t = {mark:g}" for mark in MARKS}),
            ),
            fig.figure(
                "roc",
                roc_figure(runs, style),
                "Discrimination: ROC curves (dots) and their concave hulls (lines): the best that recalibration could "
                "reach, with hindsight",
                table(NUMBERS, "ROC curves"),
            ),
            fig.figure(
                "plane",
                plane_figure(runs, style),
                "Miscalibration against discrimination (CORP), with 95 % intervals. Dotted: equal Brier score",
                table(NUMBERS, "Parts of the score"),
            ),
            columns=3,
        ),
        note(
            "Miscalibration (MCB) and discrimination (DSC) are fitted to these answers and tend to be too large: even a "
            "calibrated run has an MCB above 0, more so with few answers. Brier score = MCB \u2212 DSC + UNC, with "
            + ("the same UNC for all." if len(uncertainties) < 2 else "lines at the mean UNC of the runs, which differ.")
        ),
        side_by_side(
            fig.figure(
                "smooth",
                smooth,
                f"Smooth diagrams: {right} smoothed over {stated} by a kernel as wide as the smooth calibration error (smECE)",
                style.table(smooth, "Smooth diagrams", {mark: f"at {mark:g}" for mark in MARKS}),
            ),
            fig.figure(
                "discrimination",
                discrimination_figure(panelled, style),
                "Confidence of right answers (above, in colour) and of wrong ones (below). The less they overlap, the better",
                table(
                    (
                        PageColumn("Right answers with confidence \u2265 0.5", lambda run: above(run.right), number=True),
                        PageColumn("Wrong ones", lambda run: above(run.wrong), number=True),
                    ),
                    "Confidence when right, when wrong",
                ),
            ),
        ),
    )


def calibration_tests(result: Triptych, style: RunStyle) -> html.Section:
    """Return what each test asks, for how many runs it rejects calibration, and its p-values with the calibration line."""
    asked = html.Ul([html.Li(sentence(result, key)) for key in TESTS], className="note")
    rare = (
        f"p < {SIGNIFICANCE}: at most about one calibrated run in twenty comes out like this. Each run is tested on its own; "
        "answers that depend on each other count together."
    )
    return section("Can it be calibrated?", asked, rare, _tests_table(result, style))


def sentence(result: Triptych, key: str) -> str:
    """Return a sentence on a test: what it asks, and for how many runs it rejects calibration."""
    name, question = TESTS[key]
    values = [value for run in result.runs if (value := getattr(run, key)) is not None]
    rejected = sum(value < SIGNIFICANCE for value in values)
    return f"{name}: {question}? For {rejected} of {counted(len(values), 'run')}, p < {SIGNIFICANCE}."


def _tests_table(result: Triptych, style: RunStyle) -> html.Div:

    def missing(key: str, run: RunTriptych) -> str | None:
        return run.missing.get(key)

    tests = [PageColumn(f"p, {name}", key, p_value_text, partial(missing, key), number=True) for key, (name, _) in TESTS.items()]
    lines = [PageColumn(name, partial(_with_interval, key, 3), about=title, number=True) for key, (name, title) in LINE.items()]
    return html_table([style.column(), *tests, *lines], result.runs, "Tests of calibration", "calibration-tests")


def _with_interval(key: str, digits: int, run: RunTriptych) -> Cell:
    if key in run.missing:
        return Cell(None, f"None, because {run.missing[key]}")
    value, low, high = (getattr(run, f"{key}{end}") for end in ("", "_low", "_high"))
    why = run.missing.get(f"{key}_low")
    return Cell(bracketed(value, low, high, digits), f"No interval, because {why}" if why else None)


_four = partial(short, digits=4)
NUMBERS = (
    PageColumn("Brier", "brier", _four),
    PageColumn("MCB", partial(_with_interval, "mcb", 4), number=True),
    PageColumn("DSC", partial(_with_interval, "dsc", 4), number=True),
    PageColumn("UNC", "unc", _four, number=True),
    PageColumn("AUROC", "auroc", _four, number=True),
    PageColumn("smECE", "smooth_ece", _four, number=True),
)


HEIGHT = 290  # pixels
NARROW = 100  # pixels of a panel of the figures that stand next to each other
ISOLINES = 7  # lines of equal Brier score in the plane, at most


def roc_figure(runs: Sequence[RunTriptych], style: RunStyle) -> PlotlyJson:
    """Draw ROC curves as dots at every confidence, and their concave hulls as lines; runs in grey have only their hull."""
    data: list[PlotlyJson] = [fig.diagonal() | fig.panel_axes(0)]
    for run in style.grey_first(runs):
        if run.run in style.colours and run.roc:
            x, y = (fig.rounded(point[axis] for point in run.roc) for axis in (0, 1))
            data.append(dots(x, y, "", style.colours[run.run], 3.5, showlegend=False, meta=run.run, name=style.plain(run.run)))
        x, y = (fig.rounded(point[axis] for point in run.hull) for axis in (0, 1))
        data.append(style.trace(run.run, x, y, "%{y:.0%} of the right and %{x:.0%} of the wrong answers above"))
    share = UNIT | {"tickformat": ".0%"}
    axes = (fig.axis(f"share of the {which} answers", **share) for which in ("wrong", "right"))
    return drawn(data, HEIGHT, *axes)


def murphy_panel(runs: Sequence[RunTriptych], thresholds: Sequence[float], style: RunStyle) -> PlotlyJson:
    """Draw the Murphy curves of the runs."""
    hover = "t = %{x:.2f}: %{y:.3f}"
    data = [style.trace(run.run, thresholds, fig.rounded(run.murphy), hover) for run in style.grey_first(runs)]
    score = fig.axis("mean elementary score", range=fig.padded((value for run in runs for value in run.murphy), zero=True))
    return drawn(data, HEIGHT, fig.axis("t", **UNIT | {"range": [-0.01, 1.01]}), score)


def plane_figure(runs: Sequence[RunTriptych], style: RunStyle) -> PlotlyJson:
    """Draw miscalibration against discrimination, a dot and its intervals per run, and lines of equal Brier score.

    The lines are those at the mean uncertainty.
    """
    shown = [run for run in runs if run.mcb is not None and run.dsc is not None and run.unc is not None]
    x = [value for run in shown for value in (run.mcb, run.mcb_low, run.mcb_high) if value is not None]
    y = [value for run in shown for value in (run.dsc, run.dsc_low, run.dsc_high) if value is not None]
    x_range, y_range = fig.padded(x, zero=True), fig.padded(y, zero=True)
    data: list[PlotlyJson] = []
    annotations: list[PlotlyJson] = []
    uncertainty = float(np.mean([run.unc or 0.0 for run in shown])) if shown else 0.0
    for score in _round_values(uncertainty + x_range[0] - y_range[1], uncertainty + x_range[1] - y_range[0]):
        # brier = mcb - dsc + unc: dsc = mcb + unc - brier.
        rise = uncertainty - score
        style_of_line = {"color": fig.FAINT, "width": 1, "dash": "dot"}
        equal = lines(x_range, [value + rise for value in x_range], name=f"Brier {score:g}", line=style_of_line, showlegend=False)
        data.append(equal)
        at = min(x_range[1], y_range[1] - rise)
        if at > x_range[0] and at + rise > y_range[0]:
            annotations.append({
                "text": f"{score:g}", "x": at, "y": at + rise, "showarrow": False, "xanchor": "right", "yanchor": "top",
                "font": {"size": 10, "color": fig.MUTED},
            })  # fmt: skip
    for run in shown:
        colour = style.colour(run.run)
        data.append(dots(
            [run.mcb], [run.dsc], "%{fullData.name}<br>MCB %{x:.4f}, DSC %{y:.4f}, Brier %{customdata:.4f}", colour, 9,
            meta=run.run, name=style.plain(run.run), showlegend=run.run in style.colours, customdata=[run.brier],
            error_x=fig.whiskers([run.mcb], [run.mcb_low], [run.mcb_high], colour),
            error_y=fig.whiskers([run.dsc], [run.dsc_low], [run.dsc_high], colour), cliponaxis=False,
        ))  # fmt: skip
    across = fig.axis("miscalibration (MCB), less is better", range=x_range)
    return drawn(data, HEIGHT, across, fig.axis("discrimination (DSC), more is better", range=y_range), annotations=annotations)


def _round_values(low: float, high: float) -> list[float]:
    """A few round numbers between two numbers."""
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5) if (high - low) / s <= ISOLINES), 1.0)
    first = int(np.ceil(low / step))
    return [round(number * step, 6) for number in range(first, int(high / step) + 1)]


def smooth_figure(runs: Sequence[RunTriptych], style: RunStyle, *, forecasts: bool = False) -> PlotlyJson:
    """Draw a panel per run: the smooth reliability diagram. ``forecasts``: whether answers are forecasts."""
    stated, right = fig.CALIBRATION_AXES[forecasts]

    def trace(run: RunTriptych) -> PlotlyJson:
        x, y, line = fig.rounded(run.smooth.confidence), fig.rounded(run.smooth.accuracy), style.colour(run.run)
        named = {"meta": run.run, "name": style.plain(run.run)}
        return lines(x, y, "stated %{x:.3f}: true %{y:.3f}", **named, line={"color": line, "width": 2})

    return fig.panels(
        [[fig.diagonal(), trace(run)] for run in runs],
        [style.names[run.run] for run in runs],
        x={"title": stated, **UNIT},
        y={"title": right, **QUARTERS, "range": [-0.02, 1.03]},
        height=122,
        width=NARROW,
    )


def discrimination_figure(runs: Sequence[RunTriptych], style: RunStyle) -> PlotlyJson:
    """Draw a panel per run: how confident it is when right (above the line) and when wrong (below)."""
    centres = [(place + 0.5) / BINS for place in range(BINS)]

    def side(run: RunTriptych, shares: Sequence[float], sign: int, colour: str, noun: str) -> PlotlyJson:
        hover = f"%{{customdata:.1%}} of the {noun} answers around %{{x:.3f}}"
        marker, more = {"color": colour, "line": {"width": 0}}, {"width": 0.9 / BINS, "customdata": fig.rounded(shares)}
        return bars(centres, fig.rounded(sign * share for share in shares), hover, marker, meta=run.run, **more)

    most = max((share for run in runs for share in (*run.right, *run.wrong)), default=0.0) or 1.0
    return fig.panels(
        [[side(run, run.right, 1, style.colour(run.run), "right"), side(run, run.wrong, -1, fig.MUTED, "wrong")] for run in runs],
        [style.names[run.run] for run in runs],
        x={"title": "confidence", **UNIT},
        y={"title": "share: right above, wrong below", "range": [-1.08 * most, 1.08 * most], "showticklabels": False},
        height=122,
        width=NARROW,
        barmode="relative",
        bargap=0,
    )
