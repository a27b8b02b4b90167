"""Questions whose ids are others than in the stored dataset: after a shuffle, or shifted."""

import pytest

from clueline.data.importing.report import Refused
from tests.helpers.bundle_factory import put, put_file, refusal, rows
from tests.helpers.evaluation_logs import inspect_log as log
from tests.helpers.evaluation_logs import inspect_sample as sample
from tests.helpers.evaluation_logs import inspect_score as score
from tests.helpers.evaluation_logs import write_eval

PLACES = [("Where is the tower?", "Paris", 0.9), ("Where is the bridge?", "London", 0.5), ("Where is the dam?", "Aswan", 0.3)]
CONFIDENCES = """select r.question_id, q.text, r.confidence from responses r join runs using (run)
    join questions q on q.dataset = runs.dataset and q.question_id = r.question_id where model = '{}' order by 1"""


def write(folder, places, first=1, model="a"):
    samples = [
        sample(number, {"judge": score("C", confidence=confidence)}, input=text, target=answer)
        for number, (text, answer, confidence) in enumerate(places, start=first)
    ]
    return write_eval(folder / model / "log.eval", log(samples, model=model))


def test_a_shuffled_log_is_aligned_by_content_if_so_stated(store, tmp_path):
    put(store, write(tmp_path, PLACES))
    shuffled = write(tmp_path, PLACES[::-1], model="b")
    refused = refusal(store, shuffled)
    assert {problem.hint for problem in refused.problems} == {"align"}
    assert refused.advice == [
        "log.eval: all 3 questions are those of the dataset, by text and reference answer, under other ids, as after a shuffle."
    ]
    report = put(store, shuffled, align="content")
    assert "log.eval: 2 ids aligned with those of dataset towns by text and reference answer" in report.lines
    assert rows(store, CONFIDENCES.format("b")) == rows(store, CONFIDENCES.format("a"))
    assert [row[2] for row in rows(store, CONFIDENCES.format("b"))] == [0.9, 0.5, 0.3]


def test_shifted_ids_are_named_with_the_offset(store, tmp_path):
    put(store, write(tmp_path, PLACES))
    same_text = [("Where is it?", answer, confidence) for _, answer, confidence in PLACES]
    put_file(store, tmp_path / "base.csv", "id,gold,answer,confidence\n1,A,A,1\n2,B,A,0.5\n3,C,C,0.5\n", model="x")
    shifted = "id,gold,answer,confidence\n0,A,A,0.25\n1,B,A,0.5\n2,C,C,0.75\n"
    (tmp_path / "shifted.csv").write_text(shifted)
    refused = refusal(store, tmp_path / "shifted.csv", dataset="base", model="y")
    assert refused.advice == [
        "shifted.csv: with +1 added to each id, all 3 questions are those of the dataset: the ids seem to be shifted."
    ]
    assert [(problem.reason, problem.hint) for problem in refused.problems] == [
        ("question '1' has a different answer in dataset 'base'", "align"),
        ("question '2' has a different answer in dataset 'base'", "align"),
    ]
    put(store, tmp_path / "shifted.csv", dataset="base", model="y", align="1")
    assert rows(store, "select question_id, confidence from responses join runs using (run) where model = 'y' order by 1") == [
        ("1", 0.25), ("2", 0.5), ("3", 0.75),
    ]  # fmt: skip
    with pytest.raises(Refused, match=r"not every question is one of dataset 'towns' with \+1 added"):
        put(store, write(tmp_path, same_text, model="c"), align="+1")


def test_other_questions_cannot_be_aligned(store, tmp_path):
    put(store, write(tmp_path, PLACES))
    other = write(tmp_path, [*PLACES[:2], ("Where is the dam?", "Itaipu", 0.3)], model="b")
    refused = refusal(store, other)
    assert [problem.hint for problem in refused.problems] == ["dataset"] and not refused.advice
    with pytest.raises(Refused, match="not every question is one of dataset 'towns' by text and reference answer"):
        put(store, other, align="content")


@pytest.mark.parametrize("align", ["content", "1"])
def test_tables_of_our_own_are_aligned(store, tmp_path, align):
    put(store, write(tmp_path, PLACES))
    lines = [f'{n},"{text}",x,0.{n + 1}' for n, (text, *_) in enumerate(PLACES)]
    text = "\n".join(["question_id,text,guess,confidence", *lines])
    with pytest.raises(Refused, match="no such question in dataset"):
        put_file(store, tmp_path / "own.csv", text, dataset="towns", model="z")
    put(store, tmp_path / "own.csv", dataset="towns", model="z", align=align)
    assert [row[::2] for row in rows(store, CONFIDENCES.format("z"))] == [("1", 0.1), ("2", 0.2), ("3", 0.3)]
    with pytest.raises(Refused, match=r"with \+2 added"):
        put(store, tmp_path / "own.csv", dataset="towns", model="z", align="2")
