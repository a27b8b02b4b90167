"""The writer's desk: a question typed sentence by sentence, what guessers answer to it so far, and questions as a bundle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from dash import html
from dash.development.base_component import Component
from flask import Response, request

from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.http.bodies import attachment_headers, json_response, read_body
from clueline.dashboard.http.messages import error_message
from clueline.dashboard.registry.addresses import accept, pairs
from clueline.dashboard.registry.pages import PageParameters, PageRequest, page
from clueline.dashboard.service import service
from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.controls import menu, token_field
from clueline.dashboard.ui.html import aria, data, note, page_link, section
from clueline.dashboard.ui.runs import named
from clueline.dashboard.ui.table import Cell, PageColumn, columns_by, html_table
from clueline.dashboard.ui.text import short
from clueline.data.plurals import counted
from clueline.queries import drafts
from clueline.queries.selection import read_parameters
from clueline.queries.selection.parameter_kinds import BadRequest, Choice
from clueline.queries.selection.view_parameters_base import NoParameters

MAX_DRAFT_BYTES = 256 * 1024  # bytes of the body of one question
MAX_BUNDLE_BYTES = 2 * 2**20  # bytes of the body of a bundle's questions

T = TypeVar("T")


class _Guesses(drafts.DraftText, frozen=True):
    """The body of ``POST /api/v1/write/guesses``."""

    elicitation: drafts.Elicitation = drafts.ELICITATIONS[0]


@accept("POST", "/api/v1/write/guesses")
def post_write_guesses() -> Response:
    """What the guessers of Pyramid answer after each sentence of a question that is being written: `{"text", "answer",
    "elicitation"}`. `answer` is an answer line, which can be blank; guesses are graded by it, with the rule that decided.
    `elicitation` is `softmax` (the default) or `margin`. `buzz` is the first clue at which a guesser's confidence exceeds its
    best threshold on Pyramid; `warnings` name guessers that are right too early, or confident and wrong. At most 2,000 words in
    100 sentences; 413 for a body of more than 256 KiB. Nothing is stored.
    """
    body = _read(_Guesses, MAX_DRAFT_BYTES)
    draft = drafts.DraftText(body.text, body.answer)
    return json_response(service().compute_alone(drafts.question_draft, draft, (body.elicitation,)))


@accept("POST", "/api/v1/write/bundle")
def post_write_bundle() -> Response:
    """Questions as a bundle, a zip that `POST /api/v1/datasets` and `clueline import` accept: `{"dataset", "title",
    "questions": [{"text", "answer", "category", "subcategory"}]}`. Each sentence is a clue. The runs in it are the answers of the
    guessers of Pyramid. At most 100 questions and 20,000 words; 413 for a body of more than 2 MiB. Nothing is stored.
    """
    body = _read(drafts.WrittenDataset, MAX_BUNDLE_BYTES)
    bundle = service().compute_alone(drafts.draft_bundle, body)
    return Response(bundle, mimetype="application/zip", headers=attachment_headers(f"{body.dataset}.zip"))


def _read(kind: type[T], largest: int) -> T:
    """Return the body of a request. Raises ``BadRequest`` or ``RequestDenied``."""
    read_parameters(pairs(), NoParameters)
    if len(request.get_data()) > largest:
        raise RequestDenied(413, "too_large", f"The body is larger than {largest // 1024:,} KiB, the limit of this address.")
    return read_body(kind)


COLOURS = {"TF-IDF words": "var(--run-4)", "TF-IDF characters": "var(--run-3)", "BM25": "var(--run-1)", "LSA 64": "var(--run-2)"}
MARKS = {"accept": "✓", "prompt": "prompt", "reject": "✗", None: ""}
CLASSES = {"accept": "number mark right", "prompt": "number mark", "reject": "number mark wrong", None: "number mark"}
START = "Type a question. After each sentence, four search methods answer it from what is typed so far."


def draft_summary(draft: drafts.QuestionDraft) -> html.Div:
    """Return the length of the question, whether the guessers can know its answer, and warnings.

    Screen readers read it out when it changes.
    """
    if not draft.clues:
        return html.Div(note(START), className="draft-summary")
    lines: list[Component | None] = [note(f"{counted(len(draft.clues), 'sentence')}, {counted(draft.words, 'word')}.")]
    if draft.guessers[0].guesses[0].verdict is None and not any(g.verdict for r in draft.guessers for g in r.guesses):
        lines.append(note("Type the answer line as well: the guesses are graded against it."))
    elif not draft.known:
        lines.append(
            note(
                f"This answer line accepts none of the {draft.entries} entries that the guessers choose from, so no guess can be "
                "right. Warnings about wrong guesses still show what the text sounds like."
            )
        )
    warnings = []
    for warning in draft.warnings:
        after = f"after sentence {warning.clue + 1} of {len(draft.clues)}"
        sure = f"{warning.model} is {short(warning.confidence)} sure of {warning.guess} {after}"
        words = f"Too early: {sure}, and right." if warning.kind == "early" else f"Misleading: {sure}, and wrong."
        warnings.append(html.Li(words, className=f"draft-warning {warning.kind}"))
    lines.append(html.Ul(warnings, className="draft-warnings") if warnings else note("No warnings."))
    return html.Div(lines, className="draft-summary", role="status", **aria(live="polite"))


def guesses_table(guessers: Sequence[drafts.GuesserOnDraft]) -> html.Div | None:
    """Return each guesser's answer to the whole text and where it buzzes; None without a text."""
    if not guessers:
        return None

    def guess(guesser: drafts.GuesserOnDraft) -> Cell:
        text = guesser.guesses[-1].guess
        return Cell(text or "no guess", kind="guess" if text else "missing")

    def grade(guesser: drafts.GuesserOnDraft) -> Cell:
        now = guesser.guesses[-1]
        return Cell(MARKS[now.verdict], _reason(now), CLASSES[now.verdict])

    def buzz(guesser: drafts.GuesserOnDraft) -> Cell:
        about = f"Confidence above {guesser.threshold:.4g}, its best threshold on Pyramid"
        return Cell("never" if guesser.buzz is None else f"sentence {guesser.buzz + 1}", about)

    columns = [
        PageColumn("Guesser", lambda guesser: named(COLOURS[guesser.model], guesser.model)),
        PageColumn("Guess", guess),
        PageColumn("Grade", grade, number=True),
        PageColumn("Confidence", lambda guesser: guesser.guesses[-1].confidence),
        PageColumn("Buzzes", buzz, number=True),
        PageColumn("Why this grade", lambda guesser: Cell(_reason(guesser.guesses[-1]), kind="note")),
    ]
    return html_table(columns, guessers, "Guesses now", "draft-guesses")


