"""What an analyst may choose about buzzing, as addresses have it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queries.selection import BadRequest, Facets

SCALES = ("confidence", "logprob")
CURVES = ("polynomial", "dataset")
KEYS = ("threshold", "scale", "curve")


@dataclass(frozen=True)
class Rules:
    """How runs buzz, and how a buzz is valued.

    Attributes:
        scale: what passes the threshold: ``confidence``, or ``logprob``, the sum of the guess's token log-probabilities.
        curve: the chance that nobody has answered before: the published ``polynomial``, or 1 - h of the ``dataset``.
        threshold: for every run that ``thresholds`` does not name; None for each run's own optimum.
        thresholds: pairs of a run and its threshold.
    """

    scale: str = SCALES[0]
    curve: str = CURVES[0]
    threshold: float | None = None
    thresholds: tuple[tuple[str, float], ...] = ()

    def of(self, run: str) -> float | None:
        """The threshold of a run, None for its optimum."""
        return dict(self.thresholds).get(run, self.threshold)


def parse_rules(values: Mapping[str, Sequence[str]], offered: Facets) -> Rules:
    """Read ``threshold`` (T for all runs, RUN:T for one; the latter may be repeated), ``scale`` and ``curve``.

    Raises:
        BadRequest: naming the value and what is allowed.
    """
    scale = _one_of("scale", values.get("scale", ()), SCALES)
    curve = _one_of("curve", values.get("curve", ()), CURVES)
    known = [*(run for run, _, _ in offered.runs), *offered.withdrawn]
    common: list[float] = []
    named: dict[str, float] = {}
    for text in values.get("threshold", ()):
        run, colon, number = text.rpartition(":")
        if not colon:
            common.append(_threshold(number, scale))
        elif run not in known:
            raise BadRequest("unknown_value", f"Dataset {offered.dataset!r} has no run {run!r}.", "threshold", known)
        elif run in named:
            raise BadRequest("repeated_key", f"Run {run!r} can be given one threshold.", "threshold")
        else:
            named[run] = _threshold(number, scale)
    if len(common) > 1:
        raise BadRequest("repeated_key", "A threshold for all runs can be given once; RUN:T gives one run its own.", "threshold")
    return Rules(scale, curve, common[0] if common else None, tuple(sorted(named.items())))


def _one_of(key: str, given: Sequence[str], allowed: Sequence[str]) -> str:
    if len(given) > 1:
        raise BadRequest("repeated_key", f"{key!r} can be given once.", key)
    if given and given[0] not in allowed:
        raise BadRequest("unknown_value", f"There is no {key} {given[0]!r}.", key, allowed)
    return given[0] if given else allowed[0]


def _threshold(text: str, scale: str) -> float:
    number = float(text) if re.fullmatch(r"-?[0-9]*\.?[0-9]+(e-?[0-9]{1,3})?", text) else math.nan
    if scale == "confidence" and not 0 <= number <= 1:
        raise BadRequest("bad_value", f"A threshold of confidence is a number in 0..1, not {text!r}.", "threshold")
    if scale == "logprob" and not -math.inf < number <= 0:
        raise BadRequest("bad_value", f"A threshold of log-probability is a number of at most 0, not {text!r}.", "threshold")
    return number + 0.0  # -0.0 is 0.0
