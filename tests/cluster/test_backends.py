"""Stores of every kind hold the same data and behave in the same way."""

import multiprocessing
import os
import time
from functools import partial
from types import SimpleNamespace

import pytest

from clueline.data.importing.column_mapping import named_mapping
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import DamagedStore, StoreError, open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.kept_mappings import keep_mapping
from clueline.data.store.kinds import expire_kinds, inspect_kinds
from clueline.data.store.repair import damage_of, versions_on_disk
from clueline.data.store.run_files import all_objects
from clueline.data.store.run_withdrawal import restore, withdraw
from clueline.data.store.s3_files import S3Files
from clueline.data.store.scopes import Viewer
from clueline.data.store.stored_selections import find_selection, keep_selection
from clueline.data.store.tokens_and_readers import TokenError, Tokens
from clueline.data.store.watch_notes import read_notes, write_notes
from tests.helpers.metric_digests import metric_digest
from tests.helpers.store_notes import check_reading_while_writing, note, notes
from tests.helpers.stores import seed_without_models
from tests.helpers.waiting import wait_until

NEW_PROCESS = multiprocessing.get_context("spawn")


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """Return a digest of the metrics of the bundled data."""
    store = open_store(tmp_path_factory.mktemp("expected"), threads=1)
    seed_without_models(store)
    return metric_digest(store)


def add_runs(url, path, models):
    """Import one run for each model."""
    store = open_store(url, threads=1)
    questions = [row[0] for row in store.snapshot().rows("select question_id from questions where dataset = 'pyramid' limit 5")]
    for model in models:
        lines = [f"{question},0,Rome,0.{len(model) % 10}" for question in questions]
        path.write_text("\n".join(["question_id,clue,guess,confidence", *lines]))
        import_paths(store, [path], ImportOptions(dataset="pyramid", model=model))
    store.close()


def models(store):
    return {model for (model,) in store.snapshot().rows("select model from runs")}


def test_metrics_are_the_same_to_the_last_digit(store, other_host, expected):
    seed_without_models(store)
    assert metric_digest(store) == expected
    assert metric_digest(other_host) == expected


def test_a_stored_selection_is_on_every_host_and_in_a_backup(store, other_host, tmp_path):
    seed_without_models(store)
    pairs = [("dataset", "tone"), ("run", "b"), ("run", "a")]
    identity = keep_selection(store.files, pairs)
    assert find_selection(other_host.files, identity) == sorted(pairs)
    assert keep_selection(other_host.files, pairs) == identity and len(store.files.listed("selections")) == 1
    back_up(other_host, tmp_path / "backup")
    restore_backup(open_store(tmp_path / "restored"), tmp_path / "backup")
    assert find_selection(open_store(tmp_path / "restored").files, identity) == sorted(pairs)


def test_two_hosts_read_a_file_alike_by_a_mapping_kept_on_one(store, other_host, tmp_path):
    path = tmp_path / "in.csv"
    path.write_text("id,x1,x2\n" + "".join(f"q{n},0.{n + 5},{int(n < 3)}\n" for n in range(4)))
    toml = 'columns = ["id", "x1", "x2"]\n\n[roles]\nquestion_id = ["id"]\nconfidence = ["x1"]\nwrong = ["x2"]\n'
    keep_mapping(store.files, "lab", toml, "store", "ann")
    runs = []
    for host in (other_host, store):
        options = ImportOptions(dataset="d", model="m", mapping=named_mapping(host.files, "lab", Viewer("ben")))
        runs.append(import_paths(host, [path], options).runs)
    assert runs[0] == runs[1] and len(runs[0]) == 1
    assert store.snapshot().rows(f"select sum(correct) from {store.snapshot().responses(runs[0])}") == [(1,)]
    write_notes(store.files, "/logs", {"/logs/a.csv": {"mark": "1"}})
    assert read_notes(other_host.files) == read_notes(store.files) and len(read_notes(store.files)) == 1
    assert [inspection.damages for kind, inspection in inspect_kinds(other_host) if kind.home == "files"] == [[]] * 4
    back_up(other_host, tmp_path / "backup")
    restore_backup(open_store(tmp_path / "restored"), tmp_path / "backup")
    files = open_store(tmp_path / "restored").files
    assert named_mapping(files, "lab", Viewer("ben")) == named_mapping(store.files, "lab", Viewer("ben"))
    assert read_notes(files) == read_notes(store.files)


