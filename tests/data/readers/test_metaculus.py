"""Exports of Metaculus: the last forecast of each forecaster before the close, and series of forecasts."""

import csv
import shutil
from pathlib import Path

import pytest

from clueline.data.importing.report import Refused
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows

QUESTION = {
    "Question ID": "1", "Question Title": "Will it rain?", "Question Type": "binary", "MC Options (Current)": "",
    "MC Options (All)": "",
    "Open Time": "", "Actual Close Time": "2024-06-01 00:00:00+00:00", "Resolution": "yes",
}  # fmt: skip
FORECAST = {
    "Question ID": "1", "Forecaster ID": "7", "Forecaster Username": "ann", "Start Time": "2024-05-01 00:00:00+00:00",
    "End Time": "", "Probability Yes": "0.25", "Probability Yes Per Category": "", "Continuous CDF": "",
}  # fmt: skip
ANSWERS = "select model, question_id, guess, confidence, r.correct from responses r join runs using (run) order by 1, 2"


def export(folder, questions, forecasts):
    folder.mkdir(parents=True)
    for name, template, made in (("question_data", QUESTION, questions), ("forecast_data", FORECAST, forecasts)):
        with (folder / f"{name}.csv").open("w", newline="") as out:
            writer = csv.DictWriter(out, template)
            writer.writeheader()
            writer.writerows(template | row for row in made)
    return folder


def test_the_last_forecast_before_the_close_counts(store, tmp_path):
    forecasts = [
        {"End Time": "2024-05-02T00:00:00Z"}, {"Start Time": "2024-05-02T00:00:00Z", "Probability Yes": "0.75"},
        {"Start Time": "2024-06-02 00:00:00", "Probability Yes": "1.0"},
        {"Forecaster ID": "8", "End Time": "2024-05-03 00:00:00+00:00"},
        {"Forecaster ID": "", "Forecaster Username": "recency_weighted", "Probability Yes": "0.5"},
        {"Question ID": "2", "Probability Yes": "0.125"},
    ]  # fmt: skip
    folder = export(tmp_path / "export", [{}, {"Question ID": "2", "Resolution": "no"}], forecasts)
    report = bundles.put(store, Path(shutil.make_archive(tmp_path / "e", "zip", folder)))
    assert rows(store, "select dataset, classes from datasets") == [("metaculus", ["yes", "no"])]
    assert rows(store, "select question_id, text, answer from questions order by 1") == [
        ("1", "Will it rain?", "yes"), ("2", "Will it rain?", "no"),
    ]  # fmt: skip
    assert rows(store, ANSWERS) == [
        ("aggregate recency_weighted", "1", "yes", 0.5, 1.0), ("forecaster 7", "1", "yes", 0.75, 1.0),
        ("forecaster 7", "2", "yes", 0.125, 0.0),
    ]  # fmt: skip
    assert [warning.partition(": ")[2] for warning in report.warnings] == [
        "1 forecast left out: made after the question closed",
        "1 forecast left out: changed by the forecaster before the close",
        "1 forecast left out: withdrawn before the close",
    ]


def test_choices_have_whole_distributions(tried, tmp_path):
    choice = {"Question Type": "multiple_choice", "MC Options (Current)": "['red', \"blue\"]", "Resolution": "blue"}
    export(tmp_path / "export", [choice], [{"Probability Yes": "", "Probability Yes Per Category": "[0.25, 0.75]"}])
    tried(tmp_path / "export")
    assert tried.rows(ANSWERS) == [("forecaster 7", "1", "blue", 0.75, 1.0)]


@pytest.mark.parametrize("missing", ["None", "nan"])
def test_forecasts_have_a_share_of_each_option_ever_offered(tried, tmp_path, missing):
    """As the README of the export says: an option that did not exist yet has None, and a removed option keeps its share."""
    choice = {
        "Question Type": "multiple_choice", "MC Options (Current)": "['nan bread', 'blue']",
        "MC Options (All)": "['red', 'nan bread', 'blue']", "Resolution": "blue",
    }  # fmt: skip
    shares = f"[0.25, {missing}, 0.75]"
    tried(export(tmp_path / "e", [choice], [{"Probability Yes": "", "Probability Yes Per Category": shares}]))
    assert tried.rows(ANSWERS) == [("forecaster 7", "1", "blue", 0.75, 1.0)]
    assert tried.rows("select options from responses") == [([0.25, 0.0, 0.75],)]


