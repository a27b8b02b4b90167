"""The published figures that the product states, compared with those collected from the papers."""

import pytest

from queries import published_values

pytestmark = pytest.mark.real
RENAMED = {"dist_ce_mean": "dist_ce", "ent_ce_abs_mean": "ent_ce_abs"}


def test_no_published_figure_is_lost_or_changed(published):
    given = [
        (row["paper"], row["table"].partition(" (")[0], row["model"], row["elicitation"] or None, row["slice"] or None,
         RENAMED.get(row["metric"], row["metric"]), float(row["value"]))
        for row in published("published_metrics")
    ]  # fmt: skip
    stated = published_values.published().values
    assert [(v.paper, v.table, v.model, v.elicitation, v.slice, v.metric, v.value) for v in stated] == given
