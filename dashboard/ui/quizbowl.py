"""Draw the markup of quizbowl questions and answer lines: HTML tags, entities, ``_underlined_``, ``__**and bold**__``.

Only known tags count as markup. They become components and never reach the page as HTML.
"""

from __future__ import annotations

import html as entities
import re
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from dash import html
from dash.development.base_component import Component

from clueline.dashboard.ui.html import page_link
from clueline.dashboard.ui.table import Cell, PageColumn
from clueline.dashboard.ui.text import DASH

STYLES = {"b": "b", "strong": "b", "i": "i", "em": "i", "u": "u", "sub": "sub", "sup": "sup"}  # styles of tags
# Tags that count as markup, and entities, each of which is one character. Tags without a style are dropped.
TAG = re.compile(
    r"<(?P<end>/?)(?P<name>b|strong|i|em|u|sub|sup|p|br|span|div|font|small)(?:\s[^<>]*)?/?>"
    r"|&(?:#\d{1,6}|#x[0-9a-f]{1,5}|[a-z]{2,8});",
    re.IGNORECASE,
)
BREAKS = ("br", "p", "div")  # tags that separate words
SIGNS = {"__**": "ub", "**__": "ub", "__": "u", "_": "u", "**": "b"}
SIGNED = re.compile(r"(?<![^\W_])(__\*\*|\*\*__|__|\*\*|_)(?=[^\s_*])([^_*\n]*)(?<=\S)(\*\*__|__\*\*|__|\*\*|_)(?![^\W_])")
COMPONENTS = {"b": html.B, "i": html.I, "u": html.U, "sub": html.Sub, "sup": html.Sup}


class Character(NamedTuple):
    """A visible character.

    ``place`` is the index in the text with its markup. ``styles`` are keys of ``COMPONENTS``, sorted and separated by spaces.
    """

    text: str
    place: int
    styles: str = ""


def characters(text: str) -> list[Character]:
    """Return the visible characters of a text, each with its styles. Unclosed tags extend to the end of the text."""
    shown: list[Character] = []
    opened: list[str] = []
    before = 0
    for match in TAG.finditer(text):
        styles = _sorted(opened)
        shown += [Character(text[place], place, styles) for place in range(before, match.start())]
        before = match.end()
        if match["name"] is None:
            shown += [Character(letter, match.start(), styles) for letter in entities.unescape(match.group())]
        elif match["name"].lower() in BREAKS:
            if shown and not shown[-1].text.isspace():
                shown.append(Character(" ", match.start(), styles))
        elif style := STYLES.get(match["name"].lower()):
            if not match["end"]:
                opened.append(style)
            elif style in opened:
                opened.remove(style)
    styles = _sorted(opened)
    shown += [Character(text[place], place, styles) for place in range(before, len(text))]
    return _signed(shown)


def _signed(shown: list[Character]) -> list[Character]:
    """The characters, with text between signs such as underscores in the style of the signs, and without the signs."""
    result: list[Character] = []
    before = 0
    for match in SIGNED.finditer("".join(character.text for character in shown)):
        if match[1][::-1] != match[3]:
            continue
        result += shown[before : match.start()]
        styles = SIGNS[match[1]]
        result += [
            letter._replace(styles=_sorted([*letter.styles.split(), *styles])) for letter in shown[match.start(2) : match.end(2)]
        ]
        before = match.end()
    return result + shown[before:]


def draw(shown: Iterable[Character]) -> list[Component | str]:
    """Return characters as text and components."""
    parts: list[Component | str] = []
    for styles, letters in groupby(shown, key=lambda character: character.styles):
        part: Component | str = "".join(letter.text for letter in letters)
        for style in styles.split():
            part = COMPONENTS[style](part)
        parts.append(part)
    return parts


def draw_text(text: str) -> list[Component | str]:
    """Return a text with its markup as components."""
    return draw(characters(text))


def without_markup(text: str) -> str:
    """Return a text without its markup.

    >>> without_markup("<b>_Walt Disney_ World</b> &amp; x_1 < y <z>")
    'Walt Disney World & x_1 < y <z>'
    """
    return "".join(character.text for character in characters(text))


def main_answer(line: str | None, *, quizbowl: bool) -> str:
    """Return an answer line without alternatives in brackets; blank if there is no answer line.

    ``quizbowl`` says whether it can contain quizbowl markup.

    >>> main_answer("_Anne Brontë_ [accept Acton Bell]", quizbowl=True)
    'Anne Brontë'
    """
    first = (line or "").partition("[")[0]
    return (without_markup(first) if quizbowl else first).strip()


def question_column(link: Callable[[str], str], quizbowl: bool, *, titled: bool = True) -> PageColumn:
    """Return the column that names a question by its answer; ``titled``: its id is the tooltip."""

    def name(row: Any) -> Component:
        label = main_answer(row.answer, quizbowl=quizbowl) or row.question_id
        return page_link(label, link(row.question_id), row.question_id if titled else None)

    return PageColumn("Question", name)


def answer_text(line: str | None, *, quizbowl: bool) -> Cell:
    """Return an answer line without alternatives in brackets, with its markup; the whole line is the tooltip."""
    first = (line or DASH).partition(" [")[0]
    return Cell(draw_text(first) if quizbowl else [first], line, "guess")


def _sorted(styles: Sequence[str]) -> str:
    return " ".join(sorted(set(styles)))
