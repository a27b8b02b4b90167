"""Gaps and contradictions in the papers, and which reading this product uses."""

from __future__ import annotations

import msgspec


class SourceNote(msgspec.Struct, frozen=True):
    """A contradiction or gap in a source."""

    key: str
    title: str
    source: str
    text: str  # with what this product does
    metrics: tuple[str, ...]  # keys of those concerned


NOTES = (
    SourceNote(
        key="grace-table-6",
        title="CalScore's example applies r to a sum",
        source="GRACE app. L, table 6",
        text="The four per-clue values add up to −0.61, and the table applies r to that sum (r(−0.61) = 0.1799); the text then "
        "swaps 0.18 and 0.82. Equation 1 uses their mean, −0.1525, which gives r = 0.4177 and CalScore = 0.5823. Here: "
        "equation 1.",
        metrics=("calscore", "calscore_weighted"),
    ),
    SourceNote(
        key="grace-weights",
        title="CalScore above MCE",
        source="GRACE eq. 1, the tables and the released code",
        text="The tables have CalScore above GRACE's MCE for nearly every model. Equation 1 allows that: table 6's own rows give "
        "CalScore 0.5823 and MCE 0.5270. Weights divided by their sum explain the order. So does the released code, which has a "
        "fourth human curve (correct buzzes up to a clue / all buzzes on the question), g in {0, 1} and no r. Neither reproduces "
        "the levels of table 1, so neither is proven. Here: CalScore follows equation 1, with normalised weights as a variant; "
        "the fourth curve is human=release_share.",
        metrics=("calscore", "calscore_weighted", "grace_mce"),
    ),
    SourceNote(
        key="grace-table-7",
        title="CalScore squared's example calls increments cumulative",
        source="GRACE app. M, table 7",
        text="Equation 2 holds with h as increments (0.1, 0.1, 0.2, 0.3, which add up to 0.7), though the text calls them "
        "cumulative. With the last confidence set to 1, b = (0.1, 0.63, 0.216, 0.054), the reward is 0.7722 and CalScore "
        "squared 0.2278. The text's 0.53 for the reward fits neither reading. Here: increments.",
        metrics=("calscore2",),
    ),
    SourceNote(
        key="grace-table-1",
        title="A column of table 1 is printed twice",
        source="GRACE table 1 and app. N",
        text="In table 1, the logit column of CalScore squared repeats CalScore (with the values of GPT-4o and Llama-3.1-70B "
        "swapped); the table of app. N has other values (0.939 to 0.992). GPT-4o's logit CalScore is 0.661 in table 1 and 0.654 "
        "in app. N. The ranks in the rows of table 1 are not in order.",
        metrics=("calscore", "calscore2"),
    ),
    SourceNote(
        key="grace-app-k",
        title="A table of MCE headed CalScore",
        source="GRACE app. K, table 5",
        text="The per-category table is headed CalScore but agrees with the MCE column of table 1 to about 0.01 (Mistral, "
        "logit: 0.76, compared with MCE 0.766 and CalScore 0.846).",
        metrics=("calscore", "grace_mce"),
    ),
    SourceNote(
        key="grace-polynomial",
        title="A constant is missing from the win polynomial",
        source="GRACE app. E.3",
        text="As printed, the polynomial is 0 at t = 0 and negative for t > 0.06. With the constant 1, π(t) = 1 + 0.0775 t − "
        "1.278 t² + 0.588 t³ is 1 at t = 0 and 0.3875 at t = 1. Here: with the constant 1.",
        metrics=("expected_wins",),
    ),
    SourceNote(
        key="mce",
        title="MCE means two things",
        source="GRACE sec. 4.2; Naeini et al. 2015; Sakai eq. 1",
        text="Sakai and Naeini call the maximum calibration error MCE; GRACE's MCE is a mean. Here the bare name is never used.",
        metrics=("max_ce", "grace_mce"),
    ),
    SourceNote(
        key="sakai-ks-ties",
        title="Ties in KS depend on the order of rows",
        source="Sakai eq. 4, example 2",
        text="The paper takes the sorted items one by one, so the order of items with equal confidence changes the maximum: "
        "0.078 as printed, 0.056 with ties taken together. A database has no row order. Here: KS takes ties together; "
        "sequential KS takes them one by one, by question and clue.",
        metrics=("ks", "ks_sequential"),
    ),
    SourceNote(
        key="sakai-slips",
        title="Slips in the examples",
        source="Sakai sec. 4.2.1, example 3 and appendix",
        text="All values of the examples were recomputed; the others agree to the last digit. Sec. 4.2.1 prints the third "
        "difference of Y as 0.700, but table 5's ECE requires 0.033. Two sums in the appendix lack the −1 of the true class. In "
        "example 3, KS is 0.267, 0.267, 0.300, 0.300 for X, Y, Z, W: it misses only Y, although the text says that it fails "
        "completely.",
        metrics=("ece", "ks_sequential", "nbr"),
    ),
    SourceNote(
        key="lifeeval-bins",
        title="Bins are closed on one side or the other",
        source="LifeEval text and figure 2, against its formula",
        text="The text and the figure have half-open bins [k/10, (k+1)/10) and an eleventh for confidence 1; the formula has "
        "((m−1)/M, m/M], and the printed ECEs come from the formula. Here: ten bins [k/10, (k+1)/10), the last one closed; "
        "binning=width10r selects the formula's bins, binning=width10+1 the text's.",
        metrics=("ece", "ece_debiased", "max_ce", "reliability", "resolution", "residual"),
    ),
    SourceNote(
        key="lifeeval-table-2",
        title="Table 2 is over 751 questions",
        source="LifeEval table 2 and app. B",
        text="Its column N counts each model's own answers, but its figures are over the 751 questions that all eleven models "
        "answered. On these, with the formula's bins, all 55 scores, ECEs, mean confidences, shares rounded and slopes agree to "
        "the last printed digit. The released code tests rounding as (100 c) mod 5 = 0 in floating point, which misses 0.55 and "
        "others. Here: multiples of 5 % to within 1e-9.",
        metrics=("accuracy", "ece", "mean_confidence", "pct_rounded", "hard_easy_slope"),
    ),
    SourceNote(
        key="lifeeval-interval",
        title="Both ends of an interval of years",
        source="LifeEval eq. 3",
        text="Equation 3 includes both ends, k − r and k + r. The published numbers come from the half-open interval: 88 MAS"
        " values agree to 1e-6, and the scores of table 2 to the last digit; with both ends they would be 0.025 too high. "
        "Here: half-open.",
        metrics=("accuracy", "ece", "overconfidence", "hard_easy_slope"),
    ),
    SourceNote(
        key="lifeeval-mas",
        title="The mean of MAS",
        source="LifeEval",
        text="It is 0.5699 over all 808 questions and 0.5681 over the 751 common ones; the paper prints 56.80 %. Over all "
        "questions, it is 0.1311, 0.4832, 0.7310 and 0.9343 for radius 1, 5, 10 and 20.",
        metrics=("accuracy",),
    ),
    SourceNote(
        key="head-to-head",
        title="Rooms in which at most one team can be right",
        source="GRACE sec. 4.3, quizbowl's rules",
        text="Where the two teams in a room compete for the same question, the share of teams that were right cannot exceed 1/2, "
        "however easy the question is. Here: survival is the team curve of such datasets, unless another one is chosen, and "
        "difficulty is 1 - the share of rooms in which the question was answered correctly.",
        metrics=("calscore2", "hard_easy_slope"),
    ),
    SourceNote(
        key="failed-calls",
        title="Calls that got no answer",
        source="GRACE's challenge files, LifeEval's answers",
        text="A guess of ERROR, or an answer that was never parsed, is not an answer. Treated as a wrong answer at confidence 0, "
        "it looks perfectly calibrated: 337 such rows among 1,901 put a run first on Brier (0.175 against 0.236; 0.213 without "
        "them). Here: left out of every metric and counted next to the run. failed=1 treats them as wrong in accuracies and as 0 "
        "in the net score; metrics that need a confidence always leave them out.",
        metrics=("brier", "ece", "accuracy"),
    ),
    SourceNote(
        key="baan-ties",
        title="Ties in a ranking of classes",
        source="Baan et al. 2022",
        text="The paper leaves open how tied classes are ranked; its code breaks ties by class order, which gives 0.625 for "
        "RoBERTa seed 0. Figures 4 and 5 print 0.64, which another class order (0.636) or ties in any order (0.645) would give. "
        "Here: as in the code, with a variant in which any order of tied classes counts as equal.",
        metrics=("rank_cs", "rank_cs_tied"),
    ),
    SourceNote(
        key="baan-table-2",
        title="Which run and which histogram",
        source="Baan et al. 2022, table 2, figure 5 and app. B.1",
        text="The divergences are those of RoBERTa seed 0, temperature-scaled at T = 2, over 30 bins without smoothing; they lie "
        "among those of 30 draws of the reference. At T = 2 the ECE is 3.59 %, but figure 5 prints 3.33; the mean EntCE is 0.05, "
        "but app. B.1 prints 0.12. Here: the same 30 bins; bins that are empty in either histogram are left out of KL.",
        metrics=("kl_ref", "tvd_ref", "ent_ce"),
    ),
)
