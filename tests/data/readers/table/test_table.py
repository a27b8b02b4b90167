"""Foreign tables, written by hand: what each spelling of a cell and each shape of a file becomes."""

import gzip
import json
import shutil
from dataclasses import replace
from importlib import import_module

import polars as pl
import pytest

from clueline.data.importing.column_mapping import (
    BadMapping,
    ColumnMapping,
    as_toml,
    named_mapping,
    offered_mappings,
    read_mapping,
    read_pattern,
    read_words,
)
from clueline.data.importing.report import Refused
from clueline.data.readers import table as reader
from clueline.data.store import open_store
from clueline.data.store.files import StoreFiles
from clueline.data.store.kept_mappings import keep_mapping
from clueline.data.store.scopes import Viewer
from tests.helpers.bundle_factory import content, put, refusal, table
from tests.helpers.study_tables import write_workbook

ROWS = [
    {"question": "Which river?", "gold": "Nile", "prediction": "Nile", "confidence": "0.9", "correct": "yes"},
    {"question": "Which city?", "gold": "Paris", "prediction": "Rome", "confidence": "0.4", "correct": "no"},
    {"question": "Which sea?", "gold": "Red Sea", "prediction": "Dead Sea", "confidence": "", "correct": "no"},
]

SCALES_OF_10 = ("confidence_of_10", "confidence_of_100", "certainty")  # what numbers up to 10 can be


def answers(store, report):
    snapshot = store.snapshot()
    columns = "question_id, guess, confidence, correct, state"
    return snapshot.rows(f"select {columns} from {snapshot.responses(report.runs)} order by question_id, sample")


