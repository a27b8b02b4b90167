"""Responses: runs, their ids and names, and where confidence and correctness come from."""

import random

import polars as pl
import pytest

from clueline.data.store.run_withdrawal import withdraw
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows


def test_values_are_stored_unchanged(store, folder, monkeypatch):
    """Those of a run that is imported with its questions, in a time zone where it is tomorrow already."""
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    texts = ["  Paris ", 'a "b", c', "zwei\r\nZeilen", "\u6771\u4eac \U0001f5fc", "x" * 100_000]
    confidences = [0.1 + 0.2, 5e-324, 1 / 3, 0.0, 1.0]
    places = [("q1", 0), ("q1", 1), ("q1", 2), ("q2", 0), ("q2", 1)]
    frame = pl.DataFrame(
        {
            "question_id": [q for q, _ in places], "clue": [c for _, c in places], "guess": texts, "confidence": confidences,
            "correct": [True, False, True, False, True], "token_logprobs": [[-0.1, -0.0], [-1e-300], None, [-700.0], [0.0]],
            "options": ['{"a":0.25,"b":0.75}', None, '{"b":1,"a":0}', '{"a":0.9995}', None],
        },
        schema_overrides={"token_logprobs": pl.List(pl.Float64)},
    )  # fmt: skip
    path = folder.parent / "run.parquet"
    frame.write_parquet(path)
    bundles.put(store, bundles.write(folder), path, dataset="toy", model="m")
    assert rows(
        store,
        """select question_id, clue, guess, confidence, correct, graded, token_logprobs, options, option_names from responses
        order by question_id, clue""",
    ) == [
        ("q1", 0, texts[0], confidences[0], 1.0, "file", [-0.1, -0.0], [0.25, 0.75], ["a", "b"]),
        ("q1", 1, texts[1], confidences[1], 0.0, "file", [-1e-300], None, None),
        ("q1", 2, texts[2], confidences[2], 1.0, "file", None, [1.0, 0.0], ["b", "a"]),
        ("q2", 0, texts[3], confidences[3], 0.0, "file", [-700.0], [0.9995], ["a"]),
        ("q2", 1, texts[4], confidences[4], 1.0, "file", [0.0], None, None),
    ]
    assert rows(store, "select model, questions, abs(epoch(imported_at) - epoch(now())) < 600 from runs") == [("m", 2, True)]


def test_several_runs_in_one_file(store, folder):
    text = bundles.table(
        [
            row | {"model": model, "elicitation": elicitation}
            for model, elicitation in (("zeta", "logit"), ("alpha", ""), ("zeta", "verbalized"))
            for row in bundles.records(bundles.RESPONSES)
            if model == "zeta" or row["question_id"] == "q2"
        ]
    )
    report = bundles.put(store, bundles.write(folder, responses=text), elicitation="said", by="somebody")
    assert rows(
        store,
        "select position, model, elicitation, items, questions, missing_questions, imported_by, file_name from runs order by 1",
    ) == [
        (0, "zeta", "logit", 5, 2, 0, "somebody", "toy/responses/run.csv"),
        (1, "alpha", "said", 2, 1, 1, "somebody", "toy/responses/run.csv"),
        (2, "zeta", "verbalized", 5, 2, 0, "somebody", "toy/responses/run.csv"),
    ]
    assert report.runs == [run for (run,) in rows(store, "select run from runs order by position")]
    assert f"run {report.runs[1]} (alpha, said, toy): 2 items of 1 question imported; 1 question not answered" in report.lines


def test_a_run_is_stored_once_under_any_file_name(store, folder, tmp_path):
    bundles.put(store, bundles.write(folder, responses=bundles.RESPONSES), model="m")
    version, run = store.version(), rows(store, "select run, sha256[:16] from runs")[0]
    assert run[0] == run[1]
    for name in ("again.csv", "again.jsonl"):
        assert bundles.put_file(
            store, tmp_path / name, bundles.in_format(bundles.RESPONSES, name.partition(".")[2]), dataset="toy", model="m"
        ).runs == [run[0]]
    assert store.version() == version
    for options in ({"model": "m2"}, {"model": "m", "elicitation": "logit"}):
        assert bundles.put(store, tmp_path / "again.csv", dataset="toy", **options).runs != [run[0]]
    assert len(rows(store, "from runs")) == 3
    withdraw(store, run[0], by=None)
    assert bundles.put(store, folder, model="m").lines[-1].endswith("already there, but withdrawn")


