"""The tables that studies release: the figures are those of plain numpy, or something is asked; never another role in silence."""

import random

import pytest

from data.importing.report import Refused
from data.store import open_store
from tests.helpers.bundle_factory import put, refusal
from tests.helpers.study_tables import (
    FOLDER,
    WORDS,
    change_csv,
    change_lines,
    draw_tables,
    expected_runs,
    figures,
    names_of_tables,
    same_figures,
    words_of,
)

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tables are not here")
NAMES = names_of_tables()
SEEDS = range(2)
ASKED = {"column", "words", "percent", "repeats"}


@pytest.mark.parametrize("name", NAMES)
def test_figures_are_those_of_numpy(tmp_path, name):
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    store = open_store(tmp_path / "store")
    report = put(store, FOLDER / name, words=words_of(name))
    assert same_figures(figures(store, report), expected_runs(name))


def test_words_are_asked_for(tmp_path):
    (problem,) = refusal(open_store(tmp_path / "store"), FOLDER / "stated_in_words.csv").problems
    assert (problem.column, problem.hint) == ("Stated_Confidence", "words")
    assert {choice.removesuffix("=?") for choice in problem.choices} == {word for word, _ in WORDS}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(".xlsx")])
def test_tables_drawn_anew(tmp_path, name, seed):
    """With other seeds, names, columns, delimiters and encodings: the same figures, or a question."""
    expected = draw_tables(tmp_path, 1000 + seed)[name]
    draw = random.Random(f"{name} {seed}")
    (change_lines if name.endswith(".jsonl") else change_csv)(tmp_path / name, draw)
    store = open_store(tmp_path / "store")
    try:
        report = put(store, tmp_path / name, words=WORDS)
    except Refused as refused:
        assert {problem.hint for problem in refused.problems} <= ASKED, refused
        return
    assert same_figures(figures(store, report), list(expected.values()))
