"""Runs over questions that depend on each other within clusters: whether intervals and tests hold, by simulation."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.special import expit, ndtri

from clueline.queries.engine.bootstrap import LEVEL, SEED, SIGNIFICANCE
from clueline.queries.engine.intervals_and_difference_tests import difference_tests, metric_intervals
from clueline.queries.engine.reliability_diagrams import reliability_diagrams
from clueline.queries.engine.units import Units
from clueline.queries.metrics import CATALOGUE
from clueline.queries.metrics.kernels.calibration_tests import calibration_tests
from clueline.queries.metrics.kernels.isotonic_regression import confidence_levels, isotonic
from clueline.queries.slices import adjusted_p_values, measure_parts
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement, Study

CLUSTERS, EACH = 60, 5
SHARED = 0.8  # correlation of the right answers of a cluster, on the scale of a normal draw
TOGETHER = 40  # simulated runs at a time
KEYS = ("accuracy", "brier", "auroc", "overconfidence", "net_score")


def clustered_runs(random, runs, clusters=CLUSTERS, each=EACH):
    """Return confidence and correctness of independent calibrated runs, shape (runs, clusters * each) each."""
    return runs_of_clusters(random, runs, np.repeat(np.arange(clusters), each))


def runs_of_clusters(random, runs, unit):
    """Return the same where ``unit`` is the cluster of each question, shape (questions,)."""
    shape = (runs, len(unit))

    def normal():
        return random.normal(size=(runs, unit[-1] + 1))[:, unit]

    confidence = expit(0.5 + 0.9 * normal() + 0.7 * random.normal(size=shape))
    draw = np.sqrt(SHARED) * normal() + np.sqrt(1 - SHARED) * random.normal(size=shape)
    return confidence, (draw < ndtri(confidence)).astype(float)


def zipf_units(clusters, questions):
    """Return the cluster of each question, where sizes of clusters are proportional to 1, 1/2, 1/3, ...: at least 1."""
    shares = 1 / np.arange(1, clusters + 1)
    return np.repeat(np.arange(clusters), np.maximum(np.rint(questions * shares / shares.sum()), 1).astype(int))


def clustered_evidence(confidence, correct, each=EACH, clustered=True):
    """Return evidence of runs with single-shot questions, of which ``each`` neighbours are a cluster."""
    return evidence_of_clusters(confidence, correct, np.arange(confidence.shape[1]) // each if clustered else None)


def evidence_of_clusters(confidence, correct, unit):
    """Return evidence of runs with single-shot questions in clusters; None where each is on its own."""
    evidence = evidence_of(tuple(part[..., None] for part in (confidence, correct, np.zeros_like(correct))))
    if unit is None:
        return evidence
    keys = np.array([f"cluster {index}" for index in range(unit[-1] + 1)], dtype=object)
    return replace(evidence, clustered=Units("packet", keys, unit))


def coverage(runs, seed, clustered, clusters=CLUSTERS) -> Iterator[Measurement]:
    """Measure how often intervals contain the true value."""
    random = np.random.default_rng(seed)
    truth = clustered_evidence(*(part.reshape(1, -1) for part in clustered_runs(random, 400, CLUSTERS)), clustered=False)
    covered = {key: [] for key in KEYS}
    for _ in range(runs // TOGETHER):
        evidence = clustered_evidence(*clustered_runs(random, TOGETHER, clusters), clustered=clustered)
        for key in KEYS:
            (true,), ends = truth.values(CATALOGUE[key]), metric_intervals(evidence, CATALOGUE[key])
            covered[key] += ((ends.low <= true) & (true <= ends.high)).tolist()
    for key, held in covered.items():
        yield Measurement(_claim("interval", clustered), _setting(key, clusters), LEVEL, float(np.mean(held)), len(held))


def equal_pairs(boards, seed, clustered, clusters=CLUSTERS) -> Iterator[Measurement]:
    """Measure how often equal runs differ with p < 0.05; ten runs of a board make five pairs."""
    random = np.random.default_rng(seed)
    rejected = {key: [] for key in ("accuracy", "brier", "auroc", "ece")}
    first = np.arange(0, 10, 2)
    for _ in range(boards):
        evidence = clustered_evidence(*clustered_runs(random, 10, clusters), clustered=clustered)
        for key in rejected:
            rejected[key] += (difference_tests(evidence, CATALOGUE[key])[first, first + 1] < SIGNIFICANCE).tolist()
    for key, pairs in rejected.items():
        claim = _claim("two equal runs: p < .05", clustered)
        yield Measurement(claim, _setting(key, clusters), SIGNIFICANCE, float(np.mean(pairs)), len(pairs), "test")


UNEQUAL = {
    "21 clusters of 36": np.repeat(np.arange(21), 36),
    "40 clusters of Zipf sizes, 400 questions": zipf_units(40, 400),
    "80 clusters of Zipf sizes, 800 questions": zipf_units(80, 800),
}
UNEQUAL_KEYS = ("accuracy", "brier", "overconfidence", "net_score", "mean_confidence", "hmr", "macro_ce", "auroc", "ece", "ks")


def few_or_unequal_clusters(runs, seed, settings=tuple(UNEQUAL), keys=UNEQUAL_KEYS) -> Iterator[Measurement]:
    """Measure how often intervals contain the true value, and equal runs differ with p < .05; neighbours make pairs."""
    random = np.random.default_rng(seed)
    whole = evidence_of_clusters(*(part.reshape(1, -1) for part in clustered_runs(random, 400)), None)
    for setting in settings:
        unit, held, width, rejected = UNEQUAL[setting], *(dict.fromkeys(keys, 0.0) for _ in range(3))
        sizes = np.bincount(unit)
        words = f"{setting} ({sizes.sum() ** 2 / (sizes**2).sum():.1f} effective clusters)"
        for _ in range(runs // TOGETHER):
            evidence = evidence_of_clusters(*runs_of_clusters(random, TOGETHER, unit), unit)
            for key in keys:
                metric = CATALOGUE[key]
                true = 0.0 if metric.distance else whole.values(metric)[0]
                ends = metric_intervals(evidence, metric)
                held[key] += int(((ends.low <= true) & (true <= ends.high)).sum())
                width[key] += (ends.high - ends.low).sum()
                first = np.arange(0, TOGETHER, 2)
                rejected[key] += (difference_tests(evidence, metric)[first, first + 1] < SIGNIFICANCE).sum()
        total = runs // TOGETHER * TOGETHER
        for key in keys:
            mean = f"mean width {width[key] / total:.3f}"
            yield Measurement("interval, by cluster", f"{key}, {words} ({mean})", LEVEL, held[key] / total, total)
            pairs = f"{key}, {words}"
            yield Measurement(
                "two equal runs: p < .05, by cluster", pairs, SIGNIFICANCE, 2 * rejected[key] / total, total // 2, "test"
            )


def calibrated_runs(runs, seed, clustered, clusters=CLUSTERS) -> Iterator[Measurement]:
    """Measure how often tests reject calibrated runs at 0.05, and intervals of the ECE leave out 0."""
    random = np.random.default_rng(seed)
    confidence, correct = clustered_runs(random, runs, clusters)
    questions = np.arange(confidence.shape[1])
    unit = questions // EACH if clustered else questions
    p_values = [calibration_tests(*run, unit, unit[-1] + 1, SEED) for run in zip(confidence, correct, strict=True)]
    for name, values in zip(("spiegelhalter", "kuiper", "ks"), zip(*p_values, strict=True), strict=True):
        rejected, claim = float(np.mean(np.array(values) <= SIGNIFICANCE)), _claim("calibrated run: p <= .05", clustered)
        yield Measurement(claim, _setting(name, clusters), SIGNIFICANCE, rejected, runs, "test")
    ends = metric_intervals(clustered_evidence(confidence, correct, clustered=clustered), CATALOGUE["ece"])
    claim = _claim("interval of a calibrated run leaves out 0", clustered)
    yield Measurement(claim, _setting("ece", clusters), 0.025, float(np.mean(ends.low > 0)), runs, "test")


def bands(runs, seed, clustered, clusters=CLUSTERS) -> Iterator[Measurement]:
    """Measure how often the simultaneous band contains the whole isotonic curve of a calibrated run."""
    confidence, correct = clustered_runs(np.random.default_rng(seed), runs, clusters)
    held = []
    diagrams = reliability_diagrams(clustered_evidence(confidence, correct, clustered=clustered))
    for index, diagram in enumerate(diagrams):
        stated, items, right = confidence_levels(confidence[index], correct[index])
        curve = np.interp(diagram.band.confidence, stated, isotonic(right, items))
        held.append(bool(((curve >= diagram.band.low) & (curve <= diagram.band.high)).all()))
    yield Measurement(_claim("simultaneous band", clustered), _setting("corp_mcb", clusters), 0.9, float(np.mean(held)), runs)


def slices(boards, seed, clustered, clusters=CLUSTERS) -> Iterator[Measurement]:
    """Measure how often any of ten parts is significant where none differs: six of whole clusters and four that cross them."""
    for against_whole, other in ((True, "from the whole"), (False, "from another run")):
        share = _significant(boards, seed, clustered, against_whole, clusters)
        claim = _claim("slices: any part differs", clustered)
        yield Measurement(claim, _setting(f"brier, {other}", clusters), SIGNIFICANCE, share, boards, "family of tests")


def _significant(boards, seed, clustered, against_whole, clusters):
    random, significant = np.random.default_rng(seed), []
    questions = np.arange(clusters * EACH)
    unit = questions // EACH
    parts = [*(unit % 6 == part for part in range(6)), *(questions % 4 == part for part in range(4))]
    against = None if against_whole else np.full(4, 3)
    for _ in range(boards):
        evidence = clustered_evidence(*clustered_runs(random, 4, clusters), clustered=clustered)
        measured = measure_parts(evidence, CATALOGUE["brier"], [part[:, None] for part in parts], against)
        significant.append(bool((adjusted_p_values(measured) < SIGNIFICANCE).any()))
    return float(np.mean(significant))


def _claim(claim, clustered):
    return f"{claim}, by cluster" if clustered else f"({claim}, by question)"


def _setting(words, clusters):
    return f"{words}, {clusters} clusters of {EACH}"


def _study(simulate):
    def measure(boards, seed):
        for clustered, clusters in ((True, 60), (True, 20), (False, 60)):
            yield from simulate(boards, seed, clustered, clusters)

    measure.__name__ = f"clustered_{simulate.__name__}"
    return measure


ABOUT = "Questions of a cluster depend on each other. What would be claimed over single questions, in brackets, is false."
STUDIES = (
    Study(_study(coverage), 2000, f"Intervals. {ABOUT}"),
    Study(_study(equal_pairs), 400, f"Tests of five pairs of equal runs on each board. {ABOUT}"),
    Study(few_or_unequal_clusters, 2000, f"Few or unequal clusters. {ABOUT}"),
    Study(_study(calibrated_runs), 2000, f"Tests of calibrated runs. {ABOUT}"),
    Study(_study(bands), 2000, f"Bands, which should contain the isotonic curve of a calibrated run. {ABOUT}"),
    Study(_study(slices), 1000, f"Families of tests. {ABOUT}"),
)
