"""A page in a browser, as a visitor opens it, which complains about nothing."""

from urllib.parse import urlsplit

PATIENCE = 60_000  # ms that any wait may take: the machine may be busy


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
        self.context.set_default_timeout(PATIENCE)
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
