"""The models and one model: runs on all datasets, where it is over- or underconfident, and changes to what is one model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, TypeVar
from urllib.parse import quote

import msgspec
from dash import html
from dash.development.base_component import Component
from flask import Response

from clueline.dashboard.http.bodies import json_response, read_body
from clueline.dashboard.http.paths import address, model_path, run_path
from clueline.dashboard.registry.addresses import accept, refusal, writer
from clueline.dashboard.registry.composed import across_datasets, across_diagrams, model_across, model_versions
from clueline.dashboard.registry.keys import ACROSS_METRIC, AcrossMetric, AcrossParameters
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.run_names import names_of
from clueline.dashboard.registry.tables import Table, columns, fields
from clueline.dashboard.registry.views import serve
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import change_button, change_message, menu, search
from clueline.dashboard.ui.html import controls, facts, heading, note, page_link, panel, section
from clueline.dashboard.ui.table import Cell, PageColumn, bracketed, html_table, interval, noted
from clueline.dashboard.ui.text import distinct_short_names, short
from clueline.dashboard.views.across.page import DIAGRAMS
from clueline.dashboard.views.across.sections import diagrams_section
from clueline.data.plurals import counted
from clueline.data.store.models import FACTS, BadModel, NoSuchModel, SeveralModels, describe, dismiss, merge, rename, split
from clueline.queries.across import AcrossCell
from clueline.queries.metrics import CATALOGUE, METRICS
from clueline.queries.models import (
    Model,
    ModelAcross,
    ModelRun,
    Verdict,
    Version,
    Versions,
    dataset_with_most_runs,
    model,
    models,
)
from clueline.queries.selection.parameter_kinds import Text
from clueline.queries.selection.view_parameters_base import NoParameters

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


VersionsOn = Annotated[str, Text("the dataset whose runs are shown; by default the one with most runs of the model")]
Baseline = Annotated[
    str, Text("the run with which the others are compared; by default, and if it is one on another dataset, the first by day")
]


class VersionsKeys(AcrossParameters, frozen=True):
    """Which runs of a model are compared with which."""

    on: VersionsOn = ""
    baseline: Baseline = ""


VERSIONS = serve(
    "versions/<path:name>",
    model_versions,
    VersionsKeys,
    """The runs of one model on one dataset by day, with a metric as on the leaderboard, each compared with a baseline by the
        paired test of `/api/v1/pairs`. Days come from the tag `date`, the tag `released`, the label, the date in the name, or
        the import: the first that all of these runs have and that differs.""",
    Table("The same as CSV, a row per run.", rows=lambda answer: answer.runs, columns=fields(Version)),
    selected=False,
)


class _Merge(msgspec.Struct, forbid_unknown_fields=True):
    models: list[str]
    into: str


class _Split(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    dataset: str | None = None


class _Dismissal(msgspec.Struct, forbid_unknown_fields=True):
    models: list[str]


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
    Run ids, and addresses that name runs or the names of files, do not change. Who may not read some of the datasets sees the
    part of the model that is on the others, with the facts that were stated of that part. Responds as `GET /api/v1/models` does.
    """

    def change(body: _Merge, by: str, hidden: Sequence[str]) -> None:
        merge(service().store, body.models, body.into, by, hidden)

    return _change(_Merge, lambda body: body.models, change)


@accept("POST", "/api/v1/models/split")
def post_split() -> Response:
    """Make one of a model's names a model of its own again: `{"name": "lab/opus-5"}`; with `dataset`, only for the runs there.
    Responds as `GET /api/v1/models` does.
    """

    def change(body: _Split, by: str, hidden: Sequence[str]) -> None:
        split(service().store, body.name, by, hidden, body.dataset)

    return _change(_Split, lambda body: [], change)


@accept("POST", "/api/v1/models/dismiss")
def post_dismiss() -> Response:
    """Say that models are not one, so that they are not proposed again: `{"models": ["opus-5", "lab/opus-5"]}`. Responds as
    `GET /api/v1/models` does.
    """

    def change(body: _Dismissal, by: str, hidden: Sequence[str]) -> None:
        dismiss(service().store, body.models, by, hidden)

    return _change(_Dismissal, lambda body: body.models, change)


@accept("POST", "/api/v1/models/rename")
def post_rename() -> Response:
    """Call a model by another name: `{"model": "opus-5", "name": "Opus 5"}`. The names of its runs stay. Whoever may read one of
    the datasets that the model is on sees the new name; one that its runs have, only readers of these. Responds as
    `GET /api/v1/models` does.
    """

    def change(body: _Rename, by: str, hidden: Sequence[str]) -> None:
        rename(service().store, body.model, body.name, by, hidden)

    return _change(_Rename, lambda body: [body.model], change)


