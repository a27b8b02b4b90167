"""Logging in through the lab's identity provider, by OpenID Connect. Off unless ``CLUELINE_OIDC_ISSUER`` names a provider.

The provider says who somebody is once, when they log in (authorization code flow with PKCE, by Authlib). From then on a cookie
says so, signed with the key of the store, until it ends.
"""

from __future__ import annotations

import hmac
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import msgspec
from flask import request

from clueline.dashboard.access.providers import Reader, RequestDenied, check_user
from clueline.dashboard.access.signed_links import read
from clueline.dashboard.settings import Settings
from clueline.data.store.tokens_and_readers import RIGHTS, USER, AccessRecord, Right

COOKIE = "clueline_user"
LOGIN_COOKIE = "clueline_oidc"  # what a login in progress must know when the browser comes back
LOGIN_SECONDS = 600
CALLBACK = "/login/oidc/done"
EVERYBODY = "*"  # in CLUELINE_OIDC_RIGHTS: whoever the provider lets in
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")  # that a provider must have
MAX_TARGET = 1000  # characters of the page to show afterwards: browsers drop cookies above 4,096 bytes
TIMEOUT = 10  # seconds, of each request to the provider
CLOCKS = 120  # seconds by which the clocks of provider and server may differ
PROBLEM = "The identity provider did not confirm this login"


class Login(NamedTuple):
    """A login in progress: what the provider must send back, and the page to show afterwards."""

    state: str
    nonce: str
    verifier: str
    target: str
    until: int


JUMP = 300  # seconds by which the clocks of hosts may differ


