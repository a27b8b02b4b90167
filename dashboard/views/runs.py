"""Runs: where each came from, its responses as files, and what was withdrawn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response
from flask import request as flask_request

from clueline.dashboard.http.bodies import file_response, json_response, read_body
from clueline.dashboard.http.paths import address, run_path
from clueline.dashboard.registry.addresses import accept, get, refusal, writer
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.run_names import name_of, names_of
from clueline.dashboard.registry.tables import Table, fields, with_json
from clueline.dashboard.registry.views import serve
from clueline.dashboard.service import service
from clueline.dashboard.ui.controls import change_button, change_message, menu, search
from clueline.dashboard.ui.html import controls, heading, note, page_link, panel, section
from clueline.dashboard.ui.html import facts as section_facts
from clueline.dashboard.ui.table import Cell, PageColumn, html_table
from clueline.dashboard.ui.text import minute
from clueline.dashboard.uploads.watching import watched_files
from clueline.data.importing.report import rows_without_answer
from clueline.data.plurals import counted
from clueline.data.store.answer_states import OTHER_STATES
from clueline.data.store.query_to_file import Form
from clueline.data.store.run_tags import LABEL, BadTag, change_tags
from clueline.data.store.run_withdrawal import CannotDelete, CannotRestore, NoSuchRun, delete, restore, withdraw
from clueline.queries.runs import RunChoices, RunFacts, every_eval_ever, responses, run, run_choices, runs
from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import MAX_VALUE_LENGTH, BadRequest, Choice, Flag, Text, Whole
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

TIME = r"\d{4}(-\d{2}(-\d{2})?)?"
MAX_RUNS = 1000  # of one page in JSON


@dataclass(frozen=True)
class _Time(Text):
    """A year, a month or a day."""

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> str:
        """See ``Kind``."""
        if texts[0] and not re.fullmatch(TIME, texts[0]):
            raise BadRequest("bad_value", f"{key} is a year, a month or a day, such as 2025-11, not {texts[0]!r}.", key)
        return texts[0]


Sought = Annotated[str, Text("runs with this text in the id, the names, the file, the importer or the tags")]
OfModel = Annotated[str, Text("runs of this model, under all its names")]
Tagged = Annotated[str, Text("runs with this tag: `reasoning`, or with a value `reasoning=yes`")]
Since = Annotated[str, _Time("runs imported since this year, month or day, UTC: `2025-11`")]
Until = Annotated[str, _Time("runs imported until the end of this year, month or day, UTC")]
After = Annotated[str, Text("`next` of the page before")]


class RunsKeys(Parameters, frozen=True):
    """Which runs are listed."""

    dataset: Annotated[str | None, Text("runs on this dataset; by default on every dataset")] = None
    search: Sought = ""
    of_model: OfModel = ""
    tagged: Tagged = ""
    since: Since = ""
    until: Until = ""
    withdrawn: Annotated[bool | None, Flag("`1`: only withdrawn runs; `0`: without them; both by default")] = None
    newest: Annotated[bool, Flag("`1`: the latest import first")] = False
    limit: Annotated[int | None, Whole(f"how many runs; {MAX_RUNS:,} by default", MAX_RUNS)] = MAX_RUNS
    after: After = ""


class RunsTableKeys(RunsKeys, frozen=True):
    """The same keys without a limit on the length of a page."""

    limit: Annotated[int | None, Whole("how many runs; all of them by default", 999_999)] = None


RUNS = serve(
    "runs",
    runs,
    RunsKeys,
    """Where each run comes from: who imported it and when (UTC), the file and its SHA-256, what the run did not answer,
        guesses that its uploader graded, and whether, when and by whom it was withdrawn. `total` counts the runs, of which
        `next` asks for more.""",
    Table("", rows=lambda answer: answer.runs, columns=with_json(fields(RunFacts))),
    selected=False,
    csv=False,
)


@get("/api/v1/runs.csv", RunsTableKeys)
def get_runs_csv(keys: RunsTableKeys) -> Response:
    """The same as CSV, with all runs. Skipped items and the uploader's grades are JSON in their cells."""
    return RUNS.csv(RUNS.tables[0], keys)


serve("runs/<run_id>", run, NoParameters, "The same for one run.", selected=False)


