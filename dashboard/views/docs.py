"""The Markdown files of the checkout as pages that need neither Dash nor the store."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from flask import Response, send_from_directory
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup
from werkzeug.exceptions import NotFound

from clueline.dashboard.ui.plain_page import plain_page

ROOT = Path(__file__).resolve().parents[2]
IMAGES = "docs/images"
FIRST = (  # these come first in the list
    "README", "docs/installing", "docs/pages", "docs/importing", "docs/client", "docs/api", "docs/metrics", "docs/formats",
    "docs/settings",
)  # fmt: skip
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)  # these mark the ends of generated tables
PAGE = """{% block top %}<a href="#main" class="skip">Skip to content</a>
{{ super() }}{% endblock %}{% block main -%}
<main id="main" class="documents">
<nav aria-label="Documents"><ul>
{% for document in documents %}<li><a href="/docs/{{ document.name }}"
{% if document.name == name %} aria-current="page"{% endif %}>{{ document.title }}</a></li>
{% endfor %}</ul></nav>
<article>{{ content }}</article>
</main>
{%- endblock %}"""


class Document(NamedTuple):
    """A Markdown file: its path in the checkout without the extension, and its first heading."""

    name: str
    title: str


def show_document(name: str = FIRST[0]) -> Response:
    """Return a document as a page, or an image of a document."""
    if name.startswith(f"{IMAGES}/"):
        # Before Python 3.13, the type of WebP is known only if the system has a list of types.
        mimetype = "image/webp" if name.endswith(".webp") else None
        return send_from_directory(ROOT / IMAGES, name.removeprefix(f"{IMAGES}/"), mimetype=mimetype)
    known = {document.name: document for document in documents()}
    if name not in known:
        raise NotFound(f"There is no document {name[:100]!r}.")
    content = Markup(as_html(name))  # safe, because markdown-it lets no HTML of a document through
    return plain_page(PAGE, known[name].title, "page-docs", documents=documents(), name=name, content=content)


@cache
def documents() -> Sequence[Document]:
    """Return the documents of this installation, in the order of the list."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]
    present = [Document(path.relative_to(ROOT).with_suffix("").as_posix(), _title(path)) for path in paths]
    order = {name: place for place, name in enumerate(FIRST)}
    return sorted(present, key=lambda document: (order.get(document.name, len(order)), document.name.lower()))


def _title(path: Path) -> str:
    heading = re.search(r"^# (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return heading[1] if heading else path.stem


@cache
def as_html(name: str) -> str:
    """Return a document as HTML. HTML in the document is shown as text, and links that would run a script are dropped."""
    text = COMMENT.sub("", (ROOT / f"{name}.md").read_text(encoding="utf-8"))
    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    tokens = parser.parse(text)
    anchors: dict[str, int] = {}
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            token.attrSet("id", anchor(tokens[place + 1].content, anchors))
        if token.type == "inline":
            _point_to_documents(token.children or [], posixpath.dirname(name))
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered.replace("<table>", '<div class="scroll" tabindex="0"><table>').replace("</table>", "</table></div>")


def anchor(heading: str, taken: dict[str, int]) -> str:
    """Return the id of a heading in Markdown, formed as on GitHub.

    ``taken`` counts the uses of each id by earlier headings; the new one is added.

    >>> anchor("Damaged files", {}), anchor("`/docs`, and so on", {})
    ('damaged-files', 'docs-and-so-on')
    """
    text = re.sub(r"[^\w\- ]", "", re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading).lower()).replace(" ", "-")
    number = taken.get(text, 0)
    taken[text] = number + 1
    return f"{text}-{number}" if number else text


def _point_to_documents(tokens: Sequence[Token], folder: str) -> None:
    """Make links and images of a paragraph point to ``/docs``. A link to a file that is not a document becomes plain text."""
    names = {document.name for document in documents()}
    for place, token in enumerate(tokens):
        key = {"link_open": "href", "image": "src"}.get(token.type)
        if key is None:
            continue
        parts = urlsplit(str(token.attrs.get(key, "")))
        if parts.scheme or parts.netloc or not parts.path:
            continue
        path = posixpath.normpath(posixpath.join(folder, unquote(parts.path)))
        target = path.removesuffix(".md")
        if (target in names and path.endswith(".md")) or path.startswith(f"{IMAGES}/"):
            token.attrSet(key, f"/docs/{target}{f'#{parts.fragment}' if parts.fragment else ''}")
        elif token.type == "link_open":
            end = next(other for other in tokens[place:] if other.type == "link_close")
            for edge in (token, end):
                edge.tag = "span"
            token.attrs = {}


ROUTES = {"/docs": show_document, "/docs/<path:name>": show_document}
