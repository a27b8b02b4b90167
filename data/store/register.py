"""The register of a store in a folder: the catalogue in force, the writers' lock, tokens and audit."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from clueline.data.store.errors import DamagedStore, StoreError
from clueline.data.store.files import CATALOGUE, fingerprint, make_folder, number_of, open_restricted, restrict, sync
from clueline.data.store.play_log import PlayLog, folder_log

CURRENT = "CURRENT"
AUDIT, REFUSED, REFUSED_BEFORE = "audit.jsonl", "refused.jsonl", "refused.1.jsonl"
TOKENS, TOKENS_LOCK = "tokens.json", "tokens.lock"
NO_CATALOGUE = "none"  # what the register names while the first write is under way
REFUSED_BYTES = 1 << 20  # size above which a new file of refused attempts is begun; the previous one is kept
REFUSED_KEPT = 10_000  # rows of refused attempts that a table keeps
PATIENCE = 900.0  # seconds that a writer waits for another
RANDOM, DIGEST = 8, 16  # hexadecimal digits of a version: random ones, and those of the catalogue's checksum


class Pointer(NamedTuple):
    """What is in force: the name of a catalogue, and the version, which is never reused. ("", "0") before the first write.

    >>> Pointer("gen-000042.duckdb", "42-0badc0de123456789abcdef0").digest
    '123456789abcdef0'
    >>> Pointer("gen-000042.duckdb", "42-0badc0de").digest
    ''
    """

    name: str
    version: str

    @property
    def digest(self) -> str:
        """The ``digest`` of the catalogue. Blank if the version was written before versions contained one."""
        token = self.version.rpartition("-")[2]
        return token[RANDOM:] if len(token) == RANDOM + DIGEST else ""


EMPTY = Pointer("", "0")


class LockLost(Exception):
    """The register has lost the connection of a writer, and with it the lock. The pointer may or may not have moved."""


class WriterLock(Protocol):
    """The lock of a writer, while it is held."""

    def point(self, name: str, before: Pointer | None, version: str, events: Sequence[bytes] = ()) -> None:
        """Put a catalogue in force, durably, and add events to the audit: both or neither.

        ``name`` is blank while the first write is under way. ``before`` is in force now, which PostgreSQL compares; None replaces
        anything. Raises ``LockLost`` if the lock may be lost.
        """

    def check(self) -> None:
        """Raise ``LockLost`` if the lock is no longer held."""


class Register(Protocol):
    """Which catalogue of a store is in force. ``gone`` and ``missing`` say in messages that the register or its pointer is lost.

    Methods that read or write raise ``OSError`` or ``StoreError``. ``latest``, ``age`` and ``latest_tokens`` are those of a
    register that can always be reached.
    """

    gone: str
    missing: str
    _play_log: PlayLog

    def read(self) -> Pointer | None:
        """Return the pointer; None if nothing was ever written or the pointer was lost. Raises ``DamagedStore``."""

    def latest(self) -> Pointer | None:
        """Like ``read``, but while the register cannot be reached, return the pointer that was read last."""
        return self.read()

    def age(self) -> float:
        """Return the seconds since the register was last reached, 0 if it can be reached now, infinity if it never was."""
        return 0.0

    def exists(self) -> bool:
        """Return whether the register itself exists: its folder, or its table."""

    def locked(self, patience: float = PATIENCE) -> AbstractContextManager[WriterLock]:
        """Hold the writers' lock, which is released if this process dies. Raises ``StoreError`` after ``patience`` seconds."""

    def new_name(self, number: int) -> str:
        """Return a name for a new catalogue that no other writer chooses."""

    def read_tokens(self) -> bytes | None:
        """Return the tokens, None if none was ever created. Raises if they were lost."""

    def latest_tokens(self) -> bytes | None:
        """Like ``read_tokens``, but while the register cannot be reached, return the tokens that were read last."""
        return self.read_tokens()

    def change_tokens(self, change: Callable[[bytes | None], tuple[bytes, Sequence[bytes]]]) -> None:
        """Replace the tokens durably, while no other process can, and add events to the audit: both or neither.

        ``change`` takes the tokens, and returns the new ones and the events. If it raises, nothing is changed.
        """

    def append_audit(self, events: Sequence[bytes], *, refused: bool) -> None:
        """Add events, lines without line breaks. Only the latest refused attempts are kept, but all other events."""

    def read_audit(self) -> list[bytes]:
        """Return the events of the audit, in any order."""

    def play_log(self) -> PlayLog:
        """Return the log of sessions in which people answer questions. If SQLite locks it, all who play must be on one host."""
        return self._play_log


def new_version(number: int, catalogue: Path) -> str:
    """Return a new version: the number of a catalogue, a random token, and the digest of the catalogue. It is never reused."""
    return f"{number}-{secrets.token_hex(RANDOM // 2)}{digest(catalogue)}"


def digest(catalogue: Path) -> str:
    """Return the first 16 hexadecimal digits of the sha256 of a file."""
    return fingerprint(catalogue)[1][:DIGEST]


