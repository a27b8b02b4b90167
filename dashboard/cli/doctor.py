"""``clueline doctor``: what an operator should look at, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import click
import duckdb

from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.access.providers.oidc import OidcUser
from clueline.dashboard.access.rights import is_loopback
from clueline.dashboard.cli.kinds import advice, damage_line
from clueline.dashboard.cli.progress import CommandRefused
from clueline.dashboard.process.server import address
from clueline.dashboard.settings import VERSION, Settings
from clueline.data.plurals import counted
from clueline.data.store import OlderStore, StoreError, open_store
from clueline.data.store.audit import Audit
from clueline.data.store.kinds import inspect_kinds
from clueline.data.store.tokens_and_readers import TokenError, Tokens

GIB = 2**30
LITTLE = 5 * GIB  # of free space
FULL = GIB // 4
CLOCK = 60  # seconds by which the clock may be behind the store's last change
TIMEOUT = 5  # seconds to wait for a server
SHARE_OF_MEMORY = 0.8


class Finding(NamedTuple):
    """What one check found. ``remedy`` is what to do; blank if all is well. A ``fault`` keeps people from their data."""

    text: str
    remedy: str = ""
    fault: bool = False


def versions(settings: Settings) -> Iterator[Finding]:
    """Which versions run; wrong names of settings were said before."""
    yield Finding(f"Clueline {VERSION}, DuckDB {duckdb.__version__}, Python {platform.python_version()}")


def store(settings: Settings) -> Iterator[Finding]:
    """Whether the store, its register and its tokens can be read, and whether this user can write to them."""
    opened = open_store(settings.store)
    try:
        datasets = opened.snapshot().rows("select count(*) from datasets")[0][0]
        yield Finding(f"{opened.place} can be read: {counted(datasets, 'dataset')}")
    except OlderStore as error:
        yield Finding(str(error), "Back it up, then: clueline migrate", fault=True)
    except StoreError as error:
        yield Finding(str(error), "Find out more: clueline verify", fault=True)
    try:
        tokens = [token for token in Tokens(opened.register).all() if not token.ended_at()]
        yield Finding(f"{counted(len(tokens), 'valid token')}")
    except TokenError as error:
        yield Finding(str(error), "Restore tokens.json from a backup.", fault=True)
    with suppress(StoreError):
        events = Audit(opened.register).page(1)
        written = datetime.fromisoformat(events[0].at) if events else None
        if written is not None and written.timestamp() - time.time() > CLOCK:
            yield Finding(
                f"The clock says {datetime.now(UTC):%Y-%m-%d %H:%M} UTC, but the store was changed at {written:%Y-%m-%d %H:%M}.",
                "Set the clock of this machine, best by NTP: tokens, links and sessions end by it.",
            )


def kept(settings: Settings) -> Iterator[Finding]:
    """Whether what people keep in the store can be read. A damaged thing affects only who uses it."""
    opened = open_store(settings.store)
    with suppress(StoreError):  # the store itself was looked at before
        for kind, inspection in inspect_kinds(opened):
            if kind.home == "files":
                if inspection.summary:
                    yield Finding(inspection.summary)
                for damage in inspection.damages:
                    yield Finding(damage_line(kind, damage), advice(kind))


def disk(settings: Settings) -> Iterator[Finding]:
    """Whether this user can write to the folder, nobody else can read its files, and there is space."""
    folder = Path(settings.store)
    if "://" in settings.store or not folder.exists():
        return
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        yield Finding(
            f"{folder} cannot be written to: {error.strerror}.",
            f"Give it to the user that serves: chown -R {os.getuid()} {folder}. Reading works without.",
        )
    foreign = [path.name for path in _files(folder) if path.lstat().st_uid != folder.stat().st_uid]
    if foreign:
        yield Finding(
            f"{counted(len(foreign), 'file')} in {folder} belong to another user, such as {foreign[0]}.",
            f"Run all commands as the user that serves: chown -R --reference={folder} {folder}",
        )
    yield from _readable_by_others(folder)
    free = shutil.disk_usage(folder).free
    remedy = "" if free > LITTLE else "Make room: imports need it, and the cache gives way to them."
    yield Finding(f"{free / GIB:,.1f} GiB free at {folder}", remedy, fault=free < FULL)


def _readable_by_others(folder: Path) -> Iterator[Finding]:
    """Whether others may read or change files and folders; the group may if the folder has the setgid bit, but not the tokens."""
    is_shared = bool(folder.stat().st_mode & stat.S_ISGID)
    tokens = folder / "tokens.json"
    if tokens.exists() and tokens.stat().st_mode & 0o077:
        yield Finding("Other users can read tokens.json.", f"chmod 600 {tokens}")
    foreign = 0o007 if is_shared else 0o077
    # A claim of the lock is there for moments, and says nothing of the data.
    paths = [path for path in [folder, *_files(folder)] if path != tokens and path.suffix != ".held"]
    paths += [path for path in {path.parent for path in paths if path != folder} if path != folder]
    readable = sorted(str(path.relative_to(folder)) for path in paths if _mode(path) & foreign)
    if readable:
        others = "Other users" if is_shared else "The group or other users"
        named = "the folder itself" if readable[0] == "." else readable[0]
        yield Finding(
            f"{others} may read {counted(len(readable), 'file or folder', 'files and folders')} of {folder}, such as {named}.",
            f"chmod -R {'o=' if is_shared else 'go='} {folder}",
        )


def _mode(path: Path) -> int:
    """Return the permissions of a path; none where another process has just removed it, or it is a link."""
    with suppress(FileNotFoundError):
        state = path.lstat()
        return 0 if stat.S_ISLNK(state.st_mode) else state.st_mode
    return 0


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of a store but those of its cache, which come and go."""
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "cache"]
        yield from (path for name in names if os.path.lexists(path := Path(place, name)))