def test_parts_of_an_export_that_are_left_out_are_counted(tried, tmp_path):
    questions = [
        {"Question Type": "Binary"}, {"Question Type": "Binary"}, {"Question ID": "2", "Resolution": "annulled"},
        {"Question ID": "3", "Resolution": ""}, {"Question ID": "4", "Question Type": "numeric", "Resolution": "12.5"},
    ]  # fmt: skip
    others = [{"Question ID": number} for number in "9234"] + [{"Forecaster ID": "8", "Probability Yes": ""}]
    report = tried(export(tmp_path / "export", questions, [{}, *others]), dataset="mine")
    assert report.repaired == {"questions that are in the file twice, counted once": 1}
    assert [warning.partition(": ")[2] for warning in report.warnings] == [
        "1 question left out: not resolved",
        "1 question left out: annulled or resolved as ambiguous",
        "1 question left out: asking for a number or a date",
        "1 forecast left out: the question is not in question_data.csv",
        "1 forecast left out: states no probability",
    ]
    assert tried.rows("select dataset, question_id from questions") == [("mine", "1")]


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda folder: (path := folder / "forecast_data.csv").write_text(path.read_text() + "1,8\n"),
         "line 3, value '1,8': 2 fields where the header has 8"),
        (lambda folder: shutil.copytree(folder, folder / "again"), "there are several forecast_data.csv in it"),
        (lambda folder: (folder / "question_data.csv").unlink(),
         "there is no question_data.csv in it; import the whole export"),
    ],
)  # fmt: skip
def test_exports_that_are_not_whole_are_refused(store, tmp_path, spoil, reason):
    spoil(folder := export(tmp_path / "export", [{}], [{}]))
    assert reason in str(bundles.refusal(store, folder))


def test_names_of_users_are_not_stored(tried, tmp_path):
    folder = export(tmp_path / "export", [{}], [{}])
    text = (folder / "forecast_data.csv").read_text()
    anonymous = text.replace("Forecaster ID,Forecaster Username", "Forecaster (Anonymized)").replace("7,ann", "ab" * 32)
    (folder / "forecast_data.csv").write_text(anonymous)
    tried(folder)
    assert tried.rows("select model from runs") == [("forecaster abababababab",)]


SERIES = """select model, r.question_id, clue, guess, confidence, r.correct from responses r join runs using (run)
    order by 1, 2, 3"""


def test_a_series_has_the_forecast_in_force_at_each_moment(tried, tmp_path):
    """Four moments of a question that was open for eight days, compared with what a reader of the rows would say."""
    opened = {"Open Time": "2024-05-24 00:00:00+00:00"}
    forecasts = [
        {"Start Time": "2024-05-25 00:00:00+00:00", "Probability Yes": "0.25", "End Time": "2024-05-27 00:00:00+00:00"},
        {"Start Time": "2024-05-27 00:00:00+00:00", "Probability Yes": "0.5"},
        {"Start Time": "2024-05-31 12:00:00+00:00", "Probability Yes": "0.75"},
        {"Start Time": "2024-06-02 00:00:00+00:00", "Probability Yes": "1"},
        {"Forecaster ID": "8", "Start Time": "2024-05-24 12:00:00+00:00", "End Time": "2024-05-29 00:00:00+00:00"},
        {"Question ID": "2", "Start Time": "2024-05-28 00:00:00+00:00", "Probability Yes": "0.125"},
    ]
    folder = export(tmp_path / "export", [opened, {"Question ID": "2", "Resolution": "no"}], forecasts)
    tried(folder, series=4)
    assert tried.rows("select dataset, kind from datasets") == [("metaculus-series", "forecast")]
    assert tried.rows("select clue, text, revealed from clues where question_id = '1' order by 1") == [
        (0, "Will it rain? (after 25 % of the time until it closed)", 0.25), (1, "after 50 % of the time until it closed", 0.5),
        (2, "after 75 % of the time until it closed", 0.75), (3, "after 100 % of the time until it closed", 1.0),
    ]  # fmt: skip
    # Moments of the first question: 26, 28, 30 May and 1 June. The second question opens with its first forecast.
    assert tried.rows(SERIES) == [
        ("forecaster 7", "1", 0, "yes", 0.25, 1.0), ("forecaster 7", "1", 1, "yes", 0.5, 1.0),
        ("forecaster 7", "1", 2, "yes", 0.5, 1.0), ("forecaster 7", "1", 3, "yes", 0.75, 1.0),
        *(("forecaster 7", "2", clue, "yes", 0.125, 0.0) for clue in range(4)),
        ("forecaster 8", "1", 0, "yes", 0.25, 1.0), ("forecaster 8", "1", 1, "yes", 0.25, 1.0),
    ]  # fmt: skip


