"""Metrics of selective prediction: how good the answers are if only the most confident ones are given."""

from __future__ import annotations

import math

from queries.metrics.catalogue.shared import SAME_ORDER, Part
from queries.metrics.counted_answers import ORDERED
from queries.metrics.kernels import selective
from queries.metrics.metric import Metric, Wording

RISK = r"\tfrac{1}{k}\textstyle\sum_{i \le k}(1 - y_{(i)})"
ORDER_ALONE = "Depends only on the order of the confidences: it says nothing about calibration."

# Key, name, label, symbol, direction, formula and words of each; then source and caveat.
TEXTS: tuple[tuple[Part, str, str], ...] = (
    (
        (
            "aurc", "Area under the risk-coverage curve", "AURC", r"\mathrm{AURC}", "lower",
            rf"\tfrac{{1}}{{N}}\textstyle\sum_k {RISK}",
            "Error rate of the k most confident items, averaged over k; items of equal confidence are in random order.",
        ),
        "Geifman & El-Yaniv 2017",
        "A more accurate model tends to have a lower value whatever its confidences; E-AURC removes that part. " + ORDER_ALONE,
    ),
    (
        (
            "e_aurc", "Excess area under the risk-coverage curve", "E-AURC", r"\mathrm{AURC} - \mathrm{AURC}^*", "lower",
            r"\mathrm{AURC}(c) - \mathrm{AURC}(y)",
            "The AURC minus that of an oracle, which ranks the most correct items first.",
        ),
        "Geifman et al. 2019", ORDER_ALONE,
    ),
    (
        (
            "augrc", "Area under the generalized risk-coverage curve", "AUGRC", r"\mathrm{AUGRC}", "lower",
            r"\tfrac{1}{N^2}\textstyle\sum_k \sum_{i \le k} (1 - y_{(i)})",
            "Errors among the k most confident items as a share of all items, averaged over k: the mean risk of an undetected "
            "error.",
        ),
        "Traub et al. 2024",
        "Unlike AURC, it does not give excessive weight to errors among the few most confident items. " + ORDER_ALONE,
    ),
    (
        (
            "prr", "Prediction rejection ratio", "PRR", r"\mathrm{PRR}", "higher",
            r"\frac{(1 - \bar y) - \mathrm{AURC}(c)}{(1 - \bar y) - \mathrm{AURC}(y)}",
            "Share of the oracle's gain over a random order that the confidences achieve: 1 is the oracle, 0 is random.",
        ),
        "Malinin & Gales 2021", ORDER_ALONE,
    ),
    *(
        (
            (
                f"accuracy_at_{share}", f"Accuracy at {share} % coverage", f"Acc. at {share} %", rf"\bar y_{{{share}\%}}",
                "higher", rf"\frac{{1}}{{{share}\% N}}\textstyle\sum_{{i \le {share}\% N}} y_{{(i)}}",
                f"Mean correctness of the most confident {share} % of the items; a tie at the cut-off counts in part.",
            ),
            "HELM (Liang et al. 2022)", "If the items include early clues, the most confident items are mostly late clues.",
        )
        for share in (50, 80, 90)
    ),
)  # fmt: skip


def _mean_outcome(key: str) -> Wording | None:
    """Return what the accuracy at a coverage is called of forecasts, whose outcomes can be shares; None for other metrics."""
    _, at, share = key.partition("accuracy_at_")
    if not at:
        return None
    return Wording(
        f"Mean outcome at {share} % coverage",
        f"Outcome at {share} %",
        f"Mean outcome of the likelier side of the surest {share} % of the forecasts: their accuracy, if outcomes are yes or no.",
    )


SELECTIVE = tuple(
    Metric(
        key=key, name=name, label=label, symbol=symbol, direction=direction, low=-math.inf if key == "prr" else 0,
        formula=formula,
        words=words,
        source=source,
        caveat=caveat,
        undefined="either nothing is correct or nothing is incorrect" if key == "prr" else "no items are selected",
        counted=ORDERED, of_likelier_side=True, of_forecasts=_mean_outcome(key),
        pairs=selective.selective, part=selective.PARTS.index(key),
        axioms=("U", "O"), counterexamples=(SAME_ORDER,),
    )
    for (key, name, label, symbol, direction, formula, words), source, caveat in TEXTS
)  # fmt: skip
