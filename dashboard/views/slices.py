"""Slices: every run by category, the parts of a dataset where a run does worse, and questions that all runs get wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Annotated, Any

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import address
from clueline.dashboard.registry.keys import IntervalsParameters, known_run, metric_names
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import Column, Table, column, columns, fields, with_interval
from clueline.dashboard.registry.views import CONVENTION_KEYS, Cited, serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import filter_keys, menu
from clueline.dashboard.ui.html import controls, folded, heading, items_link, items_query, note, page_link, rest_as_file, section
from clueline.dashboard.ui.messages import disputed_mark, nothing_selected
from clueline.dashboard.ui.published_values import published_menu, published_parts
from clueline.dashboard.ui.quizbowl import question_column
from clueline.dashboard.ui.runs import RunStyle, highlighted_runs, run_style
from clueline.dashboard.ui.table import (
    Cell,
    Columns,
    Content,
    PageColumn,
    bracketed,
    html_table,
    noted,
    over_note,
    second_note,
)
from clueline.dashboard.ui.text import brackets, p_value_text, short
from clueline.dashboard.views.leaderboard.view import cell_parts
from clueline.data.plurals import counted
from clueline.queries.breakdown import (
    BREAKDOWN_FIELDS,
    MAX_PARTS,
    MIN_RUNS,
    Breakdown,
    BreakdownPart,
    Unsolved,
    UnsolvedQuestion,
    breakdown,
    breakdown_fields,
    question_fields,
    unsolved,
)
from clueline.queries.engine.bootstrap import SIGNIFICANCE
from clueline.queries.engine.question_difficulties import FROM_RUNS
from clueline.queries.engine.ranked_metric_rows import MetricCell
from clueline.queries.leaderboard import LeaderboardRow, leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Metric
from clueline.queries.published_values import published
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Choice, MetricChoice
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters, split_key
from clueline.queries.slices import DIFFICULTY, MIN_QUESTIONS, SLICE_FIELDS, Slice, Slices, slices

COMPARABLE = tuple(metric for metric in METRICS if metric.direction != "none")


class SlicesKeys(Parameters, frozen=True):
    """By which metric slices are compared, and with which run."""

    metric: Annotated[Metric, MetricChoice("metric to compare; `overconfidence` by default", COMPARABLE)] = CATALOGUE[
        "overconfidence"
    ]
    against: Annotated[str | None, known_run("the run that others are compared with; by default each run with itself")] = None


class BreakdownKeys(IntervalsParameters, frozen=True):
    """How the selection is divided."""

    by: Annotated[
        str,
        Choice(
            f"what divides the selection: {', '.join(f'`{key}`' for key in BREAKDOWN_FIELDS)}, an attribute with at most "
            f"{MAX_PARTS} values, such as `attr.language`, or, where questions have several clues, `clue` (its number in the "
            "question) or `revealed` (fifths of the question)",
            breakdown_fields,
        ),
    ] = BREAKDOWN_FIELDS[0]


def _slice_columns(answer: Slices, keys: SlicesKeys) -> tuple[Column, ...]:
    def of_filter(key: str) -> Column:
        return column(key, lambda part: part.filters.get(key))

    filters = dict.fromkeys([*SLICE_FIELDS, *sorted({key for part in answer.slices for key in part.filters})])
    return (*map(of_filter, filters), *with_interval(fields(Slice, without=("filters",)), "difference"))


def _part_columns(answer: Breakdown, keys: BreakdownKeys) -> tuple[Column, ...]:
    return (
        column(answer.by, lambda row: row[0].value),
        *columns("run", "model", "elicitation", at=1),
        column("metric", itemgetter(2)),
        *columns(*cell_parts(keys), at=3),
    )


SLICES = serve(
    "slices",
    slices,
    SlicesKeys,
    """Where runs do worse: each run on every category, radius and third of difficulty, on every two of these together, and
        on every value of an attribute, compared with itself overall or with another run there. p-values are adjusted for
        all of these.""",
    Table("The same as CSV, a row per run and slice.", lambda answer: answer.slices, _slice_columns),
    unused=("undisputed", "primary"),
)
BREAKDOWN = serve(
    "breakdown",
    breakdown,
    BreakdownKeys,
    "Metrics of each run within each part of a selection.",
    Table(
        "The same as CSV, a row per part, run and metric.",
        rows=lambda answer: [(part, row, *cell) for part in answer.parts for row in part.rows for cell in row.metrics.items()],
        columns=_part_columns,
    ),
    unused=("undisputed",),
)
UNSOLVED = serve(
    "unsolved",
    unsolved,
    NoParameters,
    """Questions that at least two runs answered but none correctly, with how people did; and their number by category.
        `disputed` is the number of runs whose gradings differ on an answer to the question.""",
    Table("The same as CSV, a row per question.", lambda answer: answer.questions, fields(UnsolvedQuestion)),
    unused=(*CONVENTION_KEYS, "failed", "cluster", "primary"),
)


NOT_STATED = "not stated"


def heat_map(
    result: Breakdown,
    whole: Mapping[str, MetricCell],
    metric: Metric,
    style: RunStyle,
    link: Callable[[str], str],
    tested: Slices,
    models: Collection[str],
) -> html.Section:
    """Return a row per run and one for the mean of ``models``, a column per part; orange is worse, blue is better.

    ``whole`` is the metric on the whole selection, by run id; it sets the order of the rows. ``link`` maps the value of a part to
    the address of its leaderboard. Cells whose difference ``tested`` finds significant have a frame.
    """
    cells = {(part.value, row.run): row.metrics[metric.key] for part in result.parts for row in part.rows}
    sign = -1 if metric.direction == "higher" else 1

    def worse_by(part: str | None, run: str) -> float | None:
        value, reference = cells.get((part, run)), cells.get((part, tested.against)) if tested.against else whole[run]
        if value is None or value.value is None or reference is None or reference.value is None:
            return None
        return sign * (value.value - reference.value)

    most_questions = max((cell.questions for cell in whole.values()), default=0)
    most = max((abs(worse_by(*key) or 0.0) for key in cells if key[1] in whole), default=0.0) or 1.0
    framed = {
        (part.filters[result.by], part.run)
        for part in tested.slices
        if [*part.filters] == [result.by] and part.p_adjusted < SIGNIFICANCE and not part.of_others
    }

    def name(run: str | None) -> Content:
        return style.dot(run) if run else "Mean of the ranked runs" if len(models) < len(whole) else "Mean of the runs"

    def cell(part: str | None, run: str, ranked: int, questions: int) -> Cell:
        stated = cells.get((part, run))
        if stated is None or stated.value is None:
            return Cell(None, stated.missing if stated else "This run answered none of these questions", "number missing")
        interval = f"95 % interval {brackets(stated.low, stated.high)}" if stated.low is not None else ""
        rank = f"rank {stated.rank:g} of {ranked}" if stated.rank is not None else ""
        title = ", ".join(filter(None, [interval, rank, "significant" if (part, run) in framed else ""]))
        worse = (worse_by(part, run) or 0.0) / most
        shade = {"style": {"--much": f"{abs(worse):.2f}"}}
        # No filter keeps what has no value, so nothing can be listed of it.
        shown = short(stated.value)
        value = items_link(shown, items_query(focus=run, **{result.by: part})) if part is not None else shown
        second = second_note(stated.second.get("value"), questions=stated.second.get("questions"))
        content = [value, over_note(stated.questions, questions), second]
        return Cell(content, title, f"number {'worse' if worse > 0 else 'better'}{' framed' * ((part, run) in framed)}", shade)

    def of_all(run: str | None) -> object:
        if not run:
            return _mean([whole[run] for run in models])
        second = second_note(whole[run].second.get("value"), questions=whole[run].second.get("questions"))
        return Cell([short(whole[run].value), over_note(whole[run].questions, most_questions), second], kind="number")

    def part_column(part: BreakdownPart) -> PageColumn:
        ours = [row.metrics[metric.key] for row in part.rows if row.run in models]
        title = page_link(part.value, href=link(part.value), title="Leaderboard of this part") if part.value else NOT_STATED
        return PageColumn(
            noted(title, counted(part.questions, "question")),
            lambda run: cell(part.value, run, len(part.rows), part.questions) if run else _mean(ours),
            number=True,
        )

    columns: Columns = [
        PageColumn("Run", name),
        PageColumn("All", of_all, number=True),
        *map(part_column, result.parts),
    ]
    title = f"{metric.name} by {split_key(result.by)[1] or result.by}"
    more, less = ("higher", "lower") if metric.direction == "zero" else ("worse", "better")
    than = f"{style.names.get(tested.against, tested.against)} there" if tested.against else "the run itself on all questions"
    return section(
        title,
        f"Orange: {more} than {than}; blue: {less}; framed: significant.",
        html_table(
            columns, [*whole, None], title, "board across slices", of_row=lambda run: {} if run else {"className": "summary"}
        ),
    )


def _mean(cells: Iterable[MetricCell]) -> float | None:
    values = [cell.value for cell in cells if cell.value is not None]
    return sum(values) / len(values) if values else None


MAX_SIGNIFICANT = 200  # significant rows in a table
SHOWN = 10  # of these, those with the largest differences; the others are folded away
MAX_OTHERS = 10  # of the others, those with the largest differences


def slices_section(
    title: str, parts: Sequence[Slice], metric: Metric, style: RunStyle, link: Callable[[Slice], str]
) -> html.Section:
    """Return the significant slices and, folded away, those of the others whose differences are the largest."""
    by_size = sorted(parts, key=lambda part: -abs(part.difference))
    significant = [part for part in by_size if part.p_adjusted < SIGNIFICANCE]
    others = [part for part in by_size if part.p_adjusted >= SIGNIFICANCE]
    more = significant[SHOWN:MAX_SIGNIFICANT]
    difference = "Difference" if metric.direction == "zero" else "Worse by"
    columns: Columns = [
        PageColumn("Run", lambda part: style.dot(part.run)),
        PageColumn(
            "Part", lambda part: _name(part) if part.of_others else page_link(_name(part), link(part), title="Show this part")
        ),
        PageColumn(metric.label, "value"),
        PageColumn("Compared with", "reference"),
        PageColumn(f"{difference}, 95 % interval", lambda part: bracketed(part.difference, part.low, part.high), number=True),
        PageColumn("Questions", "questions"),
        PageColumn("p", "p_value", p_value_text),
        PageColumn("p, adjusted", "p_adjusted", p_value_text),
    ]
    rest = f"{title}: not significant"
    return section(
        title,
        f"{len(significant)} of {counted(len(parts), 'part')} significant" if parts else "No parts.",
        html_table(columns, significant[:SHOWN], title) if significant else None,
        folded(f"The next {len(more)}", html_table(columns, more, f"{title}: smaller differences")) if more else None,
        folded("The largest differences of the others", html_table(columns, others[:MAX_OTHERS], rest)) if others else None,
    )


def _name(part: Slice) -> str:
    difficulty = "difficulty for other models " if part.of_others else "difficulty "
    names = {"category": "", "radius": "radius ", "difficulty": difficulty}
    return " · ".join(f"{names.get(by, f'{split_key(by)[1]} ')}{value}" for by, value in part.filters.items())


MAX_ROWS = 20


def unsolved_section(
    result: Unsolved, style: RunStyle, link: Callable[[str], str], whole: str, *, quizbowl: bool
) -> html.Section:
    """Return their number by category, and a list; ``whole`` is the address of the CSV file with all of them."""
    title = "Questions that no run answered correctly"
    if not result.answered:
        return section(title, f"No question was answered by {MIN_RUNS} runs or more.")
    failed = len(result.questions)
    words = f"{failed:,} of {counted(result.answered, 'question')} answered by at least {MIN_RUNS} runs. "
    if not failed:
        return section(title, words)
    if result.categories.keys() - {""}:
        parts = [
            f"{name or 'not stated'} {failures} of {total}" for name, (total, failures) in result.categories.items() if failures
        ]
        words += f"By category: {', '.join(parts)}. "
    columns: Columns = [
        question_column(link, quizbowl),
        "category",
        PageColumn("People right", _people_right, number=True),
        PageColumn("Runs", lambda question: [f"{question.runs:,}", disputed_mark() if question.disputed else None], number=True),
        "mean_confidence",
        PageColumn("Highest", "highest_confidence", number=True),
        PageColumn("Surest run", "surest", lambda run: html.Span(style.dot(run))),
    ]
    return section(
        title,
        words,
        html_table(columns, result.questions[:MAX_ROWS], title, declared=UNSOLVED.tables[0]),
        rest_as_file(failed - MAX_ROWS, whole),
    )


def _people_right(question: UnsolvedQuestion) -> Cell:
    """How many of the teams that heard the question were right."""
    if question.people is None:
        return Cell(None)
    second = question.second.get("people")
    heard = round(question.second.get("heard", question.heard))
    by_stated = second_note(second, lambda share: f"{round(share * heard):,} of {heard:,}")
    return Cell([f"{round(question.people * question.heard):,} of {counted(question.heard, 'team')}", by_stated])


DEFAULT_METRIC = "overconfidence"
TABLES = tuple(table.key for table in published().tables if table.by == "category")
RANKED = tuple(metric for metric in METRICS if metric.direction != "none" and metric.key != "hard_easy_slope")


OF_ALL_RUNS = (
    "Difficulty comes from all runs in this table. Each run's own answers are among them, so it looks worse where difficulty is "
    "high. The parts below are made of the answers of other models."
)
UNTESTED = (
    " Response attributes divide the first table but are not tested: a question can be in several of their parts, and the tests "
    "assume that it is in one only."
)


def default_division(facets: Facets) -> str:
    """Return the key that divides a dataset's questions by default."""
    return next((by for by in question_fields(facets) if len(facets.values.get(by, ())) > 1), "difficulty")


