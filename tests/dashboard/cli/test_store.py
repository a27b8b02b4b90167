"""``clueline backup``, ``restore`` and ``repair``."""

import os
import shutil
import threading

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import Store, open_store
from clueline.data.store.audit import Audit
from clueline.data.store.backup import back_up
from clueline.data.store.files import NAMES
from clueline.data.store.register import FolderRegister
from clueline.data.store.repair import inspect_version
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.paths import ROOT
from tests.helpers.run_tables import with_runs
from tests.helpers.stores import file_times, listed_datasets


def everything(store):
    """Return every row of every table."""
    snapshot = (store if isinstance(store, Store) else open_store(store)).snapshot()
    tables = [row[0] for row in snapshot.rows("select table_name from duckdb_tables() where not internal order by 1")]
    return {table: snapshot.rows(f'select * from "{table}" order by all') for table in tables}


def add_run(store, folder, model):
    path = folder / f"{model}.csv"
    path.write_text("question_id,clue,guess,confidence\nlit-01,0,x,0.5\n")
    import_paths(store, [path], ImportOptions(dataset="pyramid", model=model, elicitation="said"))


def test_a_backup_is_a_store_with_everything_in_it(cli, copied, tmp_path):
    token = Tokens(FolderRegister(copied)).create("ann")
    Audit(FolderRegister(copied)).refuse("", attempt="DELETE /")
    before = file_times(copied)
    done = cli("backup", tmp_path / "saved", store=copied)
    assert done.returncode == 0, done.stderr
    assert "3 datasets, 19 runs" in done.stdout
    assert file_times(copied) == before
    assert all(path.name.startswith(NAMES) for path in copied.iterdir())
    assert everything(tmp_path / "saved") == everything(copied)
    assert Tokens(FolderRegister(tmp_path / "saved")).record().find(token).name == "ann"
    changes = [event for event in Audit(FolderRegister(copied)).page(1000) if event.action != "refused"]
    assert Audit(FolderRegister(tmp_path / "saved")).page(1000) == changes != []
    assert listed_datasets(cli, tmp_path / "saved") == listed_datasets(cli, copied)
    assert {path.name for path in tmp_path.iterdir()} <= {"saved", "store"}


def test_a_restored_store_is_as_it_was(cli, cli_process, copied, tmp_path):
    """A server that is running shows the restored data at once."""
    app = create_app(Settings(store=str(copied), workers=1))
    store = app.extensions["clueline"].store  # DuckDB opens a file only once per process
    before, board = everything(store), app.test_client().get("/api/v1/leaderboard?dataset=pyramid").json
    assert cli("backup", tmp_path / "saved", store=copied).returncode == 0
    add_run(store, tmp_path, "later")
    assert len(app.test_client().get("/api/v1/leaderboard?dataset=pyramid").json["rows"]) == len(board["rows"]) + 1
    prompted = cli("restore", tmp_path / "saved", store=copied)  # nobody answers the prompt
    assert prompted.returncode == 1 and "holds 3 datasets, 20 runs" in prompted.stdout
    assert len(store.snapshot().rows("select 1 from runs")) == 20
    done = cli_process("restore", tmp_path / "saved", "--yes", store=copied)
    assert done.returncode == 0, done.stderr
    assert everything(store) == before
    after = app.test_client().get("/api/v1/leaderboard?dataset=pyramid").json
    assert after.pop("data_version") != board.pop("data_version") and after == board
    add_run(store, tmp_path, "again")  # the restored store can be written to
    assert len(store.snapshot().rows("select 1 from runs")) == 20


def test_a_restore_says_what_is_private(cli, copied, tmp_path):
    """Damaged tokens stop it, as docs/operations.md says. More: ``tests/data/store/test_backup_privacy.py``."""
    tokens = Tokens(FolderRegister(copied))
    tokens.make_private("tone", [])
    assert cli("backup", tmp_path / "saved", store=copied).returncode == 0
    tokens.make_public("tone")
    done = cli("restore", tmp_path / "saved", "--yes", store=copied)
    assert "Private, as in the backup: tone." in done.stdout and tokens.record().private == {"tone": ()}
    again = cli("restore", tmp_path / "saved", "--yes", store=copied)
    assert again.returncode == 0 and "Private" not in again.stdout

    before = everything(copied)
    (copied / "tokens.json").write_text("[{")
    refused = cli("restore", tmp_path / "saved", "--yes", store=copied)
    assert refused.returncode == 1 and "it is not known which datasets are private" in refused.stderr
    assert (copied / "tokens.json").read_text() == "[{" and everything(copied) == before
    for name in ("tokens.json", "tokens.lock"):
        (copied / name).unlink()
    assert cli("restore", tmp_path / "saved", "--yes", store=copied).returncode == 0


