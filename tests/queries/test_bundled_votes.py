"""The bundled votes on the tone of messages: views agree with each other, and with what is computed from the bundled files."""

import json

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar

from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from clueline.queries.human_votes import people
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE, METRICS, Conventions
from clueline.queries.recalibration import recalibration
from clueline.queries.selection import Selection
from tests.helpers.paths import ROOT

BUNDLED = ROOT / "data" / "sample" / "tone"
CLASSES = ("negative", "neutral", "positive")
TONE = Selection("tone")
ORACLE = "Oracle"  # states the shares of the votes, and guesses what most people said


@pytest.fixture(scope="module")
def votes():
    """How many people chose each class, by question."""
    table = pl.read_csv(BUNDLED / "votes.csv").pivot("class", index="question_id", values="votes").fill_null(0)
    return {row["question_id"]: np.array([row[name] for name in CLASSES]) for row in table.iter_rows(named=True)}


@pytest.fixture(scope="module")
def store(votes, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tone")
    opened = open_store(folder / "store", threads=1)
    import_paths(opened, [BUNDLED], ImportOptions())
    answers = folder / "oracle.jsonl"
    with answers.open("w", encoding="utf-8") as out:
        for question, counts in votes.items():
            options = dict(zip(CLASSES, (counts / counts.sum()).tolist(), strict=True))
            guess = CLASSES[counts.argmax()]
            row = {"question_id": question, "guess": guess, "options": options, "model": ORACLE, "elicitation": "votes"}
            out.write(json.dumps(row) + "\n")
    import_paths(opened, [answers], ImportOptions(dataset="tone"))
    return opened


def board(store, binning):
    selection = TONE.replace(conventions=Conventions(binning))
    return {row.run: row for row in leaderboard(store.snapshot(), selection, METRICS).rows}


def test_the_oracle_is_what_people_said(store):
    (oracle,) = (row for row in board(store, "width10").values() if row.model == ORACLE)
    values = {key: cell.value for key, cell in oracle.metrics.items()}
    assert [values[key] for key in ("rank_cs", "rank_cs_tied")] == [1, 1]
    # The shares are hundredths, so their differences from votes / 100 are rounding.
    assert [values[key] for key in ("dist_ce", "ent_ce", "ent_ce_abs")] == pytest.approx([0, 0, 0], abs=1e-15)


@pytest.mark.parametrize("binning", ["width10", "mass15"])
def test_people_and_the_leaderboard_agree(store, votes, binning):
    answer = people(store.snapshot(), TONE.replace(conventions=Conventions(binning)))
    rows = board(store, binning)
    assert len(answer.rows) == len(rows) == 7
    assert len({tuple(row.reference.distance) for row in answer.rows}) == 1  # the same draw for every run
    for row in answer.rows:
        cells = rows[row.run].metrics
        assert row.histograms.items == row.reference.items == len(votes)
        pairs = zip(row.histograms.distance, row.reference.distance, strict=True)
        assert sum(abs(a - b) for a, b in pairs) / 2 / len(votes) == pytest.approx(cells["tvd_ref"].value)
        assert row.histograms.ranking[0] / len(votes) == pytest.approx(cells["rank_cs"].value)
        assert sum(bin_.items for part in row.classes for bin_ in part.bins) == len(CLASSES) * len(votes)


def test_the_temperature_of_a_run_is_the_likeliest(store, votes):
    """It is fitted to whole distributions. A softmax with a temperature depends on logarithms of shares as on logits."""
    answers = pl.read_csv(BUNDLED / "responses" / "3-naive-bayes-softmax.csv")
    stated = {question: json.loads(options) for question, options in answers.select("question_id", "options").iter_rows()}
    shares = np.array([[stated[question][name] for name in CLASSES] for question in votes])
    logs = np.log(np.maximum(shares, 1e-6))
    gold = np.array([counts.argmax() for counts in votes.values()])

    def loss(temperature):
        scores = logs / temperature
        return (np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(gold)), gold]).sum()

    best = minimize_scalar(loss, bounds=(0.5, 6), method="bounded").x
    runs = recalibration(store.snapshot(), TONE, "temperature", [CATALOGUE["dist_ce"]]).runs
    (run,) = (run for run in runs if run.model == "Naive Bayes" and run.elicitation == "softmax")
    assert run.fitted_to == "whole distribution" and 1 / run.slope == pytest.approx(best, abs=0.002)
    assert run.metrics["dist_ce"].after < run.metrics["dist_ce"].before
