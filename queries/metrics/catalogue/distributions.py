"""Metrics of whole distributions: against the right class, and against the votes of people."""

from __future__ import annotations

import math

from data.sufficient_statistics import BINS
from queries.metrics.catalogue.shared import columns
from queries.metrics.kernels import arrays, bins, distributions
from queries.metrics.metric import Conventions, Floats, Metric, Sums, Value

BAAN = "Baan et al. 2022"
NO_VOTES = "no item has both a whole distribution and human votes"
NO_REFERENCE = f"no item has both a whole distribution and at least {distributions.REFERENCE_VOTES} human votes"


def _mean(column: str, items: str) -> Value:
    return lambda totals, conventions: arrays.ratio(totals[column], totals[items])


def _classwise_ece(totals: Sums, conventions: Conventions) -> Floats:
    return distributions.classwise_ece(_gaps_by_class(totals, conventions), totals["class_items"])


def _gaps_by_class(totals: Sums, conventions: Conventions) -> Floats:
    """Sums of p_k - [gold = k], shape (..., classes, bins)."""
    gaps = totals["class_gaps"]
    count = conventions.mass_bins or BINS
    gaps = gaps.reshape(*gaps.shape[:-1], gaps.shape[-1] // count, count)
    return gaps if conventions.mass_bins else bins.fold_bins(gaps, conventions.binning)


def _class_gaps(totals: Sums, conventions: Conventions) -> Floats:
    """The same, side by side: shape (..., classes x bins)."""
    gaps = _gaps_by_class(totals, conventions)
    return gaps.reshape(*gaps.shape[:-2], gaps.shape[-2] * gaps.shape[-1])


VOTES = (
    Metric(
        key="nbr",
        name="Normalised Brier score",
        label="NBR",
        symbol=r"\mathrm{NBR}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\frac{1}{N M}\sum_i \sum_{k=1}^{M} (p_{ik} - [k = g_i])^2",
        words="Mean squared difference of the whole distribution and the right class, over items and classes.",
        source="Sakai eq. 2",
        needs=("correctness", "whole distribution"),
        reads=columns("gold_items", "quadratic"),
        counts="gold_items",
        value=_mean("quadratic", "gold_items"),
        undefined="no item has both a whole distribution and a known right class",
        caveat="Only items whose whole distribution is given and whose right class is known enter. Divided by the number of "
        "classes, so that it is 1 at worst with two classes and lower with more.",
    ),
    Metric(
        key="dist_ce",
        name="Distribution calibration error",
        label="DistCE",
        symbol=r"\mathrm{DistCE}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\frac{1}{N}\sum_i \tfrac{1}{2} \sum_k \lvert f_{ik} - \pi_{ik} \rvert",
        words="Mean total variation distance between the model's distribution and the shares of human votes.",
        source=BAAN,
        needs=("whole distribution", "votes"),
        reads=columns("voted_items", "distance"),
        counts="voted_items",
        value=_mean("distance", "voted_items"),
        undefined=NO_VOTES,
        caveat="The vote shares are an estimate themselves: with few votes, not even people reach 0. Compare with the human "
        "reference.",
    ),
    Metric(
        key="ent_ce",
        name="Entropy calibration error",
        label="EntCE",
        symbol=r"\mathrm{EntCE}",
        direction="zero",
        low=-math.inf,
        high=math.inf,
        formula=r"\frac{1}{N}\sum_i H(f_i) - H(\pi_i)",
        words="Mean difference of the model's entropy and that of the human votes, in nats; above 0: less certain than people.",
        source=BAAN,
        needs=("whole distribution", "votes"),
        reads=columns("voted_items", "entropy_gap"),
        counts="voted_items",
        value=_mean("entropy_gap", "voted_items"),
        undefined=NO_VOTES,
        caveat="Too certain on one item and too doubtful on another cancel out; the absolute value does not. "
        "The entropy of few votes is biased downwards.",
    ),
    Metric(
        key="ent_ce_abs",
        name="Entropy calibration error, absolute",
        label="|EntCE|",
        symbol=r"\lvert\mathrm{EntCE}\rvert",
        direction="lower",
        low=0,
        high=math.inf,
        formula=r"\frac{1}{N}\sum_i \lvert H(f_i) - H(\pi_i) \rvert",
        words="Mean distance of the model's entropy from that of the human votes, in nats.",
        source=BAAN,
        needs=("whole distribution", "votes"),
        reads=columns("voted_items", "entropy_gap_abs"),
        counts="voted_items",
        value=_mean("entropy_gap_abs", "voted_items"),
        undefined=NO_VOTES,
        caveat="Says nothing of which classes the doubt is between: two opposite distributions can have the same entropy.",
    ),
    Metric(
        key="rank_cs",
        name="Ranking calibration score",
        label="RankCS",
        symbol=r"\mathrm{RankCS}",
        direction="higher",
        low=0,
        high=1,
        formula=r"\frac{1}{N}\,\lvert\{ i : \mathrm{argsort}(f_i) = \mathrm{argsort}(\pi_i) \}\rvert",
        words="Share of items whose classes the model ranks exactly as people do, ties broken by the order of the classes.",
        source=BAAN,
        needs=("whole distribution", "votes"),
        reads=columns("voted_items", "ranked_same"),
        counts="voted_items",
        value=_mean("ranked_same", "voted_items"),
        undefined=NO_VOTES,
        caveat="Of classes with as many votes, the later one ranks higher, as the paper's ascending sort has it: with another "
        "order of the classes the score is another.",
    ),
    Metric(
        key="rank_cs_tied",
        name="Ranking calibration score, ties free",
        label="RankCS tied",
        symbol=r"\mathrm{RankCS}_{\text{tied}}",
        direction="higher",
        low=0,
        high=1,
        formula=r"\frac{1}{N}\,\lvert\{ i : \nexists\, j, k : f_{ij} < f_{ik} \wedge \pi_{ij} > \pi_{ik} \}\rvert",
        words="Share of items for which one ranking of the classes fits both the model and people, ties being free.",
        source=f"variant of {BAAN}",
        needs=("whole distribution", "votes"),
        reads=columns("voted_items", "ranked_compatibly"),
        counts="voted_items",
        value=_mean("ranked_compatibly", "voted_items"),
        undefined=NO_VOTES,
        caveat="A model that gives all classes the same share agrees with every ranking.",
    ),
    Metric(
        key="classwise_ece",
        name="Classwise ECE",
        label="cw-ECE",
        symbol=r"\mathrm{ECE}_{\mathrm{cw}}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\frac{1}{C}\sum_k \sum_b \frac{n_{kb}}{N}\,\lvert \bar p_{kb} - \bar y_{kb} \rvert",
        words="Mean over classes of the ECE of the share that the model gives the class, against whether most people chose it.",
        source=f"{BAAN}; Kull et al. 2019",
        needs=("whole distribution", "votes"),
        reads=columns("class_items", "class_gaps"),
        counts="class_items",
        value=_classwise_ece,
        undefined=f"{NO_VOTES}, or there are no classes that questions share",
        binned=True,
        caveat="Holds a model against the majority alone: one that states the vote shares exactly does not reach 0 where people "
        "disagree. Depends on the binning, and averages over classes however rare.",
        distance="sum",
        gaps=_class_gaps,
    ),
    Metric(
        key="kl_ref",
        name="Divergence from the human reference",
        label="KL ref.",
        symbol=r"\mathrm{KL}_{\text{ref}}",
        direction="lower",
        low=-1 / math.e,
        high=math.inf,
        formula=r"\sum_{b:\, P_b Q_b > 0} P_b \ln \frac{P_b}{Q_b}",
        words="Kullback-Leibler divergence from the error histogram P of a human reference classifier to the run's Q, "
        "over those of 30 bins of DistCE that both fill.",
        source=f"{BAAN}, table 2",
        needs=("whole distribution", "votes"),
        reads=columns("distance_bins", "reference_bins", "reference_items"),
        counts="reference_items",
        value=lambda t, _: distributions.kl_divergence(t["reference_bins"], t["distance_bins"]),
        undefined=f"{NO_REFERENCE}, or no bin holds items of both",
        caveat=f"The reference sees {distributions.REFERENCE_VOTES} votes of each question, drawn once with a fixed seed. "
        "Bins that one histogram leaves empty are left out, as in the paper's code: where there are few items, it falls short.",
    ),
    Metric(
        key="tvd_ref",
        name="Distance from the human reference",
        label="TVD ref.",
        symbol=r"\mathrm{TVD}_{\text{ref}}",
        direction="lower",
        low=0,
        high=1,
        formula=r"\tfrac{1}{2}\sum_b \lvert P_b - Q_b \rvert",
        words="Total variation distance between the error histogram P of a human reference classifier and the run's Q, "
        "in 30 bins of DistCE.",
        source=f"{BAAN}, table 2",
        needs=("whole distribution", "votes"),
        reads=columns("distance_bins", "reference_bins", "reference_items"),
        counts="reference_items",
        value=lambda t, _: distributions.histogram_distance(t["reference_bins"], t["distance_bins"]),
        undefined=NO_REFERENCE,
        caveat=f"The reference sees {distributions.REFERENCE_VOTES} votes of each question, drawn once with a fixed seed; a "
        "model that errs less than it is as far away as one that errs more.",
    ),
)
