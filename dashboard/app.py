"""The app factory: one Flask server with the Dash pages and the JSON addresses."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from dash import Dash
from flask import Flask, Response, request
from gunicorn.http.errors import ParseException
from werkzeug.exceptions import BadRequest as BadHTTP
from werkzeug.exceptions import HTTPException

from clueline.dashboard import shell, views
from clueline.dashboard.access import dash_requests, limits
from clueline.dashboard.access.providers import RequestDenied
from clueline.dashboard.http import logs, prometheus
from clueline.dashboard.http.bodies import error_response
from clueline.dashboard.registry.addresses import api, denied
from clueline.dashboard.registry.pages import check_page
from clueline.dashboard.service import Service
from clueline.dashboard.settings import Settings
from clueline.dashboard.ui.plain_page import HEAD, plain_page
from clueline.dashboard.views import login
from clueline.data.store import StoreError
from clueline.queries.selection.parameter_kinds import BadRequest

ASSETS = Path(__file__).resolve().parents[1] / "assets"
INDEX = f"""<!DOCTYPE html>
<html lang="en">
<head>
{{%metas%}}
<title>{{%title%}}</title>
{HEAD}
{{%css%}}
</head>
<body>
{{%app_entry%}}
<footer>{{%config%}}{{%scripts%}}{{%renderer%}}</footer>
</body>
</html>"""


def create_app(settings: Settings) -> Flask:
    """Create a server for the store named in the settings. It opens the store at the first request, after any fork."""
    server = Flask("clueline", static_folder=None)
    logs.install(server)
    prometheus.count_requests(server)
    service = Service(server, settings)
    if settings.prometheus == "on":
        prometheus.install(server, service.data_version)
    views.register_all(server)
    server.register_blueprint(api)
    login.install(server)
    app = Dash(
        "dashboard",
        server=server,  # type: ignore[arg-type]
        assets_folder=str(ASSETS),
        assets_ignore=r"(before_first_paint|report|play(_\w+)?)\.js",  # loaded by the index, files and /play instead
        index_string=INDEX,
        title="Clueline",
        update_title="",
        suppress_callback_exceptions=True,
        compress=True,
        enable_mcp=False,
    )
    shell.install(app)
    server.after_request(_status_of_page)
    server.register_error_handler(HTTPException, _http_error)
    server.register_error_handler(ParseException, lambda error: _http_error(BadHTTP("The body is not valid HTTP.")))
    limits.install(server, app, settings, service.access, _refused)
    dash_requests.install(server)
    # Dash sets itself up in its first request. Others that arrive at the same time would find it half ready.
    server.test_client().get("/healthz")
    return server


UNKNOWN_HOST = """{% block main %}<main><h1>This server does not know its name</h1><p>{{ message }}</p>
<p>You can also open it by the address that it printed when it was started.</p></main>{% endblock %}"""


def _refused(refusal: RequestDenied) -> Response:
    """Return a refusal: a page for a browser that calls the server by an unknown name, else the common envelope."""
    programs = request.path.startswith(("/api/", dash_requests.CALLBACKS))
    if (
        refusal.code == "unknown_host"
        and not programs
        and request.accept_mimetypes.best_match(["application/json", "text/html"]) == "text/html"
    ):
        return plain_page(UNKNOWN_HOST, "Unknown name", "refused", refusal.status, message=str(refusal))
    return denied(refusal)


def _status_of_page(response: Response) -> Response:
    """Give a page with a wrong address the matching error status. Its text is drawn like that of any page."""
    page = request.url_rule is not None and request.url_rule.rule in limits.PAGES
    if page and request.method == "GET" and response.status_code == 200 and response.mimetype == "text/html":
        try:
            check_page(quote(request.path), list(request.args.items(multi=True)))
        except BadRequest as error:
            response.status_code = error.status
            if error.retry_after is not None:
                response.headers["Retry-After"] = str(error.retry_after)
        except StoreError:
            response.status_code = 503
    return response


def _http_error(error: HTTPException) -> Response | HTTPException:
    """Return Flask's own errors, in the common envelope if they concern a JSON address."""
    if not request.path.startswith("/api/"):
        return error
    return error_response((error.name or "error").lower().replace(" ", "_"), error.description or error.name, error.code or 500)
