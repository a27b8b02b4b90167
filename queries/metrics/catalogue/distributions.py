"""Metrics of whole distributions, against the right class and against human votes."""

from __future__ import annotations

import math
from typing import Any

from clueline.data.sufficient_statistics import BINS
from clueline.queries.metrics.catalogue.shared import columns
from clueline.queries.metrics.kernels import arrays, bins, distributions
from clueline.queries.metrics.metric import Conventions, Floats, Metric, Sums, Value

BAAN = "Baan et al. 2022"
NO_VOTES = "no item has both a whole distribution and human votes"
NO_REFERENCE = f"no item has both a whole distribution and at least {distributions.REFERENCE_VOTES} human votes"


def _mean(column: str, items: str) -> Value:
    return lambda totals, conventions: arrays.ratio(totals[column], totals[items])


def _mean_over_voted(column: str) -> dict[str, Any]:
    """Return how a mean over the items that people voted on is computed from the sum of a column."""
    return {
        "needs": ("whole distribution", "votes"),
        "reads": columns("voted_items", column),
        "counts": "voted_items",
        "value": _mean(column, "voted_items"),
        "mean": True,
        "undefined": NO_VOTES,
    }


def _classwise_ece(totals: Sums, conventions: Conventions) -> Floats:
    return distributions.classwise_ece(_gaps_by_class(totals, conventions), totals["class_items"])


