"""A store made by an earlier version: it says so, and is migrated in steps, all of them or none."""

import shutil
import tarfile
import time
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from clueline.data.store import StoreError, migrations, open_store
from clueline.data.store.backup import back_up, restore_backup
from clueline.data.store.cache_validity_tokens import renew_revisions
from clueline.data.store.catalogue_schema import create_schema
from clueline.data.store.errors import NeedsMigration
from clueline.data.store.models import known_models
from clueline.data.store.repair import damage_of
from clueline.data.store.run_withdrawal import withdraw
from clueline.queries.selection import read_facets, read_selection
from tests.helpers.bundle_factory import content, put, put_file, write
from tests.helpers.metric_digests import metric_values

STEPS = migrations.steps()
NOW = migrations.current_schema()


def add_nothing(connection, objects):
    """A step that changes no table, so that only derived values are computed again."""


def add_language(connection, objects):
    connection.execute("alter table questions add column language varchar")
    connection.execute("update questions set language = 'en'")


def add_region(connection, objects):
    connection.execute("alter table runs add column region varchar")


def drop_region(connection):
    migrations.drop_column(connection, "runs", "region")


def with_steps(*more):
    """Return a stand-in for ``migrations.steps``: the existing steps and more, given as functions or whole steps."""
    steps = (*STEPS, *(step if isinstance(step, migrations.Step) else migrations.Step(step) for step in more))
    return lambda: steps


def one_run(store, folder):
    put(store, write(folder / "toy"))
    text = "question_id,clue,guess,confidence\nq1,0,Rome,0.25\nq1,1,Paris,0.75\nq2,1,Nile,1\n"
    put_file(store, folder / "run.csv", text, dataset="toy", model="gamma")


@pytest.fixture
def older(prefilled):
    """A store of this version's schema with one run."""
    return prefilled(one_run)


@pytest.fixture
def released(monkeypatch):
    """Return a function that makes this a version of Clueline which also has these steps."""
    return lambda *steps: monkeypatch.setattr(migrations, "steps", with_steps(*steps))


def test_a_store_of_this_version_and_an_empty_one_need_nothing(older, tmp_path):
    for store in (older, open_store(tmp_path / "empty", threads=1)):
        version = store.version()
        assert store.migrate() == (NOW, NOW)
        assert store.version() == version


def test_an_older_store_names_the_command(older, released, tmp_path):
    released(add_nothing, add_language)
    opened = open_store(older.url, threads=1)
    for use in (
        opened.snapshot,
        lambda: opened.write(print),
        lambda: put(opened, tmp_path / "none.csv"),
    ):
        with pytest.raises(StoreError, match="made by an earlier version of Clueline") as refused:
            use()
        assert refused.value.remedy == "migrate"


def test_an_older_store_is_migrated(older, released, tmp_path):
    before, states = content(older), older.snapshot().states
    older.close()
    released(add_nothing, add_language)
    opened = open_store(older.url, threads=1)
    assert opened.migrate() == (NOW, NOW + 2)
    snapshot = opened.snapshot()
    assert snapshot.rows("select distinct language from questions") == [("en",)]
    after = content(opened)
    assert (before.pop("schema_version"), after.pop("schema_version")) == ([(NOW,)], [(NOW + 2,)])
    assert [row[:-1] for row in after.pop("questions")] == before.pop("questions")
    assert after == before
    assert snapshot.states["toy"].base != states["toy"].base, "what was computed from the older tables is not used"
    put(opened, tmp_path / "run.csv", dataset="toy", model="later")
    assert opened.migrate() == (NOW + 2, NOW + 2)


def test_a_new_store_is_made_by_the_same_steps(older, released, tmp_path):
    older.close()
    released(add_nothing, add_language)
    migrated, new = open_store(older.url, threads=1), open_store(tmp_path / "new", threads=1)
    migrated.migrate()
    new.write(lambda connection: None)
    columns = "select table_name, column_name, data_type from duckdb_columns() where not internal order by all"
    assert new.snapshot().rows(columns) == migrated.snapshot().rows(columns)
    assert new.snapshot().rows("select version from schema_version") == [(NOW + 2,)]


