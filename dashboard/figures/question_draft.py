"""A question that is being written: how sure each guesser is after each sentence, over the words so far."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dashboard.figures.run_labels_and_lines import end_labels, label_margin
from dashboard.figures.style import FAINT, PlotlyJson, axis, layout, plain
from queries.question_draft import DraftClue, DraftGuess, GuesserOnDraft, QuestionDraft

HEIGHT, AXIS = 360, 60  # pixels of the figure, and of the space above and below its axes
RANGE = (-0.03, 1.05)  # range of the confidence axis
SYMBOLS = {"accept": "circle", "prompt": "square-open", "reject": "x-thin-open", None: "circle-open"}
MEANINGS = {"accept": "right", "prompt": "to prompt on", "reject": "wrong", None: "not graded"}
NO_WORDS = 10  # end of the axis before anything is typed


def draft_figure(draft: QuestionDraft, colours: Mapping[str, str]) -> PlotlyJson:
    """Draw each guesser's confidence at the end of each sentence. The marker's shape is the grade; a diamond marks the buzz.

    Args:
        draft: draft with its guessers.
        colours: colours by model.
    """
    ends = [clue.word_end for clue in draft.clues]
    last = [(plain(guesser.model), guesser.guesses[-1].confidence, colours[guesser.model]) for guesser in draft.guessers]
    return {
        "data": [trace for guesser in draft.guessers for trace in _guesser(guesser, draft.clues, colours[guesser.model])],
        "layout": layout(
            HEIGHT,
            margin=label_margin([name for name, _, _ in last]),
            annotations=end_labels(last, *RANGE, HEIGHT - AXIS),
            shapes=[
                {"type": "line", "xref": "x", "yref": "paper", "x0": end, "x1": end, "y0": 0, "y1": 1, "layer": "below",
                 "line": {"color": FAINT, "width": 1, "dash": "dot"}}
                for end in ends[:-1]
            ],
            xaxis=axis("words so far", range=[-0.5, (draft.words or NO_WORDS) + 0.5], showgrid=False),
            yaxis=axis("confidence", range=list(RANGE), dtick=0.25, tickformat=".2~f"),
        ),
    }  # fmt: skip


def _guesser(guesser: GuesserOnDraft, clues: Sequence[DraftClue], colour: str) -> list[PlotlyJson]:
    """The line of a guesser, and the diamond around the guess with which it buzzes."""
    shared = {"type": "scatter", "name": plain(guesser.model), "showlegend": False, "cliponaxis": False}
    line = {
        **shared, "mode": "lines+markers", "meta": guesser.model,
        "x": [clue.word_end for clue in clues], "y": [guess.confidence for guess in guesser.guesses],
        "line": {"color": colour, "width": 2.2},
        "marker": {
            "size": 9, "color": colour, "line": {"color": colour, "width": 2},
            "symbol": [SYMBOLS[guess.verdict] for guess in guesser.guesses],
        },
        "customdata": [[plain(guess.guess or "no guess"), meaning(guess)] for guess in guesser.guesses],
        "hovertemplate": "%{fullData.name}<br>%{customdata[0]} (%{customdata[1]})<br>confidence %{y:.3f}<extra></extra>",
    }  # fmt: skip
    if guesser.buzz is None:
        return [line]
    buzz = guesser.guesses[guesser.buzz]
    diamond = {
        **shared, "mode": "markers", "x": [clues[buzz.clue].word_end], "y": [buzz.confidence], "hoverinfo": "skip",
        "marker": {"size": 17, "symbol": "diamond-open", "color": colour, "line": {"width": 2}},
    }  # fmt: skip
    return [line, diamond]


def meaning(guess: DraftGuess) -> str:
    """Return the grade of a guess in words."""
    return MEANINGS[guess.verdict]
