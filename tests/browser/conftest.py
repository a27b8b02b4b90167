"""A real Chromium, and pages that must not report any error."""

import re

import pytest

from tests.helpers.page_visits import Tabs, Visit
from tests.helpers.serving import BROWSERS, FLAGS, chromium, start_server

# Our scripts are compiled once per process (tests.helpers.page_visits.Tabs). Chromium would still parse them for each page, in
# another thread, which takes up to a tenth of what a page takes. It would also optimize what runs often, which pays only on pages
# that stay open for longer than a test.
JAVASCRIPT = "--js-flags=--no-script-streaming --no-opt"


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.parent.name == "browser":
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser():
    path = chromium()
    if path is None:
        pytest.skip(f"no Chromium: set CHROMIUM_PATH to the path of one, or put {', '.join(BROWSERS)} on the PATH")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=path, args=[*FLAGS, JAVASCRIPT])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def tabs(browser):
    """Return the tabs of a server."""
    known = {}
    return lambda server: known.setdefault(server.address, Tabs(browser, server))


@pytest.fixture(scope="module")
def serving(tmp_path_factory):
    """Serve stores of a module's own, until its last test is over."""
    started = []

    def serve(store, **settings):
        started.append(start_server(store, tmp_path_factory.mktemp("served") / "log", workers=1, **settings))
        return started[-1]

    yield serve
    for server in started:
        server.stop()


@pytest.fixture
def visit(request, browser, tabs):
    """Open pages that share nothing, of the shared server or ``on`` another. Their complaints fail the test.

    ``new_context`` gives a page without a cache, by default one of another server. ``despite`` is in the complaints that do not
    count, a pattern.
    """
    visits = []

    def opened(on=None, new_context=None, despite=None, **options):
        server, fresh = on or request.getfixturevalue("server"), bool(on) if new_context is None else new_context
        visits.append((Visit(browser, server, tabs=None if fresh else tabs(server), **options), despite))
        return visits[-1][0].page

    yield opened
    complaints = [
        text for visit, despite in visits for text in visit.complaints if despite is None or not re.search(despite, text)
    ]
    for visit, _ in visits:
        visit.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(visit):
    return visit()
