"""One question: its clues, what people did, and what each run said, clue by clue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Any

import msgspec
from dash import html
from dash.development.base_component import Component

from clueline.dashboard.http.paths import question_path
from clueline.dashboard.registry.composed import question_order, question_with_buzzpoints
from clueline.dashboard.registry.keys import Sort, default_metric, known_run
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.registry.tables import RUN_FIRST, Table, fields
from clueline.dashboard.registry.views import QUESTION_KEYS, Cited, serve
from clueline.dashboard.ui.html import page_link
from clueline.dashboard.ui.messages import left_out_note, nothing_selected
from clueline.dashboard.ui.runs import highlighted_runs, run_style
from clueline.dashboard.views.question.answers import SHOWN, answers_section, best_first
from clueline.dashboard.views.question.figures import question_figure, vote_shares
from clueline.dashboard.views.question.text import clue_steps_section, clue_text, question_heading, question_thresholds
from clueline.queries.buzzing import BuzzParameters, Rules
from clueline.queries.buzzing.parameters import RULES
from clueline.queries.calscore_steps import ClueStep, clue_steps, steps_of
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.question import ClueResponse, Question
from clueline.queries.questions import QUESTION_METRICS
from clueline.queries.selection.parameter_kinds import BadRequest, MetricChoice, Text
from clueline.queries.selection.view_parameters_base import NoParameters

MAX_IN_COLOUR = 4  # runs of a question, of which all have a colour

QUESTION = serve(
    "questions/<dataset>/<path:question_id>",
    question_with_buzzpoints,
    BuzzParameters,
    """One question: its clues, what people did or voted, what each run answered, and where it buzzes, by default at each
        run's best threshold on the selection.""",
    Table(
        "Each run's answers to it as CSV, clue by clue. If a question's own id ends in `.csv`, this address returns that "
        "question as JSON; add another `.csv` to get its table.",
        rows=lambda answer: [(run, clue) for run in answer.runs for clue in run.clues],
        columns=(*RUN_FIRST, *fields(ClueResponse, at=1)),
        file="{dataset}-{question_id}",
    ),
    unused=("undisputed", "cluster", "primary"),
)
CLUE_STEPS = serve(
    "clue-steps/<dataset>/<path:question_id>",
    clue_steps,
    NoParameters,
    "CalScore and CalScore squared of each run on one question, term by term, as GRACE's tables 6 and 7 work them out.",
    Table(
        "The same as CSV, a row per run and clue. If a question's own id ends in `.csv`, this returns that question as JSON.",
        rows=lambda answer: [(run, step) for run in answer.runs for step in run.steps],
        columns=(*RUN_FIRST, *fields(ClueStep, at=1)),
        file="{dataset}-{question_id}-clue-steps",
    ),
    unused=(*QUESTION_KEYS, "revealed", "binning", "beta", "t", "failed", "undisputed", "cluster", "common", "primary"),
)


class QuestionPage(PageParameters, frozen=True):
    """Cursor, order of the list that led to the question, order of the runs, and rules by which they buzz."""

    clue: Annotated[str, Text("the clue at the cursor, from 0; the first one by default")] = ""
    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)
    sort: Sort = "position"
    metric: Annotated[
        Metric | None,
        MetricChoice(
            "the metric by which the runs are ordered; in order of import by default",
            QUESTION_METRICS,
            "There is no metric {value!r} of a single question.",
            blank=True,
        ),
    ] = None
    worked: Annotated[
        str, known_run("the run whose CalScore is worked out clue by clue; by default the first of the table", blank=True)
    ] = ""


def _table(request: PageRequest[QuestionPage]) -> Cited[Any]:
    return Cited(
        QUESTION, BuzzParameters(request.parameters.rules), ("model", "elicitation", "clue", "guess", "correct", "confidence"),
        parts={"dataset": request.selection.dataset, "question_id": request.item or ""},
    )  # fmt: skip


