"""Messages of errors for people, with the command that helps where there is one."""

from __future__ import annotations

from data.store import StoreError
from queries.parameters import BadRequest

# By what is to be done to a store, and by the code of a bad request.
COMMANDS = {
    "repair": "To restore it: python -m dashboard repair",
    "repair if damaged": "If it is damaged: python -m dashboard repair",
    "migrate": "To bring it to this version: python -m dashboard migrate",
    "empty_store": "To fill it: python -m dashboard import PATH",
}


def error_message(error: StoreError | BadRequest) -> str:
    """The message of an error with the command that helps, if there is one."""
    problem = error.code if isinstance(error, BadRequest) else error.remedy
    return f"{error} {COMMANDS[problem]}" if problem in COMMANDS else str(error)
