"""Calls every GET address with drawn keys, and prints what the answers were: ``python -m benchmarks.openapi [CASES]``."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from hypothesis import settings

from dashboard.app import create_app
from dashboard.settings import Settings
from data.importing.seed import seed
from data.store import open_store
from tests.helpers.openapi_calls import call_every_address, drawing

CASES = 20  # of each address


def main() -> None:
    """Print how often each status was answered, and each answer that contradicts the description."""
    cases = int(sys.argv[1]) if len(sys.argv) > 1 else CASES
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        seed(open_store(store))
        app = create_app(Settings(store=str(store), workers=1))
        statuses, faults = call_every_address(app, drawing(settings(max_examples=cases, deadline=None, database=None)))
    for address, fault in faults.items():
        print(f"{address}: {fault}\n")
    counts = ", ".join(f"{count:,} times {status}" for status, count in sorted(statuses.items()))
    print(f"{statuses.total():,} requests: {counts}. {len(faults)} addresses contradict their description.")


if __name__ == "__main__":
    main()
