"""Buzzing: thresholds, buzz curves, accuracy by fraction revealed, and how often a buzz follows a correct guess."""

from __future__ import annotations

import msgspec
from flask import Response

from dashboard.api.endpoint_decorators import get_selected
from dashboard.api.http_responses import csv_response, json_response
from dashboard.service import service
from queries.buzzing import Buzz, BuzzParameters, CategoryOutcomes, PeopleMedian, buzz, category_outcomes, people_median
from queries.buzzing.category_outcomes import CategoryOutcome
from queries.buzzing.people_median import Share
from queries.buzzing.results import ThresholdOutcome
from queries.selection import Request

INTERVALS = ("expected_wins", "score", "win", "loss")
COLUMNS = (
    *("run", "model", "elicitation", "questions", "heard", "items", "unscored", "scale", "curve", "human_curve"),
    *ThresholdOutcome.__struct_fields__,
    *(f"{name}_{end}" for name in INTERVALS for end in ("low", "high")),
    *("optimum", "optimum_until", "optimum_expected_wins"),
    *("given_correct", "given_incorrect", "buzz_rate", "survey_score", "missing", "no_interval"),
)

MEDIAN_COLUMNS = (
    *("run", "model", "elicitation", "threshold", "what", "words", "category", "questions", "share", "low", "high", "missing"),
    "no_interval",
)


def _buzz(query: Request[BuzzParameters]) -> Buzz:
    return service().ask(buzz, query.selection, query.parameters.rules)


@get_selected("/api/v1/buzz", BuzzParameters)
def get_buzz(query: Request[BuzzParameters]) -> Response:
    """Buzzing: expected wins by threshold, runs against people, buzz curves, and buzzing habits."""
    return json_response(_buzz(query))


@get_selected("/api/v1/buzz.csv", BuzzParameters)
def get_buzz_csv(query: Request[BuzzParameters]) -> Response:
    """A row per run: outcomes at its threshold, its best threshold, how often it buzzes. `missing` says why a cell is blank."""
    answer = _buzz(query)
    part = answer.explorer
    rows: list[list[object]] = []
    for run, habit in zip(part.runs, answer.habits.runs, strict=True):
        best = run.optimum
        reasons, no_interval = (
            "; ".join(f"{name}: {reason}" for name, reason in by_name.items()) or None
            for by_name in (run.missing | habit.missing, run.no_interval)
        )
        rows.append(
            [run.run, run.model, run.elicitation, run.questions, run.heard, run.items, run.unscored]
            + [part.scale, part.curve, part.human_curve, *msgspec.structs.astuple(run.outcome)]
            + [getattr(run.intervals.get(name), end, None) for name in INTERVALS for end in ("low", "high")]
            + ([best.threshold, best.until, best.expected_wins] if best else [None] * 3)
            + [habit.given_correct, habit.given_incorrect, habit.buzz_rate, habit.survey_score, reasons, no_interval]
        )
    return csv_response(COLUMNS, rows, "buzz")


def _outcomes(query: Request[BuzzParameters]) -> CategoryOutcomes:
    return service().ask(category_outcomes, query.selection, query.parameters.rules)


@get_selected("/api/v1/buzz/categories", BuzzParameters)
def get_buzz_categories(query: Request[BuzzParameters]) -> Response:
    """Correct and incorrect buzzes by category, and their ratio, for people, for models that played as teams, and for runs."""
    return json_response(_outcomes(query))


@get_selected("/api/v1/buzz/categories.csv", BuzzParameters)
def get_buzz_categories_csv(query: Request[BuzzParameters]) -> Response:
    """The same as CSV, a row per group and category."""
    fields = CategoryOutcome.__struct_fields__
    rows = [
        [group.name, group.kind, group.threshold, *(getattr(outcome, name) for name in fields)]
        for group in _outcomes(query).groups
        for outcome in group.categories
    ]
    return csv_response(["name", "kind", "threshold", *fields], rows, "buzz-categories")


def _median(query: Request[BuzzParameters]) -> PeopleMedian:
    return service().ask(people_median, query.selection, query.parameters.rules)


@get_selected("/api/v1/buzz/median", BuzzParameters)
def get_buzz_median(query: Request[BuzzParameters]) -> Response:
    """How often each run is right before the median of the correct human buzzes, or within some words of it, and how often
    it is earlier by category, with intervals.
    """
    return json_response(_median(query))


@get_selected("/api/v1/buzz/median.csv", BuzzParameters)
def get_buzz_median_csv(query: Request[BuzzParameters]) -> Response:
    """The same as CSV: of each run, a row for `earlier`, one for each number of words `within`, and `earlier` by category."""
    answer = _median(query)
    rows: list[list[object]] = []
    for run in answer.runs:
        shares: list[tuple[str, int | None, str | None, int, Share | None]]
        shares = [("earlier", None, None, run.questions, run.earlier)]
        shares += [("within", words, None, run.questions, share) for words, share in zip(answer.words, run.within, strict=False)]
        shares += [("earlier", None, part.category, part.questions, part.earlier) for part in run.categories]
        for *facts, share in shares:
            ends = [share.share, share.low, share.high, None, share.no_interval] if share else [None] * 3 + [run.missing, None]
            rows.append([run.run, run.model, run.elicitation, run.threshold, *facts, *ends])
    return csv_response(MEDIAN_COLUMNS, rows, "buzz-median")
