"""Tables of other projects on the command line: what is asked, and how the answer is kept."""

import shlex

import pytest

from clueline.data.store.audit import system_user
from tests.helpers.stores import listed_datasets

ROWS = [("sure", 1), ("unsure", 0), ("sure", 1), ("unsure", 1), ("sure", 0)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "my results.csv"
    path.write_text("x2,y9\n" + "".join(f"{word},{right}\n" for word, right in ROWS), encoding="utf-8")
    return path


def test_a_question_comes_with_the_command_that_answers_it(cli, copied, path):
    refused = cli("import", path, "--model", "m", "--as", "table", store=copied)
    given = shlex.quote(str(path))
    assert refused.returncode == 1
    assert (
        f"For example: clueline import {given} --model m --as table --column correct=y9 --column confidence=x2" in refused.stderr
    )


def test_words_of_confidence_are_asked_for(cli, copied, path):
    refused = cli("import", path, "--model", "m", "--column", "confidence=x2", "--column", "correct=y9", store=copied)
    assert refused.returncode == 1
    assert refused.stderr.rstrip().endswith("--column correct=y9 --words 'sure=?,unsure=?'")


def test_a_mapping_is_kept_offered_and_named(cli, copied, path):
    columns = ("--column", "confidence=x2", "--column", "correct=y9", "--words", "sure=.9,unsure=.3")
    tried = cli("import", path, "--model", "m", *columns, "--save-mapping", "lab", "--dry-run", store=copied)
    assert tried.returncode == 0, tried.stderr
    assert "confidence: x2 (as stated)" in tried.stdout and "nothing was stored" in tried.stdout
    assert "my-results" not in listed_datasets(cli, copied)
    refused = cli("import", path, "--model", "m", "--as", "table", store=copied)
    offer = f"my results.csv: the mapping lab of {system_user()} fits these columns, and was not used"
    assert refused.returncode == 1 and offer in refused.stderr
    done = cli("import", path, "--model", "m", "--mapping", "lab", store=copied)
    assert f"read as in the mapping lab of {system_user()}, with the words sure=0.9, unsure=0.3" in done.stdout
    assert f"confidence: x2 (as in the mapping lab of {system_user()})" in done.stdout and "as stated" not in done.stdout
    assert "my-results: my results (single), 5 questions, 1 run" in listed_datasets(cli, copied)


def test_the_suggested_command_keeps_what_was_said_before(cli, copied, tmp_path):
    """It repeats the command with more words, of several columns."""
    (tmp_path / "in.csv").write_text("id,grade,confidence,conf\n" + "q1,A,1,-1\nq2,B,3,.5\nq3,C,5,.7\n")
    refused = cli("import", tmp_path / "in.csv", "--words", "a=1,b=0", store=copied)
    assert refused.stderr.rstrip().endswith("--words a=1,b=0 --words 'c=?' --words '1=?,3=?,5=?' --words -1=none")
    words = ("--words", "a=1,b=0", "--words", "c=None", "--words", "1=.1,3=.5,5=.9", "--words", "-1=none")
    done = cli("import", tmp_path / "in.csv", *words, "--dry-run", store=copied)
    assert done.returncode == 0 and "1 abstention" in done.stdout, done.stderr


def test_wrong_values_of_options(cli, copied, path):
    for option, value, reason in (
        ("--column", "p_true", "is not ROLE=COLUMN; the roles: question_id"),
        ("--words", "sure", "is not of the form WORD=SHARE"),
        ("--mapping", "none-such", "there is no mapping or file"), ("--save-mapping", "Our Lab", "a-z, 0-9 and -"),
    ):  # fmt: skip
        refused = cli("import", path, option, value, store=copied)
        assert refused.returncode == 2 and reason in " ".join(refused.stderr.split())


def test_the_suggested_command_makes_a_run_of_people(cli, copied, tmp_path):
    rows = [f"{name},q{n},.{n + 1},{n % 2}" for name in ("ann", "ben") for n in range(4)]
    (tmp_path / "in.csv").write_text("\n".join(["participant,id,confidence,correct", *rows]))
    refused = cli("import", tmp_path / "in.csv", "--dataset", "survey", store=copied)
    first, *others = refused.stderr.partition("For example: clueline ")[2].splitlines()
    assert others == ["instead of the first that fits: --column model=participant, or --column elicitation=participant"]
    assert "run" in cli(*shlex.split(first), store=copied).stdout
    assert "survey: survey (single), 4 questions, 1 run" in listed_datasets(cli, copied)