def test_confidences_in_percent(tried, folder):
    text = bundles.RESPONSES.replace("0.25", "25").replace("0.5", "50").replace("0.75", "7.5e1").replace(",1\n", ",100\n")
    tried(bundles.write(folder, responses=text), model="m", percent=True)
    assert [c for (c,) in tried.rows("select confidence from responses order by question_id, clue")] == [
        0.25,
        0.5,
        1.0,
        0.0,
        0.75,
    ]


def test_file_names_with_special_characters(toy, tmp_path):
    names = (
        "run[1].csv", "run*.csv", "run?.csv", "run {a,b} 'q' \"d\" %20.csv", "$path.csv", "run.csv.gz",
        "confidence=0/run[1].parquet",
    )  # fmt: skip
    for n, name in enumerate((*names, "run1.csv", "confidence=0/run1.parquet")):  # the last two are what a pattern would match
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        text = f"question_id,clue,confidence,guess,model\nq1,0,0.25,answer {n},{n}\n"
        path.write_bytes(bundles.in_format(text, "parquet" if name.endswith("parquet") else "csv"))
    bundles.put(toy, *(tmp_path / name for name in names), dataset="toy")
    stored = rows(toy, "select model, guess, confidence, file_name from responses join runs using (run) order by position")
    assert stored == [(str(n), f"answer {n}", 0.25, name.rpartition("/")[2]) for n, name in enumerate(names)]


# -- confidence and correctness from elsewhere -----------------------------------------------------------------------

SINGLE = {"dataset": "single", "kind": "single"}
ONE = "question_id,answer\ns1,yes\n"


def answered(store, folder, answers, facts=SINGLE):
    """Import an answer to each of as many questions. Return the columns of each and the warnings of the report."""
    questions = bundles.table([{"question_id": f"s{n}", "answer": "yes"} for n in range(len(answers))])
    text = bundles.table([{"question_id": f"s{n}"} | answer for n, answer in enumerate(answers)])
    report = bundles.put(store, bundles.write(folder, facts, questions=questions, clues=None, responses=text), model="m")
    columns = ("guess", "confidence", "correct", "graded", "options", "option_names", "elicitation")
    stored = rows(store, f"select {', '.join(columns)} from responses join runs using (run) order by question_id")
    return [dict(zip(columns, row, strict=True)) for row in stored], report.warnings


def test_token_logprobs_give_the_mean_probability(store, folder):
    ((stored,), _) = answered(store, folder, [{"guess": "yes", "token_logprobs": "[-0.5, -1, 0]"}])
    assert stored["confidence"] == pytest.approx((0.6065306597126334 + 0.36787944117144233 + 1) / 3, abs=1e-15)
    assert stored["elicitation"] == "token"


CLASSES = SINGLE | {"classes": ["no", "yes", "maybe"]}


@pytest.mark.parametrize(
    ("facts", "normalised", "cases"),
    [
        (SINGLE, 3, [
            ("yes", '{"yes": 0.25, "no": 0.75}', [0.25, 0.75], ["yes", "no"], 0.25),
            ("", '{"yes": 0.25, "no": 0.75}', [0.25, 0.75], ["yes", "no"], 0.75),
            ("", '{"yes": 2, "no": 6}', [0.25, 0.75], ["yes", "no"], 0.75),
            ("yes", '{"yes": 0.25, "no": 0.7509}', [0.25, 0.7509], ["yes", "no"], 0.25),
            ("yes", '{"yes": 0.25, "no": 0.7512}', [0.25 / 1.0012, 0.7512 / 1.0012], ["yes", "no"], 0.25 / 1.0012),
            ("yes", '{"yes": 1.0005}', [1.0], ["yes"], 1.0),
            ("yes", '{"yes": 0.25, "no": 0.75, "else": null}', [0.25, 0.75], ["yes", "no"], 0.25),
        ]),
        (CLASSES, 1, [
            ("yes", '{"yes": 0.25, "no": 0.75}', [0.75, 0.25, 0.0], None, 0.25),
            ("", "[0.25, 0.5, 0.25]", [0.25, 0.5, 0.25], None, 0.5),
            ("no", "[1, 2, 1]", [0.25, 0.5, 0.25], None, 0.25),
        ]),
        (CLASSES, 0, [("yes", "[0.25, 0.5, 0.25]", [0.25, 0.5, 0.25], None, 0.5)]),
    ],
    ids=["own options", "classes", "nothing to normalise"],
)  # fmt: skip
def test_options(store, folder, facts, normalised, cases):
    answers = [{"guess": guess, "options": options} for guess, options, *_ in cases]
    stored, warnings = answered(store, folder, answers, facts)
    for row, (guess, _, shares, names, confidence) in zip(stored, cases, strict=True):
        assert (row["options"], row["confidence"]) == (pytest.approx(shares, rel=1e-15), pytest.approx(confidence, rel=1e-15))
        assert row["option_names"] == names
        assert row["guess"] == (guess or ("no" if facts is SINGLE else "yes"))
    warning = f"distributions in `options` that did not sum to 1 and were normalised: {normalised}"
    assert warnings == ([warning] if normalised else [])