@accept("POST", "/api/v1/models/describe")
def post_describe() -> Response:
    """Set facts about a model: `{"model", "organisation", "released", "sizes", "notes"}`. `released` is a year, a month or a day.
    A fact that is null or blank is removed, and one that is absent stays. Whoever may read one of the datasets that the model is
    on sees the facts. Responds as `GET /api/v1/models` does.
    """

    def change(body: _Describe, by: str, hidden: Sequence[str]) -> None:
        given = {fact: text for fact in FACTS if (text := getattr(body, fact)) is not msgspec.UNSET}
        describe(service().store, body.model, given, by, hidden)

    return _change(_Describe, lambda body: [body.model], change)


T = TypeVar("T", bound=msgspec.Struct)


def _change(kind: type[T], named: Callable[[T], Sequence[str]], change: Callable[[T, str, Sequence[str]], None]) -> Response:
    """Make a change of models by the body of this request, and list the models. ``named`` are the models that it names.

    ``change`` gets the body, who sent it, and the datasets that they may not read. Raises ``BadRequest``: 404 if the writer sees
    no run of a model, 400 if they see several of a name, and 422 if the change cannot be made.
    """
    by, body = writer(), read_body(kind)
    for name in named(body):
        service().ask(model, name)
    hidden = service().access.hidden_names()
    with (
        refusal(BadModel, "bad_model", "model"),
        refusal(SeveralModels, "several_models", "model", 400),
        refusal(NoSuchModel, "unknown_model", "model", 404),
    ):
        change(body, by, hidden)
    service().read_current()
    return json_response(service().ask(models))


class ModelsPage(PageParameters, frozen=True):
    """Which models are listed."""

    search: Annotated[str, Text("models with this text in a name, the organisation or the notes")] = ""


