"""What is said of a store that cannot be used: its message, and the command that helps."""

from __future__ import annotations

from data.store import StoreError

COMMANDS = {
    "repair": "To restore it: python -m dashboard repair",
    "repair if damaged": "If it is damaged: python -m dashboard repair",
    "migrate": "To bring it to this version: python -m dashboard migrate",
}


def store_message(error: StoreError) -> str:
    """The message of an error with the command that helps, if there is one."""
    return f"{error} {COMMANDS[error.remedy]}" if error.remedy else str(error)
