"""Pages that need no Dash, because they must be there without a store or quickly: login, documents, play."""

from __future__ import annotations

from flask import Response, current_app, render_template_string

# before_first_paint.js sets the theme before anything is painted. It is a file, so that pages need no inline script of ours.
HEAD = """<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="/assets/icon.svg" type="image/svg+xml">
<script src="/assets/before_first_paint.js"></script>"""
FRAME = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>{{{{ title }}}} · Clueline</title>
{HEAD}
{{% block scripts %}}{{% endblock %}}<link rel="stylesheet" href="/assets/clueline.css">
</head>
<body>
<div class="page {{{{ kind }}}}">
<header class="top">{{% block top -%}}
<a href="/" class="brand"><span class="mark" aria-hidden="true">◢</span>Clueline</a>{{%- endblock %}}</header>
{{% block main %}}{{% endblock %}}
</div>
</body>
</html>"""


def plain_page(blocks: str, title: str, kind: str, status: int = 200, **values: object) -> Response:
    """Return a page. ``blocks`` is a Jinja template that fills ``main`` of the frame, and ``top`` or ``scripts`` if it needs to.

    ``kind`` is the class of the page in the style sheet. ``values`` are for the template, and are escaped.
    """
    frame = current_app.jinja_env.from_string(FRAME)
    text = render_template_string(f"{{% extends frame %}}{blocks}", frame=frame, title=title, kind=kind, **values)
    return Response(text, status, mimetype="text/html")