@get("/api/v1/runs/<run_id>/responses.csv", NoParameters, defaults={"form": "csv"})
@get("/api/v1/runs/<run_id>/responses.jsonl", NoParameters, defaults={"form": "jsonl"})
@get("/api/v1/runs/<run_id>/responses.parquet", NoParameters, defaults={"form": "parquet"})
def get_responses(parameters: NoParameters, run_id: str, form: Form) -> Response:
    """The responses of a run, by question id and clue. Importing the file again gives the same run."""
    facts = service().ask(run, run_id)
    table = responses(service().snapshot(), run_id, form)
    name = f"{facts.dataset}-{facts.model}-{facts.elicitation}"[:60]
    return file_response(service().export(table, form), form, f"{name}-{facts.run}")


@get("/api/v1/runs/<run_id>/every-eval-ever.jsonl", NoParameters)
def get_evaluation(parameters: NoParameters, run_id: str) -> Response:
    """The responses of a run as records of Every Eval Ever (schema 0.3.0), with confidences in `metadata`."""
    facts = service().ask(run, run_id)
    _, samples = every_eval_ever(service().snapshot(), run_id)
    return file_response(service().export(samples, "jsonl"), "jsonl", f"{facts.dataset}-{facts.run}_samples")


@accept("DELETE", "/api/v1/runs/<run_id>")
def delete_run(run_id: str) -> Response:
    """Withdraw a run: it disappears from every list and page that does not name it, but is not erased. The body can be
    `{"reason": "..."}`. Responds as `GET` does.
    """
    by = writer()
    reason = (read_body(_Withdrawal).reason if flask_request.get_data() else "").strip()[:MAX_VALUE_LENGTH]
    with changing(run_id):
        withdraw(service().store, run_id, by, reason or None)
    return json_response(service().ask(run, run_id))


@accept("POST", "/api/v1/runs/<run_id>/restore")
def restore_run(run_id: str) -> Response:
    """Restore a withdrawn run. 409 if the questions that it answered were replaced."""
    by = writer()
    with changing(run_id):
        restore(service().store, run_id, by)
    return json_response(service().ask(run, run_id))


@accept("POST", "/api/v1/runs/<run_id>/delete")
def delete_for_good(run_id: str) -> Response:
    """Delete a withdrawn run for good: `{"name": "gpt-4o"}`, the model name of the run, so that nothing is deleted by mistake.
    Its files go once no kept version of the store names them; backups keep them. Needs a token with the right `admin`. Responds
    with the runs of its dataset.
    """
    by = writer(admin=True)
    name = read_body(_Deletion).name
    with changing(run_id) as facts:
        if name.strip() != facts.model:
            raise BadRequest("bad_value", f"The name of the run's model is not {name!r}.", "name", status=422)
        delete(service().store, run_id, by)
    return json_response(service().ask(runs, facts.dataset))


@accept("POST", "/api/v1/runs/<run_id>/tags")
def post_tags(run_id: str) -> Response:
    """Set tags of a run: `{"label": "after RLHF", "reasoning": "yes", "old": null}`. A tag that is null or blank is removed, and
    others stay. Responds as `GET /api/v1/runs/<run_id>` does.
    """
    by = writer()
    changes = {tag.strip(): (value or "").strip() or None for tag, value in read_body(dict[str, str | None]).items()}
    with changing(run_id), refusal(BadTag, "bad_value", "tags"):
        change_tags(service().store, run_id, changes, by)
    return json_response(service().ask(run, run_id))


class _Withdrawal(msgspec.Struct, forbid_unknown_fields=True):
    reason: str = ""


class _Deletion(msgspec.Struct, forbid_unknown_fields=True):
    name: str


@contextmanager
def changing(run_id: str) -> Iterator[RunFacts]:
    """Yield what is known of a run before a change, and read the store after it.

    Answers 404 for an unknown run, and 409 if it cannot be deleted or restored.
    """
    try:
        yield service().ask(run, run_id)  # also 404 for a run on a dataset that the reader may not read
    except NoSuchRun:
        raise BadRequest("unknown_run", f"There is no run {run_id!r}; /api/v1/runs lists them.", "run", status=404) from None
    except CannotDelete:
        raise BadRequest("not_withdrawn", "Only a withdrawn run can be deleted; withdraw it first.", "run", status=409) from None
    except CannotRestore as error:
        raise BadRequest("cannot_restore", f"Run {run_id!r} cannot be restored: {error}.", "run", status=409) from None
    service().read_current()


