"""The login page. It stores a token in a cookie that scripts cannot read and that other sites' pages cannot send."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime
from typing import Annotated
from urllib.parse import urlsplit

from flask import Flask, Response, abort, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from clueline.dashboard.access import signed_links
from clueline.dashboard.access.providers import Reader, RequestDenied, oidc
from clueline.dashboard.access.providers.token import COOKIE
from clueline.dashboard.registry.addresses import document, sentence
from clueline.dashboard.service import service
from clueline.dashboard.ui.plain_page import plain_page
from clueline.data.store.tokens_and_readers import DAYS, TokenError, redeem
from clueline.queries.selection.parameter_kinds import Text
from clueline.queries.selection.view_parameters_base import NoParameters, Parameters

log = logging.getLogger(__name__)
PAGE = """{% block main -%}
<main id="main">
{% if reader.right %}
<div class="heading"><h1>Logged in</h1></div>
<form class="panel" method="post" action="/logout">
<p>You are logged in as <strong>{{ reader.name }}</strong>, with the right <strong>{{ reader.right }}</strong>.</p>
{% if reader.by_cookie %}<p><button class="quiet" type="submit">Log out</button></p>{% endif %}
<p><a href="{{ target }}">Continue</a></p>
</form>
{% else %}
<div class="heading"><h1>Log in</h1></div>
{% if message %}<p class="status-message bad" role="alert" id="login-message">{{ message }}</p>{% endif %}
{% if oidc %}<form class="panel" method="post" action="/login/oidc">
<input type="hidden" name="next" value="{{ target }}">
<p><button class="quiet primary" type="submit">Log in with your account</button></p>
<p class="note">You log in at {{ oidc }}. This browser remembers it for {{ hours }} hours, or until you log out.</p>
</form>{% endif %}
<form class="panel" method="post" action="/login">
<p><label for="login-token">Token</label></p>
<p><input class="text" type="password" id="login-token" name="token" autocomplete="current-password" maxlength="200" required
{{ "" if oidc else " autofocus" }} spellcheck="false" aria-describedby="login-note"></p>
<p class="note" id="login-note">You get a token from the operator of this server. It is stored in a cookie in this browser for
at most 30 days, or until you log out.</p>
<input type="hidden" name="next" value="{{ target }}">
<p><button class="quiet{{ "" if oidc else " primary" }}" type="submit">Log in</button></p>
</form>
{% endif %}
</main>
{%- endblock %}"""


class LoginParameters(Parameters, frozen=True):
    """The page to show after logging in."""

    next: Annotated[str, Text("the address on this server to show after logging in; `/` by default")] = "/"
    once: Annotated[str, Text("the code of a one-time link, which logs this browser in")] = ""


class OidcParameters(Parameters, frozen=True):
    """What the identity provider sends back."""

    code: Annotated[str, Text("what the server exchanges for the name and the groups of the user")] = ""
    state: Annotated[str, Text("what the server sent to the identity provider")] = ""
    error: Annotated[str, Text("why the identity provider refuses the login")] = ""


def install(server: Flask) -> None:
    """Add the addresses for logging in and out to a server."""
    server.add_url_rule("/login", "login", show_login)
    server.add_url_rule("/login", "login_sent", log_in, methods=["POST"])
    server.add_url_rule("/login/oidc", "login_oidc", begin_oidc, methods=["POST"])
    server.add_url_rule(oidc.CALLBACK, "login_oidc_done", finish_oidc)
    server.register_error_handler(TokenError, _unusable)
    server.add_url_rule("/logout", "login_ended", log_out, methods=["POST"])


def show_login() -> AnyResponse:
    """A form for entering a token. A reader who is already logged in sees the name and right of their token instead. `once` is
    the code of a one-time link: it stores a new token in a cookie and redirects to `next`; 401 if it was used before.
    """
    target = login_target(request.args.get("next", "/"))
    code = request.args.get("once", "")
    if not code:
        return _page(target)
    access = service().access
    token = redeem(access.tokens, code)
    if token is None:
        access.record_refusal(RequestDenied(401, "wrong_token", "The one-time link is not valid."))
        return _page(target, "This link was used before or has expired. Start the server again for a new one.", 401)
    return _with_cookie(target, token, DAYS * 86_400)


def log_in() -> AnyResponse:
    """Store the token from the form field `token` in a cookie, and redirect to `next`. 401 for an invalid token."""
    access = service().access
    access.check_same_site()
    target = login_target(request.form.get("next", "/"))
    token = access.find(request.form.get("token", "").strip())
    if token is None or token.ended_at():
        access.record_refusal(RequestDenied(401, "wrong_token", "No valid token was sent.", by=token.name if token else ""))
        problem = "was revoked" if token and token.revoked_at else "has expired" if token else "is not known here"
        return _page(target, f"This token {problem}.", 401)
    seconds = DAYS * 86_400
    if token.until is not None:
        seconds = min(seconds, int((datetime.fromisoformat(token.until) - datetime.now(UTC)).total_seconds()))
    return _with_cookie(target, request.form["token"].strip(), seconds)


def begin_oidc() -> AnyResponse:
    """Redirect to the identity provider (`CLUELINE_OIDC_ISSUER`), which redirects back to `/login/oidc/done`. The form field
    `next` is the page to show afterwards. 404 without an identity provider, 502 if it cannot be reached.
    """
    access = service().access
    access.check_same_site()
    target = login_target(request.form.get("next", "/"))
    if not access.oidc.settings.oidc_issuer:
        abort(404)
    try:
        url, login = access.oidc.begin(target)
    except RequestDenied as denied:
        return _refused(target, denied)
    return _with_cookie(url, signed_links.write(_link_key(), oidc.LOGIN_COOKIE, login), oidc.LOGIN_SECONDS, oidc.LOGIN_COOKIE)


def finish_oidc() -> AnyResponse:
    """Where the identity provider sends a browser back, with `code` and `state`. The user, and the right that their groups give
    (`CLUELINE_OIDC_RIGHTS`), are stored in a cookie, and the browser is redirected to the page that it asked for.
    """
    access = service().access
    login = signed_links.read(
        access.tokens.record().link_key, oidc.LOGIN_COOKIE, request.cookies.get(oidc.LOGIN_COOKIE, ""), oidc.Login
    )
    target = login.target if login else "/"
    try:
        user = access.oidc.finish(login, access.tokens.take_login)
    except RequestDenied as denied:
        return _refused(target, denied)
    answer = _with_cookie(target, signed_links.write(_link_key(), oidc.COOKIE, user), int(user[2] - time.time()), oidc.COOKIE)
    _delete_cookie(answer, oidc.LOGIN_COOKIE)
    return answer


def _unusable(error: TokenError) -> Response:
    log.error("a login failed: %s", error)
    return _page("/", sentence(error), 503)


def _link_key() -> str:
    tokens = service().access.tokens
    return tokens.record().link_key or tokens.new_link_key()


def _refused(target: str, denied: RequestDenied) -> Response:
    log.warning("login refused: %s (%s)", denied, denied.__cause__)
    service().access.record_refusal(denied)
    return _page(target, str(denied), denied.status)


def _with_cookie(target: str, content: str, seconds: int, name: str = COOKIE) -> AnyResponse:
    answer = redirect(target, 303)
    answer.set_cookie(
        name,
        content,
        max_age=seconds,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure,  # also true behind a trusted proxy that terminates TLS
    )
    return answer


def _delete_cookie(answer: AnyResponse, name: str) -> None:
    answer.delete_cookie(name, httponly=True, samesite="Lax", secure=request.is_secure)


def log_out() -> AnyResponse:
    """Delete the cookies. The token itself stays valid."""
    service().access.check_same_site()
    answer = redirect("/login", 303)
    for name in (COOKIE, oidc.COOKIE):
        _delete_cookie(answer, name)
    return answer


def login_target(text: str) -> str:
    r"""Return an address if it is on this server and not a login page; otherwise return ``/``.

    >>> login_target("/runs?dataset=lab"), login_target("//evil.example"), login_target(r"/\evil.example")
    ('/runs?dataset=lab', '/', '/')
    """
    own = text.startswith("/") and not text.startswith(("//", "/\\")) and text.isprintable()
    return text if own and not text.startswith(("/login", "/logout")) else "/"


def _page(target: str, message: str = "", status: int = 200) -> Response:
    try:
        reader = service().access.reader()
    except RequestDenied:
        reader = Reader()
    settings = service().access.oidc.settings
    host = urlsplit(settings.oidc_issuer).hostname
    return plain_page(
        PAGE, "Log in", "page-login", status, reader=reader, target=target, message=message, oidc=host, hours=settings.oidc_hours
    )


document("GET /login", show_login, LoginParameters, page=True)
document("POST /login", log_in, NoParameters, page=True)
document("POST /login/oidc", begin_oidc, NoParameters, page=True)
document(f"GET {oidc.CALLBACK}", finish_oidc, OidcParameters, page=True)
document("POST /logout", log_out, NoParameters, page=True)
