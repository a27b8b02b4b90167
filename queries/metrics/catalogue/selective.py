"""Metrics of selective prediction: how good the answers are if only the most confident ones are given."""

from __future__ import annotations

import math
from functools import partial

from clueline.queries.metrics.catalogue.shared import SAME_ORDER
from clueline.queries.metrics.counted_answers import ORDERED
from clueline.queries.metrics.kernels import selective
from clueline.queries.metrics.metric import Metric, Wording

RISK = r"\tfrac{1}{k}\textstyle\sum_{i \le k}(1 - y_{(i)})"
ORDER_ALONE = "Depends only on the order of the confidences: it says nothing about calibration."
_selective = partial(
    Metric, counted=ORDERED, of_likelier_side=True, pairs=selective.selective, axioms=("U", "O"), counterexamples=(SAME_ORDER,)
)

SELECTIVE = (
    _selective(
        key="aurc",
        name="Area under the risk-coverage curve",
        label="AURC",
        symbol=r"\mathrm{AURC}",
        direction="lower",
        formula=rf"\tfrac{{1}}{{N}}\textstyle\sum_k {RISK}",
        words="Error rate of the k most confident items, averaged over k; items of equal confidence are in random order.",
        caveat="A more accurate model tends to have a lower value whatever its confidences; E-AURC removes that part. "
        f"{ORDER_ALONE}",
        part=0,
        source="Geifman & El-Yaniv 2017",
    ),
    _selective(
        key="e_aurc",
        name="Excess area under the risk-coverage curve",
        label="E-AURC",
        symbol=r"\mathrm{AURC} - \mathrm{AURC}^*",
        direction="lower",
        formula=r"\mathrm{AURC}(c) - \mathrm{AURC}(y)",
        words="The AURC minus that of an oracle, which ranks the most correct items first.",
        caveat=ORDER_ALONE,
        part=1,
        source="Geifman et al. 2019",
    ),
    _selective(
        key="augrc",
        name="Area under the generalized risk-coverage curve",
        label="AUGRC",
        symbol=r"\mathrm{AUGRC}",
        direction="lower",
        formula=r"\tfrac{1}{N^2}\textstyle\sum_k \sum_{i \le k} (1 - y_{(i)})",
        words="Errors among the k most confident items as a share of all items, averaged over k: the mean risk of an undetected "
        "error.",
        caveat=f"Unlike AURC, it does not give excessive weight to errors among the few most confident items. {ORDER_ALONE}",
        part=2,
        source="Traub et al. 2024",
    ),
    _selective(
        key="prr",
        name="Prediction rejection ratio",
        label="PRR",
        symbol=r"\mathrm{PRR}",
        direction="higher",
        low=-math.inf,
        formula=r"\frac{(1 - \bar y) - \mathrm{AURC}(c)}{(1 - \bar y) - \mathrm{AURC}(y)}",
        words="Share of the oracle's gain over a random order that the confidences achieve: 1 is the oracle, 0 is random.",
        caveat=ORDER_ALONE,
        undefined="either nothing is correct or nothing is incorrect",
        part=3,
        source="Malinin & Gales 2021",
    ),
    *(
        _selective(
            key=f"accuracy_at_{share}",
            name=f"Accuracy at {share} % coverage",
            label=f"Acc. at {share} %",
            symbol=rf"\bar y_{{{share}\%}}",
            direction="higher",
            formula=rf"\frac{{1}}{{{share}\% N}}\textstyle\sum_{{i \le {share}\% N}} y_{{(i)}}",
            words=f"Mean correctness of the most confident {share} % of the items; a tie at the cut-off counts in part.",
            caveat="If the items include early clues, the most confident items are mostly late clues.",
            part=selective.PARTS.index(f"accuracy_at_{share}"),
            source="HELM (Liang et al. 2022)",
            of_forecasts=Wording(  # whose outcomes can be shares
                f"Mean outcome at {share} % coverage",
                f"Outcome at {share} %",
                f"Mean outcome of the likelier side of the surest {share} % of the forecasts: their accuracy, if outcomes are "
                "yes or no.",
            ),
        )
        for share in (50, 80, 90)
    ),
)
