"""One question: its clues, what people did, and what each run said, clue by clue."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

import msgspec
from dash import html
from dash.development.base_component import Component

from dashboard.cached_queries import question_order, question_with_buzzpoints
from dashboard.components.answers_table import answers_table, answers_title
from dashboard.components.attributes import aria, data
from dashboard.components.clue_text import clue_text
from dashboard.components.controls import menu, threshold_box
from dashboard.components.figure import figure
from dashboard.components.links import page_link
from dashboard.components.messages import nothing_selected
from dashboard.components.numbers import CURVE_NAMES, DASH, DIFFICULTY_SOURCES, count, short
from dashboard.components.run_names import colours, legend, named, run_names
from dashboard.components.table import row, table
from dashboard.components.thresholds import PATTERNS
from dashboard.figures.clues import clues_figure
from dashboard.figures.lifespan import lifespan_figure
from dashboard.figures.votes import votes_figure
from dashboard.parameters import Sort
from dashboard.service import service
from dashboard.view import PageParameters, PageRequest, View, question_path, register
from queries.buzzing import Rules
from queries.buzzing.rules import RULES
from queries.metrics import CATALOGUE, Metric
from queries.parameters import BadRequest, MetricChoice, Text
from queries.question import Question, RunResponses
from queries.question import question as question_query
from queries.question_order import QUESTION_METRICS

SHOWN = ("calscore", "brier", "dist_ce")  # metrics of the single question, in the table of answers


class QuestionPage(PageParameters, frozen=True):
    """The cursor, the order of the list that the question stands in, and how runs buzz."""

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
    shades = colours(request.facets, request.selection)
    names = run_names(question.runs)
    cursor = _cursor(request, question)
    return [
        _heading(question, request),
        clue_text(question, cursor),
        _thresholds(request, question, rules),
        _picture(question, names, shades, cursor),
        _votes(question, names, shades) if question.votes else None,
        _answers(question, names, shades, request.parameters.metric, cursor) if question.runs else _unanswered(question, request),
    ]


def _exists(request: PageRequest[QuestionPage]) -> None:
    """Raise ``BadRequest`` where there is no such question, or no such clue of it."""
    _cursor(request, service().ask(question_query, request.selection, request.item))


def _carried(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """The page's own keys that mean the same on another question."""
    return {"sort": request.written("sort") or None, "metric": request.written("metric") or None} | _buzzing(request)


def _buzzing(request: PageRequest[QuestionPage]) -> dict[str, str | Sequence[str] | None]:
    """How runs buzz, as the address has it."""
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
    facts: list[str | Component | None] = [question.category, question.subcategory]
    if question.difficulty is not None:
        facts.append(
            html.Span(
                f"difficulty {short(question.difficulty, 2)}", title=DIFFICULTY_SOURCES.get(question.difficulty_source or "", "")
            )
        )
    if question.human:
        facts.append(f"heard by {count(question.human.teams, 'human team')}")
    if question.votes:
        facts.append(count(sum(question.votes.votes), "human vote"))
    if not (question.human or question.votes or question.lifespan):
        facts.append("no human data: metrics that need people are missing")
    if question.lifespan:
        life = question.lifespan
        facts.append(
            html.Span(
                f"best guess {life.best_guess}, right with probability {short(life.mas)}",
                title="By the life table; MAS in LifeEval",
            )
        )
    extra = _carried(request)
    listed = {key: extra[key] for key in ("sort", "metric")}
    return html.Div(
        [
            html.P(
                [
                    page_link(f"{request.facets.title} questions", href=request.link("/questions", **listed)),
                    html.Span(f" {place + 1:,} of {len(ids):,}" if place is not None else " outside the filters"),
                ],
                className="crumbs",
            ),
            html.Div(
                [
                    html.H1(_answer(question) or f"Question {question.question_id}"),
                    html.Div(
                        [
                            _step(request, ids, place, -1, "Previous", "p", extra),
                            _step(request, ids, place, 1, "Next", "n", extra),
                            html.Button("Copy link", type="button", className="quiet", id="copy-link", **data(copy="address")),
                        ],
                        className="steps",
                    ),
                ],
                className="titles",
            ),
            html.P(
                [html.Code(question.question_id), *[part for fact in facts if fact for part in (" · ", fact)]],
                className="lead",
            ),
            html.P(f"Answer line: {question.answer}", className="note") if question.answer and "[" in question.answer else None,
        ],
        className="heading question-heading",
    )


def _answer(question: Question) -> str | None:
    """The answer without what else is accepted."""
    return question.answer.partition("[")[0].strip() if question.answer else None


