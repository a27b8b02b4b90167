"""A page and its contents as the server draws them, without a browser."""

import html
import json
from urllib.parse import parse_qsl

from clueline.dashboard.registry.pages import PAGES, read_page
from clueline.dashboard.shell import draw
from clueline.dashboard.ui.drawing import divide_page


def drawn(app, page, query="", *item):
    """Return the components of a page; ``item`` is what its path names, such as dataset and question."""
    with app.test_request_context(PAGES[page].path):
        looking = read_page(PAGES[page], parse_qsl(query), *item)
        PAGES[page].check(looking)
        return [part for part in PAGES[page].draw(looking) if part is not None]


def divided(app, page, query="", *item):
    """Return a page as the parts in which it is sent."""
    return divide_page(drawn(app, page, query, *item))


def sent(app, path, query="", page=True, **more):
    """Return what the server sends of a page: fragments, figures, states and, if ``page``, what is around them."""
    with app.test_request_context("/"):
        return json.loads(draw({"path": path, "query": query, "page": page, **more}))


def markup(app, path, query="", page=False):
    """Return the HTML of a page."""
    return html.unescape(" ".join(sent(app, path, query, page)["fragments"].values()))


def everything(app, path, query=""):
    """Return all that the server sends of a page as one text: HTML, figures and what is around them."""
    return html.unescape(json.dumps(sent(app, path, query), ensure_ascii=False))


def plain(component):
    """Return a component and its contents as Dash would send them."""
    return json.loads(json.dumps(component, default=lambda part: part.to_plotly_json()))


def as_text(component):
    """Return a component and its contents as the text of JSON."""
    return json.dumps(plain(component), ensure_ascii=False)


def walk(part):
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for element in part:
            yield from walk(element)


def words(content):
    """Return the texts of components, those that stand alone and those among others."""
    insides = [part["props"].get("children") for part in walk(plain(content)) if "props" in part]
    texts = [inside if isinstance(inside, list) else [inside] for inside in insides]
    return " ".join(text for inside in texts for text in inside if isinstance(text, str))


def attributes(content, name):
    return [part["props"][name] for part in walk(plain(content)) if name in part.get("props", {})]


def hrefs(content):
    return set(attributes(content, "href"))