def write(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(table(rows), encoding="utf-8")
    return path


def with_ids(*rows):
    return [{"id": f"q{n}", **row} for n, row in enumerate(rows)]


def stated(spellings):
    return with_ids(*({"confidence": text, "correct": "01"[n % 2]} for n, text in enumerate(spellings)))


def confidences(read, path, spellings, **options):
    return [row[2] for row in read(write(path, stated(spellings)), **options).answers]


def asked(read, path, rows=None, **options):
    """Return what is asked about a table, which ``rows`` give if it is not written yet: columns, hints and choices."""
    with pytest.raises(Refused) as refused:
        read(path if rows is None else write(path, rows), **options)
    return [(problem.column, problem.hint, problem.choices) for problem in refused.value.problems]


def test_a_table_becomes_a_dataset_and_a_run(store, tmp_path):
    report = put(store, write(tmp_path / "rivers.csv", with_ids(*ROWS)), dataset="my-rivers", title="Rivers", model="m")
    assert report.datasets == ["my-rivers"]
    assert store.snapshot().rows("select title, kind from datasets") == [("Rivers", "single")]
    assert store.snapshot().rows("select text, answer from questions order by 1") == [
        ("Which city?", "Paris"), ("Which river?", "Nile"), ("Which sea?", "Red Sea"),
    ]  # fmt: skip
    assert answers(store, report) == [
        ("q0", "Nile", 0.9, 1, None), ("q1", "Rome", 0.4, 0, None), ("q2", "Dead Sea", None, 0, "no_confidence"),
    ]  # fmt: skip
    assert "rivers.csv: confidence: confidence (by its name, and its numbers are between 0 and 1)" in report.lines


def test_short_words_with_digits_are_ids_of_questions(store, tmp_path):
    """As in the first file of README, where no text of a question is stated."""
    rows = [{"model": "alpha", "question": name, "confidence": ".9", "correct": "1"} for name in ("q1", "geo/12")]
    report = put(store, write(tmp_path / "in.csv", rows))
    assert [question for question, *_ in answers(store, report)] == ["geo/12", "q1"]
    assert store.snapshot().rows("select text from questions") == [(None,)] * 2


def test_a_dataset_without_a_files_questions_is_refused(store, tmp_path):
    """The refusal names the dataset that has them, by ids or by texts, and that the file can become a new one."""
    put(store, write(tmp_path / "asked.csv", ROWS))
    put(store, write(tmp_path / "other.csv", with_ids(*({"confidence": ".5", "correct": "1"} for _ in range(3)))))
    for dataset, rows, value, fitting in (
        ("other", ROWS, "Which river?", ("asked", "+")),
        ("asked", [{"question": f"q{n}", "confidence": ".9", "correct": "1"} for n in range(3)], "q0", ("other", "+")),
        ("asked", [{"question": f"z{n}", "confidence": ".9", "correct": "1"} for n in range(3)], "z0", ("+",)),
    ):
        (problem,) = refusal(store, write(tmp_path / "in.csv", rows), dataset=dataset).problems
        assert (problem.value, problem.column, problem.hint, problem.choices) == (value, "question", "dataset", fitting)
        assert problem.reason.startswith(f"dataset {dataset!r} has none of the 3 questions of this file")


def test_questions_without_ids_are_named_by_their_texts(store, tmp_path):
    first = put(store, write(tmp_path / "a.csv", ROWS), model="a")
    second = put(store, write(tmp_path / "b.csv", ROWS[::-1]), model="b")
    assert (first.datasets, second.datasets) == (["a"], [])
    assert "b.csv: its questions are those of dataset a" in second.lines
    assert [row[0] for row in answers(store, first)] == [row[0] for row in answers(store, second)]


@pytest.mark.parametrize("name", ["stem", "q"])
def test_short_questions_are_recognised(read, tmp_path, name):
    rows = [{name: row["question"], "model": model} | row for model in ("m1", "m2") for row in ROWS]
    rows = [{key: cell for key, cell in row.items() if key != "question"} for row in rows]
    reading = read(write(tmp_path / "in.csv", rows))
    assert reading.rows("select count(*), count(distinct text) from questions_read") == [(3, 3)]


def test_a_column_that_every_model_answers_is_asked_about(read, tmp_path):
    """Otherwise each row would be a question of its own, and no two models would share one."""
    rows = [{"stem": "ABC"[n], "model": model, "confidence": row["confidence"], "correct": n % 2, "gold": row["gold"]}
        for model in ("m1", "m2") for n, row in enumerate(ROWS)]  # fmt: skip
    assert asked(read, tmp_path / "in.csv", rows) == [("stem", "column", ("question_id=stem", "attribute=stem"))]
    reading = read(tmp_path / "in.csv", columns=(("question_id", "stem"),))
    assert reading.rows("select question_id from questions_read order by 1") == [("A",), ("B",), ("C",)]


def test_a_later_table_adds_questions_and_changes_none(store, tmp_path):
    put(store, write(tmp_path / "a.csv", with_ids(*ROWS[:2])), dataset="geo", model="a")
    assert store.snapshot().rows("select title from datasets") == [("geo",)]
    put(store, write(tmp_path / "b.csv", with_ids(*ROWS)), dataset="geo", model="b")
    assert store.snapshot().rows("select question_id from questions order by 1") == [("q0",), ("q1",), ("q2",)]
    other = [row | {"gold": "Loire"} for row in ROWS]
    with pytest.raises(Refused, match="different"):
        put(store, write(tmp_path / "c.csv", with_ids(*other, ROWS[0])), dataset="geo", model="c")


@pytest.mark.parametrize(
    ("spellings", "expected"),
    [
        ([".5", ",85", "1", "0"], [0.5, 0.85, 1, 0]),
        (["85 %", "40%", "5%", "100 %"], [0.85, 0.4, 0.05, 1]),
        (["85", "40", "5", "100"], [0.85, 0.4, 0.05, 1]),
        (["85%", ".4", "0.05", "100%"], [0.85, 0.4, 0.05, 1]),
        (["1.0000000000000002", "-1e-17", "0.5", "0.25"], [1, 0, 0.5, 0.25]),
    ],
)
def test_spellings_of_confidences(read, tmp_path, spellings, expected):
    reading = read(write(tmp_path / "in.csv", stated(spellings)))
    assert [row[2] for row in reading.answers] == expected
    assert reading.report.repaired.total() == sum(text.startswith(("1.00", "-")) for text in spellings)


@pytest.mark.parametrize(
    ("spellings", "hint", "choices"),
    [
        (["85", "0.4", "5", "100"], "percent", ()),
        (["2.5", "5", "9", "10"], "column", tuple(f"{role}=confidence" for role in SCALES_OF_10)),
        (["10", "1", "5", "9", "5"], "words", ("1=?", "5=?", "9=?", "10=?")),
        (["0.5", "-1", "0.7"], "words", ("-1=none",)),
        (["50", "-1", "70"], "words", ("-1=none",)),
        (["0.85", "0.4", "1", "0"], "unit", ()),
    ],
)
def test_an_unclear_scale_is_asked(read, tmp_path, spellings, hint, choices):
    path = write(tmp_path / "in.csv", stated(spellings))
    assert asked(read, path, percent=hint == "unit") == [("confidence", hint, choices)]
    if hint == "percent":
        shares = confidences(read, tmp_path / "in.csv", spellings, percent=True)
        assert shares == [float(text) / 100 for text in spellings]


@pytest.mark.parametrize(
    ("spellings", "words", "means"),
    [
        (["1", "3", "5", "3"], {"1": 0.1, "3": 0.5, "5": 0.9}, [0.1, 0.5, 0.9, 0.5]),
        (["0.5", "-1", "0.7"], {"-1": None}, [0.5, None, 0.7]),
        (["50", "-1", "70%"], {"-1": None}, [0.5, None, 0.7]),
        (["4", "-1", "2", "3"], {"-1": None, "2": 0.2, "3": 0.3, "4": 0.4}, [0.4, None, 0.2, 0.3]),
    ],
)
def test_points_of_a_scale_mean_what_is_stated(read, tmp_path, spellings, words, means):
    """They do not mean this as grades."""
    reading = read(write(tmp_path / "in.csv", stated(spellings)), words=tuple(words.items()))
    assert [row[2:4] for row in reading.answers] == [(share, n % 2) for n, share in enumerate(means)]


def test_one_number_out_of_range_makes_no_percentages(store, tmp_path):
    """Otherwise every other confidence would be divided by 100, in silence."""
    rows = [row | {"question": f"{row['question']} {n}", "confidence": "0.9"} for n in range(10) for row in ROWS]
    rows[7]["confidence"] = "95"
    refused = refusal(store, write(tmp_path / "in.csv", rows))
    assert [(problem.column, problem.value) for problem in refused.problems] == [("confidence", "95.0")]


def test_words_mean_what_is_stated(read, tmp_path):
    words = ["Sure", " unsure ", "sure", "unsure"]
    assert asked(read, tmp_path / "in.csv", stated(words)) == [("confidence", "words", ("sure=?", "unsure=?"))]
    assert confidences(read, tmp_path / "in.csv", words, words=(("sure", 0.9), ("unsure", 0.3))) == [0.9, 0.3, 0.9, 0.3]


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        ("judge", "True", "False"), ("judge", "ja", "nein"), ("judge", "C", "I"), ("judge", "1.0", "0.0"),
        ("judge", "x [RESULT] 0 [RESULT] 1", "fine [RESULT] 0"),
        ("is_wrong", "0", "1"), ("incorrect", "no", "yes"), ("hallucinated", "0", "yes"), ("falsch", "no", "1"),
    ],
)  # fmt: skip
def test_spellings_of_correctness(read, tmp_path, name, right, wrong):
    rows = with_ids(*({"confidence": f"0.{n + 1}", name: right if n < 3 else wrong} for n in range(5)))
    reading = read(write(tmp_path / "in.csv", rows))
    assert [row[3] for row in reading.answers] == [1, 1, 1, 0, 0]


def test_a_grade_can_say_that_nothing_was_attempted(read, tmp_path):
    grades = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED", "INCORRECT")
    rows = with_ids(*({"problem": "Which?", "answer": "Nile", "predicted_answer": text, "grade": grade, "confidence": "80%"}
                      for text, grade in zip(("Nil", "Nile!", "I cannot say", "No."), grades, strict=True)))  # fmt: skip
    rows = [row | {"problem": f"Which {row['id']}?"} for row in rows]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[2:] for row in reading.answers] == [(0.8, 1, None), (0.8, 0, None), (None, None, "abstained"), (0.8, 0, None)]


