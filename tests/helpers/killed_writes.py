"""Writers of what is in no catalogue, which are killed at random moments, and what they leave."""

import json
import multiprocessing
import os
import random
import signal
from contextlib import suppress

from clueline.data.store.files import DRAFT, StoreFiles
from clueline.data.store.kept_mappings import find_mapping, keep_mapping
from clueline.data.store.kinds import KINDS
from clueline.data.store.scopes import Viewer, of_owner
from clueline.data.store.stored_selections import SELECTIONS, find_selection, keep_selection, list_selections, selection_id
from clueline.data.store.watch_notes import read_notes, write_notes

PADDING = "x" * 100_000  # so that a write takes a while
# From a small process: a copy of the one that runs the tests may have no room.
PRELOADED = multiprocessing.get_context("forkserver")
PRELOADED.set_forkserver_preload(["tests.helpers.killed_writes"])


def write_selection(files, n):
    keep_selection(files, [("dataset", "toy"), ("n", str(n)), ("padding", PADDING)], by="ann")


def selection_read(files, n):
    """A selection never changes, so the last one that is there counts."""
    pairs = [("dataset", "toy"), ("n", str(n + 1)), ("padding", PADDING)]
    return n + 1 if find_selection(files, selection_id(pairs)) == sorted(pairs) else n


def selection_of_reader_read(files, n):
    """The list of a reader has the selection before it is stored."""
    listed = [selection for selection in list_selections(files) if selection.by == "ann"]
    assert len(listed) == len(SELECTIONS.names(files)), "a selection counts for nobody"
    return selection_read(files, n)


def write_mapping(files, n):
    keep_mapping(files, "lab", f"# {n}\n# {PADDING}\n", of_owner("ann"), "ann", replace=True)


def write_note(files, n):
    write_notes(files, "/logs", {"/logs/a.csv": {"n": n, "padding": PADDING}})


# By kind, how the n-th content is written, and which content is there if the n-th was acknowledged.
WRITES = {
    "stored selections": (write_selection, selection_read),
    "readers who stored selections": (write_selection, selection_of_reader_read),
    "mappings": (write_mapping, lambda files, n: int(find_mapping(files, "lab", Viewer("ann")).toml.split()[1])),
    "notes on watched files": (write_note, lambda files, n: json.loads(bytes(read_notes(files)["/logs/a.csv"]))["n"]),
}


def keep_writing(root, write, first, told):
    """Write one content after the other until the process is killed, and tell each that is written."""
    files = StoreFiles(root)
    for n in range(first, 1_000_000):
        write(files, n)
        told.send(n)


def kill_while_writing(root, write, first, seconds):
    """Return the number of the last content that was acknowledged before the writer was killed."""
    heard, told = PRELOADED.Pipe(duplex=False)
    writer = PRELOADED.Process(target=keep_writing, args=(root, write, first, told))
    writer.start()
    told.close()
    acknowledged = heard.recv()  # it has begun
    writer.join(seconds)
    os.kill(writer.pid, signal.SIGKILL)
    writer.join()
    with heard, suppress(EOFError, OSError):  # a message may be cut off
        while True:
            acknowledged = heard.recv()
    return acknowledged


def kill_writers(store, name, kills):
    """Kill writers of a kind so often, and check what is left; return how many left a draft."""
    kind = next(kind for kind in KINDS if kind.name == name)
    write, read = WRITES[name]
    chance, first, drafts = random.Random(name), 0, 0
    for _ in range(kills):
        acknowledged = kill_while_writing(store.files.root, write, first, chance.uniform(0, 0.03))
        assert kind.inspect(store).damages == []
        present = read(store.files, acknowledged)
        assert present in (acknowledged, acknowledged + 1), "the one after it may be written, but not yet acknowledged"
        left = [path for path in (store.files.root / kind.folders[0]).iterdir() if path.suffix == DRAFT]
        for path in left:
            path.unlink()
        drafts += len(left)
        first = present + 1
    return drafts
