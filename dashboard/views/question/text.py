"""The heading and the clues of a question, and CalScore worked out clue by clue."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui.controls import menu, threshold_box
from clueline.dashboard.ui.html import aria, data, folded, note, page_link
from clueline.dashboard.ui.quizbowl import Character, characters, draw, draw_text
from clueline.dashboard.ui.table import PageColumn, html_table
from clueline.dashboard.ui.text import CURVE_NAMES, DIFFICULTY_SOURCES, STATED, short
from clueline.dashboard.ui.threshold_sliders import PATTERNS
from clueline.data.plurals import counted
from clueline.data.quizbowl.question_words import words
from clueline.queries.buzzing import Rules
from clueline.queries.calscore_steps import ClueSteps
from clueline.queries.question import HumanBuzz, Question

FEW_CLUES = 8  # up to this many clues have a row each, however short
# Words. More clues than that, with at most this mean length, become running text: rows would push the figure off the screen.
SHORT_CLUE = 6


def clue_text(question: Question, cursor: int, names: Mapping[str, str] | None = None, *, quizbowl: bool) -> html.Ol:
    """Return the clues as a list that the cursor moves through. Clues after the cursor, counted from 0, are dimmed.

    Buzzes of teams are marked at their words, and those of runs, which have ``names``, at the ends of clues. Many short clues are
    set as running text.
    """
    ticks: dict[int, list[html.Span]] = defaultdict(list)
    for buzz in question.human.buzzes if question.human else []:
        ticks[buzz.word].append(_tick(question, buzz, buzz.team, ""))
    for buzz in question.model_buzzes:
        ticks[buzz.word].append(_tick(question, buzz, f"{buzz.team} (model)", " model"))
    start, items = 0, []
    for clue in question.clues:
        state = "now" if clue.clue == cursor else "ahead" if clue.clue > cursor else "past"
        text = clue.text or ""
        shown = characters(text) if quizbowl else [Character(letter, place) for place, letter in enumerate(text)]
        parts = _words(text, shown, start, clue.word_end, ticks, last=clue.clue == len(question.clues) - 1)
        parts += _buzzes_of_runs(question, clue.clue, names or {})
        items.append(html.Li(parts, className=f"clue {state}", tabIndex="0", **data(clue=str(clue.clue), end=str(clue.word_end))))
        start = clue.word_end
    flows = len(items) > FEW_CLUES and start <= SHORT_CLUE * len(items)
    return html.Ol(items, className=f"clues{' flowing' if flows else ''}", id="clues", **aria(label="Clues, hardest first"))


def _words(
    text: str, shown: list[Character], start: int, end: int, ticks: dict[int, list[html.Span]], *, last: bool
) -> list[str | Component]:
    """The words of a clue with the ticks of the buzzes on them. The last clue also has the ticks after the end."""
    parts: list[str | Component] = []
    run: list[Character] = []
    word, before = start, 0
    places = [character.place for character in shown]
    for piece in words(text, stated=end - start):
        after = bisect_left(places, piece.end)
        letters = shown[bisect_left(places, piece.start, before) : after]
        if len(run) > 1 and letters and run[-2].styles == letters[0].styles:
            run[-1] = run[-1]._replace(styles=letters[0].styles)  # an underline continues between two words
        run += [*letters, Character(" ", piece.end)]
        before = after
        if piece.counts:
            if word in ticks and word < end:
                parts += [*draw(run), *ticks[word]]
                run = []
            word += 1
    parts += draw(run)
    if last:
        parts += [tick for word, buzzes in ticks.items() if word >= end for tick in buzzes]
    return parts


def _buzzes_of_runs(question: Question, clue: int, names: Mapping[str, str]) -> list[str | Component]:
    """Return a mark for the runs that buzz at a clue and are right, and one for those that are wrong, with their numbers."""
    buzzing: dict[bool, list[str]] = {True: [], False: []}
    for run in question.runs:
        if run.buzzpoint and run.buzzpoint.clue == clue:
            answer = next(answer for answer in run.one_per_clue() if answer.clue == clue)
            buzzing[answer.correct >= 0.5].append(names.get(run.run, run.run))
    marks: list[str | Component] = []
    for right, runs in buzzing.items():
        if runs:
            label = f"{'Correct' if right else 'Incorrect'} buzz of {', '.join(runs)}"
            mark = f" ◇{len(runs) if len(runs) > 1 else ''}"
            kind = f"tick run {'right' if right else 'wrong'}"
            marks.append(html.Span(mark, className=kind, title=label, role="img", **aria(label=label)))
    return marks


def _tick(question: Question, buzz: HumanBuzz, team: str, kind: str) -> html.Span:
    label = f"{team}: {'correct' if buzz.correct else 'incorrect'} buzz {buzz.place(question.clues[-1].word_end)}"
    return html.Span(
        "+" if buzz.correct else "\u2212",
        className=f"tick {'right' if buzz.correct else 'wrong'}{kind}",
        title=label,
        role="img",
        **aria(label=label),
    )


def question_heading(
    question: Question,
    listing: html.A,
    place: int | None,
    total: int,
    previous: str | None,
    following: str | None,
    *,
    quizbowl: bool,
) -> html.Div:
    """Return the heading, with links to the list and to the neighbours in it.

    ``place`` is the question's place among the ``total`` of the list, from 0; None if filters leave it out.
    """
    facts = [part for fact in _facts(question) for part in (" · ", fact)]
    steps = [_step("Previous", "p", previous), _step("Next", "n", following)]
    where = f"{place + 1:,} of {total:,}" if place is not None else "outside the filters"
    return html.Div(
        [
            html.Div(
                [
                    html.P(listing, className="crumbs"),
                    html.H1(f"Question {where}"),
                    _answer_line(question, quizbowl=quizbowl),
                    html.Div(steps, className="steps"),
                ],
                className="titles",
            ),
            html.P([html.Code(question.question_id), *facts], className="lead"),
        ],
        className="heading question-heading",
    )


def _answer_line(question: Question, *, quizbowl: bool) -> html.Details | None:
    """Return the answer line, None without one. Where clues lead to it, it is folded away until somebody asks.

    ``assets/question.js`` folds it again at the next question, or keeps it open.
    """
    if not question.answer:
        return None
    answer = draw_text(question.answer) if quizbowl else [question.answer]
    keep = html.Button("Always show", type="button", className="quiet", **data(keeps="answer"), **aria(pressed="false"))
    folds = len(question.clues) > 1
    return html.Details(
        [html.Summary("Answer", className="quiet"), html.Span(answer, className="answer"), *([keep] if folds else [])],
        className="answer-line",
        open=not folds,
        **data(question=question.question_id, folds="yes" if folds else None),
    )


ASSUMED = "Nothing shows that a team that never buzzed heard the question. It counts as having heard it to its end."


def _facts(question: Question) -> list[str | Component]:
    """Facts about a question."""
    facts: list[str | Component] = [fact for fact in (question.category, question.subcategory) if fact]
    facts += [f"{name}: {value}" for name, value in question.attributes.items()]
    if question.difficulty is not None:
        source = DIFFICULTY_SOURCES.get(question.difficulty_source or "", "")
        second = question.second.get("difficulty")
        stated = "" if second is None else f" ({short(second, 2)} {STATED})"
        facts.append(html.Span(f"difficulty {short(question.difficulty, 2)}{stated}", title=source))
    if question.human:
        heard = f"heard by {counted(question.human.teams, 'human team')}"
        if question.human.silent:
            heard += f", of which {question.human.silent:,} never buzzed in that match"
        if question.human.unstated:
            heard += f", of which nobody stated where {question.human.unstated:,} ended"
        facts.append(html.Span(heard, title=ASSUMED if question.human.silent else ""))
    if question.votes:
        facts.append(counted(sum(question.votes.votes), "human vote"))
    if not (question.human or question.votes or question.lifespan):
        facts.append("no human data: metrics that need people are missing")
    if question.lifespan:
        life = question.lifespan
        text = f"best guess {life.best_guess}, right with probability {short(life.mas)}"
        facts.append(html.Span(text, title="By the life table; MAS in LifeEval"))
    return facts


def _step(title: str, key: str, href: str | None) -> Component:
    """A link to a neighbour, which a key also follows; without an address, only its name."""
    if href is None:
        return html.Span(title, className="quiet off")
    return html.A(title, href=href, className="quiet", title=f"Key {key}", **data(link="", key=key))


TITLE = "How CalScore adds up"
TERMS = {
    "y": "correct", "c": "confidence", "g c": "signed", "h": "h", "(1 − h) g c": "adjusted", "b": "buzz_mass",
    "Right so far": "right", "h of teams": "team_h", "m": "increment", "K = m × right": "gained",
}  # fmt: skip


def clue_steps_section(result: ClueSteps, names: Mapping[str, str], default: str) -> html.Details:
    """Show the terms of GRACE eq. 1 and eq. 2 at each clue, and how they add up.

    ``default`` is the id of the run that is shown if the address names none.
    """
    (run,) = result.runs
    chosen = run.run != default
    top = html.Div(menu("worked", "Run", names, run.run, default=default), className="heading")
    if run.missing is not None:
        return folded(TITLE, top, note(f"Nothing to work out: {run.missing}."), unfolded=chosen)
    steps = [step for step in run.steps if step.sample == run.steps[0].sample]
    samples = len({step.sample for step in run.steps})
    total = sum(step.gained for step in steps)
    if samples > 1:
        total = (run.reward or 0.0) - (run.remainder or 0.0)
    columns = [
        PageColumn("Clue", lambda step: step.clue + 1),
        PageColumn("Guess", lambda step: step.guess or "no answer"),
        *(PageColumn(heading, key, number=True) for heading, key in TERMS.items()),
    ]
    return folded(
        TITLE,
        top,
        html_table(columns, steps, TITLE, "board"),
        *([note(f"The first of {samples} samples; CalScore is the mean over all of them.")] if samples > 1 else []),
        html.P(
            f"CalScore: the mean of (1 − h) g c is {short(run.mean)}; rescaled to 0 to 1, r = {short(run.scaled)}, and "
            f"CalScore = 1 − r = {short(run.calscore)}."
        ),
        html.P(
            f"CalScore²: the sum of K is {short(total)}. For human teams that are never right, (1 − sum of m) × right at the end "
            f"adds {short(run.remainder)}. The reward is {short(run.reward)}, and CalScore² = 1 − reward = "
            f"{short(run.calscore2)}."
        ),
        note(
            f"y: correctness; c: confidence; g = 2 y − 1. h: {CURVE_NAMES[result.human_curve]}. T: number of clues. r: the mean, "
            "rescaled so that 0 is the worst and 1 the best. b: probability that the run buzzes here, if its confidence is its "
            "probability of buzzing and it always buzzes at the last clue. Right so far: probability that it has buzzed "
            f"correctly. h of teams: {CURVE_NAMES[result.team_curve]}; m: its increase at this clue (GRACE eq. 1 and 2)."
        ),
        unfolded=chosen,
    )


def question_thresholds(rules: Rules, scale: str, buzz_page: str) -> html.Div:
    """Return the box and a sentence on the thresholds. ``scale`` is as the address states it."""
    score = "confidence" if rules.scale == "confidence" else "sum of token log-probabilities"
    own = counted(len(rules.thresholds), "run") if rules.thresholds else ""
    threshold = "its best threshold" if rules.threshold is None else f"{rules.threshold:g}"
    box = threshold_box(rules.threshold, "best", PATTERNS[rules.scale], "", scale)
    note: list[str | Component] = [
        f"◇ A run buzzes at the first clue at which its {score} is above {threshold}"
        + (f" ({own} {'has its' if len(rules.thresholds) == 1 else 'have their'} own)" if own else "")
        + ". ",
        page_link("Thresholds on Buzz", href=buzz_page),
    ]
    return html.Div(
        [html.Label(["Threshold", box], className="boxed"), html.P(note, className="note")], className="question-thresholds"
    )
