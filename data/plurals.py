"""Counts with their nouns, in the messages of imports and on pages: 1 row, 2,000 rows."""

from __future__ import annotations


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun in the singular or the plural, which has an *s* by default.

    More words can follow if ``plural`` is given: ``"row is", "rows are"``.

    >>> counted(1, "buzz", "buzzes"), counted(2000, "run")
    ('1 buzz', '2,000 runs')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
