"""Imports of one client never keep those of another waiting, however slow they are."""

import os
import re
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import httpx
import pytest

from clueline.data.store.register import FolderRegister
from clueline.data.store.tokens_and_readers import Tokens
from tests.helpers.serving import start_server

ROW = b"question_id,guess,confidence\nr1_q1,x,0.5\n"
SLOW = 4  # uploads that one client may have at once, of a worker


class Gate:
    """Holds the processes that read a file of this name, from when they say that they began until it is opened."""

    def __init__(self, log, name):
        self._began = re.compile(rf"\[(\d+)\] \[INFO\] import of '{name}' began")
        self._log, self._open = log, threading.Event()
        self.held = []
        self._thread = threading.Thread(target=self._hold)
        self._thread.start()

    def _hold(self):
        while not self._open.wait(0.005):
            for pid in map(int, self._began.findall(self._log.read_text(errors="replace"))):
                if pid not in self.held:
                    os.kill(pid, signal.SIGSTOP)
                    self.held.append(pid)

    def open(self):
        self._open.set()
        self._thread.join()
        for pid in self.held:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_dry_run_is_answered_beside_four_slow_ones(copied, tmp_path, workers):
    served = start_server(copied, tmp_path / "log", workers=workers, log_level="info")
    gate = Gate(served.log, "slow.csv")
    tokens = {name: {"Authorization": f"Bearer {Tokens(FolderRegister(copied)).create(name)}"} for name in ("slow", "quick")}

    def send(who):
        address = f"{served.address}/api/v1/runs?dataset=pyramid&model=m&dry_run=1&filename={who}.csv"
        return httpx.post(address, content=ROW, headers=tokens[who], timeout=600)

    try:
        with ThreadPoolExecutor(SLOW + 1) as pool:
            try:
                slow = [pool.submit(send, "slow") for _ in range(SLOW)]
                while not gate.held:
                    assert not any(upload.done() for upload in slow), [upload.result().text for upload in slow if upload.done()]
                quick = pool.submit(send, "quick")
                assert quick.result(300).status_code in (200, 422)
                assert not any(upload.done() for upload in slow)
            finally:
                gate.open()
            assert {upload.result(300).status_code for upload in slow} == {quick.result().status_code}
        assert len(gate.held) <= workers
    finally:
        served.stop()