def test_a_damaged_store_is_restored_from_a_backup(cli, seeded, copied, tmp_path):
    assert cli("backup", tmp_path / "saved", store=seeded).returncode == 0
    (copied / "CURRENT").unlink()
    (copied / "gen-000001.duckdb").write_bytes(b"x" * 9000)
    assert cli("datasets", store=copied).returncode == 1
    done = cli("restore", tmp_path / "saved", "--yes", store=copied)
    assert done.returncode == 0, done.stderr
    assert everything(copied) == everything(seeded)


def test_backups_while_others_write_are_consistent(copied, tmp_path):
    """Each holds one whole version: as many responses as its runs state, and no run without its statistics."""
    done = threading.Event()
    failures = []

    def write():
        try:
            for number in range(6):
                add_run(open_store(copied), tmp_path, f"writer-{number}")
        except Exception as error:
            failures.append(error)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    counts = []
    store = open_store(copied)
    while not done.is_set() or not counts:
        folder = tmp_path / f"saved-{len(counts)}"
        version = back_up(store, folder)
        rows = with_runs(open_store(folder)).rows(
            """select (select count(*) from runs), (select sum(items) from runs), (select count(*) from responses),
            (select count(*) from runs anti join statistics using (run))"""
        )
        assert rows[0][0] == version.runs and rows[0][1] == rows[0][2] and rows[0][3] == 0
        counts.append(version.runs)
        shutil.rmtree(folder)
    writer.join()
    assert not failures
    assert counts == sorted(counts)
    assert inspect_version(store, store.pointer().name).runs == 25


def test_anything_but_a_whole_backup_is_refused(cli, copied, tmp_path):
    before = everything(copied)
    (tmp_path / "file").write_text("x")
    (tmp_path / "empty").mkdir()
    assert cli("backup", tmp_path / "damaged", store=copied).returncode == 0
    file = tmp_path / "damaged" / "gen-000001.duckdb"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    for source in ("missing", "empty", "damaged", "file"):
        done = cli("restore", tmp_path / source, "--yes", store=copied)
        assert done.returncode == 1 and "Error:" in done.stderr and "Traceback" not in done.stderr, source
    assert everything(copied) == before


def test_a_backup_overwrites_nothing(cli, copied, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "file").write_text("x")
    done = cli("backup", tmp_path / "mine", store=copied)
    assert done.returncode == 1 and "give a new or empty folder" in done.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["file"]
    for name in ("saved.part", ".saved.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    refused = cli("backup", tmp_path / "link", store=copied)
    assert refused.returncode == 1 and "give a new or empty folder" in refused.stderr and (tmp_path / "link").is_symlink()
    assert cli("backup", tmp_path / "saved", store=copied).returncode == 0
    assert (tmp_path / "saved.part" / "file").exists() and (tmp_path / ".saved.part" / "file").exists()


def test_what_a_killed_backup_left_is_removed(cli, copied, tmp_path):
    left, earlier = tmp_path / ".saved[1].clueline-scratch-x", tmp_path / ".saved1.clueline-scratch-x"
    other = tmp_path / ".clueline-scratch-notes"
    for folder in (left, earlier, other):
        folder.mkdir()
        (folder / "file").write_text("x")
        os.utime(folder, (0, 0))
    assert cli("backup", tmp_path / "saved[1]", store=copied).returncode == 0
    assert other.exists() and not left.exists() and not earlier.exists()


def test_only_the_store_writes_to_its_folder(cli, copied, tmp_path):
    (tmp_path / "way").symlink_to(copied)
    before = file_times(copied)
    for command in (("backup",), ("migrate", "--to"), ("export", "dataset", "tone"), ("view", "runs", "--output")):
        for path in (copied / "new", copied / "objects/new", tmp_path / "way/new"):
            done = cli(*command, path, store=copied)
            assert done.returncode == 1 and "where only the store itself writes; choose a path elsewhere" in done.stderr
    assert {path: time for path, time in file_times(copied).items() if "cache" not in str(path)} == before


def test_a_store_is_not_copied_among_other_files(cli, copied, tmp_path):
    target = tmp_path / "mine"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    for to in (target, target / "notes.txt"):
        done = cli("migrate", "--to", to, store=copied)
        assert done.returncode == 1 and ("give a new or empty folder" if to == target else "Not a directory") in done.stderr
    assert [path.name for path in target.iterdir()] == ["notes.txt"] and (target / "notes.txt").read_text() == "mine"
    (target / "notes.txt").unlink()
    assert cli("migrate", "--to", target, store=copied).returncode == 0
    assert everything(target) == everything(copied)
    (target / "CURRENT").unlink()  # as after a kill
    for catalogue in target.glob("gen-*"):
        catalogue.unlink()
    assert cli("migrate", "--to", target, store=copied).returncode == 0
    assert everything(target) == everything(copied)


def test_an_empty_or_damaged_store_gives_no_backup(cli, copied, tmp_path):
    done = cli("backup", tmp_path / "saved", store=tmp_path / "store-that-is-not")
    assert done.returncode == 1 and "is empty" in done.stderr
    (copied / "gen-000001.duckdb").write_bytes(b"x" * 9000)
    done = cli("backup", tmp_path / "saved", store=copied)
    assert done.returncode == 1 and "damaged" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} <= {"store"}


