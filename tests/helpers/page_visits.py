"""A page in a browser, opened as by a visitor, which must report no errors."""

from collections import defaultdict
from contextlib import suppress
from urllib.parse import urlsplit

from playwright.sync_api import Error

from tests.helpers.page_rest import COUNT

PATIENCE = 120_000  # ms that any wait can take, because the machine may be busy


class Tabs:
    """Tabs that know nothing of earlier ones, for less than half the work of a new browser context.

    A tab that a page opens runs in the process of that page, which has already compiled our scripts. So each context keeps one
    page, from which its tabs are opened. When a tab is closed, what it left in the browser is removed, except the HTTP cache. So
    a test of what is requested needs a new context.
    """

    def __init__(self, browser, server):
        self.browser, self.server, self.idle = browser, server, defaultdict(list)

    def open(self, **options):
        """Open a tab, and return it with a function that closes it. No two open tabs share a context."""
        homes = self.idle[repr(sorted(options.items()))]
        home = homes.pop() if homes else self._home(options)
        with home.context.expect_page() as opened:
            home.evaluate("() => { window.open('about:blank'); }")

        def close():
            for page in home.context.pages:
                if page is not home:
                    page.close()
            home.context.clear_cookies()
            home.evaluate("() => localStorage.clear()")
            homes.append(home)

        return opened.value, close

    def _home(self, options):
        home = self.browser.new_context(**options).new_page()
        home.goto(f"{self.server.address}/healthz")
        return home


class Visit:
    """A page as a new visitor sees it, and the errors on it. Without ``tabs`` it is in a new browser context."""

    def __init__(self, browser, server, width=1280, height=900, theme="light", allow=(), tabs=None, **options):
        options |= {
            "base_url": server.address, "viewport": {"width": width, "height": height}, "color_scheme": theme,
            "reduced_motion": "reduce",
        }  # fmt: skip
        if tabs:
            self.page, self.close = tabs.open(**options)
        else:
            context = browser.new_context(**options)
            self.page = context.new_page()

            def close():
                # Chromium never closes a context whose page is about to reload. Another address ends that, or is ended by it.
                with suppress(Error):
                    self.page.goto("about:blank")
                context.close()

            self.close = close
        self.page.context.set_default_timeout(PATIENCE)
        self.page.add_init_script(COUNT)
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
