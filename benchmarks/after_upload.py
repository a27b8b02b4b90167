"""What pages of a large dataset cost at first, again, and after an upload to it; prints a table of processor seconds.

    python -m benchmarks.after_upload                      a million responses of 20 runs
    python -m benchmarks.after_upload --questions 1500     a quick look

One process draws the pages, without a browser. Each upload is one more run, of 2,000 responses.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.measuring import machine, markdown_table, timed
from benchmarks.synthetic_data import CLUES, fill, write_small_run
from clueline.dashboard.app import create_app
from clueline.dashboard.settings import Settings
from clueline.data.importing.ingest import import_paths
from clueline.data.importing.staging import ImportOptions
from clueline.data.store import open_store
from tests.helpers.callback_body import callback_body

RUNS, SMALL, UPLOADS = 20, 2_000, 3
PAGES = ("/", "/reliability", "/difficulty", "/compare", "/slices", "/questions")
QUERIES = {"": "dataset=large", ", with a filter": "dataset=large&difficulty=0..0.7"}


def main() -> None:
    """Fill a store, draw, upload, and draw again."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=12_500)
    questions = parser.parse_args().questions
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fill(open_store(folder / "store", threads=1), folder, "large", questions, questions * CLUES * RUNS)
        app = create_app(Settings(store=str(folder / "store"), workers=1))
        client, store = app.test_client(), app.extensions["clueline"].store

        def seconds() -> dict[tuple[str, str], float]:
            return {(path, more): cost(path, query) for path in PAGES for more, query in QUERIES.items()}

        def cost(path: str, query: str) -> float:
            def draw() -> None:
                assert client.post("/_dash-update-component", json=callback_body(path, query)).status_code == 200

            return timed(draw).cost

        first, again = seconds(), seconds()
        after: list[dict[tuple[str, str], float]] = []
        for number in range(UPLOADS):
            run = write_small_run(folder / "small.csv", SMALL, number)
            import_paths(store, [run], ImportOptions(dataset="large", model=f"uploaded {number}", elicitation="verbalized"))
            after.append(seconds())
    rows = [
        [
            f"`{path}`{more}",
            *(f"{costs[path, more]:.2f}" for costs in (first, again)),
            f"{median(costs[path, more] for costs in after):.2f}",
        ]
        for path, more in first
    ]
    size = f"{questions * CLUES * RUNS:,} responses of {RUNS} runs"
    print(f"{machine()}. Processor seconds, {size}; after an upload, the median of {UPLOADS}\n")
    print("\n".join(markdown_table(["page", "at first", "again", "after an upload"], rows)))


if __name__ == "__main__":
    main()