def test_a_step_that_fails_changes_nothing(older, released):
    version, before = older.version(), content(older)
    older.close()

    def fail(connection, objects):
        raise ValueError("no")

    with pytest.MonkeyPatch.context() as later:
        later.setattr(migrations, "steps", with_steps(add_language, fail))
        with pytest.raises(ValueError, match="no"):
            open_store(older.url, threads=1).migrate()
    opened = open_store(older.url, threads=1)
    assert (opened.version(), content(opened)) == (version, before)


def test_steps_are_numbered_without_a_gap(tmp_path, monkeypatch):
    (tmp_path / "m0014_later.py").touch()
    monkeypatch.setattr(migrations, "__path__", [str(tmp_path)])
    with pytest.raises(RuntimeError, match="numbered from 13 without a gap"):
        migrations.steps.__wrapped__()


def test_a_store_of_a_later_version_is_refused(older, monkeypatch):
    older.close()
    with monkeypatch.context() as later:
        later.setattr(migrations, "steps", with_steps(add_nothing))
        open_store(older.url, threads=1).migrate()
    opened = open_store(older.url, threads=1)
    for use in (opened.snapshot, opened.migrate):
        with pytest.raises(StoreError, match="made by another version of Clueline; use that version"):
            use()


@pytest.fixture
def later_version(monkeypatch):
    """A context in which this is a later version of Clueline, whose step can be reverted."""

    @contextmanager
    def context():
        with monkeypatch.context() as later:
            later.setattr(migrations, "steps", with_steps(migrations.Step(add_region, drop_region)))
            yield

    return context


def test_two_versions_read_and_write_a_store_in_turn(older, later_version, tmp_path):
    older.close()
    with later_version():
        later = open_store(older.url, threads=1)
        assert later.snapshot().rows("select distinct region from runs") == [(None,)]
        put(later, tmp_path / "run.csv", dataset="toy", model="later")
        written = content(later)
        assert damage_of(later) is None
        back_up(later, tmp_path / "saved")
        later.close()
    for url in (older.url, tmp_path / "saved"):
        opened = open_store(url, threads=1)
        assert opened.snapshot().rows("select version from schema_version") == [(NOW,)]
        assert [row[0] for row in opened.snapshot().rows("select model from runs order by position")] == ["gamma", "later"]
        values = metric_values(opened)
    put(open_store(older.url, threads=1), tmp_path / "run.csv", dataset="toy", model="earlier")
    with later_version():
        later = open_store(older.url, threads=1)
        run = later.snapshot().rows("select run from runs where model = 'earlier'")[0][0]
        withdraw(later, run, None)
        assert written["questions"] == content(later)["questions"]
        later.close()
        assert later.migrate() == (NOW, NOW + 1)
        assert damage_of(later) is None and metric_values(later).keys() == values.keys()
        assert metric_values(open_store(tmp_path / "saved", threads=1)) == values
    with pytest.raises(StoreError, match="made by another version of Clueline; use that version"):
        open_store(older.url, threads=1).snapshot()


def test_values_that_the_earlier_schema_cannot_hold_wait(older, later_version):
    older.close()
    with later_version():
        later = open_store(older.url, threads=1)
        before = later.version()
        with pytest.raises(StoreError, match=r"no room for runs\.region") as refused:
            later.write(lambda connection: connection.execute("update runs set region = 'north'"))
        assert refused.value.remedy == "migrate" and later.version() == before
        later.migrate()
        later.write(
            lambda connection: connection.execute("update runs set region = 'north'") and renew_revisions(connection, ["toy"])
        )
        assert later.snapshot().rows("select distinct region from runs") == [("north",)]


