"""A store that gets uploads while processes are killed: the server, the kills, and what must be true afterwards."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from clueline.data import scratch_folders
from clueline.data.store import open_store
from clueline.data.store.run_files import all_objects
from tests.helpers.paths import ROOT
from tests.helpers.run_tables import with_runs
from tests.helpers.serving import environment, run_cli, start_server

CLUES = 4  # answers of a run, all to the first question
QUESTION = "lit-01"
OPENS = 5.0  # seconds of CPU time within which a store must open after a kill


def content(name):
    """Return the file of one run. Its content follows from its name."""
    rows = [f"{QUESTION},{clue},guess {clue} of {name},0.{clue + 1}\n" for clue in range(CLUES)]
    return "question_id,clue,guess,confidence\n" + "".join(rows)


def rows(name):
    return [(clue, f"guess {clue} of {name}", float(f"0.{clue + 1}")) for clue in range(CLUES)]


def descendants(pid):
    """Return the descendants of a process, nearest first."""
    pids = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):  # a child is listed with the thread that started it
        with suppress(OSError):
            for child in (thread / "children").read_text().split():
                pids += [int(child), *descendants(int(child))]
    return pids


def importers(pid):
    """Return the descendants of a process that import uploads."""
    pids = []
    for child in descendants(pid):
        with suppress(OSError):
            if b"clueline.dashboard.uploads.import_process" in Path(f"/proc/{child}/cmdline").read_bytes():
                pids.append(child)
    return pids


def kill(*pids):
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@dataclass
class Siege:
    """One store, the threads that write to it, and what was acknowledged."""

    store: Path
    folder: Path  # for logs and files
    chance: random.Random
    senders: int = 2  # threads that upload
    token: str = ""
    served: object = None
    sent: list = field(default_factory=list)  # names of all runs that were sent
    acknowledged: dict = field(default_factory=dict)  # name -> run id, of those that were acknowledged
    kills: Counter = field(default_factory=Counter)
    slowest: float = 0.0  # most seconds of CPU time that the store took to open
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)
    _senders: list = field(default_factory=list)

    def __post_init__(self):
        self.token = run_cli("token", "create", "siege", store=self.store).stdout.strip()
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()

    # -- uploads

    def start(self, senders=None):
        """Serve the store, and upload to it until ``stop``."""
        self._stop.clear()
        self.served = start_server(self.store, self.folder / "log")
        self._senders = [threading.Thread(target=self._send, daemon=True) for _ in range(senders or self.senders)]
        for sender in self._senders:
            sender.start()

    def stop(self):
        """Stop the uploads and the server."""
        self._stop.set()
        for sender in self._senders:
            sender.join(180)
        if self.served:
            left = importers(self.served.process.pid)
            self.served.stop()
            kill(*left)
        self.served = None

    def _name(self):
        with self._lock:
            self.sent.append(f"run {len(self.sent)}")
            return self.sent[-1]

    def _send(self):
        while not self._stop.is_set():
            name = self._name()
            address = f"{self.served.address}/api/v1/runs?dataset=pyramid&model={name.replace(' ', '%20')}"
            request = urllib.request.Request(address, content(name).encode(), {"Authorization": f"Bearer {self.token}"})
            try:
                with urllib.request.urlopen(request, timeout=120) as answer:
                    self.acknowledged[name] = json.load(answer)["runs"][0]["run"]
            except (OSError, urllib.error.HTTPError, json.JSONDecodeError, ValueError):
                self._stop.wait(0.05)

    # -- kills

    def kill_worker(self):
        """Kill one of the workers. Another one answers, and a new one is started."""
        time.sleep(self.chance.uniform(0.0, 1.0))
        master = self.served.process.pid
        working = set(descendants(master)) - set(importers(master))
        if working:
            kill(self.chance.choice(sorted(working)))
            self.kills["a worker"] += 1

    def kill_importer(self):
        """Kill the process that imports an upload, at a random point of its life."""
        until = time.monotonic() + 60
        while not (pids := importers(self.served.process.pid)) and time.monotonic() < until:
            time.sleep(0.01)
        time.sleep(self.chance.uniform(0.0, 1.2))
        pids = importers(self.served.process.pid) or pids
        if pids:
            kill(self.chance.choice(pids))
            self.kills["the process of an upload"] += 1

    def kill_server(self):
        """Kill all processes of the server and, half of the time, those of uploads, which have their own process groups."""
        time.sleep(self.chance.uniform(0.2, 2.0))
        master = self.served.process.pid
        reading = importers(master) if self.chance.random() < 0.5 else []
        os.killpg(master, signal.SIGKILL)
        kill(*reading)
        self.served.process.wait()
        self.kills["the whole server"] += 1
        self.check()
        self.stop()
        self.start()

    def kill_import(self):
        """Kill a ``clueline import``."""
        name = self._name()
        path = self.folder / "import.csv"
        path.write_text(content(name), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", "clueline", "import", str(path), "--dataset", "pyramid", "--model", name],
            cwd=ROOT,
            env=environment(store=self.store) | {"TMPDIR": str(self.temporary)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        # Half of the kills hit the work itself, which begins when the scratch folder is there.
        if self.chance.random() < 0.7:
            before = set(self.temporary.iterdir())
            until = time.monotonic() + 60
            while process.poll() is None and set(self.temporary.iterdir()) == before and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(self.chance.uniform(0.0, 0.8))
        else:
            time.sleep(self.chance.uniform(0.0, 2.0))
        process.kill()
        output = process.communicate()[0].decode()
        self.kills["the import command"] += 1
        if process.returncode == 0:
            self.acknowledged[name] = re.search(r"run ([0-9a-f]{16})", output)[1]

    # -- what must be true

    def check(self):
        """Check that the store opens quickly, holds every acknowledged run, and only complete runs. Return the number of runs."""
        acknowledged = dict(self.acknowledged)
        began = time.process_time()
        store = open_store(self.store, threads=1)
        snapshot = store.snapshot()
        stored = dict(snapshot.rows("select model, run from runs where model like 'run %'"))
        self.slowest = max(self.slowest, time.process_time() - began)
        assert self.slowest < OPENS
        assert {name: run for name, run in acknowledged.items() if stored.get(name) != run} == {}, "acknowledged runs are lost"
        assert set(stored) <= set(self.sent)
        answers = {}
        for name, *answer in with_runs(snapshot).rows(
            "select model, clue, guess, confidence from responses join runs using (run) where model like 'run %' order by 1, 2"
        ):
            answers.setdefault(name, []).append(tuple(answer))
        broken = {name for name in set(stored) | set(answers) if answers.get(name) != rows(name)}
        assert broken == set(), "runs that are not whole"
        assert snapshot.rows("select count(*) from objects where run not in (select run from runs)") == [(0,)]
        store.objects.check(all_objects(snapshot.connection), again=True)
        store.close()
        return len(stored)

    def check_after(self):
        """Check that the next upload and import work, and that nothing is left of those that were killed."""
        time.sleep(scratch_folders.GRACE + 1)
        self.start(senders=1)
        until, before = time.monotonic() + 120, len(self.acknowledged)
        while len(self.acknowledged) == before and time.monotonic() < until:
            time.sleep(0.1)
        assert len(self.acknowledged) > before, "no upload came through any more"
        self.stop()
        name = self._name()
        path = self.folder / "last.csv"
        path.write_text(content(name), encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-m", "clueline", "import", str(path), "--dataset", "pyramid", "--model", name],
            check=False,
            cwd=ROOT,
            env=environment(store=self.store) | {"TMPDIR": str(self.temporary)},
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stderr
        self.acknowledged[name] = re.search(r"run ([0-9a-f]{16})", done.stdout)[1]
        whole = self.check()
        assert list(self.temporary.iterdir()) == []
        assert list((self.store / "incoming").iterdir()) == []
        left = {path.name for path in self.store.iterdir()} - {
            "CURRENT",
            "LOCK",
            "objects",
            "incoming",
            "cache",
            "tokens.json",
            "tokens.lock",
            "audit.jsonl",
            "audit.lock",
        }
        assert all(re.fullmatch(r"gen-\d{6}\.duckdb", name) for name in left) and len(left) <= 3, left
        return whole
