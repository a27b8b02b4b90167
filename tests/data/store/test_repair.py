"""Damage is found, affects only what is damaged, and is repaired from what is left."""

import pytest

from clueline.data.store import DamagedStore, open_store
from clueline.data.store.background_checksums import VersionCheck
from clueline.data.store.repair import damage_of, inspect_version, repair_objects, versions_on_disk
from clueline.data.store.run_files import stored_objects
from clueline.data.store.run_withdrawal import restore, withdraw
from tests.helpers.bundle_factory import content, put, put_two_runs
from tests.helpers.metric_digests import metric_values
from tests.helpers.store_notes import spoil_file
from tests.helpers.waiting import wait_until


@pytest.fixture
def toy(prefilled):
    """A store with two runs."""
    return prefilled(put_two_runs)


def part_of(store, kind, model):
    snapshot = store.snapshot()
    run = snapshot.rows("select run from runs where model = $m", {"m": model})[0][0]
    return stored_objects(snapshot.connection, kind, runs=[run])[0]


def names(store):
    return [path.name for path in sorted(store.files.root.glob("gen-*"))]


def test_lost_statistics_are_computed_again(toy):
    expected = metric_values(toy)
    part = part_of(toy, "statistics", "beta")
    spoil_file(toy.objects.path(part.name))
    damaged = open_store(toy.url, threads=1)
    version = versions_on_disk(damaged)[0]
    assert version.damaged_objects == ((part, "is not what was written"),) and part.name in version.damage
    assert repair_objects(damaged, version.damaged_objects) == []
    assert damage_of(damaged) is None
    assert metric_values(damaged) == expected


def test_only_a_run_without_responses_is_set_aside(toy, tmp_path):
    before = content(toy)
    kept = open_store(tmp_path / "kept", threads=1)
    put(kept, tmp_path / "toy", model="alpha")
    part = part_of(toy, "responses", "beta")
    spoil_file(toy.objects.path(part.name))
    damaged = open_store(toy.url, threads=1)
    lost = repair_objects(damaged, inspect_version(damaged, damaged.catalogue().name).damaged_objects)
    assert [(run.run, run.model, run.file_name) for run in lost] == [(part.run, "beta", "run.csv")]
    assert damage_of(damaged) is None
    assert metric_values(damaged) == metric_values(kept)
    assert toy.objects.path(part.name).exists()
    put(damaged, tmp_path / "run.csv", dataset="toy", model="beta")
    after = content(damaged)
    assert {*after} == {*before} and after["accuracies"] == before["accuracies"] and len(after["runs"]) == len(before["runs"])


def test_changes_do_not_remove_the_last_whole_version(toy, tmp_path):
    put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    whole = toy.catalogue().name
    put(toy, tmp_path / "run.csv", dataset="toy", model="delta")
    spoil_file(toy.objects.path(part_of(toy, "responses", "delta").name))
    damaged = open_store(toy.url, threads=1)
    run = part_of(toy, "statistics", "alpha").run
    for _ in range(3):
        withdraw(damaged, run, None)
        restore(damaged, run)
    assert names(damaged)[0] == whole and len(names(damaged)) == 4
    assert [version.name for version in versions_on_disk(damaged) if version.damage is None] == [whole]
    repair_objects(damaged, inspect_version(damaged, damaged.catalogue().name).damaged_objects)
    assert damage_of(damaged) is None and whole not in names(damaged)


def test_nothing_is_written_on_a_damaged_catalogue(toy):
    run = part_of(toy, "statistics", "alpha").run
    toy.snapshot()
    spoil_file(toy.catalogue())
    before = names(toy)
    for store in (toy, open_store(toy.url, threads=1)):
        with pytest.raises(DamagedStore, match="is not what was written"):
            withdraw(store, run, None)
    assert names(toy) == before


def test_another_catalogue_does_not_pass_for_the_current_one(toy):
    """For example, a bit of the number in the pointer has changed."""
    pointer = toy.files.root / "CURRENT"
    older = names(toy)[0]
    assert toy.catalogue().name != older
    pointer.write_text(pointer.read_text().replace(toy.catalogue().name, older))
    with pytest.raises(DamagedStore, match=f"{older}, is not what was written"):
        open_store(toy.url, threads=1).snapshot()


def test_a_version_is_checked_before_a_page_needs_it(toy, tmp_path):
    check = VersionCheck(toy.objects)
    assert check.damage(toy.snapshot()) is None
    put(toy, tmp_path / "run.csv", dataset="toy", model="gamma")
    part = part_of(toy, "responses", "gamma")
    spoil_file(toy.objects.path(part.name))
    wait_until(lambda: part.name in str(check.damage(toy.snapshot())))
