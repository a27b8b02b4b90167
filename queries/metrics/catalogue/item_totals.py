"""Metrics computed from totals over all items."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from clueline.data.sufficient_statistics import SIDES_RIGHT
from clueline.queries.metrics.catalogue.shared import (
    NOT_EVEN_U_OR_O,
    SAME_ORDER,
    columns,
    uncertainty,
    uncertainty_columns,
    with_sides,
)
from clueline.queries.metrics.counted_answers import ASKED, ATTEMPTED, ATTEMPTS, DECIDED
from clueline.queries.metrics.kernels import arrays, item_totals
from clueline.queries.metrics.metric import ATTEMPTED_ITEMS, Conventions, Floats, Metric, Sums, Wording

RIGHT = {False: "correct", True: SIDES_RIGHT}  # number of right answers, by whether the items are forecasts
# The sum that stands for y^2 in the Brier score: an outcome that is a share is no probability, of which a score is expected.
SQUARES = {False: "correct", True: "correct_sq"}
REWARD_COLUMNS = ("items", "correct", "confidence_correct", "incorrect", "confidence_incorrect")


def _brier(t: Sums, conventions: Conventions) -> Floats:
    return item_totals.brier(t["items"], t["confidence_sq"], t["confidence_correct"], t[SQUARES[conventions.forecasts]])


def _brier_skill(t: Sums, conventions: Conventions) -> Floats:
    if conventions.forecasts:
        return 1 - arrays.ratio(_brier(t, conventions), uncertainty(t, conventions))
    return item_totals.brier_skill(t["items"], t["confidence_sq"], t["confidence_correct"], t["correct"], t["incorrect"])


def _rewards(t: Sums) -> tuple[Floats, Floats]:
    return (
        item_totals.reward_over(t["items"], t["incorrect"], t["confidence_incorrect"]),
        item_totals.reward_under(t["items"], t["correct"], t["confidence_correct"]),
    )


def _if_answered_or_not(reward: Floats) -> tuple[Floats, Floats]:
    return np.minimum(reward, 0), np.maximum(reward, 0)


_reward = partial(Metric, direction="higher", of_likelier_side=True, reads=columns(*REWARD_COLUMNS), axioms=("U", "O", "UO"))

ITEMS = with_sides(
    Metric(
        key="brier",
        name="Brier score",
        label="Brier",
        symbol=r"\mathrm{BS}",
        direction="lower",
        formula=r"\frac{1}{N}\sum_i (c_i - y_i)^2 + y_i(1 - y_i)",
        words="Mean squared difference between confidence and correctness; if correctness is a probability, the expected score.",
        caveat="Rewards accuracy as well as calibration: a more accurate model can win with worse calibration.",
        source="Brier 1950; GRACE app. G",
        extremes=lambda y, _: (y * (1 - y), y * (1 - y) + np.maximum(y, 1 - y) ** 2),
        reads=lambda conventions: ("items", "confidence_sq", "confidence_correct", SQUARES[conventions.forecasts]),
        mean_of_items=True,
        value=_brier,
        axioms=("U", "O", "UO"),
    ),
    Metric(
        key="brier_skill",
        name="Brier skill score",
        label="Brier skill",
        symbol=r"\mathrm{BSS}",
        direction="higher",
        low=-math.inf,
        formula=r"1 - \frac{\mathrm{BS}(c)}{\mathrm{BS}(\bar y)}",
        words="Relative reduction of the Brier score compared with always stating the accuracy.",
        caveat="A run that knows nothing but its own accuracy gets 0. With few errors, small changes in the Brier score move it "
        "far.",
        undefined="everything is correct, or nothing is",
        source="Murphy 1973",
        reads=lambda conventions: ("confidence_sq", "confidence_correct", *uncertainty_columns(conventions), "incorrect"),
        value=_brier_skill,
        axioms=("U", "O", "UO"),
    ),
    Metric(
        key="accuracy",
        name="Accuracy",
        label="Accuracy",
        symbol=r"\bar y",
        direction="higher",
        formula=r"\frac{1}{N}\sum_i y_i",
        words="Mean correctness. Answers without a confidence count; unparsed answers and abstentions are not right.",
        caveat="Early clues count as much as late ones. "
        "On LifeEval it is the mean probability of being right, which cannot exceed the mean MAS.",
        undefined="no items are selected, or outcomes of forecasts are shares",
        of_likelier_side=True,
        source="standard",
        needs=("correctness",),
        counted=ASKED,
        reads=lambda conventions: ("items", RIGHT[conventions.forecasts]),
        mean_of_items=True,
        value=lambda t, conventions: arrays.ratio(t[RIGHT[conventions.forecasts]], t["items"]),
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
        of_forecasts=Wording(
            "Accuracy", "Accuracy", "Share of forecasts whose likelier side came true; a probability of 1/2 counts half."
        ),
    ),
    Metric(
        key="attempted",
        name="Attempted",
        label="Attempted",
        symbol=r"\alpha",
        direction="none",
        formula=r"\frac{1}{N}\,\lvert\{ i : \text{not abstained} \}\rvert",
        words="Share of the items of the accuracy at which the model did not abstain.",
        caveat="Neither good nor bad by itself; not ranked. Failed calls that count as wrong are not attempted.",
        source="standard",
        needs=("correctness",),
        counted=ATTEMPTS,
        reads=columns("items", ATTEMPTED_ITEMS),
        mean_of_items=True,
        value=lambda t, _: arrays.ratio(t[ATTEMPTED_ITEMS], t["items"]),
        axioms=(),
    ),
    Metric(
        key="accuracy_attempted",
        name="Accuracy of attempted answers",
        label="Acc. attempted",
        symbol=r"\bar y_\alpha",
        direction="higher",
        formula=r"\frac{\sum_i y_i}{\lvert\{ i : \text{not abstained} \}\rvert}",
        words="Mean correctness where the model did not abstain.",
        caveat="A model that attempts only what it knows gets a high value: see the share that it attempted.",
        undefined="nothing was attempted",
        source="standard",
        needs=("correctness",),
        counted=ATTEMPTED,
        reads=columns("items", "correct"),
        value=lambda t, _: arrays.ratio(t["correct"], t["items"]),
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
    ),
    Metric(
        key="net_score",
        name="Net score",
        label="Net score",
        symbol=r"\mathrm{NS}_t",
        direction="higher",
        low=-math.inf,
        formula=r"\frac{1}{N}\sum_{i:\, c_i > t} \Bigl(y_i - \frac{t}{1-t}(1 - y_i)\Bigr)",
        words="An item is answered if its confidence is above t: a right answer earns 1, a wrong one costs t/(1−t), and not "
        "answering earns 0. Abstentions earn 0, too.",
        caveat="Rewards both accuracy and calibration: not answering earns 0, and guessing below t loses. Confidences on the "
        "same side of t count the same.",
        source="Kalai et al. 2025, sec. 4.2",
        of_likelier_side=True,
        extremes=lambda y, conventions: _if_answered_or_not(item_totals.net_reward(np.ones_like(y), y, conventions.t)),
        reads=lambda conventions: ("items", conventions.reward),
        mean_of_items=True,
        value=lambda t, conventions: arrays.ratio(t[conventions.reward], t["items"]),
        counted=DECIDED,
        thresholded=True,
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
    ),
    Metric(
        key="accuracy_scored",
        name="Accuracy of answers with a confidence",
        label="Acc. scored",
        symbol=r"\bar y_c",
        direction="higher",
        formula=r"\frac{\sum_i y_i}{\lvert\{ i : c_i \text{ is stated} \}\rvert}",
        words="Mean correctness of the answers with a confidence: what stands beside a mean confidence. LifeEval calls it Score.",
        caveat="A model that states no confidence where it is wrong gets a high value: the accuracy counts these answers, too.",
        undefined="no items are selected, or outcomes of forecasts are shares",
        of_likelier_side=True,
        source="LifeEval table 2",
        reads=lambda conventions: ("items", RIGHT[conventions.forecasts]),
        mean_of_items=True,
        value=lambda t, conventions: arrays.ratio(t[RIGHT[conventions.forecasts]], t["items"]),
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
        of_forecasts=Wording(
            "Accuracy of forecasts with a probability",
            "Acc. scored",
            "Share of forecasts whose likelier side came true; a probability of 1/2 counts half.",
        ),
    ),
    Metric(
        key="mean_confidence",
        name="Mean confidence",
        label="Confidence",
        symbol=r"\bar c",
        direction="none",
        formula=r"\frac{1}{N}\sum_i c_i",
        words="Mean confidence.",
        caveat="Neither good nor bad by itself; not ranked.",
        source="standard",
        of_forecasts=Wording("Mean probability of yes", "Probability", "Mean probability of yes."),
        needs=("confidence",),
        extremes=lambda y, _: (np.zeros_like(y), np.ones_like(y)),
        reads=columns("items", "confidence"),
        mean_of_items=True,
        value=lambda t, _: arrays.ratio(t["confidence"], t["items"]),
        axioms=(),
    ),
    Metric(
        key="overconfidence",
        name="Overconfidence",
        label="Overconf.",
        symbol=r"\bar c - \bar y",
        direction="zero",
        low=-1,
        formula=r"\frac{1}{N}\sum_i (c_i - y_i)",
        words="Mean confidence minus accuracy; 0 is best, ranked by distance from 0.",
        caveat="Too much in one place and too little in another cancel out.",
        source="LifeEval eq. 10",
        extremes=lambda y, _: (-y, 1 - y),
        reads=columns("items", "confidence", "correct"),
        mean_of_items=True,
        value=lambda t, _: arrays.ratio(t["confidence"] - t["correct"], t["items"]),
        axioms=(),
        counterexamples=NOT_EVEN_U_OR_O,
        of_forecasts=Wording(
            "Bias towards yes",
            "Bias to yes",
            "Mean probability of yes minus the share of yes; 0 is best, ranked by distance from 0.",
        ),
    ),
    _reward(
        key="hmr",
        name="Harmonic mean of rewards",
        label="HMR",
        symbol=r"\mathrm{HMR}",
        formula=r"\frac{(\beta^2 + 1) R_O R_U}{\beta^2 R_O + R_U}",
        words="Harmonic mean of two rewards: R_O for low confidence when wrong, and R_U for high confidence when right.",
        caveat="Rewards confidences of 0 and 1: a perfectly calibrated model with middling confidences does not reach 1.",
        source="Sakai eq. 8 and its footnote on beta",
        value=lambda t, conventions: item_totals.hmr(*_rewards(t), conventions.beta),
    ),
    _reward(
        key="r_over",
        name="Overconfidence reward R_O",
        label="Reward R_O",
        symbol="R_O",
        formula=r"1 - \frac{\sum_i (1 - y_i) c_i}{\sum_i (1 - y_i)}",
        words="One minus the mean confidence of incorrect items.",
        caveat="1 if nothing is incorrect.",
        source="Sakai eq. 6",
        value=lambda t, _: _rewards(t)[0],
    ),
    _reward(
        key="r_under",
        name="Underconfidence reward R_U",
        label="Reward R_U",
        symbol="R_U",
        formula=r"1 - \frac{\sum_i y_i (1 - c_i)}{\sum_i y_i}",
        words="The mean confidence of correct items.",
        caveat="1 if nothing is correct.",
        source="Sakai eq. 7",
        value=lambda t, _: _rewards(t)[1],
    ),
    Metric(
        key="macro_ce",
        name="Macro-average calibration error",
        label="MacroCE",
        symbol=r"\mathrm{MacroCE}",
        direction="lower",
        formula=r"\tfrac{1}{2}\left(\frac{\sum_i y_i (1 - c_i)}{\sum_i y_i} + \frac{\sum_i (1 - y_i) c_i}{\sum_i (1 - "
        r"y_i)}\right)",
        words="Average of two means: 1 − confidence over correct items, and confidence over incorrect items.",
        caveat="A perfectly calibrated model does not reach 0: it asks for confidences of 0 and 1.",
        undefined="either nothing is correct or nothing is incorrect",
        source="Si et al. 2022, in GRACE app. N",
        reads=columns(*REWARD_COLUMNS),
        value=lambda t, _: item_totals.macro_ce(t["correct"], t["confidence_correct"], t["incorrect"], t["confidence_incorrect"]),
        axioms=("U", "O", "UO"),
    ),
    Metric(
        key="pct_rounded",
        name="Confidences rounded to 5 %",
        label="Rounded",
        symbol=r"\%_{5}",
        direction="none",
        formula=r"\frac{1}{N}\,\lvert\{ i : 20\, c_i \in \mathbb{Z} \}\rvert",
        words="Share of stated confidences that are multiples of 5 %, to within 1e-9.",
        caveat="A habit of stating round numbers, not a fault by itself; not ranked.",
        source="LifeEval table 2",
        needs=("confidence",),
        extremes=lambda y, _: (np.zeros_like(y), np.ones_like(y)),
        reads=columns("items", "rounded"),
        mean_of_items=True,
        value=lambda t, _: arrays.ratio(t["rounded"], t["items"]),
        axioms=(),
    ),
)
