"""Stores with the small bundled datasets, the files in the folder of a store, and what the command line lists of it."""

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from clueline.data.importing.seed import BUNDLED, seed


def seed_without_models(store):
    """Import Pyramid, LifeEval as five formulas answered it, and Tone: a third of the time of all bundled datasets."""
    with TemporaryDirectory() as folder:
        models = shutil.ignore_patterns("*.parquet")
        seed(store, [Path(shutil.copytree(path, Path(folder) / path.name, ignore=models)) for path in BUNDLED[:3]])


def file_times(store):
    """Return when each file of a store was written, except the cache and locks."""
    return {
        path.relative_to(store): path.stat().st_mtime_ns
        for path in sorted(store.rglob("*"))
        if path.is_file() and "cache" not in path.parts and path.suffix != ".lock" and path.name != "lock"
    }


def listed_datasets(cli, store):
    done = cli("datasets", store=store)
    assert done.returncode == 0, done.stderr
    return done.stdout.partition("\n\n")[0].splitlines()
