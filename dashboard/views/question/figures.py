"""Figures of a question: confidence by clue against people, a lifespan, or shares of votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dash import html

from clueline.dashboard.ui import figure as fig
from clueline.dashboard.ui.figure import UNIT, PlotlyJson, bars, dots, drawn, lines
from clueline.dashboard.ui.html import items_query
from clueline.dashboard.ui.runs import MAX_HIGHLIGHTED, RunStyle
from clueline.dashboard.ui.table import Cell, Content, PageColumn, columns_by, html_table
from clueline.dashboard.ui.text import CURVE_NAMES, distinct_short_names, short
from clueline.data.human_curves import TEAM_CURVES
from clueline.data.plurals import counted
from clueline.data.store.answer_states import LABELS, WORDS
from clueline.queries.question import Question, RunResponses


def question_figure(question: Question, style: RunStyle, cursor: int) -> html.Figure | None:
    """Return the figure; None for a single clue without people, where the table of answers says everything.

    ``cursor`` is the clue that is marked, from 0.
    """
    if not (question.runs or question.human) or (len(question.clues) == 1 and not question.human and not question.lifespan):
        return None
    if question.lifespan:
        return fig.figure(
            "lifespan", lifespan_figure(question, style), "When such a person dies, and the span that each run bets on"
        )
    buzzes = ", ◇ where the run buzzes" if any(run.buzzpoint for run in question.runs) else ""
    buzzes += ", △ where the system itself buzzed" if any(run.own_buzz() is not None for run in question.runs) else ""
    states = {answer.state: None for run in question.runs for answer in run.clues if not answer.answered}
    buzzes += f", □ {' or '.join(WORDS[state] for state in states)}" if states else ""
    curve = f"; heavy steps: h of CalScore, the {CURVE_NAMES[question.human_curve]}" if question.human else ""
    return fig.figure(
        "clues", clues_figure(question, style, cursor, question.human_curve), f"● correct, × incorrect{buzzes}{curve}",
        confidence_table(question, style.names, question.human_curve),
        style.legend([run.run for run in question.runs], "People" if question.human else ""),
    )  # fmt: skip


def confidence_table(question: Question, names: Mapping[str, str], human_curve: str) -> html.Div:
    """Return a row per run and one for people, None, a column per clue."""
    curve: Sequence[float] = getattr(question.human, human_curve) if question.human else ()

    def at(place: int, run: RunResponses | None) -> Cell:
        return Cell(curve[place]) if run is None else _confidence(run, question.clues[place].clue)

    columns = [PageColumn("Run", lambda run: "People, h" if run is None else names[run.run])]
    columns += columns_by({place: f"Clue {clue.clue + 1}" for place, clue in enumerate(question.clues)}, at)
    return html_table(columns, [*([None] if question.human else []), *question.runs], "Confidence by clue")


def _confidence(run: RunResponses, clue: int) -> Cell:
    """The cell of the answer at a clue, with a mark if the run buzzes there."""
    answer = next((answer for answer in run.one_per_clue() if answer.clue == clue), None)
    if answer is None:
        text, title = "–", "not answered"
    else:
        mark = "✓" if answer.correct >= 0.5 else "✗"
        text = f"{short(answer.confidence)} {mark}" if answer.answered else LABELS[answer.state]
        title = answer.guess or "no answer"
    return Cell(f"{text} ◇" if run.buzzpoint and run.buzzpoint.clue == clue else text, title)


ROW = 24  # pixels per run


def lifespan_figure(question: Question, style: RunStyle) -> PlotlyJson:
    """Draw bars of the probability of death by age; below, each run's guess with the span of the radius around it.

    The bars within the span add up to the run's y. A run with several answers has a dot for each, without a span. The question
    must have a lifespan.
    """
    life = question.lifespan
    assert life is not None and question.radius is not None
    guesses = [(run, [number for answer in run.clues if (number := _number(answer.guess)) is not None]) for run in question.runs]
    rows = [(run, numbers) for run, numbers in guesses if numbers]
    labels = [style.plain(run.run) for run, _ in rows]
    ages = bars(
        [age + 0.5 for age in life.ages], life.probability, "dies at %{customdata}: %{y:.2%}", {"color": fig.FAINT},
        width=1, customdata=life.ages, name="Life table",
    )  # fmt: skip
    spans = [
        _guesses(run, numbers, question.radius, style.plain(run.run), style.colour(run.run)) | {"yaxis": "y2", "meta": run.run}
        for run, numbers in rows
    ]
    height = 200 + ROW * len(rows) + 50
    split = (ROW * len(rows) + 10) / height
    first = question.minimum_age or 0
    share = {"domain": [split + 0.04, 1], "range": fig.padded(life.probability, zero=True), "tickformat": ".0%"}
    return drawn(
        [ages, *spans], height, fig.axis("age at death", range=[max(first - 3, -1), 121], anchor="y2", showgrid=True),
        fig.axis("probability", **share), bargap=0, shapes=[fig.straight(first, dash="dot")],
        yaxis2=fig.axis(
            domain=[0, split], type="category", range=fig.downwards(len(rows)), showgrid=False,
            tickfont={"size": 12, "color": fig.INK}, categoryorder="array", categoryarray=labels,
        ),
    )  # fmt: skip


def _guesses(run: RunResponses, guesses: Sequence[float], radius: int, label: str, colour: str) -> PlotlyJson:
    """The guesses of a run in its row: a single one with the span of the radius, or several without."""
    rim = {"line": {"color": fig.INK, "width": 1}}
    if len(guesses) > 1:
        hover, faint = "%{y}<br>guess %{x:g}", rim | {"opacity": 0.55}
        return dots([*guesses], [label] * len(guesses), hover, colour, 9, faint, name=label)
    (guess,) = guesses
    says, true = run.clues[0].confidence, run.clues[0].correct
    return dots(
        [guess - radius, guess, guess + radius], [label] * 3,
        f"%{{y}}<br>guess {guess:g}, within {radius} years<br>says {says:.1%}, true {true:.1%}", colour, [0, 11, 0], rim,
        mode="lines+markers", line={"color": colour, "width": 5}, name=label,
    )  # fmt: skip


def _number(guess: str | None) -> float | None:
    try:
        return float(guess or "")
    except ValueError:
        return None


RAIL = (0.85, 1.0)  # the strip of human buzzes, as a share of the figure's height
MAIN = (0.0, 0.8)
RANGE = (-0.03, 1.05)  # range of the confidence axis
HEIGHT, AXIS = 230, 60  # pixels of the figure, which has room on the first screen, and of the space below and above its axes
MAX_SEPARATED_CLUES = 40  # with more clues, lines between them would hide everything else


def clues_figure(question: Question, style: RunStyle, cursor: int, human_curve: str, height: int = HEIGHT) -> PlotlyJson:
    """Draw the confidence of each run at the end of each clue, with a human curve as steps and buzzes above.

    The question needs at least one clue. The marker's shape shows correctness. A diamond marks where the run buzzes, a triangle
    where the system itself decided to. The first shape of the layout is the cursor, at the end of a clue; ``assets/question.js``
    moves it. Clues are counted from 0.
    """
    words = [clue.word_end for clue in question.clues]
    end = words[-1]
    runs = style.grey_first(question.runs)
    data = [_run(run, question, style) for run in runs]
    data += [_named(run, style) for run in runs if run.run in style.colours]
    for own in (False, True):
        data += [trace for run in runs if run.run in style.colours and (trace := _buzz(run, question, style, own=own))]
    data += [_unanswered(run, question, style) for run in runs if not all(answer.answered for answer in run.clues)]
    curve: list[float] = []
    if question.human:
        curve = getattr(question.human, human_curve)
        hover, line = "people: h = %{y:.3f}<br>%{x} words", {"color": fig.INK, "width": 2.5, "shape": "hv"}
        data.insert(0, lines([0, *words], [0, *curve], hover, name="People", showlegend=False, line=line))
        data += _rail(question)
    main = MAIN if question.human else (0.0, 1.0)
    named = style.labels([run.run for run in question.runs if run.run in style.colours and any(a.answered for a in run.clues)])
    last = {run.run: [c for answer in run.clues if (c := answer.confidence) is not None][-1] for run in runs if run.run in named}
    ends = [(label, last[run], style.colours[run]) for run, label in named.items()]
    ends += [("People", curve[-1], fig.INK)] if question.human else []
    labels = fig.end_labels(ends, *RANGE, (height - AXIS) * (main[1] - main[0]))
    share = "teams" if human_curve in TEAM_CURVES else "buzzes"
    title = f"confidence; {share} right" if question.human else "confidence"
    marks = words[:-1] if len(words) <= MAX_SEPARATED_CLUES else []
    shapes = [
        fig.straight(words[cursor], colour="var(--cursor)", width=2) | {"name": "cursor", "layer": "below"},
        *(fig.straight(word, colour=fig.FAINT, dash="dot") | {"layer": "below"} for word in marks),
    ]
    return drawn(
        data,
        height,
        fig.axis("words revealed", range=[-0.5, end + 0.5], showgrid=False, anchor="y"),
        fig.axis(title, **UNIT | {"range": list(RANGE)}, domain=list(main)),
        yaxis2=fig.axis(range=[-0.5, 1.5], domain=list(RAIL), showgrid=False, tickvals=[0, 1], ticktext=["wrong", "right"]),
        margin=fig.label_margin([label for label, _, _ in ends]),
        hoveranywhere=True,  # assets/question.js follows the mouse
        shapes=shapes,
        annotations=labels,
    )


def _run(run: RunResponses, question: Question, style: RunStyle) -> PlotlyJson:
    colour, (size, width) = style.colour(run.run), (9, 2) if run.run in style.colours else (4, 1)
    answers = [(answer, answer.correct >= 0.5) for answer in run.one_per_clue() if answer.answered]
    symbols = ["circle" if right else "x-thin-open" for _, right in answers]
    return style.trace(
        run.run, [question.clues[answer.clue].word_end for answer, _ in answers], [answer.confidence for answer, _ in answers],
        "%{customdata[1]} (%{customdata[2]})<br>confidence %{y:.3f}", mode="lines+markers", showlegend=False, cliponaxis=False,
        marker={"size": size, "color": colour, "symbol": symbols, "line": {"color": colour, "width": width}},
        customdata=[
            [answer.clue, fig.plain(answer.guess or "no answer"), "correct" if right else "incorrect"]
            for answer, right in answers
        ],
    )  # fmt: skip


def _unanswered(run: RunResponses, question: Question, style: RunStyle) -> PlotlyJson:
    """Squares on the ground line where there is no answer with a confidence."""
    answers = [answer for answer in run.one_per_clue() if not answer.answered]
    words = [question.clues[answer.clue].word_end for answer in answers]
    return dots(
        words, [0.0] * len(words), "%{fullData.name}<br>%{customdata}", style.colour(run.run), 8,
        {"symbol": "square-open", "line": {"width": 1.5}}, name=style.plain(run.run), showlegend=False, cliponaxis=False,
        customdata=[WORDS[answer.state] for answer in answers],
    )  # fmt: skip


def _buzz(run: RunResponses, question: Question, style: RunStyle, *, own: bool) -> PlotlyJson | None:
    """A diamond around the answer with which a run buzzes or, if ``own``, a triangle where the system itself decided to."""
    clue = run.own_buzz() if own else run.buzzpoint.clue if run.buzzpoint else None
    if clue is None:
        return None
    confidence = next(answer.confidence for answer in run.one_per_clue() if answer.clue == clue)
    hover, size, symbol = ("%{fullData.name}", 15, "triangle-up-open") if own else ("", 17, "diamond-open")
    return dots(
        [question.clues[clue].word_end], [confidence], hover, style.colour(run.run), size,
        {"symbol": symbol, "line": {"width": 2}}, name=f"{'Own buzz' if own else 'Buzz'} of {style.plain(run.run)}",
        cliponaxis=False, showlegend=False,
    )  # fmt: skip


def _named(run: RunResponses, style: RunStyle) -> PlotlyJson:
    """A run's entry in the legend: only its colour, because its markers show what was correct."""
    return lines([None], [None], name=style.plain(run.run), line={"color": style.colour(run.run), "width": 3})