def test_grades_in_words_mean_what_is_stated(read, tmp_path):
    """C would be correct in a log of Inspect; in a table with A and B, it may be anything."""
    rows = [
        {"problem": f"Which {n}?", "target": f"Nile {n}", "response": "Nil", "grade": "ABC"[n % 3], "confidence": "0.5"}
        for n in range(9)
    ]
    path = write(tmp_path / "in.csv", with_ids(*rows))
    assert asked(read, path) == [("grade", "words", ("a=?", "b=?", "c=?"))]
    assert asked(read, path, words=(("a", 1.0), ("b", 0.0))) == [("grade", "words", ("c=?",))]
    reading = read(path, words=(("a", 1.0), ("b", 0.0), ("c", None)))
    assert [row[3:] for row in reading.answers] == [(1, None), (0, None), (None, "abstained")] * 3


def test_letters_are_compared(read, tmp_path):
    pairs = [("(B)", "A or B"), ("b.", "B (the second)"), ("C", "A"), ("IDK", "A"), ("", "B")]
    rows = with_ids(*({"prediction": guess, "gold": gold, "confidence": "0.5"} for guess, gold in pairs))
    reading = read(write(tmp_path / "in.csv", rows))
    assert [row[3:] for row in reading.answers] == [
        (1, None), (1, None), (0, None), (None, "abstained"), (None, "unparsed"),
    ]  # fmt: skip


def test_columns_of_confidence_are_runs_of_one_model(read, tmp_path):
    rows = with_ids(*({"p_true": f"0.{n}", "verbal confidence": f"{n}0%", "hit": n % 2} for n in range(1, 9)))
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert reading.runs == [("m", "p_true"), ("m", "verbal confidence")]


def test_days_are_runs_and_tags(store, tmp_path):
    rows = [row | {"day": day} for day in ("2026-01-02", "2026-02-03") for row in with_ids(*ROWS)]
    put(store, write(tmp_path / "in.csv", rows), model="m")
    assert store.snapshot().rows("select elicitation, value from runs join tags using (run) order by 2") == [
        ("verbalized", "2026-01-02"), ("verbalized", "2026-02-03"),
    ]  # fmt: skip


def test_told_thresholds_are_samples_and_an_attribute(read, tmp_path):
    rows = [row | {"threshold": told} for told in ("0.25", "0.5") for row in with_ids(*ROWS)]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    imported = reading.rows("select distinct sample, attributes from responses_read order by 1")
    assert imported == [("threshold 0.25", {"threshold": "0.25"}), ("threshold 0.5", {"threshold": "0.5"})]


def test_answers_that_nothing_tells_apart_are_asked_about(read, tmp_path):
    rows = [row | {"zeta": way} for way in ("north", "south") for row in with_ids(*ROWS)]
    choices = ("model=zeta", "elicitation=zeta", "sample=zeta")
    assert asked(read, tmp_path / "in.csv", rows, model="m") == [("zeta", "repeats", choices)]
    assert read(tmp_path / "in.csv", columns=(("elicitation", "zeta"),), model="m").runs == [("m", "north"), ("m", "south")]


def test_several_columns_of_correctness_are_asked_about(read, tmp_path):
    rows = with_ids(*({"confidence": f"0.{n}", "correct": n % 2, "accurate": n % 3 == 0} for n in range(1, 9)))
    assert asked(read, tmp_path / "in.csv", rows) == [(None, "column", ("correct=correct", "correct=accurate"))]
    reading = read(tmp_path / "in.csv", columns=(("correct", "accurate"),))
    assert [row[3] for row in reading.answers] == [0, 0, 1, 0, 0, 1, 0, 0]


def test_names_that_say_nothing_are_asked_about(read, tmp_path):
    rows = [{"x1": f"0.{n}", "x2": n % 2} for n in range(1, 9)]
    assert [choices for _, _, choices in asked(read, tmp_path / "in.csv", rows)] == [("correct=x2",), ("confidence=x1",)]
    reading = read(tmp_path / "in.csv", columns=(("confidence", "x1"), ("correct", "x2")))
    assert len(reading.answers) == 8


def test_a_column_that_is_stated_must_exist(read, tmp_path):
    with pytest.raises(Refused, match="there is no such column; the file has: question, gold"):
        read(write(tmp_path / "in.csv", ROWS), columns=(("confidence", "p"),))


def test_a_kept_mapping_is_offered_and_used_only_if_it_is_named(read, tmp_path):
    rows = [{"x1": f"0.{n}", "x2": n % 2} for n in range(1, 9)]
    first = read(write(tmp_path / "in.csv", rows), columns=(("confidence", "x1"), ("correct", "x2")))
    (mapping,) = first.report.mappings
    written = as_toml(ColumnMapping("lab", mapping.columns, mapping.roles, {"sure": 0.9}, True))
    files = StoreFiles(tmp_path / "kept")
    keep_mapping(files, "lab", written, "owner:ann", "ann")
    kept = named_mapping(files, "lab", Viewer("ann"))
    roles = {"correct": ("x2",), "confidence": ("x1",)}
    assert kept == ColumnMapping("lab", ("x1", "x2"), roles, {"sure": 0.9}, True, owner="ann")
    path = write(tmp_path / "later.csv", [{"x2": n % 2, "x1": f"{n}0"} for n in range(1, 9)])
    with pytest.raises(Refused) as refused:
        read(path, offered=offered_mappings(files, Viewer("ann")), dataset="later")
    assert refused.value.advice[-1:] == [
        "later.csv: the mapping lab of ann fits these columns, and was not used; name it to use it."
    ]
    reading = read(path, mapping=kept, dataset="later")
    assert reading.report.lines[:1] == [
        "later.csv: read as in the mapping lab of ann, with the words sure=0.9, with confidences from 0 to 100"
    ]
    assert "later.csv: confidence: x1 (as in the mapping lab of ann)" in reading.report.lines
    assert [row[2] for row in reading.answers] == [n / 10 for n in range(1, 9)]


