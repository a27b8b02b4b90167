"""Overall score, discrimination, smooth diagrams and calibration tests, shown next to the reliability diagrams."""

from __future__ import annotations

from collections.abc import Collection

from dash import html

from dashboard.components.figure import figure
from dashboard.components.numbers import p_value_text, short
from dashboard.components.run_names_and_colours import RunColours, legend, named
from dashboard.components.table import Cell, dash, row, table
from dashboard.figures.run_labels_and_lines import Names
from dashboard.figures.triptych import (
    discrimination_figure,
    murphy_panel,
    plane_figure,
    roc_figure,
    smooth_figure,
)
from data.plurals import counted
from queries.engine.bootstrap import SIGNIFICANCE
from queries.triptych import RunTriptych, Triptych

MARKS = (0.1, 0.25, 0.5, 0.75, 0.9)  # t and confidences in the tables of figures
TESTS = {
    "p_spiegelhalter": ("Spiegelhalter", "does the Brier score match what the confidences imply"),
    "p_kuiper": ("Kuiper", "is there a range of confidence in which the run is off"),
    "p_ks": ("Kolmogorov-Smirnov", "do errors in one direction add up from the lowest confidence upwards"),
}
LINE = {
    "calibration_slope": ("Slope", "Calibration slope: 1 is calibrated; below 1, confidences are too extreme"),
    "calibration_intercept": (
        "Intercept",
        "Calibration in the large: 0 is calibrated; above 0, confidences are too low",
    ),
}


def triptych_section(
    result: Triptych, names: Names, colours: RunColours, panels: Collection[str], *, forecasts: bool
) -> html.Section:
    """Return overall score, discrimination, the plane of miscalibration and discrimination, smooth diagrams, and tests.

    Args:
        result: values of every run.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        panels: ids of the runs that have a panel in the small multiples.
        forecasts: whether answers are forecasts.
    """
    runs = result.runs
    stated, right = ("probability of yes", "outcome") if forecasts else ("confidence", "accuracy")
    panelled = [run for run in runs if run.run in panels]
    return html.Section(
        [
            html.H2("Score, discrimination, calibration"),
            html.Div(
                [
                    figure(
                        "triptych-murphy",
                        murphy_panel(runs, result.thresholds, names, colours),
                        "Overall: Murphy curves. The area below a line is the Brier score; lower is better at every t",
                        _murphy_table(result, names),
                        legend([run.run for run in runs], names, colours),
                    ),
                    figure(
                        "roc",
                        roc_figure(runs, names, colours),
                        "Discrimination: ROC curves (dots) and their concave hulls (lines): the best that recalibration could "
                        "reach, with hindsight",
                        _numbers_table(result, names),
                        legend([run.run for run in runs], names, colours),
                    ),
                ],
                className="side-by-side",
            ),
            figure(
                "plane",
                plane_figure(runs, names, colours),
                "Miscalibration against discrimination (CORP), as measured, with 95 % intervals. Both are fitted to these "
                "answers and tend to be too large: even a calibrated run has an MCB above 0, more so with few answers. Dotted: "
                "equal Brier score = MCB \u2212 DSC + UNC, "
                + ("the same UNC for all" if _same_uncertainty(result) else "at the mean UNC of the runs, which differ"),
                _numbers_table(result, names),
                legend([run.run for run in runs], names, colours),
            ),
            figure(
                "smooth",
                smooth_figure(panelled, names, colours, forecasts=forecasts),
                f"Smooth diagrams: {right} smoothed over {stated} by a kernel as wide as the smooth calibration error (smECE)",
                _smooth_table(result, names),
            ),
            figure(
                "discrimination",
                discrimination_figure(panelled, names, colours),
                "Confidence of right answers (above, in colour) and of wrong ones (below, in grey). The less they overlap, the "
                "better the run distinguishes them",
                _histogram_table(result, names),
            ),
            html.H3("Can it be calibrated?"),
            html.Ul([html.Li(sentence(result, key)) for key in TESTS], className="note"),
            _tests_table(result, names, colours),
        ],
        className="section",
    )


def sentence(result: Triptych, key: str) -> str:
    """Return a sentence on a test: what it asks, and for how many runs it rejects calibration."""
    name, question = TESTS[key]
    values = [value for run in result.runs if (value := getattr(run, key)) is not None]
    rejected = sum(value < SIGNIFICANCE for value in values)
    return (
        f"{name}: {question}? For {rejected} of {counted(len(values), 'run')}, p < {SIGNIFICANCE}: at most about one "
        "calibrated run in twenty comes out like this (each run on its own; answers that depend on each other count together)."
    )


def _same_uncertainty(result: Triptych) -> bool:
    return len({round(run.unc, 9) for run in result.runs if run.unc is not None}) < 2


def _tests_table(result: Triptych, names: Names, colours: RunColours) -> html.Div:
    rows = [
        row(
            named(colours.get(run.run), names[run.run]),
            *(dash(run.missing[key]) if key in run.missing else p_value_text(getattr(run, key)) for key in TESTS),
            *(_with_interval(run, key) for key in LINE),
        )
        for run in result.runs
    ]
    heads: list[Cell] = [html.Span(name, title=title) for name, title in LINE.values()]
    head: list[Cell] = ["Run", *(f"p, {name}" for name, _ in TESTS.values()), *heads]
    return table(head, rows, "Tests of calibration", "calibration-tests")


def _with_interval(run: RunTriptych, key: str, digits: int = 3) -> Cell:
    if key in run.missing:
        return dash(run.missing[key])
    value, low, high = (short(getattr(run, f"{key}{end}"), digits) for end in ("", "_low", "_high"))
    if f"{key}_low" in run.missing:
        return html.Span(value, title=f"No interval, because {run.missing[f'{key}_low']}", className="number")
    return f"{value} [{low}, {high}]"


def _numbers_table(result: Triptych, names: Names) -> html.Div:
    rows = [
        row(
            names[run.run], short(run.brier, 4), _with_interval(run, "mcb", 4), _with_interval(run, "dsc", 4), short(run.unc, 4),
            short(run.auroc, 4), short(run.smooth_ece, 4),
        )
        for run in result.runs
    ]  # fmt: skip
    return table(["Run", "Brier", "MCB", "DSC", "UNC", "AUROC", "smECE"], rows, "Parts of the score")


def _murphy_table(result: Triptych, names: Names) -> html.Div:
    rows = [row(names[run.run], *(short(run.murphy[round(100 * mark)]) for mark in MARKS)) for run in result.runs]
    return table(["Run", *(f"t = {mark:g}" for mark in MARKS)], rows, "Murphy curves")


def _smooth_table(result: Triptych, names: Names) -> html.Div:
    rows = []
    for run in result.runs:
        points = dict(zip((round(confidence, 2) for confidence in run.smooth.confidence), run.smooth.accuracy, strict=True))
        near = [next((points[at] for at in points if abs(at - mark) <= 0.01), None) for mark in MARKS]
        rows.append(row(names[run.run], *(short(value) for value in near)))
    return table(["Run", *(f"at {mark:g}" for mark in MARKS)], rows, "Smooth diagrams")


def _histogram_table(result: Triptych, names: Names) -> html.Div:
    def above(shares: list[float]) -> str:
        return f"{sum(shares[len(shares) // 2 :]):.1%}"

    rows = [row(names[run.run], above(run.right), above(run.wrong)) for run in result.runs]
    return table(["Run", "Right answers with confidence \u2265 0.5", "Wrong ones"], rows, "Confidence when right, when wrong")
