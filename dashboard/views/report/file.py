"""Some views as one HTML file that opens without a server and requests nothing."""

from __future__ import annotations

import base64
import gzip
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import plotly
from dash import html
from dash.development.base_component import Component
from markupsafe import Markup

from dashboard.service import service
from dashboard.settings import VERSION
from dashboard.ui.drawing import as_json
from dashboard.ui.figure import PlotlyJson
from dashboard.ui.html import aria, markup
from dashboard.ui.section import heading
from dashboard.views.report.static import DEFINITION, Links, StaticPage
from dashboard.views.report.view import definitions, read_view, shown_metrics

ASSETS = Path(__file__).parents[3] / "assets"
PLOTLY = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"  # the file that pages load, too
# report.js comes first, because it stands in for what the others call of Dash and of the address.
SCRIPTS = ("report.js", "elements.js", "accessible.js", "figure_colours_and_size.js", "figure_files.js")
FONT = re.compile(r'@font-face \{ font-family: "?([^;"]+)"?; src: url\("(fonts/[^"]+)"\)')
POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; font-src data:"
THEME = html.Button("◐", id="theme-switch", className="quiet", title="Light or dark theme", **aria(label="Switch theme"))
GAP = html.Span(className="gap")
FRAME = Markup("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
{head}
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="generator" content="Clueline {version}">
<title>{title}</title>
{loaded}
</head>
<body>
<div class="page in-file">
{top}
<main id="main"><div id="content">{content}</div></main>
</div>
<script type="application/json" id="figures">{figures}</script>
{scripts}
</body>
</html>
""")


def frame(
    title: str, top: str, content: str, figures: Mapping[str, PlotlyJson], *, head: str = "", loaded: str = "", scripts: str = ""
) -> bytes:
    """Return a page of a file or of a site. Everything but ``title`` is HTML; ``loaded`` is loaded before the page is painted."""
    data = as_json(figures).decode().replace("<", "\\u003c")  # so that no text in it can end the script
    parts = {"head": head, "loaded": loaded, "top": top, "content": content, "figures": data, "scripts": scripts}
    return FRAME.format(title=title, version=VERSION, **{name: Markup(part) for name, part in parts.items()}).encode()


def read_asset(name: str) -> str:
    """Return a file of our scripts and styles."""
    return (ASSETS / name).read_text(encoding="utf-8")


def report_file(addresses: Sequence[str], title: str = "", url: str = "") -> bytes:
    """Return views as one HTML file, in the order of their addresses.

    ``url`` is the address of the server, to which links lead that no view of the file answers; without it they become text. What
    may not be read outside of a request, or by the reader of this one, is not in it. Raises ``BadRequest`` as ``read_view``.
    """
    views = list({view.key: view for view in map(read_view, addresses)}.values())
    metrics = shown_metrics(views)
    names = [f"view-{number}" for number in range(1, len(views) + 1)]
    targets = {view.key: f"#{name}" for view, name in zip(views, names, strict=True)}
    links = Links(targets, url, defined=metrics)
    figures: dict[str, PlotlyJson] = {}
    sections: list[Component | None] = []
    for view, name in zip(views, names, strict=True):
        inside = Markup(view.write(StaticPage(links, f"{name}-", figures), methods=True))  # its texts are escaped
        live = {"data-live": url + view.link} if url else {}
        sections.append(html.Section(inside, id=name, className=f"view page-{view.page.name}", **live))  # type: ignore[arg-type]
    end = Markup(StaticPage(links, DEFINITION).write([definitions(metrics)]))
    title = title or "Clueline: " + ", ".join(dict.fromkeys(view.request.facets.title for view in views))
    listed = [html.Li(html.A(view.title, href=f"#{name}")) for view, name in zip(views, names, strict=True)]
    contents = html.Nav(html.Ol(listed), className="views", **aria(label="Views in this file"))
    about = f"Saved on {datetime.now(UTC):%Y-%m-%d} from data version {service().snapshot().version} by Clueline {VERSION}"
    top = html.Header([html.B([html.Span("◢", className="mark"), "Clueline"], className="brand"), GAP, THEME], className="top")
    content = "".join(map(markup, [heading(title, f"{about}{f' at {url}' if url else ''}.", contents), *sections, end]))
    return frame(
        title,
        markup(top),
        content,
        figures,
        head=f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        loaded=f"<style>{_styles('<math' in content)}</style>\n<script>{read_asset('before_first_paint.js')}</script>",
        scripts=f'<script type="text/plain" id="plotly">{_plotly() if figures else ""}</script>\n'
        + "\n".join(f"<script>{read_asset(name)}</script>" for name in SCRIPTS),
    )


@cache
def _styles(formulas: bool) -> str:
    """Return the style sheet with its fonts inside; the font of formulas, which is large, only if there are any."""

    def inside(match: re.Match[str]) -> str:
        wanted = formulas or "Math" not in match[1]
        data = base64.b64encode((ASSETS / match[2]).read_bytes()).decode() if wanted else ""
        return match[0].replace(match[2], f"data:font/woff2;base64,{data}")

    return FONT.sub(inside, read_asset("clueline.css"))


@cache
def _plotly() -> str:
    """Return Plotly, compressed, because it would otherwise be most of the file; ``report.js`` unpacks it."""
    return base64.b64encode(gzip.compress(PLOTLY.read_bytes(), mtime=0)).decode()