def test_only_what_a_mapping_would_change_is_offered(read, tmp_path):
    """A mapping that turns right into wrong changes no file that says which is which."""
    rows = with_ids(*({"confidence": f"0.{n}", "ok": int(n < 7)} for n in range(1, 9)))
    path = write(tmp_path / "in.csv", rows)
    first = read(path, columns=(("correct", "ok"),))
    (mapping,) = first.report.mappings
    same = replace(mapping, name="same", owner="ann", restated=frozenset())
    turned = {"wrong": ("ok",), **{role: columns for role, columns in mapping.roles.items() if role != "correct"}}
    wrong = replace(same, name="turned", roles=turned)
    again = read(path, columns=(("correct", "ok"),), offered=(same, wrong), dataset="again")
    offers = [warning for warning in again.report.warnings if "mapping" in warning]
    assert offers == ["in.csv: the mapping turned of ann fits these columns, and was not used"]
    assert "mapping" in again.report.hints and [row[3] for row in again.answers] == [row[3] for row in first.answers]
    named = read(path, mapping=wrong, columns=(("correct", "ok"),), dataset="named")
    assert "in.csv: correct: ok (as stated)" in named.report.lines, "what the analyst states counts"


@pytest.mark.parametrize(("encoding", "delimiter"), [("utf-8-sig", ";"), ("utf-16", "\t"), ("cp1252", "|")])
def test_encodings_and_delimiters(read, tmp_path, encoding, delimiter):
    rows = [ROWS[0] | {"gold": "Köln", "prediction": "Köln"}, *ROWS[1:]]
    lines = ["Ergebnisse", *(delimiter.join(row.values()) for row in [dict(zip(rows[0], rows[0], strict=True)), *rows])]
    (tmp_path / "in.txt").write_text("\r\n".join(lines), encoding=encoding)
    reading = read(tmp_path / "in.txt", model="m")
    assert "Köln" in [row[1] for row in reading.answers]
    assert any("read as cp1252" in warning for warning in reading.report.warnings) == (encoding == "cp1252")


def nested(rows):
    return [{"sample": {"input": row["question"], "target": row["gold"]}, "output": row | {"list": [1, 2]}} for row in rows]


