"""The login page. It stores a token in a cookie that scripts cannot read and that other sites' pages cannot send."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from flask import Flask, Response, redirect, request
from werkzeug.wrappers import Response as AnyResponse

from dashboard.access.providers import Reader, RequestDenied
from dashboard.access.providers.cookie import COOKIE
from dashboard.registry.addresses import document
from dashboard.service import service
from dashboard.ui.plain_page import plain_page
from data.store.tokens_and_readers import DAYS, redeem
from queries.selection.parameter_kinds import Text
from queries.selection.view_parameters_base import NoParameters, Parameters

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
<form class="panel" method="post" action="/login">
{% if message %}<p class="status-message bad" role="alert" id="login-message">{{ message }}</p>{% endif %}
<p><label for="login-token">Token</label></p>
<p><input class="text" type="password" id="login-token" name="token" autocomplete="current-password" maxlength="200" required
 autofocus spellcheck="false" aria-describedby="login-note"></p>
<p class="note" id="login-note">You get a token from the operator of this server. It is stored in a cookie in this browser for
at most 30 days, or until you log out.</p>
<input type="hidden" name="next" value="{{ target }}">
<p><button class="quiet primary" type="submit">Log in</button></p>
</form>
{% endif %}
</main>
{%- endblock %}"""


class LoginParameters(Parameters, frozen=True):
    """The page to show after logging in."""

    next: Annotated[str, Text("the address on this server to show after logging in; `/` by default")] = "/"
    once: Annotated[str, Text("the code of a one-time link, which logs this browser in")] = ""


def install(server: Flask) -> None:
    """Add the addresses for logging in and out to a server."""
    server.add_url_rule("/login", "login", show_login)
    server.add_url_rule("/login", "login_sent", log_in, methods=["POST"])
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


def _with_cookie(target: str, token: str, seconds: int) -> AnyResponse:
    answer = redirect(target, 303)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=seconds,
        httponly=True,
        samesite="Lax",
        secure=request.is_secure,  # also true behind a trusted proxy that terminates TLS
    )
    return answer


def log_out() -> AnyResponse:
    """Delete the cookie. The token itself stays valid."""
    service().access.check_same_site()
    answer = redirect("/login", 303)
    answer.delete_cookie(COOKIE, httponly=True, samesite="Lax", secure=request.is_secure)
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
    return plain_page(PAGE, "Log in", "page-login", status, reader=reader, target=target, message=message)


document("GET /login", show_login, LoginParameters, page=True)
document("POST /login", log_in, NoParameters, page=True)
document("POST /logout", log_out, NoParameters, page=True)
