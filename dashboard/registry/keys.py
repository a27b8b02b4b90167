"""Keys that several views share, so that pages and JSON addresses read them in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, get_args
from urllib.parse import parse_qsl, urlencode

from clueline.queries.across import ROWS, Rows
from clueline.queries.engine.parts_of_questions import FIFTHS
from clueline.queries.engine.primary_metric import primary_metric
from clueline.queries.engine.reliability_diagrams import BANDS
from clueline.queries.gradings import SHOWN
from clueline.queries.items import MAX_ITEMS, Order
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions, Metric
from clueline.queries.questions import FACTS, read_sort
from clueline.queries.selection import CONVENTIONS, Selection, read_address
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import (
    BadRequest,
    Choice,
    Choices,
    Flag,
    Fractions,
    Kind,
    MetricChoice,
    MetricList,
    Number,
    Range,
    RunChoice,
    Text,
    Texts,
    Whole,
)
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

# Metrics of the leaderboard. Metrics that penalise bad guesses come first, then accuracy, because calibration should be read
# together with it.
DEFAULT_METRICS = (
    "calscore", "net_score", "accuracy", "brier", "ece", "max_ce", "hmr", "r_over", "r_under", "mean_confidence",
    "overconfidence", "hard_easy_slope", "pct_rounded",
)  # fmt: skip


@dataclass(frozen=True)
class QuestionOrder(Kind[str]):
    """An order of questions; see ``queries.questions``."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        sort = texts[0] or FACTS[0]
        read_sort(sort, facets.all_runs, facets.dataset)
        return sort


@dataclass(frozen=True)
class View(Kind[str]):
    """Path and query string of a page on this server."""

    longest = 8000  # characters, because it can name 200 runs

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        view = texts[0]
        if view and (not view.startswith("/") or view.startswith("//") or "\\" in view or not view.isprintable()):
            raise BadRequest("bad_value", f"{key} must be a page's path and query, such as /reliability?dataset=pyramid.", key)
        return view


def metric_names(metrics: Iterable[Metric], facets: Facets) -> dict[str, str]:
    """Return the names of metrics in a dataset, by key."""
    return {metric.key: metric.worded(facets.forecasts).name for metric in metrics}


def default_columns(facets: Facets) -> Sequence[str]:
    """Return the keys of the metrics that the leaderboard shows by default; the primary one is among them."""
    primary = primary_metric(facets.kind, facets.has_teams).key
    if primary in DEFAULT_METRICS and not facets.forecasts:
        return DEFAULT_METRICS
    return tuple(dict.fromkeys((primary, *DEFAULT_METRICS)))


def lead_columns(facets: Facets) -> Sequence[str]:
    """Return the keys of the few metrics that the leaderboard's page shows by default, the primary one first."""
    primary = primary_metric(facets.kind, facets.has_teams).key
    return tuple(dict.fromkeys((primary, "accuracy", "ece", "overconfidence")))


def default_metric(facets: Facets) -> str:
    """Return the key of the metric that pages of single questions show by default."""
    return "calscore" if facets.human_teams else "brier"


BAND = Choice("consistency band: `simultaneous` (the default) or `pointwise`", BANDS, "There is no band {value!r}.", blank=True)


GUESSES = Choice(
    "which guesses: those on which gradings `differ` (the default), on which Clueline's rules are `uncertain`, that were "
    "`corrected`, that were `drawn` for review and wait for it, or `all`",
    SHOWN,
    "There are no guesses {value!r}.",
    blank=True,
)


def known_run(about: str, blank: bool = False) -> RunChoice:
    """Return the kind of a key that names a run of the dataset, withdrawn or not, by its id or as a named baseline."""
    return RunChoice(about, lambda facets: facets.all_runs, "Dataset {dataset!r} has no run {value!r}.", blank)


WantedDifference = Annotated[float | None, Number("the difference to detect: the answer says how many questions it takes", 1e6)]
Margin = Annotated[
    float | None,
    Number("the difference below which two runs are equal, in the units of the metric, stated before looking", 1e6, zero=True),
]
FirstCurve = Annotated[
    str, known_run("the first of the two runs whose difference is shown with a band; by default the best by Brier", True)
]
SecondCurve = Annotated[str, known_run("the second of these two runs; by default the next best", True)]
BinnedRun = Annotated[str, known_run("the run whose bins are shown; the first run by default", True)]
AcrossMetric = Annotated[
    Metric, MetricChoice("metric to compare across datasets; `net_score` by default", METRICS, "There is no metric {value!r}.")
]
AcrossDatasets = Annotated[
    tuple[str, ...],
    Texts(
        "ids of the datasets; by default all but the bundled samples or, if there are no others, the samples that share a model"
    ),
]
AcrossRows = Annotated[
    Rows, Choice("`models`: the latest run of each model and elicitation; `runs`: every run; `models` by default", ROWS)
]
AcrossTag = Annotated[str, Text("pool runs by the values of this tag, such as `reasoning`; none by default")]
Metrics = Annotated[tuple[Metric, ...], MetricList("`brier,ece`: which metrics; all of them by default")]
Intervals = Annotated[bool, Flag("`1`: with 95 % intervals")]
Confidence = Annotated[Range | None, Fractions("`0.8..1`: answers with a confidence in this range", blank=True)]
Sort = Annotated[str, QuestionOrder("the order of the questions; put `-` in front for descending order")]


