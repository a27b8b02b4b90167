"""People: distributions of runs compared with the votes of human annotators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Annotated, NamedTuple

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Table, parts
from clueline.dashboard.registry.views import serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.figure import FAINT, INK, MUTED, UNIT, PlotlyJson, bars, diagonal, figure, lines, padded, panels
from clueline.dashboard.ui.html import heading, note, page_link, panel
from clueline.dashboard.ui.messages import answered, dataset_links, nothing_selected
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.table import Cell, PageColumn, html_table
from clueline.dashboard.ui.text import brackets
from clueline.dashboard.views.leaderboard.view import LEADERBOARD, cited_leaderboard
from clueline.data.plurals import counted
from clueline.queries.human_votes import Histograms, People, RunHistograms, people
from clueline.queries.leaderboard import Leaderboard, LeaderboardRow, leaderboard
from clueline.queries.metrics import Metric
from clueline.queries.metrics.catalogue import VOTES
from clueline.queries.selection.parameter_kinds import Choice
from clueline.queries.selection.view_parameters_base import NoParameters


def _bins(answer: People) -> Iterator[tuple[object, ...]]:
    """Yield the bins of the histograms of each run, with the items of the run and of its human reference."""
    for run in answer.rows:
        if not run.histograms:
            continue
        pairs_of_classes = [float(count) for count in range(len(run.histograms.ranking))]
        edges = {
            "distance": (answer.distance_edges[:-1], answer.distance_edges[1:]),
            "entropy": (answer.entropy_edges[:-1], answer.entropy_edges[1:]),
            "ranking": (pairs_of_classes, pairs_of_classes),
        }
        for name, (lower, upper) in edges.items():
            reference = getattr(run.reference, name) if run.reference else [None] * len(lower)
            for cells in zip(lower, upper, getattr(run.histograms, name), reference, strict=True):
                yield run.run, run.model, run.elicitation, name, *cells


PEOPLE = serve(
    "people",
    people,
    NoParameters,
    """Runs and human votes: histograms of DistCE, EntCE and ranks, also for a human reference, and reliability of each
        class.""",
    Table(
        "The histograms as CSV: a row per run and bin, with the items of the run and of the human reference.",
        rows=_bins,
        columns=parts("run", "model", "elicitation", "histogram", "lower", "upper", "items", "reference_items"),
    ),
    unused=("human", "beta", "t", "failed", "grading", "undisputed", "cluster", "primary"),
)


def histograms(result: People, style: RunStyle, absolute: bool) -> list[html.Figure]:
    """Return histograms of items by DistCE, by EntCE or its absolute value, and by pairs of classes that are ranked differently.

    The last one is left out if there are too many classes.
    """
    edges, most, span = result.entropy_edges, result.entropy_edges[-1], [-result.entropy_edges[-1], result.entropy_edges[-1]]
    entropy: Counts = attrgetter("entropy")
    signed, gap = "right of 0, the run is less certain than people are", "entropy gap"
    if absolute:
        edges, span, entropy = edges[len(edges) // 2 :], [0.0, most], _folded_entropy
        signed, gap = "its absolute value", "entropy gap, absolute"
    pairs = max((len(run.histograms.ranking) for run in result.rows if run.histograms), default=0)
    reference = f"the outline is a human reference, the shares of {result.reference_votes} of the item's votes drawn at random"
    drawn = (
        Histogram(
            "distance", attrgetter("distance"), result.distance_edges, [0.0, 1.0], "distance", "distance %{x:.3f}",
            "Items by DistCE", f"Items by their distance from people (DistCE, total variation): 0 is agreement; {reference}",
        ),
        Histogram(
            "entropy", entropy, edges, span, gap, "entropy gap %{x:.3f}", "Items by EntCE",
            f"Items by entropy, run minus people (EntCE, nats): {signed}; outline: the human reference",
        ),
        Histogram(
            "ranking", attrgetter("ranking"), [place - 0.5 for place in range(pairs + 1)], [-0.6, pairs - 0.4],
            "pairs ranked differently", "%{x:.0f} pairs", "Items by pairs ranked differently",
            "Items by how many pairs of classes the run ranks differently from people: 0 is the same order; outline: reference",
        ),
    )  # fmt: skip
    return [
        figure(one.name, _histograms(result, style, one), one.title, _table(result, style, one))
        for one in drawn
        if pairs or one.name != "ranking"
    ]


def _table(result: People, style: RunStyle, drawn: Histogram) -> html.Div:
    """Return a row per run and non-empty bin, with the count of the human reference."""
    rows: list[tuple[str, int, int | None]] = []
    for run in _shown(result):
        assert run.histograms is not None
        human = drawn.counts(run.reference) if run.reference else None
        for place, ((low, high), items) in enumerate(zip(pairwise(drawn.edges), drawn.counts(run.histograms), strict=True)):
            if items or (human and human[place]):
                bin_ = counted(place, "pair") if drawn.name == "ranking" else f"{low:.2f} to {high:.2f}"
                rows.append((f"{style.names[run.run]}: {bin_}", items, human[place] if human else None))
    columns = [PageColumn(name, itemgetter(at)) for at, name in enumerate(("Run and bin", "Items", "Reference"))]
    return html_table(columns, rows, drawn.label)


def vote_metrics_table(board: Leaderboard, style: RunStyle) -> html.Div:
    """Return the metrics against votes of each ranked run. The board needs the metrics ``VOTES``."""
    ranked = [run for run in board.rows if run.ranked]
    columns = [
        style.column(),
        PageColumn("Answered", lambda run: answered(run.answered, board.questions), number=True),
        *(
            PageColumn(metric.label, partial(_metric_cell, metric))
            for metric in VOTES
            if any(run.metrics[metric.key].value is not None for run in ranked)
        ),
    ]
    return html_table(columns, ranked, "Metrics against human votes")


def _metric_cell(metric: Metric, run: LeaderboardRow) -> Cell:
    cell = run.metrics[metric.key]
    interval = brackets(cell.low, cell.high) or cell.missing or ""
    return Cell(cell.value, f"{metric.name}: {interval}")


Counts = Callable[[Histograms], Sequence[int]]  # picks one histogram


class Histogram(NamedTuple):
    """A histogram of items, a panel per run. There is one more edge than counts; ``span`` are the ends of the axis."""

    name: str
    counts: Counts
    edges: Sequence[float]
    span: Sequence[float]
    axis: str
    hover: str
    label: str
    title: str


def _folded_entropy(histograms: Histograms) -> list[int]:
    counts, half = histograms.entropy, len(histograms.entropy) // 2
    return [up + down for up, down in zip(counts[half:], reversed(counts[:half]), strict=True)]


def _shown(people: People) -> list[RunHistograms]:
    return [row for row in people.rows if row.histograms is not None]


def _histograms(people: People, style: RunStyle, drawn: Histogram) -> PlotlyJson:
    """Draw a panel per run: the share of its items in each bin; the human reference as an outline."""
    edges, no_line = drawn.edges, {"width": 0, "color": FAINT}

    def traces(run: RunHistograms) -> list[PlotlyJson]:
        assert run.histograms is not None
        middles, counts = [(low + high) / 2 for low, high in pairwise(edges)], [*drawn.counts(run.histograms)]
        hover, marker = drawn.hover + ": %{customdata:,} items (%{y:.1%})", {"color": style.colour(run.run), "line": no_line}
        items = bars(middles, _shares(counts), hover, marker, width=edges[1] - edges[0], customdata=counts, meta=run.run)
        return [items, _outline(run.reference, drawn)] if run.reference else [items]

    data = [traces(run) for run in _shown(people)]
    return panels(
        data,
        [style.names[row.run] for row in _shown(people)],
        x={"title": drawn.axis, "range": [*drawn.span], "nticks": 5, "tickformat": ".2~f"},
        y={"title": "share of items", "tickformat": ".0%"},
        height=150,
        ranges=[padded((value for trace in panel for value in trace["y"]), zero=True) for panel in data],
        bargap=0,
    )


def _outline(reference: Histograms, drawn: Histogram) -> PlotlyJson:
    """The human reference as steps, in the colour of the text."""
    edges = drawn.edges
    x = [end for pair in pairwise(edges) for end in pair]
    y = [share for share in _shares(drawn.counts(reference)) for _ in (0, 1)]
    line = {"color": INK, "width": 1.5}
    return lines([edges[0], *x, edges[-1]], [0, *y, 0], "human reference: %{y:.1%}", line=line)


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [count / total for count in counts]


def class_reliability(people: People, style: RunStyle) -> html.Figure:
    """Return a panel per class: how often most people chose it against the share that runs give it, a line per run.

    Its table has a row per run, class and non-empty bin.
    """
    shown = [row for row in people.rows if row.classes]
    titles = [class_.name for class_ in shown[0].classes] if shown else []

    def trace(run: RunHistograms, place: int) -> PlotlyJson:
        bins = [bin_ for bin_ in run.classes[place].bins if bin_.items]
        return lines(
            [bin_.mean_share for bin_ in bins], [bin_.chosen for bin_ in bins],
            "%{fullData.name}<br>share %{x:.3f}, chosen %{y:.3f}, %{customdata:,} items", "lines+markers",
            meta=run.run, name=style.plain(run.run), customdata=[bin_.items for bin_ in bins], cliponaxis=False,
            line={"color": style.colour(run.run), "width": 1.5}, marker={"size": 6},
        )  # fmt: skip

    drawn = panels(
        [[diagonal(), *(trace(run, place) for run in shown)] for place in range(len(titles))],
        titles,
        x={"title": "share given by the run", **UNIT, "color": MUTED},
        y={"title": "chosen by most people", **UNIT, "range": [-0.02, 1.03]},
    )
    rows = [
        (f"{style.names[run.run]}, {class_.name}", part)
        for run in people.rows
        for class_ in run.classes
        for part in class_.bins
        if part.items
    ]
    columns = [
        PageColumn("Run and class", lambda row: row[0]),
        PageColumn("Mean share", lambda row: row[1].mean_share),
        PageColumn("Chosen by most", lambda row: row[1].chosen),
        PageColumn("Items", lambda row: row[1].items),
    ]
    return figure(
        "classes",
        drawn,
        "Class by class: how often most people chose it, against the share that the run gives it; a line per run",
        html_table(columns, rows, "Reliability of each class"),
        style.legend(style.names),
    )


VIEWS_OF_ENTROPY = {"": "Signed", "absolute": "Absolute"}


class PeoplePage(PageParameters, frozen=True):
    """How entropy differences are shown."""

    entropy: Annotated[
        str,
        Choice("`absolute`: differences without their sign", ("absolute",), "There is no view {value!r} of entropy.", blank=True),
    ] = ""


@page(
    "/people", "People", PeoplePage, place="People", order=1, offered=attrgetter("has_votes"),
    table=lambda request: cited_leaderboard(VOTES), views=(PEOPLE, LEADERBOARD),
    filters=(*filter_keys("runs", "questions"), "q", "binning"), common=True,
)  # fmt: skip
def draw(request: PageRequest[PeoplePage]) -> Sequence[Component | None]:
    """Draw metrics against votes, then the histograms behind them with the human reference."""
    result: People = service().ask(people, request.selection)
    if not result.rows:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "People")]
    question = "is a run unsure where people disagree?"
    if result.missing or not any(run.histograms for run in result.rows):
        without = _without(result, request.selection.dataset, teams=request.facets.has_teams)
        return [heading("People", f"{request.facets.title}: {question}"), without]
    style = run_style(request.facets, result.rows, highlighted_runs(request, VOTES[0]))
    board: Leaderboard = service().ask(leaderboard, request.selection, VOTES, True)
    absolute = request.parameters.entropy == "absolute"
    distance, *others = histograms(result, style, absolute)
    missing = [f"{style.names[run.run]}: {run.missing}" for run in result.rows if run.missing]
    return [
        heading("People", f"{request.facets.title}: {counted(len(result.rows), 'run')} compared with human votes: {question}"),
        vote_metrics_table(board, style),
        distance,
        html.Div(menu("entropy", "Entropy", VIEWS_OF_ENTROPY, "absolute" if absolute else ""), className="controls section"),
        *others,
        class_reliability(result, style) if any(run.classes for run in result.rows) else None,
        note(f"Not shown: {'; '.join(missing)}.") if missing else None,
    ]


def _without(result: People, dataset: str, *, teams: bool) -> html.Section:
    """A panel that says why there is nothing to show, and which datasets have human votes."""
    reasons = dict.fromkeys([result.missing, *(run.missing for run in result.rows)])
    buzzed = page_link("where they buzzed", href=f"/teams?dataset={dataset}")
    above, none = "Datasets with human votes:", "No dataset in this store has human votes."
    return panel(
        "Nothing to compare with people here",
        f"{'; '.join(reason for reason in reasons if reason).capitalize()}.",
        html.P(["Human teams heard its questions: ", buzzed, "."]) if teams else None,
        *dataset_links("/people", lambda other: other.kind == "votes", above, none),
    )