@pytest.fixture(scope="module")
def of_schema_12(tmp_path_factory):
    """A store with the oldest schema that is read, made from three small bundles, with a withdrawn run; and the bundles."""
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(Path(__file__).parent / "fixtures" / "store-schema-12.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "store-12"


def test_a_store_of_the_oldest_schema_has_the_same_metrics(of_schema_12, tmp_path):
    """They equal those of an import of the same bundles by this version, and migrating takes less CPU time than importing."""
    new = open_store(tmp_path / "new", threads=1)
    began = time.process_time()
    put(new, *sorted((of_schema_12 / "bundles").iterdir()))
    importing = time.process_time() - began
    withdraw(new, new.snapshot().rows("select run from runs order by position")[0][0], "ann")
    old = open_store(shutil.copytree(of_schema_12 / "store", tmp_path / "store"), threads=1)
    began = time.process_time()
    assert old.migrate() == (migrations.FIRST, NOW)
    migrating = time.process_time() - began
    assert metric_values(old) == metric_values(new)
    assert damage_of(old) is None
    names = "select run, model, elicitation, items, withdrawn_by from runs order by position"
    assert old.snapshot().rows(names) == new.snapshot().rows(names)
    assert known_models(old.snapshot()) == known_models(new.snapshot()) != []
    print(f"migrating takes {migrating:.2f} s of a processor, importing {importing:.2f} s")
    assert migrating < importing


def test_an_earlier_schema_is_refused(of_schema_12, tmp_path, monkeypatch):
    monkeypatch.setattr(migrations, "FIRST", 13)
    monkeypatch.setattr(migrations, "steps", lambda: (migrations.Step(add_nothing),))
    opened = open_store(shutil.copytree(of_schema_12 / "store", tmp_path / "store"), threads=1)
    for use in (opened.snapshot, opened.migrate):
        with pytest.raises(StoreError, match=r"has schema 12, .*\. This version reads schema 13 and later") as refused:
            use()
        assert refused.value.remedy is None


def test_days_leave_elicitations_and_come_back():
    """Of runs that were imported together under two names of one elicitation, both keep theirs."""
    (step,) = [step for step in migrations.steps() if "evaluation_days" in step.migrate.__module__]
    names = {"verbalized": "verbalized", "conf (2026-05-01)": "verbalized", "no confidence": "no confidence", "margin": "margin"}
    together = ["confidence", "conf"]
    with duckdb.connect() as connection:
        create_schema(connection)
        rows = [(name, f"2026-06-0{n + 1}") for n, name in enumerate(names)] + [(name, "2026-07-01") for name in together]
        for name, day in rows:
            connection.execute(
                """insert into runs (run, dataset, position, model, elicitation, sha256, imported_at, items, questions,
                missing_questions) values ($name, 'toy', 0, 'm', $name, '', $day, 1, 1, 0)""", {"name": name, "day": day}
            )  # fmt: skip
        run = connection.execute
        for _ in range(2):
            step.revert(connection)
            assert run("select run = elicitation, count(*) from runs group by 1").fetchall() == [(True, 6)]
            step.migrate(connection, None)
            stored = run("select run, elicitation, stated_elicitation from runs order by imported_at, run desc").fetchall()
            assert stored == [
                *((name, way, None if way == name else name) for name, way in names.items()),
                *((name, name, None) for name in together),
            ]
        run("update runs set evaluated_at = '2026-05-01'")
        with pytest.raises(NeedsMigration, match=r"runs\.evaluated_at"):
            step.revert(connection)


def test_a_link_with_an_earlier_elicitation_selects_its_runs(store, tmp_path):
    put(store, write(tmp_path / "toy"))
    text = "question_id,clue,guess,confidence\nq1,0,Rome,0.25\n"
    first = put_file(store, tmp_path / "a.csv", text, dataset="toy", model="m", elicitation="conf (2026-05-01)")
    facets = read_facets(store.snapshot(), "toy")
    assert facets.values["elicitation"] == ("verbalized",)
    assert read_selection([("elicitation", "conf (2026-05-01)")], lambda _: facets).elicitation == ("verbalized",)
    again = put_file(store, tmp_path / "b.csv", text, dataset="toy", model="m", elicitation="verbalized")
    assert again.stored == first.runs


def test_a_store_of_an_earlier_schema_is_backed_up_as_it_is(of_schema_12, tmp_path):
    """So the earlier version can read the backup after an upgrade: that is the way back. This one can migrate it."""
    old = open_store(shutil.copytree(of_schema_12 / "store", tmp_path / "store"), threads=1)
    version = back_up(old, tmp_path / "saved")
    assert (version.datasets, version.damage) == (3, None)
    assert old.migrate() == (migrations.FIRST, NOW)
    saved = open_store(tmp_path / "saved", threads=1)
    folder = of_schema_12 / "store"
    earlier = (folder / open_store(folder).pointer().name).read_bytes()
    assert (tmp_path / "saved" / saved.pointer().name).read_bytes() == earlier, "it is the one that the earlier version wrote"
    with pytest.raises(StoreError, match="made by an earlier version"):
        saved.snapshot()
    restored = open_store(tmp_path / "restored", threads=1)
    restore_backup(restored, tmp_path / "saved")
    assert restored.migrate() == (migrations.FIRST, NOW)
    assert metric_values(restored) == metric_values(old)