def _rail(question: Question) -> list[PlotlyJson]:
    """Buzzes at the words read by then: + for correct ones on the upper line, a minus for incorrect ones on the lower."""
    assert question.human
    end = question.clues[-1].word_end
    traces = []
    for correct, sign, level in ((True, "+", 1), (False, "\u2212", 0)):
        at: dict[int, list[str]] = {}
        for buzz in question.human.buzzes:
            if buzz.correct is correct:
                at.setdefault(min(buzz.word + 1, end), []).append(fig.plain(f"{buzz.team}, {buzz.place(end)}"))
        traces.append(lines(
            [*at], [level] * len(at), f"{'correct' if correct else 'incorrect'} buzz<br>%{{customdata}}", "text", name="Buzzes",
            text=[sign * len(teams) for teams in at.values()], customdata=["<br>".join(teams) for teams in at.values()],
            textfont={"size": 15, "color": fig.INK if correct else fig.MUTED, "weight": 700},
            xaxis="x", yaxis="y2", showlegend=False, cliponaxis=False,
        ))  # fmt: skip
    return traces


def vote_shares(question: Question, style: RunStyle) -> html.Figure:
    """Return the distributions of people and runs, as a figure and a table. The question must have votes."""
    votes = question.votes
    assert votes is not None
    people: Sequence[float] = votes.shares

    def share(place: int, run: RunResponses | None) -> float | None:
        return people[place] if run is None else run.shares[place] if run.shares else None

    def name(run: RunResponses | None) -> Content:
        return "People" if run is None else style.dot(run.run)

    columns = [
        PageColumn("Run", name),
        *columns_by(dict(enumerate(votes.classes)), share),
        PageColumn("DistCE", lambda run: "" if run is None else run.metrics["dist_ce"], number=True),
    ]
    few = all(run.run in style.colours for run in question.runs)
    without = any(run.shares is None for run in question.runs)
    return fig.figure(
        "votes",
        votes_figure(question, style),
        f"Bars: the shares of {counted(sum(votes.votes), 'human vote')}. Dots: the share that each run gives the class"
        + ("" if few else f", grey if more than {MAX_HIGHLIGHTED} runs are shown")
        + (". Runs without a full distribution have no dots" if without else ""),
        html_table(columns, [None, *question.runs], "Shares of the classes"),
        style.legend([run.run for run in question.runs if run.shares], "People"),
    )