SHAPES = {
    "lines.jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in nested(rows)).encode(),
    "packed.jsonl.gz": lambda rows: gzip.compress("".join(json.dumps(row) + "\n" for row in nested(rows)).encode()),
    "list.json": lambda rows: json.dumps(nested(rows), indent=1).encode(),
    "object.json": lambda rows: json.dumps({"model": "m", "results": nested(rows)}).encode(),
    "columns.json": lambda rows: json.dumps({name: [row[name] for row in rows] for name in rows[0]}).encode(),
    "rows.csv": lambda rows: table(rows).encode(),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_of_files(read, tmp_path, name):
    (tmp_path / name).write_bytes(SHAPES[name](ROWS))
    reading = read(tmp_path / name, model="m")
    assert sorted(row[1:4] for row in reading.answers) == [("Dead Sea", None, 0), ("Nile", 0.9, 1), ("Rome", 0.4, 0)]


PLACES = [("Which river?", "Nile"), ("Which city?", "Rome"), ("Which sea?", "Dead Sea"), ("Which lake?", "Baikal")]


def promptfoo(form):
    """Results of two providers as promptfoo writes them as JSON or JSON Lines: the second is wrong about every question."""
    rows = [
        {"id": f"{n}-{provider}", "promptIdx": n, "testIdx": place, "testCase": {"vars": {"question": q, "expected": a}},
         "provider": {"id": provider, "label": ""}, "prompt": {"raw": f"Answer: {q}", "label": "Answer: {{question}}"},
         "vars": {"question": q, "expected": a}, "response": {"output": f"The {a}" if n == 0 else "no idea", "cached": False},
         "error": None, "failureReason": n, "success": n == 0, "score": 1 - n, "latencyMs": 12, "namedScores": {}, "cost": 0.1,
         "gradingResult": {"pass": n == 0, "score": 1 - n, "reason": "All assertions passed" if n == 0 else "no"}}
        for place, (q, a) in enumerate(PLACES) for n, provider in enumerate(("openai:gpt", "lab:other"))
    ]  # fmt: skip
    if form == "json":
        return json.dumps({"evalId": "e", "results": {"version": 3, "prompts": [], "results": rows, "stats": {}}, "config": {}})
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_results_of_promptfoo_are_right_and_wrong(read, tmp_path, form):
    (tmp_path / f"results.{form}").write_text(promptfoo(form))
    reading = read(tmp_path / f"results.{form}")
    assert reading.rows("select text, answer from questions_read order by ordinal") == PLACES
    assert reading.rows("select distinct model, elicitation, correct, state from responses_read order by 1") == [
        ("lab:other", "no confidence", 0, "no_confidence"), ("openai:gpt", "no confidence", 1, "no_confidence"),
    ]  # fmt: skip


@pytest.mark.parametrize("metric", ["exact_match/v1", "confidence"])
def test_results_of_mlflow_are_split_into_columns_and_data(read, tmp_path, metric):
    """With as many rows as columns, too: these are no columns by name."""
    columns = ["inputs", "ground_truth", "outputs", metric, "toxicity/v1/score"][: 4 if metric == "confidence" else 5]
    rows = [[q, a, "Rome", value, 0.01 * value][: len(columns)] for (q, a), value in zip(PLACES, (0, 1, 0, 0), strict=True)]
    (tmp_path / "eval_results_table.json").write_text(json.dumps({"columns": columns, "data": rows}))
    reading = read(tmp_path / "eval_results_table.json", model="m")
    stated = sorted(row[2] if metric == "confidence" else row[3] for row in reading.answers)
    assert stated == [0, 0, 0, 1]


def test_parquet_with_nested_columns(read, tmp_path):
    pl.DataFrame(nested(ROWS)).write_parquet(tmp_path / "in.parquet")
    reading = read(tmp_path / "in.parquet", model="m")
    assert sorted(row[1:4] for row in reading.answers) == [("Dead Sea", None, 0), ("Nile", 0.9, 1), ("Rome", 0.4, 0)]


def test_a_folder_of_tables(store, tmp_path):
    folder = tmp_path / "runs"
    write(folder / "alpha.csv", ROWS)
    write(folder / "beta.csv", [row | {"confidence": "0.25"} for row in ROWS])
    shutil.copy(folder / "alpha.csv", folder / "copy of alpha.csv")
    (folder / "readme.md").write_text("These are our results.\n")
    (folder / "config.json").write_text('{"temperature": 0, "seed": 1}')
    report = put(store, folder)
    assert store.snapshot().rows("select dataset, model from runs order by 2") == [("runs", "alpha"), ("runs", "beta")]
    assert any("the same as runs/alpha.csv, read once" in line for line in report.lines)
    assert any(warning.endswith("were skipped: runs/*.json, runs/readme.md") for warning in report.warnings)


def test_forecasts_have_outcomes(read, tmp_path):
    rows = [
        {"title": "x", "question": f"Will it rain on day {n}?", "forecast": f"0.{n}", "resolution": text}
        for n, text in enumerate(["yes", "no", "", "yes"], start=1)
    ]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert reading.rows("select kind from datasets_read") == [("forecast",)]
    assert reading.rows("select answer from questions_read order by ordinal") == [("yes",), ("no",), ("yes",)]
    assert sorted(row[1:3] for row in reading.answers) == [("yes", 0.1), ("yes", 0.2), ("yes", 0.4)]


def test_options_have_a_column_each(read, tmp_path):
    shares = [("A", "0.7", "0.2", "0.1"), ("B", "0.25", "0.5", "0.25"), ("C", "0.1", "0.1", "0.8")]
    rows = with_ids(*({"prediction": g, "gold": "A", "prob_A": a, "prob_B": b, "prob_C": c} for g, a, b, c in shares))
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    distributions = [json.dumps(dict(zip("ABC", map(float, row[1:]), strict=True))) for row in shares]
    assert [(*row[2:4], *options) for row, options in zip(reading.answers, reading.options, strict=True)] == [
        (0.7, 1, distributions[0]), (0.5, 0, distributions[1]), (0.8, 0, distributions[2]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keys", "cells"),
    [
        ("012", lambda shares: {f"prob_{n}": share for n, share in enumerate(shares)}),
        ("012", lambda shares: {"probs": json.dumps(shares)}),
        ("ABC", lambda shares: {"class probabilities": str([*shares])}),
        ("ABC", lambda shares: {"softmax": json.dumps(dict(zip("ABC", shares, strict=True)))}),
    ],
)
def test_without_guesses_the_most_probable_option_is_one(read, tmp_path, keys, cells):
    """An option that is never right is one, too."""
    shares = [(0.2, 0.7, 0.1), (0.5, 0.25, 0.25), (0.1, 0.1, 0.8)]
    rows = [{"y_true": keys[right], **cells(row)} for right, row in zip((1, 1, 0), shares, strict=True)]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[1:4] for row in reading.answers] == [(keys[1], 0.7, 1), (keys[0], 0.5, 0), (keys[2], 0.8, 0)]
    assert [json.loads(options) for (options,) in reading.options] == [dict(zip(keys, row, strict=True)) for row in shares]


@pytest.mark.parametrize(
    ("labels", "name"), [(("1", "0"), "prob_positive"), (("1", "0"), "prob_1"), (("toxic", "safe"), "prob_toxic")]
)
def test_of_two_options_one_column_is_enough(read, tmp_path, labels, name):
    """Taken as confidences, the probabilities of one class would be those of the other guesses turned round."""
    predicted = ((0, 0.9, 0), (1, 0.2, 1), (1, 0.3, 0), (0, 0.6, 1)) * 3
    rows = with_ids(*({"gold": labels[right], "prediction": labels[guess], name: p} for guess, p, right in predicted))
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    imported = sorted({row[1:4] for row in reading.answers}, key=str)
    expected = sorted(
        {(labels[guess], p if guess == 0 else 1 - p, float(guess == right)) for guess, p, right in predicted}, key=str
    )
    assert imported == expected


@pytest.mark.parametrize(
    ("labels", "name"), [(("spam", "ham"), "prob_positive"), (("spam", "ham"), "class_1_prob"), (("True", "False"), "p_true")]
)
def test_a_probability_of_one_class_is_asked_about(read, tmp_path, labels, name):
    rows = with_ids(*({"gold": labels[n % 2], "prediction": labels[n % 3 % 2], name: f"0.{n + 1}"} for n in range(12)))
    (asked_about,) = asked(read, tmp_path / "in.csv", rows)
    assert asked_about[:2] == (name, "column") and f"confidence={name}" in asked_about[2]


def test_lists_of_what_people_said_are_no_probabilities(read, tmp_path):
    rows = with_ids(*({"gold": "AB"[n % 2], "prediction": "AB"[n % 3 % 2], "human_distribution": "[0.5, 0.5]"} for n in range(8)))
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert {row[4] for row in reading.answers} == {"no_confidence"}


def test_a_header_may_leave_out_the_name_of_an_index(read, tmp_path):
    (tmp_path / "in.csv").write_text(",acc,conf\n" + "".join(f"{n},{n % 2},0.{n + 1}\n" for n in range(8)))
    assert [row[2] for row in read(tmp_path / "in.csv").answers] == [(n + 1) / 10 for n in range(8)]


def test_numbers_instead_of_names_of_columns_are_refused(read, tmp_path):
    (tmp_path / "in.csv").write_text("".join(f"0.{n + 1},{n % 2}\n" for n in range(8)))
    with pytest.raises(Refused, match="put a line such as confidence,correct above it"):
        read(tmp_path / "in.csv")


def test_the_most_probable_option_is_the_guess(read, tmp_path):
    """Where this explains what is right, as in the tables that the program of MMLU writes, with few names of columns."""
    header = ",".join([*map(str, range(6)), "small_correct", *(f"small_choice{letter}_probs" for letter in "ABCD")])
    rows = [("A", "A", 0.5), ("B", "C", 0.7), ("C", "C", 0.4), ("A", "D", 0.6)]
    lines = [
        f"Which word is {n}?,w,x,y,z,{key},{key == guess}," + ",".join(str(p if guess == x else (1 - p) / 3) for x in "ABCD")
        for n, (key, guess, p) in enumerate(rows)
    ]
    (tmp_path / "law.csv").write_text("\n".join([header, *lines]))
    reading = read(tmp_path / "law.csv", model="small")
    assert sorted(row[1:4] for row in reading.answers) == [("A", 0.5, 1), ("C", 0.4, 1), ("C", 0.7, 0), ("D", 0.6, 0)]


def test_a_message_where_nothing_was_answered_is_a_failed_call(read, tmp_path):
    """Counted as answers that could not be read, these would be wrong ones."""
    failed = [n % 3 == 0 for n in range(9)]
    rows = [
        {"gold": "Nile", "guess": "" if f else "Nile", "confidence": "" if f else "0.5", "error": "Timeout" if f else ""}
        for f in failed
    ]
    retried = [row | {"guess": "Nile", "confidence": "0.5"} for row in rows]
    for dataset, lines, expected in (("once", rows, failed), ("retried", retried, [False] * 9)):
        reading = read(write(tmp_path / f"{dataset}.csv", with_ids(*lines)), model="m", dataset=dataset)
        assert [failed for (failed,) in reading.rows("select failed from responses_read order by question_id")] == expected


def test_failed_calls_have_no_answer(read, tmp_path):
    rows = with_ids(*(row | {"failed": row["confidence"] == ""} for row in ROWS), ROWS[0] | {"failed": False})
    rows[2]["prediction"] = rows[2]["correct"] = ""
    reading = read(write(tmp_path / "in.csv", rows))
    failed = reading.rows("select failed from responses_read order by question_id")
    assert failed == [(False,), (False,), (True,), (False,)]


def test_attributes_stay_those_of_what_they_were(store, tmp_path):
    """A column looks like a fact about questions only where questions are answered several times."""
    rows = [row | {"level": level} for row, level in zip(with_ids(*ROWS), ["hard", "easy", "hard"], strict=True)]
    put(store, write(tmp_path / "a.csv", rows), dataset="geo", model="a")
    put(store, write(tmp_path / "b.csv", [row | {"trial": n} for n in (1, 2) for row in rows]), dataset="geo", model="b")
    put(store, write(tmp_path / "c.csv", [row | {"trial": n} for n in (1, 2) for row in rows]), dataset="sea", model="b")
    put(store, write(tmp_path / "d.csv", rows), dataset="sea", model="a")
    assert store.snapshot().rows("select distinct dataset, attribute from attributes") == [("sea", "level")]
    assert store.snapshot().rows("select distinct dataset, attribute from response_attributes order by 1") == [("geo", "level")]


@pytest.mark.parametrize(("sheets", "models"), [(("alpha", "beta"), ["alpha", "beta"]), (("Sheet1", "Sheet2"), None)])
def test_sheets_of_a_workbook(read, tmp_path, sheets, models):
    pytest.importorskip("python_calamine")
    rows = [row.values() for row in with_ids(*ROWS)]
    write_workbook(tmp_path / "in.xlsx", {sheet: [["id", *ROWS[0]], *rows] for sheet in sheets})
    if models is None:
        choices = ("model=sheet", "elicitation=sheet", "sample=sheet")
        assert asked(read, tmp_path / "in.xlsx") == [("sheet", "repeats", choices)]
        return
    assert [model for model, _ in read(tmp_path / "in.xlsx").runs] == models


def test_answers_without_any_confidence_are_kept(read, tmp_path):
    """They are a run of accuracy, unless a column could be a confidence: then it is asked whether it is one."""
    rows = [{key: cell for key, cell in row.items() if key != "confidence"} for row in with_ids(*ROWS)]
    reading = read(write(tmp_path / "in.csv", rows), model="m")
    assert [row[2:] for row in reading.answers] == [(None, right, "no_confidence") for right in (1, 0, 0)]
    assert reading.runs == [("m", "no confidence")]
    assert any("no column holds a confidence" in warning for warning in reading.report.warnings)
    scored = [row | {"energy": f"{n}.5"} for n, row in enumerate(rows)]
    with pytest.raises(Refused, match="a measure of uncertainty"):
        read(write(tmp_path / "scored.csv", scored), model="m")
    assert len(read(tmp_path / "scored.csv", model="m", columns=(("attribute", "energy"),)).answers) == 3


SCORED = [
    {
        "id": f"q{n}",
        "correct": "10"[n % 2],
        "entropy": f"{n / 2}",
        "mean logprob": f"-{n}.5",
        "energy": f"{n}",
        "cosine": f".{n}1",
    }
    for n in range(4)
]


def without(*names):
    return [{key: cell for key, cell in row.items() if key not in names} for row in SCORED]


def test_scores_are_runs_and_kept_as_they_are(store, tmp_path):
    report = put(store, write(tmp_path / "a.csv", without("cosine")))
    snapshot = store.snapshot()
    sql = "select elicitation, state, confidence, attributes::varchar from {} r join runs using (run) order by all"
    rows = snapshot.rows(sql.format(snapshot.responses(report.runs)))
    ranks = [1 / 5, 2 / 5, 3 / 5, 4 / 5]
    assert [(row[0], row[2]) for row in rows] == [(name, rank) for name in ("entropy", "mean logprob") for rank in ranks]
    assert {row[1] for row in rows} == {"scored"}
    assert (rows[0][3], rows[-1][3]) == ("{energy=3, uncertainty=1.5}", "{certainty=-0.5, energy=0}")
    assert {*report.hints} == {"map", "model"}


def test_what_else_could_be_a_score_is_named(read, tmp_path):
    reading = read(write(tmp_path / "a.csv", without("mean logprob", "energy")))
    assert "a.csv: cosine: kept as attributes; these could be confidences or scores as well" in reading.report.warnings
    assert read(tmp_path / "a.csv", columns=(("certainty", "cosine"),), model="m").runs == [("m", "cosine")]


@pytest.mark.parametrize(("name", "numbers"), [("energy", "{}"), ("confidence", "-{}.5"), ("certainty", "{}5000")])
def test_the_direction_of_a_score_is_asked(read, tmp_path, name, numbers):
    rows = [{"id": row["id"], "correct": row["correct"], name: numbers.format(n)} for n, row in enumerate(SCORED)]
    assert asked(read, tmp_path / "a.csv", rows) == [(name, "column", (f"certainty={name}", f"uncertainty={name}"))]
    assert read(tmp_path / "a.csv", columns=(("uncertainty", name),)).runs == [("a", name)]


OUTPUTS = [
    {"question": "Which river?", "gold": "Nile", "output": "The Nile. **Confidence:** 85%"},
    {"question": "Which city?", "gold": "Paris", "output": "Rome (confidence: 40 %)"},
    {"question": "Which sea?", "gold": "Red Sea", "output": "First I said Confidence: 10%.\nDead Sea, Confidence: 55.5%"},
    {"question": "Which lake?", "gold": "Chad", "output": "no idea"},
]


def test_a_pattern_finds_the_confidence_in_an_output(read, tmp_path):
    """The usual pattern is offered. Where it is the guess that states one, this is no part of the answer."""
    path = write(tmp_path / "a.csv", with_ids(*OUTPUTS))
    report = read(path).report
    offer = "a.csv: 3 of the first 4 texts of output state a confidence, as in 'Confidence: {percent}'"
    assert offer in report.warnings and "pattern" in report.hints
    reading = read(path, confidence_pattern="Confidence: {percent}")
    texts = ["The Nile.", "Rome", "First I said .\nDead Sea", "no idea"]
    assert [row[1:3] for row in reading.answers] == [*zip(texts, [0.85, 0.4, 0.555, None], strict=True)]
    assert reading.runs == [("a", "verbalized")] and reading.answers[3][4] == "no_confidence"


def test_a_pattern_is_offered_where_guesses_hold_the_confidence(read, tmp_path):
    """Read as they are, these outputs are never the reference answer."""
    rivers = ("Po", "Elbe", "Nile", "Loire") * 5
    rows = [{"question": f"No. {n}?", "gold": name, "output": f"{name}. Confidence: {n + 10}%"} for n, name in enumerate(rivers)]
    path = write(tmp_path / "outputs.csv", with_ids(*rows))
    with pytest.raises(Refused, match=r"agree in no row; .* as in 'Confidence: \{percent\}'") as refused:
        read(path)
    assert refused.value.problems[0].hint == "pattern"
    reading = read(path, confidence_pattern="Confidence: {percent}")
    assert sorted(row[2:4] for row in reading.answers) == [((n + 10) / 100, 1) for n in range(20)]


def test_a_column_of_confidences_in_texts_is_asked_about(read, tmp_path):
    rows = with_ids(*({"confidence": f"I am 0.{n + 10} sure", "correct": n % 2} for n in range(20)))
    assert asked(read, tmp_path / "in.csv", rows) == [("confidence", "pattern", ())]
    reading = read(tmp_path / "in.csv", confidence_pattern="{share} sure")
    assert sorted(row[2] for row in reading.answers) == [(n + 10) / 100 for n in range(20)]


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [("{share} sure", "no column states a confidence"), ("Confidence: {percent}", "these are no percentages: use {share}")],
)
def test_a_pattern_that_does_not_fit_is_refused(read, tmp_path, pattern, reason):
    rows = [row | {"output": f"Nile. Confidence: 0.{n}"} for n, row in enumerate(OUTPUTS)]
    with pytest.raises(Refused, match=reason):
        read(write(tmp_path / "a.csv", with_ids(*rows)), confidence_pattern=pattern)


