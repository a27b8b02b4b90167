"""Where a store is: a folder, or a PostgreSQL database together with a folder or a bucket that hosts share."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from clueline.data.store.errors import StoreError
from clueline.data.store.files import StoreFiles
from clueline.data.store.register import FolderRegister, Register

SCHEME = re.compile(r"[a-z][a-z0-9+.-]+:")


class Location(NamedTuple):
    """The parts of a store.

    ``url`` may contain a password; ``place``, for messages, does not. ``local`` is a folder of this host, for its cache and for
    files that are being uploaded.
    """

    url: str
    place: str
    register: Register
    files: StoreFiles
    local: Path


def read_location(url: str | Path) -> Location:
    """Read the address of a store. Raises ``StoreError``.

    It is the path of a folder, or ``postgres://USER:PASSWORD@HOST/DATABASE?objects=PATH`` or ``…?objects=s3://BUCKET/PREFIX``.
    ``local=PATH`` names a folder of this host for copies and for files that are being uploaded. All other parameters are libpq's.

    >>> read_location("postgres://ann:secret@db/lab?objects=/mnt/objects&sslmode=require").place
    'postgres://ann@db/lab?objects=/mnt/objects&sslmode=require'
    >>> read_location("postgres://ann:a:b@c@db/lab?objects=/mnt/objects").place
    'postgres://ann@db/lab?objects=/mnt/objects'
    """
    text = str(url)
    if not SCHEME.match(text):
        folder = Path(url).expanduser().absolute()
        return Location(str(folder), str(folder), FolderRegister(folder), StoreFiles(folder), folder)
    parts = urlsplit(text)
    parameters = dict(parse_qsl(parts.query))
    shown = {key: value for key, value in parameters.items() if key not in ("password", "local")}
    user, at, host = parts.netloc.rpartition("@")
    netloc = user.partition(":")[0] + at + host
    place = urlunsplit(parts._replace(netloc=netloc, query=urlencode(shown, safe="/:")))
    objects, local = parameters.pop("objects", ""), parameters.pop("local", "")
    if parts.scheme not in ("postgres", "postgresql") or not objects:
        raise StoreError(
            f"{place}: a store is a folder, or postgres://HOST/DATABASE?objects=PATH, or …?objects=s3://BUCKET/PREFIX"
        )
    from clueline.data.store.postgres_register import PostgresRegister  # most stores are folders, and psycopg is slow to load

    name = hashlib.sha256(f"{parts.netloc}{parts.path}{objects}".encode()).hexdigest()[:12]
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "clueline" / name
    own = Path(local).expanduser().absolute() if local else cache
    register = PostgresRegister(urlunsplit(parts._replace(query=urlencode(parameters))))
    if objects.startswith("s3://"):
        from clueline.data.store.s3_files import S3Files

        try:
            return Location(text, place, register, S3Files(objects, own / "copies"), own)
        except OSError as error:
            raise StoreError(str(error)) from error
    if SCHEME.match(objects) or not Path(objects).expanduser().is_absolute():
        raise StoreError(f"{place}: objects= must be an absolute path or s3://BUCKET/PREFIX")
    return Location(text, place, register, StoreFiles(Path(objects).expanduser()), own)
