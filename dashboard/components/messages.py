"""Messages on pages: errors, empty selections, and banners above the content."""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import urlencode

from dash import html

from dashboard.components.links import page_link
from dashboard.error_messages import error_message
from data.store import StoreError
from queries.facets import Facets
from queries.parameters import BadRequest
from queries.runs import RunFacts
from queries.selection import Selection

MOST_LINKS = 24
MOST_IGNORED = 10  # keys of an address that are named
WHOLE, SHORT = 300, 200  # characters of a note in the banner, two lines at most on a wide screen


def simulated_banner(facets: Facets) -> html.Aside | None:
    """Says that data is simulated, wherever it is shown."""
    if not facets.simulated:
        return None
    note = in_short(facets.note or "") or f"{facets.title} holds simulated data."
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
            + ". It is shown because this address names it, and stands on no other page.",
        ]),
        className="banner",
        role="note",
    )  # fmt: skip


def ignored_keys(keys: Sequence[str]) -> html.P | None:
    """Says which keys of the address mean nothing here."""
    return html.P(f"Ignored: {', '.join(key[:100] for key in keys[:MOST_IGNORED])}", className="note ignored") if keys else None


def error_panel(error: BadRequest | StoreError, path: str, pairs: list[tuple[str, str]]) -> html.Section:
    """What is wrong with an address, and links to addresses that are right, with an allowed value in place of the bad one.

    Args:
        error: what is wrong.
        path, pairs: of the page's address.
    """
    if isinstance(error, StoreError):
        return html.Section([html.H1("The store cannot be read"), html.P(error_message(error))], className="panel", role="alert")
    links = []
    if error.code == "unknown_value" and error.field and error.status == 400:
        for value in error.allowed[:MOST_LINKS]:
            kept = [(key, old) for key, old in pairs if key != error.field]
            links.append(html.Li(page_link(value, href=f"{path}?{urlencode([*kept, (error.field, value)])}")))
    elif error.code == "unknown_key":
        links = [html.Li(html.Code(key)) for key in error.allowed]
    title = "There is no such page" if error.status == 404 else "This address names something that is not there"
    if error.code == "empty_store":
        title = "Nothing to show yet"
    elif error.code == "query_timeout":
        title = "This took too long"
    without = [(key, old) for key, old in pairs if key != error.field and key in Selection.kinds()]
    return html.Section(
        [
            html.H1(title),
            html.P(error_message(error)),
            html.Div([html.P("It can be:"), html.Ul(links, className="choices")]) if links else None,
            html.P(page_link(f"Leave out {error.field}", href=f"{path}?{urlencode(without)}"))
            if error.field and error.status == 400
            else html.P(page_link("To the leaderboard", href="/")),
        ],
        className="panel",
        role="alert",
    )


def nothing_selected(path: str, selection: Selection, what: str) -> html.Section:
    """An empty selection: which filters are set, each with a link that drops it; without filters, how to fill the dataset.

    Args:
        path: of the page.
        selection: in force.
        what: is missing, in the plural, such as "answers".
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
    if not drop:
        return html.Section(
            [
                html.H2(f"No {what} yet"),
                html.P(
                    [
                        "This dataset has too few runs for that. A file of answers becomes a run of it ",
                        page_link("here", href=f"/upload?{urlencode({'dataset': selection.dataset})}"),
                        ", or with",
                    ]
                ),
                html.P(html.Code(f"python -m dashboard import FILE --dataset {selection.dataset} --model NAME")),
                html.P(["Its questions, as a model is to answer them: ", *prompts(selection.dataset)]),
            ],
            className="panel empty",
        )
    return html.Section(
        [
            html.H2(f"No {what} match these filters"),
            html.P(f"{'; '.join(filters[key].sentence(key, selection.value(key)) for key in filters)}. Widen one of them:"),
            html.Ul(drop, className="choices"),
        ],
        className="panel empty",
    )


def prompts(dataset: str) -> list[html.A | str]:
    """Links to the files of prompts of a dataset."""
    path = f"/api/v1/datasets/{dataset}/prompts"
    return [html.A("CSV", href=f"{path}.csv"), ", ", html.A("JSON Lines", href=f"{path}.jsonl")]
