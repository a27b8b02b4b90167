"""The figures of the page of all datasets: whether models or datasets are the rows, and how many are drawn."""

import pytest
from msgspec import structs

from dashboard.views.across.sections import (
    FORECASTS,
    MAX_DATASETS,
    UNKNOWN,
    UNRANKED,
    across_diagrams_figure,
    across_figure,
    counting_words,
    signed_datasets,
)
from queries.across import Across, AcrossCell, AcrossDataset, AcrossDiagram, AcrossRow
from queries.metrics import METRICS


def _cell(value):
    return AcrossCell("run", value, None, None, None, 10, True, 1.0, 0.0, 0.0, None, None, "neither")


def _across(models, datasets):
    columns = [
        AcrossDataset(f"d{number}", f"Dataset {number}", False, models, models, 10, 10, 0.0, "question")
        for number in range(datasets)
    ]
    rows = [
        AcrossRow(
            f"m{model}", "verbalized", {f"d{number}": _cell(model + number / 100) for number in range(datasets)}, 1, 1.0, 0.0, 0.5
        )
        for model in range(models)
    ]
    return Across("1", "brier", columns, rows)


@pytest.mark.parametrize(("models", "datasets", "turned"), [(2, 12, False), (2, 13, True), (40, 20, False), (8, 40, True)])
def test_rows_are_models_or_many_datasets(models, datasets, turned):
    drawn = across_figure(_across(models, datasets), next(metric for metric in METRICS if metric.key == "brier"))
    heat, axes = drawn["data"][0], drawn["layout"]
    rows, columns = (datasets, models) if turned else (models, datasets)
    assert (len(heat["z"]), {len(line) for line in heat["z"]}) == (rows, {columns})
    assert len(axes["yaxis"]["ticktext"]) == rows and len(axes["xaxis"]["ticktext"]) == columns
    last = heat["text"][-1][0], heat["text"][0][-1]
    assert last == (
        ("0.120" if datasets == 13 else "0.390", f"{models - 1}.000")
        if turned
        else (f"{models - 1}.000", f"0.{datasets - 1:02}0")
    )


@pytest.mark.parametrize(
    ("counting", "words"),
    [
        (2, "Dataset 0, Dataset 1."),
        (40, "all 40 datasets."),
        (38, "all datasets but Dataset 38, Dataset 39."),
        (20, "20 of 40 datasets."),
    ],
)
def test_many_datasets_that_count_are_not_listed(counting, words):
    across = structs.replace(_across(2, 40), counting=[f"d{number}" for number in range(counting)])
    assert f"among the 2 models ranked on {words}" in counting_words(across, every_run=False)


@pytest.mark.parametrize(("datasets", "angle"), [(6, 0), (7, -90), (40, -90)])
def test_many_dataset_names_are_turned_and_limited(datasets, angle):
    across = _across(1, datasets)
    drawn = across_diagrams_figure(across, [AcrossDiagram("d0", "run", "m0", "verbalized", [])])
    names = drawn["layout"]["xaxis"]["ticktext"]
    assert len(names) == min(datasets, MAX_DATASETS) and drawn["layout"]["xaxis"]["tickangle"] == angle
    frames = drawn["data"][0]["x"].count(None)
    assert frames == len(names)


def test_the_text_says_why_a_sign_is_unknown():
    known = _cell(1.0)
    cells = {
        "d0": structs.replace(known, sign="unknown", ranked=False, overconfidence=0.1),
        "d1": structs.replace(known, sign="unknown", overconfidence=0.2),
        "d2": structs.replace(known, sign="unknown", overconfidence=0.3, overconfidence_low=0.1, overconfidence_high=0.4),
        "d3": structs.replace(known, sign="overconfident", overconfidence=0.4, overconfidence_low=0.1, overconfidence_high=0.6),
    }
    line, titles = AcrossRow("m", "verbalized", cells, 4, 1.0, 0.0), {name: name for name in cells}
    assert signed_datasets(line, titles, "overconfident") == "d3 0.400"
    assert signed_datasets(line, titles, "underconfident") is None
    assert signed_datasets(line, titles, "neither", "unknown") == (
        f"d2 0.300 ({FORECASTS}), d1 0.200 ({UNKNOWN}), d0 0.100 ({UNRANKED})"
    )