def test_options_as_lists_and_structs_of_parquet(tried, folder):
    bundles.write(folder, CLASSES, questions=ONE, clues=None)
    pl.DataFrame({"question_id": ["s1"], "options": [[0.25, 0.5, 0.25]]}).write_parquet(folder / "responses" / "list.parquet")
    pl.DataFrame(
        {"question_id": ["s1"], "options": [{"no": 0.25, "yes": 0.75, "maybe": None}], "model": ["other"]}
    ).write_parquet(folder / "responses" / "struct.parquet")
    tried(folder, model="m")
    assert tried.rows("select options from responses join runs using (run) order by model") == [
        ([0.25, 0.5, 0.25],),
        ([0.25, 0.75, 0.0],),
    ]


def test_a_stated_confidence_takes_precedence_over_options(store, folder):
    answer = {"guess": "perhaps", "confidence": 0.125, "options": '{"yes": 1}', "token_logprobs": "[-1]"}
    ((stored,), _) = answered(store, folder, [answer])
    assert (stored["guess"], stored["confidence"], stored["elicitation"]) == ("perhaps", 0.125, "verbalized")


def test_stated_correctness(store, folder):
    stated = {"TRUE": (1.0, "file"), "no": (0.0, "file"), "0.5": (0.5, "file"), "1": (1.0, "file"), "": (0.0, "answer")}
    stored, _ = answered(store, folder, [{"guess": "whatever", "confidence": 0.5, "correct": text} for text in stated])
    assert [(row["correct"], row["graded"]) for row in stored] == list(stated.values())


def test_samples_graded_here_are_stored_one_after_the_other(toy, tmp_path):
    lines = [f"q1,{clue},{sample},Paris,0.{clue}{n}" for n, sample in enumerate("abcdefgh", start=1) for clue in range(3)]
    runs = []
    for number in range(2):
        path = tmp_path / f"{number}.csv"
        random.Random(number).shuffle(lines)
        path.write_text("\n".join(["question_id,clue,sample,guess,confidence", *lines]))
        runs += bundles.put(toy, path, dataset="toy", model="m").runs
    assert len(set(runs)) == 1
    in_order = [(sample, clue) for sample in "abcdefgh" for clue in range(3)]
    assert rows(toy, "select sample, clue from responses") == in_order


@pytest.mark.parametrize(
    ("header", "warning", "kept"),
    [
        (",".join(f"c{number}" for number in range(51)), "51 columns besides its own; at most 50", set()),
        ("prompt," + "n" * 101, "column 'nnn", {"prompt"}),
        ("x,prompt,x", "column 'x': this column is in the header twice", {"prompt"}),
    ],
)
def test_columns_that_cannot_be_attributes_are_left_out(toy, tmp_path, header, warning, kept):
    values = ",".join("x" * len(header.split(",")))
    text = f"question_id,clue,guess,confidence,{header}\nq1,0,Rome,0.5,{values}\n"
    report = bundles.put_file(toy, tmp_path / "run.csv", text, dataset="toy", model="m")
    assert any(warning in text and text.endswith("left out") for text in report.warnings), report.warnings
    assert {name for (name,) in rows(toy, "select attribute from response_attributes")} == kept
