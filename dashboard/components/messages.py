"""Messages on pages: errors, empty selections, and banners above the content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html

from dashboard.components.links import address, page_link
from dashboard.components.numbers import count
from dashboard.data_version_changes import what_changed
from dashboard.error_messages import error_message
from queries.data_version import VersionChanges
from queries.gradings import GradingCoverage
from queries.runs import RunFacts
from queries.selection import Selection
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest
from queries.selection.parameters import kind_of

MAX_LINKS = 24
TITLES = {
    "query_timeout": "This took too long",
    "busy": "The server is busy",
    "too_many_at_once": "Too much at once",
}
MAX_IGNORED = 10  # keys of an address that are named
WHOLE, SHORT = 300, 200  # characters of a note in the banner, two lines at most on a wide screen


def simulated_banner(facets: Facets, people: str) -> html.Aside | None:
    """Says that data is simulated, wherever it is shown.

    Args:
        facets: of the dataset.
        people: of the selection. Those of a human collection are real.
    """
    if not facets.simulated:
        return None
    note = in_short(facets.note or "") or f"{facets.title} holds simulated data."
    collection = facets.human_collection(people)
    if collection:
        note += f" This is not about {collection[1]}, against whom runs are measured here."
    more = page_link("About this dataset", href=f"/datasets?{urlencode([('dataset', facets.dataset)])}")
    return html.Aside(
        [html.Div([html.Strong("Simulated data. "), note]), more],
        className="banner",
        role="note",
        title=facets.note or "",
    )


def in_short(note: str) -> str:
    """A note as a banner has room for it: the whole where it is short, else the sentences that are, the first one at least."""
    if len(note) <= WHOLE:
        return note
    ends = [match.start() + 1 for match in re.finditer(r"[.!?](?= )", note)] or [len(note)]
    return note[: max([end for end in ends if end <= SHORT] or ends[:1])]


def withdrawn_banner(run: RunFacts) -> html.Aside:
    """Says that a run was withdrawn, where an address names it all the same."""
    when = (run.withdrawn_at or "")[:10]
    return html.Aside(
        html.Div([
            html.Strong("Withdrawn run. "),
            f"{run.model} ({run.elicitation}), run {run.run}, was withdrawn on {when}"
            + (f" by {run.withdrawn_by}" if run.withdrawn_by else "")
            + ". It is shown because the address names it; other pages leave it out.",
        ]),
        className="banner",
        role="note",
    )  # fmt: skip


def version_notice(changes: VersionChanges) -> html.Aside | html.P:
    """Says whether a link that pins a data version shows the figures that it showed then."""
    if changes.same:
        return html.P(what_changed(changes), className="note", role="note")
    text = f"{what_changed(changes)} The figures below are those of today."
    return html.Aside(html.Div([html.Strong("The data has changed. "), text]), className="banner", role="note")


def grading_notice(grading: str, coverage: GradingCoverage) -> html.P | None:
    """Says how many runs do not have the grading that the address names; None where all have it."""
    if not coverage.without_it:
        return None
    runs = count(coverage.without_it, "run")
    text = f"{runs} of {coverage.with_it + coverage.without_it:,} without the grading “{grading}”: measured by the first grading."
    return html.P(text, className="note", role="note")


def ignored_keys(keys: Sequence[str]) -> html.P | None:
    """Says which keys of the address mean nothing here."""
    return (
        html.P(f"Ignored keys of the link: {', '.join(key[:100] for key in keys[:MAX_IGNORED])}", className="note ignored")
        if keys
        else None
    )


def store_panel(message: str) -> html.Section:
    """Says why no page can be shown."""
    return html.Section([html.H1("The store cannot be read"), html.P(message)], className="panel", role="alert")


def error_panel(error: BadRequest, path: str, pairs: list[tuple[str, str]]) -> html.Section:
    """What is wrong with an address, and links to addresses that are right, with an allowed value in place of the bad one.

    Args:
        error: what is wrong.
        path, pairs: of the page's address.
    """
    links = []
    if error.code == "unknown_value" and error.field and error.status == 400:
        for value in error.allowed[:MAX_LINKS]:
            kept = [(key, old) for key, old in pairs if key != error.field]
            links.append(html.Li(page_link(value, href=f"{path}?{urlencode([*kept, (error.field, value)])}")))
    elif error.code == "unknown_key":
        links = [html.Li(html.Code(key)) for key in error.allowed]
    title = "There is no such page" if error.status == 404 else "Unknown value in the link"
    if error.code == "empty_store":
        title = "Nothing to show yet"
    elif error.code in TITLES:
        title = TITLES[error.code]
    if error.status == 401:
        return html.Section(
            [html.H1("Log in to read this"), html.P(html.A("Log in", href=address("/login", [("next", address(path, pairs))])))],
            className="panel",
            role="alert",
        )
    without = [(key, old) for key, old in pairs if key != error.field and kind_of(key, Selection.kinds())]
    return html.Section(
        [
            html.H1(title),
            html.P(error_message(error)),
            html.Div([html.P("Possible values:"), html.Ul(links, className="choices")]) if links else None,
            html.P(page_link(f"Remove {error.field} from the link", href=f"{path}?{urlencode(without)}"))
            if error.field and error.status == 400
            else html.P(page_link("To the leaderboard", href="/")),
        ],
        className="panel",
        role="alert",
    )


def nothing_selected(path: str, selection: Selection, what: str, facets: Facets, title: str | None = None) -> html.Div:
    """An empty selection: which filters are set, each with a link that drops it; without filters, how to fill the dataset.

    Args:
        path: of the page.
        selection: in force.
        what: is missing, in the plural, such as "answers".
        facets: of the dataset: one that only people have answered leads to what they did.
        title: of the page, where it has no other content.
    """
    pairs = selection.pairs()
    filters = selection.applied()
    drop = [
        html.Li(
            page_link(
                f"without {key}: " + ", ".join(value for name, value in pairs if name == key),
                href=f"{path}?{urlencode([(name, value) for name, value in pairs if name != key])}",
            )
        )
        for key in filters
    ]
    if drop:
        sentences = "; ".join(filters[key].sentence(key, selection.value(key)) for key in filters)
        message = [html.H2(f"No {what} match these filters"), html.P(f"{sentences}. Widen one of them:")]
        panel = html.Section([*message, html.Ul(drop, className="choices")], className="panel empty")
    else:
        panel = _no_runs(what, facets)
    return html.Div([html.H1(title) if title else None, panel])


def _no_runs(what: str, facets: Facets) -> html.Section:
    dataset = urlencode({"dataset": facets.dataset})
    people = html.P(
        [
            f"{count(facets.human_teams, 'team')} of people heard its questions: see ",
            page_link("where they buzzed", href=f"/teams?{dataset}"),
            " and ",
            page_link("its questions", href=f"/questions?{dataset}"),
            ".",
        ]
    )
    return html.Section(
        [
            html.H2(f"No {what} yet"),
            people if facets.human_teams else None,
            html.P(
                [
                    "This page needs more runs than the dataset has. Add one by uploading a file of answers ",
                    page_link("here", href=f"/upload?{dataset}"),
                    ", or with",
                ]
            ),
            html.P(html.Code(f"python -m dashboard import FILE --dataset {facets.dataset} --model NAME")),
            html.P(["Its questions, as a model is to answer them: ", *prompts(facets.dataset)]),
        ],
        className="panel empty",
    )


def prompts(dataset: str) -> list[html.A | str]:
    """Links to the files of prompts of a dataset."""
    path = f"/api/v1/datasets/{dataset}/prompts"
    return [html.A("CSV", href=f"{path}.csv"), ", ", html.A("JSON Lines", href=f"{path}.jsonl")]
