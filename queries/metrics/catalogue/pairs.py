"""Metrics that are no function of sums: they need confidence and correctness item by item."""

from __future__ import annotations

from functools import partial

from queries.metrics.catalogue.shared import NOT_EVEN_U_OR_O, RIGHT_DOWN, SAME_ORDER, SWAPPED, Part, columns
from queries.metrics.kernels import bins, pairs
from queries.metrics.metric import Conventions, Counterexample, Floats, Metric, Sums


def _from_pairs(totals: Sums, conventions: Conventions) -> Floats:
    raise TypeError("this metric is no function of sums: it has ``pairs``")


def _corp_part(part: int, confidence: Floats, correct: Floats, weights: Floats) -> Floats:
    return pairs.corp(confidence, correct, weights)[part]


CORP: tuple[Part, ...] = (
    (
        "corp_mcb", "Miscalibration (CORP)", "MCB", r"\mathrm{MCB}", "lower", r"\mathrm{BS}(c) - \mathrm{BS}(\hat c)",
        "How much isotonic recalibration would lower the Brier score.",
    ),
    (
        "corp_dsc", "Discrimination (CORP)", "DSC", r"\mathrm{DSC}", "higher", r"\mathrm{BS}(\bar y) - \mathrm{BS}(\hat c)",
        "How much better the recalibrated confidences are than always stating the accuracy.",
    ),
)  # fmt: skip


PAIRS = (
    Metric(
        key="ks",
        name="Kolmogorov-Smirnov error",
        label="KS",
        symbol=r"\mathrm{KS}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\max_j \frac{1}{N} \left\lvert \sum_{i \le j} (c_i - y_i) \right\rvert",
        words="The largest gap between cumulative confidence and cumulative correctness, items sorted by confidence, "
        "ties together.",
        source="Gupta et al. 2021; Sakai eq. 4",
        needs=("correctness", "confidence"),
        reads=columns("items"),
        value=_from_pairs,
        pairs=pairs.ks,
        caveat="Needs no bins. The paper walks tied items one by one, so that its value depends on the order of the rows.",
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        distance="walk",
    ),
    Metric(
        key="ks_sequential",
        name="Kolmogorov-Smirnov error, in order",
        label="KS seq.",
        symbol=r"\mathrm{KS}_{\text{seq}}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\max_j \frac{1}{N} \left\lvert \sum_{i \le j} (c_i - y_i) \right\rvert",
        words="The same with items of equal confidence taken one by one, in the order of questions and clues.",
        source="Sakai eq. 4, as its example is worked",
        needs=("correctness", "confidence"),
        reads=columns("items"),
        value=_from_pairs,
        pairs=pairs.ks_sequential,
        ordered=True,
        caveat="Depends on the order of tied items, which a database does not have; at least as large as KS.",
        axioms=(),
        counterexamples=(RIGHT_DOWN, Counterexample(((0.7, 1), (0.6, 0)), ((1, 0.7),)), SWAPPED),
        distance="walk",
    ),
    Metric(
        key="auroc",
        name="AUROC",
        label="AUROC",
        symbol=r"\mathrm{AUROC}",
        direction="higher",
        low=0,
        high=1,
        formula=r"P(c_i > c_j \mid y_i = 1, y_j = 0) + \tfrac{1}{2} P(c_i = c_j \mid y_i = 1, y_j = 0)",
        words="The chance that a correct item has a higher confidence than an incorrect one, ties counting half.",
        source="standard",
        needs=("correctness", "confidence"),
        reads=columns("items"),
        value=_from_pairs,
        pairs=pairs.auroc,
        undefined="either nothing is correct or nothing is incorrect",
        caveat="Tells right from wrong by order alone: it says nothing of calibration, and any rescaling of confidences "
        "leaves it as it is.",
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
    ),
    Metric(
        key="correlation",
        name="Correlation of confidence and correctness",
        label="Corr.",
        symbol=r"\rho_{c,y}",
        direction="higher",
        low=-1,
        high=1,
        formula=r"\frac{\sum_i (c_i - \bar c)(y_i - \bar y)}{\sqrt{\sum_i (c_i - \bar c)^2 \sum_i (y_i - \bar y)^2}}",
        words="Pearson's correlation over items.",
        source="LifeEval (arXiv 2605.23909)",
        needs=("correctness", "confidence"),
        reads=columns("items"),
        value=_from_pairs,
        pairs=pairs.correlation,
        undefined="confidence or correctness does not vary",
        caveat="Says whether confidence follows correctness, not whether it is the right size.",
        axioms=(),
        counterexamples=(
            Counterexample(((0.1, 0), (0.9, 1), (0.8, 1)), ((1, 0.8),)),
            Counterexample(((0.1, 0), (0.2, 0), (0.9, 1)), ((0, 0.2),)),
            SAME_ORDER,
        ),
    ),
    *(
        Metric(
            key=key,
            name=name,
            label=label,
            symbol=symbol,
            direction=direction,
            low=0,
            high=1 if key == "corp_mcb" else 0.25,
            formula=formula,
            words=words,
            source="Dimitriadis, Gneiting & Jordan 2021",
            needs=("correctness", "confidence"),
            reads=columns("items"),
            value=_from_pairs,
            pairs=partial(_corp_part, part),
            caveat="Needs no bins. The isotonic fit follows noise: with few items, miscalibration and discrimination are "
            "overstated.",
            axioms=() if key == "corp_mcb" else ("U", "O"),
            counterexamples=NOT_EVEN_U_OR_O if key == "corp_mcb" else (SAME_ORDER,),
            distance="curve" if key == "corp_mcb" else None,
        )
        for part, (key, name, label, symbol, direction, formula, words) in enumerate(CORP)
    ),
    Metric(
        key="corp_unc",
        name="Uncertainty (CORP)",
        label="UNC (CORP)",
        symbol=r"\mathrm{UNC}_{\text{CORP}}",
        direction="none",
        low=0,
        high=0.25,
        formula=r"\mathrm{BS}(\bar y)",
        words="The Brier score of always stating the accuracy; brier = mcb - dsc + unc.",
        source="Dimitriadis, Gneiting & Jordan 2021",
        needs=("correctness",),
        reads=columns("items", "correct"),
        value=lambda t, _: bins.uncertainty(t["items"], t["correct"]),
        caveat="The same number as the uncertainty of Murphy's decomposition: no binning enters it.",
        axioms=(),
    ),
)
