"""Turns that clients wait for."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from clueline.dashboard.access.request_rate import Turns
from clueline.queries.query_time_limit import Abandoned
from tests.helpers.waiting import wait_until


def never():
    return False


def test_slow_turns_of_one_client_leave_one_for_others():
    turns = Turns(most=2, most_of_client=1)
    with turns.hold("ann", never), turns.hold("ben", never), pytest.raises(Abandoned), turns.hold("cem", lambda: True):
        pass
    with turns.hold("ann", never), pytest.raises(Abandoned), turns.hold("ann", lambda: True):
        pass
    assert turns.waiting == []


def test_clients_alternate():
    """Who has waited longest is next, but one whose turn has just ended goes behind the others."""
    turns, began = Turns(most=2, most_of_client=1), []
    clients = ["ann", "ann", "ann", "ben", "ben", "cem", "ann", "dan"]
    ends = [threading.Event() for _ in clients]

    def take(number):
        with turns.hold(clients[number], never):
            began.append(number)
            assert ends[number].wait(300)

    with ThreadPoolExecutor(len(clients)) as pool, ExitStack() as at_end:
        for end in ends:
            at_end.callback(end.set)
        for number in range(len(clients)):
            pool.submit(take, number)
            wait_until(lambda number=number: len(began) + len(turns.waiting) == number + 1)
        for count in range(2, len(clients)):
            wait_until(lambda count=count: len(began) == count)
            ends[began[count - 2]].set()
    #                ann, ben; ann's ends: cem; ben's ends: dan, who was before ann and ben in the row; then these alternate
    assert [clients[number] for number in began] == ["ann", "ben", "cem", "dan", "ann", "ben", "ann", "ann"]
