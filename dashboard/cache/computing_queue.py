"""The queue of one worker for what takes long to compute, so that some of its threads are always free for what does not.

A thread that answers a request needs a place before it computes or waits for a result; where none is free, the request is refused
at once. Few of those with a place compute at the same time, and of these only some for one client, so that nobody's requests hold
up everybody else's.
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

PLACES = 20  # threads that may compute or wait, of the 32 of a worker
AT_ONCE = 4  # computations at the same time
AT_ONCE_FOR_CLIENT = 3  # of these, for one client
PLACES_FOR_CLIENT = 8  # distinct computations that one client may have begun or waits for
RETRY_AFTER = 3  # seconds after which a refused client may try again
LOOK_INTERVAL = 0.25  # seconds between two looks at whether the client is still there
IPV6_NETWORK = 64  # bits of an IPv6 address that name a client; it can choose the others


class QueueFull(Exception):
    """Every place is taken."""


class ClientLimitReached(Exception):
    """The client waits for as many computations as one may."""


class Client(NamedTuple):
    """Who asks for a result.

    Attributes:
        address: by which computations of one client are counted; blank for this program itself, which has no limit.
        left: whether it waits no longer; called in any thread.
    """

    address: str = ""
    left: Callable[[], bool] = lambda: False


class ComputingQueue:
    """Places and turns of one process."""

    def __init__(self, places: int = PLACES, at_once: int = AT_ONCE) -> None:
        self._places, self._at_once = places, at_once
        self._taken = 0
        self._keys: defaultdict[str, Counter[str]] = defaultdict(Counter)  # by client, how often it waits for each key
        self._computing: Counter[str] = Counter()  # by client
        self._changed = Condition()

    @contextmanager
    def place(self, client: Client, key: str) -> Iterator[None]:
        """Hold a place while a result is computed or waited for.

        Args:
            client: who asks.
            key: of the result. What a client asks for several times counts once for it.

        Raises:
            QueueFull: no place is free.
            ClientLimitReached: the client has too many.
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
            client: who asks.
            deadline: time of ``time.monotonic`` until which to wait.
            abandoned: whether nobody waits for the result any more.

        Raises:
            TimeLimitExceeded: no turn came until the deadline.
            Abandoned: nobody waits.
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
    """The part of an IP address that a client cannot choose at will.

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
