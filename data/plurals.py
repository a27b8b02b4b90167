"""Counts with their nouns, and lists, in the messages of imports and on pages: 1 row, 2,000 rows."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun in the singular or the plural, which has an *s* by default.

    More words can follow if ``plural`` is given: ``"row is", "rows are"``.

    >>> counted(1, "buzz", "buzzes"), counted(2000, "run")
    ('1 buzz', '2,000 runs')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(parts: Sequence[str]) -> str:
    """Return texts, at least one, as a list in a sentence.

    >>> listed(["1 row"]), listed(["1 row", "2 runs", "3 clues"])
    ('1 row', '1 row, 2 runs and 3 clues')
    """
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if parts[1:] else parts[0]
