"""The release of LifeEval: its import, and the bundled files that are made of it."""

import json
from collections import defaultdict

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from clueline.data.importing.ingest import import_paths
from clueline.data.sample import make_lifeeval
from clueline.queries.leaderboard import leaderboard
from clueline.queries.metrics import CATALOGUE
from clueline.queries.selection import Selection
from tests.helpers.bundle_factory import records

pytestmark = pytest.mark.real

MODELS = "dataset = 'lifeeval' and not respondents"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder for bundles that are made of the release."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture(scope="module")
def imported(store, shared, made):
    """Reports by the names of files, after the import of the whole release by which the bundles are made."""
    reports = {}

    def kept(opened, paths, options):
        reports[paths[-1].stem] = import_paths(opened, paths, options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make_lifeeval, "open_store", lambda path, threads: store)
        patch.setattr(make_lifeeval, "import_paths", kept)
        make_lifeeval.make_released(shared("lifeeval"), made)
    return reports


def test_the_release_gives_the_bundled_files_again(imported, made):
    files = sorted(path.relative_to(made) for path in made.rglob("*.*"))
    bundled = make_lifeeval.FOLDER.parent
    report = imported["llm-confidence-correct"]
    assert report.repaired == {} and report.warnings == []
    assert len(files) == 2 + 3 * 5 and sum((bundled / path).stat().st_size for path in files) < 1_500_000
    for path in files:
        if path.suffix == ".parquet":
            assert_frame_equal(pl.read_parquet(made / path), pl.read_parquet(bundled / path))
        else:
            assert (made / path).read_bytes() == (bundled / path).read_bytes()


def test_skipped_rows_are_reported(store, imported):
    sql = f"select model, skipped, items, no_confidence + unparsed, missing_questions, failed from runs where {MODELS}"
    for model, skipped, items, other, missing, failed in store.snapshot().rows(sql):
        counts = json.loads(skipped) if skipped else {}
        assert items + other + missing == 808
        # Some rows of a question were followed by another try; o3's file also lacks rows.
        assert sum(counts.values()) == other + failed or model.startswith("o3"), model
        line = imported[f"life_eval_{model}"].lines[-1]
        assert all(f"{count:,} row{'s' * (count > 1)}: {reason}" in line for reason, count in counts.items())


@pytest.fixture(scope="module")
def pairs(shared):
    return records((shared("lifeeval") / "llm-confidence-correct.csv").read_text(encoding="utf-8"))


def test_pairs_are_those_of_the_release(pairs, store, imported):
    """Counts and means of every model on every set, by numpy from the released file."""
    expected, of_runs = {}, defaultdict(list)
    for row in pairs:
        for column, elicitation in (("stated_confidence", "stated"), ("chosen_token_confidence", "token")):
            if row[column] != "NA":
                key = f"lifeeval-{row['qset'].replace('_', '-')}", row["llm"], elicitation
                of_runs[key].append((float(row[column]), row["correct"] == "TRUE"))
    for key, items in of_runs.items():
        confidence, correct = np.array(items).T
        expected[key] = [len(items), confidence.mean(), correct.mean(), ((confidence - correct) ** 2).mean()]
    stored = {}
    for dataset in sorted({key[0] for key in of_runs}):
        metrics = [CATALOGUE[key] for key in ("mean_confidence", "accuracy", "brier")]
        for row in leaderboard(store.snapshot(), Selection(dataset, common=False), metrics).rows:
            stored[dataset, row.model, row.elicitation] = [row.items, *(row.metrics[metric.key].value for metric in metrics)]
    assert len(pairs) == 72_185 and stored.keys() == expected.keys() and len(stored) == 63
    assert stored == {key: pytest.approx(values, abs=1e-12) for key, values in expected.items()}
