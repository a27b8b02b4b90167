"""When something ends that a person gives until a date: a token, a link, a session."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def read_end(text: str) -> datetime:
    """The end that a text says: a date, which ends with its day, or a time, in UTC unless it says otherwise.

    >>> read_end("2999-01-31").isoformat(), read_end("2999-01-31T18:00").isoformat()
    ('2999-02-01T00:00:00+00:00', '2999-01-31T18:00:00+00:00')

    Raises:
        ValueError: it is no date and no time, or past; the message says so.
    """
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no date such as 2027-01-31 and no time such as 2027-01-31T18:00") from None
    end = time + timedelta(days=1) if len(text) == len("2027-01-31") else time
    end = end.replace(tzinfo=UTC) if end.tzinfo is None else end
    if end <= datetime.now(UTC):
        raise ValueError(f"{text} is past")
    return end
