"""A real Chromium, and pages that complain about nothing."""

from urllib.parse import urlsplit

import pytest

from tests.helpers.serving import BROWSERS, FLAGS, chromium


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
        launched = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield launched
        launched.close()


class Visit:
    """A page in a browser context of its own, and what went wrong on it."""

    def __init__(self, browser, server, width=1280, height=900, theme="light", allow=(), **options):
        self.context = browser.new_context(
            base_url=server.address,
            viewport={"width": width, "height": height},
            color_scheme=theme,
            reduced_motion="reduce",
            **options,
        )
        self.context.set_default_timeout(60_000)
        self.page = self.context.new_page()
        self.complaints = []
        self.allow = [f"status of {status}" for status in allow]
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on("request", self._request)
        self.page.on("dialog", self._dialog)

    def _console(self, message):
        own = urlsplit(self.page.url).path == urlsplit(message.location.get("url", "")).path
        expected = own and any(status in message.text for status in self.allow)
        if message.type == "error" and not expected:
            self.complaints.append(f"console: {message.text} ({message.location.get('url')})")

    def _request(self, request):
        host = urlsplit(request.url).hostname
        if host not in (None, "127.0.0.1"):
            self.complaints.append(f"request to {host}: {request.url}")

    def _dialog(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()


@pytest.fixture
def visit(browser, server):
    """Opens pages, each in a browser context of its own; complaints of any of them fail the test."""
    visits = []

    def opened(**options):
        visits.append(Visit(browser, server, **options))
        return visits[-1].page

    yield opened
    complaints = [complaint for one in visits for complaint in one.complaints]
    for one in visits:
        one.context.close()
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def page(visit):
    return visit()
