"""Who sends a request: one module for each way of saying so. ``dashboard.access.rights`` lists the ways in use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from clueline.dashboard.access.signed_links import SignedLink
from clueline.data.store.tokens_and_readers import RESERVED, RIGHTS, AccessRecord, Right
from clueline.queries.selection.parameter_kinds import BadRequest

CHALLENGE = 'Bearer realm="clueline"'
MAX_USER = 100  # characters of a user's name


class RequestDenied(BadRequest):
    """A request that is refused. ``headers`` are sent with the response; ``by`` names who made it, if that is known."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
        by: str = "",
    ) -> None:
        super().__init__(code, message, field, status=status)
        self.headers = dict(headers or {})
        self.by = by


class Reader(NamedTuple):
    """Who is making a request.

    ``name`` is the name of the token, or ``user:NAME`` for a user whom a trusted proxy or the identity provider names. It is
    blank for an anonymous reader, whose ``right`` is None. ``right`` is the reader's highest right. ``link`` is what a signed
    link opens. ``by_cookie`` says whether a cookie of the login page names the reader.
    """

    name: str = ""
    right: Right | None = None
    link: SignedLink | None = None
    by_cookie: bool = False

    def has(self, right: Right) -> bool:
        """Return whether the reader has a right, or a higher one."""
        return self.right is not None and RIGHTS.index(self.right) >= RIGHTS.index(right)


class Provider(Protocol):
    """A way in which a request says who sends it.

    Attributes:
        gives: the highest right that it can give; None for one that only opens what a link names.
        sent_unasked: whether browsers send it with requests of other sites' pages, so that a change needs a check of the site.
    """

    gives: Right | None
    sent_unasked: bool

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return who sends this request; None if it does not say so in this way.

        ``record`` returns the tokens of the store. Raises ``RequestDenied`` for what is not, or no longer, valid.
        """
        ...


def check_user(name: str, source: str) -> str:
    """Return a user's name as it is, maybe blank. ``source`` begins the message of the ``RequestDenied``.

    A name is never altered: "ann " may be somebody else than "ann".
    """
    if name != name.strip() or not name.isprintable():
        raise RequestDenied(
            400,
            "bad_user",
            f"{source} is {shown(name)}. A name must not begin or end with a blank, or hold characters that cannot be seen. "
            "Whoever manages the names has to correct it.",
        )
    if len(name) > MAX_USER or name in RESERVED:
        raise RequestDenied(400, "bad_user", f"{source} must hold a name of at most {MAX_USER} characters, not {shown(name)}.")
    return name


def shown(name: str) -> str:
    """Return the beginning of a name in quotes, with what cannot be seen as codes."""
    return ascii(name[:MAX_USER]) if not name.isprintable() else repr(name[:MAX_USER])


def wrong_token() -> RequestDenied:
    """Return the refusal of a token that is not known."""
    return RequestDenied(
        401, "wrong_token", "No known token was sent. The header must be `Authorization: Bearer TOKEN`.",
        headers={"WWW-Authenticate": f'{CHALLENGE}, error="invalid_token"'},
    )  # fmt: skip
