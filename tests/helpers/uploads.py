"""An app that accepts uploads, and its responses to them."""

from types import SimpleNamespace

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.dashboard.uploads import import_process
from clueline.data.store.tokens_and_readers import Tokens

ADDRESS = "/api/v1/runs"


def upload_client(store, **settings):
    """Return an app that imports files in this process, with a token."""
    made = create_app(Settings(store=str(store), workers=1, **settings))
    service = made.extensions["clueline"]
    service.import_file = lambda job: import_process.run_job(job, service.store)
    token = Tokens(service.store.register).create("ann") if not Tokens(service.store.register).all() else None
    return SimpleNamespace(
        app=made, client=made.test_client(), service=service, auth={"Authorization": f"Bearer {token}"}, store=store
    )


def post(upload, content, status, query="dataset=pyramid&model=m", **more):
    address, headers = more.pop("address", ADDRESS), upload.auth | more.pop("headers", {})
    answer = upload.client.post(f"{address}?{query}", data=content, headers=headers, **more)
    assert answer.status_code == status, answer.text
    assert answer.mimetype == "application/json"
    assert not list((upload.store / "incoming").glob("*")), "an upload left files behind"
    return answer.json
