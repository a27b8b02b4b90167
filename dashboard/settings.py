"""Settings: environment variables with the prefix ``CLUELINE_``. A new setting is one more field of ``Settings``.

``python -m dashboard.settings`` prints docs/settings.md.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta
from msgspec.inspect import IntType, LiteralType, Metadata, VarTupleType, type_info

PREFIX = "CLUELINE_"
Origin = Annotated[str, Meta(pattern=r"^(https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?|'self')$")]
HostName = Annotated[str, Meta(pattern=r"^([a-z0-9._-]+|\[[0-9a-f:.]+\])$")]


class BadSetting(Exception):
    """A setting has a value that it cannot have; the message says which values it can have."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator of a server can choose.

    A field's type gives the range of a number and the choices of a ``Literal``. Its ``extra`` says in words what the type
    cannot: ``expected`` for the error message, ``check`` for a function that raises ``ValueError`` for a bad part of a list,
    ``default`` for a default that is no value.
    """

    store: Annotated[
        str,
        Meta(
            pattern=r"^(?!(?!postgres(ql)?:)[a-z][a-z0-9+.-]+:)",
            description="Folder of the store, made at the first import or start; or a PostgreSQL database and the place of the "
            "files that several hosts share, see docs/operations.md.",
            extra={"expected": "the path of a folder, or postgres://HOST/DATABASE?objects=PATH"},
        ),
    ] = "store"
    host: Annotated[
        str,
        Meta(
            description="Address to listen on; `0.0.0.0` for all of this machine's.",
            extra={"expected": "an IP address or host name"},
        ),
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535, description="Port to listen on.")] = 8050
    workers: Annotated[
        int,
        Meta(
            ge=1,
            le=64,
            description="Processes that answer requests; they share the store and the cache.",
            extra={"default": "the number of cores, at most 4"},
        ),
    ] = min(4, os.cpu_count() or 1)
    memory_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Statistics of runs that each worker holds in memory, in MiB. 5 million responses take some 350. The "
            "least recently used ones are dropped beyond it, and read again when they are needed.",
        ),
    ] = 1024
    cache: Annotated[
        str,
        Meta(
            pattern=r"^(filesystem$|rediss?://)",
            description="Where results are cached: `filesystem` for a folder in the store, or the address of a Redis server, "
            "such as `redis://localhost:6379/0`.",
            extra={"expected": "filesystem or a redis:// address"},
        ),
    ] = "filesystem"
    cache_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=1_000_000,
            description="Results that are cached on disk, in MiB. Those that were used least recently make room for new ones. A "
            "twentieth of the disk, but at most 1 GiB, stays free. Redis has its own limit, `maxmemory`.",
        ),
    ] = 1024
    query_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=3600,
            description="Longest time that one query may take, in seconds. One that takes longer is ended, with status 503.",
        ),
    ] = 120
    read: Annotated[
        Literal["open", "token", "proxy"],
        Meta(
            description="Who may read: everybody who reaches the server (`open`), holders of a `token` and users whom a trusted "
            "proxy names, who log in at `/login`, or the same without that page (`proxy`). Datasets can be private in any case; "
            "see docs/security.md.",
        ),
    ] = "open"
    uploads: Annotated[
        Literal["token", "open", "off"],
        Meta(
            description="Who may upload, withdraw and restore runs over HTTP: holders of a `token`, everybody who reaches the "
            "server (`open`, for a laptop), or nobody (`off`).",
        ),
    ] = "token"
    max_upload_mb: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Largest upload, in MiB. A packed file may unpack to ten times as much."),
    ] = 1024
    hosts: Annotated[
        tuple[HostName, ...],
        Meta(
            description="Names by which the server may be called, separated by commas, such as `lab.example,10.0.0.5`. It "
            "answers only to these, loopback names and `CLUELINE_HOST`; without a list, a server that listens beyond this "
            "machine and does not take uploads from everybody answers to any IP address, too. Behind a proxy that passes its own "
            "name on, list that name.",
            extra={
                "expected": "host names without scheme and port, separated by commas, such as lab.example,10.0.0.5",
                "default": "none",
            },
        ),
    ] = ()
    embed: Annotated[
        tuple[Origin, ...],
        Meta(
            description="Origins whose pages may show views in a frame, separated by commas, such as `https://wiki.example`; "
            "`'self'` is this server. A view in a frame has `embed=1` in its address, and no navigation. Pages that change "
            "something are in no frame.",
            extra={
                "expected": "origins, scheme and host with an optional port, separated by commas, such as https://wiki.example",
                "default": "none",
            },
        ),
    ] = ()
    trusted_proxies: Annotated[
        tuple[str, ...],
        Meta(
            description="Networks of the proxies before the server, separated by commas. From them, the headers "
            "`X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host` are taken, and `CLUELINE_USER_HEADER`; from "
            "elsewhere, never.",
            extra={
                "expected": "networks or addresses, separated by commas, such as 10.0.0.0/8,::1",
                "default": "none",
                "check": ip_network,
            },
        ),
    ] = ()
    user_header: Annotated[
        str,
        Meta(
            pattern=r"^[A-Za-z][A-Za-z0-9-]*$",
            description="The header in which a trusted proxy says who its user is, such as `X-Remote-User`. Its users may write "
            "without a token, and what they upload carries their name. A request from elsewhere that has the header is refused.",
            extra={"expected": "the name of a header, such as X-Remote-User", "default": "none"},
        ),
    ] = ""
    drain_seconds: Annotated[
        int,
        Meta(
            ge=1,
            le=86_400,
            description="How long a server that is told to end (SIGTERM) waits for requests and uploads that have begun. An "
            "upload may take 30 minutes. A second SIGTERM ends the wait.",
        ),
    ] = 1800
    drain_notice_seconds: Annotated[
        int,
        Meta(
            ge=0,
            le=300,
            description="How long it still takes new requests, while `/readyz` fails already: a load balancer that polls "
            "`/readyz` needs as long to find out.",
        ),
    ] = 0
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"],
        Meta(description="What the server logs: messages of this level and above."),
    ] = "info"
    log_format: Annotated[
        Literal["text", "json"],
        Meta(description="How it logs, on standard error: lines of `text` for people, or `json` objects for programs."),
    ] = "text"
    prometheus: Annotated[
        Literal["off", "on"],
        Meta(description="Whether `/metrics-prometheus` has figures for Prometheus, for whoever reaches the server."),
    ] = "off"
    grace_password: Annotated[
        str,
        Meta(
            description="The password that opens the zip of the GRACE release, for `python -m dashboard import`. Without it, the "
            "command asks for it on a terminal. It is never stored.",
            extra={"default": "none"},
        ),
    ] = ""

    def __repr__(self) -> str:
        """Without the password, which a traceback or a log may not show."""
        values = {name: getattr(self, name) for name in self.__struct_fields__ if name != "grace_password"}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in values.items())})"


FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


def variable(name: str) -> str:
    """The environment variable of a setting: ``CLUELINE_PORT`` for ``port``."""
    return PREFIX + name.upper()


def read_setting(name: str, text: str) -> Any:
    """One value from its text.

    Raises:
        ValueError: the setting cannot have this value; the message says what is expected.

    >>> read_setting("port", "8051")
    8051
    >>> read_setting("hosts", "Lab.example, 10.0.0.5")
    ('lab.example', '10.0.0.5')
    """
    kind = _metadata(name).type
    value: str | list[str] = text
    if isinstance(kind, IntType) and not text.isdecimal():  # msgspec takes 1e3, too
        raise ValueError(_expected(name))
    if isinstance(kind, LiteralType):
        value = text.lower()
    elif isinstance(kind, VarTupleType):
        value = [part.strip().lower() for part in text.split(",") if part.strip()]
    try:
        if isinstance(value, list) and "check" in _extra(name):
            for part in value:
                _extra(name)["check"](part)
        return msgspec.convert(value, FIELDS[name].type, strict=False)
    except ValueError:  # msgspec.ValidationError is one
        raise ValueError(_expected(name)) from None


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Settings from environment variables; a blank one counts as absent.

    Raises:
        BadSetting: a variable has a value that its setting cannot have.
    """
    values: dict[str, Any] = {}
    for name in FIELDS:
        text = environment.get(variable(name), "").strip()
        if text:
            try:
                values[name] = read_setting(name, text)
            except ValueError as expected:
                given = re.sub(".*@", "***@", text, flags=re.DOTALL)  # without a password, however the address is misspelt
                raise BadSetting(f"{variable(name)} must be {expected}, not {given!r}") from None
    settings = Settings(**values)
    if settings.user_header and not settings.trusted_proxies:
        raise BadSetting(f"{variable('user_header')} needs {variable('trusted_proxies')}: the networks whose word is taken")
    if settings.read == "proxy" and not settings.user_header:
        raise BadSetting(f"{variable('read')}=proxy needs {variable('user_header')}: the header that names a user")
    return settings