def test_a_kept_mapping_has_the_pattern(read, tmp_path):
    path = write(tmp_path / "a.csv", with_ids(*OUTPUTS))
    first = read(path, confidence_pattern="Confidence: {percent}")
    (tmp_path / "lab.toml").write_text(as_toml(first.report.mappings[0]), encoding="utf-8")
    assert read(path, mapping=read_mapping(tmp_path / "lab.toml"), dataset="again").answers == first.answers


@pytest.mark.parametrize("text", ["Confidence", "{percent}", "{share} {percent}", "Confidence: {score}", "x" * 99 + "{share}"])
def test_what_is_no_pattern(text):
    with pytest.raises(BadMapping, match="is no pattern"):
        read_pattern(text)


@pytest.mark.parametrize("text", ["sure", "sure=", "=.5", "sure=-.1", "sure=1.1", "sure=101%", "sure=.5,,", "sure=None?"])
def test_what_are_no_words(text):
    with pytest.raises(BadMapping, match="not of the form WORD=SHARE"):
        read_words(text)


@pytest.mark.parametrize("share", [-0.1, 1.1, "often"])
def test_a_mapping_whose_words_mean_no_shares_is_refused(tmp_path, share):
    (tmp_path / "lab.toml").write_text(f"[words]\nsure = {share!r}\n")
    with pytest.raises(BadMapping, match="lab"):
        read_mapping(tmp_path / "lab.toml")


