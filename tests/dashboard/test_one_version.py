"""A request is answered from one version of the store, even if runs are withdrawn while it is answered."""

import json
import re
import shutil

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.settings import Settings
from clueline.dashboard.shell import draw
from clueline.data.store.run_withdrawal import restore, withdraw

WITHDRAWN_AT = re.compile(r"\b20\d\d-\d\d-\d\d([ T]\d\d:\d\d(:\d\d)?(\.\d+)?Z?)?")
WITHOUT_RUNS = ("cite", "nowhere", "upload", "metrics", "teams")
ADDRESSES = [
    "/api/v1/leaderboard?dataset=pyramid", "/api/v1/leaderboard.csv?dataset=pyramid", "/api/v1/reliability?dataset=pyramid",
    "/api/v1/questions?dataset=pyramid&limit=3", "/api/v1/questions.csv?dataset=pyramid", "/api/v1/buzz?dataset=pyramid",
    "/api/v1/questions/pyramid/lit-01", "/api/v1/datasets", "/api/v1/items?dataset=pyramid&limit=5",
]  # fmt: skip


class ChangingStore:
    """An app whose store loses or regains a run right after a request has opened a version of it."""

    def __init__(self, folder):
        self.app = create_app(Settings(store=str(folder), workers=1))
        self.service = self.app.extensions["clueline"]
        self.store = self.service.store
        self.run = self.service.facets("pyramid").runs[0][0]
        self.withdrawn = False
        self._change_at_next = False
        self._open = self.store.snapshot
        self.store.snapshot = self._snapshot

    def _snapshot(self):
        snapshot = self._open()
        if self._change_at_next:
            self._change_at_next = False
            self.change()
        return snapshot

    def change(self):
        """Withdraw the run, or restore it."""
        if self.withdrawn:
            restore(self.store, self.run)
        else:
            withdraw(self.store, self.run, "ann")
        self.withdrawn = not self.withdrawn

    def ask_while_changing(self, ask):
        """Return the answer to a request during which the store changes."""
        self._change_at_next = True
        answer = ask()
        assert not self._change_at_next
        return answer


@pytest.fixture(scope="module")
def changing(seeded, tmp_path_factory):
    return ChangingStore(shutil.copytree(seeded, tmp_path_factory.mktemp("changing") / "store"))


def check_answers(changing, requests):
    """Answers during a change must be those before it, and the two versions must have different answers."""
    answers = []
    for _ in range(2):  # the second change restores the run
        answers.append({name: ask() for name, ask in requests.items()})
        changing.change()
    for name, ask in requests.items():
        expected, other = answers if not changing.withdrawn else answers[::-1]
        assert expected[name] != other[name], name
        assert changing.ask_while_changing(ask) == expected[name], name
    if changing.withdrawn:
        changing.change()


def test_pages_are_of_one_version(changing):
    def drawing(name):
        path = "/questions/pyramid/lit-01" if name == "question" else PAGES[name].path

        def drawn():
            with changing.app.test_request_context(path):
                text = draw({"path": path, "query": "dataset=pyramid", "page": True})
            version = json.loads(text)["page"]["version"]
            page = json.loads(WITHDRAWN_AT.sub("", text.replace(version, "")))  # the page footer names it, too
            for state in page["states"].values():
                if isinstance(state, dict) and "address" in state:
                    del state["address"]  # names the version
            return page

        return drawn

    names = [name for name in PAGES if name not in WITHOUT_RUNS]
    assert len(names) >= 9
    check_answers(changing, {name: drawing(name) for name in names})


def test_json_and_csv_are_of_one_version(changing):
    def asking(address):
        def ask():
            answer = changing.app.test_client().get(address)
            assert answer.status_code == 200, answer.text
            return {**answer.json, "data_version": ""} if answer.is_json else answer.text

        return ask

    check_answers(changing, {address: asking(address) for address in ADDRESSES})


def test_grid_rows_have_the_version_of_the_columns(changing):
    """This also holds in another worker, which never had that version open."""
    with changing.app.test_request_context("/questions"):
        page = json.loads(draw({"path": "/questions", "query": "dataset=pyramid", "page": True}))
    address = next(state["address"] for state in page["states"].values() if "address" in state)
    changing.change()
    other_worker = create_app(changing.service.settings)
    assert other_worker.test_client().get("/readyz").status_code == 200
    for app in (changing.app, other_worker):
        for path, has_run in ((address, True), ("/_rows?dataset=pyramid", False)):
            row = app.test_client().get(f"{path}&start=0&count=1").json["rows"][0]
            assert (changing.run in row) == has_run
    changing.change()


def test_a_missing_version_gives_current_rows(changing):
    answer = changing.app.test_client().get("/_rows?dataset=pyramid&revision=0123456789abcdef&start=0&count=1")
    assert answer.status_code == 200 and changing.run in answer.json["rows"][0]
