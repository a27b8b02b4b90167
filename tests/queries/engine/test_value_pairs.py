"""Two values stand together only over the same answers."""

import pytest

from clueline.queries.engine.ranked_metric_rows import MetricCell, ValuePair
from clueline.queries.metrics import CATALOGUE

CELLS = {
    "accuracy_scored": MetricCell(0.5, None, 40),
    "mean_confidence": MetricCell(0.7, None, 40),
    "accuracy": MetricCell(0.4, None, 40),
    "brier": MetricCell(0.2, None, 39),
}


def test_a_pair_has_its_count():
    assert ValuePair.from_cells(CELLS, CATALOGUE["accuracy_scored"], CATALOGUE["mean_confidence"]) == (0.5, 0.7, 40)


@pytest.mark.parametrize("other", ["accuracy", "brier"])
def test_values_of_other_answers_are_no_pair(other):
    """The accuracy of LifeEval counts answers that nobody could read; its mean confidence cannot."""
    with pytest.raises(ValueError, match="not over the same answers"):
        ValuePair.from_cells(CELLS, CATALOGUE["mean_confidence"], CATALOGUE[other])
