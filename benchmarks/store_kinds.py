"""One digest of every metric on each kind of store, for the same random responses; writes store_kinds.md.

    python -m benchmarks.store_kinds                       10 million responses
    python -m benchmarks.store_kinds --rows 200000         a quick look (writes no file unless --out is given)

Needs PostgreSQL and Ceph's object gateway, as ``make test-cluster`` does (scripts/get-servers), and starts and stops them.
``tests/cluster/test_backends.py`` does the same with the bundled datasets.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from benchmarks.measuring import machine, markdown_table, timed
from benchmarks.synthetic_data import CLUES, fill
from clueline.data.store import open_store
from tests.helpers.metric_digests import metric_digest
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.s3_server import S3Server
from tests.helpers.store_addresses import KINDS

OUT = Path(__file__).with_suffix(".md")
FULL, QUESTIONS = 10_000_000, 50_000


def addresses(folder: Path, stack: ExitStack) -> dict[str, str]:
    """Return the address of a new store of each kind. The servers stop with the stack."""
    postgres, s3 = PostgresServer(), S3Server()
    stack.callback(postgres.remove)
    stack.callback(s3.remove)
    os.environ.update(s3.environment)
    objects = {"postgres and folder": str(folder / "objects"), "postgres and s3": s3.new_bucket()}
    shared = {
        kind: f"{postgres.new_database()}?objects={place}&local={folder / kind.replace(' ', '-')}"
        for kind, place in objects.items()
    }
    return {kind: shared.get(kind, str(folder / "store")) for kind in KINDS}


def main() -> int:
    """Import and digest. Return 1 if the digests differ."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=FULL, help="responses")
    parser.add_argument("--folder", type=Path, help="where to put the stores for a while")
    parser.add_argument("--out", type=Path, help="where to write the table")
    options = parser.parse_args()
    rows, digests = [], []
    with tempfile.TemporaryDirectory(prefix="clueline-", dir=options.folder) as name, ExitStack() as stack:
        folder = Path(name)
        for kind, address in addresses(folder, stack).items():
            scratch = folder / f"files of {kind}"
            scratch.mkdir()
            store = open_store(address, threads=2)
            imported = timed(lambda: fill(store, scratch, "large", QUESTIONS, options.rows))  # noqa: B023 - called at once
            again = open_store(address, threads=2)
            computed = timed(lambda: digests.append(metric_digest(again)))  # noqa: B023
            rows.append([kind, f"`{digests[-1][:16]}`", f"{imported.cost:.0f}", f"{computed.cost:.0f}"])
            print(rows[-1], flush=True)
            again.close()
            store.close()
    same = len(set(digests)) == 1
    lines = [
        "# The same digest on every kind of store",
        "",
        f"Written by `benchmarks/store_kinds.py`: {machine()}.",
        f"{max(options.rows, QUESTIONS * CLUES):,} random responses were imported into a store of each kind, which was then",
        "opened again. The digest covers every metric of every run, with and without common questions, to the last digit. The S3",
        "server is Ceph's, without durability. CPU s is the processor time of this process, without that of the servers.",
        "",
        *markdown_table(["store", "first digits of the sha256", "import, CPU s", "metrics, CPU s"], rows, texts=2),
        "",
        "All digests are the same." if same else "**The digests differ.**",
        "",
    ]
    print("\n".join(lines))
    if out := options.out or (OUT if options.rows == FULL else None):
        out.write_text("\n".join(lines), encoding="utf-8")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
