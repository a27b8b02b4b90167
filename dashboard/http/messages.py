"""Errors and changes of data, in words for readers."""

from __future__ import annotations

import re
from collections.abc import Sequence

from clueline.data.plurals import counted
from clueline.data.store import Store, StoreError
from clueline.queries.changes import ChangedRun, VersionChanges
from clueline.queries.selection.parameter_kinds import BadRequest

# By the remedy of a store error, and by the code of a bad request.
COMMANDS = {
    "repair": "To repair it: clueline repair",
    "repair if damaged": "If it is damaged: clueline repair",
    "migrate": "To upgrade it to this version: clueline migrate",
    "empty_store": "To fill it: clueline import PATH",
}


def error_message(error: StoreError | BadRequest) -> str:
    """Return the message of an error, followed by the command that helps, if there is one."""
    problem = error.code if isinstance(error, BadRequest) else error.remedy
    return f"{error} {COMMANDS[problem]}" if problem in COMMANDS else str(error)


def message_with_allowed(error: BadRequest) -> str:
    """Return the message of an error with the values that are allowed instead."""
    return error_message(error) + (f" There are: {', '.join(error.allowed)}." if error.allowed else "")


def public_message(error: StoreError | BadRequest, store: Store) -> str:
    """Return the same message for anybody who can reach the server: without the folders of the store."""
    text = error_message(error).replace(f" in {store.place}", "")
    for folder in {str(store.local), str(store.files.root)}:
        # A relative folder, such as "store", could also be a word of the message.
        optional = "?" if folder.startswith("/") else ""
        text = re.sub(rf"(?<![\w./-]){re.escape(folder)}(/[^\s'\",;:)]*){optional}", "a file of it", text)
    return text


MAX_NAMED = 5  # runs that a sentence names


def what_changed(changes: VersionChanges) -> str:
    """Return one or more sentences that say what changed since a data version."""
    date = changes.at[:10]
    if changes.same:
        text = f"Data version of {date}: nothing that this link shows has changed since then, so its figures are the same digits."
        if changes.unnamed:
            runs = counted(changes.unnamed, "run was", "runs were")
            text += f" {runs} published since then and left out, because the link names its runs."
        return text
    parts = []
    if changes.content:
        parts.append("its questions, their difficulty or what people did with them were replaced")
    if changes.added:
        parts.append(f"published: {_names(changes.added)}")
    if changes.withdrawn:
        parts.append(f"withdrawn: {_names(changes.withdrawn)}")
    if changes.restored:
        parts.append("withdrawn runs were restored, or tags of runs changed")
    if changes.corrected:
        parts.append(f"grades were corrected for {', '.join(changes.corrected[:MAX_NAMED])}")
    sentences = []
    if parts or not changes.rules_changed:
        sentences.append(f"Since this link's data version of {date}: {'; '.join(parts) or 'the set of runs is different'}.")
    if changes.rules_changed:
        sentences.append(rules_that_changed(changes.rules_changed))
    return " ".join(sentences)


def rules_that_changed(rules: Sequence[str]) -> str:
    """Return a sentence that lists the rules of measuring that changed."""
    return f"Since this link was made, these rules changed: {'; '.join(rules)}."


def _names(runs: list[ChangedRun]) -> str:
    names = ", ".join(f"{run.model} · {run.elicitation} ({run.run}, {run.at[:10]})" for run in runs[:MAX_NAMED])
    return names + (f" and {len(runs) - MAX_NAMED} more" if len(runs) > MAX_NAMED else "")
