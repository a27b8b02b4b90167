"""All datasets at once: the values of their leaderboards side by side, and the figures of the page."""

import json

import numpy as np
import pytest
from msgspec import structs

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.dashboard.views.across import sections
from clueline.data.store import open_store
from clueline.data.store.run_tags import change_tags
from clueline.queries.across import Across, AcrossCell, AcrossDataset, AcrossDiagram, AcrossRow
from clueline.queries.metrics import METRICS
from tests.helpers.bundle_factory import put, put_file, table, write
from tests.helpers.drawn_pages import drawn, hrefs, plain, walk, words
from tests.helpers.json_api import error, get
from tests.helpers.json_api import table as read_table


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
    drawn = sections.across_figure(_across(models, datasets), next(metric for metric in METRICS if metric.key == "brier"))
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
    assert f"among the 2 models ranked on {words}" in sections.counting_words(across, every_run=False)


@pytest.mark.parametrize(("datasets", "angle"), [(6, 0), (7, -90), (40, -90)])
def test_many_dataset_names_are_turned_and_limited(datasets, angle):
    across = _across(1, datasets)
    drawn = sections.across_diagrams_figure(across, [AcrossDiagram("d0", "run", "m0", "verbalized", [])])
    names = drawn["layout"]["xaxis"]["ticktext"]
    assert len(names) == min(datasets, sections.MAX_DATASETS) and drawn["layout"]["xaxis"]["tickangle"] == angle
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
    assert sections.signed_datasets(line, titles, "overconfident") == "d3 0.400"
    assert sections.signed_datasets(line, titles, "underconfident") is None
    assert sections.signed_datasets(line, titles, "neither", "unknown") == (
        f"d2 0.300 ({sections.FORECASTS}), d1 0.200 ({sections.UNKNOWN}), d0 0.100 ({sections.UNRANKED})"
    )


PLACES = ("east", "west", "north")
QUESTIONS = 20
MODELS = ("alpha", "beta", "gamma")
KINDS = {"alpha": "chat", "beta": "chat", "gamma": "reasoning"}  # in the west; in the east only alpha has the tag


def responses(place, model, shift=0.0):
    """Alpha is sure and wrong in the east, hesitant and right in the west. Gamma was never asked in the north."""
    rows = []
    for index in range(QUESTIONS):
        right = index % 4 == 0 if place == "east" else index % 4 != 0
        confidence = {"alpha": 0.9 if place == "east" else 0.3, "beta": 0.7 if right else 0.4, "gamma": 0.5}[model] + shift
        confidence = round(confidence + index / 200, 4)
        rows.append({"question_id": f"q{index}", "clue": 0, "confidence": confidence, "correct": right, "model": model})
    return table(rows)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """An app with three datasets. Beta was imported twice in the east."""
    folder = tmp_path_factory.mktemp("many")
    store = open_store(folder / "store")
    for place in PLACES:
        facts = {"dataset": place, "kind": "single", "title": place.title()}
        questions = table([{"question_id": f"q{index}", "text": f"What is {index}?"} for index in range(QUESTIONS)])
        asked = [model for model in MODELS if (model, place) != ("gamma", "north")]
        runs = {f"responses/{model}": responses(place, model, -0.1 * ((model, place) == ("beta", "east"))) for model in asked}
        put(store, write(folder / place, facts, questions=questions, clues=None, **runs), elicitation="stated")
    put_file(store, folder / "again.csv", responses("east", "beta"), dataset="east", elicitation="stated")
    for run, model, place in store.snapshot().rows("select run, model, dataset from runs where dataset <> 'north'"):
        if place == "west" or model == "alpha":
            change_tags(store, run, {"kind": KINDS[model]}, None)
    app = create_app(Settings(store=str(folder / "store"), workers=1))
    return app, app.test_client()


def test_values_are_those_of_the_leaderboards(many):
    _, client = many
    answer = get(client, "/api/v1/across?metric=brier&rows=runs")
    assert [column["dataset"] for column in answer["datasets"]] == list(PLACES)
    cells = {cell["run"]: (place, cell) for row in answer["rows"] for place, cell in row["cells"].items()}
    assert len(answer["rows"]) == len(cells) == 9
    for place in PLACES:
        for row in get(client, f"/api/v1/leaderboard?dataset={place}&metrics=brier&intervals=1")["rows"]:
            where, cell = cells[row["run"]]
            expected = row["metrics"]["brier"]
            assert where == place and all(cell[key] == expected[key] for key in ("value", "low", "high", "rank", "questions"))


