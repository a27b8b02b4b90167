"""The writer's desk: a question typed sentence by sentence, and what guessers answer to it so far; see ``assets/write.js``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from dash import html
from dash.development.base_component import Component

from dashboard.registry.messages import error_message
from dashboard.registry.pages import Page, PageParameters, PageRequest, register
from dashboard.service import service
from dashboard.ui.controls import menu
from dashboard.ui.html import data, page_link
from dashboard.views.write.sections import draft_confidence, draft_summary, guesses_table
from queries.drafts import ELICITATIONS, DraftText, QuestionDraft, question_draft
from queries.selection.parameter_kinds import BadRequest, Choice

PATH = "/write"


class WritePage(PageParameters, frozen=True):
    """How scores become confidence."""

    confidence_from: Annotated[
        str,
        Choice(
            "how the scores of a search become confidence: `softmax` (the default), the share of the best entry, or `margin`, "
            "its lead over the second",
            ELICITATIONS,
        ),
    ] = ELICITATIONS[0]


def draw(request: PageRequest[WritePage]) -> Sequence[Component | None]:
    """Draw the form next to the guesses at the draft that came with the request, and how to save it."""
    draft, problem = _guesses(request)
    chosen = request.parameters.confidence_from
    titles = {"": "Softmax", "margin": "Margin"}
    return [
        html.Div(
            [html.H1("Writer’s desk"), html.Span("A question, and what guessers answer after each sentence", className="lead")],
            className="heading",
        ),
        html.Div(
            [
                html.Div(id="write", className="write-form"),
                html.Div(
                    [
                        html.Div(_problem(problem) if problem else draft_summary(draft), className="draft-now"),
                        html.Div(guesses_table(draft.guessers)),
                        menu("confidence_from", "Confidence from", titles, "" if chosen == ELICITATIONS[0] else chosen),
                        draft_confidence(draft),
                    ],
                    className="write-guesses",
                ),
            ],
            className="write-desk",
        ),
        _about(request, draft.entries),
        html.Section([html.H2("Save"), _token(), html.Div(id="write-save", **data(mode=_upload_mode()))], className="section"),
    ]


def _guesses(request: PageRequest[WritePage]) -> tuple[QuestionDraft, str]:
    """The guesses at a draft, and what is wrong with it; with a problem, the guesses are those of an empty draft."""
    elicitation = next(name for name in ELICITATIONS if name == request.parameters.confidence_from)
    try:
        return service().compute_alone(question_draft, request.draft, (elicitation,)), ""
    except BadRequest as error:
        return question_draft(DraftText()), error_message(error)


def _problem(message: str) -> html.P:
    return html.P(message, className="status-message bad", role="alert")


def _about(request: PageRequest[WritePage], entries: int) -> html.P:
    buzz = request.link("/buzz", dataset="pyramid")
    return html.P(
        [
            f"The guessers are those of the bundled dataset Pyramid. They search {entries} short entries and are not language "
            "models: what they find early, a model is likely to know. A guesser buzzes once its confidence is above the "
            "threshold that wins it most on Pyramid (",
            page_link("Buzz", href=buzz) if "pyramid" in service().snapshot().states else "the page Buzz",
            "). A right buzz within the first half of the words is too early. What you type is kept only in this browser until "
            "you save it as a dataset.",
        ],
        className="note",
    )


def _token() -> html.Div | None:
    mode = _upload_mode()
    return html.Div(className="api-token", **data(mode=mode)) if mode != "off" else None


def _upload_mode() -> str:
    return service().access.page_mode()


PAGE = register(Page(name="write", path=PATH, title="Write", place=87, draw=draw, parameters=WritePage, filters=()))
