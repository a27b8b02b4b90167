"""Which ECE: the calibration error in many definitions, and how far the ranking of the runs depends on the choice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.composed import selected_runs
from clueline.dashboard.registry.keys import BinnedRun, Intervals
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, column, columns, with_interval
from clueline.dashboard.registry.views import CONVENTION_KEYS, Cited, serve
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.figure import PlotlyJson
from clueline.dashboard.ui.html import heading, items_link, items_query, section
from clueline.dashboard.ui.messages import nothing_selected
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.table import Cell, Content, PageColumn, columns_by, html_table, noted
from clueline.dashboard.ui.text import CALIBRATION_COLUMNS, brackets, short
from clueline.data.plurals import counted
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.kernels.ece_variants import BINNINGS
from clueline.queries.selection import Request
from clueline.queries.selection.view_parameters_base import Parameters
from clueline.queries.which_ece import WHICH_METRICS, ErrorVariant, RunError, WhichEce, which_ece


class WhichEceKeys(Parameters, frozen=True):
    """Which run's bins are returned, and whether errors have intervals."""

    focus: BinnedRun = ""
    intervals: Intervals = False


ERRORS = Table(
    "The errors as CSV, a row per run and variant.",
    rows=lambda answer: [
        (name, variant, error) for variant in answer.variants for name, error in zip(answer.runs, variant.runs, strict=True)
    ],
    columns=(
        *columns("run", "model", "elicitation", at=0),
        column("variant", lambda row: row[1].key),
        *with_interval(columns("value", at=2), "value"),
        *columns("rank", "left_out", at=2),
        *columns("source", at=1),
        *columns("low", "high", at=2),
    ),
)
WHICH_ECE = serve(
    "which-ece",
    which_ece,
    WhichEceKeys,
    """The calibration error of each run as different projects compute it, with its rank and the number of items left out;
        the bins of one run; and Kendall's tau-b between the rankings.""",
    ERRORS,
    unused=(*CONVENTION_KEYS, "failed", "undisputed", "primary"),
)


# Means over bins of the absolute gap, as published code computes them: only these are compared with each other.
ROOT_MEAN_SQUARE = "rms_hle"
MEAN_GAPS = tuple(key for key, binning in BINNINGS.items() if not binning.squared)


DEFINITIONS = (
    PageColumn("Variant", lambda variant: CATALOGUE[variant.key].label),
    PageColumn("What it is", "words"),
    PageColumn("Source", "source"),
    PageColumn("Caveat", lambda variant: CATALOGUE[variant.key].caveat),
)


def variants_table(result: WhichEce, style: RunStyle) -> html.Div:
    """Return a row per run: its error and rank by each variant. Variants that give all runs the same numbers share a column.

    The last row has how many items of the chosen run each variant leaves out.
    """
    focus = [run.run for run in result.runs].index(result.focus or "")
    alike: dict[object, list[ErrorVariant]] = {}
    for variant in result.variants:
        numbers = [
            (cell.missing, *(n if n is None else round(n, 9) for n in (cell.value, cell.low, cell.high))) for cell in variant.runs
        ]
        alike.setdefault((*numbers, variant.runs[focus].left_out), []).append(variant)
    columns = [*alike.values()]
    heads = [", ".join(CATALOGUE[variant.key].label for variant in same) for same in columns]
    words = ["\n".join(f"{variant.name}. {variant.words}" for variant in same) for same in columns]
    spans = [html.Span(head, title=title) for head, title in zip(heads, words, strict=True)]

    def cell(number: int, place: int | None) -> object:
        variant = columns[number][0]
        return variant.runs[focus].left_out if place is None else _error(result.runs[place].run, variant.runs[place])

    def name(place: int | None) -> Content:
        return noted("Items left out", style.names[result.focus or ""]) if place is None else style.dot(result.runs[place].run)

    return html_table(
        [PageColumn("Run", name), *columns_by(dict(enumerate(spans)), cell)],
        [*range(len(result.runs)), None],
        "Calibration error by variant",
        "which-ece",
        of_row=lambda place: {"className": "summary"} if place is None else {},
    )


def _error(run: str, cell: RunError) -> Cell:
    rank = html.Span(f" {short(cell.rank, 1).removesuffix('.0')}", className="rank") if cell.rank else None
    value = short(cell.value) if cell.value is None else items_link(short(cell.value), items_query(focus=run))
    return Cell([value, rank, *noted("", brackets(cell.low, cell.high))], cell.missing)


