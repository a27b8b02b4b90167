"""Figures of the papers: of known metrics, in their range, and consistent with their caveats."""

import math

import pytest

from clueline.queries.metrics import CATALOGUE
from clueline.queries.published_values import COUNT, published, published_rows

TABLES = {table.key: table for table in published().tables}
# Metrics of human votes; their figures here are between 0 and 1.
VOTES = {"dist_ce", "ent_ce_abs", "rank_cs", "classwise_ece", "kl_ref", "tvd_ref"}


def test_every_figure_is_of_a_known_metric_and_in_its_range():
    for value in published().values:
        assert math.isfinite(value.value)
        if value.metric in CATALOGUE:
            assert CATALOGUE[value.metric].low <= value.value <= CATALOGUE[value.metric].high
        elif value.metric == COUNT:
            assert value.value == int(value.value) > 0
        else:
            assert value.metric in VOTES and 0 <= value.value <= 1


def test_every_table_has_a_paper_a_caveat_and_figures():
    with pytest.raises(KeyError):
        published_rows("grace-table-99")
    assert len(TABLES) == len(published().tables) == 8
    for table in TABLES.values():
        assert table.paper and table.table and table.about and table.caveat.endswith(".")
        assert published_rows(table.key)[1]
    assert len({table.title for table in TABLES.values()}) == len(TABLES)


def test_a_table_names_each_model_once_per_slice_and_metric():
    named = [(v.key, v.model, v.elicitation, v.slice, v.metric) for v in published().values]
    assert len(set(named)) == len(named)
