"""When runs were evaluated: times as files state them, and which columns are named so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from statistics import fmean

FIRST = datetime(2000, 1, 1)  # no run of a model that is known here was evaluated before
SECONDS = (FIRST.timestamp(), 4.1e9)  # since 1970, until 2099
DAY_BY_DOTS = re.compile(r"(\d\d?)\.(\d\d?)\.(\d{4})")
DASHED_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T_ ]\d\d)-(\d\d)(?:-(\d\d))?")  # as names of files have it
TRAILING_DAY = re.compile(r"[-_. ]+(20\d\d-\d\d-\d\d|20\d{6})(?:[T_ -]\d\d[-:.]?\d\d(?:[-:.]?\d\d)?)?$")
ENDINGS = re.compile(r"(\.(csv|tsv|txt|jsonl?|ndjson|parquet|pq|xlsx|gz|zst|zip))+$", re.IGNORECASE)  # of names of files
MIN_ASKED = 0.5  # share of the questions that an evaluation asks, in the mean over its days
# Names of columns, the most telling first.
NAMES = (
    "evaluated at", "evaluation date", "eval date", "evaluation time", "eval time", "evaluated on", "run date", "run day",
    "run at", "date", "day", "datum", "datetime", "timestamp", "created", "created at", "started at", "start time",
    "completed at", "finished at", "end time", "ts",
)  # fmt: skip


def rank_of_name(column: str) -> int | None:
    """Return how telling the name of a column is that may hold times of evaluation, 0 for the most telling; None if it is none.

    >>> rank_of_name("evaluated_at"), rank_of_name("evalDate"), rank_of_name("birth date")
    (0, 2, None)
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column)
    name = " ".join(re.findall(r"[^\W_]+", spaced.lower()))
    return NAMES.index(name) if name in NAMES else None


def read_time(text: str) -> datetime | None:
    """Read a day, a time or seconds since 1970, in UTC; None if a text is none of these, or no time until tomorrow.

    >>> read_time("2026-05-01"), read_time("2026-05-01T23:30:00-02:00"), read_time("1777593600")
    (datetime.datetime(2026, 5, 1, 0, 0), datetime.datetime(2026, 5, 2, 1, 30), datetime.datetime(2026, 5, 1, 0, 0))
    >>> read_time("2026-05-01T10-20-30.5"), read_time("1.5.2026"), read_time("0.85"), read_time("1969-07-20")
    (datetime.datetime(2026, 5, 1, 10, 20, 30, 500000), datetime.datetime(2026, 5, 1, 0, 0), None, None)
    """
    text = text.strip()
    time = _in_numbers(text) if re.fullmatch(r"\d+(\.\d+)?", text) and len(text) != 8 else _in_words(text)
    latest = datetime.now(UTC).replace(tzinfo=None) + timedelta(days=2)  # clocks and time zones differ
    return time if time is not None and FIRST <= time <= latest else None


def _in_numbers(text: str) -> datetime | None:
    seconds = float(text)
    for value in (seconds, seconds / 1000):
        if SECONDS[0] <= value <= SECONDS[1]:
            return datetime.fromtimestamp(value, UTC).replace(tzinfo=None)
    return None


def _in_words(text: str) -> datetime | None:
    if dotted := DAY_BY_DOTS.fullmatch(text):
        day, month, year = dotted.groups()
        text = f"{year}-{int(month):02}-{int(day):02}"
    text = DASHED_TIME.sub(lambda match: f"{match[1]}:{match[2]}:{match[3] or '00'}", text)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo is None else time.astimezone(UTC).replace(tzinfo=None)


def read_times(texts: Iterable[str]) -> dict[str, datetime] | None:
    """Return the time that each different text states; None if one states none, or there are no texts."""
    times = {text: read_time(text) for text in {*texts}}
    read = {text: time for text, time in times.items() if time is not None}
    return read if times and len(read) == len(times) else None


def are_nights(questions: Iterable[str | None], days: Iterable[date | None]) -> bool:
    """Whether most of some questions were answered on each of the days, as by an evaluation that is run again.

    >>> monday, tuesday = date(2026, 5, 4), date(2026, 5, 5)
    >>> are_nights("abab", [monday, monday, tuesday, tuesday]), are_nights("abcd", [monday, monday, tuesday, tuesday])
    (True, False)
    """
    asked: dict[date | None, set[str | None]] = {}
    for question, day in zip(questions, days, strict=True):
        asked.setdefault(day, set()).add(question)
    shares = [len(some) / len(set.union(*asked.values())) for some in asked.values()]
    return bool(shares) and fmean(shares) > MIN_ASKED


def split_trailing_day(stem: str) -> tuple[str, datetime | None]:
    """Return the name of a file without the day at its end, and this day; None if there is none.

    >>> split_trailing_day("trivia_2026-05-01"), split_trailing_day("trivia")
    (('trivia', datetime.datetime(2026, 5, 1, 0, 0)), ('trivia', None))
    """
    match = TRAILING_DAY.search(stem)
    time = read_time(match[1]) if match else None
    return (stem, None) if match is None or time is None or not match.start() else (stem[: match.start()], time)


def stem_of(name: str) -> str:
    """Return the name of a file without its endings.

    >>> stem_of("runs/mmlu_model.csv.gz")
    'mmlu_model'
    """
    return ENDINGS.sub("", name.rpartition("/")[2]) or name