class SlicesPage(PageParameters, frozen=True):
    """Metric, reference, division of the first table, and published figures."""

    metric: Annotated[
        Metric,
        MetricChoice(
            "the metric by which parts of the selection are compared; `overconfidence` by default",
            RANKED,
            "Parts cannot be compared by {value!r}.",
        ),
    ] = CATALOGUE[DEFAULT_METRIC]
    against: Annotated[str, known_run("the run that others are compared with; each with itself by default", blank=True)] = ""
    by: Annotated[
        str,
        Choice(
            f"what divides the questions of the first table: {', '.join(f'`{key}`' for key in BREAKDOWN_FIELDS)}, or an "
            "attribute such as `attr.language`; by default the first that the dataset has",
            question_fields,
            blank=True,
            dataset_default=default_division,
        ),
    ] = BREAKDOWN_FIELDS[0]
    published: Annotated[
        str,
        Choice(
            "a table of published figures by category to show",
            TABLES,
            "There is no published table {value!r} by category.",
            blank=True,
        ),
    ] = ""


ABOUT_INTERVALS = (
    "Brackets are 95 % intervals of the difference, by the jackknife over questions with Welch's degrees of freedom or, with few "
    "errors, by the bootstrap with an extra question. p-values are two-sided: p is that of the interval, and the adjusted p is "
    "for all slices together."
)


