"""Where in the question teams buzz."""

from __future__ import annotations

from collections.abc import Sequence

from dashboard.figures.run_labels_and_lines import MAX_ROW_LABEL_LENGTH
from dashboard.figures.style import INK, MUTED, PlotlyJson, axis, downwards, layout, plain
from dashboard.name_shortening import distinct_short_names
from queries.teams import TeamBuzz, TeamRow

ROW = 20  # pixels per team
MAX_TEAMS = 40  # rows of the figure
SHARE: PlotlyJson = {"range": [0, 1.01], "tickformat": ".0%", "dtick": 0.25}


def teams_figure(teams: Sequence[TeamRow]) -> PlotlyJson:
    """Draw a row per team: a dot at the median of its correct buzzes, a bar from the lower to the upper quartile.

    Args:
        teams: teams that were right at least once, at most ``MAX_TEAMS``, in order.
    """
    quartiles = [team.correct_at_quartiles or [] for team in teams]
    places = list(range(len(teams)))
    bars: dict[str, list[float | int | None]] = {"x": [], "y": []}
    for place, (low, _, high) in zip(places, quartiles, strict=True):
        bars["x"] += [low, high, None]
        bars["y"] += [place, place, None]
    return {
        "data": [
            {"type": "scatter", "mode": "lines", **bars, "line": {"color": "var(--faint)", "width": 4}, "hoverinfo": "skip"},
            {
                "type": "scatter", "mode": "markers", "x": [middle for _, middle, _ in quartiles], "y": places,
                "cliponaxis": False, "marker": {"size": 9, "color": INK},
                "customdata": [f"{plain(team.team)}: {team.correct:,} correct of {team.heard:,} heard" for team in teams],
                "hovertemplate": "%{customdata}<br>median at %{x:.0%} of the question<extra></extra>",
            },
        ],
        "layout": layout(
            ROW * len(teams) + 58,
            xaxis=axis("share of the question read at a correct buzz", **SHARE),
            yaxis=axis(
                range=downwards(len(teams)), showgrid=False, tickvals=places,
                ticktext=[plain(text) for text in distinct_short_names([team.team for team in teams], MAX_ROW_LABEL_LENGTH)],
                tickfont={"size": 12, "color": INK},
            ),
        ),
    }  # fmt: skip


def team_figure(buzzes: Sequence[TeamBuzz], labels: Sequence[str], link: str) -> PlotlyJson:
    """Draw every buzz of one team: a row per category, where in the question it came, and whether it was right.

    Args:
        buzzes: buzzes of the team.
        labels: name of the question of each buzz.
        link: address of a question, with ``ID`` in place of its id; a click on a mark opens it.
    """
    categories = sorted({_category(buzz) for buzz in buzzes})
    place = {category: number for number, category in enumerate(categories)}

    def marks(name: str, symbol: str, colour: str, *, correct: bool) -> PlotlyJson:
        rows = [(buzz, label) for buzz, label in zip(buzzes, labels, strict=True) if buzz.correct == correct]
        return {
            "type": "scatter", "mode": "markers", "name": name, "x": [buzz.at for buzz, _ in rows], "cliponaxis": False,
            "y": [place[_category(buzz)] for buzz, _ in rows], "meta": {"link": link},
            "marker": {"size": 9, "symbol": symbol, "color": colour, "line": {"width": 1.6, "color": colour}},
            "customdata": [buzz.question_id for buzz, _ in rows],
            "text": [plain(label) for _, label in rows],
            "hovertemplate": f"%{{text}}<br>{name} at %{{x:.0%}} of the question<extra></extra>",
        }  # fmt: skip

    return {
        "data": [
            marks("correct", "circle-open", "var(--good)", correct=True),
            marks("incorrect", "x-thin-open", "var(--bad)", correct=False),
        ],
        "layout": layout(
            (ROW + 6) * len(categories) + 58,
            xaxis=axis("share of the question read", **SHARE),
            yaxis=axis(
                range=downwards(len(categories)), tickvals=list(place.values()),
                ticktext=[plain(text) for text in distinct_short_names(categories, MAX_ROW_LABEL_LENGTH)],
                tickfont={"size": 12, "color": MUTED},
            ),
        ),
    }  # fmt: skip


def _category(buzz: TeamBuzz) -> str:
    return buzz.category or "not stated"
