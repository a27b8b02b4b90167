"""The record of who changed what in a store, and who was refused. The register of the store keeps it, so no restored version of
the data takes anything out of it.
"""

from __future__ import annotations

import getpass
import logging
import os
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Literal

import msgspec

from data.store.errors import StoreError
from data.store.register import Register

Action = Literal[
    "published", "replaced_questions", "withdrew", "restored", "created_token", "revoked_token", "made_private", "made_public",
    "renewed_link_key", "migrated", "restored_backup", "repaired", "corrected_grades", "graded", "added_grading",
    "invited_players", "erased_answers", "tagged", "refused",
]  # fmt: skip

log = logging.getLogger("clueline.audit")


class AuditEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """One change, or one refused attempt.

    Attributes:
        id: sorts by time; never reused.
        at: when, ISO 8601, UTC.
        action: what was done.
        by: name of the token, user of the trusted proxy, ``open`` for an upload that needs no token, or ``system:NAME`` for the
            user of the operating system who ran a command; ``player`` for one of a session; blank where nobody is known, as for a
            wrong token.
        dataset, run, token: what it was done to. A token is called by its name; its secret is never kept.
        grades: how many grades were corrected.
        grading: the name of one that a stored run got.
        reason: code of the refusal.
        attempt: method and path of the refused request.
        address: of the client, for a request.
        request_id: of the request, by which its log lines are found.
    """

    id: str
    at: str
    action: Action
    by: str
    dataset: str | None = None
    run: str | None = None
    token: str | None = None
    grades: str | None = None
    grading: str | None = None
    reason: str | None = None
    attempt: str | None = None
    address: str | None = None
    request_id: str | None = None


class Audit:
    """The events of one store."""

    def __init__(self, register: Register) -> None:
        self._register = register

    def record(self, action: Action, by: str | None, **facts: str | None) -> None:
        """Write an event to the log, as JSON in one line, and to the register.

        The change has happened already, so that a register that cannot be written is reported in the log, and raises nothing.

        Args:
            action: what was done.
            by: who did it; None for the user of the operating system.
            facts: other fields of ``AuditEvent``.
        """
        identity = f"{time.time_ns():020}-{secrets.token_hex(4)}"
        at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        event = AuditEvent(identity, at, action, system_user() if by is None else by, **facts)
        line = msgspec.json.encode(event)
        log.info("audit %s", line.decode(), extra={"audit": msgspec.to_builtins(event)})
        try:
            self._register.append_audit(line, refused=action == "refused")
        except (OSError, StoreError) as error:
            log.error("the audit event %s cannot be kept: %s", identity, error)

    def page(
        self, limit: int, before: str | None = None, chosen: Callable[[AuditEvent], bool] = lambda event: True
    ) -> list[AuditEvent]:
        """Events, newest first.

        Args:
            limit: how many at most.
            before: id of an event; only older ones are given.
            chosen: whether an event is given.

        Raises:
            StoreError: they cannot be read.
        """
        try:
            events = sorted(_decode(self._register.read_audit()), key=lambda event: event.id, reverse=True)
        except OSError as error:
            raise StoreError(f"the audit cannot be read: {error.strerror}") from error
        return [event for event in events if (before is None or event.id < before) and chosen(event)][:limit]


def copy_changes(source: Register, target: Register) -> None:
    """Copy the changes on record, without refused attempts, to a register that has none.

    Raises:
        OSError, StoreError: they cannot be read or written.
    """
    if not target.read_audit():
        events = sorted(_decode(source.read_audit()), key=lambda event: event.id)
        for event in events:
            if event.action != "refused":
                target.append_audit(msgspec.json.encode(event), refused=False)


def _decode(lines: list[bytes]) -> Iterator[AuditEvent]:
    for line in lines:
        try:
            yield msgspec.json.decode(line, type=AuditEvent)
        except msgspec.MsgspecError:
            log.warning("a line of the audit cannot be read")  # a crash while it was written


def system_user() -> str:
    """The user of the operating system: ``system:NAME``, or its number where it has no name, as in some containers."""
    try:
        return f"system:{getpass.getuser()}"
    except (KeyError, OSError):
        return f"system:{os.geteuid()}"
