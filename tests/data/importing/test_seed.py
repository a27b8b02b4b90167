"""The bundled datasets: they are imported into an empty store, and into no other. They are removed, unless somebody uses them."""

import pytest

from clueline.data.importing.seed import BUNDLED, SamplesInUse, remove_samples, restore_samples, seed
from tests.helpers import bundle_factory as bundles
from tests.helpers.bundle_factory import rows


def test_only_an_empty_store_is_seeded(store, folder, tmp_path):
    assert "dataset toy: 2 questions imported" in seed(store, [bundles.write(folder)]).lines
    version = store.version()
    assert seed(store, [bundles.write(tmp_path / "mine", bundles.FACTS | {"dataset": "mine"})]).lines == []
    assert store.version() == version and rows(store, "select dataset from datasets") == [("toy",)]
    assert bundles.put(store, folder).lines[1] == "dataset toy: 2 questions, already there"


def test_samples_are_removed_and_restored(toy, tmp_path, monkeypatch):
    """Of all bundled datasets, two small ones."""
    bundled = [path for path in BUNDLED if path.name in ("tone", "lifeeval-sat-en")]
    monkeypatch.setattr("clueline.data.importing.seed.BUNDLED", bundled)
    monkeypatch.setattr("clueline.data.importing.seed.SAMPLES", samples := {path.name for path in bundled})
    assert sorted(restore_samples(toy, "ann")) == sorted(samples)
    runs = toy.snapshot().rows("select run from runs order by all")
    assert remove_samples(toy, "ann") == sorted(samples) and list(toy.snapshot().states) == ["toy"]
    assert toy.snapshot().rows("select dataset from questions") == [("toy",), ("toy",)] and remove_samples(toy, "ann") == []
    assert sorted(restore_samples(toy, "ann")) == sorted(samples) and restore_samples(toy, "ann") == []
    assert toy.snapshot().rows("select run from runs order by all") == runs
    ((question,),) = toy.snapshot().rows("select min(question_id) from questions where dataset = 'tone'")
    answers = f"question_id,guess,confidence,model\n{question},neutral,0.25,mine\n"
    bundles.put_file(toy, tmp_path / "more.csv", answers, dataset="tone")
    with pytest.raises(SamplesInUse, match="tone"):
        remove_samples(toy, "ann")
