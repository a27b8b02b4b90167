"""One digest of everything that a store's metrics come to."""

import hashlib
import json

from queries.engine.gather_evidence import gather
from queries.metrics import METRICS
from queries.selection import Selection


def metric_values(store):
    """Every metric of every run, with and without the same clues for all, and every difficulty: as texts, to the last digit."""
    snapshot = store.snapshot()
    values = {}
    for dataset in snapshot.states:
        for common in (True, False):
            evidence = gather(snapshot, Selection(dataset, common=common), METRICS)
            for metric in METRICS:
                values[f"{dataset}, {common}, {metric.key}"] = [repr(float(value)) for value in evidence.values(metric)]
        sql = "select question_id, difficulty, difficulty_source from questions where dataset = $d order by position"
        values[f"{dataset}, difficulties"] = [repr(row) for row in snapshot.rows(sql, {"d": dataset})]
    return values


def metric_digest(store):
    """sha256 of ``metric_values``."""
    return hashlib.sha256(json.dumps(metric_values(store), sort_keys=True).encode()).hexdigest()
