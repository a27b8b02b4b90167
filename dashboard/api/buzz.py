"""Buzzing: thresholds, buzz curves, accuracy by fraction revealed, and how often a buzz follows a correct guess."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.blueprint import api
from dashboard.api.reading import pairs
from dashboard.api.responses import csv_response, json_response
from dashboard.service import service
from queries.buzzing import Buzz, buzz, parse_rules
from queries.buzzing.results import ThresholdOutcome
from queries.buzzing.rules import KEYS

COLUMNS = (
    *("run", "model", "elicitation", "questions", "heard", "items", "unscored", "scale", "curve", "human_curve"),
    *ThresholdOutcome.__struct_fields__,
    *("optimum", "optimum_until", "optimum_expected_wins"),
    *("given_correct", "given_incorrect", "buzz_rate", "survey_score", "missing"),
)


def _buzz() -> Buzz:
    selection, offered, extra = service().parse(pairs(), also=KEYS)
    return service().ask(buzz, selection, parse_rules(extra, offered))


@api.get("/api/v1/buzz")
def get_buzz() -> Response:
    """Buzzing of a selection: runs at their thresholds, beside people."""
    return json_response(_buzz())


@api.get("/api/v1/buzz.csv")
def get_buzz_csv() -> Response:
    """A row per run: what comes of its threshold, its optimum, and how often it buzzes. No row where ``missing`` says why."""
    said = _buzz()
    part = said.explorer
    rows: list[list[object]] = []
    for run, habit in zip(part.runs, said.habits.runs, strict=True):
        best = run.optimum
        reasons = "; ".join(f"{name}: {reason}" for name, reason in (run.missing | habit.missing).items())
        rows.append(
            [run.run, run.model, run.elicitation, run.questions, run.heard, run.items, run.unscored]
            + [part.scale, part.curve, part.human_curve, *msgspec.structs.astuple(run.outcome)]
            + ([best.threshold, best.until, best.expected_wins] if best else [None] * 3)
            + [habit.given_correct, habit.given_incorrect, habit.buzz_rate, habit.survey_score, reasons or None]
        )
    return csv_response(COLUMNS, rows, "buzz")