def _gaps_by_class(totals: Sums, conventions: Conventions) -> Floats:
    """Return the sums of p_k - [gold = k], shape (..., classes, bins)."""
    gaps = totals["class_gaps"]
    count = conventions.mass_bins or BINS
    gaps = gaps.reshape(*gaps.shape[:-1], gaps.shape[-1] // count, count)
    return gaps if conventions.mass_bins else bins.fold_bins(gaps, conventions.binning)


def _class_gaps(totals: Sums, conventions: Conventions) -> Floats:
    """Return the same sums flattened, shape (..., classes x bins)."""
    gaps = _gaps_by_class(totals, conventions)
    return gaps.reshape(*gaps.shape[:-2], gaps.shape[-2] * gaps.shape[-1])


VOTES = (
    Metric(
        key="nbr",
        name="Normalised Brier score",
        label="NBR",
        symbol=r"\mathrm{NBR}",
        direction="lower",
        formula=r"\frac{1}{N M}\sum_i \sum_{k=1}^{M} (p_{ik} - [k = g_i])^2",
        words="Mean squared difference between the whole distribution and the right class, over items and classes.",
        caveat="Only items with a whole distribution and a known right class count. Divided by the number of classes, so the "
        "worst value is 1 with two classes and lower with more.",
        undefined="no item has both a whole distribution and a known right class",
        source="Sakai eq. 2",
        needs=("correctness", "whole distribution"),
        reads=columns("gold_items", "quadratic"),
        counts="gold_items",
        value=_mean("quadratic", "gold_items"),
        mean=True,
    ),
    Metric(
        key="dist_ce",
        name="Distribution calibration error",
        label="DistCE",
        symbol=r"\mathrm{DistCE}",
        direction="lower",
        formula=r"\frac{1}{N}\sum_i \tfrac{1}{2} \sum_k \lvert f_{ik} - \pi_{ik} \rvert",
        words="Mean total variation distance between the model's distribution and the shares of human votes.",
        caveat="The vote shares are themselves estimates: with few votes, not even people reach 0. Compare with the human "
        "reference.",
        source=BAAN,
        **_mean_over_voted("distance"),
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
        words="Mean of the model's entropy minus that of the human votes, in nats; above 0 means less certain than people.",
        caveat="Too little entropy on one item and too much on another cancel out; in the absolute version they do not. "
        "With few votes, their entropy is biased downwards.",
        source=BAAN,
        **_mean_over_voted("entropy_gap"),
    ),
    Metric(
        key="ent_ce_abs",
        name="Entropy calibration error, absolute",
        label="|EntCE|",
        symbol=r"\lvert\mathrm{EntCE}\rvert",
        direction="lower",
        high=math.inf,
        formula=r"\frac{1}{N}\sum_i \lvert H(f_i) - H(\pi_i) \rvert",
        words="Mean absolute difference between the model's entropy and the entropy of the human votes, in nats.",
        caveat="Ignores which classes the uncertainty is between: two opposite distributions can have the same entropy.",
        source=BAAN,
        **_mean_over_voted("entropy_gap_abs"),
    ),
    Metric(
        key="rank_cs",
        name="Ranking calibration score",
        label="RankCS",
        symbol=r"\mathrm{RankCS}",
        direction="higher",
        formula=r"\frac{1}{N}\,\lvert\{ i : \mathrm{argsort}(f_i) = \mathrm{argsort}(\pi_i) \}\rvert",
        words="Share of items whose classes the model ranks exactly as people do, ties broken by the order of the classes.",
        caveat="Of two tied classes, the later one ranks higher, as in the paper's ascending sort: a different class order gives "
        "a different score.",
        source=BAAN,
        **_mean_over_voted("ranked_same"),
    ),
    Metric(
        key="rank_cs_tied",
        name="Ranking calibration score, ties in any order",
        label="RankCS tied",
        symbol=r"\mathrm{RankCS}_{\text{tied}}",
        direction="higher",
        formula=r"\frac{1}{N}\,\lvert\{ i : \nexists\, j, k : f_{ij} < f_{ik} \wedge \pi_{ij} > \pi_{ik} \}\rvert",
        words="Share of items for which some ranking of the classes fits both the model and people, with ties in any order.",
        caveat="A model that gives every class the same share agrees with any ranking.",
        source=f"variant of {BAAN}",
        **_mean_over_voted("ranked_compatibly"),
    ),
    Metric(
        key="classwise_ece",
        name="Classwise ECE",
        label="cw-ECE",
        symbol=r"\mathrm{ECE}_{\mathrm{cw}}",
        direction="lower",
        formula=r"\frac{1}{C}\sum_k \sum_b \frac{n_{kb}}{N}\,\lvert \bar p_{kb} - \bar y_{kb} \rvert",
        words="Mean over classes of the ECE of the share that the model gives the class, against whether it is the majority "
        "class of the votes.",
        caveat="Compares a model with the majority only: one that states the vote shares exactly does not reach 0 where people "
        "disagree. Depends on the binning, and gives rare classes the same weight as common ones.",
        undefined=f"{NO_VOTES}, or the questions have no classes in common",
        source=f"{BAAN}; Kull et al. 2019",
        needs=("whole distribution", "votes"),
        reads=columns("class_items", "class_gaps"),
        counts="class_items",
        value=_classwise_ece,
        binned=True,
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
        words="Divergence (Kullback-Leibler) from the DistCE histogram P of a human reference classifier to the run's histogram "
        "Q, over those of the 30 bins that are non-empty in both.",
        caveat=f"The reference sees {distributions.REFERENCE_VOTES} votes of each question, drawn once with a fixed seed. "
        "Bins that are empty in either histogram are left out, as in the paper's code: with few items, the value is too low.",
        undefined=f"{NO_REFERENCE}, or no bin holds items of both",
        source=f"{BAAN}, table 2",
        needs=("whole distribution", "votes"),
        reads=columns("distance_bins", "reference_bins", "reference_items"),
        counts="reference_items",
        value=lambda t, _: distributions.kl_divergence(t["reference_bins"], t["distance_bins"]),
    ),
    Metric(
        key="tvd_ref",
        name="Distance from the human reference",
        label="TVD ref.",
        symbol=r"\mathrm{TVD}_{\text{ref}}",
        direction="lower",
        formula=r"\tfrac{1}{2}\sum_b \lvert P_b - Q_b \rvert",
        words="Total variation distance between the DistCE histogram P of a human reference classifier and the run's histogram "
        "Q, with 30 bins.",
        caveat=f"The reference sees {distributions.REFERENCE_VOTES} votes of each question, drawn once with a fixed seed. A "
        "model with smaller errors than the reference can be as far from it as one with larger errors.",
        undefined=NO_REFERENCE,
        source=f"{BAAN}, table 2",
        needs=("whole distribution", "votes"),
        reads=columns("distance_bins", "reference_bins", "reference_items"),
        counts="reference_items",
        value=lambda t, _: distributions.histogram_distance(t["reference_bins"], t["distance_bins"]),
    ),
)