def _table(request: PageRequest[SlicesPage]) -> Cited[Any]:
    metric, against = request.parameters.metric, _against(request)
    tested: Slices = service().ask(slices, request.selection, metric, against)
    attributes = sorted({key for part in tested.slices for key in part.filters} - {*SLICE_FIELDS})
    numbers = ("questions", "value", "reference", "difference", "p_value", "p_adjusted")
    columns = (*SLICE_FIELDS, *attributes, "model", "elicitation", *numbers)
    return Cited(SLICES, SlicesKeys(metric, against), columns, (metric,), interval=ABOUT_INTERVALS)


def _against(request: PageRequest[SlicesPage]) -> str | None:
    """The run that others are compared with; None for each with itself. Raise ``BadRequest`` if the selection lacks it."""
    run, runs = request.parameters.against, [row.run for row in _rows(request)]
    if run and run not in runs:
        raise BadRequest("unknown_value", f"There is no run {run!r} in this selection.", "against", runs)
    return run or None


@page(
    "/slices", "Slices", SlicesPage, place="Compare", order=2, table=_table, check=_against,
    views=(SLICES, BREAKDOWN, UNSOLVED),
    filters=(*filter_keys(), "people", "human", "binning", "t", "cluster", "failed", "grading", "undisputed"), common=True,
    on_shared=lambda request: bool(request.parameters.against),
)  # fmt: skip
def draw(request: PageRequest[SlicesPage]) -> Sequence[Component | None]:
    """Draw every run in every part; the parts where each is worse or better; and the questions that no run answered correctly.

    Parts with a significant difference are listed; the largest differences of the others are folded away.
    """
    metric, rows = request.parameters.metric, _rows(request)
    if not rows:
        return [nothing_selected(request.path, request.selection, "answers", request.facets, "Slices")]
    against = _against(request)
    result: Slices = service().ask(slices, request.selection, metric, against)
    style = run_style(request.facets, rows, highlighted_runs(request, metric))
    runs = style.names

    def link(part: Slice) -> str:  # to the reliability diagram of the run on this part
        pairs = [pair for pair in request.selection.without_filters("runs").pairs() if pair[0] not in part.filters]
        return address("/reliability", [*pairs, ("run", part.run), *part.filters.items()])

    than = f"than {runs[against]} there" if against else "than itself on the whole selection"
    more, less = ("Higher", "Lower") if metric.direction == "zero" else ("Worse", "Better")
    facets = request.facets
    divisions = [by for by in question_fields(facets) if by == "difficulty" or len(facets.values.get(by, ())) > 1]
    offered = {by: split_key(by)[1] or by for by in divisions}
    return [
        heading(
            "Slices",
            f"{request.facets.title}: each run by category, and where it does worse than elsewhere; "
            f"{counted(result.tested, 'part of a run', 'parts of runs')} tested",
        ),
        controls(
            menu("metric", "Metric", metric_names(RANKED, request.facets), metric.key, default=DEFAULT_METRIC),
            menu("against", "Compared with", {"": "Itself on the whole", **runs}, against or ""),
            menu("by", "Table by", offered, _by(request), default=default_division(facets)) if len(offered) > 1 else None,
            published_menu(request.parameters.published, _by(request)),
        ),
        _every_run(request, style, result),
        note(OF_ALL_RUNS) if _by(request) == DIFFICULTY and request.facets.difficulty_source == FROM_RUNS else None,
        published_parts(request.parameters.published, metric) if request.parameters.published else None,
        slices_section(f"{more} {than}", [part for part in result.slices if part.difference > 0], metric, style, link),
        slices_section(f"{less} {than}", [part for part in result.slices if part.difference <= 0], metric, style, link),
        note(result.untested) if result.untested and against else None,
        note(
            "Parts are categories, radii, thirds of difficulty, pairs of these, and values of attributes, with at least "
            f"{MIN_QUESTIONS} questions. Significant: p < {SIGNIFICANCE}, adjusted for all that were tested."
            + (UNTESTED if request.facets.response_attributes else "")
        ),
        unsolved_section(
            service().ask(unsolved, request.selection), style, request.question_link,
            service().access.address_of_view("/api/v1/unsolved.csv", request.selection.pairs()), quizbowl=request.facets.quizbowl,
        ),
    ]  # fmt: skip