def test_what_nobody_uses_ends_on_every_host(store, other_host):
    used, unused = (keep_selection(store.files, [("dataset", "tone"), ("q", str(n))]) for n in range(2))
    before = {file.name: file.written_at for file in other_host.files.listed("selections")}

    def renewed():
        store.files.renew(f"selections/{used}.json")
        after = {file.name: file.written_at for file in other_host.files.listed("selections")}
        return [name for name in before if after[name] != before[name]] == [f"selections/{used}.json"]

    wait_until(renewed)  # buckets tell times in seconds
    assert set(expire_kinds(other_host, 0)["stored selections"]) == {used, unused}
    assert find_selection(store.files, used) is None


def test_another_host_sees_a_write_at_once(store, other_host):
    seed_without_models(store)
    run = other_host.snapshot().rows("select run from runs order by position limit 1")[0][0]
    before = other_host.snapshot().version
    assert withdraw(store, run, "ann")
    assert other_host.snapshot().version == store.snapshot().version != before
    assert restore(other_host, run)
    assert store.snapshot().rows("select withdrawn_at from runs where run = $r", {"r": run}) == [(None,)]


def test_backups_and_restores_are_the_same_everywhere(store, tmp_path, expected):
    seed_without_models(store)
    token = Tokens(store.register).create("ann")
    version = back_up(store, tmp_path / "saved")
    copy = open_store(tmp_path / "saved", threads=1)
    assert (version.runs, metric_digest(copy)) == (19, expected)
    assert Tokens(copy.register).record().find(token).name == "ann"
    Tokens(store.register).revoke("ann")
    store.write(lambda connection: connection.execute("delete from runs"))
    restore_backup(store, tmp_path / "saved")
    assert metric_digest(store) == expected
    assert Tokens(store.register).record().find(token).revoked_at


def test_a_first_change_that_raises_leaves_an_empty_store(store, other_host):
    with pytest.raises(ZeroDivisionError):
        store.write(lambda connection: 1 / 0)
    assert (store.version(), other_host.version(), store.catalogues()) == ("0", "0", [])


def test_a_store_that_lost_its_pointer_is_not_treated_as_new(store, url, request):
    seed_without_models(store)
    if "postgres:" in url:
        with request.getfixturevalue("postgres").connect(url.split("?")[0].rpartition("/")[2]) as connection:
            connection.execute("delete from clueline_register")
    else:
        (store.files.root / "CURRENT").unlink()
    for damaged in (store, open_store(url, threads=1)):
        for use in (damaged.version, damaged.snapshot, partial(seed_without_models, damaged)):
            with pytest.raises(DamagedStore, match="which names the version in force"):
                use()
    assert len(store.catalogues()) == 1
    damaged.restore(versions_on_disk(damaged)[0].name)
    assert damage_of(damaged) is None
    assert len(models(store)) > 1


def spoil(store, part, tmp_path):
    spoiled = tmp_path / "spoiled"
    spoiled.write_bytes(b"x" * part.bytes)
    store.files.add(f"objects/{part.name}", spoiled)


def object_of(store, kind):
    return next(part for part in all_objects(store.snapshot().connection) if part.kind == kind)


def test_a_damaged_object_is_named_and_never_read(store, other_host, tmp_path):
    seed_without_models(store)
    part = object_of(store, "responses")
    spoil(store, part, tmp_path)
    with pytest.raises(DamagedStore, match=f"{part.name} is not what was written"):
        other_host.snapshot().read_runs("responses", [part.run], ["clue"])
    assert part.name in str(damage_of(other_host))
    store.files.remove(f"objects/{part.name}")
    with pytest.raises(DamagedStore, match=f"{part.name} is gone"):
        other_host.snapshot().read_runs("responses", [part.run], ["clue"])


