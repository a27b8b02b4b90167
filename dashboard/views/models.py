"""The models and one model: runs on all datasets, where it is over- or underconfident, and changes to what is one model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response

from dashboard.http.json_bodies import read_body
from dashboard.http.paths import model_path, run_path
from dashboard.http.responses import json_response
from dashboard.registry.addresses import accept, writer
from dashboard.registry.composed import across_datasets, across_diagrams, model_across
from dashboard.registry.keys import ACROSS_METRIC, AcrossMetric, AcrossParameters
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.registry.run_names import names_of
from dashboard.registry.tables import Table, columns, fields
from dashboard.registry.views import serve
from dashboard.service import service
from dashboard.ui.controls import change_button, change_message, menu, search
from dashboard.ui.figure import FAINT, INK, PlotlyJson, axis, figure, layout, padded, plain, row_axis, whiskers
from dashboard.ui.html import page_link
from dashboard.ui.section import controls, facts, heading, note, panel, section
from dashboard.ui.table import Cell, PageColumn, html_table, interval, noted
from dashboard.ui.text import distinct_short_names, short
from dashboard.views.across.page import DIAGRAMS
from dashboard.views.across.sections import diagrams_section
from data.plurals import counted
from data.store.models import FACTS, BadModel, NoSuchModel, describe, merge, rename, split
from queries.across import AcrossCell
from queries.metrics import CATALOGUE, METRICS
from queries.models import Model, ModelAcross, ModelRun, model, models
from queries.selection.parameter_kinds import BadRequest, Text
from queries.selection.view_parameters_base import NoParameters

MODELS = serve(
    "models",
    models,
    NoParameters,
    "The models of all runs, with their names and facts, and models that are probably one because of their names.",
    Table("The models as CSV.", rows=lambda answer: answer.models, columns=fields(Model)),
    selected=False,
)
MODEL = serve(
    "models/<path:name>",
    model_across,
    AcrossParameters,
    """One model, which can be named by any of its names, and its runs on all datasets: a metric with interval and rank, and how
        over- or underconfident each is. Values are those of each dataset's leaderboard.""",
    Table(
        "The runs as CSV.",
        rows=lambda answer: [(run, run.cell) for run in answer.runs],
        columns=(*columns("dataset", "title", "model", "elicitation", at=0), *fields(AcrossCell, at=1)),
    ),
    selected=False,
)


class _Merge(msgspec.Struct, forbid_unknown_fields=True):
    models: list[str]
    into: str


class _Split(msgspec.Struct, forbid_unknown_fields=True):
    name: str


