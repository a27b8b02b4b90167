"""What the guessers of the writer's desk cost: building them once per process, and answering a question; writes writers_desk.md.

Run it with ``python -m benchmarks.writers_desk``.
"""

from __future__ import annotations

import random
import time
import tracemalloc
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from clueline.data.retrieval_guessers import GUESSERS
from clueline.data.sample.pyramid_toml_files import read_entries, read_questions
from clueline.queries.drafts import MAX_SENTENCES, MAX_WORDS, DraftText, question_draft, searches

OUT = Path(__file__).with_suffix(".md")
TIMES = 5  # how often the longest question is answered


def main() -> None:
    """Measure and write."""
    started = time.process_time()
    searches()
    build = time.process_time() - started
    usual = sorted(map(_seconds, [DraftText(question.text, question.answer) for question in read_questions()]))
    longest = sorted(map(_seconds, [_longest()] * TIMES))
    lines = [
        "# The writer's desk",
        "",
        f"Written by `benchmarks/writers_desk.py` on {date.today()}: processor time, and memory that Python and numpy hold.",
        "",
        "| what | figure |",
        "|---|---:|",
        f"| building the four guessers, once in a process | {build:.1f} s |",
        f"| memory of the four guessers | {_memory():.0f} MiB |",
        f"| a question of Pyramid (five or six sentences), median | {_middle(usual) * 1000:.0f} ms |",
        f"| {MAX_WORDS:,} words in {MAX_SENTENCES} sentences (the maximum), median | {_middle(longest) * 1000:.0f} ms |",
    ]
    OUT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def _seconds(draft: DraftText) -> float:
    started = time.process_time()
    question_draft(draft)
    return time.process_time() - started


def _longest() -> DraftText:
    """Return random words of the knowledge base, as many as a question may have."""
    words = [word.strip(".,;:") for entry in read_entries() for word in entry.text.split()]
    chosen = random.Random(0).choices(words, k=MAX_WORDS)
    size = MAX_WORDS // MAX_SENTENCES
    parts = (chosen[start : start + size] for start in range(0, MAX_WORDS, size))
    return DraftText(" ".join(f"The {' '.join(part[1:-1])} end." for part in parts), "Paris")


def _memory() -> float:
    """Return the MiB of the guessers, which are built a second time."""
    documents = [entry.document for entry in read_entries()]
    tracemalloc.start()
    built = [guesser.build(documents) for guesser in GUESSERS]
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    del built
    return held / 2**20


def _middle(values: Sequence[float]) -> float:
    return values[len(values) // 2]


if __name__ == "__main__":
    main()
