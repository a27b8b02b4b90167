"""Writers are killed at random moments and PostgreSQL is restarted: no acknowledged run is lost, and none is stored in part.

``CLUSTER_KILLS=200`` sets the number of kills to 200. The default of 40 takes a minute for each kind of store.
"""

import multiprocessing
import os
import random
import threading
import time

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import StoreError, open_store
from clueline.data.store.repair import damage_of
from tests.helpers.stores import seed_without_models

KILLS = int(os.environ.get("CLUSTER_KILLS", "40"))
WRITERS = 2
MIN_ACKNOWLEDGED = 2  # acknowledged runs without which the test shows nothing; a slow machine needs more kills to reach them
# The modules are loaded once, so that a writer starts immediately.
PRELOADED = multiprocessing.get_context("forkserver")
PRELOADED.set_forkserver_preload(
    ["tests.cluster.test_kills", "clueline.data.store.postgres_register", "clueline.data.store.s3_files"]
)


def import_runs(url, folder, name, environment, acknowledged):
    """Import runs until killed, and send the id of each acknowledged run through the pipe."""
    os.environ.update(environment)  # the process that forks may have an older environment
    store = open_store(url, threads=1)
    questions = [row[0] for row in store.snapshot().rows("select question_id from questions where dataset = 'pyramid' limit 5")]
    path = folder / f"{name}.csv"
    for number in range(1000):
        path.write_text("\n".join(["question_id,clue,guess,confidence", *(f"{question},0,Rome,0.5" for question in questions)]))
        try:
            report = import_paths(store, [path], ImportOptions(dataset="pyramid", model=f"{name}-{number}"))
        except StoreError:
            continue  # a client would send it again
        acknowledged.send(report.runs[0])


class Writer:
    def __init__(self, url, folder, name):
        self.receiving, sending = PRELOADED.Pipe(duplex=False)
        self.process = PRELOADED.Process(target=import_runs, args=(url, folder, name, dict(os.environ), sending))
        self.process.start()
        sending.close()

    def kill(self):
        """Kill the writer and return the runs that it acknowledged."""
        self.process.kill()
        self.process.join()
        runs = []
        try:
            while self.receiving.poll():
                runs.append(self.receiving.recv())
        except (EOFError, OSError):
            pass  # killed while it was sending a run id
        self.receiving.close()
        return runs


def test_no_acknowledged_run_is_lost_or_stored_in_part(store, url, tmp_path, request):
    seed_without_models(store)
    bundled = {run for (run,) in store.snapshot().rows("select run from runs")}
    postgres = request.getfixturevalue("postgres") if "postgres:" in url else None
    acknowledged, killed, restarts = [], [0] * WRITERS, [0]
    lock = threading.Lock()
    began, first = time.monotonic(), Writer(url, tmp_path, "first")
    assert first.receiving.poll(120), "nothing is written"
    longest = max(1.5, 1.5 * (time.monotonic() - began))  # on a busy machine, no writer comes to its first run in less
    acknowledged.extend(first.kill())

    def keep_killing(writer):
        chance = random.Random(writer)
        while sum(killed) < KILLS or (len(acknowledged) < MIN_ACKNOWLEDGED and sum(killed) < 10 * KILLS):
            started = Writer(url, tmp_path, f"{writer}-{killed[writer]}")
            time.sleep(chance.uniform(0.05, longest))
            runs = started.kill()
            with lock:
                acknowledged.extend(runs)
                killed[writer] += 1
                if postgres and sum(killed) % 10 == 0:
                    postgres.restart()
                    restarts[0] += 1

    killers = [threading.Thread(target=keep_killing, args=(writer,)) for writer in range(WRITERS)]
    for thread in killers:
        thread.start()
    for thread in killers:
        thread.join()
    last = Writer(url, tmp_path, "last")
    assert last.receiving.poll(120), "nothing is written any more"
    acknowledged.extend(last.kill())
    print(f"{sum(killed)} kills, {restarts[0]} restarts of PostgreSQL, {len(acknowledged)} runs acknowledged")
    opened = open_store(url, threads=1)
    snapshot = opened.snapshot()
    runs = {run for (run,) in snapshot.rows("select run from runs")}
    assert {*acknowledged} <= runs
    assert len(acknowledged) >= MIN_ACKNOWLEDGED
    assert damage_of(opened) is None
    new = sorted(runs - bundled)
    for kind, rows in (("responses", 5), ("statistics", 5)):
        tables = snapshot.read_runs(kind, new, ["1 as one"])
        assert {table.height for table in tables.values()} == {rows}
    assert len(opened.catalogues()) <= 5
    opened.close()