def test_a_series_of_choices_has_the_most_likely_option(tried, tmp_path):
    choice = {"Question Type": "multiple_choice", "MC Options (Current)": "['red', \"blue\"]", "Resolution": "blue"}
    forecasts = [
        {"Probability Yes": "", "Probability Yes Per Category": cell, "Start Time": start}
        for start, cell in (("2024-05-01 00:00:00+00:00", "[0.75, 0.25]"), ("2024-05-20 00:00:00+00:00", "[0.125, 0.875]"))
    ]
    tried(export(tmp_path / "export", [choice], forecasts), series=2)
    assert tried.rows(SERIES) == [
        ("forecaster 7", "1", 0, "red", 0.75, 0.0), ("forecaster 7", "1", 1, "blue", 0.875, 1.0),
    ]  # fmt: skip


def test_a_series_can_be_imported_again(store, tmp_path):
    folder = export(tmp_path / "export", [{}], [{}])
    bundles.put(store, folder, series=3)
    version = store.version()
    bundles.put(store, folder, series=3)
    assert store.version() == version
    with pytest.raises(Refused):  # other moments make other clues
        bundles.put(store, folder, series=5)


def test_questions_that_never_closed_have_no_series(tried, tmp_path):
    questions = [{}, {"Question ID": "2", "Actual Close Time": ""}]
    report = tried(export(tmp_path / "export", questions, [{}, {"Question ID": "2"}]), series=2)
    assert any("1 forecast left out: the question has no closing time" in warning for warning in report.warnings)
    assert {row[1] for row in tried.rows(SERIES)} == {"1"}


@pytest.mark.parametrize(
    ("questions", "forecasts", "reason"),
    [
        ([{"Resolution": "perhaps"}], [{}], "must be one of: yes, no"),
        ([{}], [{"Start Time": "yesterday"}], "must be a time, such as 2024-05-01 12:00:00+00:00"),
        ([{"Actual Close Time": "soon"}], [{}], "must be a time, such as 2024-05-01 12:00:00+00:00"),
        ([{}], [{"End Time": "never"}], "must be a time, such as 2024-05-01 12:00:00+00:00"),
        ([{}], [{"Start Time": ""}], "a value is required here"),
        ([{}, {"Resolution": "annulled"}], [{}], "question 1 has a different resolution in line 2"),
        ([{}], [{"Probability Yes": "25"}], "must lie in [0, 1]"),
        ([{}], [], "there is no answer in this log"),
        ([{"Resolution": ""}], [{}], "no question of this export was resolved to yes, no or an option"),
        ([{"Question Type": "multiple_choice", "MC Options (Current)": "['yes', 'no']"}],
         [{"Probability Yes Per Category": "[0.5]"}],
         "must be a list of 2 probabilities, one for each option of the question"),
    ],
)  # fmt: skip
def test_exports_that_cannot_be_read(store, tmp_path, questions, forecasts, reason):
    assert bundles.reasons(store, export(tmp_path / "export", questions, forecasts)) == [reason]
