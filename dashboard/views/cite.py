"""Citation of a page in a paper: a link that pins the data, the table, a paragraph on methods, references, and a script."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Annotated, Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response
from werkzeug.datastructures import MultiDict

from clueline.dashboard.http.bodies import json_response
from clueline.dashboard.http.messages import rules_that_changed
from clueline.dashboard.http.paths import address, is_long
from clueline.dashboard.registry.addresses import VERSION, get
from clueline.dashboard.registry.composed import selected_runs
from clueline.dashboard.registry.keys import View
from clueline.dashboard.registry.pages import Page, PageParameters, PageRequest, find_page, page, read_page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import Column, questions_of
from clueline.dashboard.registry.views import NAME, Cited, filled_path, with_name_column
from clueline.dashboard.service import service
from clueline.dashboard.settings import VERSION as CLUELINE
from clueline.dashboard.ui.html import aria, data, heading, note, page_link, section
from clueline.dashboard.ui.messages import cluster_words, plays_words, unstated_plays
from clueline.dashboard.ui.table import PageColumn, html_table
from clueline.dashboard.ui.text import CURVE_NAMES, DASH, STATED, over_others, short
from clueline.data.plurals import counted, listed
from clueline.data.store.answer_states import COUNTED, State
from clueline.data.store.gradings import REVIEWED
from clueline.queries.changes import pinned_version, version_changes
from clueline.queries.engine.common_questions import Coverage, coverage
from clueline.queries.engine.plays_of_people import APART
from clueline.queries.leaderboard import board_coverage
from clueline.queries.metrics import CATALOGUE, Conventions, Metric
from clueline.queries.metrics.bibliography import bibtex
from clueline.queries.runs import states_of_answers
from clueline.queries.selection import Selection
from clueline.queries.selection.facets import QUESTION, STATED_ENDS, Facets
from clueline.queries.selection.parameter_kinds import BadRequest
from clueline.queries.selection.view_parameters_base import Parameters

OWN_ENTRY = f"""@software{{clueline,
  author  = {{{{The Clueline authors}}}},
  title   = {{Clueline}},
  version = {{{CLUELINE}}}
}}"""
NOT_KEPT = ("theme", "signed", "pin", "focus", "embed", VERSION)  # keys that do not change what a view measures
BINNINGS = {
    "width10": "10 bins of equal width, closed on the left",
    "width10r": "10 bins of equal width, closed on the right",
    "width10+1": "10 bins of equal width and one for confidence 1",
}


class Citation(msgspec.Struct):
    """Answer of ``/api/v1/cite``.

    Attributes:
        view: path and query string of the cited page.
        permalink: address of the same page with its runs named and the data version pinned.
        columns, rows: the table as it is printed, with at most ``paper_tables.MAX_ROWS`` rows.
        total: number of rows, including those that are not printed.
        latex, markdown: the printed table; LaTeX needs the package booktabs.
        left_out: which answers the figures leave out because they have no confidence, and which metrics count them all the same;
            None if there are none.
        rules_changed: if the view pins an earlier data version, what changed since then in the rules of measuring, in words.
    """

    view: str
    title: str
    permalink: str
    version: str
    csv: str
    columns: list[str]
    rows: list[list[str]]
    total: int
    latex: str
    markdown: str
    left_out: str | None
    methods: str
    rules_changed: list[str]
    bibtex: str
    script: str


def cite(view: str, host: str) -> Citation:
    """Return everything a paper needs to cite a page.

    ``view`` is the path and query string of the page, and ``host`` the address of this server without a slash at the end. Raises
    ``BadRequest`` if there is no such page, it has no figures, or its query string is wrong.
    """
    parts = urlsplit(view)
    page, dataset, item = find_page(parts.path)
    if page.table is None:
        raise BadRequest("unknown_value", f"There are no figures to cite on the page {parts.path[:200]!r}.", "view")
    pairs = [pair for pair in parse_qsl(parts.query, keep_blank_values=True) if pair[0] not in NOT_KEPT]
    request = read_page(page, pairs, dataset, item)
    page.check(request)
    cited, forecasts = page.table(request), request.facets.forecasts
    cited = replace(cited, metrics=tuple(metric.worded(forecasts) for metric in cited.metrics))
    version = service().ask(pinned_version, request.selection)
    named = replace(request, selection=_name_runs(page, request), parameters=cited.parameters)
    source, table = cited.view, cited.view.tables[0]
    answer = source.ask(named, **cited.parts)
    listed_rows = list(cited.order(list(table.rows(answer))))
    shown = with_name_column(table.columns_of(answer, cited.parameters), listed_rows)
    if shown[-1].key == NAME:  # model and elicitation do not tell the runs apart
        cited = replace(cited, columns=(NAME, *(key for key in cited.columns if key not in ("model", "elicitation"))))
    names = {**names_of(request.facets.all_runs), **cited.headings}
    printed = paper_table(shown, listed_rows, cited, names, forecasts=forecasts)
    if printed.metrics:
        cited = replace(cited, metrics=tuple(metric for metric in cited.metrics if metric.key in printed.metrics))
    path = filled_path(source.table_path(table), cited.parts, quoted=True)
    keys = [*named.selection.pairs(), *cited.parameters.pairs(defaults=True), (VERSION, version)]
    keys = [pair for pair in keys if not (pair[0] == "dataset" and "dataset" in cited.parts)]
    keys = list(service().shorten(keys, named.selection))
    pinned = [text for key, text in parse_qsl(parts.query) if key == VERSION]
    rules = service().ask(version_changes, request.selection, pinned[0]).rules_changed if pinned else []
    left_out = _left_out(page, request, cited)
    cited_columns = [column for column in shown if column.key in cited.columns]
    sentences = (_methods(page, request, cited, version), left_out, _other_questions(cited_columns, listed_rows))
    methods = " ".join(sentence for sentence in sentences if sentence)
    own = [(key, text) for key, texts in request.texts.items() for text in texts if key not in NOT_KEPT]
    permalink = address(parts.path, service().shorten([*named.selection.pairs(), *own, (VERSION, version)], named.selection))
    return Citation(
        view=view,
        title=page.title,
        permalink=f"{host}{permalink}",
        version=version,
        csv=f"{host}{address(path, keys)}",
        columns=printed.columns,
        rows=printed.rows,
        total=printed.total,
        latex=as_latex(printed, _caption(request, page, cited, left_out), f"tab:{request.selection.dataset}-{page.name}"),
        markdown=as_markdown(printed) + (f"\n{left_out}\n" if left_out else ""),
        left_out=left_out,
        methods=methods,
        rules_changed=rules,
        bibtex="\n\n".join(filter(None, [bibtex(cited.metrics, cited.references), OWN_ENTRY])),
        script=_script(host, path.removesuffix(".csv"), keys),
    )


def _name_runs(page: Page[Any], request: PageRequest[Any]) -> Selection:
    """Return the selection with its runs and people named, so that later ones do not change the view.

    The page of a single run is an exception, because it ranks the run among all runs. So are more runs than an address can name,
    if the selection cannot be stored.
    """
    runs = selected_runs(request.selection)
    collection = request.facets.human_collection(request.selection.people)
    named = request.selection.replace(people=collection[0]) if collection else request.selection
    if page.name == "run" or not runs:
        return named
    on_these = named.replace(run=tuple(runs))
    return named if is_long(service().shorten(on_these.pairs(), on_these)) else on_these


def _caption(request: PageRequest[Any], page: Page[Any], cited: Cited[Any], left_out: str | None) -> str:
    names = ", ".join(metric.name for metric in cited.metrics[:6]) + (", …" if len(cited.metrics) > 6 else "")
    title = f"{request.facets.title}: {page.title.lower()}{f' ({names})' if names else ''}."
    return " ".join(part for part in (title, cited.interval, left_out) if part)


def _people(selection: Selection, facets: Facets) -> list[str]:
    collection = facets.human_collection(selection.people)
    if collection:
        return [f"Human curves are those of the collection {collection[1]} (run {collection[0]})."]
    return ["The people of this dataset are simulated."] if facets.simulated else []


def _unstated(page: Page[Any], request: PageRequest[Any]) -> list[str]:
    """Say how plays of people count of which nobody stated where they ended."""
    counts = unstated_plays(page, request)
    if counts is None:
        return []
    if request.selection.people == STATED_ENDS:
        return [f"{plays_words(counts)} These are left out."]
    second = f"values “{STATED}” are without them, where they differ by more than {APART}"
    return [f"{plays_words(counts)} They count as heard to the end; {second}."]


def _methods(page: Page[Any], request: PageRequest[Any], cited: Cited[Any], version: str) -> str:
    """Return a paragraph that says how the figures were computed."""
    selection, facets = request.selection, request.facets
    ending = f"as computed by Clueline {CLUELINE} from data version {version}."
    if page.name == "question":
        of_people = [*_people(selection, facets), *_unstated(page, request)]
        return " ".join([f"Results are for the question {request.item} of {facets.title}, {ending}", *of_people])
    counts = service().ask(board_coverage if page.lists_unranked else coverage, selection)
    filters = "; ".join(kind.sentence(key, selection.value(key)) for key, kind in selection.applied().items() if key != "run")
    sentences = [
        f"Results are for {counted(counts.questions, 'question')} of {facets.title}{f' ({filters})' if filters else ''}, {ending}"
    ]
    sentences += [*_people(selection, facets), *_unstated(page, request)]
    compared = page.common if selection.common is None else selection.common
    runs = counted(len(counts.taking_part), "run")
    if compared and counts.differs:
        if page.restricts(request):
            sentences.append(
                f"The {runs} were measured on the {counted(counts.common, 'question')} ({counted(counts.common_clues, 'clue')}) "
                f"that all of them answered{_dropped(counts)}."
            )
        else:
            sentences.append(
                f"The {runs} answered different questions or clues, and each was measured on all that it answered. Where a mean "
                "ranks runs, it is adjusted for the questions that each skipped (least squares, run + question)."
            )
        if counts.apart:
            left_out = counted(len(counts.apart), "run")
            sentences.append(f"{left_out} took no part, for want of nine tenths of the clues that most runs answered.")
    elif counts.differs:
        sentences.append("Runs answered different questions or clues; each was measured on what it answered.")
    elif len(counts.taking_part) > 1:
        sentences.append(f"All {runs} answered the same questions and clues.")
    if cited.metrics:
        sentences.append(f"Metrics: {'; '.join(_metric(metric, selection.conventions) for metric in cited.metrics)}.")
    if cited.interval:
        sentences.append(cited.interval)
        cluster = selection.cluster or facets.clusters[0]
        if cluster != QUESTION:
            sentences.append(
                f"Questions with {cluster_words(cluster)} are one cluster: wherever questions are drawn, left out or flipped, "
                "whole clusters are."
            )
    if selection.grading or REVIEWED in facets.gradings:
        grading = selection.grading_in_force
        sentences.append(f"Answers are graded by the grading “{grading}” for runs that have it, otherwise by the first grading.")
    return " ".join(sentences)


def _dropped(counts: Coverage) -> str:
    """Say what is left out where runs are measured on what all of them answered, in questions or, if none is, in clues."""
    questions, clues = counts.questions - counts.common, counts.clues - counts.common_clues
    if questions:
        return f"; {counted(questions, 'question was', 'questions were')} left out"
    return f"; {counted(clues, 'clue was', 'clues were')} left out" if clues else ""


def _other_questions(shown: Sequence[Column], rows: Sequence[object]) -> str:
    """Say which columns are over other questions than their rows, and over how many."""
    sentences = []
    for column in shown:
        counts = sorted({(count, questions_of(row)) for row in rows if (count := column.other_questions(row)) is not None})
        if counts:
            numbers = [over_others(*pair).removeprefix("of ") for pair in (counts[0], counts[-1])]
            sentences.append(f"{column.heading} is over {' to '.join(dict.fromkeys(numbers))} questions.")
    return " ".join(sentences)


def _left_out(page: Page[Any], request: PageRequest[Any], cited: Cited[Any]) -> str | None:
    """Say which responses have no confidence, by state, and which metrics count them all the same; None if all have one."""
    if "failed" not in page.filters or page.name == "question":  # it leaves out none, or lists answers in every state
        return None
    selection = request.selection.on_runs([request.item or ""]) if page.name == "run" else request.selection
    counts = service().ask(states_of_answers, selection)
    if not counts:
        return None
    counting: dict[tuple[State, ...], list[str]] = {}
    for metric in cited.metrics:
        items = selection.for_metrics([metric]).items.states
        if states := tuple(state for state in counts if state in items):
            counting.setdefault(states, []).append(metric.name)
    numbers = listed([counted(count, *COUNTED[state]) for state, count in counts.items()])
    clauses = [
        f"{listed(names)} {'count' if len(names) > 1 else 'counts'} {listed([COUNTED[state][1] for state in states])}"
        for states, names in counting.items()
    ]
    return f"Left out: {numbers}{'; but ' if clauses else ''}{'; '.join(clauses)}."


def _metric(metric: Metric, conventions: Conventions) -> str:
    """Return the name of a metric with the conventions that it depends on."""
    notes = []
    if metric.binned:
        bins = conventions.mass_bins
        notes.append(f"{bins} bins of equal mass" if bins else BINNINGS[conventions.binning])
    if curve := metric.human_curve(conventions):
        notes.append(f"human curve: {CURVE_NAMES[curve]}")
    if metric.key == "hmr":
        notes.append(f"beta = {conventions.beta:g}")
    if metric.thresholded:
        notes.append(f"an answer is given above confidence {conventions.t:g}")
    return metric.name + (f" ({'; '.join(notes)})" if notes else "")


def _script(host: str, path: str, keys: Sequence[tuple[str, str]]) -> str:
    """Return Python code that prints the table with numbers in full precision."""
    values = MultiDict(keys).to_dict(flat=False)
    shown = {key: texts[0] if len(texts) == 1 else texts for key, texts in values.items()}
    lines = [f"    {_literal(key)}: {_literal(value)}," for key, value in shown.items()]
    return "\n".join([
        "from clueline import Client",
        "",
        "selection = {",
        *lines,
        "}",
        f"with Client({_literal(host)}) as client:",
        f"    table = client.table({_literal(path)}, **selection)",
        "print(table)",
        "",
    ])  # fmt: skip


def _literal(value: str | list[str]) -> str:
    """Return a text or a list of texts as a Python literal, with double quotes."""
    return msgspec.json.encode(value).decode().replace('","', '", "')


MAX_ROWS = 60
OF_FORECASTS = {"mean_confidence": "Mean probability of yes", "accuracy": "Mean outcome"}  # unless they are metrics
LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", DASH: "--", "\u2212": "$-$", "·": r"$\cdot$", "…": r"\dots{}",
}  # fmt: skip


@dataclass(frozen=True)
class PaperTable:
    """A table as it is printed.

    ``numbers`` says which columns hold numbers. ``metrics`` are the keys of the metrics that have a column or a row. ``total``
    counts all rows, also those that are not printed.
    """

    columns: list[str]
    rows: list[list[str]]
    numbers: list[bool]
    metrics: list[str]
    total: int


def paper_table(
    shown: Sequence[Column], rows: Sequence[object], cited: Cited[Any], names: Mapping[str, str], *, forecasts: bool
) -> PaperTable:
    """Return the printed part of a table: three decimals, intervals in brackets, and no empty columns.

    ``names`` are headings to print, such as names of runs, by those of the columns. ``forecasts``: answers are forecasts.
    """
    by_key = {column.key: column for column in shown}
    wanted = [by_key[key] for key in cited.columns if key in by_key]
    if "metric" in by_key:  # one row per metric; leave out metrics that are undefined here
        measured = [column for column in wanted if column.key != "metric"]
        rows = [row for row in rows if any(column.value(row) is not None for column in measured)]
    kept = [column for column in wanted if any(column.value(row) not in (None, "") for row in rows)]

    def cell(row: object, column: Column) -> str:
        value = column.value(row)
        ends = [by_key[end].value(row) for end in column.ends if end in by_key]
        if column.key in ("metric", "variant") and value in CATALOGUE:
            return CATALOGUE[str(value)].worded(forecasts).name
        others = column.other_questions(row)
        of_others = "" if others is None else f" ({over_others(others, questions_of(row))})"
        second = column.second(row) if column.second else None
        of_others += "" if second is None else f" ({_printed(second)} {STATED})"
        if len(ends) == 2 and None not in ends:
            return f"{_printed(value)} [{_printed(ends[0])}, {_printed(ends[1])}]{of_others}"
        return f"{_printed(value)}{of_others}"

    printed = [[cell(row, column) for column in kept] for row in rows[:MAX_ROWS]]
    numbers = [all(isinstance(column.value(row), int | float | None) for row in rows) for column in kept]
    named = [column.key.partition(":")[0] for column in kept]
    if "metric" in by_key:
        named += [str(by_key["metric"].value(row)) for row in rows]
    measured_metrics = {metric.key for metric in cited.metrics}
    metrics = [key for key in dict.fromkeys(named) if key in measured_metrics]
    headings = OF_FORECASTS | {metric.key: metric.worded(True).label for metric in cited.metrics} if forecasts else {}
    titles = [headings.get(column.key) or names.get(column.heading, column.heading) for column in kept]
    return PaperTable(titles, printed, numbers, metrics, len(rows))


def _printed(value: object) -> str:
    """Return a cell: fractions are rounded; whole numbers and words stay as they are.

    >>> _printed(0.48259), _printed(12), _printed("GPT"), _printed(None)
    ('0.483', '12', 'GPT', '–')
    """
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return short(value)
    return DASH if value in (None, "") else str(value)


def as_latex(table: PaperTable, caption: str, label: str) -> str:
    """Return the table as LaTeX, for the package booktabs."""
    if not table.rows:
        return "% The table has no rows.\n"
    columns = "".join("r" if number else "l" for number in table.numbers)
    lines = [" & ".join(map(_latex, row)) + r" \\" for row in [table.columns, *table.rows]]
    return "\n".join([
        r"\begin{table}", r"\centering", rf"\caption{{{_latex(caption)}}}", rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{{columns}}}", r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule", r"\end{tabular}",
        r"\end{table}", "",
    ])  # fmt: skip


def _latex(text: str) -> str:
    r"""Return text with LaTeX's special characters escaped.

    >>> _latex("95 % of a_b")
    '95 \\% of a\\_b'
    """
    return "".join(LATEX.get(letter, letter) for letter in " ".join(text.split()))


def as_markdown(table: PaperTable) -> str:
    """Return the table as Markdown."""

    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(' '.join(cell.split()).replace('|', chr(92) + '|') for cell in cells)} |"

    if not table.rows:
        return "The table has no rows.\n"
    rule = ["---:" if number else "---" for number in table.numbers]
    return "\n".join([line(table.columns), line(rule), *map(line, table.rows), ""])


class CiteParameters(Parameters, frozen=True):
    """Which view is cited."""

    view: Annotated[str, View("the page to cite: its path and query, percent-encoded as one value; `/` by default")] = "/"


@get("/api/v1/cite", CiteParameters)
def get_citation(parameters: CiteParameters) -> Response:
    """Everything a paper needs to cite a page: a link that pins the data, the table as LaTeX, Markdown and CSV, a paragraph on
    methods, BibTeX entries for the metrics, and a Python script that gets the same numbers.
    """
    # Outside a request, the best guess is a server on this machine.
    return json_response(cite(parameters.view, service().url() or f"http://localhost:{service().settings.port}"))


class CitePage(PageParameters, frozen=True):
    """The view that is cited."""

    view: Annotated[str, View("the page that is cited: its path and query; the leaderboard of the dataset by default")] = ""


@page("/cite", "Cite", CitePage)
def draw(request: PageRequest[CitePage]) -> Sequence[Component | None]:
    """Draw the permanent link, the methods paragraph, the table and its formats, the references, and the script.

    If the view pins an earlier data version, what has changed since comes first.
    """
    view = request.parameters.view or address("/", [("dataset", request.selection.dataset)])
    citation = cite(view, service().url())
    left_out, rules = citation.total - len(citation.rows), citation.rules_changed
    columns = [PageColumn(name, itemgetter(place)) for place, name in enumerate(citation.columns)]
    csv = html.A("CSV", href=citation.csv, className="quiet", title="All columns and digits")
    return [
        heading(
            f"Cite: {citation.title}",
            "What a paper needs from this view. The link pins the data: as long as the questions and these runs are the "
            "same, it shows the same digits; otherwise it says what changed.",
            crumbs=page_link("Back to the view", href=view),
        ),
        note(f"{rules_that_changed(rules)} The figures below are today's.", role="note") if rules else None,
        _text("Permanent link", citation.permalink, f"Data version {citation.version}."),
        _text("Methods", citation.methods, "Check it against your view before you print it.", prose=True),
        section(
            html.Div([html.H2("Table"), csv], className="heading"),
            html_table(columns, citation.rows, "The table as printed") if citation.rows else "No rows.",
            f"{left_out:,} further rows are in the CSV." if left_out else None,
        ),
        _text("LaTeX", citation.latex, "Needs the package booktabs."),
        _text("Markdown", citation.markdown),
        _text("BibTeX", citation.bibtex, "The papers that the metrics come from, and Clueline."),
        _text("Python", citation.script, "Prints the same table in full precision. See docs/client.md for what it needs."),
    ]


def _text(title: str, text: str, about: str = "", prose: bool = False) -> html.Section:
    """A text with a button that copies it."""
    button = html.Button("Copy", type="button", className="quiet", **data(copy="text"))
    return section(
        html.Div([html.H2(title), button], className="heading"),
        about,
        html.Pre(text, className="prose" if prose else "", tabIndex="0", role="region", **aria(label=title)),
        class_name="section citation",
    )