@page(
    "/questions", "Question", QuestionPage, name="question", place="Questions", table=_table,
    check=lambda request: _cursor(request, _question(request)),
    views=(QUESTION, CLUE_STEPS),
    applied=("undisputed",),
    filters=("run", "people", "human", "failed", "grading", "undisputed"),
)  # fmt: skip
def draw(request: PageRequest[QuestionPage]) -> Sequence[Component | None]:
    """Draw the question, with the cursor at the clue that the address names."""
    rules, metric, question = request.parameters.rules, _metric(request), _question(request)
    shown = request.parameters.pin or telling_runs(question, metric) or highlighted_runs(request)
    style = run_style(request.facets, question.runs, shown)
    cursor = _cursor(request, question)
    undisputed = request.selection.undisputed
    drawn = (question_figure(question, style, cursor), vote_shares(question, style) if question.votes else None)
    figures = [figure for figure in drawn if figure is not None]
    return [
        _heading(question, request),
        html.Div(
            [
                clue_text(question, cursor, style.names, quizbowl=request.facets.quizbowl),
                figures[0] if figures else None,
                answers_section(question, style, request.parameters.metric, cursor, undisputed=undisputed)
                if question.runs
                else nothing_selected(
                    question_path(question.dataset, question.question_id), request.selection, "answers", request.facets
                ),
            ],
            className="text-and-answers" + (" with-figure" if figures else ""),
        ),
        *figures[1:],
        question_thresholds(rules, request.written("scale"), request.link("/buzz", **_rules_keys(request)))
        if any(run.buzzpoint for run in question.runs)
        else None,
        left_out_note(question.left_out_plays),
        _clue_steps(request, question, style.names),
    ]


def telling_runs(question: Question, metric: Metric) -> tuple[str, ...]:
    """Return the ids of the runs that the figure shows in colour: all of four; else the best, the worst and the surest wrong.

    Best and worst are by a metric on this question. Empty if it is undefined for all runs.
    """
    if len(question.runs) <= MAX_IN_COLOUR:
        return tuple(run.run for run in question.runs)
    ranked = sorted((run for run in question.runs if run.metrics[metric.key] is not None), key=partial(best_first, metric))
    wrong = [(answer.confidence or 0.0, run.run) for run in question.runs for answer in run.clues if answer.correct == 0]
    chosen = [run.run for run in (*ranked[:1], *ranked[-1:])] + [run for _, run in sorted(wrong)[-1:]]
    return tuple(dict.fromkeys(chosen)) if ranked else ()


def _clue_steps(request: PageRequest[QuestionPage], question: Question, names: Mapping[str, str]) -> Component | None:
    """CalScore of one run, worked out clue by clue; None if nobody heard the question, or it is asked whole."""
    if question.human is None or len(question.clues) < 2 or not question.runs:
        return None
    default, worked = question.runs[0].run, request.parameters.worked
    shown = worked if worked in names else default
    return clue_steps_section(steps_of(question, request.selection.conventions, shown), names, default)


def _metric(request: PageRequest[QuestionPage]) -> Metric:
    return request.parameters.metric or CATALOGUE[default_metric(request.facets)]


def _question(request: PageRequest[QuestionPage]) -> Question:
    metrics = tuple(CATALOGUE[key] for key in sorted({_metric(request).key, *SHOWN}))
    return question_with_buzzpoints(request.selection, request.facets, request.item or "", request.parameters.rules, metrics)


def _shared_keys(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """Keys of the page that mean the same on another question."""
    return {"sort": request.written("sort") or None, "metric": request.written("metric") or None} | _rules_keys(request)


def _rules_keys(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """Keys of the rules by which runs buzz, as the address states them."""
    return {key: request.texts.get(key) for key in RULES.keys}


def _cursor(request: PageRequest[QuestionPage], question: Question) -> int:
    """The clue that the address names, from 0; the first one if it names none."""
    last = len(question.clues) - 1
    text = request.parameters.clue
    if not text:
        return 0
    if not text.isdecimal() or int(text) > last:
        raise BadRequest(
            "unknown_value", f"The question has no clue {text!r}.", "clue", [str(clue.clue) for clue in question.clues]
        )
    return int(text)


def _heading(question: Question, request: PageRequest[QuestionPage]) -> html.Div:
    ids = question_order(request.selection, request.parameters.sort).questions
    place = ids.index(question.question_id) if question.question_id in ids else None
    keys = _shared_keys(request)

    def neighbour(target: int) -> str | None:
        if not 0 <= target < len(ids):
            return None
        return request.question_link(ids[target], **keys)

    listing = request.link("/questions", **{key: keys[key] for key in ("sort", "metric")})
    return question_heading(
        question,
        page_link(f"{request.facets.title} questions", href=listing),
        place,
        len(ids),
        None if place is None else neighbour(place - 1),
        neighbour(0 if place is None else place + 1),
        quizbowl=request.facets.quizbowl,
    )
