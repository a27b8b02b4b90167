"""A page and its contents as the server draws them, without a browser."""

import json
from urllib.parse import parse_qsl

from dashboard.registry.pages import PAGES, read_page


def drawn(app, view, query=""):
    with app.test_request_context(PAGES[view].path):
        looking = read_page(PAGES[view], parse_qsl(query))
        PAGES[view].check(looking)
        return [part for part in PAGES[view].draw(looking) if part is not None]


def plain(component):
    """Return a component and its contents as Dash would send them."""
    return json.loads(json.dumps(component, default=lambda part: part.to_plotly_json()))


def walk(part):
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for element in part:
            yield from walk(element)


def words(content):
    return " ".join(
        part["props"]["children"]
        for part in walk(plain(content))
        if "props" in part and isinstance(part["props"].get("children"), str)
    )


def hrefs(content):
    return {part["props"]["href"] for part in walk(plain(content)) if "href" in part.get("props", {})}
