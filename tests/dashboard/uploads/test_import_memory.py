"""The process of an upload never holds much more memory than the setting says, and a file that needs more is refused."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from clueline.dashboard.uploads import import_process
from clueline.dashboard.uploads.import_process import ImportJob, ImportProcesses, TooMuchMemory
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.memory_bombs import BOMBS, LIMIT, MEMORY
from tests.helpers.paths import ROOT
from tests.helpers.process_kills import importers, kill
from tests.helpers.serving import environment
from tests.helpers.uploads import ADDRESS, upload_client
from tests.helpers.waiting import wait_until

MARGIN = 256  # MiB by which the peak may exceed the limit: what a process can take between two looks
SECONDS = 600  # for a file; most take a few, on a machine that does nothing else


@pytest.fixture(scope="module")
def read(seeded, tmp_path_factory):
    """What became of each file, in the order of ``BOMBS``, and the version of the store before and after."""
    folder = tmp_path_factory.mktemp("bombs")
    store = shutil.copytree(seeded, folder / "store")
    before = open_store(store).version()
    paths = []
    for number, (name, make, _) in enumerate(BOMBS.values()):
        path = folder / str(number) / name
        path.parent.mkdir()
        path.write_bytes(make())
        paths.append(path)
    command = [sys.executable, "-m", "tests.helpers.measured_imports", store, LIMIT, *paths]
    done = subprocess.run(
        list(map(str, command)), cwd=ROOT, env=environment(store=store), capture_output=True, text=True,
        timeout=SECONDS * len(BOMBS), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    outcomes = dict(zip(BOMBS, map(json.loads, done.stdout.splitlines()), strict=True))
    return outcomes, before, open_store(store).version()


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_takes_much_memory_is_refused(read, name):
    outcomes, before, after = read
    assert BOMBS[name][2] in outcomes[name]["says"]
    assert outcomes[name]["says"]
    assert outcomes[name]["seconds"] < SECONDS
    assert outcomes[name]["peak"] < LIMIT + MARGIN
    assert after == before, "nothing was stored"


def test_a_client_is_told_what_to_do(copied):
    upload = upload_client(copied, import_memory_mb=LIMIT)
    upload.service.import_file = ImportProcesses().run
    version = upload.service.store.version()
    content = BOMBS["objects in JSON"][1]()
    answer = upload.client.post(f"{ADDRESS}?dataset=tone&model=m", data=content, headers=upload.auth)
    error = answer.json["error"]
    assert (answer.status_code, error["code"]) == (413, "too_much_memory")
    for part in (MEMORY, "Nothing was stored", "Split the file", "CLUELINE_IMPORT_MEMORY_MB", "on the command line"):
        assert part in error["message"]
    assert upload.service.store.version() == version
    assert not list((copied / "incoming").iterdir())


def test_an_import_stopped_while_it_stores_says_so(tmp_path, monkeypatch):
    importer = tmp_path / "importer"
    grow = "import sys, time; print(flush=True); held = bytes(10**9).replace(b'\\0', b'1'); time.sleep(600)"
    importer.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{grow}"\n')
    importer.chmod(0o700)
    monkeypatch.setattr(import_process.sys, "executable", str(importer))
    job = ImportJob("store", str(tmp_path / "a"), "a", ImportOptions(), "ann", False, 2**20, 1, memory_mb=LIMIT)
    outcome = ImportProcesses().run(job)
    assert outcome == TooMuchMemory(LIMIT, storing=True)
    assert "GET /api/v1/runs says" in outcome.message
    assert "Nothing was stored" not in outcome.message


def test_an_import_says_when_it_begins_to_store(copied, tmp_path):
    rows = open_store(copied).snapshot().rows("select question_id from questions where dataset = 'tone'")
    (tmp_path / "a.csv").write_text("question_id,guess,confidence\n" + "".join(f"{row[0]},x,0.5\n" for row in rows))
    versions = []
    for dry_run in (True, False):
        job = ImportJob(
            str(copied), str(tmp_path / "a.csv"), "a.csv", ImportOptions(dataset="tone", model="m"), "ann", dry_run, 2**30, 1
        )
        outcome = import_process.run_job(job, open_store(copied), lambda: versions.append(open_store(copied).version()))
        assert isinstance(outcome, import_process.Accepted), outcome
    (before,) = versions
    assert before != open_store(copied).version()


def test_an_import_ends_first_where_memory_is_short(tmp_path):
    others = importers(os.getpid())
    ImportProcesses().prepare()
    wait_until(lambda: {*importers(os.getpid())} - {*others})
    (spare,) = {*importers(os.getpid())} - {*others}
    wait_until(lambda: Path(f"/proc/{spare}/oom_score_adj").read_text().strip() == import_process.FIRST_VICTIM)
    kill(spare)
