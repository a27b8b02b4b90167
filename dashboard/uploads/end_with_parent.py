"""Ends a process when its parent is gone, even if the parent was killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

SET_SIGNAL_AT_END_OF_PARENT = 1  # PR_SET_PDEATHSIG of Linux's prctl(2)
LOOK_INTERVAL = 1.0  # seconds between checks of the parent


def end_with(parent: int) -> None:
    """Let the kernel kill this process as soon as its parent is gone. A worker that outlived its server would hold the port.

    The parent must have started this process from its main thread, because the kernel watches the thread that started it. Does
    nothing on systems other than Linux.
    """
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(SET_SIGNAL_AT_END_OF_PARENT, int(signal.SIGKILL), 0, 0, 0) != 0:
        return  # a sandbox does not allow it
    if os.getppid() != parent:  # it was already gone
        os._exit(1)


def watch_parent() -> None:
    """End this process within seconds of its parent's end, whichever of the parent's threads started it."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(LOOK_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, name="parent", daemon=True).start()
