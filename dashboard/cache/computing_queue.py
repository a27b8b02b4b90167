"""The queue of one worker for slow computations, which keeps some of its threads free for fast requests.

A thread needs a place before it computes a result or waits for one. If no place is free, the request is refused at once. Only a
few threads with a place compute at the same time, and fewer still for one client, so that one client's requests do not hold up
everybody else's.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ipaddress import IPv6Address, ip_address, ip_network
from threading import Condition
from typing import NamedTuple

from queries.query_time_limit import Abandoned, TimeLimitExceeded

PLACES = 20  # threads that may compute or wait, of a worker's 32
AT_ONCE = 4  # computations at the same time
AT_ONCE_FOR_CLIENT = 3  # computations at the same time for one client
PLACES_FOR_CLIENT = 8  # different results that one client may compute or wait for
RETRY_AFTER = 3  # seconds after which a refused client may try again
LOOK_INTERVAL = 0.25  # seconds between checks whether the client is still there
IPV6_NETWORK = 64  # leading bits of an IPv6 address that identify a client; it can choose the others


class QueueFull(Exception):
    """Every place is taken."""


class ClientLimitReached(Exception):
    """The client already waits for as many results as it may."""


class Client(NamedTuple):
    """Who asks for a result.

    Attributes:
        address: identifies the client when computations are counted; blank for this program itself, which has no limit.
        left: returns whether the client has stopped waiting; called in any thread.
    """

    address: str = ""
    left: Callable[[], bool] = lambda: False


class ComputingQueue:
    """Places and turns to compute in one process."""

    def __init__(self, places: int = PLACES, at_once: int = AT_ONCE) -> None:
        self._places, self._at_once = places, at_once
        self._taken = 0
        self._keys: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by client, how many requests wait for each key
        self._computing: Counter[str] = Counter()  # computations by client
        self._changed = Condition()

    @contextmanager
    def place(self, client: Client, key: str) -> Iterator[None]:
        """Hold a place while a result is computed or waited for.

        Args:
            client: who asks for the result.
            key: identifies the result. Repeated requests of one client for the same key count once.

        Raises:
            QueueFull: no place is free.
            ClientLimitReached: the client already waits for too many results.
        """
        with self._changed:
            keys = self._keys[client.address]
            if client.address and key not in keys and len(keys) >= PLACES_FOR_CLIENT:
                raise ClientLimitReached
            if client.address and self._taken >= self._places:
                raise QueueFull
            self._taken += 1
            keys[key] += 1
        try:
            yield
        finally:
            with self._changed:
                self._taken -= 1
                _subtract(keys, key)
                if not keys:
                    self._keys.pop(client.address, None)

    @contextmanager
    def turn(self, client: Client, deadline: float, abandoned: Callable[[], bool]) -> Iterator[None]:
        """Wait for a turn to compute, and hold it.

        Args:
            client: who asks for the result.
            deadline: time of ``time.monotonic`` until which to wait.
            abandoned: returns whether nobody waits for the result any more.

        Raises:
            TimeLimitExceeded: no turn came before the deadline.
            Abandoned: nobody waits for the result any more.
        """
        with self._changed:
            while not self._changed.wait_for(lambda: self._may_compute(client.address), LOOK_INTERVAL):
                if abandoned():
                    raise Abandoned
                if time.monotonic() > deadline:
                    raise TimeLimitExceeded
            self._computing[client.address] += 1
        try:
            yield
        finally:
            with self._changed:
                _subtract(self._computing, client.address)
                self._changed.notify_all()

    def _may_compute(self, address: str) -> bool:
        of_client = self._computing[address] if address else 0
        return self._computing.total() < self._at_once and of_client < AT_ONCE_FOR_CLIENT


def client_address(peer: str | None) -> str:
    """Return the part of an IP address that a client cannot choose at will, or ``unknown`` if there is no address.

    >>> client_address("192.0.2.7")
    '192.0.2.7'
    >>> client_address("2001:db8:1:2:3:4:5:6")
    '2001:db8:1:2::/64'
    """
    try:
        address = ip_address(peer or "")
    except ValueError:
        return peer or "unknown"
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped:
            return str(address.ipv4_mapped)
        return str(ip_network((address, IPV6_NETWORK), strict=False))
    return str(address)


def _subtract(counter: Counter[str], key: str) -> None:
    counter[key] -= 1
    if counter[key] <= 0:
        del counter[key]
