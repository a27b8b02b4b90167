"""Metrics that are averaged over questions, or fitted to them."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from clueline.queries.metrics.catalogue.shared import SAME_ORDER, columns, mean, mean_over_questions, with_sides
from clueline.queries.metrics.counted_answers import ORDERED
from clueline.queries.metrics.kernels import arrays, per_question
from clueline.queries.metrics.metric import Conventions, Counterexample, Floats, Metric, Sums, Wording

CALSCORE_CURVE = "buzz_share"  # the default


def _of_people(conventions: Conventions, name: str) -> str:
    """Return the name of a statistic of confidence and the human curve in use."""
    return f"{conventions.human or CALSCORE_CURVE}_{name}"


def _calscore(sums: Sums, conventions: Conventions) -> Sums:
    return mean_over_questions(per_question.calscore(sums[_of_people(conventions, "sign_confidence")], sums["items"]))


def _calscore_weighted(sums: Sums, conventions: Conventions) -> Sums:
    return mean_over_questions(
        per_question.calscore_weighted(*(sums[_of_people(conventions, name)] for name in ("sign_confidence", "weight")))
    )


def _calscore2_column(conventions: Conventions) -> str:
    """Return the reward column of the team curve: eq. 2 treats increments as probabilities, which a buzz curve's are not."""
    return f"{conventions.team_curve}_reward"


def _human_tau(sums: Sums, conventions: Conventions) -> Sums:
    concordance, apart = (sums[_of_people(conventions, name)] for name in ("concordance", "apart"))
    return mean_over_questions(per_question.tau_b(concordance, sums["confidence_apart"], apart))


def _human_area(sums: Sums, conventions: Conventions) -> Sums:
    return mean_over_questions(arrays.ratio(sums[_of_people(conventions, "area")], sums["words"]))


def _points(sums: Sums) -> tuple[Floats, Floats, Floats]:
    """Return which questions have a difficulty and items (1, else 0), their difficulty and their overconfidence, else 0."""
    gap = arrays.ratio(sums["confidence"] - sums["correct"], sums["items"])
    known = np.isfinite(sums["difficulty"]) & np.isfinite(gap)
    return known.astype(float), np.where(known, sums["difficulty"], 0.0), np.where(known, gap, 0.0)


def _overconfidence_on_difficulty(sums: Sums, conventions: Conventions) -> Sums:
    known, x, y = _points(sums)
    return {"questions": known, "x": x, "y": y, "xx": x * x, "xy": x * y}


def _residuals_on_difficulty(sums: Sums, conventions: Conventions) -> Sums:
    known, difficulty, gap = _points(sums)
    rows = known > 0
    x, y = np.zeros_like(difficulty), np.zeros_like(gap)
    x[rows], y[rows] = per_question.detrended(difficulty[rows], gap[rows])
    return {"questions": known, "x": x, "y": y, "xx": x * x, "xy": x * y, "yy": y * y, "raw_xx": difficulty * difficulty}


def _slope_error(t: Sums, conventions: Conventions) -> Floats:
    return per_question.slope_error(t["questions"], t["x"], t["y"], t["xx"], t["xy"], t["yy"], t["raw_xx"])


_averaged = partial(Metric, value=mean, mean=True, level="question")

