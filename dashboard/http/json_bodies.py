"""JSON that clients send. Whatever its bytes are, it becomes a value of the expected type, or an error that says why not."""

from __future__ import annotations

from typing import TypeVar

import msgspec
from flask import request

from queries.selection.parameter_kinds import BadRequest

T = TypeVar("T")


class InvalidJson(Exception):
    """It is not JSON, or not of the expected type. The message says why."""


def decode_json(content: bytes | str, kind: type[T]) -> T:
    """Return the value of a JSON text. Raises ``InvalidJson`` if it is not JSON, or not of this type."""
    try:
        if isinstance(content, bytes):
            content.decode()  # msgspec does not decode what it skips
        return msgspec.json.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise InvalidJson(str(error)) from None
    except UnicodeError:
        raise InvalidJson("it is not UTF-8") from None
    except RecursionError:
        raise InvalidJson("it is nested too deeply") from None


def read_body(kind: type[T]) -> T:
    """Return the body of this request. Raises ``BadRequest`` if it is not JSON, or not of this type."""
    try:
        return decode_json(request.get_data(), kind)
    except InvalidJson as error:
        raise BadRequest("bad_value", f"The body is not as documented: {error}.") from None
