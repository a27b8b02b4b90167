"""What the answers of runs and people are worth at each confidence threshold."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.registry.keys import FirstCurve, SecondCurve
from dashboard.registry.tables import Table, parts
from dashboard.registry.views import View, register
from queries.decide import Decisions, decide
from queries.selection.view_parameters_base import Parameters


class DecideKeys(Parameters, frozen=True):
    """Which two runs are compared."""

    a: FirstCurve = ""
    b: SecondCurve = ""


def _rows(answer: Decisions) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        curves = (
            run.murphy, run.answered, run.risk, run.best_threshold, run.net_score.values, run.net_score.low, run.net_score.high,
            run.best_score.values, run.best_score.low, run.best_score.high,
        )  # fmt: skip
        for t, *values in zip(answer.thresholds[:-1], *(curve[: len(answer.thresholds) - 1] for curve in curves), strict=True):
            yield run.run, run.model, run.elicitation, t, *values
    if answer.people:
        net = answer.people.net_score
        for t, *earned in zip(answer.thresholds[:-1], net.values, net.low, net.high, strict=False):
            yield None, "people", None, t, *[None] * 4, *earned, *[None] * 3


DECIDE = register(
    View(
        "decide",
        decide,
        DecideKeys,
        """Answer or abstain, at each t from 0 to 1: Murphy curves and net scores, the share answered and its risk, risk by
        coverage, the best threshold, and what thresholds chosen so on other questions earn; AURC, AUGRC, PRR and accuracy
        at coverage; the difference of two runs with a simultaneous band over all t; and people's net scores.""",
        (
            Table(
                "The curves as CSV, a row per run and t below 1. Rows for people have a blank `run`.",
                rows=_rows,
                columns=parts(
                    "run", "model", "elicitation", "t", "murphy", "answered", "risk", "best_threshold", "net_score",
                    "net_score_low", "net_score_high", "best_score", "best_score_low", "best_score_high",
                ),
            ),
        ),
    )
)  # fmt: skip