def bins_section(result: WhichEce, style: RunStyle, *, forecasts: bool) -> html.Section:
    """Return the bins of the chosen run under each variant that has bins. ``forecasts``: whether answers are forecasts.

    In its panel, a bin is a line from edge to edge at its accuracy, with a dot at its mean confidence.
    """
    drawn = [variant for variant in result.variants if variant.bins]
    run = result.focus or ""
    stated, right = CALIBRATION_COLUMNS[forecasts]
    columns = [
        PageColumn("Variant", lambda row: CATALOGUE[row[0].key].label),
        PageColumn("Bin", lambda row: f"{row[1].lower:.4g} to {row[1].upper:.4g}"),
        PageColumn("Items", lambda row: row[1].items),
        PageColumn(stated, lambda row: row[1].mean_confidence),
        PageColumn(right, lambda row: row[1].accuracy),
        PageColumn("Counts", lambda row: "yes" if row[1].counted else "no"),
    ]
    axes = fig.CALIBRATION_AXES[forecasts]

    def traces(variant: ErrorVariant, counts: bool) -> list[PlotlyJson]:
        parts, shade = [part for part in variant.bins if part.counted == counts], style.colours.own[run] if counts else fig.OTHERS
        hover = "%{customdata[0]}: %{customdata[1]:,} items<br>stated %{x:.3f}, true %{y:.3f}"
        most = max((part.items for part in parts), default=1)
        edges = fig.segments(((part.accuracy, part.lower, part.upper) for part in parts), 1.2, shade)
        means = fig.dots(
            [part.mean_confidence for part in parts], [part.accuracy for part in parts],
            hover + ("" if counts else "<br>does not count"), shade if counts else fig.CLEAR,
            [4 + 6 * (part.items / most) ** 0.5 for part in parts], {"line": {"color": shade, "width": 1.5}},
            customdata=[[f"{part.lower:.4g} to {part.upper:.4g}", part.items] for part in parts],
        )  # fmt: skip
        return [edges, means]

    drawn_bins = fig.panels(
        [[fig.diagonal(), *traces(variant, True), *traces(variant, False)] for variant in drawn],
        [CATALOGUE[variant.key].label for variant in drawn],
        x={"title": axes[0], **fig.UNIT, "range": [-0.03, 1.03]},
        y={"title": axes[1], **fig.QUARTERS, "range": [-0.03, 1.06]},
        height=170,
    )
    return section(
        f"Bins of {style.names[run]}",
        fig.figure(
            "which-bins",
            drawn_bins,
            f"Lines: bins from edge to edge, at their {right.lower()}; dots: their {stated.lower()}. Open and grey: the bin does "
            "not count. smECE and KS have no bins",
            html_table(columns, [(variant, part) for variant in drawn for part in variant.bins], "Bins by variant"),
        ),
    )


def agreement_section(result: WhichEce, names: fig.Names, link: str) -> html.Section:
    """Return how far the ranking of the runs depends on the variant."""
    columns = [
        PageColumn("Variant", lambda pair: CATALOGUE[pair.a].label),
        PageColumn("Variant", lambda pair: CATALOGUE[pair.b].label),
        PageColumn("tau-b", "tau"),
        PageColumn("Runs", "runs"),
    ]
    return section(
        "Does the ranking depend on the variant?",
        ranking_words(result, names),
        fig.figure(
            "agreement",
            fig.agreement_figure(result.agreement, WHICH_METRICS, link),
            "Kendall's tau-b between the rankings of the runs: 1 is the same order, \u22121 the opposite",
            html_table(columns, result.agreement, "Agreement of rankings"),
        ),
    )


def ranking_words(result: WhichEce, names: fig.Names) -> str:
    """Say which two variants agree least, or that all agree, and whether those that put other runs first show a difference."""
    known = [pair for pair in result.agreement if pair.tau is not None]
    if not known:
        return "With fewer than two runs there is no ranking." if len(result.runs) < 2 else "No variant tells the runs apart."
    least = min(known, key=lambda pair: pair.tau or 0.0)
    if least.tau is not None and least.tau > 1 - 1e-9:
        return "All variants that tell the runs apart rank them alike."
    words = f"{CATALOGUE[least.a].label} and {CATALOGUE[least.b].label} agree least: tau-b = {short(least.tau, 2)}."
    return " ".join([words, *first_words(result, names)])


def first_words(result: WhichEce, names: fig.Names) -> list[str]:
    """Say which run most variants put first, and which others do, with how many of these differences a test shows."""
    firsts = Counter(variant.first for variant in result.variants if variant.first)
    if not firsts:
        return []
    ((usual, count),) = firsts.most_common(1)
    others = [variant for variant in result.variants if variant.first not in (None, usual)]
    shown = sum(variant.p_value is not None and variant.p_value < SIGNIFICANCE for variant in others)
    words = [f"{count} of {counted(firsts.total(), 'variant')} {'puts' if count == 1 else 'put'} {names[usual]} first."]
    level = f"(p < {SIGNIFICANCE:.2g})"
    if len(others) == 1:
        words.append(
            f"The other puts {names[others[0].first or '']} first; the difference is {'' if shown else 'not '}shown {level}."
        )
    elif others:
        named = ", ".join(names[run] for run in dict.fromkeys(variant.first or "" for variant in others))
        words.append(f"The others put {named} first; a difference is shown by {shown or 'none'} of these {len(others)} {level}.")
    return words