def test_a_row_is_the_latest_run_of_a_model(many):
    _, client = many
    answer = get(client, "/api/v1/across?metric=brier")
    beta = next(row for row in answer["rows"] if row["model"] == "beta")
    runs = [row["run"] for row in get(client, "/api/v1/leaderboard?dataset=east")["rows"] if row["model"] == "beta"]
    assert len(answer["rows"]) == len(MODELS) and len(runs) == 2
    assert beta["cells"]["east"]["run"] == runs[-1]
    east = [row["cells"]["east"]["rank"] for row in answer["rows"]]
    assert sorted(east) == [1, 2, 3], "the run that does not count leaves no gap"


def test_mean_ranks_are_over_the_datasets_of_a_model(many):
    _, client = many
    answer = get(client, "/api/v1/across?metric=brier")
    rows = answer["rows"]
    for row in rows:
        ranks = [cell["rank"] for cell in row["cells"].values()]
        places = [cell["place"] for cell in row["cells"].values()]
        assert row["ranked_on"] == len(ranks) == (2 if row["model"] == "gamma" else 3)
        assert row["mean_place"] == pytest.approx(sum(places) / len(places))
    assert [row["mean_place"] for row in rows] == sorted(row["mean_place"] for row in rows)
    assert answer["counting"] == sorted(PLACES)


def test_models_are_ranked_with_those_of_the_same_datasets(many):
    """Gamma was never asked in the north. In the east and the west, it counts as the others do."""
    app, client = many
    rows = {row["model"]: row for row in get(client, "/api/v1/across?metric=brier")["rows"]}
    alpha, beta, gamma = (rows[model] for model in MODELS)
    assert gamma["mean_rank"] is gamma["win_rate"] is None
    wins = [alpha["cells"][place]["rank"] < beta["cells"][place]["rank"] for place in PLACES]
    assert alpha["win_rate"] == pytest.approx(sum(wins) / 3) and beta["win_rate"] == pytest.approx(1 - sum(wins) / 3)
    ranks = [1 if won else 2 for won in wins]
    assert (alpha["mean_rank"], beta["mean_rank"]) == (pytest.approx(sum(ranks) / 3), pytest.approx(3 - sum(ranks) / 3))
    text = words(drawn(app, "across", "metric=brier"))
    assert "among the 2 models ranked on East, West, North; the other 1 is not ranked on all of them" in text
    assert "not run" in text
    two = get(client, "/api/v1/across?metric=brier&datasets=east&datasets=west")
    for row in two["rows"]:
        assert row["mean_rank"] == pytest.approx(sum(row["cells"][place]["rank"] for place in ("east", "west")) / 2)


def assert_means_of_parts(client):
    for key in ("brier", "ece"):
        (row,) = get(client, f"/api/v1/across?metric={key}")["rows"]
        parts, mean = [row["cells"][name] for name in ("mmlu-law", "mmlu-arts")], row["means"]["mmlu"]
        assert mean["value"] == pytest.approx(np.mean([part["value"] for part in parts]))
        if key == "ece":
            assert mean["low"] is mean["high"] is None
        else:
            assert parts[0]["low"] < mean["low"] < mean["value"] < mean["high"] < parts[0]["high"]
    (line,) = read_table(client, "/api/v1/across/collections.csv?metric=brier")
    assert (line["model"], line["collection"]) == ("alpha", "mmlu")
    (row,) = get(client, "/api/v1/across?metric=brier")["rows"]
    assert {key: float(line[key]) for key in ("value", "low", "high")} == row["means"]["mmlu"]
    (gone,) = get(client, "/api/v1/across?datasets=mmlu-law&datasets=other")["rows"]
    assert gone["means"] == {}, "a single part is no collection"


