"""LifeEval's pairs of confidence and correctness, as released: 72,185 rows on five question sets."""

from collections import Counter

import pytest

from data.importing.ingest import import_paths
from data.importing.staging import ImportOptions
from tests.helpers.bundle_factory import records
from tests.helpers.run_tables import with_runs

pytestmark = pytest.mark.real


def test_every_pair_is_in_a_run(shared, store):
    path = shared("lifeeval") / "llm-confidence-correct.csv"
    pairs = records(path.read_text(encoding="utf-8"))
    assert len(pairs) == 72_185
    report = import_paths(store, [path], ImportOptions())
    assert report.repaired == {} and report.warnings == []
    stated = Counter((row["llm"], row["qset"]) for row in pairs)
    token = Counter((row["llm"], row["qset"]) for row in pairs if row["chosen_token_confidence"] != "NA")
    snapshot = with_runs(store)
    runs = snapshot.rows("select title, model, elicitation, items, failed from runs join datasets using (dataset)")
    assert {(model, title.removeprefix("LifeEval: "), elicitation): items for title, model, elicitation, items, _ in runs} == {
        (*key, elicitation): count
        for elicitation, counts in (("stated", stated), ("token", token))
        for key, count in counts.items()
    }
    assert {failed for *_, failed in runs} == {0}
    right = sum(row["correct"] == "TRUE" for row in pairs)
    assert snapshot.rows(
        "select count(*), sum(r.correct) from responses r join runs using (run) where elicitation = 'stated'"
    ) == [(72_185, right)]
