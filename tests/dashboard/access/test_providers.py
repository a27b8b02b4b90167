"""Who sends a request: another way of saying so is one more provider."""

from dashboard.access.providers import Reader
from dashboard.app import create_app
from dashboard.service import EXTENSION
from dashboard.settings import Settings
from data.store import open_store
from tests.helpers.bundle_factory import put, write


class Badge:
    """The name of a reader in a header of its own."""

    gives = "upload"
    sent_unasked = False

    def reader(self, record):
        """Return the reader that the header names."""
        from flask import request

        name = request.headers.get("Badge")
        return Reader(name, "upload") if name else None


def test_one_more_provider_lets_its_readers_in(tmp_path):
    store = open_store(tmp_path / "store")
    put(store, write(tmp_path / "toy"))
    app = create_app(Settings(store=store.url, workers=1, read="token"))
    client, access = app.test_client(), app.extensions[EXTENSION].access
    assert client.get("/api/v1/datasets").status_code == 401
    access.providers = (Badge(), *access.providers)
    answer = client.get("/api/v1/datasets", headers={"Badge": "ann"})
    assert [dataset["dataset"] for dataset in answer.json["datasets"]] == ["toy"]
    assert client.get("/api/v1/audit", headers={"Badge": "ann"}).status_code == 200
    assert client.get("/api/v1/datasets/toy/readers", headers={"Badge": "ann"}).status_code == 401