def test_parts_of_a_benchmark_stand_together(tmp_path):
    store = open_store(tmp_path / "store")
    questions = table([{"question_id": "q1", "text": "What is 1?"}, {"question_id": "q2", "text": "What is 2?"}])
    for name in ("mmlu-law", "other", "mmlu-arts"):
        answers = "question_id,confidence,correct\nq1,0.5,1\nq2,0.4,0\n"
        facts = {"dataset": name, "kind": "single"}
        bundle = write(tmp_path / name, facts, questions=questions, clues=None, responses=answers)
        put(store, bundle, model="alpha", elicitation="stated")
    app = create_app(Settings(store=str(tmp_path / "store"), workers=1))
    columns = get(app.test_client(), "/api/v1/across")["datasets"]
    assert [(column["dataset"], column["collection"]) for column in columns] == [
        ("mmlu-law", "mmlu"), ("mmlu-arts", "mmlu"), ("other", ""),
    ]  # fmt: skip
    assert_means_of_parts(app.test_client())
    content = drawn(app, "across")
    assert "mmlu mean of 2" in words(content)
    assert "mmlu (2 datasets)" in words(content) and "/across?datasets=mmlu-law&datasets=mmlu-arts" in hrefs(content)


def test_a_changed_sign_is_described_in_words(many):
    app, client = many
    rows = {row["model"]: row for row in get(client, "/api/v1/across?metric=brier")["rows"]}
    assert rows["alpha"]["cells"]["east"]["sign"] == "overconfident"
    assert rows["alpha"]["cells"]["west"]["sign"] == "underconfident"
    text = words(drawn(app, "across", "metric=brier"))
    assert "East 0.698" in text and "Of 3 models on several datasets, 1 has both signs." in text
    text = words(drawn(app, "across", "metric=brier&datasets=east"))
    assert "Does calibration carry over?" in text and "both signs" not in text, "no model has several datasets"


def test_metrics_follow_the_conventions(many):
    _, client = many
    answers = [get(client, f"/api/v1/across?metric=net_score&datasets=west&t={t}")["rows"] for t in (0.5, 0.25)]
    for t, rows in zip((0.5, 0.25), answers, strict=True):
        board = get(client, f"/api/v1/leaderboard?dataset=west&metrics=net_score&t={t}")["rows"]
        values = {row["run"]: row["metrics"]["net_score"]["value"] for row in board}
        assert {row["cells"]["west"]["run"]: row["cells"]["west"]["value"] for row in rows} == values
    assert answers[0] != answers[1]


def test_the_page_links_each_value_to_its_run(many):
    app, client = many
    runs = {cell["run"] for row in get(client, "/api/v1/across")["rows"] for cell in row["cells"].values()}
    assert {f"/runs/{run}" for run in runs} <= hrefs(drawn(app, "across"))


@pytest.mark.parametrize("metric", ["overconfidence", "mean_confidence", "calscore", "hard_easy_slope"])
def test_metrics_without_ranks_or_values_are_shown(many, metric):
    app, client = many
    assert len(get(client, f"/api/v1/across?metric={metric}")["rows"]) == len(MODELS)
    assert "All datasets" in words(drawn(app, "across", f"metric={metric}"))


def test_runs_are_pooled_by_a_tag(many):
    app, client = many
    assert get(client, "/api/v1/across")["groups"] == []
    assert error(client, "/api/v1/across?pool=colour", 400)["allowed"] == ["kind"]
    assert client.get("/across?pool=colour").status_code == 400
    answer = get(client, "/api/v1/across?metric=brier&pool=kind")
    assert answer["tag"] == "kind" and answer["rows"] == get(client, "/api/v1/across?metric=brier")["rows"]
    assert [(group["value"], list(group["cells"])) for group in answer["groups"]] == [
        ("chat", ["east", "west"]), ("reasoning", ["west"]),
    ]  # fmt: skip
    values = {row["model"]: {place: cell["value"] for place, cell in row["cells"].items()} for row in answer["rows"]}
    chat, reasoning = (group["cells"] for group in answer["groups"])
    assert chat["east"]["mean"] == pytest.approx(values["alpha"]["east"])
    assert chat["west"]["mean"] == pytest.approx((values["alpha"]["west"] + values["beta"]["west"]) / 2)
    assert reasoning["west"]["mean"] == pytest.approx(values["gamma"]["west"])
    assert all(cell["low"] < cell["mean"] < cell["high"] for cell in (chat["east"], chat["west"]))
    page = words(drawn(app, "across", "metric=brier&pool=kind"))
    assert "kind: chat" in page and "kind: reasoning" in page and "2 runs" in page
    assert "kind: chat" not in words(drawn(app, "across", "metric=brier"))


