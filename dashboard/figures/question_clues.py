"""A question clue by clue: what people knew, and how sure each run was, over the words revealed."""

from __future__ import annotations

from collections.abc import Mapping

from dashboard.figures.run_labels_and_lines import end_labels, label_margin, run_labels, run_line
from dashboard.figures.style import FAINT, INK, MUTED, OTHERS, PlotlyJson, axis, layout, plain
from data.store.answer_states import WORDS
from queries.question import Question, RunResponses

RAIL = (0.9, 1.0)  # the strip of human buzzes, as a share of the figure's height
MAIN = (0.0, 0.86)
RANGE = (-0.03, 1.05)  # range of the confidence axis
HEIGHT, AXIS = 420, 60  # pixels of the figure, and of the space below and above its axes
MAX_SEPARATED_CLUES = 40  # with more clues, lines between them would hide everything else


def clues_figure(question: Question, names: Mapping[str, str], colours: Mapping[str, str], cursor: int) -> PlotlyJson:
    """Draw the confidence of each run at the end of each clue, with the human curve as steps and buzzes above.

    The marker's shape shows correctness. A diamond marks where the run buzzes, a triangle where the system itself decided to.
    The first shape of the layout is the cursor, at the end of a clue; ``assets/question.js`` moves it.

    Args:
        question: question with at least one clue.
        names: display name of each run, by run id.
        colours: colour of each run, by run id.
        cursor: clue at the cursor, from 0.
    """
    words = [clue.word_end for clue in question.clues]
    end = words[-1]
    runs = sorted(question.runs, key=lambda run: run.run in colours)  # lines in colour above those in grey
    data = [_run(run, question, names, colours) for run in runs]
    data += [_named(run, names, colours) for run in runs if run.run in colours]
    buzzing = [run for run in runs if run.run in colours and run.buzzpoint and run.buzzpoint.clue is not None]
    data += [_buzz(run, question, names, colours) for run in buzzing]
    data += [_own_buzz(run, question, names, colours) for run in runs if run.run in colours and run.own_buzz() is not None]
    data += [_unanswered(run, question, names, colours) for run in runs if not all(answer.answered for answer in run.clues)]
    curve: list[float] = []
    if question.human:
        curve = getattr(question.human, question.drawn_curve)
        data.insert(0, {
            "type": "scatter", "mode": "lines", "name": "People", "showlegend": False, "x": [0, *words], "y": [0, *curve],
            "line": {"color": INK, "width": 2.5, "shape": "hv"},
            "hovertemplate": "people: h = %{y:.3f}<br>%{x} words<extra></extra>",
        })  # fmt: skip
        data += _rail(question)
    main = MAIN if question.human else (0.0, 1.0)
    named = run_labels(names, [run.run for run in question.runs if run.run in colours and any(a.answered for a in run.clues)])
    last = {run.run: [c for answer in run.clues if (c := answer.confidence) is not None][-1] for run in runs if run.run in named}
    ends = [(label, last[run], colours[run]) for run, label in named.items()]
    ends += [("People", curve[-1], INK)] if question.human else []
    labels = end_labels(ends, *RANGE, (HEIGHT - AXIS) * (main[1] - main[0]))
    share = "buzzes" if question.drawn_curve in ("buzz_share", "release_share") else "teams"
    title = f"confidence; share of {share} right" if question.human else "confidence"
    marks = words[:-1] if len(words) <= MAX_SEPARATED_CLUES else []
    line = {"type": "line", "xref": "x", "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
    shapes = [
        {**line, "x0": words[cursor], "x1": words[cursor], "line": {"color": "var(--cursor)", "width": 2}, "name": "cursor"},
        *({**line, "x0": word, "x1": word, "line": {"color": FAINT, "width": 1, "dash": "dot"}} for word in marks),
    ]
    return {
        "data": data,
        "layout": layout(
            HEIGHT,
            margin=label_margin([label for label, _, _ in ends]),
            hoveranywhere=True,  # assets/question.js follows the mouse
            shapes=shapes,
            annotations=labels,
            xaxis=axis("words revealed", range=[-0.5, end + 0.5], showgrid=False, anchor="y"),
            yaxis=axis(title, range=list(RANGE), domain=list(main), dtick=0.25, tickformat=".2~f"),
            yaxis2=axis(range=[-0.5, 1.5], domain=list(RAIL), showgrid=False, tickvals=[0, 1], ticktext=["wrong", "right"]),
        ),
    }


def _run(run: RunResponses, question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    colour = colours.get(run.run, OTHERS)
    answers = [answer for answer in run.one_per_clue() if answer.answered]
    right = [answer.correct >= 0.5 for answer in answers]
    symbols = ["circle" if ok else "x-thin-open" for ok in right]
    return {
        "type": "scatter", "mode": "lines+markers", "name": plain(names[run.run]), "meta": run.run, "showlegend": False,
        "x": [question.clues[answer.clue].word_end for answer in answers],
        "y": [answer.confidence for answer in answers],
        "line": run_line(colours, run.run),
        "marker": {
            "size": 9 if run.run in colours else 4, "color": colour, "symbol": symbols,
            "line": {"color": colour, "width": 2 if run.run in colours else 1},
        },
        "customdata": [
            [answer.clue, plain(answer.guess or "no answer"), "correct" if ok else "incorrect"]
            for answer, ok in zip(answers, right, strict=True)
        ],
        "hovertemplate": "%{fullData.name}<br>%{customdata[1]} (%{customdata[2]})<br>confidence %{y:.3f}<extra></extra>",
        "cliponaxis": False,
    }  # fmt: skip


def _unanswered(run: RunResponses, question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """Squares on the ground line where there is no answer with a confidence."""
    answers = [answer for answer in run.one_per_clue() if not answer.answered]
    words = [question.clues[answer.clue].word_end for answer in answers]
    return {
        "type": "scatter", "mode": "markers", "name": plain(names[run.run]), "showlegend": False, "cliponaxis": False,
        "x": words, "y": [0.0] * len(words), "customdata": [WORDS[answer.state] for answer in answers],
        "hovertemplate": "%{fullData.name}<br>%{customdata}<extra></extra>",
        "marker": {"size": 8, "symbol": "square-open", "color": colours.get(run.run, OTHERS), "line": {"width": 1.5}},
    }  # fmt: skip


def _own_buzz(run: RunResponses, question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """A triangle above the answer at which the system itself decided to buzz."""
    clue = run.own_buzz()
    assert clue is not None
    confidence = next(answer.confidence for answer in run.one_per_clue() if answer.clue == clue)
    return {
        "type": "scatter", "mode": "markers", "name": f"Own buzz of {plain(names[run.run])}", "showlegend": False,
        "x": [question.clues[clue].word_end], "y": [confidence], "cliponaxis": False,
        "hovertemplate": "%{fullData.name}<extra></extra>",
        "marker": {"size": 15, "symbol": "triangle-up-open", "color": colours.get(run.run, OTHERS), "line": {"width": 2}},
    }  # fmt: skip


def _buzz(run: RunResponses, question: Question, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """A diamond around the answer with which a run buzzes."""
    point = run.buzzpoint
    assert point is not None and point.clue is not None
    confidence = next(answer.confidence for answer in run.one_per_clue() if answer.clue == point.clue)
    return {
        "type": "scatter", "mode": "markers", "name": f"Buzz of {plain(names[run.run])}", "showlegend": False,
        "x": [question.clues[point.clue].word_end], "y": [confidence], "hoverinfo": "skip", "cliponaxis": False,
        "marker": {"size": 17, "symbol": "diamond-open", "color": colours.get(run.run, OTHERS), "line": {"width": 2}},
    }  # fmt: skip


def _named(run: RunResponses, names: Mapping[str, str], colours: Mapping[str, str]) -> PlotlyJson:
    """A run's entry in the legend: only its colour, because its markers show what was correct."""
    return {
        "type": "scatter", "mode": "lines", "name": plain(names[run.run]), "x": [None], "y": [None],
        "line": {"color": colours.get(run.run, OTHERS), "width": 3}, "hoverinfo": "skip",
    }  # fmt: skip


def _rail(question: Question) -> list[PlotlyJson]:
    """Buzzes at the words where they came: + for correct ones on the upper line, a minus for incorrect ones on the lower."""
    assert question.human
    end = question.clues[-1].word_end
    traces = []
    for correct, sign, level in ((True, "+", 1), (False, "\u2212", 0)):
        at: dict[int, list[str]] = {}
        for buzz in question.human.buzzes:
            if buzz.correct is correct:
                at.setdefault(min(buzz.word + 1, end), []).append(plain(f"{buzz.team}, word {buzz.word}"))
        outcome = "correct" if correct else "incorrect"
        traces.append({
            "type": "scatter", "mode": "text", "xaxis": "x", "yaxis": "y2", "name": "Buzzes", "showlegend": False,
            "x": list(at), "y": [level] * len(at), "text": [sign * len(teams) for teams in at.values()],
            "textfont": {"size": 15, "color": INK if correct else MUTED, "weight": 700},
            "customdata": ["<br>".join(teams) for teams in at.values()],
            "hovertemplate": f"{outcome} buzz<br>%{{customdata}}<extra></extra>", "cliponaxis": False,
        })  # fmt: skip
    return traces
