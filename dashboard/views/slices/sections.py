"""Runs by part of the questions, parts on which runs do worse, and questions that no run answered correctly."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from dash import html

from dashboard.ui.html import page_link
from dashboard.ui.notices import disputed_mark
from dashboard.ui.numbers import DASH, p_value_text, percent, short
from dashboard.ui.quizbowl import main_answer
from dashboard.ui.runs import RunColours, named, run_cell
from dashboard.ui.table import Cell, row, table
from data.plurals import counted
from queries.breakdown import MIN_RUNS, Breakdown, BreakdownPart, Unsolved
from queries.engine.bootstrap import SIGNIFICANCE
from queries.engine.ranked_metric_rows import MetricCell
from queries.metrics import Metric
from queries.selection.view_parameters_base import split_key
from queries.slices import Slice

NOT_STATED = "not stated"


def parts_section(
    result: Breakdown,
    whole: Mapping[str, MetricCell],
    metric: Metric,
    names: Mapping[str, str],
    colours: RunColours,
    link: Callable[[str], str],
) -> html.Section:
    """Return a row per run and one for their mean, a column per part: value, 95 % interval and rank.

    ``whole`` is the metric on the whole selection, by run id; it sets the order of the rows. ``link`` maps the value of a part to
    the address of its leaderboard.
    """
    head: list[Cell] = ["Run", "All", *(_head(part, link) for part in result.parts)]
    cells = [{row.run: row.metrics[metric.key] for row in part.rows} for part in result.parts]
    rows = [
        html.Tr(
            [run_cell(names[run], colours.get(run)), html.Td(short(cell.value), className="number")]
            + [_cell(part.get(run), len(part)) for part in cells]
        )
        for run, cell in whole.items()
    ]
    rows.append(
        html.Tr(
            [html.Th("Mean of the runs", scope="row"), _mean(whole.values())] + [_mean(part.values()) for part in cells],
            className="summary",
        )
    )
    title = f"{metric.name} by {split_key(result.by)[1] or result.by}"
    return html.Section(
        [
            html.H2(title),
            html.P(
                "Brackets are 95 % intervals; ranks are within the part. Each part links to its leaderboard. The addresses "
                "/api/v1/breakdown and /api/v1/breakdown.csv give the same for several metrics at once.",
                className="note",
            ),
            table(head, rows, title, "board across"),
        ],
        className="section",
    )


def _head(part: BreakdownPart, link: Callable[[str], str]) -> html.Th:
    name = page_link(part.value, href=link(part.value), title="Leaderboard of this part") if part.value else NOT_STATED
    note = html.Span(counted(part.questions, "question"), className="row-note")
    return html.Th([name, note], scope="col", className="number")


def _cell(cell: MetricCell | None, ranked: int) -> html.Td:
    if cell is None:
        return html.Td(DASH, className="number missing", title="This run answered none of these questions")
    if cell.value is None:
        return html.Td(DASH, className="number missing", title=cell.missing)
    interval = f"[{short(cell.low)}, {short(cell.high)}]" if cell.low is not None else ""
    rank = f"{cell.rank:g} of {ranked}" if cell.rank is not None else ""
    notes = [html.Span(note, className="row-note") for note in (interval, rank) if note]
    return html.Td([html.Span(short(cell.value)), *notes], className="number")


def _mean(cells: Iterable[MetricCell]) -> html.Td:
    values = [cell.value for cell in cells if cell.value is not None]
    return html.Td(short(sum(values) / len(values)) if values else DASH, className="number")


MAX_SIGNIFICANT = 200  # significant rows in a table
MIN_ROWS = 10  # rows in a table; it is filled up with the largest differences that are not significant


def slices_section(
    title: str,
    slices: Sequence[Slice],
    metric: Metric,
    names: Mapping[str, str],
    colours: RunColours,
    link: Callable[[Slice], str],
) -> html.Section:
    """Return the significant slices, and the largest differences of the others.

    ``link`` maps a slice to the address that shows it.
    """
    significant = [part for part in slices if part.p_adjusted < SIGNIFICANCE][:MAX_SIGNIFICANT]
    others = sorted((part for part in slices if part.p_adjusted >= SIGNIFICANCE), key=lambda part: -abs(part.difference))
    rows = [
        html.Tr(
            [
                html.Th(named(colours.get(part.run), names.get(part.run, part.model)), scope="row"),
                html.Td(_name(part) if part.of_others else page_link(_name(part), href=link(part), title="Show this part")),
                html.Td(short(part.value), className="number"),
                html.Td(short(part.reference), className="number"),
                html.Td(f"{short(part.difference)} [{short(part.low)}, {short(part.high)}]", className="number"),
                html.Td(f"{part.questions:,}", className="number"),
                html.Td(p_value_text(part.p_value), className="number"),
                html.Td(p_value_text(part.p_adjusted), className="number"),
            ]
        )
        for part in [*significant, *others[: max(MIN_ROWS - len(significant), 0)]]
    ]
    difference = "Difference" if metric.direction == "zero" else "Worse by"
    head = ["Run", "Part", metric.label, "Compared with", f"{difference}, 95 % interval", "Questions", "p", "p, adjusted"]
    summary = f"{len(significant)} of {counted(len(slices), 'part')} significant" if slices else "No parts."
    body = [html.H2(title), html.P(summary, className="note"), table(head, rows, title) if rows else None]
    return html.Section(body, className="section")


def _name(part: Slice) -> str:
    difficulty = "difficulty for other models " if part.of_others else "difficulty "
    names = {"category": "", "radius": "radius ", "difficulty": difficulty}
    return " · ".join(f"{names.get(by, f'{split_key(by)[1]} ')}{value}" for by, value in part.filters.items())


MAX_ROWS = 20


def unsolved_section(
    result: Unsolved, names: Mapping[str, str], colours: RunColours, link: Callable[[str], str], whole: str, *, quizbowl: bool
) -> html.Section:
    """Return their number by category, and a list. ``link`` maps a question id to its address.

    ``whole`` is the address of the CSV file with all of them.
    """
    heading = html.H2("Questions that no run answered correctly")
    if not result.answered:
        note = f"No question was answered by {MIN_RUNS} runs or more."
        return html.Section([heading, html.P(note, className="note")], className="section")
    failed = len(result.questions)
    note = f"{failed:,} of {counted(result.answered, 'question')} answered by at least {MIN_RUNS} runs. "
    if not failed:
        return html.Section([heading, html.P(note, className="note")], className="section")
    if result.categories.keys() - {""}:
        parts = [
            f"{name or 'not stated'} {failures} of {total}" for name, (total, failures) in result.categories.items() if failures
        ]
        note += f"By category: {', '.join(parts)}. "
    if any(question.people is not None for question in result.questions):
        note += "Sorted by how many people were right, then by the highest confidence of a run."
    else:
        note += "Sorted by the highest confidence of a run."
    rows = [
        row(
            [
                page_link(
                    main_answer(question.answer, quizbowl=quizbowl) or question.question_id,
                    href=link(question.question_id),
                    title=question.question_id,
                )
            ],
            html.Span(question.category or DASH),
            percent(question.people),
            f"{question.heard:,}",
            html.Span([f"{question.runs:,}", disputed_mark() if question.disputed else None]),
            short(question.mean_confidence),
            short(question.highest_confidence),
            html.Span(named(colours.get(surest), names.get(surest, surest)) if (surest := question.surest) else "–"),
        )
        for question in result.questions[:MAX_ROWS]
    ]
    head = ["Question", "Category", "People right", "Heard", "Runs", "Mean confidence", "Highest", "Surest run"]
    more = failed - len(rows)
    return html.Section(
        [
            heading,
            html.P(note, className="note"),
            table(head, rows, "Questions that no run answered correctly"),
            html.P([f"{more:,} more are in the file: " if more else "As a file: ", html.A("CSV", href=whole)], className="note"),
        ],
        className="section",
    )