def _all_guesses(draft: drafts.QuestionDraft) -> html.Div:
    def cell(place: int, clue: drafts.DraftClue) -> Cell:
        guesser, guess = draft.guessers[place], draft.guessers[place].guesses[clue.clue]
        buzz = " ◇" if guesser.buzz == clue.clue else ""
        text = f"{guess.guess or 'no guess'} {MARKS[guess.verdict]} {short(guess.confidence)}{buzz}"
        return Cell(" ".join(text.split()), _reason(guess))

    columns = [PageColumn("After sentence", lambda clue: f"{clue.clue + 1}. {clue.text}")]
    columns += columns_by({place: guesser.model for place, guesser in enumerate(draft.guessers)}, cell, number=False)
    return html_table(columns, draft.clues, "Guesses by sentence")


def _reason(guess: drafts.DraftGuess) -> str:
    """A sentence on why a guess has its grade; blank if it is not graded."""
    return f"{MEANINGS[guess.verdict].capitalize()}: {guess.rule}." if guess.rule else ""


HEIGHT, AXIS = 360, 60  # pixels of the figure, and of the space above and below its axes
RANGE = (-0.03, 1.05)  # range of the confidence axis
SYMBOLS = {"accept": "circle", "prompt": "square-open", "reject": "x-thin-open", None: "circle-open"}
MEANINGS = {"accept": "right", "prompt": "to prompt on", "reject": "wrong", None: "not graded"}
CAPTION = "Confidence after each sentence: ● right, × wrong, □ prompt, ○ not graded, ◇ where the guesser buzzes"
NO_WORDS = 10  # end of the axis before anything is typed


def draft_figure(draft: drafts.QuestionDraft) -> fig.PlotlyJson:
    """Draw each guesser's confidence at the end of each sentence. The marker's shape is the grade; a diamond marks the buzz."""
    ends = [clue.word_end for clue in draft.clues]
    last = [(fig.plain(guesser.model), guesser.guesses[-1].confidence, COLOURS[guesser.model]) for guesser in draft.guessers]
    return fig.drawn(
        [trace for guesser in draft.guessers for trace in _guesser(guesser, draft.clues, COLOURS[guesser.model])],
        HEIGHT,
        fig.axis("words so far", range=[-0.5, (draft.words or NO_WORDS) + 0.5], showgrid=False),
        fig.axis("confidence", **fig.UNIT | {"range": list(RANGE)}),
        margin=fig.label_margin([name for name, _, _ in last]),
        annotations=fig.end_labels(last, *RANGE, HEIGHT - AXIS),
        shapes=[fig.straight(end, colour=fig.FAINT, dash="dot") | {"layer": "below"} for end in ends[:-1]],
    )