RIGHT = {"gpt-4o": (1, 0, 1), "llama-3.1": (0, 1, 1)}  # of each model, by question
SURE = {"gpt-4o": (0.9, 0.4, 0.7), "llama-3.1": (0.6, 0.8, 0.3)}
KEYS = ("A", "C", "B")
COLUMNS_OF_MODELS = {  # what the columns of a model are called, and what they hold
    "at the end": lambda m, n: {f"{m}_answer": KEYS[n] if RIGHT[m][n] else "D", f"{m}_confidence": SURE[m][n]},
    "at the start": lambda m, n: {f"confidence {m}": SURE[m][n], f"correct {m}": RIGHT[m][n]},
    "nested": lambda m, n: {f"predictions.{m}.answer": KEYS[n] if RIGHT[m][n] else "D", f"predictions.{m}.prob": SURE[m][n]},
    "answers": lambda m, n: {m: KEYS[n] if RIGHT[m][n] else "D"},
    "grades": lambda m, n: {m: RIGHT[m][n]},
}


@pytest.mark.parametrize("kind", COLUMNS_OF_MODELS)
def test_columns_of_models_become_runs(read, tmp_path, kind):
    cells = [COLUMNS_OF_MODELS[kind]("gpt-4o", n) | COLUMNS_OF_MODELS[kind]("llama-3.1", n) for n in range(3)]
    rows = [{"id": f"q{n}", "question": f"Which one is {n}?", "answer": KEYS[n], "note": n} | cells[n] for n in range(3)]
    reading = read(write(tmp_path / "wide.csv", rows))
    sure = SURE if kind not in ("answers", "grades") else dict.fromkeys(SURE, (None,) * 3)
    expected = [(m, RIGHT[m][n], sure[m][n]) for m in RIGHT for n in range(3)]
    assert reading.rows("select model, correct, confidence from responses_read order by model, question_id") == expected


def test_predictions_of_a_list_have_rows_of_their_own(read, tmp_path):
    lines = [
        {
            "id": f"q{n}",
            "target": KEYS[n],
            "choices": [{"label": "A", "text": "one"}, {"label": "B", "text": "two"}],
            "predictions": [{"model": m, "prediction": KEYS[n] if RIGHT[m][n] else "D", "conf": SURE[m][n]} for m in RIGHT],
        }
        for n in range(3)
    ]
    path = tmp_path / "nested.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    expected = sorted((SURE[m][n], RIGHT[m][n]) for m in RIGHT for n in range(3))
    assert sorted(row[2:4] for row in read(path).answers) == expected


