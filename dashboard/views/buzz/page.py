"""Buzz: the best threshold of each run, how it does against people, and when runs and people buzz."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component

from dashboard.registry.composed import question_order
from dashboard.registry.pages import PageParameters, PageRequest, page
from dashboard.registry.tables import Column, Table, column, columns, fields, parts, reasons
from dashboard.registry.views import RESAMPLED, Cited, serve
from dashboard.service import service
from dashboard.ui.controls import filter_keys, menu
from dashboard.ui.messages import dataset_links, nothing_selected
from dashboard.ui.runs import highlighted_runs, run_style
from dashboard.ui.section import choices, heading
from dashboard.ui.threshold_sliders import KEY
from dashboard.views.buzz.curves import buzz_categories, buzz_curves, buzz_rates, people_median_section
from dashboard.views.buzz.thresholds import against_teams, threshold_explorer_section
from data.plurals import counted
from queries.buzzing import Buzz, BuzzParameters, PeopleMedian, Rules, ThresholdExplorer, buzz, category_outcomes, people_median
from queries.buzzing.category_outcomes import CategoryOutcome
from queries.buzzing.parameters import RULES, SCALES, default_curve
from queries.buzzing.results import ThresholdOutcome

INTERVALS = ("expected_wins", "score", "win", "loss")


def _end(name: str, end: str) -> Column:
    return column(f"{name}_{end}", lambda row: getattr(row[0].intervals.get(name), end, None))


def _optimum(key: str, name: str) -> Column:
    return column(key, lambda row: getattr(row[0].optimum, name, None))


def _runs(answer: Buzz) -> Iterator[tuple[object, ...]]:
    """Yield each run's outcomes, its habits, the explorer and its outcome at its threshold."""
    for run, habit in zip(answer.explorer.runs, answer.habits.runs, strict=True):
        yield run, habit, answer.explorer, run.outcome


def _shares(answer: PeopleMedian) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        shares = [
            ("earlier", None, None, run.questions, run.earlier),
            *(("within", words, None, run.questions, share) for words, share in zip(answer.words, run.within, strict=False)),
            *(("earlier", None, part.category, part.questions, part.earlier) for part in run.categories),
        ]
        for *facts, share in shares:
            ends = (share.share, share.low, share.high, None, share.no_interval) if share else (*[None] * 3, run.missing, None)
            yield run.run, run.model, run.elicitation, run.threshold, *facts, *ends


BUZZ = serve(
    "buzz",
    buzz,
    BuzzParameters,
    "Buzzing: expected wins by threshold, runs against people, buzz curves, and buzzing habits.",
    Table(
        "A row per run: outcomes at its threshold, its best threshold, how often it buzzes. `missing` says why a cell is blank.",
        rows=_runs,
        columns=(
            *columns("run", "model", "elicitation", "questions", "heard", "items", "unscored", at=0),
            *columns("scale", "curve", "human_curve", at=2),
            *fields(ThresholdOutcome, at=3),
            *(_end(name, end) for name in INTERVALS for end in ("low", "high")),
            _optimum("optimum", "threshold"),
            _optimum("optimum_until", "until"),
            _optimum("optimum_expected_wins", "expected_wins"),
            *columns("given_correct", "given_incorrect", "buzz_rate", "survey_score", at=1),
            column("missing", lambda row: reasons(row[0].missing | row[1].missing)),
            column("no_interval", lambda row: reasons(row[0].no_interval)),
        ),
    ),
)
CATEGORIES = serve(
    "buzz/categories",
    category_outcomes,
    BuzzParameters,
    "Correct and incorrect buzzes by category, and their ratio, for people, for models that played as teams, and for runs.",
    Table(
        "The same as CSV, a row per group and category.",
        rows=lambda answer: [(group, outcome) for group in answer.groups for outcome in group.categories],
        columns=(*columns("name", "kind", "threshold", at=0), *fields(CategoryOutcome, at=1)),
    ),
)
MEDIAN = serve(
    "buzz/median",
    people_median,
    BuzzParameters,
    """How often each run is right before the median of the correct human buzzes, or within some words of it, and how often
        it is earlier by category, with intervals.""",
    Table(
                "The same as CSV: of each run, a row for `earlier`, one for each number of words `within`, and `earlier` by "
                "category.",
                rows=_shares,
                columns=parts(
                    "run", "model", "elicitation", "threshold", "what", "words", "category", "questions", "share", "low", "high",
                    "missing", "no_interval",
                ),
            ),
)  # fmt: skip


