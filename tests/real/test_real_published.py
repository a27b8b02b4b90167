"""The published figures that the product states, compared with those collected from the papers."""

import csv

import pytest

from queries.published_values import published

pytestmark = pytest.mark.real
RENAMED = {"dist_ce_mean": "dist_ce", "ent_ce_abs_mean": "ent_ce_abs"}


def test_no_published_figure_is_lost_or_changed(shared):
    with (shared("../published") / "published_metrics.csv").open(encoding="utf-8", newline="") as file:
        given = [
            (
                row["paper"],
                row["table"].partition(" (")[0],
                row["model"],
                row["elicitation"] or None,
                row["slice"] or None,
                RENAMED.get(row["metric"], row["metric"]),
                float(row["value"]),
            )
            for row in csv.DictReader(file)
        ]
    assert [(v.paper, v.table, v.model, v.elicitation, v.slice, v.metric, v.value) for v in published().values] == given
