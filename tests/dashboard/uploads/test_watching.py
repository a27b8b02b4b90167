"""Watched folders: what goes in, once each, whatever is killed; what waits, and what is refused."""

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import httpx
import msgspec
import pytest

from clueline.dashboard.uploads.import_process import TooMuchMemory, run_job
from clueline.dashboard.uploads.watching import Watch, watched_files
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import StoreError, open_store
from clueline.data.store.repair import inspect_version
from clueline.data.store.tokens_and_readers import Tokens
from clueline.data.store.watch_notes import EARLIER, WATCH_NOTES
from tests.helpers import evaluation_logs as logs
from tests.helpers.drawn_pages import drawn, words
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment, start_server
from tests.helpers.waiting import wait_until

TABLE = "id,prompt,gold,prediction,p_true,judge\nq1,Which?,Nile,the Nile,0.91,C\nq2,Where?,Rome,Paris,0.4,I\nq3,Who?,x,z,0.2,I\n"
ANSWERS = "question_id,clue,guess,confidence,model,elicitation\nlit-01,0,Dracula,0.25,mine,said\nlit-02,0,Emma,0.5,mine,said\n"


def eval_log(task, status="success"):
    samples = [logs.inspect_sample(name, {"match": logs.inspect_score(confidence=0.5 + n / 10)}) for n, name in enumerate("abc")]
    return logs.inspect_log(samples, status=status, task=task)


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "logs"
    path.mkdir()
    return path


@pytest.fixture
def store(tmp_path):
    opened = open_store(tmp_path / "store", threads=1)
    yield opened
    opened.close()


def watching(store, folder, **options):
    return Watch(store, str(folder), partial(run_job, store=store), ImportOptions(**options))


def runs(store):
    return sorted(store.snapshot().rows("select run, model, elicitation, dataset, items from runs"))


def fill(folder):
    """Write what is to be imported, and return its paths."""
    instances = [logs.helm_instance(name) for name in ("a", "b")]
    states, stats = (
        [logs.helm_joint(instance) for instance in instances],
        [logs.helm_stats(i["id"], exact_match=1.0) for i in instances],
    )
    samples = folder / "lab__opus" / "samples_towns_2026-01-02T03-04-05.678.jsonl"
    logs.write_lines(samples, [logs.lm_eval_sample(number, (-1.0, -2.0)) for number in range(3)])
    (samples.parent / "results_2026-01-02T03-04-05.678.json").write_text('{"model_name": "lab/opus"}', encoding="utf-8")
    (folder / "results.csv").write_text(TABLE, encoding="utf-8")
    return [
        logs.write_eval(folder / "2026" / "rivers.eval", eval_log("rivers")),
        samples,
        logs.write_helm(folder / "helm" / "towns:model=openai_gpt", states, stats),
        folder / "results.csv",
    ]


def test_finished_logs_of_each_kind_go_in_once(folder, store, tmp_path):
    paths = fill(folder)
    logs.write_eval(folder / "growing.eval", eval_log("seas"), header=None)
    logs.write_eval(folder / "failed.eval", eval_log("lakes", "error"))
    logs.write_helm(folder / "unfinished:model=gpt", [logs.helm_joint(logs.helm_instance("c"))])
    (folder / "notes.md").write_text("# Notes", encoding="utf-8")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "results.csv").write_text(TABLE, encoding="utf-8")
    watched = watching(store, folder)
    assert [*watched.look()] == [] and runs(store) == []
    became = dict(watched.look())
    names = {str(path.relative_to(folder)) for path in paths}
    assert {name: file.state for name, file in became.items()} == dict.fromkeys(names, "imported") | {
        "growing.eval": "waiting", "unfinished:model=gpt": "waiting", "failed.eval": "refused",
    }  # fmt: skip
    assert "'error'" in became["failed.eval"].says and watched.ignored == {".md": 1}
    other = open_store(tmp_path / "other")
    for path in paths:
        import_paths(other, [path], ImportOptions())
    assert runs(store) == runs(other) and len(runs(store)) == 4
    assert {run for file in became.values() for run in file.runs} == {run for run, *_ in runs(store)}
    assert ("lab/opus", "towns") in {(model, dataset) for _, model, _, dataset, _ in runs(store)}
    version = store.version()
    for again in (watched, watching(store, folder)):  # also after a restart
        assert [*again.look(), *again.look()] == []
    (note,) = (store.files.root / "watched").iterdir()
    note.write_bytes(note.read_bytes()[:-20])  # a disk that lost bits: everything is read again, and adds nothing
    again = watching(store, folder)
    read = dict([*again.look(), *again.look()])
    assert all("already there" in read[name].says for name in names) and len(read) == len(became)
    assert store.version() == version
    logs.write_eval(folder / "growing.eval", eval_log("seas"))
    assert [name for name, _ in [*again.look(), *again.look()]] == ["growing.eval"] and len(runs(store)) == 5


