"""``datasets get`` from a local server: what is fetched, compared and imported, and the messages when that fails."""

import hashlib
import json
import re
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from clueline.data import downloadable_datasets
from tests.helpers.stores import listed_datasets

QUESTIONS = "Question Prompt,Confidence Prompt,True Lifespan,Question ID\nHow old?,How sure?,74,0\nHow old?,How sure?,74,525\n"
ANSWERS = "Answer,Confidence,Question ID\n76,0.5,0\n85,0.25,525\n"
FILES = {"the questions.csv": QUESTIONS, "new/answers_a.csv": ANSWERS, "new/answers_b.csv": ANSWERS.replace("0.5", "0.75")}


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def mirror(tmp_path):
    """A server with the files of a public dataset."""
    folder = tmp_path / "mirror"
    for name, text in FILES.items():
        path = folder / "commit" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}/commit"
    server.shutdown()
    server.server_close()


@pytest.fixture
def get(mirror, tmp_path, monkeypatch, cli):
    """Run the command with the server's dataset as the only public dataset."""

    def imported(name, model=None):
        text = FILES[name].encode()
        file = {"path": name, "sha256": hashlib.sha256(text).hexdigest(), "bytes": len(text)}
        return {"format": "lifeeval", "dataset": "spans", "model": model, "files": [file]}

    facts = {
        "key": "spans", "title": "Spans of life", "licence": "MIT", "source": "nobody", "address": f"{mirror[1]}/",
        "imports": [imported("the questions.csv"), imported("new/answers_a.csv", "a"), imported("new/answers_b.csv", "b")],
    }  # fmt: skip
    table = tmp_path / "table.json"
    table.write_text(json.dumps([facts]))
    known = downloadable_datasets.public_datasets(table)
    monkeypatch.setattr("clueline.dashboard.cli.datasets.public_datasets", lambda: known)
    return partial(cli, "datasets", "get")


def test_a_public_dataset_is_fetched_and_imported(get, copied, cli):
    done = get("spans", store=copied)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Spans of life. Licence: MIT. Source: nobody\n")
    assert [line.split(" imported")[0] for line in done.stdout.splitlines() if line.startswith("run ")] == [
        re.search(rf"run \w+ \({model}, verbalized, spans\): 2 items of 2 questions", done.stdout).group() for model in "ab"
    ]
    assert any(line.startswith("spans: LifeEval (lifeeval), 2 questions, 2 runs") for line in listed_datasets(cli, copied))
    assert "Spans of life. Licence: MIT" in cli("datasets", store=copied).stdout
    assert "already there" in get("spans", store=copied).stdout


def test_what_cannot_be_fetched_is_named_in_one_line(get, mirror, copied, cli):
    files, before = mirror[0] / "commit", listed_datasets(cli, copied)
    (files / "new" / "answers_b.csv").write_text(ANSWERS.replace("0.5", "0.74"))
    for options, message in (
        ((), "new/answers_b.csv differs from the file that this version knows"),
        (("--mirror", "http://127.0.0.1:9/nothing"), "cannot be fetched: "), ((), "the%20questions.csv cannot be fetched: "),
    ):  # fmt: skip
        done = get("spans", *options, store=copied)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1) and message in done.stderr
        assert listed_datasets(cli, copied) == before
        (files / "the questions.csv").unlink(missing_ok=True)


def test_an_unknown_key_lists_the_known_ones(get, copied):
    done = get("lives", store=copied)
    assert done.returncode == 2
    assert "the public datasets are: spans" in done.stderr


def test_the_table_pins_every_file():
    for dataset in downloadable_datasets.public_datasets().values():
        assert dataset.licence and dataset.source and dataset.imports
        assert re.fullmatch(r"https://raw\.githubusercontent\.com/[\w-]+/[\w-]+/[0-9a-f]{8,40}/", dataset.address)
        files = [file for part in dataset.imports for file in part.files]
        assert all(re.fullmatch("[0-9a-f]{64}", file.sha256) and file.bytes for file in files)
        assert len({file.path for file in files}) == len(files)