WORDS = {0.0: "wrong", 1.0: "correct"}  # of decisions
MAX_DECISIONS = 200  # decisions shown on the page; the JSON has them all


def runs_table(result: Sequence[RunFacts], titles: Mapping[str, str], every_dataset: bool, mode: str) -> html.Div:
    """Return a row per run, with a column of datasets if the table shows every dataset.

    There must be at least one run; either all are withdrawn or none is. ``mode`` is the value of ``CLUELINE_UPLOADS``; "off"
    leaves out the buttons.
    """

    def see(facts: RunFacts) -> html.Span:
        board = f"/?dataset={facts.dataset}" + (f"&run={facts.run}" if facts.withdrawn_at else "")
        links = [page_link("Leaderboard", href=board), html.A("JSON", href=f"/api/v1/runs/{facts.run}")]
        return html.Span(links, className="links")

    columns = [
        PageColumn("Run", _name),
        PageColumn("Dataset", lambda facts: titles.get(facts.dataset, facts.dataset)) if every_dataset else None,
        PageColumn("Imported", _imported),
        PageColumn("From", lambda facts: [_file(facts, "name file"), html.Div(_hash(facts), className="by")]),
        PageColumn(
            "Answers",
            lambda facts: [counted(facts.items, "answer"), html.Div(_counts(facts), className="by"), _same(facts)],
            number=False,
        ),
        PageColumn("Decided", _decided) if any(facts.decisions for facts in result) else None,
        PageColumn("Download", lambda facts: html.Span(_downloads(facts, "CSV", "JSONL", "Parquet"), className="links")),
        PageColumn("See", see),
        None if mode == "off" else PageColumn("Change", _change),
    ]
    label = "Withdrawn runs" if result[0].withdrawn_at else "Runs"
    return html.Div(html_table(columns, result, label), className="runs")


def provenance(facts: RunFacts) -> html.Section:
    """Return where a run came from, and its files to download."""
    files = [*_downloads(facts, "CSV", "JSONL", "PARQUET"), html.A("JSON", href=f"/api/v1/runs/{facts.run}")]
    items: dict[str, Sequence[Component | str] | Component | str] = {
        "Run": html.Code(facts.run),
        "Evaluated": "no file said when" if facts.evaluated_at is None else _timestamp(facts.evaluated_at),
        "Imported": [_timestamp(facts.imported_at), f" by {_importer(facts.imported_by)}"],
        "File": [_file(facts, "name"), " ", _hash(facts)],
        "Answers": [f"{counted(facts.items, 'answer')} {_counts(facts)}", _same(facts)],
        "Download": html.Span(files, className="links"),
    }
    if facts.stated_elicitation:
        items["Elicitation"] = f"{facts.elicitation}; its file calls it {facts.stated_elicitation}"
    for name, values in facts.attributes.items():
        items[f"Attribute {name}"] = "too many values to list" if values is None else ", ".join(values)
    if facts.tags:
        items["Tags"] = ", ".join(f"{tag}: {value}" for tag, value in facts.tags.items())
    if facts.decisions:
        items["Graded by a person"] = _decided(facts)
    return html.Section(section_facts(items), className="dataset provenance")


def _same(facts: RunFacts) -> Component | str:
    """Return links to the runs with the same answers, if there are any."""
    names = names_of([facts.run, *facts.same_answers]) if facts.same_answers else {}
    links = [page_link(names.get(run, run), href=run_path(run)) for run in facts.same_answers]
    return html.Div(["the same answers as ", html.Span(links, className="links")], className="by") if links else ""


def _name(facts: RunFacts) -> Cell:
    link = page_link(name_of(facts.run, facts.dataset), href=run_path(facts.run), class_name="name")
    told = ", ".join(f"{tag}: {value}" for tag, value in facts.tags.items() if tag != LABEL)
    return Cell(
        [link, html.Div(told, className="by") if told else "", html.Div(html.Code(facts.run), className="by")],
        attributes={"id": f"run-{facts.run}"},
    )


