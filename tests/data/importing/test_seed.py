"""The bundled datasets: they are imported into an empty store, and into no other."""

import shutil

from data.importing.seed import seed
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
