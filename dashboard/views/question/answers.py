"""Table of each run's answers to a question, at every clue; ``assets/question.js`` shows the rows of the clue at the cursor."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui.controls import menu
from clueline.dashboard.ui.html import aria, data, section
from clueline.dashboard.ui.messages import disputed_mark
from clueline.dashboard.ui.runs import RunStyle, named
from clueline.dashboard.ui.table import Body, Cell, Content, PageColumn, html_table, with_second
from clueline.dashboard.ui.text import CURVE_LABELS, CURVE_NAMES, STATED, percent, short
from clueline.data.plurals import counted
from clueline.data.store.answer_states import WORDS
from clueline.data.store.run_cache import kept_property
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.question import ClueResponse, HumanRecord, Question, RunResponses
from clueline.queries.questions import QUESTION_METRICS

SHOWN = ("calscore", "brier", "dist_ce")  # single-question metrics, each with a column if a run has a value
BUZZES = "The first clue at which its score is above its threshold"
CORRECT = "Graded against the answer line, or as stated in the file; for LifeEval, the probability of being right"
SHARE = "(1 − h) g c / T at this clue: its contribution to the mean inside CalScore; above 0 is good"


def answers_section(
    question: Question, style: RunStyle, metric: Metric | None, cursor: int, *, undisputed: bool = False
) -> html.Section:
    """Return the table below its title and a menu for the order of the runs. It has a body of rows for each clue.

    The runs are sorted by ``metric``, best first, or at each clue by confidence if it is None. All bodies are hidden except the
    one of the clue at the ``cursor``, from 0. ``undisputed`` leaves out answers on which the gradings of their run differ.
    """
    metrics = [CATALOGUE[key] for key in SHOWN if any(run.metrics[key] is not None for run in question.runs)]
    runs = list(question.runs)
    if metric:
        metrics = list(dict.fromkeys([metric, *metrics]))
        runs.sort(key=partial(best_first, metric))

    def rows(clue: int) -> list[RunAtClue]:
        at_clue = [RunAtClue(run, clue, undisputed) for run in runs]
        return at_clue if metric else sorted(at_clue, key=RunAtClue.surest_first)

    def colour(row: RunAtClue) -> str:
        return style.colour(row.run.run)

    columns = [
        PageColumn("Run", lambda row: named(colour(row), style.names[row.run.run])),
        PageColumn("Guess", RunAtClue.guess),
        PageColumn("Right", RunAtClue.grade, about=CORRECT, number=True),
        PageColumn("Confidence", lambda row: row.confidence(colour(row)), number=True),
        PageColumn("Buzzes", RunAtClue.buzz, about=BUZZES, number=True) if any(run.buzzpoint for run in runs) else None,
        _detail(["CalScore share", _h(question.human_curve)], SHARE, RunAtClue.share) if question.human else None,
        *(
            _detail(
                [shown.label, *([_h(curve)] if (curve := _curve(shown, question)) else [])],
                f"{shown.name}. {shown.words} On this question alone.",
                partial(_metric, shown.key),
            )
            for shown in metrics
        ),
    ]
    bodies = [
        Body(
            rows(clue.clue),
            summary(question, style.names, clue.clue, undisputed=undisputed) or None,
            attributes={"hidden": clue.clue != cursor, **data(clue=str(clue.clue), title=answers_title(question, clue.clue))},
        )
        for clue in question.clues
    ]
    title = html.H2(answers_title(question, cursor), id="answers-title", **aria(live="polite"))
    orders = {"": "Confidence", **{known.key: known.name for known in QUESTION_METRICS}}
    order = menu("metric", "Order by", orders, metric.key if metric else "")
    details = html.Button("All numbers", type="button", className="quiet", **data(toggles="details"), **aria(pressed="false"))
    return section(
        html.Div([title, details, order], className="heading"),
        html_table(
            columns, bodies, "Answers at this clue", "board answers", of_row=lambda row: data(run=row.run.run), id="answers"
        ),
        class_name="answers-section",
    )


@dataclass(frozen=True)
class RunAtClue:
    """What a run answered at a clue, counted from 0: the row of the table."""

    run: RunResponses
    clue: int
    undisputed: bool

    @kept_property
    def answer(self) -> ClueResponse | None:
        """The answer at the clue."""
        return next((answer for answer in self.run.one_per_clue() if answer.clue == self.clue), None)

    @kept_property
    def guesses(self) -> list[str]:
        """All guesses at the clue, of several samples or people."""
        return [other.guess or "no answer" for other in self.run.clues if other.clue == self.clue and not other.failed]

    def guess(self) -> Cell:
        """Return the guess; of several, the most frequent."""
        answer = self.answer
        if answer is None or (self.undisputed and answer.disputed):
            return Cell("disputed, so not listed" if answer else "not answered", kind="missing")
        if answer.failed:
            silent = answer.buzz is False and answer.sample is not None  # one of several people or samples
            return Cell("no buzz" if silent else WORDS["failed"], kind="missing")
        words: list[Component | str] = [answer.guess or "no answer"]
        if len(self.guesses) > 1:
            note = f" most frequent of {len(self.guesses)} answers"
            words.append(html.Span(note, className="row-note", title=", ".join(self.guesses)))
        if answer.disputed:
            words.append(disputed_mark())
        return Cell(words, answer.guess or "", "guess" if answer.guess else "missing")

    @property
    def shown(self) -> ClueResponse | None:
        """The answer, if its grade and confidence are shown."""
        answer = self.answer
        return None if answer is None or answer.failed or (self.undisputed and answer.disputed) else answer

    def surest_first(self) -> float:
        """Return a sort key: runs without a confidence come last."""
        return 1.0 if self.shown is None or self.shown.confidence is None else -self.shown.confidence

    def grade(self) -> Cell:
        """Return the grade; of several answers, the mean."""
        answer = self.shown
        if answer is None:
            return Cell("", kind="")
        if answer.graded == "table" or len(self.guesses) > 1 or 0 < answer.correct < 1:  # a share or a probability
            return Cell(short(answer.correct), kind="number mark")
        right = answer.correct >= 0.5
        prompted = "matches only what would be prompted on" if answer.graded == "prompt" else ""
        return Cell("✓" if right else "✗", prompted, f"number mark {'right' if right else 'wrong'}")

    def confidence(self, colour: str) -> Cell:
        """Return the confidence; of several answers, the mean."""
        answer = self.shown
        if answer is None:
            return Cell("", kind="")
        if not answer.answered:
            return Cell(WORDS[answer.state], kind="missing")
        return Cell(
            [html.Span(className="meter", style={"--share": answer.confidence, "--shade": colour}), short(answer.confidence)]
        )

    def share(self) -> Cell:
        """Return the contribution to CalScore."""
        share = self.answer.contribution if self.answer else None
        return Cell(share, kind="number bad" if share is not None and share < 0 else None)

    def buzz(self) -> Cell:
        """Return where the run buzzes, and at which threshold."""
        point = self.run.buzzpoint
        if point is None:
            return Cell("", kind="")
        if point.missing or point.threshold is None:
            return Cell(None, point.missing)
        threshold = f"{point.threshold:.4g}".replace("-", "\u2212")
        why = f"Threshold {threshold}, its best on this selection" if point.best else f"Threshold {threshold}"
        here = self.answer is not None and point.clue == self.clue
        return Cell("never" if point.clue is None else f"clue {point.clue + 1}", why, "number here" if here else None)


def _curve(metric: Metric, question: Question) -> str | None:
    """The human curve that a metric uses on the question; None if it uses none."""
    if metric.of_teams:
        return question.team_curve
    return metric.human and question.human_curve


def _h(curve: str) -> html.Span:
    """Name the h that numbers use."""
    return html.Span(f"h: {CURVE_LABELS[curve]}", className="row-note", title=f"h: {CURVE_NAMES[curve]}")


def _detail(label: Content, about: str, value: Callable[[RunAtClue], object]) -> PageColumn:
    """A column that is shown if all numbers are asked for."""

    def cell(row: RunAtClue) -> Cell:
        shown = value(row)
        given = shown if isinstance(shown, Cell) else Cell(shown)
        return given._replace(kind=f"{given.kind or 'number'} detail")

    return PageColumn(html.Th(label, scope="col", className="number detail", title=about), cell, number=True)


def _metric(key: str, row: RunAtClue) -> object:
    return with_second(row.run.metrics[key], row.run.second.get(key))


def summary(question: Question, names: Mapping[str, str], clue: int, *, undisputed: bool = False) -> str:
    """Return a sentence on how things stand after a clue, counted from 0: who is right, and who is surest and wrong."""
    rows = [RunAtClue(run, clue, undisputed) for run in question.runs]
    answers = [(row.run.run, row.shown) for row in rows if row.shown]
    graded = [(run, answer) for run, answer in answers if answer and answer.correct in (0, 1)]
    wrong = [(run, answer) for run, answer in graded if not answer.correct]
    in_part = sum(answer is not None and answer.correct is not None and 0 < answer.correct < 1 for _, answer in answers)
    parts, count = [], len(graded) - len(wrong)
    if in_part:
        every = counted(len(graded) + in_part, "run")
        parts.append(f"of {every}, {count} {'is' if count == 1 else 'are'} right, {in_part} in part and {len(wrong)} wrong")
    elif graded:
        every = "the run is" if len(graded) == 1 else "every run is"
        some = f"{count} of {counted(len(graded), 'run')} {'is' if count == 1 else 'are'} right"
        parts.append(some if wrong and count else f"{every} {'wrong' if wrong else 'right'}")
    sure = max(wrong, key=lambda pair: pair[1].confidence or 0.0, default=None)
    if sure and sure[1].confidence is not None:
        parts.append(f"{names[sure[0]]} is {percent(sure[1].confidence, 0)} sure and wrong")
    if question.human:
        heard, end = question.human, question.clues[clue].word_end
        right = len({buzz.team for buzz in heard.buzzes if buzz.correct and (buzz.word < end or clue == len(question.clues) - 1)})
        unstated = f" (nobody stated where {heard.unstated} of these plays ended)" if heard.unstated else ""
        parts.append(f"{right} of {counted(heard.teams, 'team')} {'was' if right == 1 else 'were'} right by now{unstated}")
        parts.append(_h_at(question, heard, clue))
    sentence = "; ".join(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}." if sentence else ""


def answers_title(question: Question, clue: int) -> str:
    """Return the title of the table at a clue."""
    return "Answers" if len(question.clues) == 1 else f"Answers after clue {clue + 1} of {len(question.clues)}"


def _h_at(question: Question, human: HumanRecord, clue: int) -> str:
    """The h of CalScore at a clue, with its second value if they differ."""
    name = question.human_curve
    words = f"h in CalScore ({CURVE_LABELS[name]}): {short(getattr(human, name)[clue])}"
    return f"{words} ({short(human.second[name][clue])} {STATED})" if name in human.second else words


def best_first(metric: Metric, run: RunResponses) -> tuple[bool, float]:
    """Sort key of a run. Runs without a value come last."""
    value = run.metrics[metric.key]
    if value is None:
        return True, 0.0
    return False, {"lower": value, "zero": abs(value)}.get(metric.direction, -value)