def _imported(facts: RunFacts) -> list[Component]:
    parts: list[Component] = [_timestamp(facts.imported_at), html.Div(f"by {_importer(facts.imported_by)}", className="by")]
    if facts.withdrawn_at:
        withdrawn: list[Any] = ["withdrawn ", _timestamp(facts.withdrawn_at), f" by {_importer(facts.withdrawn_by)}"]
        parts.append(html.Div([*withdrawn, f": {facts.withdrawn_reason}" if facts.withdrawn_reason else ""], className="by"))
    return parts


def _file(facts: RunFacts, class_name: str) -> html.Span:
    return html.Span(facts.file_name or "a file without a name", className=class_name)


def _hash(facts: RunFacts) -> html.Code:
    return html.Code(f"sha256 {facts.sha256[:12]}…", title=facts.sha256)


def _downloads(facts: RunFacts, *forms: str) -> list[html.A]:
    return [html.A(form, href=f"/api/v1/runs/{facts.run}/responses.{form.lower()}") for form in forms]


def _change(facts: RunFacts) -> html.Span:
    name, path = name_of(facts.run, facts.dataset), f"/api/v1/runs/{facts.run}"
    who = f"{name} (run {facts.run})"
    if facts.withdrawn_at:
        restore_button = change_button(
            "Restore", f"POST {path}/restore", f"{who} was restored.", title=f"Restore {name}", run=facts.run, change="restore"
        )
        erase = change_button(
            "Delete for good", f"POST {path}/delete", f"{who} was deleted.", [("name", f"To delete it, type {facts.model}", "")],
            title=f"Delete {name} for good",
        )  # fmt: skip
        return html.Span([restore_button, " ", erase], className="links")
    withdraw_button = change_button(
        "Withdraw", f"DELETE {path}", f"{who} was withdrawn.", [("reason", "Reason", "")], title=f"Withdraw {name}",
        undo=f"POST {path}/restore", run=facts.run, change="withdraw", name=name,
    )  # fmt: skip
    tags = {LABEL: "", "notes": ""} | facts.tags
    edit = change_button(
        "Edit", f"POST {path}/tags", f"Tags of {who} were stored.",
        [*((tag, tag.capitalize() if tag in (LABEL, "notes") else f"Tag {tag}", value) for tag, value in tags.items()),
         ("=", "Another tag, such as reasoning=yes", "")],
        title=f"Label, notes and tags of {name}",
    )  # fmt: skip
    return html.Span([edit, " ", withdraw_button], className="links")


def _timestamp(at: str | None) -> html.Time:
    text = at or ""
    return html.Time(minute(text), dateTime=text, title=text)


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
            f" {WORDS.get(decision.correct, f'{decision.correct:g} correct')} ({decision.question_id}, clue {decision.clue + 1})",
        ])
        for decision in facts.decisions[:MAX_DECISIONS]
    ]  # fmt: skip
    left = len(facts.decisions) - len(listed)
    listed += [html.Li(f"and {left:,} more, in the JSON")] if left else []
    return html.Details([html.Summary(counted(len(facts.decisions), "guess", "guesses")), html.Ul(listed)])


MAX_WATCHED = 200  # files of watched places that are listed, the latest first
WATCHED = (
    PageColumn("File", lambda file: html.Code(file[0])),
    PageColumn("Read", lambda file: _timestamp(file[1].at)),
    PageColumn("What became of it", lambda file: f"{file[1].state}: {file[1].says}"),
)
OFF = "This server accepts no uploads and no changes to runs (CLUELINE_UPLOADS=off); its operator imports and withdraws runs."


class RunsPage(PageParameters, frozen=True):
    """The runs that are listed."""

    show: Annotated[str, Choice("`all`: the runs of every dataset", ("all",), blank=True)] = ""
    search: Sought = ""
    of_model: OfModel = ""
    tagged: Tagged = ""
    since: Since = ""
    until: Until = ""
    after: After = ""

    def keys(self, dataset: str | None) -> RunsKeys:
        """Return the keys of the same runs in JSON, those of all datasets for None."""
        return RunsKeys(dataset, self.search, self.of_model, self.tagged, self.since, self.until, newest=True, after=self.after)


MAX_SHOWN = 100  # runs on a page
MAX_OFFERED = 500  # choices of a menu; more are found by the search


