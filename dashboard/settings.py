"""Settings: environment variables with the prefix ``CLUELINE_``. A new setting is one more field of ``Settings``.

``python -m clueline.dashboard.settings`` prints docs/settings.md.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta
from msgspec.inspect import IntType, LiteralType, VarTupleType, type_info

VERSION: str = tomllib.loads((Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"][
    "version"
]
PREFIX = "CLUELINE_"
SECRETS = ("grace_password", "oidc_secret")
TOKEN = "CLUELINE_TOKEN"  # the token of `clueline mcp`; no setting of a server
Origin = Annotated[str, Meta(pattern=r"^(https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?|'self')$")]
HostName = Annotated[str, Meta(pattern=r"^([a-z0-9._-]+|\[[0-9a-f:.]+\])$")]


class BadSetting(Exception):
    """A setting has an invalid value; the message says which values are valid."""


def _check_right(entry: str) -> None:
    group, _, right = entry.rpartition("=")
    if not group or right not in ("read", "upload", "admin"):
        raise ValueError


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What the operator of a server can choose.

    A field's type gives the range of a number and the choices of a ``Literal``. After its description comes what the type cannot
    say: ``expected`` describes valid values in the error message, ``check`` is a function that raises ``ValueError`` for an
    invalid part of a list, and ``default`` describes the default if the value itself would not be clear. The parts of a list are
    read in small letters, unless they are to be kept ``as_written``.
    """

    store: Annotated[
        str,
        Meta(pattern=r"^(?!(?!postgres(ql)?:)[a-z][a-z0-9+.-]+:)"),
        "Folder of the store, created at the first import or start; or a PostgreSQL database and the location of the files that "
        "several hosts share, see docs/operations.md.",
        {"expected": "the path of a folder, or postgres://HOST/DATABASE?objects=PATH"},
    ] = "store"
    host: Annotated[
        str, "Address to listen on; `0.0.0.0` for all addresses of this machine.", {"expected": "an IP address or host name"}
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=1, le=65535), "Port to listen on."] = 8050
    workers: Annotated[
        int,
        Meta(ge=1, le=64),
        "Number of processes that answer requests. They share the store and the cache.",
        {"default": "the number of cores, at most 4"},
    ] = min(4, os.cpu_count() or 1)
    memory_mb: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        "Memory of each worker for statistics of runs, in MiB. 5 million responses take about 350. Beyond the limit, the least "
        "recently used statistics are dropped, and read again when they are needed.",
    ] = 1024
    cache: Annotated[
        str,
        Meta(pattern=r"^(filesystem$|rediss?://)"),
        "Where results are cached: `filesystem` for a folder in the store, or the address of a Redis server, such as "
        "`redis://localhost:6379/0`.",
        {"expected": "filesystem or a redis:// address"},
    ] = "filesystem"
    cache_mb: Annotated[
        int,
        Meta(ge=1, le=1_000_000),
        "Size of the result cache on disk, in MiB. The least recently used results make room for new ones. A twentieth of the "
        "disk, but at most 1 GiB, stays free. Redis has its own limit, `maxmemory`.",
    ] = 1024
    query_seconds: Annotated[
        int, Meta(ge=1, le=3600), "Time limit of one query, in seconds. A query that takes longer is stopped, with status 503."
    ] = 120
    read: Annotated[
        Literal["open", "token", "proxy"],
        "Who may read: everybody who can reach the server (`open`); holders of a `token`, who log in at `/login`, and users "
        "named by a trusted proxy; or the same people without the login page (`proxy`). Datasets can be private in any case; "
        "see docs/security.md.",
    ] = "open"
    samples: Annotated[
        Literal["yes", "no"], "Whether `serve` imports the bundled datasets into a store that was never written to."
    ] = "yes"
    uploads: Annotated[
        Literal["token", "open", "off"],
        "Who may upload, withdraw and restore runs over HTTP: holders of a `token`, everybody who can reach the server (`open`, "
        "for a laptop), or nobody (`off`).",
    ] = "token"
    watch: Annotated[
        str,
        Meta(pattern=r"^(s3://.|(?![a-z][a-z0-9+.-]+:))"),
        "Folder, or `s3://BUCKET/PREFIX`, whose logs and tables the server imports as they are finished; see docs/pipelines.md.",
        {"expected": "the path of a folder, or s3://BUCKET/PREFIX"},
    ] = ""
    watch_mapping: Annotated[
        str,
        "Name of the kept mapping by which the columns of tables in `CLUELINE_WATCH` are read; without it, none is used. "
        "`clueline mappings` lists them.",
        {"expected": "the name of a mapping"},
    ] = ""
    unused_days: Annotated[
        int,
        Meta(ge=1, le=36_500),
        "Days after which a stored selection that nobody uses ends. Every use begins them anew; see docs/api.md.",
    ] = 365
    max_upload_mb: Annotated[
        int, Meta(ge=1, le=1_000_000), "Largest upload, in MiB. A compressed file can unpack to ten times this size."
    ] = 1024
    import_memory_mb: Annotated[
        int,
        Meta(ge=512, le=1_000_000),
        "Memory of the process that reads an upload or a watched file, in MiB. A file that needs more is refused. Each worker "
        "runs up to two such processes at once. Imports on the command line have no limit. See docs/operations.md.",
    ] = 2048
    hosts: Annotated[
        tuple[HostName, ...],
        "Host names of the server, separated by commas, such as `lab.example,10.0.0.5`. It answers only to these, to loopback "
        "names and to `CLUELINE_HOST`. Without a list, a server that listens beyond this machine, and does not accept uploads "
        "from everybody, also answers to any IP address. Behind a proxy that passes on its own name, list that name.",
        {"expected": "host names without scheme and port, separated by commas, such as lab.example,10.0.0.5"},
    ] = ()
    url: Annotated[
        str,
        Meta(pattern=r"^https?://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?$"),
        "The address by which people reach the server, such as `https://clueline.lab.example`. Copied links, citations and "
        "saved files name it, and the server answers to its host name. Without it they name the host that the request names, or "
        "a trusted proxy.",
        {"expected": "scheme and host with an optional port, such as https://clueline.lab.example"},
    ] = ""
    embed: Annotated[
        tuple[Origin, ...],
        "Origins whose pages may show views in a frame, separated by commas, such as `https://wiki.example`; `'self'` is this "
        "server. A view in a frame has `embed=1` in its address, and no navigation. Pages that change something cannot be "
        "framed.",
        {"expected": "origins, scheme and host with an optional port, separated by commas, such as https://wiki.example"},
    ] = ()
    trusted_proxies: Annotated[
        tuple[str, ...],
        "Networks of the proxies in front of the server, separated by commas. The headers `X-Forwarded-For`, "
        "`X-Forwarded-Proto`, `X-Forwarded-Host` and the one in `CLUELINE_USER_HEADER` are accepted only from these.",
        {"expected": "networks or addresses, separated by commas, such as 10.0.0.0/8,::1", "check": ip_network},
    ] = ()
    user_header: Annotated[
        str,
        Meta(pattern=r"^[A-Za-z][A-Za-z0-9-]*$"),
        "The header in which a trusted proxy names its user, such as `X-Remote-User`. These users may write without a token, "
        "and their uploads carry their name. A request from elsewhere with this header is refused.",
        {"expected": "the name of a header, such as X-Remote-User"},
    ] = ""
    oidc_issuer: Annotated[
        str,
        Meta(pattern=r"^(https://[^?#]+|http://(localhost|127\.0\.0\.1)(:[0-9]{1,5})?(/[^?#]*)?)$"),
        "The lab's identity provider, by whose OpenID Connect people can log in, exactly as it calls itself, such as "
        "`https://login.lab.example/realms/lab`. Needs `CLUELINE_OIDC_CLIENT` and `CLUELINE_URL`; see docs/security.md.",
        {"expected": "an https:// address"},
    ] = ""
    oidc_client: Annotated[str, "The id of this server at the identity provider."] = ""
    oidc_secret: Annotated[str, "The secret of this server at the identity provider, if it has one."] = ""
    oidc_rights: Annotated[
        tuple[str, ...],
        "The rights of groups, separated by commas, such as `staff=admin,lab=upload,*=read`; `*` is everybody whom the identity "
        "provider lets in. Of several, the highest counts. Somebody in none of them cannot log in.",
        {
            "expected": "GROUP=read, GROUP=upload or GROUP=admin, separated by commas",
            "check": _check_right,
            "default": "`*=read`",
            "as_written": True,
        },
    ] = ("*=read",)
    oidc_user: Annotated[
        str, "The claim that names a user. People must not be able to choose its value: the name opens what is theirs."
    ] = "preferred_username"
    oidc_groups: Annotated[str, "The claim that lists a user's groups."] = "groups"
    oidc_scopes: Annotated[str, "What is asked of the identity provider, separated by spaces."] = "openid profile email"
    oidc_hours: Annotated[
        int, Meta(ge=1, le=720), "How long such a login lasts, in hours. A change of groups counts from the next one."
    ] = 12
    drain_seconds: Annotated[
        int,
        Meta(ge=1, le=86_400),
        "How long a server that is told to shut down (SIGTERM) waits for requests and uploads in progress, in seconds. An "
        "upload can take 30 minutes. A second SIGTERM ends the wait.",
    ] = 1800
    drain_notice_seconds: Annotated[
        int,
        Meta(ge=0, le=300),
        "How long it still accepts new requests while `/readyz` already fails, in seconds. A load balancer that polls `/readyz` "
        "needs this time to notice.",
    ] = 0
    log_level: Annotated[Literal["debug", "info", "warning", "error"], "The server logs messages of this level and above."] = (
        "info"
    )
    log_format: Annotated[
        Literal["text", "json"],
        "Format of the log on standard error: lines of `text` for people, or `json` objects for programs.",
    ] = "text"
    prometheus: Annotated[
        Literal["off", "on"],
        "Whether `/metrics-prometheus` has metrics for Prometheus, open to everybody who can reach the server.",
    ] = "off"
    grace_password: Annotated[
        str,
        "Password of the GRACE release's zip, for `clueline import`. Without it, the command asks for it on a "
        "terminal. It is never stored.",
    ] = ""

    def __repr__(self) -> str:
        """Return the settings without secrets, which must not appear in a traceback or log."""
        values = {name: getattr(self, name) for name in self.__struct_fields__ if name not in SECRETS}
        return f"Settings({', '.join(f'{name}={value!r}' for name, value in values.items())})"