def test_lists_of_responses_hold_samples(read, tmp_path):
    responses = [[("Nile", 0.9), ("Po", 0.2)], [("Rome", 0.4), ("Oslo", 0.8)]]
    records = [
        {"id": f"q{n}", "prompt": f"Which {n}?", "gold": pair[0][0], "responses": [{"text": t, "conf": p} for t, p in pair]}
        for n, pair in enumerate(responses)
    ]
    (tmp_path / "in.json").write_text(json.dumps(records))
    reading = read(tmp_path / "in.json", model="m", repeats="samples")
    assert sorted(row[1:3] for row in reading.answers) == [("Nile", 0.9), ("Oslo", 0.8), ("Po", 0.2), ("Rome", 0.4)]


def test_the_last_turns_of_a_conversation_are_read(read, tmp_path):
    turns = [
        [("system", "Be brief."), ("user", f"Which {n}?"), ("assistant", f"Nile {n}. Confidence: {n}0%")] for n in range(1, 9)
    ]
    lines = [
        {"messages": [{"role": role, "content": text} for role, text in turn], "ideal": "Po", "correct": 0} for turn in turns
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    reading = read(tmp_path / "in.jsonl", model="m", confidence_pattern="Confidence: {percent}")
    assert sorted(row[1:3] for row in reading.answers) == [(f"Nile {n}.", n / 10) for n in range(1, 9)]
    assert reading.rows("select text, answer from questions_read order by text limit 1") == [("Which 1?", "Po")]


@pytest.mark.parametrize(
    ("columns", "choices"),
    [
        ({"pred": "1", "label": "01", "confidence": "0.5"}, ("answer=label", "correct=label")),
        ({"label": "dog", "top1": "dog", "top1_prob": "0.5"}, ("guess=top1",)),
        ({"guess": "dog", "rubric_score": "0.25", "confidence": "0.5"}, ("correct=rubric_score",)),
        (
            {"question": "Which?", "model": "m", "correct": "1", "confidence": "0.5", "style": "ab"},
            ("elicitation=style", "sample=style"),
        ),
    ],
)
def test_only_what_can_be_meant_is_offered(read, tmp_path, columns, choices):
    rows = [{"id": f"q{n // 2}" if "style" in columns else f"q{n}"} | columns for n in range(8)]
    rows = [{name: text[n % 2] if text in ("ab", "01") else text for name, text in row.items()} for n, row in enumerate(rows)]
    assert choices in [problem[2] for problem in asked(read, tmp_path / "in.csv", rows)]


def test_columns_of_an_unknown_series_are_asked_about(read, tmp_path):
    rows = [
        {"id": f"q{n}", "calm_conf": f"0.{n + 1}", "calm_correct": n % 2, "keen_conf": "0.9", "keen_correct": 1} for n in range(4)
    ]
    path = write(tmp_path / "wide.csv", rows)
    column = "series named by columns"
    assert asked(read, path) == [(column, "column", (f"model={column}", f"elicitation={column}"))]
    assert [model for model, _ in read(path, columns=(("model", column),)).runs] == ["calm", "keen"]


def test_names_in_the_plural(read, tmp_path):
    path = tmp_path / "lists.json"
    path.write_text(json.dumps({"questions": ["a?", "b?"], "preds": ["x", "y"], "confidences": [0.2, 0.9], "correct": [0, 1]}))
    assert [row[2:4] for row in read(path).answers] == [(0.2, 0), (0.9, 1)]


GUESSES, HITS = ("B", "A", "idk", "", "C", " a "), (True, True, False, False, False, True)
SHARES, SPELLED = ("85 %", "40%", "n/a", "10 %", ""), {True: ("ja", "1", "TRUE"), False: ("NEIN", "no", "wrong")}
LARGE = [
    {"qid": f"q{n}", "prompt": f"Which is {n}?", "gold": "BA"[n % 2], "llm": model, "prediction": GUESSES[n % 6],
     "p_true": f"0,{n + 1}" if k else "1,0000000000000002", "note": (n + k) % 4,
     "stated_conf": SHARES[(n + k) % 5], "hit": SPELLED[HITS[n % 6]][(n + k) % 3]}
    for k, model in enumerate(("m1", " m2", "m3")) for n in range(12)
]  # fmt: skip


@pytest.mark.parametrize("left_out", [(), ("prompt", "gold"), ("prediction", "llm", "stated_conf")])
def test_a_large_csv_is_the_same_as_a_small_one(tmp_path, monkeypatch, left_out):
    """It is read in place, with roles by a sample of its rows."""
    rows = [{key: cell for key, cell in row.items() if key not in left_out} for row in LARGE[: 12 if "llm" in left_out else None]]
    path = write(tmp_path / "in.csv", rows)
    stores = [open_store(tmp_path / name) for name in ("small", "large")]
    options = {"columns": (("attribute", "note"),), "dataset": "set" if "prompt" in left_out else None}
    put(stores[0], path, **options)
    monkeypatch.setattr(import_module("clueline.data.readers.table.read"), "LARGE", 0)
    monkeypatch.setattr(reader, "stage", None)  # which would read it as a whole
    put(stores[1], path, **options)
    assert content(stores[0]) == content(stores[1])


def test_what_cannot_be_read_in_place_is_said(read, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("clueline.data.readers.table.read"), "LARGE", 0)
    rows = [row | {"crashed": n % 2} for n, row in enumerate(LARGE)]
    with pytest.raises(Refused, match="at most 256 MiB, for it has a column for failed; split it into several files"):
        read(write(tmp_path / "in.csv", rows), columns=(("failed", "crashed"),))


def test_a_contradiction_in_a_large_csv_is_refused(read, tmp_path, monkeypatch):
    monkeypatch.setattr(import_module("clueline.data.readers.table.read"), "LARGE", 0)
    with pytest.raises(Refused, match="question 'q3' has different values"):
        read(write(tmp_path / "in.csv", [row | {"gold": row["gold"] if n != 3 else "C"} for n, row in enumerate(LARGE)]))
