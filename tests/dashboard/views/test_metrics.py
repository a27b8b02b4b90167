"""The catalogue of metrics and the published figures, as addresses and pages give them."""

import json
import re

import pytest

from clueline.dashboard.registry.keys import DEFAULT_METRICS
from clueline.queries.metrics import CATALOGUE, FAMILIES, METRICS, NOTES, AnalysisMetric
from clueline.queries.published_values import published
from tests.helpers.drawn_pages import as_text, drawn
from tests.helpers.json_api import table

ENTRIES = [entry for _, _, entries in FAMILIES.values() for entry in entries]
MEASURES = [entry for entry in ENTRIES if isinstance(entry, AnalysisMetric)]


@pytest.fixture(scope="module")
def text(app):
    """The page as JSON."""
    return as_text(drawn(app, "metrics"))


# -- the catalogue -----------------------------------------------------------------------------------------------------


def test_the_catalogue_as_json(client):
    answer = client.get("/api/v1/metrics").get_json()
    assert [entry["key"] for entry in answer["metrics"]] == [entry.key for entry in ENTRIES]
    assert len({*(entry.key for entry in ENTRIES)}) == len(ENTRIES) == len(CATALOGUE) + len(MEASURES)
    for entry, metric in zip(answer["metrics"], ENTRIES, strict=True):
        for fact in ("name", "symbol", "direction", "formula", "words", "source", "caveat", "undefined", "level"):
            assert entry[fact] == getattr(metric, fact) and (fact == "source" or entry[fact])
        assert entry["human"] == getattr(metric, "human", None)
        assert entry["needs"] == list(metric.needs)
    entries = {entry["key"]: entry for entry in answer["metrics"]}
    assert (entries["hard_easy_slope"]["low"], entries["hard_easy_slope"]["high"]) == (None, None)
    assert entries["brier"]["axioms"] == {"satisfied": ["U", "O", "UO"], "where": None, "counterexamples": []}
    assert entries["accuracy"]["axioms"]["satisfied"] == ["U", "O"] and entries["uncertainty"]["axioms"] is None
    first, _, both = entries["ece"]["axioms"]["counterexamples"]
    assert first["items"] == [[0.68, 1], [0.6, 0]] and first["changes"] == [[0, 0.6]]
    assert both["axiom"] == "UO" and both["changes"] == [[0, 0.5], [1, 0.51]]
    assert (first["before"], first["after"]) == pytest.approx((0.14, 0.1), abs=1e-12)
    assert {family["key"] for family in answer["families"]} == {entry["family"] for entry in answer["metrics"]}
    assert list(answer["axioms"]) == ["U", "O", "UO"] and answer["axioms_reading"].startswith("After Sakai")


def test_intervals_and_examples_are_on_the_page(client, text):
    answer = client.get("/api/v1/metrics").get_json()
    for kind in answer["uncertainty"]:
        assert kind["words"] in text
    assert "How often it held" in text and len(answer["measured"]) > 100
    assert all(claim["setting"] in text for claim in answer["measured"])
    for example in answer["sakai"]:
        assert f"Sakai's example {example['example']}: X and three worse copies of it" in text
    marks = sum(len(system["refuted"]) for example in answer["sakai"] for system in example["systems"])
    assert text.count(' ✗"') == marks > 5
    assert "Not U: for 0.68 right, 0.6 wrong, the metric goes from 0.14 to 0.1 when the first moves to 0.6." in text
    assert "lower is better, [0, 1]" in text


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.key)
def test_a_measure_is_at_the_address_in_the_catalogue(client, measure):
    (question,) = client.get("/api/v1/questions?dataset=pyramid&limit=1").get_json()["questions"]
    address = measure.address.format(dataset="pyramid", question_id=question["question_id"])
    threshold = "&threshold=0.5" if address == "/api/v1/buzz" else ""
    answer = client.get(f"{address}{'' if '{' in measure.address else f'?dataset=pyramid{threshold}'}").get_json()
    for field in measure.fields:
        values = list(numbers(answer, field.split(".")))
        assert values, field
        if not field.endswith(("buzzes", "no_buzz")):  # counts
            assert all(measure.low <= value <= measure.high for value in values), field


def numbers(part, path):
    """Yield every number at a path of an answer. A list stands for each of its elements."""
    if isinstance(part, list):
        for element in part:
            yield from numbers(element, path)
    elif path:
        yield from numbers(None if part is None else part[path[0]], path[1:])
    elif part is not None:
        yield part


def test_contradictions_of_the_papers_are_noted(client):
    answer = client.get("/api/v1/metrics").get_json()
    assert [note["key"] for note in answer["notes"]] == [note.key for note in NOTES]
    keys = {entry["key"] for entry in answer["metrics"]}
    for note in answer["notes"]:
        assert set(note["metrics"]) <= keys
        assert all(note["key"] in entry["notes"] for entry in answer["metrics"] if entry["key"] in note["metrics"])
    text = " ".join(note["text"] for note in answer["notes"])
    for figure in (
        "0.5823", "0.4177", "0.7722", "0.2278", "0.53", "0.939", "0.661", "0.654", "0.766", "0.846", "0.3875", "0.056", "0.078",
        "0.5699",
    ):  # fmt: skip
        assert figure in text


