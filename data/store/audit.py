"""The audit: who changed what in a store, and who was refused.

The store's register keeps it, so restoring an earlier version of the data removes nothing from it.
"""

from __future__ import annotations

import getpass
import logging
import os
import secrets
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal

import msgspec

from clueline.data.store.errors import StoreError, reason
from clueline.data.store.register import Register

Action = Literal[
    "published", "replaced_questions", "withdrew", "restored", "created_token", "revoked_token", "made_private", "made_public",
    "renewed_link_key", "migrated", "restored_backup", "repaired", "corrected_grades", "drew_for_review", "graded",
    "added_grading", "invited_players", "erased_answers", "tagged", "merged_models",
    "renamed_model", "split_model", "described_model", "dismissed_proposal", "deleted", "removed_sample", "published_mapping",
    "removed_mapping", "refused",
]  # fmt: skip
# Who sees an event, apart from tokens with the right ``admin``: whoever may read all datasets that it concerns, every reader of
# the audit, or nobody.
Scope = Literal["readers", "everybody", "nobody"]
SCOPES: Mapping[Action, Scope] = {
    "published": "readers",
    "replaced_questions": "readers",
    "withdrew": "readers",
    "restored": "readers",
    "deleted": "readers",
    "removed_sample": "readers",
    "corrected_grades": "readers",
    "drew_for_review": "readers",
    "graded": "readers",
    "added_grading": "readers",
    "tagged": "readers",
    "merged_models": "readers",
    "renamed_model": "readers",
    "split_model": "readers",
    "described_model": "readers",
    "dismissed_proposal": "readers",
    "invited_players": "readers",
    "erased_answers": "readers",
    "made_private": "readers",
    "made_public": "readers",
    "created_token": "nobody",  # a token can be named after what only its holder may know of
    "revoked_token": "nobody",
    "published_mapping": "nobody",  # it can be that of a private dataset
    "removed_mapping": "nobody",  # or somebody's own
    "renewed_link_key": "everybody",
    "migrated": "everybody",
    "restored_backup": "everybody",
    "repaired": "everybody",
    "refused": "everybody",  # without the variable parts of the address
}

log = logging.getLogger("clueline.audit")


class AuditEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change, or one refused attempt. Ids sort by time and are never reused. Times are ISO 8601, UTC.

    ``by`` is the name of a token, a user of the trusted proxy, ``open`` for an upload that needs no token, ``system:NAME`` for
    the operating-system user who ran a command, or ``player`` for a player of a session. It is blank if unknown, as for a wrong
    token. ``token`` is a token's name; its secret is never stored. ``grades`` says how many grades were corrected, or answers
    drawn for review. ``datasets`` are those of the models that a change concerns. ``names`` are those that became names of
    ``model``, its earlier name, the facts that were set, models that are not one, or a mapping.
    ``reason`` is the code of a refusal, or why a run was withdrawn, and ``attempt`` the method and path of the refused request.
    """

    id: str
    at: str
    action: Action
    by: str
    dataset: str | None = None
    datasets: tuple[str, ...] = ()
    run: str | None = None
    token: str | None = None
    grades: str | None = None
    grading: str | None = None
    model: str | None = None
    names: str | None = None
    reason: str | None = None
    attempt: str | None = None
    address: str | None = None
    request_id: str | None = None


class Audit:
    """The events of one store."""

    def __init__(self, register: Register) -> None:
        self._register = register

    def record(self, action: Action, by: str | None, **facts: str | None) -> None:
        """Record what is about to happen to sessions of people. If the process is killed before it does, the event remains.

        Changes of the store itself come with their events (``new_event``). Raises ``StoreError``; then it must not happen.
        """
        events = [new_event(action, by, datasets=(), **facts)]
        try:
            self._register.append_audit(encode(events), refused=False)
        except OSError as error:
            raise StoreError(f"the audit cannot be written: {reason(error)}") from error
        log_events(events)

    def refuse(self, by: str, **facts: str | None) -> None:
        """Record a refused attempt. A register that cannot be written is only reported in the log."""
        event = new_event("refused", by, datasets=(), **facts)
        log_events([event])
        try:
            self._register.append_audit(encode([event]), refused=True)
        except (OSError, StoreError) as error:
            log.error("the audit event %s cannot be stored: %s", event.id, error)

    def page(
        self, limit: int, before: str | None = None, chosen: Callable[[AuditEvent], bool] = lambda event: True
    ) -> list[AuditEvent]:
        """Return at most ``limit`` chosen events, newest first, that are older than the one with the id ``before``."""
        try:
            events = sorted(_decode(self._register.read_audit()), key=lambda event: event.id, reverse=True)
        except OSError as error:
            raise StoreError(f"the audit cannot be read: {error.strerror}") from error
        return [event for event in events if (before is None or event.id < before) and chosen(event)][:limit]


def is_shown(event: AuditEvent, hidden: Collection[str], runs: Collection[str]) -> bool:
    """Return whether a reader of the audit without the right ``admin`` sees an event.

    ``hidden`` are the datasets that they may not read, and ``runs`` those that they may, by which events of earlier versions
    that name only a run are shown. One of an earlier version that names nothing of a dataset is not shown.
    """
    if SCOPES[event.action] != "readers":
        return SCOPES[event.action] == "everybody"
    concerned = {*event.datasets, *filter(None, [event.dataset])}
    return concerned.isdisjoint(hidden) if concerned else event.run in runs


def new_event(action: Action, by: str | None, *, datasets: Sequence[str] = (), **facts: str | None) -> AuditEvent:
    """Return the event of what happens now. Without ``by``, it is the operating-system user's.

    It is given to what makes the change, so that the audit has it if and only if the change is in force. Raises ``ValueError`` if
    only readers of its datasets see such an event, and it names none.
    """
    if SCOPES[action] == "readers" and not (facts.get("dataset") or datasets):
        raise ValueError(f"the event {action} names no dataset")
    at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    identity = f"{time.time_ns():020}-{secrets.token_hex(4)}"
    return AuditEvent(identity, at, action, system_user() if by is None else by, datasets=tuple(datasets), **facts)


def encode(events: Iterable[AuditEvent]) -> list[bytes]:
    """Return events as the register keeps them."""
    return [msgspec.json.encode(event) for event in events]


def log_events(events: Iterable[AuditEvent]) -> None:
    """Write events that are in force to the log, each as JSON in one line."""
    for event in events:
        log.info("audit %s", msgspec.json.encode(event).decode(), extra={"audit": msgspec.to_builtins(event)})


def copy_changes(source: Register, target: Register) -> None:
    """Copy the recorded changes, but no refused attempts, to a register that has none, or some from a killed copy."""
    changes, known = (
        {event.id: event for event in _decode(register.read_audit()) if event.action != "refused"}
        for register in (source, target)
    )
    if changes.keys() > known.keys():
        missing = sorted(changes.keys() - known.keys())
        target.append_audit(encode(changes[identity] for identity in missing), refused=False)


def _decode(lines: list[bytes]) -> Iterator[AuditEvent]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=AuditEvent)
        except msgspec.MsgspecError:
            log.warning("a line of the audit cannot be read")  # a crash interrupted the write


def system_user() -> str:
    """Return the operating-system user as ``system:NAME``; with its number if it has no name, as in some containers."""
    try:
        return f"system:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"system:{os.geteuid()}"
