"""Reads the end of tokens, signed links and sessions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta


def read_end(text: str) -> datetime:
    """Return the end given as a date, which means the end of that day, or as a time. Both are UTC unless they say otherwise.

    Raises ``ValueError`` if the text is neither a date nor a time, or it is in the past; the message says so.

    >>> read_end("2999-01-31").isoformat(), read_end("2999-01-31T18:00").isoformat()
    ('2999-02-01T00:00:00+00:00', '2999-01-31T18:00:00+00:00')
    """
    try:
        time = datetime.fromisoformat(text)
        end = time + timedelta(days=1) if len(text) == len("2027-01-31") else time
        end = end.replace(tzinfo=UTC) if end.tzinfo is None else end
        end.astimezone(UTC)
    except ValueError:
        raise ValueError(f"{text!r} is not a date such as 2027-01-31 or a time such as 2027-01-31T18:00") from None
    except OverflowError:
        raise ValueError(f"{text} is too late; the last day is 9999-12-30") from None
    if end <= datetime.now(UTC):
        raise ValueError(f"{text} is in the past")
    return end
