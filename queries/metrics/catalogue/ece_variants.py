"""The calibration error as other projects compute it: all variants on the page Which ECE, in rankings only on request."""

from __future__ import annotations

from clueline.queries.metrics.kernels.ece_variants import BINNINGS, SCRIPT_BIN, smooth_ece
from clueline.queries.metrics.metric import Metric

ECE = r"\sum_b \tfrac{n_b}{N} \left\lvert \bar c_b - \bar y_b \right\rvert"
RMS = r"\sqrt{\sum_b \tfrac{n_b}{N} (\bar c_b - \bar y_b)^2}"
# Key, name, label, words, source and caveat of each.
TEXTS: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        "ece_width10", "ECE, 10 equal-width bins", "ECE 10", "Ten bins of equal width, [k/10, (k+1)/10), the last one closed.",
        "Clueline's default; GRACE app. G", "A confidence of 0.3 belongs to [0.3, 0.4), whatever 0.3 x 10 rounds to.",
    ),
    (
        "ece_sklearn", "ECE, scikit-learn's edges", "ECE sklearn",
        "Ten bins of equal width, closed on the right, with edges as rounded by np.linspace.",
        "scikit-learn, sklearn/calibration.py: calibration_curve (searchsorted into the inner edges)",
        "scikit-learn only provides the bins; the error is computed from them here.",
    ),
    (
        "ece_lifeeval", "ECE, LifeEval's formula", "ECE LifeEval",
        "Ten bins of equal width, closed on the right, the first one on both sides.", "LifeEval eq. 9",
        "LifeEval's printed values come from this formula; its text describes another binning.",
    ),
    (
        "ece_lifeeval_text", "ECE, LifeEval's text", "ECE LifeEval text",
        "Ten bins of equal width, closed on the left, and an eleventh for confidence 1.", "LifeEval sec. 4 and figure 2",
        "LifeEval's printed values do not come from this binning.",
    ),
    (
        "ece_torchmetrics", "ECE, torchmetrics", "ECE torchm.",
        "Fifteen bins of equal width, closed on the left, and a sixteenth for confidence 1.",
        "torchmetrics, functional/classification/calibration_error.py (torch.bucketize, right=True); torchmetrics#3510",
        "torchmetrics rounds confidences and edges to 32 bits, which can move a confidence that lies on an edge.",
    ),
    (
        "ece_netcal", "ECE, netcal", "ECE netcal",
        "Ten bins of equal width, closed on the left, the last one on both sides, with edges as rounded by np.linspace.",
        "netcal, metrics/Miscalibration.py (the bins of np.histogram)",
        "The rounded edges are above 0.3, 0.6 and 0.7: these confidences fall into the bin below.",
    ),
    (
        "ece_inspect", "ECE, BrowseComp in inspect_evals", "ECE inspect",
        "Ten bins of equal width, closed on the right. Confidence 0 is in no bin, but the sum is divided by all items.",
        "inspect_evals, browse_comp/browse_comp.py: calibration_error; inspect_evals#2141",
        "A run that is always right at confidence 0 has an error of 0.",
    ),
    *(
        (
            f"ece_mass{count}", f"ECE, {count} equal-mass bins", f"ECE mass {count}",
            f"{count} bins with equal numbers of items, ties in the order of questions and clues.", "Naeini et al. 2015",
            "Ties are split between bins. With fewer items than bins, each item is a bin by itself. With few items per bin, the "
            "error is far too large and its interval can miss the true value; with 100 bins and 300 items it usually does.",
        )
        for count in (10, 15, 100)
    ),
    (
        "ece_helm", "ECE, HELM", "ECE HELM",
        "Ten equal-mass bins with thresholds halfway between two items, so that equal confidences share a bin.",
        "HELM's ece_10_bin: verified_calibration, get_ece_em and get_equal_bins",
        "A tie that a cut would split belongs to the lower bin, so bins can differ greatly in size.",
    ),
    (
        "rms_hle", "RMS calibration error, HLE's script", "RMS HLE",
        f"Bins of {SCRIPT_BIN} items, the last one with the remainder. The last bin, with the most confident items, does not "
        "count.",
        "hle_eval/run_judge_results.py: calib_err, after Hendrycks et al. 2019; hle#4",
        f"Leaves out the {SCRIPT_BIN} to {2 * SCRIPT_BIN - 1} most confident items. With fewer than {2 * SCRIPT_BIN} items it is "
        "0, whatever the confidences.",
    ),
    (
        "rms_hle_whole", "RMS calibration error, with the last bin", "RMS 100",
        f"Bins of {SCRIPT_BIN} items, the last one with the remainder; all of them count.",
        "the same script with its last bin; BrowseComp-Plus#18",
        "A root mean square gives large gaps more weight: it is at least as large as the mean over the same bins.",
    ),
)  # fmt: skip
TOO_FEW = f"there are fewer than {SCRIPT_BIN} items, for which the script fails with an error"
UNFILLED = ("rms_hle",)  # leaves out a last bin, whose size differs from one replicate to the next
RECUT = ("ece_mass10", "ece_mass15", "ece_mass100", "ece_helm", "rms_hle", "rms_hle_whole")

VARIANTS = (
    *(
        Metric(
            key=key,
            name=name,
            label=label,
            symbol=rf"\mathrm{{{'RMS' if BINNINGS[key].squared else 'ECE'}}}_{{\text{{{label.split(' ', 1)[1]}}}}}",
            direction="lower",
            formula=RMS if BINNINGS[key].squared else ECE,
            words=words,
            caveat=caveat,
            undefined=TOO_FEW if BINNINGS[key].fewest > 1 else "no items are selected",
            source=source,
            pairs=BINNINGS[key].error,
            large=BINNINGS[key].error if key in UNFILLED else BINNINGS[key].error_in_same_bins if key in RECUT else None,
            ordered=key.startswith(("ece_mass", "rms_")),
            distance="square" if BINNINGS[key].squared else "sum",
            recut=key in RECUT,
            variant=True,
        )
        for key, name, label, words, source, caveat in TEXTS
    ),
    Metric(
        key="smooth_ece",
        name="Smooth calibration error",
        label="smECE",
        symbol=r"\mathrm{smECE}",
        direction="lower",
        formula=r"\sigma:\ \textstyle\int_0^1 \lvert \tfrac{1}{N}\sum_i (y_i - c_i) K_\sigma(t, c_i) \rvert\, dt = \sigma",
        words="Integral of the absolute residuals after smoothing by a reflected Gaussian kernel, with the width chosen to "
        "equal the result.",
        caveat="Needs no bins. Computed on a grid of 128 points: within about 0.0005 of the exact value.",
        source="Blasiok & Nakkiran 2024 (relplot)",
        pairs=smooth_ece,
        distance="sum",
        variant=True,
    ),
)
