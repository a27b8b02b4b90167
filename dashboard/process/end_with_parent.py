"""Processes that end when the one that started them is gone, even if it was killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

SET_SIGNAL_AT_END_OF_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)
LOOK_INTERVAL = 1.0  # seconds between two looks at the parent


def end_with(parent: int) -> None:
    """Let the kernel kill this process as soon as its parent is gone: a worker that outlives its server holds the port.

    The parent must have started this process in its main thread: the kernel means that thread. Elsewhere than on Linux, nothing
    happens.

    Args:
        parent: process id.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_SIGNAL_AT_END_OF_PARENT, int(signal.SIGKILL), 0, 0, 0) != 0:
        return  # a sandbox does not allow it
    if os.getppid() != parent:  # it was gone before
        os._exit(1)


def watch_parent() -> None:
    """End this process within seconds after its parent is gone, whichever thread started it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