class FolderRegister(Register):
    """The register in files of the store's folder.

    The file ``CURRENT`` holds the name of a catalogue and a token that never repeats. The lock is on the file ``LOCK``. The
    tokens are in ``tokens.json``, the audit is in ``audit.jsonl``, and refused attempts are in ``refused.jsonl``. While one of
    the first two is replaced, the events of this change are in a file that is named by what the new content is. From the moment
    of the replacement, they belong to the audit. If the process is killed, the next writer adds them to it.
    """

    gone = "its folder is gone"
    missing = "the file CURRENT, which names the version in force, is gone"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._play_log = folder_log(folder)

    def read(self) -> Pointer | None:
        path = self.folder / CURRENT
        try:
            name, token = path.read_text(encoding="ascii").split()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:
            raise DamagedStore("the file CURRENT does not name a version") from None
        except OSError as error:
            raise StoreError(f"{path} cannot be read: {error.strerror}") from error
        if name == NO_CATALOGUE:
            return EMPTY
        if not CATALOGUE.fullmatch(name):
            raise DamagedStore("the file CURRENT does not name a version")
        return Pointer(name, f"{number_of(name)}-{token}")

    def exists(self) -> bool:
        return self.folder.exists()

    @contextmanager
    def locked(self, patience: float = PATIENCE) -> Iterator[WriterLock]:
        make_folder(self.folder)
        busy = "another import has held the store for 15 minutes; try again when it is done"
        with exclusive_lock(self.folder / "LOCK", patience, busy) as claim:
            self._settle(CURRENT)
            yield _FolderLock(self, claim)

    def new_name(self, number: int) -> str:
        """A writer that has lost its lock finds out before it names a file, so the number is enough."""
        return f"gen-{number:06d}.duckdb"

    def read_tokens(self) -> bytes | None:
        try:
            return (self.folder / TOKENS).read_bytes()
        except FileNotFoundError:
            if self._has_tokens():
                raise StoreError(f"the file {TOKENS} is gone") from None
            return None

    def _has_tokens(self) -> bool:
        """Return whether tokens were ever written: then their lock file is not empty."""
        try:
            return (self.folder / TOKENS_LOCK).stat().st_size > 0
        except FileNotFoundError:
            return False

    def change_tokens(self, change: Callable[[bytes | None], tuple[bytes, Sequence[bytes]]]) -> None:
        """Only the owner of the file may read it."""
        make_folder(self.folder)
        with exclusive_lock(self.folder / TOKENS_LOCK, PATIENCE, "another process holds the tokens; try again"):
            self._settle(TOKENS)
            self.replace(TOKENS, *change(self.read_tokens()), mode=0o600)
            if not self._has_tokens():
                (self.folder / TOKENS_LOCK).write_text(f"{TOKENS} was written; without it, tokens were lost\n", encoding="ascii")
                sync(self.folder / TOKENS_LOCK)

    def replace(
        self,
        name: str,
        content: bytes,
        events: Sequence[bytes],
        check: Callable[[], None] = lambda: None,
        mode: int | None = None,
    ) -> None:
        """Replace a file durably, after a ``check``, and add events to the audit. The caller holds the lock of the file.

        Without a ``mode``, ``restrict`` says who may read it.
        """
        if events:
            _write(self._events_of(name, content), b"\n".join(events), 0o600)
            sync(self.folder)
        draft = self.folder / f"{name}.tmp"
        _write(draft, content, mode)
        check()
        draft.replace(self.folder / name)
        sync(self.folder)
        if events:
            with suppress(OSError):  # the file is replaced; readers find the events, and the next writer tries again
                self._settle(name)

    def _events_of(self, name: str, content: bytes) -> Path:
        return self.folder / f"audit.{name}.{hashlib.sha256(content).hexdigest()[:16]}.jsonl"

    def _events_in_force(self, name: str) -> list[bytes]:
        """Return the events of the last replacement of a file, as long as they may not be in the audit."""
        content = _read(self.folder / name)
        events = None if content is None else _read(self._events_of(name, content))
        return (events or b"").splitlines()

    def _settle(self, name: str) -> None:
        """Add the events of the last replacement of a file to the audit, and forget those of replacements that did not happen."""
        files = list(self.folder.glob(f"audit.{name}.*.jsonl"))
        if files and (events := self._events_in_force(name)):
            self.append_audit(events, refused=False)
        for file in files:
            file.unlink(missing_ok=True)

    def append_audit(self, events: Sequence[bytes], *, refused: bool) -> None:
        """Only the owner of the files may read them."""
        path = self.folder / (REFUSED if refused else AUDIT)
        if not refused:
            make_folder(self.folder)
        lock = os.open(self.folder / "audit.lock", os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held for moments only
            if refused and path.exists() and path.stat().st_size > REFUSED_BYTES:
                path.replace(self.folder / REFUSED_BEFORE)
            handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                size = os.fstat(handle).st_size
                unfinished = size and os.pread(handle, 1, size - 1) != b"\n"  # by a process that was killed
                os.write(handle, (b"\n" if unfinished else b"") + b"".join(event + b"\n" for event in events))
                if not refused:
                    os.fsync(handle)
                    sync(self.folder)
            finally:
                os.close(handle)
        finally:
            os.close(lock)

    def read_audit(self) -> list[bytes]:
        # These first: meanwhile they may be added to the audit. A writer that is killed then adds them twice.
        lines = self._events_in_force(CURRENT) + self._events_in_force(TOKENS)
        for name in (AUDIT, REFUSED_BEFORE, REFUSED):
            lines += (_read(self.folder / name) or b"").splitlines()
        return [line for line in dict.fromkeys(lines) if line]


class _FolderLock:
    def __init__(self, register: FolderRegister, claim: Claim) -> None:
        self.register, self.claim = register, claim

    def point(self, name: str, before: Pointer | None, version: str, events: Sequence[bytes] = ()) -> None:
        content = f"{name or NO_CATALOGUE} {version.rpartition('-')[2]}\n".encode("ascii")
        self.register.replace(CURRENT, content, events, self.check)

    def check(self) -> None:
        if not self.claim.holds():
            raise LockLost


ABANDONED = 300.0  # seconds without a change after which another host's claim is treated as left by a dead process
WAIT = 0.01  # seconds between attempts


class Claim:
    """The claim of a process that holds the lock: a file, and its content while this process holds the lock."""

    def __init__(self, path: Path, content: bytes) -> None:
        self.path, self.content = path, content

    def holds(self) -> bool:
        """Return whether this process still holds the claim. Another host takes it over after ``ABANDONED`` seconds."""
        return _read(self.path) == self.content


@contextmanager
def exclusive_lock(path: Path, patience: float, busy: str) -> Iterator[Claim]:
    """Hold a lock. It is released if the process is killed.

    If another process holds it for ``patience`` seconds, ``StoreError`` is raised with the message ``busy``.

    ``flock`` comes first: it is fast, and the system releases it. Some network mounts grant it to several hosts at once. So the
    holder also creates a file exclusively, with ``.held`` appended to its name, which names its host and process. A file left by
    a dead process is removed: at once if the process ran on this host, else after ``ABANDONED`` seconds.
    """
    until = time.monotonic() + patience
    with open(path, "a", opener=open_restricted) as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _wait(until, busy)
        claim = Claim(path.with_name(f"{path.name}.held"), _this_process())
        _make(claim, until, busy)
        try:
            yield claim
        finally:
            if claim.holds():
                claim.path.unlink(missing_ok=True)


def _make(claim: Claim, until: float, busy: str) -> None:
    draft = claim.path.with_name(f"{claim.path.name}.{secrets.token_hex(8)}")
    draft.write_bytes(claim.content)
    seen, since = None, time.monotonic()
    try:
        while True:
            try:
                os.link(draft, claim.path)  # creates it with its content, or fails if it exists
            except FileExistsError:
                held = _read(claim.path)
                if held != seen:
                    seen, since = held, time.monotonic()
                if held is not None and _is_abandoned(held, time.monotonic() - since):
                    _remove(claim.path, held)
                else:
                    _wait(until, busy)
            else:
                return
    finally:
        draft.unlink(missing_ok=True)


def _remove(path: Path, abandoned: bytes) -> None:
    """Remove the claim of a dead process, but not a claim that another process has created in its place meanwhile."""
    taken = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    with suppress(FileNotFoundError):
        path.rename(taken)
        if taken.read_bytes() != abandoned:
            with suppress(FileExistsError):
                os.link(taken, path)
        taken.unlink()


def _is_abandoned(held: bytes, unchanged: float) -> bool:
    """Return whether the process that made a claim is gone, as far as this one can tell. ``unchanged`` is in seconds."""
    try:
        holder = json.loads(held)
        host, process, started = holder["host"], holder["process"], holder["started"]
    except (ValueError, KeyError, TypeError):
        return unchanged > ABANDONED
    if host == _host():
        return bool(_start_of(process) != started)
    return unchanged > ABANDONED


def _this_process() -> bytes:
    holder = {"host": _host(), "process": os.getpid(), "started": _start_of(os.getpid()), "token": secrets.token_hex(8)}
    return json.dumps(holder).encode()


def _host() -> str:
    """Return what processes that see each other have in common: the boot of the system and the namespace of their numbers."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:  # not Linux
        return os.uname().nodename


def _start_of(process: object) -> str:
    """Return when a process of this host started, as the system counts time; blank if it is gone."""
    try:
        # The program's name, in brackets, can contain anything.
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    if Path("/proc/self/stat").exists():
        return ""
    with suppress(OSError, TypeError, OverflowError):  # not Linux: process numbers are reused, so this may wait in vain
        os.kill(process, 0)  # type: ignore[arg-type]
        return "running"
    return ""


def _write(path: Path, content: bytes, mode: int | None) -> None:
    """Write a new file durably, except for its name. Without a ``mode``, ``restrict`` says who may read it."""
    path.unlink(missing_ok=True)  # what a killed process left
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        restrict(path)
        if mode is not None:
            path.chmod(mode)
        file.write(content)
    sync(path)


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _wait(until: float, busy: str) -> None:
    if time.monotonic() > until:
        raise StoreError(busy)
    time.sleep(WAIT)