def test_notes_of_an_earlier_version_count(folder, store):
    """They were in one file, which was in no backup."""
    (folder / "results.csv").write_text(TABLE, encoding="utf-8")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    watched = watching(store, folder)
    assert len([*watched.look(), *watched.look()]) == 2
    noted = watched_files(store)
    (note,) = WATCH_NOTES.names(store.files)
    WATCH_NOTES.remove(store.files, note)
    store.files.write_small(EARLIER, msgspec.json.encode(noted))
    assert watched_files(store) == noted
    again = watching(store, folder)
    assert [*again.look(), *again.look()] == []
    (folder / "broken.json").unlink()
    assert [*again.look()] == []
    assert [file.state for file in watched_files(store).values()] == ["imported"], "what is gone is not noted any more"


def test_two_watchers_do_not_lose_each_others_notes(folder, store, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    for place in (folder, other):
        (place / "results.csv").write_text(TABLE, encoding="utf-8")
    watchers = [watching(store, place) for place in (folder, other)]
    for watched in watchers:
        assert len([*watched.look(), *watched.look()]) == 1
    assert {Path(address).parent for address in watched_files(store)} == {folder.resolve(), other.resolve()}


def test_a_half_written_file_waits(folder, store):
    path, watched = folder / "answers.csv", watching(store, folder)
    lines = TABLE.splitlines(keepends=True)
    for count in range(2, len(lines) + 1):
        path.write_text("".join(lines[:count]), encoding="utf-8")
        assert [*watched.look()] == []
    ((name, file),) = watched.look()
    assert (name, file.state) == ("answers.csv", "imported")
    assert [items for *_, items in runs(store)] == [3]


def test_a_refused_file_is_tried_again(folder, store):
    """When it changes, and when a dataset is added that it may answer."""
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "pyramid").mkdir()
    (folder / "pyramid" / "answers.csv").write_text(ANSWERS, encoding="utf-8")
    watched = watching(store, folder)
    assert [*watched.look()] == []
    became = dict(watched.look())
    assert "not a JSON object" in became["broken.json"].says and "which dataset" in became["pyramid/answers.csv"].says
    assert [*watched.look()] == []
    import_paths(store, [ROOT / "data/sample/pyramid"], ImportOptions(form="bundle"))
    ((name, file),) = watched.look()  # its folder has the name of the dataset
    assert (name, file.state) == ("pyramid/answers.csv", "imported")
    (folder / "broken.json").unlink()
    assert [*watched.look()] == [] and {file.state for file in watched_files(store).values()} == {"imported"}


def test_repeats_are_what_is_stated(folder, store):
    import_paths(store, [ROOT / "data/sample/pyramid"], ImportOptions(form="bundle"))
    (folder / "answers.csv").write_text(ANSWERS + ANSWERS.splitlines()[-1].replace("0.5", "0.75"), encoding="utf-8")
    for options, state in (({}, "refused"), ({"repeats": "samples"}, "imported")):
        watched = watching(store, folder, dataset="pyramid", **options)
        ((_, file),) = [*watched.look(), *watched.look()]
        assert file.state == state, file.says
        for name in WATCH_NOTES.names(store.files):
            WATCH_NOTES.remove(store.files, name)
    assert [items for _, model, *_, items in runs(store) if model == "mine"] == [3]


