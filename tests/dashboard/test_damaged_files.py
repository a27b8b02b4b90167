"""However a file of the store is damaged, each answer is that of the intact store or says that the store cannot be read."""

import json
import os
import random
import shutil
from types import SimpleNamespace

import pytest

from clueline.dashboard.app import create_app
from clueline.dashboard.registry.pages import PAGES
from clueline.dashboard.service import Service
from clueline.dashboard.settings import Settings
from clueline.dashboard.shell import draw
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.data.store.repair import damage_of
from tests.helpers.small_store import write_csv, write_relay, write_spans
from tests.helpers.waiting import wait_until

ADDRESSES = (
    "/api/v1/datasets", "/api/v1/runs.csv?dataset=relay", "/api/v1/leaderboard?dataset=relay",
    "/api/v1/leaderboard.csv?dataset=spans", "/api/v1/reliability?dataset=relay", "/api/v1/items.csv?dataset=relay",
    "/api/v1/questions/relay/r05", "/api/v1/questions.csv?dataset=relay", "/api/v1/difficulty?dataset=relay",
    "/api/v1/people?dataset=relay", "/api/v1/buzz?dataset=relay", "/api/v1/runs/{run}/responses.csv",
    "/api/v1/runs/{run}/responses.jsonl",
)  # fmt: skip
DRAWN = ("leaderboard", "reliability", "questions")
PLACES = random.Random("damage")


def flipped(content):
    """Return the content with one bit flipped."""
    place = PLACES.randrange(len(content))
    return content[:place] + bytes([content[place] ^ 1 << PLACES.randrange(8)]) + content[place + 1 :]