class _Rename(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    name: str


class _Describe(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    organisation: str | msgspec.UnsetType | None = msgspec.UNSET
    released: str | msgspec.UnsetType | None = msgspec.UNSET
    sizes: str | msgspec.UnsetType | None = msgspec.UNSET
    notes: str | msgspec.UnsetType | None = msgspec.UNSET


@accept("POST", "/api/v1/models/merge")
def post_merge() -> Response:
    """Make models one: `{"models": ["opus-5", "lab/opus-5"], "into": "opus-5"}`. `into` is the model that remains, or a new name.
    Run ids, and addresses that name runs or the names of files, do not change. Responds as `GET /api/v1/models` does.
    """
    by, body = writer(), read_body(_Merge)
    with _refusals(body.models):
        merge(service().store, body.models, body.into, by)
    return _listed()


@accept("POST", "/api/v1/models/split")
def post_split() -> Response:
    """Make one of a model's names a model of its own again: `{"name": "lab/opus-5"}`. Responds as `GET /api/v1/models` does."""
    by, body = writer(), read_body(_Split)
    with _refusals([body.name]):
        split(service().store, body.name, by)
    return _listed()


@accept("POST", "/api/v1/models/rename")
def post_rename() -> Response:
    """Call a model by another name: `{"model": "opus-5", "name": "Opus 5"}`. The names of its runs stay. Responds as
    `GET /api/v1/models` does.
    """
    by, body = writer(), read_body(_Rename)
    with _refusals([body.model]):
        rename(service().store, body.model, body.name, by)
    return _listed()


@accept("POST", "/api/v1/models/describe")
def post_describe() -> Response:
    """Set facts about a model: `{"model", "organisation", "released", "sizes", "notes"}`. `released` is a year, a month or a day.
    A fact that is null or blank is removed, and one that is absent stays. Responds as `GET /api/v1/models` does.
    """
    by, body = writer(), read_body(_Describe)
    given = {key: value for key, value in msgspec.structs.asdict(body).items() if key != "model" and value is not msgspec.UNSET}
    with _refusals([body.model]):
        describe(service().store, body.model, given, by)
    return _listed()


@contextmanager
def _refusals(names: Sequence[str]) -> Iterator[None]:
    """Answer 404 if the writer sees no run of a model, and 422 if a change cannot be made."""
    for name in names:
        service().ask(model, name)
    try:
        yield
    except NoSuchModel as error:
        raise BadRequest("unknown_model", f"{error}.", "model", status=404) from None
    except BadModel as error:
        raise BadRequest("bad_model", f"{str(error)[0].upper()}{str(error)[1:]}.", "model", status=422) from None


def _listed() -> Response:
    service().read_current()
    return json_response(service().ask(models))


class ModelsPage(PageParameters, frozen=True):
    """Which models are listed."""

    search: Annotated[str, Text("models with this text in a name, the organisation or the notes")] = ""


def draw_list(request: PageRequest[ModelsPage]) -> Sequence[Component | None]:
    """Draw a row per model, and which are probably one."""
    listed = service().ask(models)
    wanted = request.parameters.search.casefold()
    shown = [row for row in listed.models if wanted in " ".join([*row.names, row.model, *_facts(row).values()]).casefold()]
    titles = {dataset.dataset: dataset.title for dataset in service().datasets()}
    return [
        heading("Models", f"{counted(len(listed.models), 'model')}, each with its runs on all datasets"),
        *change_message(),
        _proposals(listed.proposals),
        controls(search("search", "Search", request.parameters.search, "name, organisation, notes")),
        html_table(
            [
                PageColumn("Model", _model_name),
                PageColumn("Organisation", "organisation"),
                PageColumn("Released", "released"),
                PageColumn("Sizes", "sizes"),
                PageColumn("Runs", "runs"),
                PageColumn("Datasets", lambda row: ", ".join(titles.get(dataset, dataset) for dataset in row.datasets)),
            ],
            shown,
            "Models",
            "board",
        )
        if shown
        else panel("No models", "No name has this text." if wanted else "The store has no runs."),
        note(["As a table: ", html.A("CSV", href="/api/v1/models.csv"), ". All models by all datasets: ",
              page_link("Across", "/across"), "."]),
    ]  # fmt: skip


def _model_name(row: Model) -> list[Component]:
    others = [name for name in row.names if name != row.model]
    return noted(page_link(row.model, model_path(row.model), class_name="name"), f"also {', '.join(others)}" if others else "")


def _facts(row: Model) -> dict[str, str]:
    return {fact: text for fact in FACTS if (text := getattr(row, fact))}


def _proposals(groups: Sequence[Sequence[str]]) -> html.Section | None:
    """List the models that are probably one, each group with a button that merges it."""
    if not groups:
        return None
    items = [
        html.Li([
            f"{', '.join(group)} ",
            *_writing(change_button(
                "Make one", "POST /api/v1/models/merge", f"{', '.join(group)} are one model now.",
                [("into", "Name of the model", min(group, key=len))], {"models": group},
                title=f"Make {', '.join(group)} one model",
            )),
        ])
        for group in groups
    ]  # fmt: skip
    return section(
        "Probably one model",
        "Their names differ only in the provider, in capitals, or in the date. Nothing is merged until somebody says so.",
        html.Ul(items),
    )


def _writing(*buttons: html.Button) -> list[html.Button]:
    """Return buttons, or none if this server takes no changes."""
    return [] if service().access.page_mode() == "off" else list(buttons)


class ModelPage(PageParameters, frozen=True):
    """Metric of the page."""

    metric: AcrossMetric = CATALOGUE[ACROSS_METRIC]


def _answer(request: PageRequest[ModelPage]) -> ModelAcross:
    selection = request.selection
    return model_across(request.item or "", request.parameters.metric, selection.conventions, selection.failed)


def draw_model(request: PageRequest[ModelPage]) -> Sequence[Component | None]:
    """Draw the model's names and facts, its runs, and its calibration on each dataset."""
    result, metric = _answer(request), request.parameters.metric
    about = result.about
    metrics = {choice.key: choice.name for choice in METRICS}
    top: list[Component | None] = [
        heading(
            about.model,
            f"{counted(about.runs, 'run')} on {counted(len(about.datasets), 'dataset')}. {_best_and_worst(result)}",
            crumbs=page_link("Models", "/models"),
        ),
        *change_message(),
        _about(about),
    ]
    if not result.runs:
        return [*top, panel("No runs", "All runs of this model were withdrawn.")]
    selection, names = request.selection, _names(result.runs)
    shown = across_datasets(CATALOGUE[ACROSS_METRIC], about.datasets, "models", selection.conventions, selection.failed)
    shown.rows = [row for row in shown.rows if row.model == about.model]
    runs = {cell.run for row in shown.rows for cell in row.cells.values()}
    diagrams = across_diagrams(about.datasets, "models", selection.conventions, selection.failed)
    diagrams.diagrams = [diagram for diagram in diagrams.diagrams if diagram.run in runs]
    return [
        *top,
        controls(menu("metric", "Metric", metrics, metric.key, default=ACROSS_METRIC)),
        section(
            "Runs",
            "Values and ranks are those of each dataset's leaderboard. Best relative rank first.",
            _runs_table(result, names, metric.label),
            note(["As a table: ", html.A("CSV", href=f"/api/v1{model_path(about.model)}.csv?metric={metric.key}"), "."]),
        ),
        section(
            "Over- and underconfidence",
            figure(
                "overconfidence",
                overconfidence_figure(result.runs, names),
                "Mean confidence minus accuracy, with 95 % intervals",
                html_table(
                    [
                        PageColumn("Run", lambda run: names[run.cell.run]),
                        PageColumn("Overconfidence", lambda run: run.cell.overconfidence),
                        interval(lambda run: run.cell.overconfidence_low, lambda run: run.cell.overconfidence_high),
                    ],
                    result.runs,
                    "Overconfidence by run",
                ),
            ),
        ),
        diagrams_section(shown, diagrams, DIAGRAMS.tables[0]),
    ]  # fmt: skip


def _best_and_worst(result: ModelAcross) -> str:
    placed = [run for run in result.runs if run.cell.place is not None]
    if len({run.dataset for run in placed}) < 2:
        return ""
    return f"Best place among the models of a dataset: {placed[0].title}. Worst: {placed[-1].title}."


def _about(about: Model) -> html.Section:
    names: list[Component | str] = []
    for name in about.names:
        names += [html.Code(name), " "]
        if len(about.names) > 1:
            names += [
                *_writing(change_button(
                    "Split off", "POST /api/v1/models/split", f"{name} is a model of its own now.", body={"name": name},
                    title=f"Make {name} a model of its own",
                )),
                " ",
            ]  # fmt: skip
    stated = {"Names": names} | {fact.capitalize(): text for fact, text in _facts(about).items()}
    buttons = _writing(
        change_button(
            "Rename", "POST /api/v1/models/rename", "The model was renamed.", [("name", "Name", about.model)],
            {"model": about.model}, title=f"Rename {about.model}", then="name",
        ),
        change_button(
            "Describe", "POST /api/v1/models/describe", "The facts were stored.",
            [(fact, fact.capitalize(), getattr(about, fact) or "") for fact in FACTS], {"model": about.model},
            title=f"Facts about {about.model}",
        ),
        change_button(
            "Merge", "POST /api/v1/models/merge", "The models are one now.", [("into", "The model that remains", "")],
            {"models": [about.model]}, title=f"Make {about.model} one with another model", then="into",
        ),
    )  # fmt: skip
    return html.Section([facts(stated), html.P(buttons, className="links")], className="dataset provenance")


def _names(runs: Sequence[ModelRun]) -> dict[str, str]:
    """Return a name of each run: its dataset, and what tells it from the model's other runs there."""
    names = {}
    for dataset in dict.fromkeys(run.dataset for run in runs):
        here = [run for run in runs if run.dataset == dataset]
        told = names_of(run.cell.run for run in here)
        one_name = len({run.model for run in here}) == 1
        for run in here:
            name = told[run.cell.run].removeprefix(run.model if one_name else "").removeprefix(" · ")
            names[run.cell.run] = f"{run.title} · {name}" if name else run.title
    return names


def _runs_table(result: ModelAcross, names: Mapping[str, str], label: str) -> html.Div:
    def rank(run: ModelRun) -> object:
        return Cell(None, run.cell.missing or "Not ranked") if run.cell.rank is None else f"{run.cell.rank:g}"

    return html_table(
        [
            PageColumn("Run", lambda run: noted(_run_link(run, names), f"{run.model} · {run.elicitation}")),
            PageColumn(label, lambda run: run.cell.value),
            interval(lambda run: run.cell.low, lambda run: run.cell.high),
            PageColumn("Rank", rank, number=True),
            PageColumn("Overconfidence", lambda run: run.cell.overconfidence, short, number=True),
            PageColumn("", lambda run: "" if run.cell.sign in ("neither", "unknown") else run.cell.sign),
            PageColumn("Questions", lambda run: run.cell.questions),
        ],
        result.runs,
        "Runs of the model",
        "board",
    )


def _run_link(run: ModelRun, names: Mapping[str, str]) -> Component:
    return page_link(names[run.cell.run], run_path(run.cell.run), class_name="name")


ROW_HEIGHT, MAX_LABEL = 24, 44  # pixels; characters


def overconfidence_figure(runs: Sequence[ModelRun], names: Mapping[str, str]) -> PlotlyJson:
    """Draw mean confidence minus accuracy of each run with its interval, a row per run; ``names`` are by run."""
    known = [run for run in runs if run.cell.overconfidence is not None]
    lows = [run.cell.overconfidence_low for run in known]
    highs = [run.cell.overconfidence_high for run in known]
    values = [run.cell.overconfidence or 0.0 for run in known]
    labels = [plain(name) for name in distinct_short_names([names[run.cell.run] for run in known], MAX_LABEL)]
    return {
        "data": [{
            "type": "scatter", "mode": "markers", "x": values, "y": list(range(len(known))), "customdata": labels,
            "marker": {"size": 9, "color": INK}, "hovertemplate": "%{customdata}: %{x:.3f}<extra></extra>",
            "error_x": whiskers(values, lows, highs),
        }],
        "layout": layout(
            ROW_HEIGHT * max(len(known), 2) + 64,
            xaxis=axis(
                "← underconfident · overconfident →", zeroline=True, zerolinecolor=FAINT,
                range=padded([*values, *lows, *highs], zero=True),
            ),
            yaxis=row_axis(labels),
        ),
    }  # fmt: skip


PAGE = register(
    Page(
        name="models",
        path="/models",
        title="Models",
        place="Overview",
        order=2,
        draw=draw_list,
        parameters=ModelsPage,
        filters=(),
    )
)
MODEL_PAGE = register(
    Page(
        name="model", path="/models", title="Model", place="Overview", draw=draw_model, parameters=ModelPage, check=_answer,
        filters=("human", "binning", "t", "failed"),
    )
)  # fmt: skip
