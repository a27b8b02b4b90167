"""What the papers leave open or contradict, and which reading this product takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A contradiction or gap in a source.

    Attributes:
        key: name in addresses.
        title: what it is about.
        source: paper and place.
        text: what stands there, and what this product does.
        metrics: keys of the metrics that it concerns; may be none.
    """

    key: str
    title: str
    source: str
    text: str
    metrics: tuple[str, ...] = ()


NOTES = (
    Note(
        key="grace-table-6",
        title="CalScore's example takes r of a sum",
        source="GRACE app. L, table 6",
        text="The four values per clue add up to −0.61, and the table applies r to that sum; the text then swaps 0.18 and "
        "0.82. Equation 1 has their mean: −0.1525, so that r = 0.4177 and CalScore = 0.5823 (r(−0.61) = 0.1799). Here: "
        "equation 1.",
        metrics=("calscore", "calscore_weighted"),
    ),
    Note(
        key="grace-weights",
        title="CalScore above MCE",
        source="GRACE eq. 1 and the tables",
        text="The tables have CalScore above GRACE's MCE for nearly every model, which weights 1 − h in [0, 1] can hardly "
        "produce and weights divided by their sum do. Here: equation 1 as CalScore, the other as a variant of its own.",
        metrics=("calscore", "calscore_weighted", "grace_mce"),
    ),
    Note(
        key="grace-table-7",
        title="CalScore squared's example calls increments cumulative",
        source="GRACE app. M, table 7",
        text="Equation 2 holds with h as increments (0.1, 0.1, 0.2, 0.3, which add up to 0.7), though the text calls them "
        "cumulative. With the last confidence set to 1, b = (0.1, 0.63, 0.216, 0.054), the reward is 0.7722 and CalScore "
        "squared 0.2278. The text's 0.53 for the reward fits neither reading. Here: increments.",
        metrics=("calscore2",),
    ),
    Note(
        key="grace-table-1",
        title="A column of table 1 is printed twice",
        source="GRACE table 1 and app. N",
        text="In table 1 the column of CalScore squared under logit repeats CalScore (with GPT-4o's and Llama-3.1-70B's "
        "exchanged); the table of app. N has other values (0.939 to 0.992). GPT-4o's CalScore under logit is 0.661 in the one "
        "and 0.654 in the other. Ranks in the rows of table 1 are not in order.",
        metrics=("calscore", "calscore2"),
    ),
    Note(
        key="grace-app-k",
        title="A table of MCE headed CalScore",
        source="GRACE app. K, table 5",
        text="The table per category is headed CalScore but agrees with the MCE column of table 1 to about 0.01 (Mistral, "
        "logit: 0.76 against MCE 0.766 and CalScore 0.846).",
        metrics=("calscore", "grace_mce"),
    ),
    Note(
        key="grace-polynomial",
        title="A constant is missing from the chance to win",
        source="GRACE app. E.3",
        text="As printed, the polynomial is negative. With its constant, π(t) = 1 + 0.0775 t − 1.278 t² + 0.588 t³ is 1 at t ="
        " 0 and 0.3875 at t = 1. Here: with the constant.",
        metrics=("expected_wins",),
    ),
    Note(
        key="mce",
        title="MCE means two things",
        source="GRACE sec. 4.2; Naeini et al. 2015; Sakai eq. 1",
        text="Sakai and Naeini call the maximum calibration error MCE; GRACE's MCE is a mean. Here the bare name is never used.",
        metrics=("max_ce", "grace_mce"),
    ),
    Note(
        key="sakai-ks-ties",
        title="Ties in KS depend on the order of rows",
        source="Sakai eq. 4, example 2",
        text="The paper walks the sorted items one by one, so that items of equal confidence give another maximum in another "
        "order: 0.078 as printed, 0.056 with ties taken together. A database has no order of rows. Here: KS takes ties "
        "together; KS in order keeps them by question and clue.",
        metrics=("ks", "ks_sequential"),
    ),
    Note(
        key="lifeeval-bins",
        title="Bins are closed on one side or the other",
        source="LifeEval text and figure 2, against its formula",
        text="The text and the figure have half-open bins [k/10, (k+1)/10) and an eleventh for confidence 1; the formula has "
        "((m−1)/M, m/M]. Here: ten bins [k/10, (k+1)/10), the last one closed, unless binning=width10+1 asks for the "
        "eleventh.",
        metrics=("ece", "ece_debiased", "max_ce", "reliability", "resolution", "residual"),
    ),
    Note(
        key="lifeeval-interval",
        title="Both ends of an interval of years",
        source="LifeEval eq. 3",
        text="Equation 3 includes both ends, k − r to k + r. The published numbers come from the half-open interval: 88 values"
        " of MAS agree to 1e-6, the scores of table 2 to 0.003, its ECEs to 0.007; with both ends the scores would be "
        "0.025 too high. Here: half-open.",
        metrics=("accuracy", "ece", "overconfidence", "hard_easy_slope"),
    ),
    Note(
        key="lifeeval-mas",
        title="The mean of MAS",
        source="LifeEval",
        text="Over the 808 questions it is 0.5699; the paper prints 56.80 %. By radius 1, 5, 10, 20: 0.1311, 0.4832, 0.7310, "
        "0.9343.",
        metrics=("accuracy",),
    ),
    Note(
        key="baan-ties",
        title="Ties in a ranking of classes",
        source="Baan et al. 2022",
        text="The paper leaves open how tied classes are ranked; its code breaks ties by the order of classes. Here: the same,"
        " with a variant beside it in which every order that ties allow counts as equal.",
        metrics=("rank_cs", "rank_cs_tied"),
    ),
)
