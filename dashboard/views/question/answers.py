"""Table of each run's answers to a question, at every clue; ``assets/question.js`` shows the rows of the clue at the cursor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from dash import html
from dash.development.base_component import Component

from dashboard.ui.controls import menu
from dashboard.ui.figure import OTHERS
from dashboard.ui.html import aria, data
from dashboard.ui.notices import disputed_mark
from dashboard.ui.numbers import DASH, short
from dashboard.ui.runs import RunColours, named
from data.store.answer_states import WORDS
from queries.buzzing import Buzzpoint
from queries.metrics import CATALOGUE, Metric
from queries.question import ClueResponse, Question, RunResponses
from queries.question_order import QUESTION_METRICS

SHOWN = ("calscore", "brier", "dist_ce")  # single-question metrics, each with a column if a run has a value
ABOUT = {
    "Buzzes": "The first clue at which its score is above its threshold",
    "Correct": "Graded against the answer line, or as stated in the file; for LifeEval, the probability of being right",
    "CalScore share": "(1 − h) g c / T at this clue: its contribution to the mean inside CalScore; above 0 is good",
}


def answers_section(
    question: Question,
    names: Mapping[str, str],
    colours: RunColours,
    metric: Metric | None,
    cursor: int,
    *,
    undisputed: bool = False,
) -> html.Section:
    """Return the table below its title and a menu for the order of the runs.

    The runs are sorted by ``metric``, best first, or in order of import if it is None. ``cursor`` is the clue whose rows are
    shown, from 0. ``undisputed`` leaves out answers on which the gradings of their run differ.
    """
    metrics = [CATALOGUE[key] for key in SHOWN if any(run.metrics[key] is not None for run in question.runs)]
    runs = list(question.runs)
    if metric:
        metrics = list(dict.fromkeys([metric, *metrics]))
        runs.sort(key=partial(_best_first, metric))
    title = html.H2(answers_title(question, cursor), id="answers-title", **aria(live="polite"))
    orders = {"": "Import order", **{known.key: known.name for known in QUESTION_METRICS}}
    order = menu("metric", "Order by", orders, metric.key if metric else "")
    return html.Section(
        [
            html.Div([title, order], className="heading"),
            answers_table(question, runs, names, colours, metrics, cursor, undisputed=undisputed),
        ],
        className="answers-section",
    )


def answers_table(
    question: Question,
    runs: Sequence[RunResponses],
    names: Mapping[str, str],
    colours: RunColours,
    metrics: Sequence[Metric],
    cursor: int,
    *,
    undisputed: bool = False,
) -> html.Div:
    """Return the table with a body of rows for each clue; all are hidden except the one at the cursor.

    Clues are counted from 0. Rows are in the order of ``runs``. ``undisputed`` is as in ``answers_section``.
    """
    buzzes = any(run.buzzpoint for run in runs)
    columns = ["Run", "Guess", "Correct", "Confidence"]
    columns += ["CalScore share"] if question.human else []
    columns += ["Buzzes"] if buzzes else []
    head = [
        html.Th(name, scope="col", className="" if name in ("Run", "Guess") else "number", title=ABOUT.get(name, ""))
        for name in columns
    ]
    head += [
        html.Th(metric.label, scope="col", className="number", title=f"{metric.name}. {metric.words} On this question alone.")
        for metric in metrics
    ]
    bodies = [
        html.Tbody(
            [
                _row(run, clue.clue, question, names[run.run], colours.get(run.run, OTHERS), buzzes, metrics, undisputed)
                for run in runs
            ],
            hidden=clue.clue != cursor,
            **data(clue=str(clue.clue), title=answers_title(question, clue.clue)),
        )
        for clue in question.clues
    ]
    table = html.Table([html.Thead(html.Tr(head)), *bodies], className="board answers", id="answers")
    return html.Div(table, className="scroll", tabIndex="0", role="region", **aria(label="Answers at this clue"))


def answers_title(question: Question, clue: int) -> str:
    """Return the title of the table at a clue, with the drawn curve there and, if that is another one, the h of CalScore."""
    if len(question.clues) == 1:
        return "Answers"
    title = f"Answers after clue {clue + 1} of {len(question.clues)}"
    if not question.human:
        return title
    title += f"; people's curve: {short(getattr(question.human, question.drawn_curve)[clue])}"
    if question.human_curve == question.drawn_curve:
        return title
    return f"{title}; h in CalScore: {short(getattr(question.human, question.human_curve)[clue])}"


def _best_first(metric: Metric, run: RunResponses) -> tuple[bool, float]:
    """Sort key of a run. Runs without a value come last."""
    value = run.metrics[metric.key]
    if value is None:
        return True, 0.0
    return False, {"lower": value, "zero": abs(value)}.get(metric.direction, -value)


def _row(
    run: RunResponses,
    clue: int,
    question: Question,
    name: str,
    colour: str,
    buzzes: bool,
    metrics: Sequence[Metric],
    undisputed: bool,
) -> html.Tr:
    answer = next((answer for answer in run.one_per_clue() if answer.clue == clue), None)
    guesses = [other.guess or "no answer" for other in run.clues if other.clue == clue and not other.failed]
    cells: list[Component] = [
        html.Th(named(colour, name), scope="row"),
        *_answer(answer, colour, guesses, undisputed=undisputed),
    ]
    if question.human:
        share = answer.contribution if answer else None
        cells.append(html.Td(short(share), className="number bad" if share is not None and share < 0 else "number"))
    if buzzes:
        cells.append(_buzz(run.buzzpoint, clue if answer else None))
    cells += [html.Td(short(run.metrics[metric.key]), className="number") for metric in metrics]
    return html.Tr(cells, **data(run=run.run))


def _answer(answer: ClueResponse | None, colour: str, guesses: Sequence[str], *, undisputed: bool) -> list[html.Td]:
    """Cells for the guess, its grade and the confidence. Several guesses: the most frequent, with means."""
    if answer is None or (undisputed and answer.disputed):
        text = "disputed, so not listed" if answer else "not answered"
        return [html.Td(text, className="missing"), html.Td(""), html.Td("")]
    if answer.failed:
        silent = answer.buzz is False and answer.sample is not None  # one of several people or samples
        return [html.Td("no buzz" if silent else WORDS["failed"], className="missing"), html.Td(""), html.Td("")]
    words: list[Component | str] = [answer.guess or "no answer"]
    if len(guesses) > 1:
        note = f"most frequent of {len(guesses)} answers"
        words.append(html.Span(f" {note}", className="row-note", title=", ".join(guesses)))
    if answer.disputed:
        words.append(disputed_mark())
    guess = html.Td(words, className="guess" if answer.guess else "missing")
    if answer.graded == "table" or len(guesses) > 1 or 0 < answer.correct < 1:  # a share or a probability
        mark = html.Td(short(answer.correct), className="number mark")
    else:
        right = answer.correct >= 0.5
        prompted = "matches only what would be prompted on" if answer.graded == "prompt" else ""
        mark = html.Td("✓" if right else "✗", className=f"number mark {'right' if right else 'wrong'}", title=prompted)
    if not answer.answered:
        return [guess, mark, html.Td(WORDS[answer.state], className="missing")]
    meter = html.Span(className="meter", style={"--share": answer.confidence, "--shade": colour})
    return [guess, mark, html.Td([meter, short(answer.confidence)], className="number")]


def _buzz(point: Buzzpoint | None, clue: int | None) -> html.Td:
    """Where a run buzzes, and at which threshold."""
    if point is None:
        return html.Td("")
    if point.missing or point.threshold is None:
        return html.Td(DASH, className="number", title=point.missing or "")
    threshold = f"{point.threshold:.4g}".replace("-", "\u2212")
    why = f"Threshold {threshold}, its best on this selection" if point.best else f"Threshold {threshold}"
    text = "never" if point.clue is None else f"clue {point.clue + 1}"
    here = clue is not None and point.clue == clue
    return html.Td(text, className="number here" if here else "number", title=why)
