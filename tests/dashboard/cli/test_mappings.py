"""``clueline mappings``, and what other commands do with mappings."""

import pytest

from clueline.data.store import open_store
from clueline.data.store.audit import Audit, system_user
from clueline.data.store.kept_mappings import MAPPINGS, keep_mapping
from clueline.data.store.scopes import of_owner

TOML = 'columns = ["id", "x1", "x2"]\n\n[roles]\nquestion_id = ["id"]\nconfidence = ["x1"]\ncorrect = ["x2"]\n'
OTHER = TOML.replace("correct", "wrong")
TABLE = "id,x1,x2\n" + "".join(f"q{n},0.{n + 5},{int(n < 3)}\n" for n in range(4))


@pytest.fixture
def files(copied):
    return open_store(copied).files


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text(TABLE)
    return path


def lines(done):
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_mappings_are_kept_listed_published_and_removed(cli, copied, files, tmp_path):
    (tmp_path / "lab.toml").write_text(TOML)
    me = system_user()
    assert lines(cli("mappings", store=copied)) == ["No mapping is kept. import --save-mapping NAME keeps one."]
    assert lines(cli("mappings", "keep", tmp_path / "lab.toml", store=copied)) == [f"lab: kept, of {me}"]
    keep_mapping(files, "hers", OTHER, of_owner("ann"), "ann")
    listed = lines(cli("mappings", store=copied))
    assert listed[0].startswith("hers: of ann, offered to them only") and listed[1].startswith(f"lab: of {me}, offered to them")
    published = cli("mappings", "publish", "hers", store=copied)
    assert lines(published) == ["hers of ann: offered to everybody who may upload"]
    assert lines(cli("mappings", "publish", "lab", "--dataset", "tone", store=copied)) == [
        f"lab of {me}: offered to those who may read tone"
    ]
    assert "correct" not in cli("mappings", "show", "hers", store=copied).stdout
    keep_mapping(files, "hers", TOML, of_owner("ann"), "ann", replace=True)
    assert "wrong" in cli("mappings", "show", "hers", store=copied).stdout, "the published copy stays as it was reviewed"
    refused = cli("mappings", "publish", "owner:ann/hers", store=copied)
    assert refused.returncode == 1 and "another one is called 'hers'" in refused.stderr
    assert lines(cli("mappings", "publish", "owner:ann/hers", "--replace", store=copied))
    assert "correct" in cli("mappings", "show", "hers", store=copied).stdout
    removed = lines(cli("mappings", "remove", "hers", store=copied))
    assert removed[0] == "hers: removed." and removed[1].startswith("Still kept under that name: hers")
    for command in ("show", "publish", "remove"):
        unknown = cli("mappings", command, "nosuch", store=copied)
        assert unknown.returncode in (1, 2) and "here is no mapping" in unknown.stderr
    assert cli("mappings", "publish", "lab", "--dataset", "nosuch", store=copied).returncode == 1
    events = [(event.action, event.names, event.dataset) for event in Audit(open_store(copied).register).page(9)]
    assert ("removed_mapping", "hers", None) in events and ("published_mapping", "lab", "tone") in events
    assert events.count(("published_mapping", "hers", None)) == 2, "what was refused did not happen"


def test_a_torn_mapping_stops_only_who_names_it(cli, copied, files, path):
    keep_mapping(files, "torn", OTHER, of_owner("ann"), "ann")
    (torn,) = (files.root / MAPPINGS.folder).iterdir()
    torn.write_bytes(torn.read_bytes()[:-40])
    columns = ("--column", "confidence=x1", "--column", "correct=x2", "--dataset", "mapped")
    done = cli("import", path, "--model", "m", *columns, store=copied)
    assert done.returncode == 0, done.stderr
    named = cli("import", path, "--model", "m", "--mapping", "torn", store=copied)
    assert named.returncode == 1
    assert "The mapping 'torn' is damaged" in named.stderr and "clueline mappings remove torn" in named.stderr
    assert "torn: damaged" in cli("mappings", store=copied).stdout
    assert "mappings: torn." in cli("doctor", store=copied).stdout and cli("verify", store=copied).returncode == 1
    assert lines(cli("mappings", "remove", "torn", store=copied)) == ["torn: removed."]
    assert cli("verify", store=copied).returncode == 0


def test_an_unreadable_mapping_of_an_earlier_version_is_named(cli, copied, path):
    (copied / "mappings").mkdir()
    (copied / "mappings" / "torn.toml").write_text("columns = [")
    columns = ("--column", "confidence=x1", "--column", "correct=x2", "--dataset", "mapped")
    assert cli("import", path, "--model", "m", *columns, store=copied).returncode == 0
    verified = cli("verify", store=copied)
    assert verified.returncode == 1 and "mappings: torn.toml is damaged: an earlier version kept it" in verified.stdout


def test_watch_uses_only_the_mapping_that_it_is_told(cli, copied, files, tmp_path, path):
    keep_mapping(files, "lab", OTHER, of_owner("ann"), "ann")
    folder = tmp_path / "logs" / "mapped"
    folder.mkdir(parents=True)
    path.rename(folder / "answers.csv")
    command = ("watch", tmp_path / "logs", "--once", "--every", "0.2")
    refused = cli(*command, store=copied)
    assert refused.returncode == 1 and "answers.csv: refused" in refused.stderr
    wrong = cli(*command, "--mapping", "nosuch", store=copied)
    assert wrong.returncode == 2 and "there is no mapping or file" in wrong.stderr
    done = cli(*command, "--mapping", "lab", store=copied)
    assert done.returncode == 0 and "answers.csv: imported" in done.stdout, "a refused file is tried again with a mapping"
    store = open_store(copied)
    ((run,),) = store.snapshot().rows("select run from runs where dataset = 'mapped' or file_name = 'answers.csv'")
    assert store.snapshot().rows(f"select sum(correct) from {store.snapshot().responses([run])}") == [(1,)]


def test_check_reads_a_baseline_in_a_file_by_the_mapping(cli, copied, files, tmp_path, path):
    keep_mapping(files, "lab", TOML, of_owner("ann"), "ann")
    (tmp_path / "before.csv").write_text(TABLE.replace("0.5", "0.4"))
    judged = ("--not-worse", "brier", "--baseline", tmp_path / "before.csv")
    done = cli("check", path, "--dataset", "mapped", "--mapping", "lab", *judged, store=copied)
    assert done.returncode == 0 and "Brier 0.285 against 0.313" in done.stdout, done.stderr
