"""One question: its clues, what people did, and what each run said, clue by clue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec
from dash import html
from dash.development.base_component import Component

from dashboard.cached_queries import question_order, question_with_buzzpoints, selected_runs
from dashboard.components.answers_table import answers_table, answers_title
from dashboard.components.attributes import aria
from dashboard.components.clue_text import clue_text
from dashboard.components.confidence_table import confidence_table
from dashboard.components.controls import menu, threshold_box
from dashboard.components.figure import figure
from dashboard.components.links import page_link, question_path
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import CURVE_NAMES, count
from dashboard.components.question_heading import question_heading
from dashboard.components.run_names import legend, run_colours, run_names
from dashboard.components.thresholds import PATTERNS
from dashboard.components.vote_shares import vote_shares
from dashboard.figures.clues import clues_figure
from dashboard.figures.lifespan import lifespan_figure
from dashboard.page_registry import Page, PageParameters, PageRequest, register
from dashboard.parameters import Sort
from dashboard.service import service
from queries.buzzing import Rules
from queries.buzzing.rules import RULES
from queries.metrics import CATALOGUE, Metric
from queries.parameters import BadRequest, MetricChoice, Text
from queries.question import Question, RunResponses
from queries.question import question as question_query
from queries.question_order import QUESTION_METRICS

SHOWN = ("calscore", "brier", "dist_ce")  # metrics of the single question, in the table of answers


class QuestionPage(PageParameters, frozen=True):
    """The cursor, the order of the list that the question was reached from, and how runs buzz."""

    clue: Annotated[str, Text("the clue at the cursor, from 0; the last one by default")] = ""
    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)
    sort: Sort = "position"
    metric: Annotated[
        Metric | None,
        MetricChoice(
            "by which the runs are ordered; their import by default",
            QUESTION_METRICS,
            "There is no metric {value!r} of a single question.",
            blank=True,
        ),
    ] = None


def draw(request: PageRequest[QuestionPage]) -> Sequence[Component | None]:
    """The question as a whole, with the cursor where the address puts it."""
    rules = request.parameters.rules
    question = question_with_buzzpoints(request.selection, request.facets, request.item or "", rules)
    colours = run_colours(request.facets, selected_runs(request.selection))
    names = run_names(question.runs)
    cursor = _cursor(request, question)
    return [
        _heading(question, request),
        clue_text(question, cursor),
        _thresholds(request, question, rules),
        _picture(question, names, colours, cursor),
        vote_shares(question, names, colours) if question.votes else None,
        _answers(question, names, colours, request.parameters.metric, cursor)
        if question.runs
        else _unanswered(question, request),
    ]


def _exists(request: PageRequest[QuestionPage]) -> None:
    """Raise ``BadRequest`` where there is no such question, or no such clue of it."""
    _cursor(request, service().ask(question_query, request.selection, request.item))


def _shared_keys(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """Keys of the page that mean the same on another question."""
    return {"sort": request.written("sort") or None, "metric": request.written("metric") or None} | _rules_keys(request)


def _rules_keys(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """Keys of how runs buzz, as the address writes them."""
    return {key: request.texts.get(key) for key in RULES.keys}


def _cursor(request: PageRequest[QuestionPage], question: Question) -> int:
    """The clue that the address names, the last one where it names none."""
    last = len(question.clues) - 1
    text = request.parameters.clue
    if not text:
        return last
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
        return request.link(question_path(request.selection.dataset, ids[target]), dataset=None, **keys)

    listing = request.link("/questions", **{key: keys[key] for key in ("sort", "metric")})
    return question_heading(
        question,
        page_link(f"{request.facets.title} questions", href=listing),
        place,
        len(ids),
        None if place is None else neighbour(place - 1),
        neighbour(0 if place is None else place + 1),
    )


def _thresholds(request: PageRequest[QuestionPage], question: Question, rules: Rules) -> html.Div | None:
    """At which thresholds runs buzz, with a box for one that is common to all."""
    if not any(run.buzzpoint for run in question.runs):
        return None
    score = "confidence" if rules.scale == "confidence" else "sum of token log-probabilities"
    own = count(len(rules.thresholds), "run") if rules.thresholds else ""
    threshold = "its best threshold" if rules.threshold is None else f"{rules.threshold:g}"
    box = threshold_box(rules.threshold, "best", PATTERNS[rules.scale], "", request.written("scale"))
    note: list[str | Component] = [
        f"◇ A run buzzes at the first clue at which its {score} is above {threshold}"
        + (f" ({own} with {'one' if len(rules.thresholds) == 1 else 'thresholds'} of its own)" if own else "")
        + ". ",
        page_link("Thresholds on Buzz", href=request.link("/buzz", **_rules_keys(request))),
    ]
    return html.Div(
        [html.Label(["Threshold", box], className="boxed"), html.P(note, className="note")], className="question-thresholds"
    )


def _picture(question: Question, names: dict[str, str], colours: dict[str, str], cursor: int) -> html.Figure | None:
    """What there is to see along the clues; of a single one without people, the table below says it all."""
    if not (question.runs or question.human) or (len(question.clues) == 1 and not question.human and not question.lifespan):
        return None
    if question.lifespan:
        return figure(
            "lifespan",
            lifespan_figure(question, names, colours),
            "When such a person dies, and the span that each run bets on",
        )
    buzzes = ", ◇ where the run buzzes" if any(run.buzzpoint for run in question.runs) else ""
    buzzes += ", □ no answer: the call failed" if any(answer.failed for run in question.runs for answer in run.clues) else ""
    curve = f"; heavy steps: {CURVE_NAMES[question.human_curve]}" if question.human else ""
    return figure(
        "clues", clues_figure(question, names, colours, cursor),
        f"Confidence clue by clue: ● correct, × incorrect{buzzes}{curve}", confidence_table(question, names),
        legend([run.run for run in question.runs], names, colours, "People" if question.human else ""),
    )  # fmt: skip


def _unanswered(question: Question, request: PageRequest[QuestionPage]) -> html.Section:
    return nothing_selected(question_path(question.dataset, question.question_id), request.selection, "answers")


def _answers(
    question: Question, names: dict[str, str], colours: dict[str, str], chosen: Metric | None, cursor: int
) -> html.Section:
    """What each run says at the cursor. With a metric chosen, it has a column and the runs stand in its order, the best first."""
    metrics = [CATALOGUE[key] for key in SHOWN if any(run.metrics[key] is not None for run in question.runs)]
    runs = list(question.runs)
    if chosen:
        metrics = list(dict.fromkeys([chosen, *metrics]))
        runs.sort(key=partial(_worse, chosen))
    title = html.H2(answers_title(question, cursor), id="answers-title", **aria(live="polite"))
    order = menu("metric", "Order by", _orders(), chosen.key if chosen else "")
    return html.Section(
        [html.Div([title, order], className="heading"), answers_table(question, runs, names, colours, metrics, cursor)],
        className="answers-section",
    )


def _worse(metric: Metric, run: RunResponses) -> tuple[bool, float]:
    """Sorts runs, the best first and those without a value last."""
    value = run.metrics[metric.key]
    if value is None:
        return True, 0.0
    return False, {"lower": value, "zero": abs(value)}.get(metric.direction, -value)


def _orders() -> dict[str, str]:
    return {"": "Import of the runs", **{metric.key: metric.name for metric in QUESTION_METRICS}}


PAGE = register(
    Page(
        name="question", path="/questions", title="Question", draw=draw, parameters=QuestionPage, check=_exists,
        filters=("run", "human", "failed"),
    )
)  # fmt: skip
