"""Trusted proxies: those whose ``X-Forwarded-*`` headers, and whose naming of the user, this server believes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address, ip_network
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from flask import Flask, request
from werkzeug.middleware.proxy_fix import ProxyFix

TRUSTED = "clueline.trusted_proxy"  # key in the WSGI environment of a request
IPV6_NETWORK = 64  # leading bits of an IPv6 address that identify a client; it can choose the others
FORWARDED = (
    "HTTP_FORWARDED", "HTTP_X_FORWARDED_FOR", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT", "HTTP_X_FORWARDED_PREFIX",
    "HTTP_X_FORWARDED_PROTO", "HTTP_X_REAL_IP",
)  # fmt: skip


class TrustedProxies:
    """A WSGI application that applies the headers of trusted proxies and drops those headers from anybody else."""

    def __init__(self, application: WSGIApplication, networks: Sequence[str]) -> None:
        self._application = application
        self._of_proxy = ProxyFix(application, x_for=1, x_proto=1, x_host=1)
        self._networks = [ip_network(network) for network in networks]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        environ[TRUSTED] = self._trusts(environ.get("REMOTE_ADDR", ""))
        if environ[TRUSTED]:
            if "HTTP_X_FORWARDED_PROTO" in environ:
                environ["HTTP_X_FORWARDED_PROTO"] = environ["HTTP_X_FORWARDED_PROTO"].lower()  # schemes have no case
            return self._of_proxy(environ, start_response)
        for name in FORWARDED:
            environ.pop(name, None)
        return self._application(environ, start_response)

    def _trusts(self, peer: str) -> bool:
        try:
            address = ip_address(peer)
        except ValueError:
            return False
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        return any(address in network for network in self._networks)


def client_address(peer: str | None) -> str:
    """Return the part of an IP address that a client cannot choose at will, or ``unknown`` if there is no address.

    >>> client_address("192.0.2.7")
    '192.0.2.7'
    >>> client_address("2001:db8:1:2:3:4:5:6")
    '2001:db8:1:2::/64'
    """
    try:
        address = ip_address(peer or "")
    except ValueError:
        return peer or "unknown"
    if not isinstance(address, IPv6Address):
        return str(address)
    return str(address.ipv4_mapped or ip_network((address, IPV6_NETWORK), strict=False))


def install(server: Flask, networks: Sequence[str]) -> None:
    """Check where each request comes from before it is handled."""
    server.wsgi_app = TrustedProxies(server.wsgi_app, networks)  # type: ignore[method-assign]


def from_trusted_proxy() -> bool:
    """Return whether a trusted proxy forwarded this request."""
    return bool(request.environ.get(TRUSTED))
