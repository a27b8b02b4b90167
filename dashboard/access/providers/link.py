"""A signed link, which opens one address: that of the request, or that of the page which the request draws."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import parse_qsl, unquote

from flask import request

from clueline.dashboard.access.dash_requests import CALLBACKS, drawn_address
from clueline.dashboard.access.providers import Reader
from clueline.dashboard.access.signed_links import KEY, open_link
from clueline.dashboard.http.bodies import InvalidJson
from clueline.data.store.tokens_and_readers import AccessRecord, Right


class LinkSignature:
    """See ``Provider``. A link names nobody."""

    gives: Right | None = None
    sent_unasked = False

    def reader(self, record: Callable[[], AccessRecord]) -> Reader | None:
        """Return a reader of what the link opens; None without a valid signature."""
        path, pairs = request.path, list(request.args.items(multi=True))
        if path == CALLBACKS:
            try:
                drawn = drawn_address()
            except InvalidJson:
                return None
            path, pairs = unquote(drawn.path), parse_qsl(drawn.query, keep_blank_values=True)
        signature = dict(pairs).get(KEY)
        link = None if signature is None else open_link(record().link_key, signature, path, pairs)
        return Reader(link=link) if link else None
