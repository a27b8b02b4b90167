"""The tables that studies release: the figures are those of plain numpy, or something is asked; never another role in silence."""

import random

import pytest

from clueline.data.store import open_store
from tests.helpers.bundle_factory import put, refusal
from tests.helpers.examples import PROFILE
from tests.helpers.invented_tables import NAMES, WORDS, draw_tables
from tests.helpers.study_tables import answer_of, change_book, change_csv, change_lines, figures, same_figures, words_of

SEEDS = range(2 if PROFILE == "default" else 8)
CHANGES = {"csv": change_csv, "jsonl": change_lines, "xlsx": change_book}


@pytest.fixture(autouse=True)
def revisions_follow_changes():
    """Disabled here, because these imports differ in how tables are read, not in how they are stored."""


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A folder with every table, and the figures of each."""
    folder = tmp_path_factory.mktemp("drawn")
    return folder, draw_tables(folder, 1)


def test_every_table_is_tried(drawn):
    folder, expected = drawn
    assert sorted(NAMES) == sorted(expected) == sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_of_numpy(tmp_path, drawn, name):
    folder, expected = drawn
    store = open_store(tmp_path / "store")
    put(store, folder / name, words=words_of(name))
    assert same_figures(figures(store), expected[name])


def test_words_are_asked_for(tmp_path, drawn):
    (problem,) = refusal(open_store(tmp_path / "store"), drawn[0] / "stated_in_words.csv").problems
    assert (problem.column, problem.hint) == ("Stated_Confidence", "words")
    assert {choice.removesuffix("=?") for choice in problem.choices} == {word for word, _ in WORDS}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", NAMES)
def test_tables_drawn_anew(tmp_path, cli, name, seed):
    """With other seeds, names, columns, delimiters and encodings: the same figures, or one question and then these."""
    expected = draw_tables(tmp_path, 1000 + seed)[name]
    path, was = CHANGES[name.rpartition(".")[2]](tmp_path / name, random.Random(f"{name} {seed}"))
    words = ["--words", ",".join(f"{word}={share}" for word, share in words_of(name))] if words_of(name) else []
    done = cli("import", path, *words, store=tmp_path / "store")
    if done.returncode:
        assert done.stderr.startswith("Error: 1 problem; nothing was imported"), done.stderr
        done = cli(*answer_of(done.stderr, was), store=tmp_path / "store")
    assert done.returncode == 0, done.stderr
    assert same_figures(figures(open_store(tmp_path / "store")), expected), done.stdout
