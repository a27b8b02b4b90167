"""The analyst's choice of how runs buzz: thresholds, the scale that they are on, and the curve that values a buzz."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import msgspec

from clueline.queries.selection.facets import Facets
from clueline.queries.selection.parameter_kinds import BadRequest, Choice, Group, Kind, allowed, format_number
from clueline.queries.selection.view_parameters_base import Parameters

SCALES = ("confidence", "logprob")
CURVES = ("polynomial", "dataset")
UNKNOWN = "There is no {key} {value!r}."


@dataclass(frozen=True)
class Rules:
    """How runs buzz, and how a buzz is valued.

    Attributes:
        scale: what must be above the threshold: ``confidence``, or ``logprob``, the sum of the guess's token log-probabilities.
        curve: the chance that nobody has answered yet: the published ``polynomial``, or 1 - h of the ``dataset``.
        threshold: for every run that ``thresholds`` does not name; None for each run's own optimum.
    """

    scale: str = SCALES[0]
    curve: str = CURVES[0]
    threshold: float | None = None
    thresholds: tuple[tuple[str, float], ...] = ()

    def threshold_of(self, run: str) -> float | None:
        return dict(self.thresholds).get(run, self.threshold)


Thresholds = tuple[tuple[str | None, str], ...]  # run (None: all runs without their own) and threshold, as the address writes it


@dataclass(frozen=True)
class _Thresholds(Kind[Thresholds]):
    """``T`` for all runs, at most once; ``RUN:T`` for one run, at most once per run."""

    repeatable = True

    def read(self, key: str, texts: Sequence[str], facets: Facets) -> Thresholds:
        thresholds: dict[str | None, str] = {}
        for text in texts:
            name, colon, number = text.rpartition(":")
            run = allowed(key, name, facets.all_runs, facets, "Dataset {dataset!r} has no run {value!r}.") if colon else None
            if run in thresholds:
                message = f"Run {run!r} can have only one threshold." if run else "Only one threshold can be given for all runs"
                raise BadRequest("repeated_key", message + ("" if run else "; RUN:T gives one run its own."), key)
            thresholds[run] = number
        return tuple(thresholds.items())

    def write(self, value: Thresholds) -> list[str]:
        return [number if run is None else f"{run}:{number}" for run, number in value]


def default_curve(facets: Facets) -> str:
    """Return ``dataset`` where the dataset has human teams, else ``polynomial``."""
    return CURVES[1] if facets.human_teams else CURVES[0]


def _build(scale: str = SCALES[0], curve: str = CURVES[0], threshold: Thresholds = ()) -> Rules:
    numbers = {run: _number(text, scale) for run, text in threshold}
    common = numbers.pop(None, None)
    return Rules(scale, curve, common, tuple(sorted((run, number) for run, number in numbers.items() if run is not None)))


def _split(rules: Rules) -> dict[str, object]:
    numbers = [*([] if rules.threshold is None else [(None, rules.threshold)]), *rules.thresholds]
    return {
        "threshold": tuple((run, format_number(number)) for run, number in numbers),
        "scale": rules.scale,
        "curve": rules.curve,
    }


def _number(text: str, scale: str) -> float:
    number = float(text) if re.fullmatch(r"-?([0-9]*\.)?[0-9]+(e-?[0-9]{1,3})?", text) else math.nan
    if scale == "confidence" and not 0 <= number <= 1:
        raise BadRequest("bad_value", f"A confidence threshold must be a number from 0 to 1, not {text!r}.", "threshold")
    if scale == "logprob" and not -math.inf < number <= 0:
        raise BadRequest("bad_value", f"A log-probability threshold must be a number of at most 0, not {text!r}.", "threshold")
    return number + 0.0  # -0.0 is 0.0


RULES: Group[Rules] = Group(
    "how runs buzz",
    {
        "threshold": _Thresholds("`0.5` for all runs, `RUN:0.5` for one (repeatable); each run's best threshold by default"),
        "scale": Choice("what must be above the threshold: `confidence` (the default) or `logprob`", SCALES, UNKNOWN),
        "curve": Choice(
            "how a buzz is valued: `dataset`, by its people (the default if it has any), or `polynomial`, the published curve",
            CURVES,
            UNKNOWN,
            dataset_default=default_curve,
        ),
    },
    _build,
    _split,
)


class BuzzParameters(Parameters, frozen=True):
    """How runs buzz."""

    rules: Annotated[Rules, RULES] = msgspec.field(default_factory=Rules)
