"""The README: its commands work when they are pasted, and its findings are those of the bundled datasets."""

import csv
import os
import re
import subprocess
import sys

from tests.helpers.json_api import get, table
from tests.helpers.paths import ROOT
from tests.helpers.serving import environment, serving
from tests.helpers.uploads import upload_client

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
MAX_PICTURE_BYTES = 200_000


COMMANDS = {".venv/bin/python": sys.executable, ".venv/bin/": f"{sys.executable} -m "}


def script(title):
    """Return the commands below a title, with the Python that runs the tests."""
    block = TEXT.partition(f"## {title}")[2].partition("```sh\n")[2].partition("```")[0]
    return re.sub(r"\.venv/bin/python|\.venv/bin/(?=clueline )", lambda start: COMMANDS[start[0]], block)


def test_a_table_goes_in_by_three_lines(tmp_path):
    settings = environment(store=tmp_path / "store", samples="no")
    commands = ["sh", "-e", "-c", script("You have a table")]
    done = subprocess.run(commands, check=False, cwd=tmp_path, env=settings, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = {row["model"]: row for row in csv.DictReader(done.stdout[done.stdout.index("run,") :].splitlines())}
    assert {model: (float(row["accuracy"]), round(float(row["ece"]), 3)) for model, row in rows.items()} == {
        "alpha": (0.5, 0.425), "beta": (0.5, 0.35),  # .95 and .9 share a bin
    }  # fmt: skip


def test_the_commands_work_when_they_are_pasted(copied):
    commands = ["sh", "-e", "-c", script("Your model in 60 seconds")]
    upload = upload_client(copied)
    with serving(upload.app) as address:
        settings = environment(store=copied) | {"SERVER": address}
        for _ in range(2):  # pasted again, it finds the existing run
            done = subprocess.run(commands, check=False, cwd=ROOT, env=settings, capture_output=True, text=True, timeout=120)
            assert done.returncode == 0, done.stderr
    assert "calscore" in done.stdout
    link = done.stdout.split()[-1]
    assert link.startswith(f"{address}/runs/")
    assert get(upload.client, f"/api/v1{link.removeprefix(address)}")["model"] == "my-model"


def test_it_begins_with_a_picture_and_two_commands():
    start = TEXT.partition("## Start")[0]
    assert "docs/images/clues.webp" in start and len(start.split("\n\n")[1].split(". ")) <= 3
    block = TEXT.partition("## Start")[2].partition("```sh\n")[2].partition("```")[0]
    assert len(block.strip().splitlines()) == 2


def test_pictures_exist_and_are_small():
    pictures = re.findall(r"!\[.+?\]\((docs/images/.+?)\)", TEXT)
    assert len(pictures) == 6
    assert {os.path.basename(path) for path in pictures} == {path.name for path in (ROOT / "docs" / "images").iterdir()}
    assert all((ROOT / path).stat().st_size < MAX_PICTURE_BYTES for path in pictures)


def test_findings_are_those_of_the_bundled_datasets(client):
    softmax, metrics = "dataset=pyramid&elicitation=softmax", "accuracy,net_score,calscore,brier"
    rows = get(client, f"/api/v1/leaderboard?{softmax}&metrics={metrics}")["rows"]
    board = {row["model"]: row["metrics"] for row in rows}
    assert board["LSA 64"]["accuracy"]["rank"] == 1 and f"{board['LSA 64']['accuracy']['value']:.0%}" == "44%"
    assert all(board["BM25"][metric]["rank"] == 1 for metric in ("net_score", "calscore", "brier"))

    bins = {row["model"]: row for row in table(client, f"/api/v1/reliability.csv?{softmax}")
            if float(row["lower"]) == 0.9 and row["items"] != "0"}  # fmt: skip
    stated = {model: tuple(f"{float(row[name]):.0%}" for name in ("mean_confidence", "accuracy")) for model, row in bins.items()}
    assert (stated["TF-IDF words"], stated["BM25"]) == (("97%", "58%"), ("98%", "95%"))

    slopes = {row["model"]: float(row["slope"]) for row in table(client, "/api/v1/difficulty.csv?dataset=lifeeval")}
    assert f"{slopes['Mean remaining life, always 80 %']:.2f}" == "1.03" and abs(slopes["Optimal forecaster"]) < 1e-9

    buzz = {row["model"]: row for row in table(client, f"/api/v1/buzz.csv?{softmax}")}
    assert [f"{float(buzz[model]['threshold']):.0%}" for model in ("BM25", "LSA 64")] == ["63%", "30%"]
    assert max(buzz, key=lambda model: float(buzz[model]["win"])) == "BM25"

    rows = get(client, "/api/v1/leaderboard?dataset=tone&metrics=ece,ent_ce")["rows"]
    values = {
        row["elicitation"]: [round(row["metrics"][key]["value"], 2) for key in ("ece", "ent_ce")]
        for row in rows if row["model"] == "Naive Bayes"
    }  # fmt: skip
    assert values == {"softmax": [0.25, -0.27], "temperature-scaled": [0.07, 0.13]}