def test_a_lost_pointer_costs_no_data(cli, cli_process, copied):
    before = listed_datasets(cli, copied)
    (copied / "CURRENT").unlink()
    left = file_times(copied)
    for command in (("serve",), ("datasets",), ("import", ROOT / "data" / "sample" / "tone")):
        done = (cli_process if command == ("serve",) else cli)(*command, store=copied, port=1)
        assert done.returncode == 1
        assert "CURRENT, which names the version in force, is gone" in done.stderr and "clueline repair" in done.stderr
        assert file_times(copied) == left
    prompted = cli("repair", store=copied)  # nobody answers the prompt
    assert prompted.returncode == 1 and "gen-000001.duckdb" in prompted.stdout and "intact: 3 datasets" in prompted.stdout
    assert file_times(copied) == left
    done = cli("repair", "--yes", store=copied)
    assert done.returncode == 0 and "gen-000001.duckdb is the current version again" in done.stdout
    assert listed_datasets(cli, copied) == before
    assert "nothing to repair" in cli("repair", store=copied).stdout


def test_a_store_without_a_whole_version_is_left_as_it_is(cli, copied):
    (copied / "gen-000001.duckdb").write_bytes(b"x" * 9000)
    done = cli("repair", "--yes", store=copied)
    assert done.returncode == 1 and "No intact version is left" in done.stderr
    assert (copied / "gen-000001.duckdb").read_bytes() == b"x" * 9000


def test_damage_is_named_and_repaired(cli, copied):
    before = everything(copied)
    assert "is intact" in cli("verify", store=copied).stdout
    statistics = sorted(copied.glob("objects/statistics/dataset=tone/*/*.parquet"))[0]
    responses = sorted(copied.glob("objects/responses/dataset=pyramid/*/*.parquet"))[0]
    for path in (statistics, responses):
        path.write_bytes(path.read_bytes()[:-100])
    checked = cli("verify", store=copied)
    assert checked.returncode == 1 and "clueline repair" in checked.stderr
    for path in (statistics, responses):
        assert f"{path.relative_to(copied).as_posix()} is not what was written" in checked.stdout
    left = file_times(copied)
    prompted = cli("repair", store=copied)  # nobody answers the prompt
    run = responses.parent.name.removeprefix("run=")
    assert prompted.returncode == 1 and f"run {run} of dataset pyramid; import" in prompted.stdout
    assert "Compute the statistics of 1 run again" in prompted.stdout and file_times(copied) == left
    assert cli("repair", "--yes", store=copied).returncode == 0
    assert "is intact" in cli("verify", store=copied).stdout
    after = everything(copied)
    assert [row[0] for row in after["runs"]] == [row[0] for row in before["runs"] if row[0] != run]
    assert after["buzzes"] == before["buzzes"] and after["questions"] == before["questions"]


def test_damaged_tokens_are_named(cli, copied):
    Tokens(FolderRegister(copied)).create("ann")
    (copied / "tokens.json").write_text("[{")
    checked = cli("verify", store=copied)
    assert checked.returncode == 1 and "The tokens are damaged" in checked.stderr and "intact: 3 datasets" in checked.stdout


@pytest.mark.parametrize("schema", [5, 99])
def test_a_store_of_another_version_is_never_repaired(cli, copied, tmp_path, schema):
    """Every command says the same. An earlier catalogue, which could be read, must not take the place of the current one."""
    open_store(copied).write(lambda connection: connection.execute(f"update schema_version set version = {schema}"))
    current = open_store(copied).pointer()
    for command in (["migrate"], ["verify"], ["repair", "--yes"], ["datasets"], ["backup", tmp_path / "saved"]):
        done = cli(*command, store=copied)
        last = done.stderr.splitlines()[-1]
        assert done.returncode == 1 and f"schema {schema}" in last and "start a new store" in last, command
        assert "damaged" not in done.stdout + done.stderr
    assert open_store(copied).pointer() == current
