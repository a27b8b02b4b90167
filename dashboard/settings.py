"""Settings, read from environment variables with the prefix ``CLUELINE_``."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields

from data.store.memory import ROOM

PREFIX = "CLUELINE_"
LOG_LEVELS = ("debug", "info", "warning", "error")
UPLOAD_MODES = ("token", "open", "off")


class BadSetting(Exception):
    """A setting has a value that it cannot have; the message says which it may have."""


@dataclass(frozen=True)
class Settings:
    """What the operator may choose; the README lists each with its default.

    Attributes:
        store: folder of the store.
        host, port: where to listen.
        workers: gunicorn worker processes.
        memory_mb: what of the runs' statistics each worker holds in memory at most.
        cache: ``filesystem`` (a folder in the store) or a ``redis://`` address.
        uploads: who may upload: ``token``, ``open`` or ``off``.
        max_upload_mb: largest upload.
        hosts: names, beside loopback ones, by which the server may be called, separated by commas (``dashboard.uploads.access``).
        log_level: ``debug``, ``info``, ``warning`` or ``error``.
    """

    store: str = "store"
    host: str = "127.0.0.1"
    port: int = 8050
    workers: int = min(4, os.cpu_count() or 1)
    memory_mb: int = ROOM // 2**20
    cache: str = "filesystem"
    uploads: str = "token"
    max_upload_mb: int = 1024
    hosts: str = ""
    log_level: str = "info"


def _whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return read


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text.lower() not in allowed:
            raise ValueError(f"one of {', '.join(allowed)}")
        return text.lower()

    return read


def _store(text: str) -> str:
    if re.match(r"[a-z][a-z0-9+.-]+:", text):
        raise ValueError("the path of a folder")
    return text


def _cache(text: str) -> str:
    if text != "filesystem" and not text.startswith("redis://"):
        raise ValueError("filesystem or a redis:// address")
    return text


def _hosts(text: str) -> str:
    names = [name.strip().lower() for name in text.split(",") if name.strip()]
    if not all(re.fullmatch(r"[a-z0-9._-]+|\[[0-9a-f:.]+\]", name) for name in names):
        raise ValueError("host names without scheme and port, separated by commas, such as lab.example,10.0.0.5")
    return ",".join(names)


READERS: dict[str, Callable[[str], str | int]] = {
    "store": _store,
    "host": str,
    "port": _whole(1, 65535),
    "workers": _whole(1, 64),
    "memory_mb": _whole(1, 1_000_000),
    "cache": _cache,
    "uploads": _one_of(*UPLOAD_MODES),
    "max_upload_mb": _whole(1, 1_000_000),
    "hosts": _hosts,
    "log_level": _one_of(*LOG_LEVELS),
}


def unknown_settings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Variables with our prefix that are none of ours: most likely misspelt."""
    known = {PREFIX + field.name.upper() for field in fields(Settings)} | {f"{PREFIX}CHROMIUM"}  # the tests' browser
    return sorted(name for name in environment if name.startswith(PREFIX) and name not in known)


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from the environment; blank ones are as if absent.

    Raises:
        BadSetting: for a value that a setting cannot have.
    """
    found: dict[str, str | int] = {}
    for field in fields(Settings):
        name = PREFIX + field.name.upper()
        text = environment.get(name, "").strip()
        if text:
            try:
                found[field.name] = READERS[field.name](text)
            except ValueError as reason:
                raise BadSetting(f"{name} must be {reason}, not {text!r}") from None
    return Settings(**found)  # type: ignore[arg-type]
