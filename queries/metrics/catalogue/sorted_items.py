"""Metrics that are not functions of sums: they need the confidence and correctness of each item."""

from __future__ import annotations

from functools import partial

import numpy as np

from queries.metrics.catalogue.shared import (
    NOT_EVEN_U_OR_O,
    RIGHT_DOWN,
    SAME_ORDER,
    SWAPPED,
    uncertainty,
    uncertainty_columns,
)
from queries.metrics.counted_answers import ORDERED
from queries.metrics.kernels import bounds, isotonic_regression, selective, sorted_items
from queries.metrics.metric import Counterexample, Metric

_corp = partial(
    Metric,
    source="Dimitriadis, Gneiting & Jordan 2021",
    pairs=isotonic_regression.corp,
    caveat="Needs no bins. The isotonic fit also fits noise: with few items, it overstates miscalibration and discrimination.",
)

PAIRS = (
    Metric(
        key="ks", name="Kolmogorov-Smirnov error", label="KS", symbol=r"\mathrm{KS}", direction="lower",
        formula=r"\max_j \frac{1}{N} \left\lvert \sum_{i \le j} (c_i - y_i) \right\rvert",
        words="Largest gap between cumulative confidence and cumulative correctness over items sorted by confidence, with ties "
        "taken together.",
        caveat="Needs no bins. The paper takes tied items one by one, so its value depends on the order of the rows.",
        source="Gupta et al. 2021; Sakai eq. 4", pairs=sorted_items.ks, axioms=(), counterexamples=NOT_EVEN_U_OR_O,
        distance="walk",
    ),
    Metric(
        key="ks_sequential", name="Kolmogorov-Smirnov error, sequential", label="KS seq.", symbol=r"\mathrm{KS}_{\text{seq}}",
        direction="lower",
        formula=r"\max_j \frac{1}{N} \left\lvert \sum_{i \le j} (c_i - y_i) \right\rvert",
        words="The KS error with items of equal confidence taken one by one, in the order of questions and clues.",
        caveat="Depends on the order of tied items, which a database does not define. At least as large as KS.",
        source="Sakai eq. 4, as its example is worked", pairs=sorted_items.ks_sequential, large=sorted_items.ks_in_steps,
        ordered=True, axioms=(), counterexamples=(RIGHT_DOWN, Counterexample(((0.7, 1), (0.6, 0)), ((1, 0.7),)), SWAPPED),
        distance="walk",
    ),
    Metric(
        key="auroc", name="AUROC", label="AUROC", symbol=r"\mathrm{AUROC}", direction="higher",
        formula=r"P(c_i > c_j \mid y_i = 1, y_j = 0) + \tfrac{1}{2} P(c_i = c_j \mid y_i = 1, y_j = 0)",
        words="Probability that a correct item has a higher confidence than an incorrect one; ties count half. If correctness is "
        "graded, a pair of two items counts y of the one times 1 - y of the other.",
        caveat="Depends only on the order of the confidences: it says nothing about calibration, and no strictly increasing "
        "rescaling of them changes it.",
        undefined="there is no correct item to compare with an incorrect one",
        source="standard", counted=ORDERED, bounds=bounds.auroc_bounds, pairs=sorted_items.auroc, axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
    ),
    Metric(
        key="log_score", name="Logarithmic score", label="Log score", symbol=r"\mathrm{LS}", direction="lower", high=13.8156,
        formula=r"-\frac{1}{N}\sum_i y_i \ln c_i + (1 - y_i) \ln(1 - c_i)",
        words="Mean negative logarithm of the probability assigned to the outcome; c is clipped to [0.000001, 0.999999].",
        caveat="A wrong answer at confidence 1 costs 13.8 because of the clipping; unclipped it would be infinite.",
        source="Good 1952", extremes=lambda y, _: selective.log_score_extremes(y), pairs=selective.log_scores, part=0,
        axioms=("U", "O", "UO"), axioms_where="for confidences from 0.000001 to 0.999999, where nothing is clipped",
    ),
    Metric(
        key="log_infinite", name="Share of infinite logarithmic scores", label="Log \N{INFINITY}", symbol=r"\mathrm{LS}_\infty",
        direction="lower",
        formula=r"\tfrac{1}{N} \#\{i: c_i = 0, y_i > 0 \text{ or } c_i = 1, y_i < 1\}",
        words="Share of items that are right at confidence 0 or wrong at confidence 1: unclipped, their logarithmic score would "
        "be infinite.",
        caveat="Shows how many items have a logarithmic score that the clipping determines.",
        source="after Good 1952", extremes=lambda y, _: (np.zeros_like(y), np.ones_like(y)), pairs=selective.log_scores, part=1,
        axioms=("U", "O"), counterexamples=(SAME_ORDER,),
    ),
    Metric(
        key="correlation", name="Correlation of confidence and correctness", label="Corr.", symbol=r"\rho_{c,y}",
        direction="higher", low=-1,
        formula=r"\frac{\sum_i (c_i - \bar c)(y_i - \bar y)}{\sqrt{\sum_i (c_i - \bar c)^2 \sum_i (y_i - \bar y)^2}}",
        words="Correlation (Pearson) of confidence and correctness over items.",
        caveat="Says whether confidence follows correctness, not whether its level is right.",
        undefined="confidence or correctness does not vary",
        source="LifeEval (arXiv 2605.23909)", pairs=sorted_items.correlation, axioms=(),
        counterexamples=(
            Counterexample(((0.1, 0), (0.9, 1), (0.8, 1)), ((1, 0.8),)),
            Counterexample(((0.1, 0), (0.2, 0), (0.9, 1)), ((0, 0.2),)),
            SAME_ORDER,
        ),
    ),
    _corp(
        key="corp_mcb", name="Miscalibration (CORP)", label="MCB", symbol=r"\mathrm{MCB}", direction="lower",
        formula=r"\mathrm{BS}(c) - \mathrm{BS}(\hat c)",
        words="How much lower the Brier score would be after isotonic recalibration.",
        part=0, axioms=(), counterexamples=NOT_EVEN_U_OR_O, distance="curve",
    ),
    _corp(
        key="corp_dsc", name="Discrimination (CORP)", label="DSC", symbol=r"\mathrm{DSC}", direction="higher", high=0.25,
        formula=r"\mathrm{BS}(\bar y) - \mathrm{BS}(\hat c)",
        words="How much lower the Brier score of the recalibrated confidences is than that of always stating the accuracy.",
        part=1, axioms=("U", "O"), counterexamples=(SAME_ORDER,), fitted=True,
    ),
    Metric(
        key="corp_unc", name="Uncertainty (CORP)", label="UNC (CORP)", symbol=r"\mathrm{UNC}_{\text{CORP}}", direction="none",
        high=0.25,
        formula=r"\mathrm{BS}(\bar y)",
        words="The Brier score of always stating the accuracy; brier = mcb - dsc + unc.",
        caveat="Equal to the uncertainty of Murphy's decomposition, which does not depend on the binning either.",
        source="Dimitriadis, Gneiting & Jordan 2021", needs=("correctness",), reads=uncertainty_columns, value=uncertainty,
        of_accuracy=True, axioms=(),
    ),
)  # fmt: skip