def test_a_folder_with_the_store_is_not_watched(store, tmp_path):
    for folder in (tmp_path, store.local, store.local / "objects"):
        with pytest.raises(StoreError, match="watch another folder"):
            watching(store, folder)


def test_the_command_says_what_it_did(folder, store, cli):
    (folder / "results.csv").write_text(TABLE, encoding="utf-8")
    done = cli("watch", folder, "--once", "--every", "0.2", store=store.place)
    assert done.returncode == 0 and done.stdout.startswith("results.csv: imported, dataset results; run ")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    for _ in range(2):  # also if it was refused before
        done = cli("watch", folder, "--once", "--every", "0.2", store=store.place)
        assert done.returncode == 1 and done.stderr.startswith("broken.json: refused, broken.json, line ") and not done.stdout
    assert cli("watch", folder / "absent", "--once", store=store.place).returncode == 1


@pytest.mark.parametrize(("mode", "private", "shown"), [("open", False, True), ("open", True, False), ("token", False, False)])
def test_the_page_of_runs_shows_reasons_to_uploaders(app_taking_uploads, folder, mode, private, shown):
    app = app_taking_uploads(mode)
    store = app.extensions["clueline"].store
    (folder / "broken.json").write_text("{", encoding="utf-8")
    watched = watching(store, folder)
    assert len([*watched.look(), *watched.look()]) == 1
    if private:
        Tokens(store.register).make_private("tone", (), None)
    text = words(drawn(app, "runs", "dataset=pyramid"))
    assert ("broken.json" in text and "not a JSON object" in text) == shown


@pytest.mark.soak
def test_killed_ten_times_it_loses_and_repeats_nothing(folder, tmp_path):
    """A process that watches is killed at a random moment, ten times, and then left to finish."""
    for number in range(12):
        (folder / f"set-{number}.csv").write_text(TABLE.replace("q1", f"q1-{number}"), encoding="utf-8")
    expected = open_store(tmp_path / "expected")
    for path in sorted(folder.iterdir()):
        import_paths(expected, [path], ImportOptions())
    place, moments = tmp_path / "killed", random.Random(5)
    command = [sys.executable, "-m", "clueline", "watch", str(folder), "--every", "0.1"]
    counts = []
    for _ in range(10):
        before = len(counts and runs(open_store(place)))
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment(store=place), stdout=subprocess.PIPE, start_new_session=True
        )
        process.stdout.readline()  # it has begun to import, unless nothing is left
        time.sleep(moments.uniform(0, 0.3))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        counts.append(len(runs(open_store(place))))
        assert counts[-1] >= before
        if counts[-1] == len(runs(expected)):
            shutil.rmtree(place)  # all is imported: begin again
            counts.clear()
    subprocess.run([*command, "--once"], cwd=ROOT, env=environment(store=place), check=True, capture_output=True)
    store = open_store(place)
    assert runs(store) == runs(expected) and len(runs(store)) == 12
    assert inspect_version(store, store.pointer().name).damage is None
    assert {file.state for file in watched_files(store).values()} == {"imported"}


def test_a_server_watches_the_folder_of_its_setting(folder, copied, tmp_path):
    (folder / "results.csv").write_text(TABLE, encoding="utf-8")
    server = start_server(copied, tmp_path / "log", workers=2, watch=folder)

    def added():
        listed = httpx.get(f"{server.address}/api/v1/runs", timeout=300).json()["runs"]
        return [run["imported_by"] for run in listed if run["dataset"] == "results"]

    try:
        wait_until(added)
        assert added() == ["watch"]
    finally:
        server.stop()


def test_too_much_memory_is_refused_with_what_to_do(folder, store):
    (folder / "results.csv").write_text(TABLE, encoding="utf-8")
    watched = Watch(store, str(folder), lambda job: TooMuchMemory(2048, storing=False), ImportOptions())
    assert [*watched.look()] == []
    ((name, file),) = watched.look()
    assert (name, file.state) == ("results.csv", "refused")
    assert "2,048 MiB" in file.says and "Split the file" in file.says
    assert runs(store) == []
