"""Buzzing: thresholds and curves, correct buzzes by category, and runs against the median of people."""

from __future__ import annotations

from collections.abc import Iterator

from dashboard.registry.tables import Column, Table, column, columns, fields, parts, reasons
from dashboard.registry.views import View, register
from queries.buzzing import Buzz, BuzzParameters, PeopleMedian, buzz, category_outcomes, people_median
from queries.buzzing.category_outcomes import CategoryOutcome
from queries.buzzing.results import ThresholdOutcome

INTERVALS = ("expected_wins", "score", "win", "loss")


def _end(name: str, end: str) -> Column:
    return column(f"{name}_{end}", lambda row: getattr(row[0].intervals.get(name), end, None))


def _optimum(key: str, name: str) -> Column:
    return column(key, lambda row: getattr(row[0].optimum, name, None))


def _runs(answer: Buzz) -> Iterator[tuple[object, ...]]:
    """Yield each run's outcomes, its habits, the explorer and its outcome at its threshold."""
    for run, habit in zip(answer.explorer.runs, answer.habits.runs, strict=True):
        yield run, habit, answer.explorer, run.outcome


def _shares(answer: PeopleMedian) -> Iterator[tuple[object, ...]]:
    for run in answer.runs:
        shares = [
            ("earlier", None, None, run.questions, run.earlier),
            *(("within", words, None, run.questions, share) for words, share in zip(answer.words, run.within, strict=False)),
            *(("earlier", None, part.category, part.questions, part.earlier) for part in run.categories),
        ]
        for *facts, share in shares:
            ends = (share.share, share.low, share.high, None, share.no_interval) if share else (*[None] * 3, run.missing, None)
            yield run.run, run.model, run.elicitation, run.threshold, *facts, *ends


BUZZ = register(
    View(
        "buzz",
        buzz,
        BuzzParameters,
        "Buzzing: expected wins by threshold, runs against people, buzz curves, and buzzing habits.",
        (
            Table(
                "A row per run: outcomes at its threshold, its best threshold, how often it buzzes. `missing` says why a cell is "
                "blank.",
                rows=_runs,
                columns=(
                    *columns("run", "model", "elicitation", "questions", "heard", "items", "unscored", at=0),
                    *columns("scale", "curve", "human_curve", at=2),
                    *fields(ThresholdOutcome, at=3),
                    *(_end(name, end) for name in INTERVALS for end in ("low", "high")),
                    _optimum("optimum", "threshold"),
                    _optimum("optimum_until", "until"),
                    _optimum("optimum_expected_wins", "expected_wins"),
                    *columns("given_correct", "given_incorrect", "buzz_rate", "survey_score", at=1),
                    column("missing", lambda row: reasons(row[0].missing | row[1].missing)),
                    column("no_interval", lambda row: reasons(row[0].no_interval)),
                ),
            ),
        ),
    )
)
CATEGORIES = register(
    View(
        "buzz/categories",
        category_outcomes,
        BuzzParameters,
        "Correct and incorrect buzzes by category, and their ratio, for people, for models that played as teams, and for runs.",
        (
            Table(
                "The same as CSV, a row per group and category.",
                rows=lambda answer: [(group, outcome) for group in answer.groups for outcome in group.categories],
                columns=(*columns("name", "kind", "threshold", at=0), *fields(CategoryOutcome, at=1)),
            ),
        ),
    )
)
MEDIAN = register(
    View(
        "buzz/median",
        people_median,
        BuzzParameters,
        """How often each run is right before the median of the correct human buzzes, or within some words of it, and how often
        it is earlier by category, with intervals.""",
        (
            Table(
                "The same as CSV: of each run, a row for `earlier`, one for each number of words `within`, and `earlier` by "
                "category.",
                rows=_shares,
                columns=parts(
                    "run", "model", "elicitation", "threshold", "what", "words", "category", "questions", "share", "low", "high",
                    "missing", "no_interval",
                ),
            ),
        ),
    )
)  # fmt: skip