def _step(
    request: PageRequest[QuestionPage],
    ids: list[str],
    place: int | None,
    by: int,
    title: str,
    key: str,
    extra: dict[str, str | Sequence[str] | None],
) -> Component:
    """A link to a neighbour in the list as it was sorted and filtered."""
    target = (0 if by > 0 else None) if place is None else place + by
    if target is None or not 0 <= target < len(ids):
        return html.Span(title, className="quiet off")
    neighbour = question_path(request.selection.dataset, ids[target])
    href = request.link(neighbour, dataset=None, **extra)
    return html.A(title, href=href, className="quiet", title=f"Key {key}", **data(link="", key=key))


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
        page_link("Thresholds on Buzz", href=request.link("/buzz", **_buzzing(request))),
    ]
    return html.Div(
        [html.Label(["Threshold", box], className="boxed"), html.P(note, className="note")], className="question-thresholds"
    )


def _picture(question: Question, names: dict[str, str], shades: dict[str, str], cursor: int) -> html.Figure | None:
    """What there is to see along the clues; of a single one without people, the table below says it all."""
    if not (question.runs or question.human) or (len(question.clues) == 1 and not question.human and not question.lifespan):
        return None
    if question.lifespan:
        return figure(
            "lifespan",
            lifespan_figure(question, names, shades),
            "When such a person dies, and the span that each run bets on",
        )
    buzzes = ", ◇ where the run buzzes" if any(run.buzzpoint for run in question.runs) else ""
    buzzes += ", □ no answer: the call failed" if any(answer.failed for run in question.runs for answer in run.clues) else ""
    curve = f"; heavy steps: {CURVE_NAMES[question.human_curve]}" if question.human else ""
    return figure(
        "clues", clues_figure(question, names, shades, cursor),
        f"Confidence clue by clue: ● correct, × incorrect{buzzes}{curve}", _table(question, names),
        legend([run.run for run in question.runs], names, shades, "People" if question.human else ""),
    )  # fmt: skip


def _votes(question: Question, names: dict[str, str], shades: dict[str, str]) -> html.Figure:
    """People and runs as whole distributions."""
    votes = question.votes
    assert votes is not None
    rows = [row("People", *(short(share) for share in votes.shares), "")]
    rows += [
        row(
            named(shades.get(run.run), names[run.run]),
            *(map(short, run.shares) if run.shares else [DASH] * len(votes.classes)),
            short(run.metrics["dist_ce"]),
        )
        for run in question.runs
    ]
    few = all(run.run in shades for run in question.runs)
    without = any(run.shares is None for run in question.runs)
    return figure(
        "votes",
        votes_figure(question, names, shades),
        f"Bars: the shares of {count(sum(votes.votes), 'human vote')}. Dots: what each run gives the class"
        + ("" if few else ", grey where more than 8 runs are shown")
        + (". Runs without a whole distribution have none" if without else ""),
        table(["", *votes.classes, "DistCE"], rows, "Shares of the classes"),
        legend([run.run for run in question.runs if run.shares], names, shades, "People"),
    )


def _table(question: Question, names: dict[str, str]) -> html.Div:
    """The figure's values, as text."""
    head = [
        html.Th("", scope="col"),
        *(html.Th(f"Clue {clue.clue + 1}", scope="col", className="number") for clue in question.clues),
    ]
    body = []
    if question.human:
        curve = getattr(question.human, question.human_curve)
        body.append(html.Tr([html.Th("People, h", scope="row"), *(html.Td(short(value), className="number") for value in curve)]))
    for run in question.runs:
        by_clue = {answer.clue: answer for answer in run.clues}
        cells = []
        for clue in question.clues:
            answer = by_clue.get(clue.clue)
            if answer is None or answer.failed:
                text = "–" if answer is None else "failed"
            else:
                text = f"{short(answer.confidence)} {'✓' if answer.correct >= 0.5 else '✗'}"
            if run.buzzpoint and run.buzzpoint.clue == clue.clue:
                text += " ◇"
            cells.append(html.Td(text, className="number", title=(answer.guess or "no answer") if answer else "not answered"))
        body.append(html.Tr([html.Th(names[run.run], scope="row"), *cells]))
    return html.Div(
        html.Table([html.Thead(html.Tr(head)), html.Tbody(body)]),
        className="scroll",
        tabIndex="0",
        role="region",
        **aria(label="Confidence by clue"),
    )


def _unanswered(question: Question, request: PageRequest[QuestionPage]) -> html.Section:
    return nothing_selected(question_path(question.dataset, question.question_id), request.selection, "answers")


def _answers(
    question: Question, names: dict[str, str], shades: dict[str, str], chosen: Metric | None, cursor: int
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
        [html.Div([title, order], className="heading"), answers_table(question, runs, names, shades, metrics, cursor)],
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


VIEW = register(
    View(
        name="question", path="/questions", title="Question", draw=draw, parameters=QuestionPage, check=_exists,
        filters=("run", "human", "failed"),
    )
)  # fmt: skip
