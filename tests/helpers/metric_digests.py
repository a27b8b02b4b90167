"""One digest of all metric values of a store."""

import hashlib
import json

from clueline.queries.engine.gather import gather
from clueline.queries.metrics import METRICS
from clueline.queries.selection import Selection


def metric_values(store):
    """Return every metric of every run, on common clues and on all, and every difficulty: as texts, to the last digit."""
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
    """Return the SHA-256 of ``metric_values``."""
    return hashlib.sha256(json.dumps(metric_values(store), sort_keys=True).encode()).hexdigest()
