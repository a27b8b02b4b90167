"""Descriptions of datasets, which each page shows, are not read from the cache again until a dataset changes."""

from dashboard.app import create_app
from dashboard.service import EXTENSION
from dashboard.settings import Settings
from data.store import open_store
from tests.helpers.bundle_factory import FACTS, RESPONSES, put, write


def test_only_a_changed_dataset_is_described_again(tmp_path):
    store = open_store(tmp_path / "store")
    for name in ("one", "two"):
        put(store, write(tmp_path / name, FACTS | {"dataset": name}))
    app = create_app(Settings(store=store.url, workers=1))
    service, asked = app.extensions[EXTENSION], []
    get = service.cache.get
    service.cache.get = lambda key, *rest: asked.append(key) or get(key, *rest)

    def reads():
        asked.clear()
        with app.test_request_context("/"):
            described = service.datasets()
        return [(dataset.dataset, dataset.runs) for dataset in described], len(asked)

    assert reads() == ([("one", 0), ("two", 0)], 2)
    assert reads() == ([("one", 0), ("two", 0)], 0)
    put(store, write(tmp_path / "two", FACTS | {"dataset": "two"}, responses=RESPONSES), model="gamma")
    assert reads() == ([("one", 0), ("two", 1)], 1)
