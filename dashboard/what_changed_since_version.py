"""Describes what changed since a data version, for the notice on a page and the error of a JSON address."""

from __future__ import annotations

from collections.abc import Sequence

from data.plurals import counted
from queries.changes_since_data_version import ChangedRun, VersionChanges

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
