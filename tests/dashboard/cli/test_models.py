"""``models`` and ``tag``: what they list, propose, change and refuse."""

import pytest

from clueline.data.store import open_store

NAMES = ("lab/opus-5", "Opus-5-20251101")


def test_models_are_listed_merged_and_split(cli, copied, tmp_path):
    def output(*arguments):
        done = cli("models", *arguments, store=copied)
        assert done.returncode == 0, done.stderr
        return done.stdout

    path = tmp_path / "answers.csv"
    rows = "".join(f"lit-01,0,Dracula,0.25,{name}\n" for name in NAMES)
    path.write_text(f"question_id,clue,guess,confidence,model\n{rows}", encoding="utf-8")
    assert cli("import", path, "--dataset", "pyramid", store=copied).returncode == 0
    assert "lab/opus-5: 1 run\n" in output() and "models merge 'Opus-5-20251101' 'lab/opus-5'" in output()
    assert output("merge", *NAMES, "--into", "Opus 5") == f"{', '.join(NAMES)}: now Opus 5\n"
    assert output("describe", "Opus 5", "--released", "2025-11") == "Opus 5: released set\n"
    assert f"Opus 5: 2 runs, 2025-11, also {', '.join(sorted(NAMES))}\n" in output() and "Probably" not in output()
    assert output("split", NAMES[0]) == f"{NAMES[0]}: now a model of its own\n"
    assert output("rename", NAMES[0], "opus").endswith("now called opus\n")
    assert output("split", NAMES[0], "--dataset", "pyramid") == "Nothing to change.\n"
    refused = cli("models", "rename", "opus", "Opus 5", store=copied)
    assert refused.returncode == 1 and "to make them one, merge them" in refused.stderr


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