def test_damaged_statistics_are_computed_again(store, other_host, tmp_path):
    seed_without_models(store)
    part, columns = object_of(store, "statistics"), ["position", "items", "confidence"]
    before = store.snapshot().read_runs("statistics", [part.run], columns)
    spoil(store, part, tmp_path)
    after = other_host.snapshot().read_runs("statistics", [part.run], columns)
    assert after[part.run].equals(before[part.run]) and part.name in str(damage_of(other_host))


def test_a_damaged_catalogue_is_neither_read_nor_built_upon(store, other_host, tmp_path):
    store.write(note("a"))
    content = bytearray(store.catalogue().read_bytes())
    content[len(content) // 2] ^= 1
    spoiled = tmp_path / "spoiled"
    spoiled.write_bytes(content)
    store.files.add(store.catalogue().name, spoiled)
    for use in (other_host.snapshot, partial(other_host.write, note("b"))):
        with pytest.raises(DamagedStore, match="is not what was written"):
            use()
    assert len(store.catalogues()) == 1


def test_a_damaged_copy_is_fetched_again(store, other_host, url):
    if "s3:" not in url:
        pytest.skip("hosts have no copies of their own")
    seed_without_models(store)
    part = next(part for part in all_objects(store.snapshot().connection) if part.kind == "statistics")
    other_host.objects.path(part.name).write_bytes(b"x" * part.bytes)
    other_host.catalogue().write_bytes(b"x")
    assert other_host.snapshot().read_runs("statistics", [part.run], ["position"])[part.run].height == part.rows


def test_objects_in_no_catalogue_go_at_the_second_sweep(store):
    seed_without_models(store)
    name = "objects/responses/dataset=pyramid/run=00/0123456789abcdef.parquet"
    draft = store.files.draft(name)
    draft.write_bytes(b"left by a killed import")
    store.files.add(name, draft)
    named = {part.name for part in all_objects(store.snapshot().connection)}
    for remains in (True, False):
        store.objects.sweep(lambda: named, pause=0)
        assert store.files.exists(name) == remains
    assert damage_of(store) is None


def test_only_the_last_three_catalogues_are_kept(store):
    for _ in range(6):
        store.write(lambda connection: None)
    assert [file.number for file in store.catalogues()] == [4, 5, 6]


def test_six_writers_lose_nothing(store, url, tmp_path):
    seed_without_models(store)
    names = {f"{writer}-{number}" for writer in "abcdef" for number in range(25)}
    writers = [
        NEW_PROCESS.Process(
            target=add_runs, args=(url, tmp_path / f"{writer}.csv", sorted(name for name in names if name.startswith(writer)))
        )
        for writer in "abcdef"
    ]
    for process in writers:
        process.start()
    for process in writers:
        process.join(600)
    assert [process.exitcode for process in writers] == [0] * 6
    assert names <= models(store)
    assert damage_of(store) is None


def test_several_processes_create_tokens_at_once(store, url):
    names = [[f"p{process}-{index}" for index in range(10)] for process in range(4)]
    running = [NEW_PROCESS.Process(target=_make_tokens, args=(url, some)) for some in names]
    for process in running:
        process.start()
    for process in running:
        process.join(120)
        assert process.exitcode == 0
    assert {token.name for token in Tokens(store.register).all()} == {name for some in names for name in some}


def _make_tokens(url, names):
    for name in names:
        Tokens(open_store(url).register).create(name)


def test_a_writer_that_waits_too_long_for_the_lock_raises(store):
    seed_without_models(store)
    with (
        store.register.locked(),
        pytest.raises(StoreError, match="another import has held the store"),
        store.register.locked(0.2),
    ):
        pass


def test_a_bad_token_name_changes_nothing(store):
    with pytest.raises(TokenError):
        Tokens(store.register).create("a b")
    assert Tokens(store.register).all() == []


def test_threads_read_while_others_write(store, other_host):
    check_reading_while_writing(other_host, store)


def test_a_backup_of_a_damaged_object_is_refused(store, tmp_path):
    """The backup is refused even though this host has a good copy of the object."""
    seed_without_models(store)
    part = next(part for part in all_objects(store.snapshot().connection) if part.kind == "statistics")
    spoiled = tmp_path / "spoiled"
    spoiled.write_bytes(b"x" * part.bytes)
    if not store.files.copied:
        spoiled.replace(store.files.path(f"objects/{part.name}"))
    else:
        good = store.files.path(f"objects/{part.name}").read_bytes()
        store.files.add(f"objects/{part.name}", spoiled)
        store.files.path(f"objects/{part.name}").write_bytes(good)
    assert part.name in str(damage_of(store))
    with pytest.raises(StoreError, match=part.name):
        back_up(store, tmp_path / "saved")


def test_the_least_recently_read_copies_are_removed_first(s3, tmp_path):
    files = S3Files(s3.new_bucket(), tmp_path / "copies", capacity=2500)
    names = [f"objects/responses/dataset=d/run=r/{number}.parquet" for number in range(4)]
    for name in names:
        draft = files.draft(name)
        draft.write_bytes(b"x" * 1000)
        files.add(name, draft)
    for hours, name in zip((3, 2, 1, 0), names, strict=True):
        os.utime(files.path(name), (time.time() - 3600 * hours,) * 2)
    files.renew_copy(names[3])
    assert [files.root.joinpath(name).exists() for name in names] == [False, False, True, True]
    assert files.path(names[0]).read_bytes() == b"x" * 1000


def test_copies_leave_a_part_of_the_disk_free(s3, tmp_path, monkeypatch):
    files = S3Files(s3.new_bucket(), tmp_path / "copies")
    names = [f"objects/responses/dataset=d/run=r/{number}.parquet" for number in range(2)]
    for name in names:
        draft = files.draft(name)
        draft.write_bytes(b"x" * 1000)
        files.add(name, draft)
    left = files.draft(names[0])
    left.write_bytes(b"left by a killed process")
    for path in (left, files.path(names[0])):
        os.utime(path, (time.time() - 3600,) * 2)
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(total=100_000, free=4500))
    files.renew_copy(names[1])
    assert [path.name for path in files.root.rglob("*") if path.is_file()] == ["1.parquet"]