def test_the_bundled_datasets_are_listed_side_by_side(app, client):
    answer = get(client, "/api/v1/across?metric=brier")
    assert [column["dataset"] for column in answer["datasets"]] == ["pyramid", "lifeeval", "tone"]
    for dataset in ("pyramid", "lifeeval", "tone"):
        assert "All datasets" in words(drawn(app, "across", f"dataset={dataset}"))
    assert len(read_table(client, "/api/v1/across.csv?metric=brier")) == sum(column["runs"] for column in answer["datasets"])
    assert json.dumps(answer).count("overconfidence_low") == sum(column["runs"] for column in answer["datasets"])


@pytest.mark.parametrize("rows", ["models", "runs"])
def test_diagrams_are_those_of_each_dataset(many, rows):
    _, client = many
    answer = get(client, f"/api/v1/across/diagrams?rows={rows}&binning=width10r")
    shown = {cell["run"] for row in get(client, f"/api/v1/across?rows={rows}")["rows"] for cell in row["cells"].values()}
    diagrams = {diagram["run"]: diagram for diagram in answer["diagrams"]}
    assert diagrams.keys() == shown and answer["binning"] == "width10r"
    for place in PLACES:
        runs = "&".join(f"run={run}" for run in shown if diagrams[run]["dataset"] == place)
        for run in get(client, f"/api/v1/reliability?dataset={place}&binning=width10r&{runs}")["runs"]:
            assert diagrams[run["run"]]["bins"] == run["bins"]
            assert (diagrams[run["run"]]["model"], diagrams[run["run"]]["dataset"]) == (run["model"], place)
    lines = read_table(client, f"/api/v1/across/diagrams.csv?rows={rows}&binning=width10r")
    assert list(lines[0])[:5] == ["dataset", "run", "model", "elicitation", "lower"]
    assert len(lines) == sum(len(diagram["bins"]) for diagram in answer["diagrams"])


def test_diagrams_are_drawn_on_demand(many):
    app, client = many
    assert not _marks(app, "")
    marks = _marks(app, "diagrams=1&datasets=east&datasets=west")
    answer = get(client, "/api/v1/across/diagrams?datasets=east&datasets=west")
    bins = [bin_ for diagram in answer["diagrams"] for bin_ in diagram["bins"] if bin_["items"]]
    over = [bin_["accuracy"] < bin_["mean_confidence"] for bin_ in bins]
    assert [len(trace["x"]) for trace in marks] == [over.count(False), over.count(True)]
    lines = {row["model"]: line for line, row in enumerate(get(client, "/api/v1/across?datasets=east&datasets=west")["rows"])}
    expected = sorted(
        (round(sections.COLUMN * PLACES.index(diagram["dataset"]) + bin_["mean_confidence"], 9),
         round(bin_["accuracy"] - sections.ROW * lines[diagram["model"]], 9))
        for diagram in answer["diagrams"] for bin_ in diagram["bins"] if bin_["items"]
    )  # fmt: skip
    drawn_at = sorted((round(x, 9), round(y, 9)) for trace in marks for x, y in zip(trace["x"], trace["y"], strict=True))
    assert drawn_at == expected


def _marks(app, query):
    """Return the traces of the diagrams' marks; an empty list if the diagrams are hidden."""
    figures = [part["props"]["figure"] for part in walk(plain(drawn(app, "across", query))) if "figure" in part.get("props", {})]
    return [trace for figure in figures for trace in figure["data"] if trace.get("mode") == "markers"]


def test_only_elicitations_of_one_dataset_are_rows_of_a_model(tmp_path):
    """Elsewhere, the run is in the row of the elicitation that is the most common, so that this row has every dataset."""
    store = open_store(tmp_path / "store")
    ways = {"east": ("verbalized", "margin"), "west": ("softmax",), "north": ("verbalized",)}
    for place in PLACES:
        facts = {"dataset": place, "kind": "single", "title": place.title()}
        questions = table([{"question_id": f"q{index}", "text": f"What is {index}?"} for index in range(QUESTIONS)])
        put(store, write(tmp_path / place, facts, questions=questions, clues=None, responses=responses(place, "beta")))
        for way in ways[place]:
            put_file(store, tmp_path / f"{place}-{way}.csv", responses(place, "alpha"), dataset=place, elicitation=way)
    client = create_app(Settings(store=str(tmp_path / "store"), workers=1)).test_client()
    rows = {(row["model"], row["elicitation"]): {*row["cells"]} for row in get(client, "/api/v1/across")["rows"]}
    assert rows == {
        ("alpha", "verbalized, softmax"): {*PLACES}, ("alpha", "margin"): {"east"}, ("beta", "verbalized"): {*PLACES},
    }  # fmt: skip
