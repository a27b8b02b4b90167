"""Messages on pages: errors, empty selections, notices, and banners above the content."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from urllib.parse import urlencode

from dash import html
from dash.development.base_component import Component

from dashboard.http.messages import error_message, what_changed
from dashboard.http.paths import address
from dashboard.service import service
from dashboard.ui.html import page_link
from dashboard.ui.section import banner, choices, note, panel
from data.plurals import counted
from queries.changes import VersionChanges
from queries.datasets import Dataset
from queries.engine.question_difficulties import FROM_RUNS, UNTESTED
from queries.gradings import GradingCoverage
from queries.runs import RunFacts
from queries.selection import Selection
from queries.selection.facets import Facets
from queries.selection.parameter_kinds import BadRequest
from queries.selection.view_parameters_base import kind_of

MAX_LINKS = 24
TITLES = {
    "empty_store": "Nothing to show yet",
    "query_timeout": "This took too long",
    "busy": "The server is busy",
    "too_many_at_once": "Too much at once",
}
MAX_IGNORED = 10  # ignored keys of an address that are named


def simulated_people(facets: Facets, people: str) -> html.Details | None:
    """Say in a chip that unfolds that the data are simulated; None if not, or if the people are of a human collection."""
    if not facets.simulated or facets.human_collection(people):
        return None
    has_people = facets.human_teams or facets.kind == "votes"
    more = page_link("About this dataset", href=f"/datasets?{urlencode([('dataset', facets.dataset)])}")
    about = facets.note or f"{facets.title} holds simulated data."
    return html.Details(
        [html.Summary("Simulated people" if has_people else "Simulated data"), html.P([f"{about} ", more])], className="simulated"
    )


def withdrawn_banner(run: RunFacts) -> html.Aside:
    """Say that a run named by the address was withdrawn."""
    by = f" by {run.withdrawn_by}" if run.withdrawn_by else ""
    by += f" ({run.withdrawn_reason})" if run.withdrawn_reason else ""
    return banner(
        "Withdrawn run.",
        f"{run.model} ({run.elicitation}), run {run.run}, was withdrawn on {(run.withdrawn_at or '')[:10]}{by}. It is shown "
        "because the address names it; other pages leave it out.",
    )


def version_notice(changes: VersionChanges) -> html.Aside | html.P | None:
    """Say whether a link that pins a data version still shows the same figures as then."""
    if changes.same:
        return note(what_changed(changes), role="note")
    return banner("Figures have changed.", f"{what_changed(changes)} The figures below are today's.")


def grading_notice(selection: Selection, coverage: GradingCoverage) -> html.P | None:
    """Say which runs the grading in force measures; None if the address names one that all have, or none has corrections."""
    if not (coverage.without_it if selection.grading else coverage.with_it):
        return None
    total = coverage.with_it + coverage.without_it
    if selection.grading:
        runs = f"{counted(coverage.without_it, 'run')} of {total:,}"
        return note(f"Without the grading “{selection.grading}”: {runs}, measured by the first grading.", role="note")
    text = f"Measured by the grading “reviewed”, with reviewers' corrections: {counted(coverage.with_it, 'run')} of {total:,}"
    return note(text + ("; the others by their first grading." if coverage.without_it else "."), role="note")


def forecast_notice(facets: Facets) -> html.P | None:
    """Say what confidence and correctness are where answers are forecasts; None elsewhere."""
    if not facets.forecasts:
        return None
    text = (
        "Answers are forecasts: the confidence is the probability of yes, and right means that yes came true. Accuracy, net "
        "score, HMR, its rewards and risk are about the likelier side of each forecast, with its probability as the confidence. "
    )
    return note([text, html.A("More", href="/docs/docs/metrics#forecasts")], role="note")


def untested_notice(selection: Selection, facets: Facets) -> html.P | None:
    """Say why a page shows no tests and no bands, if a filter on difficulties that come from runs selects the questions."""
    return note(UNTESTED, role="note") if selection.difficulty is not None and facets.difficulty_source == FROM_RUNS else None


def ignored_keys(keys: Sequence[str]) -> html.P | None:
    """Say which keys of the address have no effect here."""
    named = ", ".join(key[:100] for key in keys[:MAX_IGNORED])
    return html.P(f"Ignored keys in the link: {named}", className="note ignored") if keys else None


def _alert(title: str, *parts: Component | None) -> html.Section:
    return html.Section([html.H1(title), *parts], className="panel", role="alert")


def store_panel(message: str) -> html.Section:
    """Say why no page can be shown."""
    return _alert("The store cannot be read", html.P(message))


def error_panel(error: BadRequest, path: str, pairs: list[tuple[str, str]], runs: Mapping[str, str]) -> html.Section:
    """Say what is wrong with an address, and link to valid addresses with an allowed value in place of the bad one.

    ``runs`` are the names of runs by their ids.
    """
    if error.status == 401:
        login = html.A("Log in", href=address("/login", [("next", address(path, pairs))]))
        return _alert("Log in to read this", html.P(login))
    links: list[Component] = []
    if error.code == "unknown_value" and error.field and error.status == 400:
        kept = [pair for pair in pairs if pair[0] != error.field]
        links = [
            page_link(runs.get(value, value), href=f"{path}?{urlencode([*kept, (error.field, value)])}")
            for value in error.allowed[:MAX_LINKS]
        ]
    elif error.code == "unknown_key":
        links = [html.Code(key) for key in error.allowed]
    title = "There is no such page" if error.status == 404 else "Unknown value in the link"
    if error.retry_after is not None:
        text = [html.H1(TITLES.get(error.code, title)), html.P(str(error)), html.P("This page asks again by itself.")]
        return html.Section(text, className="panel", role="status")
    way_out: list[Component | str] = [page_link("To the leaderboard", href="/")]
    if error.code == "empty_store":
        way_out = [page_link("Add results in the browser", href="/upload"), " · ", page_link("Datasets", href="/datasets")]
    if error.field and error.status == 400:
        without = [(key, old) for key, old in pairs if key != error.field and kind_of(key, Selection.kinds())]
        way_out = [page_link(f"Remove {error.field} from the link", href=f"{path}?{urlencode(without)}")]
    return _alert(
        TITLES.get(error.code, title),
        html.P(error_message(error)),
        html.Div([html.P("Possible values:"), choices(links)]) if links else None,
        html.P(way_out),
    )


def nothing_selected(path: str, selection: Selection, what: str, facets: Facets, title: str | None = None) -> html.Div:
    """Explain an empty selection: which filters are set, each with a link that removes it; without filters, how to add runs.

    ``what`` is missing, in the plural, such as "answers". If only people have answered the dataset, there are links to what they
    did. ``title`` is for a page that has no other content.
    """
    pairs, filters = selection.pairs(), selection.applied()
    drop = [
        page_link(
            f"without {key}: " + ", ".join(value for name, value in pairs if name == key),
            href=f"{path}?{urlencode([(name, value) for name, value in pairs if name != key])}",
        )
        for key in filters
    ]
    missing = _no_runs(what, facets)
    if drop:
        sentences = "; ".join(filters[key].sentence(key, selection.value(key)) for key in filters)
        missing = panel(f"No {what} match these filters", f"{sentences}. Remove one of them:", choices(drop))
    return html.Div([html.H1(title) if title else None, missing])


def _no_runs(what: str, facets: Facets) -> html.Section:
    dataset = urlencode({"dataset": facets.dataset})
    people: list[str | Component] = [
        f"{counted(facets.human_teams, 'human team')} heard its questions: see ",
        page_link("where they buzzed", href=f"/teams?{dataset}"),
        " and ",
        page_link("its questions", href=f"/questions?{dataset}"),
        ".",
    ]
    upload = page_link("here", href=f"/upload?{dataset}")
    needs = "This page needs more runs than the dataset has. Add one by uploading a file of answers "
    return panel(
        f"No {what} yet",
        html.P(people) if facets.human_teams else None,
        html.P([needs, upload, ", or with"]),
        html.P(html.Code(f"python -m dashboard import FILE --dataset {facets.dataset} --model NAME")),
        html.P(["Its questions as prompts for a model: ", *prompts(facets.dataset)]),
    )


def dataset_links(path: str, wanted: Callable[[Dataset], bool]) -> list[html.A]:
    """Return links to a page of other datasets."""
    return [page_link(one.title, href=f"{path}?dataset={one.dataset}") for one in service().datasets() if wanted(one)]


def prompts(dataset: str) -> list[html.A | str]:
    """Return links to the prompt files of a dataset."""
    path = f"/api/v1/datasets/{dataset}/prompts"
    return [html.A("CSV", href=f"{path}.csv"), ", ", html.A("JSON Lines", href=f"{path}.jsonl")]
