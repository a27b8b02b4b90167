"""A file of twice the size takes about twice the time to import: none of these inputs makes the time quadratic."""

import time

import pytest

from clueline.data.importing.report import Refused
from clueline.data.quizbowl.answer_lines import parse_answer_line
from clueline.data.quizbowl.guess_grading import MAX_GUESS_LENGTH, TOO_LONG
from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, put_file, write
from tests.helpers.run_tables import stored_rows

MIN_SECONDS = 0.25  # seconds; shorter times are those of any import, whatever it reads
MAX_TIMES = 3  # quadratic work would give 4, linear work 2


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("growing")
    opened = open_store(folder / "store", threads=1)
    put(opened, write(folder / "toy"))
    yield opened
    opened.close()


def guess_of(part):
    return lambda size: f'{{"question_id": "q1", "clue": 0, "confidence": 0.5, "guess": "{part * (size // len(part))}"}}'


def options(size):
    count = size * 60_000 // 200_000
    cells = ", ".join(f'"option {number}": {1 / count!r}' for number in range(count))
    return f'{{"question_id": "q1", "clue": 0, "options": {{{cells}}}}}'


def log_probabilities(size):
    return f'{{"question_id": "q1", "clue": 0, "guess": "Rome", "token_logprobs": [{", ".join(["-0.001"] * (size // 4))}]}}'


LINES = {
    "a guess of <": guess_of("<"), "a guess of (": guess_of("("), "a guess of [accept": guess_of("[accept "),
    "a guess of words": guess_of("a "), "60,000 options": options, "400 kB of log-probabilities": log_probabilities,
}  # fmt: skip


@pytest.mark.parametrize("case", LINES)
def test_twice_the_size_takes_about_twice_the_time(store, tmp_path, case):
    def seconds(size, number):
        path = tmp_path / "run.jsonl"
        path.write_text(LINES[case](size) + "\n", encoding="utf-8")
        began = time.process_time()  # CPU time, because the machine may be busy
        try:
            put(store, path, dataset="toy", model=f"{case} {size} {number}")
        except Refused as refused:
            assert all(problem.reason for problem in refused.problems)
        return time.process_time() - began

    tries, whole, limit = [], 1, 0
    while whole >= limit and len(tries) < 3:
        tries.append([seconds(size, len(tries)) for size in (100_000, 200_000)])
        half, whole = map(min, zip(*tries, strict=True))
        limit = MAX_TIMES * max(half, MIN_SECONDS)
    assert whole < limit, tries


def test_a_guess_that_is_too_long_is_graded_wrong(store, tmp_path):
    """The guess begins with the answer. It is stored without being cut."""
    line = parse_answer_line("Paris [or City of Light]")
    assert line.judge("Paris " * (MAX_GUESS_LENGTH // 6)).rule != TOO_LONG
    long = "Paris" + " " * MAX_GUESS_LENGTH
    assert (line.judge(long).outcome, line.judge(long).rule) == ("reject", TOO_LONG)
    assert str(MAX_GUESS_LENGTH)[0] + "," + str(MAX_GUESS_LENGTH)[1:] in TOO_LONG
    report = put_file(
        store, tmp_path / "run.jsonl", guess_of("Paris, ")(7 * MAX_GUESS_LENGTH) + "\n", dataset="toy", model="long"
    )
    ((guess, correct),) = stored_rows(
        store, "select guess, correct from responses where list_contains($runs, run)", {"runs": report.runs}
    )
    assert len(guess) > MAX_GUESS_LENGTH and correct == 0
