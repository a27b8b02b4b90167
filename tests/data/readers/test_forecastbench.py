"""ForecastBench: resolution sets become datasets, forecast sets become runs of one or more forecasters."""

import json

import pytest

from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows
from tests.helpers.evaluation_logs import forecasts, resolutions

ANSWERS = "select model, question_id, guess, confidence, r.correct from responses r join runs using (run) order by 1, 2"
RESOLVED = resolutions(
    ("GDP", "2024-08-01", 1.0, True), ("GDP", "2024-09-01", 0.0, True), ("market", "2024-08-15", 1.0, True),
    ("later", "2030-01-01", 0.4, False), ("half", "2024-08-01", 0.5, True),
)  # fmt: skip


def write(path, document):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    return path


@pytest.fixture
def resolved(tmp_path):
    return write(tmp_path / "sets" / "2024-07-21_resolution_set.json", RESOLVED)


def test_resolved_questions_make_a_dataset(tried, resolved):
    report = tried(resolved)
    assert tried.rows("select dataset, title, kind, classes from datasets") == [
        ("forecastbench-2024-07-21", "ForecastBench 2024-07-21", "forecast", ["yes", "no"])
    ]
    assert tried.rows("select question_id, text, answer, category from questions order by 1") == [
        ("GDP 2024-08-01", "fred: GDP, on 2024-08-01", "yes", "fred"),
        ("GDP 2024-09-01", "fred: GDP, on 2024-09-01", "no", "fred"),
        ("market 2024-08-15", "fred: market, on 2024-08-15", "yes", "fred"),
    ]  # fmt: skip
    assert report.warnings == ["2024-07-21_resolution_set.json: 2 questions left out: not resolved to yes or no"]


def test_a_dataset_of_an_earlier_version_is_replaced(store, resolved, tmp_path):
    """Its runs stay, and their likelier sides make the difficulties: both forecasts were right."""
    names = ("GDP 2024-08-01", "GDP 2024-09-01", "market 2024-08-15")
    questions = "question_id,answer\n" + "".join(f"{name},{'no' if '09' in name else 'yes'}\n" for name in names)
    facts = {"dataset": "forecastbench-2024-07-21", "kind": "single"}
    responses = f"question_id,guess,confidence,model\n{names[0]},yes,0.7,A\n{names[1]},yes,0.2,A\n"
    bundles.put(store, bundles.write(tmp_path / "old", facts, questions=questions, clues=None, responses=responses))
    assert [problem.hint for problem in bundles.refusal(store, resolved).problems] == ["replace"]
    bundles.put(store, resolved, replace=True)
    assert rows(store, "select kind from datasets") == [("forecast",)]
    assert rows(store, "select model from runs where withdrawn_at is null") == [("A",)]
    assert rows(store, "select difficulty from questions order by 1 nulls last") == [(0.0,), (0.0,), (None,)]


def test_forecasts_are_probabilities_of_yes(store, resolved, tmp_path):
    bundles.put(store, resolved)
    made = forecasts(
        ("GDP", "2024-08-01", 0.75), ("GDP", "2024-09-01", 0.25), ("market", None, 0.5), ("later", None, 0.5),
    )  # fmt: skip
    bundles.put(store, write(tmp_path / "forecasts.json", made))
    assert rows(store, ANSWERS) == [
        ("GPT", "GDP 2024-08-01", "yes", 0.75, 1.0), ("GPT", "GDP 2024-09-01", "yes", 0.25, 0.0),
        ("GPT", "market 2024-08-15", "yes", 0.5, 1.0),
    ]  # fmt: skip
    assert rows(store, "select options from responses where question_id = 'GDP 2024-09-01'") == [([0.25, 0.75],)]
    assert json.loads(rows(store, "select skipped from runs")[0][0]) == {"the question is not resolved to yes or no": 1}


def test_a_folder_can_hold_sets_of_each_kind(tried, resolved):
    folder = resolved.parent
    people = forecasts(
        ("market", None, 0.5, "s1"), ("market", None, 0.75, "s2"), ("market", None, 0.25, "s1"),
        ("GDP", "2024-08-01", None, "s1"),
        model="People",
    )  # fmt: skip
    write(folder / "2024-07-21.people.json", people)
    write(folder / "2024-07-21-llm.json", {
        "forecast_due_date": "2024-07-21", "question_set": "x", "questions": [{"id": "market", "question": "Will it?"}],
    })  # fmt: skip
    report = tried(folder)
    assert tried.rows(ANSWERS) == [
        ("People: s1", "GDP 2024-08-01", None, 0.0, 0.0), ("People: s1", "market 2024-08-15", "yes", 0.25, 1.0),
        ("People: s2", "market 2024-08-15", "yes", 0.75, 1.0),
    ]  # fmt: skip
    assert tried.rows("select text from questions where question_id like 'market%'") == [("Will it? (resolved 2024-08-15)",)]
    assert report.repaired == {"forecasts that a forecaster later changed; the last one counts": 1}


def test_forecasters_of_a_set_without_a_model_keep_names(tried, resolved, tmp_path):
    made = forecasts(("GDP", "2024-08-01", 0.5, 0), ("GDP", "2024-08-01", 0.75, 1))
    tried(resolved, write(tmp_path / "f.json", {key: made[key] for key in made if key != "model"}))
    assert tried.rows("select model from runs order by 1") == [("0",), ("1",)]


def test_combinations_have_a_key_of_their_own(tried, tmp_path):
    pairs = [
        {"id": ["a", "b"], "direction": signs, "source": "fred", "resolution_date": "2024-08-01"} for signs in ([1, -1], [1, 1])
    ]
    resolved = resolutions() | {"resolutions": [pair | {"resolved_to": 1.0, "resolved": True} for pair in pairs]}
    made = forecasts() | {"forecasts": [pair | {"forecast": 0.25} for pair in pairs[:1]]}
    tried(write(tmp_path / "r.json", resolved), write(tmp_path / "f.json", made))
    assert [row[1] for row in tried.rows(ANSWERS)] == ["+a -b 2024-08-01"]
    assert tried.rows("select count(*) from questions") == [(2,)]


BAD_SETS = [
    (forecasts(("GDP", "2024-08-01", 1.5)), "must lie in [0, 1]"),
    (forecasts(("GDP", "2024-08-01", "likely")), "must be a number"),
    (forecasts(("GDP", "2020-08-01", 0.5)),
     "there is no answer in this log; 1 time: the question is not resolved to yes or no"),
    (forecasts(("GDP", "2024-08-01", 0.5), model=None), "which model answered? The log does not say"),
    (forecasts((None, "2024-08-01", 0.5)), "a forecast needs an id"),
    (forecasts(("GDP", "2024-08-01", 0.5), due="2025-01-01"),
     "there is no dataset 'forecastbench-2025-01-01' for these answers; import the resolution set of this round "
     "first, or with it"),
    (resolutions(("GDP", "2024-08-01", 0.4, False)), "none of its questions (1) is resolved to yes or no"),
    (resolutions(("GDP", None, 1.0, True)), "a resolution needs an id and a resolution_date"),
]  # fmt: skip


def test_sets_that_cannot_be_read(store, resolved, tmp_path):
    bundles.put(store, resolved)
    for made, reason in BAD_SETS:
        assert bundles.reasons(store, write(tmp_path / "set.json", made)) == [reason]