def cache(settings: Settings) -> Iterator[Finding]:
    """Whether Redis answers, if results are kept there."""
    if settings.cache == "filesystem":
        return
    import redis

    try:
        redis.Redis.from_url(settings.cache, socket_timeout=TIMEOUT, socket_connect_timeout=TIMEOUT).ping()
        yield Finding("Redis answers")
    except redis.RedisError as error:
        yield Finding(
            f"Redis does not answer: {type(error).__name__}.", "Start it, or unset CLUELINE_CACHE. Pages are slow without."
        )


def memory(settings: Settings) -> Iterator[Finding]:
    """Whether what the workers may keep fits in this machine."""
    available = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    asked = settings.workers * settings.memory_mb * 2**20
    text = f"{settings.workers} workers keep at most {asked / GIB:,.1f} of {available / GIB:,.1f} GiB of memory"
    yield Finding(text, "" if asked < SHARE_OF_MEMORY * available else "Set CLUELINE_MEMORY_MB or CLUELINE_WORKERS lower.")


def exposure(settings: Settings) -> Iterator[Finding]:
    """Whether people who reach the server can do more than its operator may think."""
    if is_loopback(settings.host):
        yield Finding("Only this machine, or a proxy on it, reaches the server")
        return
    if settings.uploads == "open":
        yield Finding("Everybody who reaches the server can upload and withdraw runs.", "Set CLUELINE_UPLOADS=token.")
    if settings.read == "open":
        yield Finding("Everybody who reaches the server can read what is not private")
    if not settings.trusted_proxies:
        yield Finding(
            "The server speaks HTTP to other machines, and trusts no proxy.",
            "Put a proxy with TLS in front, and list it in CLUELINE_TRUSTED_PROXIES (docs/operations.md).",
        )


def reached(settings: Settings) -> Iterator[Finding]:
    """Whether a server runs, and whether it is reached by the address that people use, through the proxy."""
    import httpx

    for url in dict.fromkeys((address(settings), settings.url)):
        if not url:
            continue
        try:
            answer = httpx.get(f"{url}/healthz", timeout=TIMEOUT)
            # Logging out of nothing shows whether the server believes that it is reached by TLS: its cookies are Secure then.
            cookie = httpx.post(f"{url}/logout", timeout=TIMEOUT).headers.get("Set-Cookie", "")
        except httpx.HTTPError as error:
            remedy = "Is the proxy running, and does the name lead to it?" if url == settings.url else ""
            yield Finding(f"No server answers at {url} ({type(error).__name__})", remedy, fault=bool(remedy))
            continue
        if answer.status_code != 200:
            yield Finding(
                f"{url} answers with status {answer.status_code}: {answer.text[:200]}",
                "Start the server with this CLUELINE_URL, or list the name that the proxy passes on in CLUELINE_HOSTS.",
                fault=True,
            )
            continue
        if f'"version":"{VERSION}"' in answer.text:
            yield Finding(f"{url} answers")
        else:
            remedy = "Start the server again, or correct the address."
            yield Finding(f"{url} answers, but not with Clueline {VERSION}.", remedy, fault=True)
        if url.startswith("https:") and "secure" not in cookie.lower():
            yield Finding(
                "The server does not see that the proxy is reached by TLS, so its cookies are not Secure.",
                "Let the proxy send X-Forwarded-Proto, and list it in CLUELINE_TRUSTED_PROXIES.",
            )


def identity_provider(settings: Settings) -> Iterator[Finding]:
    """Whether the identity provider answers, if there is one."""
    if not settings.oidc_issuer:
        return
    try:
        OidcUser(settings).begin("/")
        yield Finding(f"The identity provider {settings.oidc_issuer} answers")
    except RequestDenied as denied:
        yield Finding(str(denied), "Check CLUELINE_OIDC_ISSUER. Tokens work meanwhile.")


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    versions, store, kept, disk, cache, memory, exposure, reached, identity_provider,
)  # fmt: skip


@click.command()
@click.pass_obj
def doctor(settings: Settings) -> None:
    """Check what a server needs, and say what to do.

    Versions, store, tokens, what people keep, clock, permissions, disk, cache, memory, who can reach the server, the address that
    people use, its proxy and the identity provider, as the settings say. Nothing is changed. The exit code is 1 if something
    keeps people from their data.
    """
    faults = 0
    for check in CHECKS:
        for finding in check(settings):
            faults += finding.fault
            click.echo(f"{'FAULT' if finding.fault else 'look' if finding.remedy else 'ok':5}  {finding.text}")
            if finding.remedy:
                click.echo(f"       {finding.remedy}")
    if faults:
        raise CommandRefused(f"{counted(faults, 'fault')}.")
