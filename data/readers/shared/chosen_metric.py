"""Which of the metrics that a harness computes for each answer says whether it is right. In doubt it is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from clueline.data.importing.report import refuse
from clueline.data.importing.staging import ImportOptions

Scores = Sequence[float | None]  # of each answer, in the order of the log


def grading_metrics(scores: Mapping[str, Scores]) -> dict[str, Scores]:
    """Return the metrics that can say what is right: from 0 to 1, and not the same of all answers.

    >>> [*grading_metrics({"acc": [0, 1], "num_turns": [1, 1], "length": [3, 5]})]
    ['acc']
    """
    fitting = {}
    for name, values in scores.items():
        stated = {value for value in values if value is not None}
        if len(stated) > 1 and all(0 <= value <= 1 for value in stated):
            fitting[name] = values
    return fitting


def choose_metric(log: str, scores: Mapping[str, Scores], options: ImportOptions, sure: str | None = None) -> str:
    """Return the metric that counts: the one that is stated, the one that is ``sure``, or the only one that can.

    Raises ``Refused``, with what each gives, if several could and differ, or none can.
    """
    stated = next((column for role, column in options.columns if role == "correct"), None)
    if stated is not None:
        if stated not in scores:
            raise refuse(log, f"there is no metric {stated!r} in this log; it has: {', '.join(scores)}"[:400])
        return stated
    if sure is not None:
        return sure
    fitting = grading_metrics(scores) or {name: values for name, values in scores.items() if {*values} <= {0, 1, None}}
    if not fitting:
        raise refuse(log, f"no metric of this log says which answers are right; it has: {', '.join(scores) or 'none'}"[:400])
    if all(list(values) == list(next(iter(fitting.values()))) for values in fitting.values()):
        return next(iter(fitting))
    figures = []
    for name, values in fitting.items():
        known = [value for value in values if value is not None]
        figures.append(f"by {name}, {sum(known):,g} of {len(known):,} right")
    reason = f"several metrics could say which answers are right: {'; '.join(figures)}; which one counts?"
    raise refuse(log, reason[:400], hint="column", choices=tuple(f"correct={name}" for name in fitting))


def grading_name(metric: str) -> str:
    """Return a metric as the name of a grading.

    >>> grading_name("metrics.correct_answer"), grading_name("acc_norm")
    ('metrics-correct-answer', 'acc-norm')
    """
    letters = "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in metric.lower())
    return "-".join(filter(None, letters.split("-"))) or "metric"
