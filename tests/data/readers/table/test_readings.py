"""What is proposed for a table was tried, cannot be plainly wrong, and is said with the figures that it gives."""

import json
import random
import re
import shlex

import pytest

from clueline.data.importing.column_mapping import read_words
from clueline.data.importing.report import Refused
from tests.helpers.bundle_factory import table

ROWS = range(60)
DRAW = random.Random(5)
RIGHT = [DRAW.random() < 0.7 for _ in ROWS]
SURE = [round(DRAW.uniform(0.3, 1) if right else DRAW.uniform(0, 0.8), 2) for right in RIGHT]


def rows_of(**columns):
    """Return a row for each of ``ROWS``. A column is a function of its number."""
    return [{name.replace("__", " "): cell(n) for name, cell in columns.items()} for n in ROWS]


def write(path, rows):
    path.write_text(table(rows) if path.suffix == ".csv" else json.dumps(rows), encoding="utf-8")
    return path


def refused(read, path, **options):
    with pytest.raises(Refused) as error:
        read(path, **options)
    return error.value


def figures(reading):
    """Return the number of questions and models, the accuracy and the mean confidence of what was read, as sentences say them."""
    sql = "select count(distinct question_id), count(distinct model), avg(correct), avg(confidence) from responses_read"
    ((questions, models, accuracy, mean),) = reading.rows(sql)
    return questions, models, accuracy, mean


def stated_figures(sentence):
    """Return the same figures of a sentence."""
    questions = re.search(r"gives ([\d,]+) questions?(?: x ([\d,]+) models)?", sentence)
    accuracy, mean = (re.search(rf"{what} ([\d.]+) %", sentence) for what in ("accuracy", "mean confidence"))
    return (
        int(questions[1]), int(questions[2] or 1), accuracy and float(accuracy[1]) / 100, mean and float(mean[1]) / 100,
    )  # fmt: skip


TABLES = {
    "ten points": rows_of(question=lambda n: f"What is {n}?", confidence=lambda n: 10 * SURE[n], correct=lambda n: int(RIGHT[n])),
    "a pair of columns for each model": rows_of(
        alpha_conf=lambda n: SURE[n], alpha_correct=lambda n: int(RIGHT[n]), beta_conf=lambda n: SURE[n] / 2,
        beta_correct=lambda n: int(n % 2)),
    "errors": rows_of(id=lambda n: n, hyp=lambda n: f"h{n}", conf=lambda n: SURE[n], error_q20=lambda n: int(not RIGHT[n])),
    "a probability of true": rows_of(
        prompt=lambda n: f"Statement {n}.", prediction=lambda n: SURE[n], answer=lambda n: str(RIGHT[n])),
    "two columns that grade": rows_of(
        id=lambda n: n, conf=lambda n: SURE[n], is_correct=lambda n: int(RIGHT[n]), em=lambda n: int(RIGHT[n] and n % 3 > 0)),
    "errors and ten points": rows_of(
        id=lambda n: n, conf=lambda n: round(10 * SURE[n], 1), err=lambda n: int(not RIGHT[n])),
    "rounds": [
        {"question": f"Which {n}?", "answer": "AB"[n % 2],
         "rounds": [{"answer": "AB"[(n + (not RIGHT[n])) % 2], "confidence": SURE[n] / k} for k in (1, 2, 3)]} for n in ROWS
    ],
}  # fmt: skip
BEST = {
    "ten points": ["confidence_of_10=confidence"], "a pair of columns for each model": ["model=series named by columns"],
    "errors": ["wrong=error_q20"], "a probability of true": ["outcome=answer", "confidence=prediction"],
    "two columns that grade": ["correct=is_correct"], "errors and ten points": ["wrong=err", "confidence_of_10=conf"],
    "rounds": ["elicitation=number in rounds"],
}  # fmt: skip


def choices_of(sentence):
    return re.fullmatch(r"in\.\w+: (.*) gives .*", sentence)[1].split(" and ")


