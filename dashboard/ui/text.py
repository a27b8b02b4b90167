"""Numbers and names as pages show them: three decimals, a true minus sign, and names that are short and still differ."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import takewhile
from string import ascii_letters, digits

DASH = "–"
# Columns of what is stated and of what came true, by whether answers are forecasts.
CALIBRATION_COLUMNS = {False: ("Mean confidence", "Accuracy"), True: ("Mean probability of yes", "Mean outcome")}
CURVE_NAMES = {
    "buzz_share": "share of human buzzes that were correct so far",
    "release_share": "correct human buzzes so far, as a share of all human buzzes on the question",
    "team_share": "share of human teams that have answered correctly so far",
    "survival": "share of teams right so far, allowing for questions that others ended (Aalen-Johansen)",
}
# The same, shorter: which h a number uses, where it stands.
CURVE_LABELS = {"buzz_share": "buzzes", "release_share": "all buzzes", "team_share": "teams", "survival": "teams, survival"}
STATED = "by stated ends"  # after a second value: that without plays of people whose end nobody stated
STATED_MEANS = "Without plays of people of which nobody stated where they ended"
DIFFICULTY_SOURCES = {
    "given": "given with the dataset",
    "rooms": "1 − share of rooms in which the question was answered correctly (at most one team per room can be right)",
    "human": "1 − share of human teams that were right",
    "runs": "1 − mean accuracy of the runs; slopes use, for each run, the runs of other models with other answers",
}


def short(value: float | None, digits: int = 3) -> str:
    """Return a number for a table; a dash if there is none."""
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    if float(text) == 0:
        text = text.replace("-", "")
    return text.replace("-", "\u2212")


def tick(correct: float | None) -> str:
    """Return a check mark for right, a cross for wrong, and a number for what is partly right."""
    return {0.0: "✗", 1.0: "✓"}.get(correct, short(correct, 2)) if correct is not None else DASH


def brackets(low: float | None, high: float | None, form: Callable[[float], str] = short) -> str:
    """Return an interval as every page writes one, in brackets; blank if there is none."""
    return "" if low is None or high is None else f"[{form(low)}, {form(high)}]"


def over_others(count: int, of_row: int) -> str:
    """Say how many questions a value is over that are not those of its row.

    >>> over_others(89, 120), over_others(20, 18)
    ('89 of 120', 'of 20')
    """
    return f"{count:,} of {of_row:,}" if count < of_row else f"of {count:,}"


def percent(share: float | None, digits: int = 1) -> str:
    """Return a share, from 0 to 1, as a percentage; a dash if there is none."""
    return DASH if share is None else f"{short(100 * share, digits)} %"


def p_value_text(p_value: float | None) -> str:
    """Return a p-value for a table; a dash if there is none."""
    if p_value is None:
        return DASH
    return "< 0.001" if p_value < 0.001 else f"{p_value:.3f}"


def enumerated(names: Sequence[str], most: int, last: str = " and ") -> str:
    """Return names in a row, of which ``most`` are named and the others counted after ``last``."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f"{last}{more} more" if more > 0 else "")


def minute(at: str) -> str:
    """Return a time, ISO 8601 in UTC, to the minute."""
    return f"{at[:10]} {at[11:16]} UTC"


WORD = f"{ascii_letters}{digits}."  # characters of one word of a name
MAX_NAME_LENGTH = 40  # characters of a name in a table or above a panel
MIN_HEAD = 4  # characters of the beginning of a name, if it has any
MAX_LABEL_LENGTH = 24  # characters of a name next to a line


def shorten_middle(name: str, longest: int = MAX_LABEL_LENGTH) -> str:
    """Return a name of at most ``longest`` characters. A longer one keeps its beginning and its end.

    >>> shorten_middle("organisation/family-instruct-70b-preview", 20)
    'organisat…0b-preview'
    """
    if len(name) <= longest:
        return name
    end = longest // 2
    return f"{name[: longest - end - 1].rstrip()}…{name[-end:].lstrip()}"


def distinct_short_names(names: Sequence[str], longest: int = MAX_NAME_LENGTH) -> list[str]:
    """Return names of at most ``longest`` characters that still differ, or longer ones if they would not.

    If ``shorten_middle`` would make several names equal, the beginning that they share is cut, up to the start of a word. If
    that is not enough to distinguish them, only their ends are shown; then the words that all names share are left out.

    >>> distinct_short_names(["maker/model-12-instruct", "maker/model-37-instruct"], 12)
    ['…12-instruct', '…37-instruct']
    >>> distinct_short_names(["maker/model-12-instruct", "maker/model-37-instruct"], 18)
    ['maker/…12-instruct', 'maker/…37-instruct']
    >>> distinct_short_names([f"{lab}-mini-{size}-20250901-final" for lab in ("oak", "elm") for size in "SL"], 12)
    ['oak…S…', 'oak…L…', 'elm…S…', 'elm…L…']
    """
    for room in range(longest, max(map(len, names), default=0) + 1):
        for tried in (names, _without_shared_words(names)):
            cuts = _cut_names(tried, room)
            if len(set(cuts)) == len(set(names)):
                return cuts
    return [*names]


def _without_shared_words(names: Sequence[str]) -> list[str]:
    """Return names with an ellipsis in place of words that all of them have."""
    shared = set.intersection(*(set(re.findall(r"[^\W_]+", name)) for name in names))
    left_out = [re.sub(r"[^\W_]+", lambda word: "\0" if word[0] in shared else word[0], name) for name in names]
    return [re.sub(r"[\W_]*\0[\W_]*", "…", name) for name in left_out]


def _cut_names(names: Sequence[str], longest: int) -> list[str]:
    cuts = [shorten_middle(name, longest) for name in names]
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
        spare = min(room - max(map(len, kept.values())), start)
        head = names[cuts.index(cut)][: spare if spare >= MIN_HEAD else 0].rstrip()
        cuts = [f"{head}…{kept[name]}" if name in alike else short for name, short in zip(names, cuts, strict=True)]
    return cuts