class MetricsParameters(Parameters, frozen=True):
    """Which metrics are computed."""

    metrics: Metrics = METRICS


class IntervalsParameters(MetricsParameters, frozen=True):
    """Which metrics are computed, and whether with intervals."""

    intervals: Intervals = False


ACROSS_METRIC = "net_score"  # what views of several datasets show by default


class AcrossParameters(Parameters, frozen=True):
    """The metric that is compared across datasets, and how it is measured on each."""

    metric: AcrossMetric = CATALOGUE[ACROSS_METRIC]
    failed: Annotated[bool, Flag("`1`: failed calls count as wrong in accuracies and as 0 in the net score")] = False
    conventions: Annotated[Conventions, CONVENTIONS] = Conventions()


@dataclass(frozen=True)
class Within(Kind[Selection]):
    """Filters of a selection, written as a query string in one value."""

    longest = 2000

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Selection:
        return read_address(parse_qsl(texts[0]), lambda dataset: facets, NoParameters, facets.dataset).selection

    def write(self, value: Selection) -> list[str]:
        return [urlencode([pair for pair in value.pairs() if pair[0] != "dataset"])]


ORDERS: tuple[Order, ...] = get_args(Order)


class ItemsKeys(Parameters, frozen=True):
    """Which answers are listed, in which order, and how many."""

    confidence: Confidence = None
    limit: Annotated[int, Whole(f"how many answers: 100; at most {MAX_ITEMS}", MAX_ITEMS)] = 100
    focus: Annotated[
        tuple[str, ...],
        Choices(
            "the runs whose answers are listed; all of the selection by default. The questions that count are those of all runs",
            lambda facets: facets.all_runs,
            "Dataset {dataset!r} has no run {value!r}.",
        ),
    ] = ()
    question: Annotated[tuple[str, ...], Texts("ids of the questions; all of the selection by default")] = ()
    bin: Annotated[
        int | None, Whole("one bin of each run, from 1, as `/api/v1/reliability` has it under `binning`", most=100)
    ] = None
    clue: Annotated[int | None, Whole("one clue of each question, from 1, as `/api/v1/by-clue` has it", most=10_000)] = None
    fifth: Annotated[
        int | None, Whole("one fifth of each question, from 1, as `/api/v1/by-clue` has it with `by=revealed`", most=FIFTHS)
    ] = None
    before: Annotated[bool, Flag("`1`: only answers before people knew, where the human curve is below 1/2")] = False
    order: Annotated[
        Order, Choice("`off`: furthest off first (the default); `wrong`: wrong answers first, the surest of them first", ORDERS)
    ] = "off"
    within: Annotated[
        Selection | None,
        Within(
            "further filters in one value, such as `category%3DHistory`. Unlike those of the selection, they do not change which "
            "questions are common to all runs"
        ),
    ] = None


@dataclass(frozen=True)
class Items(Kind[ItemsKeys | None]):
    """The keys of ``ItemsKeys`` and further filters, written as a query string in one value; see ``ui.drawer``."""

    longest = 4000

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> ItemsKeys | None:
        if not texts[0]:
            return None
        pairs = parse_qsl(texts[0])
        own = [pair for pair in pairs if pair[0] in ItemsKeys.kinds()]
        if filters := [pair for pair in pairs if pair not in own]:
            own.append(("within", urlencode(filters)))
        if "order" not in dict(own) and not facets.forecasts:  # a forecast of 10 % can be as wrong as one of 90 %
            own.append(("order", "wrong"))
        try:
            return read_address(own, lambda dataset: facets, ItemsKeys, facets.dataset).parameters
        except BadRequest as error:  # what it allows is not what this key does
            raise BadRequest("bad_value", error.message, key) from None

    def write(self, value: ItemsKeys | None) -> list[str]:
        if value is None:
            return []
        filters = value.within.pairs() if value.within else []
        own = [pair for pair in value.pairs() if pair[0] not in ("within", "order")]
        return [urlencode([*own, ("order", value.order), *(pair for pair in filters if pair[0] != "dataset")])]
