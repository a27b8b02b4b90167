"""Runs as a table: where each came from, what was imported, and a button that withdraws or restores it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html
from dash.development.base_component import Component

from dashboard.ui.html import aria, data, page_link, run_path
from dashboard.ui.table import table
from data.importing.report import rows_without_answer
from data.plurals import counted
from data.store.answer_states import OTHER_STATES
from queries.runs import RunFacts

MAX_DECISIONS = 200  # decisions shown on the page; the JSON has them all


def runs_table(result: Sequence[RunFacts], titles: Mapping[str, str], every_dataset: bool, mode: str) -> html.Div:
    """Return a row per run, with a column of datasets if the table shows every dataset.

    There must be at least one run; either all are withdrawn or none is. ``mode`` is the value of ``CLUELINE_UPLOADS``; "off"
    leaves out the buttons.
    """
    head = ["Run", *(["Dataset"] if every_dataset else []), "Imported", "From", "Answers", "Decided", "Download", "See",
            *([] if mode == "off" else [""])]  # fmt: skip
    label = "Withdrawn runs" if result[0].withdrawn_at else "Runs"
    return html.Div(table(head, [_row(facts, titles, every_dataset, mode) for facts in result], label), className="runs")


def provenance(facts: RunFacts) -> html.Section:
    """Return where a run came from, and its files to download."""
    download = f"/api/v1/runs/{facts.run}/responses"
    files = [html.A(form.upper(), href=f"{download}.{form}") for form in ("csv", "jsonl", "parquet")]
    items: dict[str, Sequence[Component | str] | Component | str] = {
        "Run": html.Code(facts.run),
        "Imported": [_timestamp(facts.imported_at), f" by {_importer(facts.imported_by)}"],
        "File": [
            html.Span(facts.file_name or "a file without a name", className="name"),
            " ",
            html.Code(f"sha256 {facts.sha256[:12]}…", title=facts.sha256),
        ],
        "Answers": f"{counted(facts.items, 'answer')} {_counts(facts)}",
        "Download": html.Span([*files, html.A("JSON", href=f"/api/v1/runs/{facts.run}")], className="links"),
    }
    for name, values in facts.attributes.items():
        listed = "too many values to list" if values is None else ", ".join(values)
        items[f"Attribute {name}"] = listed
    if facts.tags:
        items["Tags"] = ", ".join(f"{tag}: {value}" for tag, value in facts.tags.items())
    if facts.decisions:
        items["Graded by a person"] = _decided(facts)
    parts = [part for term, text in items.items() for part in (html.Dt(term), html.Dd(text))]
    return html.Section(html.Dl(parts), className="dataset provenance")


def _row(facts: RunFacts, titles: Mapping[str, str], every_dataset: bool, mode: str) -> html.Tr:
    name = f"{facts.model} · {facts.elicitation}"
    download = f"/api/v1/runs/{facts.run}/responses"
    withdrawn = facts.withdrawn_at is not None
    see = f"/?dataset={facts.dataset}" + (f"&run={facts.run}" if withdrawn else "")
    change = html.Button(
        "Restore" if withdrawn else "Withdraw",
        className="quiet",
        **aria(label=f"{'Restore' if withdrawn else 'Withdraw'} {name}"),
        **data(run=facts.run, change="restore" if withdrawn else "withdraw", name=name),
    )
    cells = [
        html.Td(titles.get(facts.dataset, facts.dataset)) if every_dataset else None,
        html.Td([_timestamp(facts.imported_at), html.Div(f"by {_importer(facts.imported_by)}", className="by"),
                 html.Div(["withdrawn ", _timestamp(facts.withdrawn_at), f" by {_importer(facts.withdrawn_by)}"], className="by")
                 if facts.withdrawn_at else None]),
        html.Td([html.Span(facts.file_name or "a file without a name", className="name file"),
                 html.Div(html.Code(f"sha256 {facts.sha256[:12]}…", title=facts.sha256), className="by")]),
        html.Td([counted(facts.items, "answer"), html.Div(_counts(facts), className="by")]),
        html.Td(_decided(facts)),
        html.Td(html.Span([html.A("CSV", href=f"{download}.csv"), html.A("JSONL", href=f"{download}.jsonl"),
                           html.A("Parquet", href=f"{download}.parquet")], className="links")),
        html.Td(html.Span([page_link("Leaderboard", href=see), html.A("JSON", href=f"/api/v1/runs/{facts.run}")],
                          className="links")),
        None if mode == "off" else html.Td(change),
    ]  # fmt: skip
    first = html.Th(
        [page_link(name, href=run_path(facts.run), class_name="name"), html.Div(html.Code(facts.run), className="by")],
        scope="row",
        id=f"run-{facts.run}",
    )
    return html.Tr([first, *(cell for cell in cells if cell is not None)])


def _timestamp(at: str | None) -> html.Time:
    text = at or ""
    return html.Time(f"{text[:10]} {text[11:16]} UTC", dateTime=text, title=text)


def _importer(name: str | None) -> str:
    return {None: "the command line", "open": "a visitor (open server)"}.get(name, str(name))


def _counts(facts: RunFacts) -> str:
    parts = [f"to {counted(facts.questions, 'question')}"]
    if facts.missing_questions:
        parts.append(f"{facts.missing_questions:,} not answered")
    if facts.samples > 1:
        parts.append(f"up to {facts.samples:,} {'people' if facts.respondents else 'answers'} to each clue")
    parts += rows_without_answer({state: getattr(facts, state) for state in OTHER_STATES}, facts.skipped)
    return "; ".join(parts)


def _decided(facts: RunFacts) -> Component | str:
    if not facts.decisions:
        return "–"
    listed = [
        html.Li([
            html.Span(decision.guess or "no guess", className="guess"),
            f" {_judged(decision.correct)} ({decision.question_id}, clue {decision.clue + 1})",
        ])
        for decision in facts.decisions[:MAX_DECISIONS]
    ]  # fmt: skip
    left = len(facts.decisions) - len(listed)
    return html.Details(
        [
            html.Summary(counted(len(facts.decisions), "guess", "guesses")),
            html.Ul([*listed, html.Li(f"and {left:,} more, in the JSON") if left else None]),
        ]
    )


def _judged(correct: float) -> str:
    return {0.0: "wrong", 1.0: "correct"}.get(correct, f"{correct:g} correct")
