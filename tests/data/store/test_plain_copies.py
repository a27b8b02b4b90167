"""Copies of a store's folder that are made with ordinary tools while others write."""

import shutil

import pytest

from clueline.data.store import StoreError, open_store
from clueline.data.store.repair import damage_of, versions_on_disk
from tests.helpers.bundle_factory import RESPONSES, put, put_file, write
from tests.helpers.metric_digests import metric_values

RUN = "question_id,clue,guess,confidence\nq1,0,Rome,0.{}\nq2,1,Nile,1\n"


def two_runs(store, folder):
    put(store, write(folder / "toy", responses=RESPONSES), model="alpha")
    put_file(store, folder / "run.csv", RUN.format(1), dataset="toy", model="beta")


def copy_slowly(source, target, order, change, times):
    """Copy files one by one, while the store is changed ``times`` times. Files that are gone by then are left out."""
    files = sorted((path for path in source.rglob("*") if path.is_file()), key=order)
    for index, path in enumerate(files):
        if index % (len(files) // (times + 1)) == 1 and times:
            change()
            times -= 1
        copy = target / path.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(path, copy)
        except FileNotFoundError:
            continue


ORDERS = {
    "the pointer first": lambda path: (path.name != "CURRENT", path.name),
    "the pointer last": lambda path: (path.name == "CURRENT", path.name),
    "runs last": lambda path: (path.suffix == ".parquet", path.name),
}


@pytest.mark.parametrize(("order", "writes"), [*((order, 1) for order in ORDERS), ("the pointer first", 4)])
def test_a_plain_copy_is_whole_or_reported_as_damaged(prefilled, tmp_path, cli, order, writes):
    store = prefilled(two_runs)
    models = ["alpha", "beta"]

    def change():
        path = tmp_path / "more.csv"
        path.write_text(RUN.format(len(models)))
        models.append(f"more-{len(models)}")
        put(store, path, dataset="toy", model=models[-1])

    copy_slowly(store.files.root, tmp_path / "copy", ORDERS[order], change, writes)
    copy = open_store(tmp_path / "copy", threads=1)
    damage = damage_of(copy)
    if damage is not None:
        with pytest.raises(StoreError) as refused:
            open_store(copy.url, threads=1).snapshot().read_runs("responses", list_of_runs(copy), ["clue"])
        assert refused.value.remedy in ("repair", "repair if damaged")
        readable = [version for version in versions_on_disk(copy) if version.readable]
        copy.close()
        repaired = cli("repair", "--yes", store=copy.url)
        assert (repaired.returncode == 0) == bool(readable)
        if not readable:
            assert writes > 3 and "No intact version is left; restore the folder from a backup" in repaired.stderr
            return
    assert damage_of(copy) is None
    copied = [model for (model,) in copy.snapshot().rows("select model from runs order by position")]
    assert {"alpha", "beta"} <= {*copied} <= {*models}
    assert metric_values(copy).keys() == metric_values(store).keys()


def list_of_runs(store):
    return [run for (run,) in store.snapshot().rows("select run from runs")]