def unknown_settings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """A warning for each variable with our prefix that is no setting, and so most likely misspelt."""
    warnings = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in map(variable, FIELDS):
            close = get_close_matches(name.removeprefix(PREFIX).lower(), FIELDS, n=1)
            hint = f"did you mean {variable(close[0])}?" if close else "docs/settings.md lists them"
            warnings.append(f"there is no setting {name}; {hint}")
    return warnings


def documentation() -> str:
    """The text of docs/settings.md."""
    rows = ["| variable | default | must be | |", "|---|---|---|---|"]
    for name, field in FIELDS.items():
        default = _extra(name).get("default") or f"`{field.default}`"
        description = (_metadata(name).extra_json_schema or {})["description"]
        rows.append(f"| `{variable(name)}` | {default} | {_expected(name)} | {description} |")
    return (
        "# Settings\n\n"
        "Settings are environment variables. A value that a setting cannot have ends the command with exit code 2; a\n"
        f"variable with the prefix `{PREFIX}` that is no setting is warned of.\n"
        "`python -m dashboard serve` takes `--host` and `--port`, too.\n\n"
        + "\n".join(rows)
        + "\n\nThis page is written by `python -m dashboard.settings > docs/settings.md`.\n"
    )


def _metadata(name: str) -> Metadata:
    info = type_info(FIELDS[name].type)
    if not isinstance(info, Metadata):
        raise TypeError(f"the setting {name!r} has no description")
    return info


def _extra(name: str) -> dict[str, Any]:
    return _metadata(name).extra or {}


def _expected(name: str) -> str:
    """What values a setting can have, in words."""
    kind = _metadata(name).type
    if isinstance(kind, IntType):
        return f"a whole number from {kind.ge} to {kind.le}"
    if isinstance(kind, LiteralType):
        return f"one of {', '.join(get_args(get_args(FIELDS[name].type)[0]))}"
    return str(_extra(name).get("expected", "a text"))


if __name__ == "__main__":
    print(documentation(), end="")
