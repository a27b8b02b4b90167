"""Error messages for people, with the command that helps if there is one."""

from __future__ import annotations

import re

from data.store import Store, StoreError
from queries.selection.parameter_kinds import BadRequest

# By the remedy of a store error, and by the code of a bad request.
COMMANDS = {
    "repair": "To repair it: python -m dashboard repair",
    "repair if damaged": "If it is damaged: python -m dashboard repair",
    "migrate": "To upgrade it to this version: python -m dashboard migrate",
    "empty_store": "To fill it: python -m dashboard import PATH",
}


def error_message(error: StoreError | BadRequest) -> str:
    """Return the message of an error, followed by the command that helps, if there is one."""
    problem = error.code if isinstance(error, BadRequest) else error.remedy
    return f"{error} {COMMANDS[problem]}" if problem in COMMANDS else str(error)


def public_message(error: StoreError | BadRequest, store: Store) -> str:
    """Return the same message for anybody who can reach the server: without the folders of the store."""
    text = error_message(error).replace(f" in {store.place}", "")
    for folder in {str(store.local), str(store.files.root)}:
        # A relative folder, such as "store", could also be a word of the message.
        optional = "?" if folder.startswith("/") else ""
        text = re.sub(rf"(?<![\w./-]){re.escape(folder)}(/[^\s'\",;:)]*){optional}", "a file of it", text)
    return text
