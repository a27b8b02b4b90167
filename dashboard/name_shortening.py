"""Names that are shortened in the middle, so that they fit and still differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from string import ascii_letters, digits

WORD = f"{ascii_letters}{digits}."  # characters of one word of a name
MAX_NAME_LENGTH = 40  # characters of a name in a table or above a panel
MAX_LABEL_LENGTH = 24  # characters of a name beside a line


def shortened(name: str, longest: int = MAX_LABEL_LENGTH) -> str:
    """A name of at most so many characters: of a longer one, its beginning and its end.

    >>> shortened("organisation/family-instruct-70b-preview", 20)
    'organisat…0b-preview'
    """
    if len(name) <= longest:
        return name
    end = longest // 2
    return f"{name[: longest - end - 1].rstrip()}…{name[-end:].lstrip()}"


def fitting(names: Sequence[str], longest: int = MAX_NAME_LENGTH) -> list[str]:
    """Names no longer than there is room. Of those that ``shortened`` does not tell apart, what comes after the characters that
    they begin with together, from a word's beginning; or their ends, where only these tell them apart.

    >>> fitting(["maker/model-12-instruct", "maker/model-37-instruct"], 12)
    ['…12-instruct', '…37-instruct']
    """
    cuts = [shortened(name, longest) for name in names]
    for cut in set(cuts):
        alike = {name for name, other in zip(names, cuts, strict=True) if other == cut}
        if len(alike) < 2:
            continue
        shared = sum(1 for _ in takewhile(lambda characters: len(set(characters)) == 1, zip(*alike, strict=False)))
        start = len(names[cuts.index(cut)][:shared].rstrip(WORD))
        room = longest - 1
        kept = {name: name[start:][:room] for name in alike}
        if len(set(kept.values())) < len(alike):
            kept = {name: name[-room:] for name in alike}
        cuts = [f"…{kept[name]}" if name in alike else short for name, short in zip(names, cuts, strict=True)]
    return cuts
