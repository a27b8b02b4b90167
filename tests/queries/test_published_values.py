"""Figures of the papers: of known metrics, in their range, and consistent with their caveats."""

import math

import pytest

from queries.metrics import CATALOGUE
from queries.published_values import COUNT, published, published_rows

TABLES = {table.key: table for table in published().tables}
# Metrics of human votes; their figures here are between 0 and 1.
VOTES = {"dist_ce", "ent_ce_abs", "rank_cs", "classwise_ece", "kl_ref", "tvd_ref"}


def by_model(key, elicitation):
    return {row.model: row.values for row in published_rows(key)[1] if row.elicitation == elicitation}


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
    assert len(TABLES) == len(published().tables) == 8
    for table in TABLES.values():
        assert table.paper and table.table and table.about and table.caveat.endswith(".")
        assert published_rows(table.key)[1]
    assert len({table.title for table in TABLES.values()}) == len(TABLES)


def test_a_table_names_each_model_once_per_slice_and_metric():
    named = [(v.key, v.model, v.elicitation, v.slice, v.metric) for v in published().values]
    assert len(set(named)) == len(named)


def test_table_1_repeats_a_column_as_its_caveat_says():
    first, appendix = by_model("grace-table-1", "logit"), by_model("grace-app-n", "logit")
    repeated = [model for model, values in first.items() if values["calscore2"] == values["calscore"]]
    assert set(first) - set(repeated) == {"GPT-4o", "Llama-3.1-70B-Instruct"}
    assert sorted(v["calscore2"] for v in first.values())[:3] == [0.661, 0.679, 0.684]
    assert (min(v["calscore2"] for v in appendix.values()), max(v["calscore2"] for v in appendix.values())) == (0.939, 0.992)
    assert (first["GPT-4o"]["calscore"], appendix["GPT-4o"]["calscore"]) == (0.661, 0.654)
    both = first | by_model("grace-table-1", "verbalized")
    assert all(values["calscore"] > values["grace_mce"] for values in both.values())


def test_category_table_agrees_with_mce():
    parts = [
        row.values["calscore"]
        for row in published_rows("grace-table-5")[1]
        if row.model.startswith("Mistral") and row.elicitation == "logit"
    ]
    mistral = by_model("grace-table-1", "logit")["Mistral-7b-Instruct"]
    assert sum(parts) / len(parts) == pytest.approx(0.76, abs=5e-3)
    assert (mistral["grace_mce"], mistral["calscore"]) == (0.766, 0.846)


def test_an_unknown_table_is_an_error():
    with pytest.raises(KeyError):
        published_rows("grace-table-99")