DAMAGE = {"flipped": flipped, "cut": lambda content: content[: len(content) // 2], "zeroed": lambda content: bytes(len(content))}
FILES = {
    "pointer": "CURRENT", "catalogue": "gen-*.duckdb", "responses": "objects/responses/*/*/*.parquet",
    "statistics": "objects/statistics/*/*/*.parquet", "notes": "objects/SWEPT",
}  # fmt: skip


def restarted(app, folder, cache_mb=0):
    """Serve ``folder`` from the app with a new service, which caches up to ``cache_mb`` MB (0: nothing). Return a client."""
    Service(app, Settings(store=str(folder), workers=1, cache_mb=cache_mb))
    return app.test_client()


def answers(client, run):
    """Return status and content at every address, without the name of the store's version."""
    results = {}
    for address in ADDRESSES:
        answer = client.get(address.format(run=run))
        text = answer.get_data(as_text=True)
        if answer.is_json and answer.status_code == 200:
            text = json.dumps({key: value for key, value in answer.json.items() if key != "data_version"})
        results[address] = answer.status_code, text
    for page in DRAWN:
        request = {"path": PAGES[page].path, "query": "dataset=relay", "page": True}
        with client.application.test_request_context(request["path"]):
            text = draw(request)
        version = json.loads(text)["page"]["version"]
        results[page] = 200, json.loads(text.replace(version, "") if version else text)  # the page footer names it, too
    return results


def is_refusal(answer):
    """Return whether an answer says that the store cannot be read. It must show neither a path nor a traceback."""
    status, text = answer
    text = text if isinstance(text, str) else json.dumps(text)
    assert "Traceback" not in text and "/tmp" not in text and ".py" not in text, text
    return status == 503 or (status == 200 and "The store cannot be read" in text)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """A small store with several versions, and its answers."""
    root = tmp_path_factory.mktemp("whole")
    write_relay(root / "relay")
    write_spans(root / "spans")
    store = open_store(root / "store", threads=1)
    import_paths(store, [root / "relay", root / "spans"], ImportOptions())
    for model in ("late", "last"):
        write_csv(root / f"{model}.csv", ["question_id", "clue", "guess", "confidence", "correct"], [["r00", 0, "x", 0.5, 1]])
        import_paths(store, [root / f"{model}.csv"], ImportOptions(dataset="relay", model=model))
    run = store.snapshot().rows("select run from runs where model = 'twin'")[0][0]
    store.close()
    app = create_app(Settings(store=str(root / "store"), workers=1, cache_mb=0))
    return SimpleNamespace(app=app, run=run, folder=root / "store", answers=answers(app.test_client(), run))


@pytest.fixture
def copy(intact, tmp_path):
    return shutil.copytree(intact.folder, tmp_path / "store", ignore=shutil.ignore_patterns("cache"))


def files_in_force(folder, kind):
    """Return the files of one kind that make up the version in force."""
    store = open_store(folder, threads=1)
    if kind == "catalogue":
        return [store.catalogue()]
    return sorted(folder.glob(FILES[kind]))


# Notes hold nothing that an answer needs.
CASES = [
    *(("pointer", damage) for damage in DAMAGE),
    *((kind, damage) for kind in ("catalogue", "responses", "statistics") for damage in ("flipped", "cut")),
    ("notes", "cut"),
]


@pytest.mark.parametrize(("kind", "damage"), CASES)
def test_a_damaged_file_never_changes_a_figure(intact, copy, kind, damage):
    """Neither a running server nor one started after the damage shows a wrong figure."""
    path = PLACES.choice(files_in_force(copy, kind))
    client = restarted(intact.app, copy)
    assert client.get("/readyz").status_code == 200
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    damaged = damage_of(open_store(copy, threads=1)) is not None
    assert damaged or kind in ("pointer", "notes")
    for restart in (False, True):
        client = restarted(intact.app, copy) if restart else client
        for address, answer in answers(client, intact.run).items():
            assert answer == intact.answers[address] or is_refusal(answer), (path, address, answer)
    if not damaged:
        assert client.get("/readyz").status_code == 200, path
    else:  # on a busy machine, files are compared after the first answer
        wait_until(lambda: client.get("/readyz").status_code == 503)
        ready = client.get("/readyz")
        assert "/tmp" not in ready.text and "clueline repair" in ready.json["error"]["message"]


@pytest.mark.parametrize("kind", ["catalogue", "responses", "statistics"])
def test_damage_that_keeps_size_and_time_is_found_at_restart(intact, copy, kind):
    """A process checks again what it has checked only if size or time changes. The next process and ``verify`` find the rest."""
    assert answers(restarted(intact.app, copy), intact.run) == intact.answers
    path = files_in_force(copy, kind)[0]
    before, content = path.stat(), path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert damage_of(open_store(copy, threads=1)) is not None
    client = restarted(intact.app, copy)
    for address, answer in answers(client, intact.run).items():
        assert answer == intact.answers[address] or is_refusal(answer), (address, answer)
    wait_until(lambda: client.get("/readyz").status_code == 503)


def test_a_damaged_result_is_computed_again(intact, copy):
    assert answers(restarted(intact.app, copy, cache_mb=8), intact.run) == intact.answers
    results = [path for path in (copy / "cache").rglob("*") if path.is_file() and path.stat().st_size]
    assert len(results) > len(ADDRESSES)
    for index, path in enumerate(sorted(results)):
        path.write_bytes([*DAMAGE.values()][index % len(DAMAGE)](path.read_bytes()))
    assert answers(restarted(intact.app, copy, cache_mb=8), intact.run) == intact.answers


def test_a_file_that_is_put_back_is_served_again(intact, copy):
    client = restarted(intact.app, copy)
    for kind in ("catalogue", "statistics"):
        path = files_in_force(copy, kind)[0]
        content = path.read_bytes()
        path.write_bytes(bytes(len(content)))
        served = answers(client, intact.run)
        if kind == "statistics":  # they are computed again from the responses
            assert served == intact.answers
        else:
            assert any(map(is_refusal, served.values()))
        path.write_bytes(content)
    assert answers(client, intact.run) == intact.answers


def test_a_folder_as_pointer_is_reported_without_its_path(intact, copy):
    (copy / "CURRENT").unlink()
    (copy / "CURRENT").mkdir()
    client = restarted(intact.app, copy)
    assert client.get("/readyz").status_code == 503
    assert all(is_refusal(answer) for answer in answers(client, intact.run).values())