@page("/models", "Models", ModelsPage, place="Overview", order=2)
def draw_list(request: PageRequest[ModelsPage]) -> Sequence[Component | None]:
    """Draw a row per model, and which are probably one."""
    listed = service().ask(models)
    wanted = request.parameters.search.casefold()
    shown = [row for row in listed.models if wanted in " ".join([*row.names, row.model, *_facts(row).values()]).casefold()]
    titles = {dataset.dataset: dataset.title for dataset in service().datasets()}

    def name(row: Model) -> list[Component]:
        others = [name for name in row.names if name != row.model]
        return noted(
            page_link(row.model, model_path(row.model), class_name="name"), f"also {', '.join(others)}" if others else ""
        )

    return [
        heading("Models", f"{counted(len(listed.models), 'model')}, each with its runs on all datasets"),
        *change_message(),
        _proposals(listed.proposals),
        controls(search("search", "Search", request.parameters.search, "name, organisation, notes")),
        html_table(
            [
                PageColumn("Model", name),
                *(PageColumn(fact.capitalize(), fact) for fact in FACTS[:3] if any(getattr(row, fact) for row in shown)),
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
              page_link("All datasets", "/across"), "."]),
    ]  # fmt: skip


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
            " ",
            *_writing(change_button(
                "Not one", "POST /api/v1/models/dismiss", f"{', '.join(group)} are not proposed as one again.",
                body={"models": group}, title=f"Do not propose {', '.join(group)} again",
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
    on: VersionsOn = ""
    baseline: Baseline = ""


def _answer(request: PageRequest[ModelPage]) -> ModelAcross:
    selection = request.selection
    return model_across(request.item or "", request.parameters.metric, selection.conventions, selection.failed)


def _versions(request: PageRequest[ModelPage], result: ModelAcross) -> Versions | None:
    """Return the runs on one dataset by day; None if there is one run on each dataset, and the address asks for none of them."""
    keys, selection = request.parameters, request.selection
    if not (keys.on or keys.baseline or len(result.runs) > len({run.dataset for run in result.runs})):
        return None
    conventions, failed = selection.conventions, selection.failed
    return model_versions(result.about.model, keys.metric, conventions, failed, keys.on, keys.baseline)


@page(
    "/models", "Model", ModelPage, name="model", place="Overview", check=lambda request: _versions(request, _answer(request)),
    views=(MODEL, VERSIONS),
    filters=("human", "binning", "t", "failed"),
)  # fmt: skip
def draw_model(request: PageRequest[ModelPage]) -> Sequence[Component | None]:
    """Draw the model's names and facts, its runs, and its calibration on each dataset."""
    result, metric = _answer(request), request.parameters.metric
    about, names = result.about, _names(result.runs)
    metrics = {choice.key: choice.name for choice in METRICS}
    placed, told = [run for run in result.runs if run.cell.place is not None], ""
    if len({run.dataset for run in placed}) > 1:
        best, worst = names[placed[0].cell.run], names[placed[-1].cell.run]
        told = f"Best relative rank among the runs of a dataset: {best}. Worst: {worst}."
    top: list[Component | None] = [
        heading(
            about.model,
            f"{counted(about.runs, 'run')} on {counted(len(about.datasets), 'dataset')}. {told}",
            crumbs=page_link("Models", "/models"),
        ),
        *change_message(),
        _about(about),
        _seen_by_others(about),
    ]
    if not result.runs:
        return [*top, panel("No runs", "All runs of this model were withdrawn.")]
    selection = request.selection
    shown = across_datasets(CATALOGUE[ACROSS_METRIC], about.datasets, "models", selection.conventions, selection.failed)
    shown.rows = [row for row in shown.rows if row.model == about.model]
    runs = {cell.run for row in shown.rows for cell in row.cells.values()}
    diagrams = across_diagrams(about.datasets, "models", selection.conventions, selection.failed)
    diagrams.diagrams = [diagram for diagram in diagrams.diagrams if diagram.run in runs]
    cells = [run.cell for run in result.runs if run.cell.overconfidence is not None]
    known = {cell.run: (cell.overconfidence, cell.overconfidence_low, cell.overconfidence_high) for cell in cells}
    title = "← underconfident · overconfident →"
    return [
        *top,
        controls(menu("metric", "Metric", metrics, metric.key, default=ACROSS_METRIC)),
        section(
            "Runs",
            "Values and ranks are those of each dataset's leaderboard. Best relative rank first.",
            _runs_table(result, names, metric.label),
            note(["As a table: ", html.A("CSV", href=f"/api/v1{model_path(about.model)}.csv?metric={metric.key}"), "."]),
        ),
        _over_time(request, result, names),
        section(
            "Over- and underconfidence",
            fig.figure(
                "overconfidence",
                fig.interval_rows([names[run] for run in known], [*known.values()], title, [fig.INK] * len(known), [], MAX_LABEL),
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
        diagrams_section(shown, diagrams, DIAGRAMS.tables[0], "Reliability of its latest run on each dataset"),
    ]  # fmt: skip


def _about(about: Model) -> html.Section:
    names = [html.Div([html.Code(name), " "]) for name in about.names]
    if len(names) > 1:
        for name, line in zip(about.names, names, strict=True):
            line.children += _writing(change_button(
                "Split off", "POST /api/v1/models/split", f"{name} is a model of its own now.", body={"name": name},
                title=f"Make {name} a model of its own",
            ))  # fmt: skip
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


def _seen_by_others(about: Model) -> Component | None:
    """Say who sees what is stated of a model that is on private datasets and on others."""
    access = service().access
    public = access.public_datasets(about.datasets)
    if access.page_mode() == "off" or not 0 < len(public) < len(about.datasets):
        return None
    titles = {dataset.dataset: dataset.title for dataset in service().datasets()}
    named = ", ".join(titles[dataset] for dataset in public)
    return note(
        f"Of the datasets of this model, everybody can read {named}. They see its runs and names there, and also how you rename "
        "or describe it here. Its other runs and names do not exist for them."
    )


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
    several = {(run.model, run.elicitation) for run in result.runs}

    def name(run: ModelRun) -> object:
        link = page_link(names[run.cell.run], run_path(run.cell.run), class_name="name")
        return noted(link, f"{run.model} · {run.elicitation}" if len(several) > 1 else "")

    def rank(run: ModelRun) -> object:
        return Cell(None, run.cell.missing or "Not ranked") if run.cell.rank is None else f"{run.cell.rank:g}"

    return html_table(
        [
            PageColumn("Run", name),
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


SHADES = {"better": "var(--run-1)", "worse": "var(--run-2)"}  # of versions, by verdict
VERDICTS: dict[Verdict, str] = {
    "better": "is better than", "worse": "is worse than", "different": "differs from",
    "not shown to differ": "is not shown to differ from", "not compared": "cannot be compared with",
}  # fmt: skip
HEIGHT, FEW, MAX_LABEL = 320, 4, 44  # pixels; runs; characters


def _over_time(request: PageRequest[ModelPage], result: ModelAcross, names: Mapping[str, str]) -> html.Section | None:
    """Return the runs on one dataset by day, against a baseline; None if the model has one run on each dataset."""
    shown = _versions(request, result)
    if shown is None:
        return None
    metric = request.parameters.metric
    counts = Counter(run.dataset for run in result.runs)
    several = {run.dataset: run.title for run in result.runs if counts[run.dataset] > 1 or run.dataset == shown.dataset}
    told = {run.run: names[run.run].removeprefix(f"{shown.title} · ") for run in shown.runs}
    keys = [("metric", metric.key), ("on", shown.dataset), ("baseline", shown.baseline)]
    csv = address(f"/api/v1/versions/{quote(shown.model, safe='')}.csv", keys)
    return section(
        "Over time",
        f"On {shown.title}. Days are from the {shown.dated_by}. {version_sentence(shown, told)}",
        controls(
            menu("on", "Dataset", several, shown.dataset, default=dataset_with_most_runs(result)),
            menu("baseline", "Baseline", told, shown.baseline, default=shown.runs[0].run),
        ),
        fig.figure(
            "versions",
            versions_figure(shown, metric.name, told),
            f"{metric.name} on {shown.title}, with 95 % intervals. The dashed line is the baseline",
            html_table(
                [
                    PageColumn("Run", lambda run: told[run.run]),
                    "day",
                    PageColumn(metric.label, "value"),
                    interval(),
                    PageColumn("Minus the baseline", "difference"),
                    interval("difference_low", "difference_high"),
                    PageColumn("p (adjusted)", "p_value"),
                    PageColumn("Compared with the baseline", "verdict"),
                ],
                shown.runs,
                "Runs of the model by day",
                declared=VERSIONS.tables[0],
            ),
        ),
        note([
            "Values are those of the leaderboard. Differences are paired by the questions that both answered, and p-values are "
            "adjusted for all runs shown and, unless it is the primary metric, for the other metrics. As a table: ",
            html.A("CSV", href=csv), ".",
        ]),
    )  # fmt: skip


def version_sentence(shown: Versions, names: Mapping[str, str]) -> str:
    """Say how the latest run, or the one before it if that is the baseline, compares with the baseline."""
    last = next((run for run in reversed(shown.runs) if run.verdict != "baseline"), None)
    if last is None:
        return ""
    gap = bracketed(last.difference, last.difference_low, last.difference_high)
    numbers = "" if last.p_value is None else f" (difference {gap}, p = {last.p_value:.2g})"
    return f"{names[last.run]} {VERDICTS[last.verdict]} the baseline {names[shown.baseline]}{numbers}."


def versions_figure(shown: Versions, label: str, names: Mapping[str, str]) -> fig.PlotlyJson:
    """Draw the runs by day with their intervals and a line through them, and the value of the baseline.

    A few runs are named below the axis. Where runs share a day, all are named, and equally far apart.
    """
    runs = [run for run in shown.runs if run.value is not None]
    apart = len({run.day for run in runs}) == len(runs)
    texts = [fig.plain(name) for name in distinct_short_names([names[run.run] for run in runs], MAX_LABEL)]
    x: list[object] = [run.day for run in runs] if apart else [*range(len(runs))]
    values, lows, highs = ([getattr(run, key) for run in runs] for key in ("value", "low", "high"))
    level = [run.value for run in runs if run.run == shown.baseline]
    rings = ["circle-open" if run.run == shown.baseline else "circle" for run in runs]
    named: fig.PlotlyJson = {"tickvals": x, "ticktext": texts, "tickfont": {"size": 11, "color": fig.INK}}
    marks = fig.dots(
        x, values, "%{customdata[0]}<br>%{customdata[1]}: %{y:.3f}<br>%{customdata[2]}",
        [SHADES.get(run.verdict, fig.INK) for run in runs], 10, {"symbol": rings}, mode="lines+markers",
        line={"color": fig.FAINT, "width": 2}, error_y=fig.whiskers(values, lows, highs), cliponaxis=False,
        customdata=[[text, run.day, run.verdict] for text, run in zip(texts, runs, strict=True)],
    )  # fmt: skip
    return fig.drawn(
        [marks],
        HEIGHT,
        fig.axis(type="date", **(named if len(runs) <= FEW else {}))
        if apart
        else fig.axis(range=[-0.5, len(runs) - 0.5], **named),
        fig.axis(fig.plain(label), range=fig.padded([*values, *lows, *highs])),
        shapes=[fig.straight(y=value, colour=fig.FAINT, width=1.5, dash="dash") for value in level],
    )
