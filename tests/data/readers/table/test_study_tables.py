"""The tables that studies release: the figures are those of plain numpy, or something is asked; never another role in silence."""

import json
import random

import pytest

from data.importing.report import Refused
from data.store import open_store
from tests.helpers.bundle_factory import put
from tests.helpers.study_tables import FOLDER, WORDS, change_csv, change_lines, draw_tables, figures, same_figures

pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="the tables are not here")
NAMES = sorted(path.name for path in FOLDER.glob("*.*") if path.suffix not in (".py", ".json"))
SEEDS = range(2)
ASKED = {"column", "words", "percent"}


@pytest.mark.parametrize("name", [name for name in NAMES if name != "uncertainties.csv"])
def test_figures_are_those_of_numpy(tmp_path, name):
    if name.endswith(".xlsx"):
        pytest.importorskip("python_calamine")
    expected = json.loads((FOLDER / "expected.json").read_text(encoding="utf-8"))[name]
    store = open_store(tmp_path / "store")
    report = put(store, FOLDER / name, words=WORDS if name == "stated_in_words.csv" else ())
    assert same_figures(figures(store, report), list(expected.values()))


def test_words_are_asked_for(tmp_path):
    with pytest.raises(Refused) as refused:
        put(open_store(tmp_path / "store"), FOLDER / "stated_in_words.csv")
    (problem,) = refused.value.problems
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
    assert name != "uncertainties.csv" and same_figures(figures(store, report), list(expected.values()))