def _guesser(guesser: drafts.GuesserOnDraft, clues: Sequence[drafts.DraftClue], colour: str) -> list[fig.PlotlyJson]:
    """The line of a guesser, and the diamond around the guess with which it buzzes."""
    shared: fig.PlotlyJson = {"name": fig.plain(guesser.model), "showlegend": False, "cliponaxis": False}
    line = fig.dots(
        [clue.word_end for clue in clues], [guess.confidence for guess in guesser.guesses],
        "%{fullData.name}<br>%{customdata[0]} (%{customdata[1]})<br>confidence %{y:.3f}", colour, 9,
        {"line": {"color": colour, "width": 2}, "symbol": [SYMBOLS[guess.verdict] for guess in guesser.guesses]},
        mode="lines+markers", meta=guesser.model, line={"color": colour, "width": 2.2}, **shared,
        customdata=[[fig.plain(guess.guess or "no guess"), MEANINGS[guess.verdict]] for guess in guesser.guesses],
    )  # fmt: skip
    if guesser.buzz is None:
        return [line]
    buzz, ring = guesser.guesses[guesser.buzz], {"symbol": "diamond-open", "line": {"width": 2}}
    return [line, fig.dots([clues[buzz.clue].word_end], [buzz.confidence], "", colour, 17, ring, **shared)]


class WritePage(PageParameters, frozen=True):
    """How scores become confidence."""

    confidence_from: Annotated[
        str,
        Choice(
            "how the scores of a search become confidence: `softmax` (the default), the share of the best entry, or `margin`, "
            "its lead over the second",
            drafts.ELICITATIONS,
        ),
    ] = drafts.ELICITATIONS[0]


@page("/write", "Write", WritePage, place="Data", order=4)
def draw(request: PageRequest[WritePage]) -> Sequence[Component | None]:
    """Draw the form next to the guesses at the draft that came with the request, and how to save it."""
    draft, problem = _guesses(request)
    chosen = request.parameters.confidence_from
    titles = {"softmax": "Softmax", "margin": "Margin"}
    shown = html.P(problem, className="status-message bad", role="alert") if problem else None
    guesses = [
        html.Div(shown or draft_summary(draft), className="draft-now"),
        html.Div(guesses_table(draft.guessers)),
        menu("confidence_from", "Confidence from", titles, chosen, default=drafts.ELICITATIONS[0]),
        fig.figure("draft", draft_figure(draft), CAPTION, _all_guesses(draft)),
    ]
    return [
        html.Div(
            [html.H1("Writer’s desk"), html.Span("A question, and what guessers answer after each sentence", className="lead")],
            className="heading",
        ),
        html.Div(
            [html.Div(id="write", className="write-form"), html.Div(guesses, className="write-guesses")], className="write-desk"
        ),
        _about(request, draft.entries),
        section(
            "Save",
            token_field(),
            html.Div(id="write-save", **data(mode=service().access.page_mode())),
        ),
    ]


def _guesses(request: PageRequest[WritePage]) -> tuple[drafts.QuestionDraft, str]:
    """The guesses at a draft, and what is wrong with it; with a problem, the guesses are those of an empty draft."""
    elicitation = next(name for name in drafts.ELICITATIONS if name == request.parameters.confidence_from)
    try:
        return service().compute_alone(drafts.question_draft, request.draft, (elicitation,)), ""
    except BadRequest as error:
        return drafts.question_draft(drafts.DraftText()), error_message(error)


def _about(request: PageRequest[WritePage], entries: int) -> html.P | None:
    link = page_link("Buzz", href=request.link("/buzz", dataset="pyramid"))
    before = (
        f"The guessers are those of the bundled dataset Pyramid. They search {entries} short entries and are not language "
        "models: what they find early, a model is likely to know. A guesser buzzes once its confidence is above the threshold "
        "that wins it most on Pyramid ("
    )
    after = (
        "). A right buzz within the first half of the words is too early. What you type is kept only in this browser until you "
        "save it as a dataset."
    )
    return note([before, link if "pyramid" in service().snapshot().states else "the page Buzz", after])