def review_words(result: WhichEce, names: fig.Names, title: str) -> str:
    """Return a text for a review: the range of the error over variants, the items left out, and the effect on the ranking."""
    place = [run.run for run in result.runs].index(result.focus or "")
    cells = [(CATALOGUE[variant.key].label, variant.runs[place]) for variant in result.variants]
    values = {variant.key: variant.runs[place].value for variant in result.variants}
    known = sorted((value, CATALOGUE[key].label) for key in MEAN_GAPS if (value := values[key]) is not None)
    (low, lowest), (high, highest) = known[0], known[-1]
    dropped = [f"{label} {cell.left_out:,}" for label, cell in cells if cell.left_out]
    missing = [label for label, cell in cells if cell.value is None]
    error = f"On {title} ({result.items:,} items), the error of {names[result.focus or '']}"
    ways = f"{len(known)} ways to cut confidences into bins"
    parts = [
        "\u201cECE\u201d does not say which calibration error was computed.",
        f"{error} is {short(low)} by all {ways}."
        if short(low) == short(high)
        else f"{error} ranges from {short(low)} ({lowest}) to {short(high)} ({highest}) over {ways}.",
    ]
    if values[ROOT_MEAN_SQUARE] is not None:
        empty = dict(cells)[CATALOGUE[ROOT_MEAN_SQUARE].label].left_out == result.items
        why = ", because it leaves out every item" if empty else ""
        parts.append(f"The root mean square that HLE's script reports is {short(values[ROOT_MEAN_SQUARE])}{why}.")
    if dropped:
        parts.append(f"Some leave items out without saying so: {', '.join(dropped)} of {result.items:,}.")
    if missing:
        parts.append(f"Undefined here: {', '.join(missing).removesuffix('.')}.")
    if len(result.runs) > 1:
        parts.append(ranking_words(result, names))
    parts.append(
        "Please state the number of bins, whether they are of equal width or of equal mass, which end of a bin belongs to it, "
        "where confidences of 0 and 1 go, the norm, and which items are left out; or report a measure without bins."
    )
    return " ".join(parts)


class WhichEcePage(PageParameters, frozen=True):
    """The run whose bins are drawn, and whether errors have intervals."""

    focus: BinnedRun = ""
    intervals: Intervals = False


def _answer(request: PageRequest[WhichEcePage]) -> WhichEce:
    """Return what the page shows. A run in focus that the filters leave out counts as none, because links keep it."""
    focus, intervals = request.parameters.focus, request.parameters.intervals
    keys = WhichEceKeys(focus if focus in selected_runs(request.selection) else "", intervals)
    return WHICH_ECE.ask(Request(request.selection, request.facets, keys))


def _cited(request: PageRequest[WhichEcePage]) -> Cited[WhichEceKeys]:
    columns = ("variant", "model", "elicitation", "value", "rank", "left_out")
    return Cited(WHICH_ECE, WhichEceKeys(), columns, WHICH_METRICS)


@page(
    "/which-ece", "Which ECE", WhichEcePage, place="Calibration", order=2, table=_cited, check=_answer,
    views=(WHICH_ECE,),
    filters=("run", *filter_keys(), "cluster", "grading"), common=True,
)  # fmt: skip
def draw(request: PageRequest[WhichEcePage]) -> Sequence[Component | None]:
    """Draw every variant of every run, the bins of one run, the agreement of rankings, a text for a review, and definitions."""
    result = _answer(request)
    if not result.runs:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Which ECE is this?")]
    style = run_style(request.facets, result.runs, highlighted_runs(request, CATALOGUE["ece"]))
    first, review = result.runs[0].run, review_words(result, style.names, request.facets.title)
    return [
        heading(
            "Which ECE is this?",
            f"{request.facets.title}: the calibration error by {len(result.variants)} definitions; "
            f"{counted(len(result.runs), 'run')}, each with its rank next to the value",
            menu("focus", "Run", dict(style.names), result.focus or "", default=first),
            menu("intervals", "95 % intervals", {"": "Hidden", "1": "Shown"}, "1" if request.parameters.intervals else ""),
        ),
        variants_table(result, style),
        bins_section(result, style, forecasts=request.facets.forecasts),
        agreement_section(result, style.names, request.link("/", metrics="ID")),
        section("To paste into a review", html.Blockquote(review, className="review")),
        section("What each variant is", html_table(DEFINITIONS, result.variants, "Definitions", "which-definitions")),
    ]