OPPONENTS = {"dataset": "This dataset's people", "polynomial": "Published curve"}
SCALE_NAMES = {"confidence": "Confidence", "logprob": "Token log-probability"}


class BuzzPage(PageParameters, frozen=True):
    """Rules by which runs buzz."""

    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)


def _table(request: PageRequest[BuzzPage]) -> Cited[Any]:
    columns = ("model", "elicitation", "questions", "threshold", "buzzes", "accuracy", "revealed", "expected_wins", "win")
    return Cited(BUZZ, BuzzParameters(request.parameters.rules), columns, interval=RESAMPLED, references=("sung2025grace",))


@page(
    "/buzz", "Buzz", BuzzPage, place="When to answer", order=2,
    offered=lambda facets: facets.longest > 1 or facets.human_teams > 0, table=_table,
    filters=("run", *filter_keys(), "people", "human", "cluster", "failed", "grading"), common=False,
)  # fmt: skip
def draw(request: PageRequest[BuzzPage]) -> Sequence[Component | None]:
    """Draw the threshold explorer, runs against people, buzzes along the question and by category, and buzz rates."""
    rules = request.parameters.rules
    result = service().ask(buzz, request.selection, rules)
    if not result.questions:
        return [nothing_selected(request.path, request.selection, "questions", request.facets, "Buzz")]
    if result.missing:
        return [_no_buzz_data(request)]
    best = highlighted_runs(request, ranking=_best_first(result.explorer))
    style = run_style(request.facets, result.explorer.runs, best)
    runs, given = bool(result.explorer.runs), request.texts.get(KEY, [])
    return [
        _heading(request, result, rules),
        threshold_explorer_section(result.explorer, style, given, request.written("scale"), _first_question(request))
        if runs
        else nothing_selected(request.path, request.selection, "answers", request.facets),
        against_teams(result.explorer, style) if runs else None,
        people_median_section(service().ask(people_median, request.selection, rules), style),
        buzz_curves(result.curves, style),
        buzz_categories(service().ask(category_outcomes, request.selection, rules), request.facets, style),
        buzz_rates(result.habits, style),
    ]


def _best_first(explorer: ThresholdExplorer) -> list[str]:
    """Ids of the runs, by expected wins at the threshold in use, highest first."""
    wins = {run.run: run.outcome.expected_wins for run in explorer.runs}
    return sorted(wins, key=lambda run: value if (value := wins[run]) is not None else -math.inf, reverse=True)


def _no_buzz_data(request: PageRequest[BuzzPage]) -> html.Section:
    """A panel for a dataset whose questions are not read clue by clue, with links to those whose questions are."""
    shown = request.selection.dataset
    others = dataset_links(request.path, lambda dataset: dataset.kind == "incremental" and dataset.dataset != shown)
    return html.Section(
        [
            html.H1("No buzz data"),
            html.P(
                f"Buzzing needs questions that are read clue by clue (datasets of kind incremental), so that a player chooses "
                f"when to answer. Those of {request.facets.title} are asked whole."
            ),
            html.P("Datasets of this kind:" if others else "The store holds no dataset of this kind."),
            choices(others),
        ],
        className="panel",
    )


def _heading(request: PageRequest[BuzzPage], result: Buzz, rules: Rules) -> html.Div:
    counts = f"{counted(len(result.explorer.runs), 'run')}, {counted(result.questions, 'question')}"
    menus: list[Component] = []
    if "logprob" in result.explorer.scales or rules.scale == "logprob":
        written = request.written("scale")
        options = {written if written == SCALES[0] else "": SCALE_NAMES[SCALES[0]], SCALES[1]: SCALE_NAMES[SCALES[1]]}
        menus.append(menu("scale", "Scale of the threshold", options, written, kind="scale"))
    if request.facets.human_teams or rules.curve == "dataset":
        default, written = default_curve(request.facets), request.written("curve")
        options = {(curve if curve != default or written == default else ""): name for curve, name in OPPONENTS.items()}
        menus.append(menu("curve", "Opponents", options, written))
    lead = f"{request.facets.title}: how sure each run should be before it answers, and how it does against people; {counts}"
    return heading("Buzz", lead, *menus)


def _first_question(request: PageRequest[BuzzPage]) -> str:
    """Address of the first question of the selection, at the same thresholds."""
    first = question_order(request.selection, "").questions[0]
    keys: dict[str, str | Sequence[str] | None] = {key: request.texts.get(key) for key in RULES.keys}
    return request.question_link(first, **keys)
