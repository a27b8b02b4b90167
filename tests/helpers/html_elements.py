"""The elements of a page."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """The elements of a page with their attributes, in order."""

    def __init__(self, text):
        super().__init__()
        self.tags = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def values(self, *names):
        return [value for _, attributes in self.tags for name, value in attributes.items() if name in names]
