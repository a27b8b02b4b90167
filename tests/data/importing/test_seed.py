"""The bundled datasets: they are imported into an empty store, and into no other. They are removed, unless somebody uses them."""

import shutil

import pytest

from data.importing.seed import SAMPLES, SamplesInUse, remove_samples, restore_samples, seed
from data.store import open_store
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows


def test_an_empty_store_is_seeded(store, folder, tmp_path):
    shutil.copytree(bundles.write(folder), tmp_path / "bundled")
    assert "dataset toy: 2 questions imported" in seed(store, [tmp_path / "bundled"]).lines
    other = bundles.write(tmp_path / "mine", bundles.FACTS | {"dataset": "mine"})
    bundles.put(store, other)
    assert rows(store, "select dataset from datasets order by position") == [("toy",), ("mine",)]


def test_a_store_with_data_is_not_seeded(store, folder, tmp_path):
    bundles.put(store, bundles.write(tmp_path / "mine", bundles.FACTS | {"dataset": "mine"}))
    version = store.version()
    assert seed(store, [bundles.write(folder)]).lines == []
    assert store.version() == version
    assert rows(store, "select dataset from datasets") == [("mine",)]


def test_seeded_questions_can_be_imported_again(store, folder):
    seed(store, [bundles.write(folder)])
    assert bundles.put(store, folder).lines[1] == "dataset toy: 2 questions, already there"


def test_samples_are_removed_and_restored(first_start, tmp_path):
    store = open_store(shutil.copytree(first_start, tmp_path / "store"), threads=1)
    bundles.put(store, bundles.write(tmp_path / "toy"))
    runs = store.snapshot().rows("select run from runs order by all")
    assert remove_samples(store, "ann") == sorted(SAMPLES) and list(store.snapshot().states) == ["toy"]
    assert store.snapshot().rows("select dataset from questions") == [("toy",), ("toy",)] and remove_samples(store, "ann") == []
    assert sorted(restore_samples(store, "ann")) == sorted(SAMPLES) and restore_samples(store, "ann") == []
    assert store.snapshot().rows("select run from runs order by all") == runs
    answers = tmp_path / "more.csv"
    answers.write_text("question_id,clue,guess,confidence,model\nlit-01,0,Dracula,0.25,mine\n")
    bundles.put(store, answers, dataset="pyramid")
    with pytest.raises(SamplesInUse, match="pyramid"):
        remove_samples(store, "ann")
