"""How often wrong tokens came from where: one small table that the workers of a server share.

A right token is never held up by it. Behind a proxy everybody has one address, and nobody shall be able to lock the others out;
nor is it the pace of guessing that protects 256 random bits. The table keeps noise out of the log and work off the machine.
"""

from __future__ import annotations

import fcntl
import json
import math
import time
from pathlib import Path

WINDOW = 60.0  # seconds
MOST = 10  # wrong tokens from an address within them
ADDRESSES = 512  # the table's size; beyond it, the one that failed longest ago is forgotten


class TokenThrottle:
    """The table, in a file of a folder that can be written."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "failed_tokens.json"

    def count(self, address: str, now: float | None = None) -> int:
        """Count a failure from an address: 0 while it may go on, else the seconds to wait; whoever must wait is not counted."""
        now = time.time() if now is None else now
        try:
            with self._path.open("a+", encoding="ascii") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                file.seek(0)
                table = _read(file.read(), now)
                times = table.pop(address, [])
                if len(times) >= MOST:
                    return max(1, math.ceil(times[-MOST] + WINDOW - now))
                table[address] = [*times, now]  # last in the table: dicts keep their order
                file.truncate(0)
                json.dump(dict(list(table.items())[-ADDRESSES:]), file)
        except OSError:
            pass  # a full disk must not let nobody in
        return 0


def _read(text: str, now: float) -> dict[str, list[float]]:
    """The failures of the last minute by address; a damaged table is an empty one."""
    try:
        table = json.loads(text or "{}")
        kept = {address: [at for at in times if now - WINDOW < at <= now] for address, times in table.items()}
    except (ValueError, TypeError, AttributeError):
        return {}
    return {address: times for address, times in kept.items() if times}
