"""Results of UQLM: one run for each scorer, graded by the import."""

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clueline.data.importing.report import Refused
from clueline.data.readers.shared.evaluation_log import NO_CONFIDENCE
from clueline.data.readers.uqlm import longest_beginning
from tests.helpers import bundle_factory as bundles
from tests.helpers.evaluation_logs import uqlm_result as result

QUESTIONS = "question_id,text,answer\nq1,Where is  the tower?,Paris\nq2,Which river?,Nile\n"
PROMPTS = ["Where is the tower?", "Answer briefly. Which river?"]
ANSWERS = """select elicitation, question_id, guess, confidence, r.correct from responses r join runs using (run)
    order by 1, 2"""


def put_questions(store, folder):
    bundles.put(store, bundles.write(folder / "towns", {"dataset": "towns", "kind": "single"}, questions=QUESTIONS, clues=None))


@pytest.fixture
def put(prefilled, tried, tmp_path):
    prefilled(put_questions)

    def put(document, **options):
        (tmp_path / "result.json").write_text(json.dumps(document))
        return tried(tmp_path / "result.json", **{"dataset": "towns", "model": "gpt"} | options)

    return put


def test_each_scorer_is_a_run(tried, put):
    report = put(result(PROMPTS, ["Paris", "Rhine"], exact_match=[1.0, 0.5], noncontradiction=[0.75, None], logprob=[-1.0, -2.0]))
    assert tried.rows(ANSWERS) == [
        ("exact_match", "q1", "Paris", 1.0, 1.0), ("exact_match", "q2", "Rhine", 0.5, 0.0),
        ("noncontradiction", "q1", "Paris", 0.75, 1.0), ("noncontradiction", "q2", "Rhine", None, 0.0),
    ]  # fmt: skip
    assert tried.rows("select distinct model, dataset from runs") == [("gpt", "towns")]
    assert report.warnings == ["result.json: logprob was left out: its values do not lie between 0 and 1"]


def test_a_judge_that_could_not_be_read_gave_no_score(tried, put):
    """It writes NaN, as json.dump does for NaN of numpy."""
    report = put(result(PROMPTS, ["Paris", "Rhine"], judge_1=[0.5, math.nan], judge_2=[math.nan] * 2))
    assert tried.rows(ANSWERS) == [("judge_1", "q1", "Paris", 0.5, 1.0), ("judge_1", "q2", "Rhine", None, 0.0)]
    assert [dict(skipped) for skipped in report.skipped.values()] == [{"no score": 1}]


def test_prompts_as_messages_and_a_single_line(tried, put):
    put(result([[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Which river?"}]], ["Nile"], avg=[1]))
    assert tried.rows(ANSWERS) == [("avg", "q2", "Nile", 1.0, 1.0)]


def test_many_prompts_with_words_before_the_question(store, folder, tried, put):
    """Ten thousand prompts and questions take seconds, though a search for each question in each prompt would take too long."""
    count = range(10_000)
    table = "".join(f"q{n},What is number {n}?,a\n" for n in count)
    questions = f"question_id,text,answer\n{table}"
    bundles.put(store, bundles.write(folder, {"dataset": "many", "kind": "single"}, questions=questions, clues=None))
    start = time.process_time()
    put(result([f"Be brief. What is number {n}?" for n in count], ["a"] * len(count), avg=[0.5] * len(count)), dataset="many")
    assert time.process_time() - start < 20
    assert tried.rows("select count(distinct question_id) from responses") == [(len(count),)]


@given(st.lists(st.text("ab ", min_size=1), min_size=1), st.text("ab ", max_size=20))
def test_the_longest_question_that_begins_a_prompt(texts, prompt):
    fitting = [text for text in texts if prompt.startswith(text)]
    assert longest_beginning(prompt, sorted(texts)) == max(fitting, key=len, default=None)


@pytest.mark.parametrize(
    ("document", "options", "reason"),
    [
        (result(PROMPTS, ["Paris", "Nile"]), {}, NO_CONFIDENCE),
        (result(["Who?"], ["Ann"], avg=[1]), {}, "the prompt is the text of no question of dataset 'towns'"),
        (result(PROMPTS, ["Paris"], avg=[1]), {}, "a result needs a list of `prompts`, and a list of `responses` to them"),
        (result(PROMPTS, ["Paris", "Nile"], avg=[1, 1]), {"dataset": None},
         "which dataset has these questions? The result says neither this nor which answers are right"),
        (result(PROMPTS, ["Paris", "Nile"], avg=[1, 1]), {"dataset": "no"},
         "there is no dataset 'no' for these answers; import its questions first"),
        (result(PROMPTS, ["Paris", "Nile"], avg=[1, 1]), {"model": None}, "which model answered? The log does not say"),
    ],
)  # fmt: skip
def test_results_that_cannot_be_read(put, document, options, reason):
    with pytest.raises(Refused) as refused:
        put(document, **options)
    assert [problem.reason for problem in refused.value.problems] == [reason]