class OidcUser:
    """See ``Provider``. Who has logged in through the identity provider of the settings."""

    gives: Right | None = "admin"
    sent_unasked = True

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return who has logged in; None without a cookie that is valid and has not ended."""
        if not self.settings.oidc_issuer or COOKIE not in request.cookies:
            return None
        content = read(record().link_key, COOKIE, request.cookies[COOKIE], tuple[str, Right, int])
        now = time.time()
        if content is None or not now < content[2] <= now + self.settings.oidc_hours * 3600 + JUMP:
            return None  # it has ended, or was made while the clock was ahead
        return Reader(f"{USER}{content[0]}", content[1], by_cookie=True)

    def begin(self, target: str) -> tuple[str, Login]:
        """Return the provider's address to which a browser is sent, and what must be known when it comes back.

        Raises ``RequestDenied`` with status 502 if the provider cannot be asked.
        """
        from authlib.common.security import generate_token

        metadata = self._metadata()
        state, nonce, verifier = (generate_token(48) for _ in range(3))
        login = Login(state, nonce, verifier, target if len(target) <= MAX_TARGET else "/", int(time.time()) + LOGIN_SECONDS)
        with self._session(metadata) as session:
            url, _ = session.create_authorization_url(
                metadata["authorization_endpoint"], state=login.state, nonce=login.nonce, code_verifier=login.verifier
            )
        return str(url), login

    def finish(self, login: Login | None, take: Callable[[str, int], bool]) -> tuple[str, Right, int]:
        """Return the user, the right and the end (seconds since 1970) of a login, from the request that comes back.

        ``take`` takes the state of a login, and when it ends, and returns whether it is taken for the first time.

        Raises ``RequestDenied``: 400 if the login did not begin in this browser, or was finished before, 401 if the provider
        refuses it or its answer is not valid, 403 for users without a right, 502 if it cannot be reached.
        """
        state = request.args.get("state", "").encode()  # maybe not ASCII
        if login is None or login.until <= time.time() or not hmac.compare_digest(login.state.encode(), state):
            raise RequestDenied(400, "bad_login", "This login began in another browser, or took too long. Log in again.")
        if "error" in request.args:
            reason = request.args.get("error_description") or request.args["error"]
            raise RequestDenied(401, "bad_login", f"{PROBLEM}: {reason[:200]}")
        claims = self._claims(login)
        name = claims.get(self.settings.oidc_user)
        if not isinstance(name, str) or not name.strip():
            raise RequestDenied(
                403, "bad_user", f"The identity provider did not send {self.settings.oidc_user!r}, which names the user here. "
                "The operator can choose another claim with CLUELINE_OIDC_USER.",
            )  # fmt: skip
        user, right = check_user(name, "The name that the identity provider sends"), self._right(claims)
        if not take(login.state, login.until):  # last, so that a login that fails at the provider can be tried again
            raise RequestDenied(400, "bad_login", "This login was finished before. Log in again.")
        return user, right, int(time.time()) + self.settings.oidc_hours * 3600

    def _right(self, claims: Mapping[str, Any]) -> Right:
        """Return the highest right of a user's groups."""
        member = {EVERYBODY, *groups_of(claims.get(self.settings.oidc_groups))}
        rights = rights_of_groups(self.settings.oidc_rights)
        held = [right for group, right in rights.items() if group in member]
        if not held:
            raise RequestDenied(
                403, "missing_right", f"None of your groups may read here. These may: {', '.join(rights)}. Ask the operator."
            )
        return max(held, key=RIGHTS.index)

    def _claims(self, login: Login) -> dict[str, Any]:
        """Exchange the code of the request, and return what the provider says about the user once that is verified."""
        from authlib.integrations.base_client import OAuthError
        from authlib.oidc.core import CodeIDToken
        from joserfc import jwt
        from joserfc.errors import JoseError
        from joserfc.jwk import KeySet
        from requests import RequestException

        metadata = self._metadata()
        issuer, client = self.settings.oidc_issuer, self.settings.oidc_client
        try:
            with self._session(metadata) as session:
                token = session.fetch_token(
                    metadata["token_endpoint"], authorization_response=request.url, state=login.state,
                    code_verifier=login.verifier, timeout=TIMEOUT,
                )  # fmt: skip
                keys = KeySet.import_key_set(session.get(metadata["jwks_uri"], withhold_token=True, timeout=TIMEOUT).json())
                signed = jwt.decode(token["id_token"], keys, algorithms=asymmetric(metadata))
                claims = CodeIDToken(
                    signed.claims, signed.header,
                    {"iss": {"essential": True, "value": issuer}, "aud": {"essential": True, "value": client}},
                    {"nonce": login.nonce, "client_id": client, "access_token": token["access_token"]},
                )  # fmt: skip
                claims.validate(leeway=CLOCKS)
                if "userinfo_endpoint" not in metadata:
                    return dict(claims)
                more = session.get(metadata["userinfo_endpoint"], timeout=TIMEOUT).json()
        except (OAuthError, JoseError, KeyError, TypeError, ValueError, RequestException) as error:
            raise RequestDenied(401, "bad_login", f"{PROBLEM}. Log in again; if it happens again, tell the operator.") from error
        if not isinstance(more, dict) or more.get("sub") != claims["sub"]:
            raise RequestDenied(401, "bad_login", f"{PROBLEM}: it says two different things about who you are.")
        return {**more, **claims}

    def _session(self, metadata: Mapping[str, Any]) -> Any:
        from authlib.integrations.requests_client import OAuth2Session

        offered = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        ways = (way for way in ("client_secret_basic", "client_secret_post") if way in offered)
        return OAuth2Session(
            self.settings.oidc_client, self.settings.oidc_secret, scope=self.settings.oidc_scopes,
            redirect_uri=self.settings.url + CALLBACK, code_challenge_method="S256",
            token_endpoint_auth_method=next(ways, "client_secret_basic") if self.settings.oidc_secret else "none",
        )  # fmt: skip

    def _metadata(self) -> dict[str, Any]:
        """Ask the provider for its addresses. It is asked at each login, so a change there needs no restart here."""
        import requests

        issuer = self.settings.oidc_issuer
        try:
            answer = requests.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration", timeout=TIMEOUT)
            answer.raise_for_status()
            metadata = answer.json()
        except (requests.RequestException, ValueError) as error:
            raise RequestDenied(
                502, "no_provider", "The identity provider cannot be reached at present. Try again, or log in with a token."
            ) from error
        if not isinstance(metadata, dict) or metadata.get("issuer") != issuer:
            raise RequestDenied(
                502,
                "no_provider",
                f"The identity provider does not call itself {issuer}, as CLUELINE_OIDC_ISSUER says. Tell the operator.",
            )
        if missing := [name for name in ENDPOINTS if name not in metadata]:
            raise RequestDenied(502, "no_provider", f"The identity provider does not say its {missing[0]}. Tell the operator.")
        return metadata


def asymmetric(metadata: Mapping[str, Any]) -> list[str]:
    """Return the algorithms by which a provider signs, without those whose key is the client's secret, and without `none`."""
    offered = metadata.get("id_token_signing_alg_values_supported", ["RS256"])
    return [name for name in offered if name[:2] in ("RS", "PS", "ES") or name in ("EdDSA", "Ed25519")]


def groups_of(claim: object) -> list[str]:
    """Return the groups that a claim lists: texts, or numbers in a list. Any other value lists none.

    >>> groups_of(["lab", 7, None]), groups_of("lab"), groups_of(None), groups_of(True)
    (['lab', '7'], ['lab'], [], [])
    """
    if isinstance(claim, str):
        return [claim]
    if not isinstance(claim, list):
        return []
    return [str(group) for group in claim if isinstance(group, str | int) and not isinstance(group, bool)]


def rights_of_groups(entries: tuple[str, ...]) -> dict[str, Right]:
    """Return the right of each group, from entries such as ``lab=upload``.

    >>> rights_of_groups(("staff=admin", "*=read"))
    {'staff': 'admin', '*': 'read'}
    """
    pairs = (entry.rpartition("=") for entry in entries)
    return {group: msgspec.convert(right, Right) for group, _, right in pairs}
