"""The text of a question, clue by clue, with a tick wherever somebody buzzed."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import aria, data
from dashboard.components.quizbowl_markup import Character, characters, draw
from data.quizbowl.question_words import words
from queries.question import HumanBuzz, Question

FEW_CLUES = 8  # up to this many clues have a row each, however short
# Words. More clues than that, with at most this mean length, become running text: rows would push the figure off the screen.
SHORT_CLUE = 6


def clue_text(question: Question, cursor: int, *, quizbowl: bool) -> html.Ol:
    """Return the clues as a list that the cursor moves through. Clues after the cursor are dimmed.

    Many short clues are set as running text.

    Args:
        question: the question.
        cursor: the current clue, from 0.
        quizbowl: whether its text can contain quizbowl markup.
    """
    ticks: dict[int, list[html.Span]] = defaultdict(list)
    for buzz in question.human.buzzes if question.human else []:
        ticks[buzz.word].append(_tick(buzz, buzz.team, ""))
    for buzz in question.model_buzzes:
        ticks[buzz.word].append(_tick(buzz, f"{buzz.team} (model)", " model"))
    start, items = 0, []
    for clue in question.clues:
        state = "now" if clue.clue == cursor else "ahead" if clue.clue > cursor else "past"
        text = clue.text or ""
        shown = characters(text) if quizbowl else [Character(letter, place) for place, letter in enumerate(text)]
        parts = _words(text, shown, start, clue.word_end, ticks, last=clue.clue == len(question.clues) - 1)
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


def _tick(buzz: HumanBuzz, team: str, kind: str) -> html.Span:
    label = f"{team}: {'correct' if buzz.correct else 'incorrect'} buzz at word {buzz.word}"
    return html.Span(
        "+" if buzz.correct else "\u2212",
        className=f"tick {'right' if buzz.correct else 'wrong'}{kind}",
        title=label,
        role="img",
        **aria(label=label),
    )
