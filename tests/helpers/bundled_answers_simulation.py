"""Real answers as the population: whether intervals hold for samples of what models answered to the bundled questions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from clueline.data import sample
from clueline.queries.engine.bootstrap import LEVEL
from clueline.queries.engine.intervals_and_difference_tests import metric_intervals
from clueline.queries.metrics import CATALOGUE, Metric
from clueline.queries.metrics.metric import Floats
from tests.helpers.simulated_evidence import evidence_of
from tests.helpers.simulation import Measurement

DATASETS = ("sciq-test", "boolq-valid", "halu-eval-qa")  # at least 1,000 questions each
SIZES = (30, 100, 300)
TOGETHER = 50  # samples at a time
MEANS = ("accuracy", "brier", "net_score", "mean_confidence", "overconfidence", "pct_rounded")
OF_TOTALS = ("hmr", "r_over", "r_under", "macro_ce", "uncertainty")
DISTANCES = ("ece", "reliability", "ks", "corp_mcb")
OF_PAIRS = ("auroc", "log_score", "correlation", "aurc", "e_aurc", "augrc", "prr", "accuracy_at_80")
FITTED = ("resolution", "residual", "corp_dsc")
KEYS = (*MEANS, *OF_TOTALS, *DISTANCES, *OF_PAIRS, *FITTED)
# Confidences near 1 with rare low ones, and sure answers of which half are wrong: where earlier intervals covered least.
HARDEST = (
    "sciq-test, Meta-Llama-3.1-70B-Instruct, token",
    "sciq-test, claude-3-haiku-20240307, verbalized",
    "halu-eval-qa, claude-sonnet-4-20250514, verbalized",
    "boolq-valid, o3-2025-04-16, verbalized",
)


class AnswersOfRun(NamedTuple):
    """Confidence and correctness of the answers of one model to all questions of a bundled dataset, shape (questions,) each."""

    name: str
    confidence: Floats
    correct: Floats


def bundled_answers(names: Sequence[str] | None = None) -> Iterator[AnswersOfRun]:
    """Yield the answers of runs, of all or of some by name."""
    for dataset in DATASETS:
        table = Path(sample.__file__).parent / f"lifeeval-{dataset}" / "responses" / "models.parquet"
        answers = pl.read_parquet(table).drop_nulls("confidence")
        for (model, elicitation), of_run in answers.group_by("model", "elicitation", maintain_order=True):
            name = f"{dataset}, {model}, {elicitation}"
            if names is None or name in names:
                yield AnswersOfRun(name, of_run["confidence"].to_numpy(), of_run["correct"].cast(float).to_numpy())


def coverage_of_samples(
    samples: int,
    seed: int,
    sizes: Sequence[int] = SIZES,
    keys: Sequence[str] = KEYS,
    names: Sequence[str] | None = None,
) -> Iterator[Measurement]:
    """Measure how often intervals of samples of a run's answers contain the value over all of its answers.

    Yields a measurement of each metric: over all runs together, and of the run where it covers least, in which a metric of
    1,000 samples can be 2 points lower by chance. With the mean width, and the share of samples without an interval.
    """
    metrics = [CATALOGUE[key] for key in keys]
    for size in sizes:
        of_runs = {
            answers.name: _of_one_run(answers, np.random.default_rng((seed, size)), samples, size, metrics)
            for answers in bundled_answers(names)
        }
        for place, key in enumerate(keys):
            held, known, width = np.array([counts[place] for counts in of_runs.values()]).T
            setting = f"{key}, {size} questions"
            detail = f"mean width {width.sum() / known.sum():.3f}"
            if (without := 1 - known.sum() / samples / len(known)) > 0:
                detail += f", {without:.0%} without"
            claim, total = "interval of real answers", int(known.sum())
            yield Measurement(claim, f"{setting}, all runs ({detail})", LEVEL, float(held.sum() / known.sum()), total)
            share = np.where(known >= samples / 10, held / np.maximum(known, 1), 1.0)
            least = int(share.argmin())
            setting = f"{setting}, {[*of_runs][least]}"
            yield Measurement(f"{claim}, lowest of all runs", setting, LEVEL, float(share[least]), int(known[least]))


def _of_one_run(
    answers: AnswersOfRun, random: np.random.Generator, samples: int, size: int, metrics: Sequence[Metric]
) -> list[tuple[int, int, float]]:
    """Return for each metric how many intervals hold the true value, how many there are, and the sum of their widths."""
    whole = _evidence(answers.confidence[None], answers.correct[None])
    counts = np.zeros((len(metrics), 3))
    for _ in range(samples // TOGETHER):
        drawn = random.integers(0, len(answers.confidence), (TOGETHER, size))
        evidence = _evidence(answers.confidence[drawn], answers.correct[drawn])
        for place, metric in enumerate(metrics):
            (true,), ends = whole.values(metric), metric_intervals(evidence, metric)
            known = np.isfinite(evidence.values(metric)) & np.isfinite(ends.low)
            low, high = ends.low[known], ends.high[known]
            counts[place] += ((low - 1e-9 <= true) & (true <= high + 1e-9)).sum(), known.sum(), (high - low).sum()
    return [(int(held), int(known), float(width)) for held, known, width in counts]


def _evidence(confidence: Floats, correct: Floats):
    return evidence_of(tuple(part[..., None] for part in (confidence, correct, np.zeros_like(correct))))