@page("/runs", "Runs", RunsPage, place="Data", order=2)
def draw(request: PageRequest[RunsPage]) -> Sequence[Component | None]:
    """Draw the runs that count, the latest first, and those that were withdrawn."""
    parameters, every_dataset = request.parameters, request.parameters.show == "all"
    dataset = None if every_dataset else request.selection.dataset
    keys = parameters.keys(dataset)
    current = RUNS.ask(keys.replace(withdrawn=False, limit=MAX_SHOWN))
    withdrawn = RUNS.ask(keys.replace(withdrawn=True, limit=MAX_SHOWN, after=""))
    titles = {dataset.dataset: dataset.title for dataset in service().datasets()}
    mode = service().access.page_mode()
    own = [(key, value) for key, value in parameters.pairs() if key not in ("after", "version", "embed", "signed")]

    def at(**changes: str) -> str:
        return address(request.path, [*request.selection.pairs(), *(dict(own) | changes).items()])

    files = [pair for pair in keys.replace(after="", newest=False).pairs() if pair[1]]
    csv, as_json = (
        html.A(form, href=service().access.address_of_view(f"/api/v1/runs{end}", files))
        for form, end in (("CSV", ".csv"), ("JSON", ""))
    )
    sought = bool({key for key, _ in own} - {"show", "theme", "pin"})
    only, every = page_link(f"{request.facets.title} only", at(show="")), at(show="all")
    gradings = page_link("Gradings", href=request.link("/gradings"))
    none = panel("No runs", "No run matches.") if sought else panel("No runs yet", "None was imported, or all were withdrawn.")
    return [
        heading(
            "Runs",
            f"{'All datasets' if every_dataset else request.facets.title}: where {counted(current.total, 'run')} came from",
            only if every_dataset else page_link("All datasets", href=every),
            page_link("Upload a run", href=request.link("/upload")) if mode != "off" else None,
        ),
        note(OFF) if mode == "off" else None,
        *change_message(),
        _controls(parameters, service().ask(run_choices, dataset)),
        runs_table(current.runs, titles, every_dataset, mode) if current.runs else none,
        note([
            *((page_link("The latest", at()), " ") if parameters.after else ()),
            *((page_link(f"Earlier runs (of {current.total:,})", at(after=current.next)),) if current.next else ()),
        ]) if parameters.after or current.next else None,
        section(
            "Withdrawn",
            "Pages leave them out unless the address names them. Nothing was deleted."
            + (f" These are the latest {MAX_SHOWN} of {withdrawn.total:,}; the files below have all." if withdrawn.next else ""),
            runs_table(withdrawn.runs, titles, every_dataset, mode),
            class_name="section withdrawn",
        )
        if withdrawn.runs and not parameters.after
        else None,
        _watched(mode),
        note(["To see where graders differ, and to correct single grades: ", gradings, "."]),
        note(["As a table: ", csv, "; in pages: ", as_json,
              ". The downloads hold the answers as imported, by question id and clue; importing one again gives the same run."]),
    ]  # fmt: skip


def _controls(chosen: RunsPage, choices: RunChoices) -> Component:
    def offered(key: str, label: str, values: Sequence[str]) -> Component | None:
        value: str = getattr(chosen, key)
        listed = list(dict.fromkeys([*filter(None, [value]), *values]))
        return menu(key, label, {"": "All"} | {name: name for name in listed[:MAX_OFFERED]}, value) if len(listed) > 1 else None

    return controls(
        search("search", "Search", chosen.search, "name, file, tag, id"),
        offered("of_model", "Model", choices.models),
        offered("tagged", "Tag", choices.tags),
        search("since", "Imported since", chosen.since, "2025-11", TIME),
        search("until", "Imported until", chosen.until, "2025-11-30", TIME),
    )


def _watched(mode: str) -> Component | None:
    """Return what became of watched files, for those who may upload and read all datasets: reasons quote files."""
    if mode not in ("open", "login") or service().access.hidden_names():
        return None
    files = sorted(watched_files(service().store).items(), key=lambda file: file[1].at, reverse=True)
    about = "Logs and tables of watched folders, the latest first. A refused file is tried again when it changes."
    shown = html_table(WATCHED, files[:MAX_WATCHED], "Watched files") if files else None
    return section("Watched", about, shown, class_name="section watched") if files else None
