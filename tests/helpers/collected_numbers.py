"""Numbers that were collected from the papers, and figures that were released with them.

``grace_buzzes`` holds the positions of the buzzes in the tournaments of GRACE (Sung et al. 2025, arXiv 2502.19684), which were
released under CC BY 4.0 in yysung/advcalibration at 7ddd76b. ``lifeeval_best_ages`` is from the release of LifeEval
(NoamMichael/Comparing-Confidence-in-LLMs at 560aae77, MIT). The others are figures that the papers print.
"""

from tests.helpers.bundle_factory import records
from tests.helpers.paths import ROOT

FOLDER = ROOT / "tests" / "papers" / "numbers"


def names() -> list[str]:
    """Return the names of the tables."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def numbers(name: str) -> list[dict[str, str]]:
    """Return the rows of a table."""
    return records((FOLDER / f"{name}.csv").read_text(encoding="utf-8"))