@pytest.mark.parametrize("name", TABLES)
def test_each_proposal_gives_the_figures_that_are_said(read, tmp_path, name):
    path = write(tmp_path / ("in.json" if name == "rounds" else "in.csv"), TABLES[name])
    error = refused(read, path)
    proposed = [choices_of(sentence) for sentence in error.advice]
    assert proposed[0] == BEST[name]
    assert [problem.choices[0] for problem in error.problems] == [
        next(c for c in proposed[0] if c in p.choices) for p in error.problems
    ]
    for sentence, choices in zip(error.advice, proposed, strict=True):
        reading = read(path, columns=tuple(tuple(choice.split("=", 1)) for choice in choices))
        questions, models, accuracy, mean = figures(reading)
        assert stated_figures(sentence)[:2] == (questions, models)
        if accuracy is not None:
            assert stated_figures(sentence)[2] == pytest.approx(accuracy, abs=0.0006)
        assert (
            stated_figures(sentence)[3] is None
            if mean is None
            else stated_figures(sentence)[3] == pytest.approx(mean, abs=0.0006)
        )


def test_the_proposed_command_is_printed_with_its_consequences(cli, tmp_path):
    path = write(tmp_path / "in.csv", TABLES["errors and ten points"])
    done = cli("import", path, "--model", "m", store=tmp_path / "store")
    accuracy, mean = sum(RIGHT) / 60, sum(SURE) / 60
    sentence = f"gives 60 questions, accuracy {100 * accuracy:.3g} %, mean confidence {100 * mean:.3g} %."
    assert f"in.csv: wrong=err and confidence_of_10=conf {sentence}" in done.stderr
    command = shlex.split(next(line for line in done.stderr.splitlines() if line.startswith("For example: ")))
    assert command[-4:] == ["--column", "wrong=err", "--column", "confidence_of_10=conf"]


def test_letters_are_grades_where_texts_agree(read, tmp_path):
    grades = "ABC"
    rows = rows_of(problem=lambda n: f"Who was {n}?", target=lambda n: f"Name {n}",
        predicted_answer=lambda n: f"Name {n}" if n % 3 == 0 else f"Name {n + 1}", grade=lambda n: grades[n % 3])  # fmt: skip
    (problem,) = refused(read, write(tmp_path / "in.csv", rows)).problems
    assert (problem.hint, problem.choices) == ("words", ("a=1", "b=0", "c=none"))
    reading = read(tmp_path / "in.csv", words=tuple(read_words("a=1,b=0,c=none").items()), model="m")
    counts = reading.rows("select correct, state, count(*) from responses_read group by all order by all")
    assert counts == [(0, "no_confidence", 20), (1, "no_confidence", 20), (None, "abstained", 20)]
    turned = [row | {"grade": grades[2 - grades.index(row["grade"])]} for row in rows]
    (problem,) = refused(read, write(tmp_path / "turned.csv", turned)).problems
    assert problem.choices == ("a=?", "b=?", "c=?")


def test_worse_than_chance_is_not_proposed_first(read, tmp_path):
    rows = rows_of(id=lambda n: n, conf=lambda n: SURE[n], score=lambda n: int(not RIGHT[n]), success=lambda n: int(RIGHT[n]))
    error = refused(read, write(tmp_path / "in.csv", rows))
    assert choices_of(error.advice[0]) == ["correct=success"]
    assert "AUROC" in error.advice[1]


@pytest.mark.parametrize("name", ["index", "level_0", "Unnamed: 0", "row"])
def test_one_text_of_several_questions_does_not_name_them(read, tmp_path, name):
    """Short questions about several passages: their reference answers differ."""
    rows = rows_of(problem=lambda n: ["What does it mean?", "Who wrote it?"][n % 2], target=lambda n: f"T{n}",
        response=lambda n: f"T{n if RIGHT[n] else n + 1}", conf=lambda n: SURE[n])  # fmt: skip
    numbered = [{name: 500 + 3 * n} | row for n, row in enumerate(rows)]
    reading = read(write(tmp_path / "in.csv", numbered), model="m")
    assert figures(reading)[0] == 60
    other = [{"passage": f"p{n}"} | row for n, row in enumerate(rows)]
    (problem,) = refused(read, write(tmp_path / "other.csv", other)).problems
    assert problem.choices == ("question_id=passage",)


def test_doubtful_percentages_are_proposed_by_no_command(cli, tmp_path):
    """Where some are shares, 0.9 would be read as 0.9 %."""
    rows = rows_of(id=lambda n: n, correct=lambda n: int(RIGHT[n]), confidence=lambda n: [0.9, 1, 85][n % 3])
    done = cli("import", write(tmp_path / "in.csv", rows), "--model", "m", store=tmp_path / "store")
    assert done.returncode == 1 and "percent sign" in done.stderr
    assert "For example" not in done.stderr