def test_each_schema_of_a_database_holds_a_store(postgres, tmp_path):
    database = postgres.new_database()
    with postgres.connect(database.rpartition("/")[2]) as connection:
        for name in ("first", "second"):
            connection.execute(f"create schema {name}")
    stores = {
        name: open_store(
            f"{database}?objects={tmp_path / name}&local={tmp_path / 'local'}&options=-csearch_path={name}", threads=1
        )
        for name in ("first", "second")
    }
    for name, store in stores.items():
        store.write(note(name))
    assert {name: notes(store) for name, store in stores.items()} == {"first": ["first"], "second": ["second"]}
    with stores["first"].register.locked(), stores["second"].register.locked(0.2):
        pass  # the lock of one schema does not lock the other


def test_a_write_without_permission_fails_after_one_try(postgres, tmp_path):
    database = postgres.new_database()
    url = f"{database}?objects={tmp_path / 'objects'}&local={tmp_path / 'local'}"
    store = open_store(url, threads=1)
    store.write(note("a"))
    with postgres.connect(database.rpartition("/")[2]) as connection:
        connection.execute("create role reader login")
        connection.execute("grant select on clueline_register, clueline_tokens to reader")
    reader = open_store(url.replace("clueline@", "reader@"), threads=1)
    assert notes(reader) == ["a"]
    tries = []
    with pytest.raises(StoreError, match=r"cannot be used \(permission denied"):
        reader.write(tries.append)
    assert len(tries) == 1
    assert notes(store) == ["a"]
