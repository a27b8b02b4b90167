"""Calls every GET address with drawn keys, or every address with hostile requests, and prints what the answers were.

python -m benchmarks.openapi [CASES]            as many of each GET address, from the OpenAPI document
python -m benchmarks.openapi --hostile CASES    as many with random faults: pages, bodies, forms, addresses, headers
"""

from __future__ import annotations

import argparse
import logging
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings

from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.seed import seed
from clueline.data.store import open_store
from tests.helpers.hostile_requests import KINDS, HostileServer, Sent
from tests.helpers.openapi_calls import call_every_address, drawing

CASES = 20  # of each address


def described(statuses: Counter[int]) -> str:
    """Return how often each status was answered, in words."""
    counts = ", ".join(f"{count:,} times {status}" for status, count in sorted(statuses.items()))
    return f"{statuses.total():,} requests: {counts}."


def send_hostile(server: HostileServer, kind: str, cases: int) -> dict[str, str]:
    """Send requests of a kind with random faults. Return what breaks a promise, and the request that it answers."""
    faults: dict[str, str] = {}

    @given(sent=KINDS[kind][0])
    @drawing(settings(max_examples=cases, deadline=None, database=None))
    def send(sent: Sent) -> None:
        try:
            server.send(sent, kind)
        except Exception as error:
            faults[f"{sent.address[:80]}: {str(error)[-500:]}"] = repr(sent)[:500]

    send()
    return faults


def send_all_hostile(store: Path, cases: int) -> None:
    """Send requests with random faults, and print the statuses and faults of each kind."""
    logging.disable(logging.WARNING)  # each refusal is logged
    server = HostileServer(store)
    for kind, (_, share) in KINDS.items():
        faults = send_hostile(server, kind, int(cases * share))
        for fault, sent in faults.items():
            print(f"{fault}\n{sent}\n")
        print(f"{kind}: {described(server.statuses[kind])} {len(faults)} faults.", flush=True)
    print(described(sum(server.statuses.values(), Counter())))


def main() -> None:
    """Print how often each status was answered, and each answer that contradicts the description."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=int, nargs="?", default=CASES)
    parser.add_argument("--hostile", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "store"
        seed(open_store(store))
        if options.hostile:
            send_all_hostile(store, options.cases)
            return
        app = create_app(Settings(store=str(store), workers=1))
        drawn = drawing(settings(max_examples=options.cases, deadline=None, database=None))
        statuses, faults = call_every_address(app, drawn)
    for address, fault in faults.items():
        print(f"{address}: {fault}\n")
    print(f"{described(statuses)} {len(faults)} addresses contradict their description.")


if __name__ == "__main__":
    main()