QUESTIONS = with_sides(
    _averaged(
        key="calscore",
        name="CalScore",
        label="CalScore",
        symbol=r"\mathrm{CalScore}",
        direction="lower",
        formula=r"1 - r\!\left(\tfrac{1}{T}\textstyle\sum_t (1 - h_t)\, g_t c_t\right)",
        words="Being confidently wrong counts most before people know the answer; a mean over questions.",
        caveat="The weights 1 - h_t are not normalised: where people know the answer early, every model is near 0.5. "
        "The paper's tables fit a normalised variant better.",
        undefined="no human team heard any of these questions",
        source="GRACE (Sung et al. 2025) eq. 1",
        needs=("correctness", "confidence", "human buzzes"),
        reads=lambda c: ("items", _of_people(c, "sign_confidence")),
        contributions=_calscore,
        human=CALSCORE_CURVE,
        axioms=("U", "O", "UO"),
        axioms_where="UO only at clues that not everybody has solved, h < 1",
    ),
    _averaged(
        key="calscore_weighted",
        name="CalScore, normalised weights",
        label="CalScore w.",
        symbol=r"\mathrm{CalScore}_w",
        direction="lower",
        formula=r"1 - r\!\left(\frac{\sum_t (1 - h_t)\, g_t c_t}{\sum_t (1 - h_t)}\right)",
        words="Like CalScore, but with the weights divided by their sum, so that questions that people answer early count as "
        "much as others.",
        caveat="Not the paper's definition. It explains why the paper's tables have CalScore above MCE, but does not reproduce "
        "their levels.",
        undefined="no human team heard these questions, or people knew them at every clue",
        source="variant of GRACE eq. 1",
        needs=("correctness", "confidence", "human buzzes"),
        reads=lambda c: (_of_people(c, "sign_confidence"), _of_people(c, "weight")),
        contributions=_calscore_weighted,
        human=CALSCORE_CURVE,
        axioms=("U", "O", "UO"),
        axioms_where="UO only at clues that not everybody has solved, h < 1",
    ),
    _averaged(
        key="calscore2",
        name="CalScore squared",
        label="CalScore\u00b2",
        symbol=r"\mathrm{CalScore}^2",
        direction="lower",
        formula=r"1 - \left[\sum_t m_t \sum_{e \le t} b_e y_e + \left(1 - \sum_t m_t\right) \sum_t b_t y_t\right]",
        words="One minus the probability of answering correctly before a human buzz, if the model buzzes at each clue with a "
        "probability equal to its confidence.",
        caveat="Needs a team curve: if a share of buzzes is chosen, it uses the dataset's default, which is survival where teams "
        "play head to head and the share of teams elsewhere. The paper's text calls "
        "the increments of h cumulative and prints a reward that does not follow from its numbers.",
        undefined="no human team heard any of these questions",
        source="GRACE eq. 2, app. M, table 7",
        needs=("correctness", "confidence", "human buzzes"),
        reads=lambda c: (_calscore2_column(c),),
        contributions=lambda sums, c: mean_over_questions(arrays.clip(1 - sums[_calscore2_column(c)])),
        human="team_share",
        of_teams=True,
        axioms=("U", "O"),
        counterexamples=(SAME_ORDER,),
    ),
    _averaged(
        key="grace_mce",
        name="GRACE's mean calibration error",
        label="GRACE MCE",
        symbol=r"\mathrm{MCE}_{\text{GRACE}}",
        direction="lower",
        formula=r"1 - r\!\left(\tfrac{1}{T}\textstyle\sum_t g_t c_t\right)",
        words="Like CalScore, but without people: being confidently wrong counts the same at every clue; a mean over questions.",
        caveat="The paper calls it MCE, which elsewhere means the maximum calibration error. Rewards accuracy as much as "
        "calibration.",
        source="GRACE sec. 4.2",
        of_likelier_side=True,
        reads=columns("items", "sign_confidence"),
        contributions=lambda sums, _: mean_over_questions(per_question.grace_mce(sums["sign_confidence"], sums["items"])),
        axioms=("U", "O", "UO"),
    ),
    _averaged(
        key="human_tau",
        name="Confidence follows people",
        label="Human \u03c4",
        symbol=r"\tau_h",
        direction="higher",
        low=-1,
        formula=r"\mathrm{mean}_q\; \tau_b\bigl((c_t)_t, (h_t)_t\bigr)",
        words="Rank correlation (Kendall's tau-b) of confidence and the human curve over the clues of a question; a mean over "
        "questions. 1: the run gets surer where more people know.",
        caveat="Only the order within a question counts, not whether answers are right. The share of correct buzzes is often 1 "
        "from the first buzz on; under human=team_share or human=survival, more questions count.",
        undefined="no human team heard these questions, or confidence or the human curve never changes within one",
        source="Kendall 1945; human curve: GRACE sec. 4.1",
        needs=("confidence", "human buzzes"),
        counted=ORDERED,
        reads=lambda c: ("confidence_apart", _of_people(c, "apart"), _of_people(c, "concordance")),
        contributions=_human_tau,
        human=CALSCORE_CURVE,
    ),
    _averaged(
        key="human_area",
        name="Area between confidence and people",
        label="Human area",
        symbol=r"A_h",
        direction="lower",
        formula=r"\mathrm{mean}_q\; \frac{\sum_t w_t \lvert c_t - h_t \rvert}{\sum_t w_t}",
        words="Mean distance of confidence from the human curve over the words of a question; a mean over questions. A clue of "
        "w words counts w times.",
        caveat="A run that knows answers before people do, and says so, is far from them: this is likeness, not calibration.",
        undefined="no human team heard any of these questions",
        source="Clueline; human curve: GRACE sec. 4.1",
        needs=("confidence", "human buzzes"),
        reads=lambda c: ("words", _of_people(c, "area")),
        contributions=_human_area,
        human=CALSCORE_CURVE,
    ),
    Metric(
        key="hard_easy_slope",
        name="Hard-easy effect",
        label="Hard-easy",
        symbol=r"\beta_{\text{hard-easy}}",
        direction="zero",
        low=-math.inf,
        high=math.inf,
        formula=r"\arg\min_\beta \sum_q \left(\bar c_q - \bar y_q - \alpha - \beta d_q\right)^2",
        words="Least-squares slope of overconfidence on difficulty over questions. Above 0, harder questions bring more "
        "overconfidence.",
        caveat="Difficulty that comes from runs is made of the runs of other models. A slope above 0 is no miscalibration: a "
        "calibrated forecaster that cannot tell hard questions from easy ones has one too.",
        undefined="the difficulty of these questions is unknown, does not vary, or is a filter and comes from runs",
        source="LifeEval table 2; Lichtenstein & Fischhoff 1977",
        needs=("correctness", "confidence", "difficulty"),
        reads=columns("items", "confidence", "correct", "difficulty"),
        contributions=_overconfidence_on_difficulty,
        value=lambda t, _: per_question.slope(t["questions"], t["x"], t["y"], t["xx"], t["xy"]),
        level="question",
        single=False,
        axioms=(),
        of_forecasts=Wording(
            "Bias towards yes by difficulty",
            "Bias by diff.",
            "Least-squares slope of the bias towards yes on difficulty over questions.",
        ),
        counterexamples=(
            Counterexample(((0.5, 1), (0.3, 0), (0.3, 1)), ((0, 0.3),)),
            Counterexample(((0.1, 0), (0.3, 1), (0.3, 0)), ((0, 0.3),)),
            Counterexample(((0.5, 1), (0.3, 0), (0.3, 1)), ((0, 0.4), (1, 0.4))),
        ),
    ),
    Metric(
        key="hard_easy_slope_se",
        name="Hard-easy effect, standard error",
        label="Hard-easy SE",
        symbol=r"\mathrm{SE}(\beta_{\text{hard-easy}})",
        direction="none",
        high=math.inf,
        formula=r"\sqrt{\frac{\sum_q \left(\bar c_q - \bar y_q - \hat\alpha - \hat\beta d_q\right)^2}"
        r"{(n - 2) \sum_q (d_q - \bar d)^2}}",
        words="Standard error of the hard-easy effect by ordinary least squares: the scatter around the line relative to the "
        "spread of difficulty.",
        caveat="Assumes that the scatter of overconfidence is the same at every difficulty and independent between questions; "
        "not ranked.",
        undefined="fewer than three questions have a difficulty, or it does not vary",
        source="LifeEval (arXiv 2605.23909); ordinary least squares",
        needs=("correctness", "confidence", "difficulty"),
        reads=columns("items", "confidence", "correct", "difficulty"),
        contributions=_residuals_on_difficulty,
        value=_slope_error,
        level="question",
        single=False,
        axioms=(),
    ),
)
