"""A real Chromium, and pages that must not report any error."""

import pytest

from tests.helpers.page_visits import Tabs, Visit
from tests.helpers.serving import BROWSERS, FLAGS, chromium

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
def tabs(browser, server):
    return Tabs(browser, server)


@pytest.fixture
def visit(browser, server, tabs):
    """Open pages that share nothing. Complaints of any page fail the test. ``new_context`` gives a page without a cache."""
    visits = []

    def opened(new_context=False, **options):
        visits.append(Visit(browser, server, tabs=None if new_context else tabs, **options))
        return visits[-1].page

    yield opened
    complaints = [complaint for visit in visits for complaint in visit.complaints]
    for visit in visits:
        visit.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(visit):
    return visit()
