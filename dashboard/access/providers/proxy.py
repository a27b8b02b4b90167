"""A user named by a trusted proxy, in a header."""

from __future__ import annotations

from collections.abc import Callable

from flask import request

from clueline.dashboard.access.providers import Reader, RequestDenied, check_user
from clueline.dashboard.access.trusted_proxies import from_trusted_proxy
from clueline.data.store.tokens_and_readers import USER, AccessRecord, Right


class ProxyUser:
    """See ``Provider``. ``header`` is the name of the header; blank for none."""

    gives: Right | None = "upload"
    sent_unasked = True

    def __init__(self, header: str) -> None:
        self.header = header

    def name(self) -> str | None:
        """Return the user named by the proxy; None if it names none.

        Raises ``RequestDenied`` if the header does not come from a trusted proxy, or does not hold a valid name.
        """
        name = request.headers.get(self.header) if self.header else None
        if name is None:
            return None
        if not from_trusted_proxy():
            raise RequestDenied(
                403, "untrusted_proxy", f"The header {self.header} is accepted only from the proxies listed in "
                f"CLUELINE_TRUSTED_PROXIES; this request comes from {request.remote_addr}.",
            )  # fmt: skip
        return check_user(name, f"The header {self.header}") if name.strip() else None

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return the user. Raises as ``name``."""
        name = self.name()
        return Reader(f"{USER}{name}", "upload") if name else None
