"""The heading of a question's page: its answer, facts about it, and links to its neighbours in the list."""

from __future__ import annotations

from dash import html
from dash.development.base_component import Component

from dashboard.components.html_attributes import data
from dashboard.components.numbers import DIFFICULTY_SOURCES, short
from dashboard.components.quizbowl_markup import draw_text
from data.plurals import counted
from queries.question import Question


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
    """Return the heading.

    Args:
        question: question of the page.
        listing: link to the list that contains the question.
        place: place of the question in the list, from 0; None if filters leave it out.
        total: number of questions in the list.
        previous, following: addresses of the neighbours in the list; None at its ends.
        quizbowl: whether its answer line can contain quizbowl markup.
    """
    line = question.answer or ""
    name = line.partition("[")[0].strip()  # without other accepted answers
    drawn = draw_text if quizbowl else lambda text: [text]
    facts = [part for fact in _facts(question) for part in (" · ", fact)]
    steps = [
        _step("Previous", "p", previous),
        _step("Next", "n", following),
    ]
    where = f" {place + 1:,} of {total:,}" if place is not None else " outside the filters"
    return html.Div(
        [
            html.P([listing, html.Span(where)], className="crumbs"),
            html.Div(
                [html.H1(drawn(name) if name else f"Question {question.question_id}"), html.Div(steps, className="steps")],
                className="titles",
            ),
            html.P([html.Code(question.question_id), *facts], className="lead"),
            html.P(["Answer line: ", *drawn(line)], className="note") if "[" in line else None,
        ],
        className="heading question-heading",
    )


ASSUMED = "Nothing shows that a team that never buzzed heard the question. It counts as having heard it to its end."


def _facts(question: Question) -> list[str | Component]:
    """Facts about a question."""
    facts: list[str | Component] = [fact for fact in (question.category, question.subcategory) if fact]
    facts += [f"{name}: {value}" for name, value in question.attributes.items()]
    if question.difficulty is not None:
        source = DIFFICULTY_SOURCES.get(question.difficulty_source or "", "")
        facts.append(html.Span(f"difficulty {short(question.difficulty, 2)}", title=source))
    if question.human:
        heard = f"heard by {counted(question.human.teams, 'human team')}"
        if question.human.silent:
            heard += f", of which {question.human.silent:,} never buzzed in that match"
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