VOTE_ROW = 40  # pixels of a class, at least; more with many runs
DOT = 7  # pixels between the dots of two runs, at least
MAX_CLASS_NAME_LENGTH = 28  # characters


def votes_figure(question: Question, style: RunStyle) -> PlotlyJson:
    """Draw a row per class: a bar for its share of the votes, and a column of dots for the share that each run gives it.

    The question must have votes.
    """
    votes = question.votes
    assert votes is not None
    runs = [run for run in question.runs if run.shares is not None]
    places = list(range(len(votes.classes)))
    step = 0.7 / max(len(runs), 4)
    people = bars(
        votes.shares, places, "people: %{customdata:,} votes (%{x:.1%})",
        {"color": "var(--band)", "line": {"color": fig.INK, "width": 1.5}}, orientation="h", name="People", width=0.86,
        customdata=votes.votes, meta={"items": [items_query(question=question.question_id)] * len(places)},
    )  # fmt: skip

    def trace(number: int, run: RunResponses) -> PlotlyJson:
        shift = (number - (len(runs) - 1) / 2) * step
        items = [items_query(focus=run.run, question=question.question_id)] * len(places)
        return dots(
            run.shares, [place + shift for place in places], "%{fullData.name}: %{x:.3f}", style.colour(run.run), 8,
            name=style.plain(run.run), cliponaxis=False, meta={"run": run.run, "items": items},
        )  # fmt: skip

    return drawn(
        [people, *(trace(number, run) for number, run in enumerate(runs))],
        max(VOTE_ROW, round(DOT * len(runs) / 0.7)) * len(places) + 60,
        fig.axis("share", **UNIT | {"range": [0, 1.01]}),
        fig.row_axis([fig.plain(name) for name in distinct_short_names(votes.classes, MAX_CLASS_NAME_LENGTH)], 0),
    )
