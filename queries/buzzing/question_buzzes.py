"""Where runs buzz in one question."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from data.store import Snapshot
from queries.buzzing.buzz_inputs import NO_LOGPROBS, read_buzzing
from queries.buzzing.buzz_policy import Rules
from queries.metrics.kernels.buzzing import buzzpoints_at
from queries.selection import Selection


class Buzzpoint(msgspec.Struct):
    """Where a run buzzes: at the first clue whose score is above its threshold, strictly.

    ``best`` says that the threshold is the run's best one on the selection, because none was asked for; ``clue`` is None where no
    clue passes it, ``threshold`` where ``missing`` says why there is none.
    """

    threshold: float | None
    best: bool
    clue: int | None
    missing: str | None


def buzzpoints(snapshot: Snapshot, selection: Selection, rules: Rules, best: Mapping[str, float]) -> dict[str, Buzzpoint]:
    """The buzzpoint of each run in one question.

    Args:
        snapshot: of the store.
        selection: the question and the runs.
        rules: how runs buzz.
        best: thresholds of runs to which the rules give none. They come from more questions than this one, for a threshold that
            is the best on one question says nothing about the run.

    Returns:
        buzzpoints by run id.
    """
    settled = replace(rules, thresholds=tuple((dict(best) | dict(rules.thresholds)).items()))
    points = {}
    for data in read_buzzing(snapshot, selection, settled).runs:
        run = data.run.run
        threshold = settled.threshold_of(run)
        if threshold is None or not data.scored:
            why = "this selection has no best threshold: give one" if data.scored else NO_LOGPROBS
            points[run] = Buzzpoint(None, False, None, why)
            continue
        at = data.at[buzzpoints_at(data.passing, threshold)]
        points[run] = Buzzpoint(threshold, rules.threshold_of(run) is None, int(at[0]) if len(at) else None, None)
    return points
