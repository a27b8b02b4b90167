"""Tags of runs on the command line: given at import, changed later, and refused."""

import pytest

from data.store import open_store

HEADER = "question_id,clue,guess,confidence,model,elicitation"


@pytest.fixture
def tagged(cli, copied, tmp_path):
    """A store with a run that was imported with two tags, and its id."""
    path = tmp_path / "answers.csv"
    path.write_text(f"{HEADER}\nlit-01,0,Dracula,0.25,My model,verbalized\n", encoding="utf-8")
    done = cli("import", path, "--dataset", "pyramid", "--tag", "reasoning=yes", "--tag", " date = 2026-01 ", store=copied)
    assert done.returncode == 0, done.stderr
    ((run,),) = open_store(copied).snapshot().rows("select run from runs where model = 'My model'")
    return lambda *arguments: cli("tag", run, *arguments, store=copied)


def test_tags_are_listed_kept_changed_and_removed(cli, copied, tagged, tmp_path):
    again = cli("import", tmp_path / "answers.csv", "--dataset", "pyramid", "--tag", "reasoning=no", store=copied)
    assert again.returncode == 0 and "keeps its tags; not added: reasoning" in again.stdout + again.stderr
    assert tagged().stdout == "date=2026-01\nreasoning=yes\n"
    assert tagged("reasoning=no", "note=a=b", "--remove", "date").stdout == "note=a=b\nreasoning=no\n"
    done = tagged("--remove", "note", "--remove", "reasoning", "--remove", "date")
    assert done.returncode == 0 and done.stdout.endswith("has no tags.\n")


def test_an_invalid_tag_is_refused_and_changes_nothing(tagged):
    for arguments, status, message in (
        (["reasoning"], 2, "a tag is written NAME=VALUE"), (["=yes"], 2, "the name of a tag is missing"),
        (["a=" + "x" * 501], 2, "more than 500 characters"), (["a=x\x07y"], 2, "non-printing character"),
        ([f"t{number}=x" for number in range(99)], 1, "at most 100 tags"),
    ):  # fmt: skip
        done = tagged(*arguments)
        assert done.returncode == status and message in done.stderr, done.stderr
    assert tagged().stdout == "date=2026-01\nreasoning=yes\n"


def test_an_unknown_run_is_named(cli, copied):
    done = cli("tag", "0123", "reasoning=yes", store=copied)
    assert done.returncode == 1 and "there is no run '0123'" in done.stderr


def test_a_label_is_a_tag(cli, copied, tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(f"{HEADER}\nlit-01,0,Dracula,0.25,Labelled,verbalized\n", encoding="utf-8")
    assert cli("import", path, "--dataset", "pyramid", "--label", " after RLHF ", store=copied).returncode == 0
    assert open_store(copied).snapshot().rows("select tag, value from tags") == [("label", "after RLHF")]
