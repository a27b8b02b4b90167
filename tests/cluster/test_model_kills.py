"""Merges, splits, renames and deletions are killed at random moments: each happens wholly or not at all, and loses nothing else.

The audit has every change that was acknowledged. ``CLUSTER_KILLS=200`` sets the number of kills of each kind of change to 200.
"""

import multiprocessing
import os
import random
import time

import pytest

from data.store import open_store
from data.store.audit import Audit
from data.store.models import merge, rename, split
from data.store.repair import damage_of
from data.store.run_withdrawal import delete, withdraw
from tests.helpers.bundle_factory import RESPONSES, put, records, table, write
from tests.helpers.store_addresses import new_address

KILLS = int(os.environ.get("CLUSTER_KILLS", "10"))
NAMES = ("opus-5", "lab/opus-5", "Opus-5-20251101", "sonnet")
PRELOADED = multiprocessing.get_context("forkserver")
PRELOADED.set_forkserver_preload(["tests.cluster.test_model_kills", "data.store.postgres_register", "data.store.s3_files"])


def last_run(store):
    return store.snapshot().rows("select run from runs order by position")[-1][0]


CHANGES = {  # by the action in the audit
    "merged_models": lambda store: merge(store, NAMES[:2], "opus-5", "ann"),
    "split_model": lambda store: split(store, NAMES[2], "ann"),
    "renamed_model": lambda store: rename(store, NAMES[1], "Opus", "ann"),
    "deleted": lambda store: delete(store, last_run(store), "ann"),
}


def change(action, url, environment):
    os.environ.update(environment)  # the process that forks may have an older environment
    CHANGES[action](open_store(url, threads=1))


def state(store):
    """Return everything in a store that a change of models or runs could touch."""
    snapshot = store.snapshot()
    runs = [run for (run,) in snapshot.rows("select run from runs order by position")]
    return (
        snapshot.rows("select * from models order by model"),
        snapshot.rows("select * from model_names order by name"),
        snapshot.rows("select run, model, withdrawn_at from runs order by position"),
        {
            run: rows.sort(rows.columns).rows()
            for run, rows in snapshot.read_runs("responses", runs, ["clue", "confidence"]).items()
        },
    )


def events(store, action):
    return sum(event.action == action and event.by == "ann" for event in Audit(store.register).page(10_000))


@pytest.mark.parametrize("kind_of_store", ["folder", "postgres and s3"])
@pytest.mark.parametrize("action", CHANGES)
def test_a_killed_change_is_whole_or_not_at_all(action, kind_of_store, request, tmp_path):
    url = new_address(request, kind_of_store, tmp_path)
    store = open_store(url, threads=1)
    answers = table([row | {"model": name} for name in NAMES for row in records(RESPONSES)])
    put(store, write(tmp_path / "toy", responses=answers))
    merge(store, NAMES[1:3], NAMES[1], None)
    withdraw(store, last_run(store), None)
    before, name = state(store), store.pointer().name
    chance, durations, outcomes, after = random.Random(action), [], [], None
    for kill in range(KILLS + 2):
        recorded = events(store, action)
        process = PRELOADED.Process(target=change, args=(action, url, dict(os.environ)))
        began = time.monotonic()
        process.start()
        if kill < 2:  # to the end, which says how long it takes, and what it does
            process.join()
            durations.append(time.monotonic() - began)
        else:
            process.join(chance.uniform(0.3, 1.2) * min(durations))
            process.kill()
            process.join()
        acknowledged, now = process.exitcode == 0, state(store)
        if kill == 0:
            after = now
            assert acknowledged and after != before
        assert now in (before, after), f"after {kill} kills"
        assert not acknowledged or (now == after and events(store, action) == recorded + 1), f"after {kill} kills"
        assert now == after or events(store, action) == recorded, f"after {kill} kills, the audit has what did not happen"
        assert damage_of(store) is None
        outcomes.append((acknowledged, now == after))
        store.restore(name)
    done, told = (sum(outcome[place] for outcome in outcomes) for place in (1, 0))
    print(f"{action}: {done} of {len(outcomes)} happened, {told} of them acknowledged")
    assert (False, False) in outcomes, "no kill was in time"
    store.close()