FIELDS = {field.name: field for field in msgspec.structs.fields(Settings)}


def environment_variable(name: str) -> str:
    """Return the environment variable of a setting: ``CLUELINE_PORT`` for ``port``."""
    return PREFIX + name.upper()


def read_setting(name: str, text: str) -> Any:
    """Return the value of a setting from its text.

    Raises ``ValueError`` if the value is invalid; the message says what is expected.

    >>> read_setting("port", "8051")
    8051
    >>> read_setting("hosts", "Lab.example, 10.0.0.5")
    ('lab.example', '10.0.0.5')
    """
    kind, more = type_info(FIELDS[name].type), _description(name)[1]
    value: str | list[str] = text
    if isinstance(kind, IntType) and not text.isdecimal():  # msgspec would also accept 1e3
        raise ValueError(_expected(name))
    if isinstance(kind, LiteralType):
        value = text.lower()
    elif isinstance(kind, VarTupleType):
        value = [part.strip() for part in text.split(",") if part.strip()]
        if "as_written" not in more:
            value = [part.lower() for part in value]
    try:
        for part in value if "check" in more else ():
            more["check"](part)
        return msgspec.convert(value, FIELDS[name].type, strict=False)
    except ValueError:  # msgspec.ValidationError is one
        raise ValueError(_expected(name)) from None


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings from environment variables. A blank variable counts as absent.

    Raises ``BadSetting`` if a variable has an invalid value.
    """
    values: dict[str, Any] = {}
    for name in FIELDS:
        text = environment.get(environment_variable(name), "").strip()
        if text:
            try:
                values[name] = read_setting(name, text)
            except ValueError as expected:
                given = re.sub(".*@", "***@", text, flags=re.DOTALL)  # hide a password, even in a misspelt address
                raise BadSetting(f"{environment_variable(name)} must be {expected}, not {given!r}") from None
    settings = Settings(**values)
    if settings.user_header and not settings.trusted_proxies:
        raise BadSetting(
            f"{environment_variable('user_header')} needs {environment_variable('trusted_proxies')}: "
            "the networks from which it is accepted"
        )
    missing = [name for name in ("oidc_client", "url") if not getattr(settings, name)]
    if settings.oidc_issuer and missing:
        raise BadSetting(f"{environment_variable('oidc_issuer')} needs {' and '.join(map(environment_variable, missing))}")
    if settings.read == "proxy" and not settings.user_header:
        raise BadSetting(
            f"{environment_variable('read')}=proxy needs {environment_variable('user_header')}: the header that names a user"
        )
    return settings


def unknown_settings(environment: Mapping[str, str] = os.environ) -> list[str]:
    """Return a warning for each variable with our prefix that is not a setting, and so most likely misspelt."""
    warnings = []
    for name in sorted(environment):
        if name.startswith(PREFIX) and name != TOKEN and name not in map(environment_variable, FIELDS):
            close = get_close_matches(name.removeprefix(PREFIX).lower(), FIELDS, n=1)
            hint = f"did you mean {environment_variable(close[0])}?" if close else "docs/settings.md lists them"
            warnings.append(f"there is no setting {name}; {hint}")
    return warnings


def documentation() -> str:
    """Return the text of docs/settings.md."""
    rows = ["| variable | default | must be | |", "|---|---|---|---|"]
    for name, field in FIELDS.items():
        description, more = _description(name)
        default = more.get("default") or (f"`{field.default}`" if field.default not in ("", ()) else "none")
        rows.append(f"| `{environment_variable(name)}` | {default} | {_expected(name)} | {description} |")
    return (
        "# Settings\n\n"
        "Settings are environment variables. An invalid value ends the command with exit code 2. There is a warning for a\n"
        f"variable with the prefix `{PREFIX}` that is not a setting.\n"
        "`clueline serve` also has the options `--host` and `--port`.\n\n"
        + "\n".join(rows)
        + "\n\nThis page is written by `python -m clueline.dashboard.settings > docs/settings.md`.\n"
    )


def _description(name: str) -> tuple[str, dict[str, Any]]:
    """Return the description of a setting, and what its type cannot say."""
    parts = get_args(FIELDS[name].type)[1:]
    (description,) = (part for part in parts if isinstance(part, str))
    return description, next((part for part in parts if isinstance(part, dict)), {})


def _expected(name: str) -> str:
    """Return a description of the valid values of a setting."""
    kind = type_info(FIELDS[name].type)
    if isinstance(kind, IntType):
        return f"a whole number from {kind.ge} to {kind.le}"
    if isinstance(kind, LiteralType):
        return f"one of {', '.join(get_args(get_args(FIELDS[name].type)[0]))}"
    return str(_description(name)[1].get("expected", "a text"))


if __name__ == "__main__":
    print(documentation(), end="")