def test_the_catalogue_as_csv(client):
    rows = {row["key"]: row for row in table(client, "/api/v1/metrics.csv")}
    assert list(rows) == [entry.key for entry in ENTRIES]
    assert rows["hmr"]["axioms"] == "U;O;UO" and rows["ece"]["axioms"] == "none" and rows["accuracy"]["axioms"] == "U;O"
    assert rows["uncertainty"]["axioms"] == ""
    assert rows["ece"]["needs"] == "correctness;confidence"
    assert rows["calscore2"]["formula"] == next(metric.formula for metric in METRICS if metric.key == "calscore2")


def test_the_page_shows_every_fact_of_every_metric(text):
    for metric in ENTRIES:
        for fact in (metric.name, metric.words, metric.formula, metric.source, metric.caveat):
            assert json.dumps(fact, ensure_ascii=False)[1:-1] in text, (metric.key, fact)
        assert f'"id": "{metric.key}"' in text and f'"#{metric.key}"' in text
    for note in NOTES:
        assert json.dumps(note.text, ensure_ascii=False)[1:-1] in text
    ids = re.findall(r'"id": "([^"]+)"', text)
    assert len(ids) == len(set(ids)) > 40 and "intervals" in ids


def test_only_the_metrics_page_typesets(app, text):
    assert "<math" in text
    for name in ("leaderboard", "questions", "datasets"):
        assert "<math" not in as_text(drawn(app, name)), name


# -- what the papers printed -------------------------------------------------------------------------------------------


def test_published_figures_as_json_and_csv(client):
    answer = client.get("/api/v1/published").get_json()
    assert len(answer["values"]) == len(published().values) == 380
    assert {value["key"] for value in answer["values"]} == {table["key"] for table in answer["tables"]}
    assert all(table["caveat"] and table["paper"] for table in answer["tables"])
    rows = table(client, "/api/v1/published.csv")
    assert len(rows) == 380
    assert rows[0] == {
        "key": "grace-table-1", "paper": "GRACE (Sung et al. 2025)", "table": "Table 1", "model": "GPT-4",
        "elicitation": "verbalized", "slice": "", "metric": "brier", "value": "0.274",
    }  # fmt: skip


def test_published_figures_of_some_metrics_and_tables(client):
    answer = client.get("/api/v1/published?metric=calscore&metric=ece&table=grace-app-n").get_json()
    assert {value["metric"] for value in answer["values"]} == {"calscore", "ece"}
    assert [table["key"] for table in answer["tables"]] == ["grace-app-n"] and len(answer["values"]) == 24
    assert client.get("/api/v1/published?metric=auroc").get_json() == {"tables": [], "values": []}
    assert {row["metric"] for row in table(client, "/api/v1/published.csv?metric=dist_ce")} == {"dist_ce"}


def bodies(app, query=""):
    """Return the bodies of the leaderboard's table."""
    (scroll,) = [part for part in drawn(app, "leaderboard", query) if getattr(part, "className", "") == "scroll"]
    _, *rest = scroll.children.children
    return [body for body in rest if body is not None]


@pytest.mark.parametrize("sort", ["", "-accuracy"])
def test_published_rows_change_nothing_in_computed_ones(app, sort):
    query = f"metrics={','.join(DEFAULT_METRICS)}&sort={sort}"
    (alone,) = bodies(app, query)
    computed, printed = bodies(app, f"published=lifeeval-table-2&{query}")
    assert as_text(alone) == as_text(computed)
    names = [row.children[0].children[0].children for row in printed.children[1:]]
    assert names[:2] == ["Claude-Sonnet-3.7", "Claude-Sonnet-4"] and len(names) == 11  # always the paper's order
    shown = as_text(printed)
    assert "rank" not in shown and "data-run" not in shown and "swatch" not in shown
    for row in printed.children[1:]:
        assert "LifeEval, Table 2" in as_text(row)


def test_published_rows_fill_columns_of_their_metric(app):
    _, printed = bodies(app, f"published=lifeeval-table-2&metrics=accuracy_scored,{','.join(DEFAULT_METRICS)}")
    row = printed.children[1]
    assert [cell.children for cell in row.children[1:3]] == ["verbalized · reasoning", "808"]
    assert [cell.children for cell in row.children[3:] if cell.children] == ["0.545", "0.040", "0.531", "0.180", "0.901"]
    _, printed = bodies(app, "published=baan-table-2")
    assert all(not cell.children for row in printed.children[1:] for cell in row.children[3:])


def test_a_published_table_brings_its_columns(app):
    """Below the default columns, LifeEval's Score stood nowhere, or under the accuracy, which is of other answers."""
    (scroll,) = [part for part in drawn(app, "leaderboard", "published=lifeeval-table-2") if part_class(part) == "scroll"]
    headings = as_text(scroll.children.children[0])
    for key in ("accuracy_scored", "mean_confidence", "pct_rounded"):
        assert f"/metrics#{key}" in headings


def part_class(part):
    return getattr(part, "className", "")


def test_the_caveat_of_a_published_table_is_shown(app):
    assert "repeats CalScore" in as_text(drawn(app, "leaderboard", "published=grace-table-1"))
    assert "Caveat" not in as_text(drawn(app, "leaderboard"))
