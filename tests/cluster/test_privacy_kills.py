"""Restores and changes of readers are killed at random moments: a private dataset is never readable by anybody.

Each round tries it on a store that everybody can read. While it runs, and after it was killed, somebody without a token asks
what there is. ``CLUSTER_KILLS=200`` sets the number of kills to 200.
"""

import multiprocessing
import os
import random
import threading
import time

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.bundle_factory import FACTS, put, write
from tests.helpers.store_addresses import new_address

KILLS = int(os.environ.get("CLUSTER_KILLS", "25"))
SECRET = "hush-hush"
PRELOADED = multiprocessing.get_context("forkserver")
PRELOADED.set_forkserver_preload(
    ["tests.cluster.test_privacy_kills", "clueline.data.store.postgres_register", "clueline.data.store.s3_files"]
)


def restore(url, folder):
    restore_backup(open_store(url, threads=1), folder / "saved")


def make_private_and_import(url, folder):
    store = open_store(url, threads=1)
    Tokens(store.register).make_private(SECRET, [])
    import_paths(store, [folder / SECRET], ImportOptions())


def import_private_bundle(url, folder):
    import_paths(open_store(url, threads=1), [folder / "bundle"], ImportOptions())


def run(action, url, folder, environment):
    os.environ.update(environment)  # the process that forks may have an older environment
    action(url, folder)


class Watcher:
    """Asks without a token, all the time, which datasets there are."""

    def __init__(self, url):
        self.client = create_app(Settings(store=url, workers=1)).test_client()
        self.answers, self.seen = 0, []
        self.paused = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self):
        while not self._stop.is_set():
            with self.paused:
                answer = self.client.get("/api/v1/datasets")
                assert answer.status_code == 200, answer.text
                self.answers += 1
                if SECRET in answer.text:
                    self.seen.append(answer.text)
            self._stop.wait(0.001)  # so that others get the lock

    def wait_for_new_answer(self):
        """Wait for an answer to a question that is asked from now on."""
        until = self.answers + 2
        while self.answers < until:
            assert self._thread.is_alive()
            time.sleep(0.001)

    def stop(self):
        self._stop.set()
        self._thread.join()


@pytest.mark.parametrize("kind_of_store", ["folder", "postgres and s3"])
@pytest.mark.parametrize("action", [restore, make_private_and_import, import_private_bundle], ids=lambda action: action.__name__)
def test_a_private_dataset_is_never_public(action, kind_of_store, request, tmp_path):
    url = new_address(request, kind_of_store, tmp_path)
    store = open_store(url, threads=1)
    put(store, write(tmp_path / "toy", FACTS))
    Tokens(store.register).create("ann")
    before, name = store.register.read_tokens(), store.pointer().name
    lab = open_store(tmp_path / "lab", threads=1)
    put(lab, write(tmp_path / SECRET, FACTS | {"dataset": SECRET}))
    Tokens(lab.register).make_private(SECRET, [])
    back_up(lab, tmp_path / "saved")
    write(tmp_path / "bundle", FACTS | {"dataset": SECRET, "private": True})
    chance, finished, published = random.Random(1), 0, 0
    duration = 0.0
    watcher = Watcher(url)
    try:
        for kill in range(KILLS + 2):
            with watcher.paused:
                store.restore(name)
                store.register.change_tokens(lambda _: (before, ()))
            process = PRELOADED.Process(target=run, args=(action, url, tmp_path, dict(os.environ)))
            process.start()
            if kill < 2:  # to the end, which says how long it takes
                began = time.monotonic()
                process.join()
                assert process.exitcode == 0
                duration = time.monotonic() - began
            else:
                process.join(chance.uniform(0.3, 1.5) * duration)
                process.kill()
                process.join()
            watcher.wait_for_new_answer()
            assert watcher.seen == [], f"after {kill} kills"
            finished += process.exitcode == 0
            published += SECRET in store.snapshot().states
    finally:
        watcher.stop()
    print(f"{KILLS + 2} times, {published} of them published, {finished} of them finished")
    assert published >= 2 and finished < KILLS