def _by(request: PageRequest[SlicesPage]) -> str:
    return request.parameters.by or default_division(request.facets)


def _every_run(request: PageRequest[SlicesPage], style: RunStyle, tested: Slices) -> Component:
    """The metric of every run in every part, the best run first."""
    by, metric = _by(request), request.parameters.metric
    result: Breakdown = service().ask(breakdown, _measured(request), by, [metric], True)
    rows = _rows(request, metric)
    ranks = {row.run: rank if (rank := row.metrics[metric.key].rank) is not None else math.inf for row in rows}
    rows.sort(key=lambda row: (row.reference, ranks[row.run]))
    whole, models = {row.run: row.metrics[metric.key] for row in rows}, [row.run for row in rows if row.ranked]
    return heat_map(result, whole, metric, style, lambda value: request.link("/", **{by: value}), tested, models)


def _rows(request: PageRequest[SlicesPage], *metrics: Metric) -> list[LeaderboardRow]:
    """The runs that take part: the ranked ones, and reference forecasters."""
    return [row for row in service().ask(leaderboard, _measured(request), metrics).rows if row.ranked or row.reference]


def _measured(request: PageRequest[SlicesPage]) -> Selection:
    """The selection on which runs are measured: compared with another run, on what all of them answered, as in ``slices``."""
    shared = request.parameters.against and request.selection.common is None
    return request.selection.replace(common=True) if shared else request.selection
