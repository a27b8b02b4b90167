"""How well grades by the rules agree with labels that people gave; updates the table in answer_grading.md.

    python -m benchmarks.answer_grading

The labels are the tests that come with qb-answer-checker, the answer checker of qbreader (npm, ISC licence): answer lines from
tournaments, a guess for each, and what a moderator should do. The package is fetched with ``npm pack`` and pinned by a checksum.
The tests are cases that were once graded wrongly, so they are harder than the guesses of a tournament.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import markdown_table
from clueline.data.quizbowl.answer_lines import parse_answer_line

OUT = Path(__file__).with_suffix(".md")
PACKAGE = "qb-answer-checker@1.1.9"
SHA512 = "/VImySyLfu1QZfVkd+HpqLanrIU02WWaHpz1krH1HwnEhxSEI//PBLCEQe7OX8TImNK8ZIE7FAzI7JSvsMB5QA=="
FILES = {"marked answer lines": "package/test/formatted-tests.csv", "plain answer lines": "package/test/unformatted-tests.csv"}
OUTCOMES = {"accept": "accept", "prompt": "review", "reject": "reject"}  # a person decides about a prompt


class LabelledGuess(NamedTuple):
    """A guess with what a moderator should do: ``accept``, ``prompt`` or ``reject``."""

    label: str
    guess: str
    answer_line: str


class Agreement(NamedTuple):
    """How well outcomes and labels agree, as counts of guesses.

    Attributes:
        decided: guesses that were accepted or rejected.
        right: decided guesses whose label is the same.
        uncertain: guesses for review that are labelled ``accept`` or ``reject``.
        guesses: all guesses.
    """

    decided: int
    right: int
    uncertain: int
    guesses: int


def fetch_labels() -> dict[str, list[LabelledGuess]]:
    """Return the labelled guesses of each file of the package.

    Raises:
        RuntimeError: the fetched file is not the pinned package.
    """
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, capture_output=True)
        packed = next(Path(folder).glob("*.tgz")).read_bytes()
    if base64.b64encode(hashlib.sha512(packed).digest()).decode() != SHA512:
        raise RuntimeError(f"{PACKAGE} is not the file that was pinned")
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        return {kind: _read(archive, name) for kind, name in FILES.items()}


def _read(archive: tarfile.TarFile, name: str) -> list[LabelledGuess]:
    file = archive.extractfile(name)
    if file is None:
        raise RuntimeError(f"{PACKAGE} has no {name}")
    rows = csv.DictReader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
    return [LabelledGuess(row["Directive"], row["Given"], row["Answer Line"]) for row in rows]


def is_first_half(labelled: LabelledGuess) -> bool:
    """Return whether the rules were written with this guess in view: true for half of the guesses, chosen by a hash."""
    return hashlib.sha256((labelled.guess + labelled.answer_line).encode()).digest()[0] % 2 == 1


def compute_agreement(labels: Iterable[LabelledGuess]) -> Agreement:
    """Grade every guess and compare the outcome with its label."""
    pairs = Counter((OUTCOMES[each.label], parse_answer_line(each.answer_line).judge(each.guess).outcome) for each in labels)
    decided = sum(count for (_, outcome), count in pairs.items() if outcome != "review")
    right = sum(count for (label, outcome), count in pairs.items() if label == outcome != "review")
    uncertain = sum(count for (label, outcome), count in pairs.items() if outcome == "review" != label)
    return Agreement(decided, right, uncertain, pairs.total())


def main() -> None:
    """Fetch, grade and write the table."""
    labels = fetch_labels()
    every = [each for kind in labels.values() for each in kind]
    halves = {
        "first half": [each for each in every if is_first_half(each)],
        "second half": [each for each in every if not is_first_half(each)],
    }
    groups = {**labels, **halves, "all": every}
    rows = []
    for name, group in groups.items():
        agreement = compute_agreement(group)
        rows.append(
            [
                name,
                f"{agreement.guesses}",
                f"{agreement.right} of {agreement.decided}",
                f"{100 * agreement.right / agreement.decided:.1f} %",
                f"{100 * agreement.uncertain / agreement.guesses:.1f} %",
            ]
        )
    table = "\n".join(markdown_table(["guesses", "number", "right where decided", "agreement", "uncertain"], rows))
    text = OUT.read_text(encoding="utf-8")
    OUT.write_text(f"{text[: text.index('| guesses')]}{table}\n", encoding="utf-8")  # keep the text above the table
    print(table)


if __name__ == "__main__":
    main()
