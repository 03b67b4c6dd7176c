# SPDX-License-Identifier: Apache-2.0
"""Waking a thread that waits: for a socket, or for a pause to pass."""
from __future__ import annotations

import os
import queue
import select
import socket
import time
from typing import Optional


class Wake:
    """Can be read from once it has rung, until `hush`. It is closed with the last reference, for any thread may ring late."""

    def __init__(self) -> None:
        self._hears, self._rings = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def __del__(self) -> None:
        for one in (self._hears, self._rings):
            os.close(one)

    def fileno(self) -> int:
        return self._hears

    def ring(self) -> None:
        try:
            os.write(self._rings, b"!")
        except BlockingIOError:
            pass  # it has rung often enough

    def hush(self) -> None:
        try:
            while os.read(self._hears, 4096):
                pass
        except BlockingIOError:
            pass


class Bell:
    """Wakes one thread, once for each ring. May be used by a signal handler; a threading.Event may not: the handler may have interrupted who waits for that
    and has its lock, which would never be had."""

    def __init__(self) -> None:
        self._rung: "queue.SimpleQueue[None]" = queue.SimpleQueue()

    def ring(self) -> None:
        self._rung.put(None)

    def wait(self, seconds: Optional[float] = None) -> bool:
        """Whether it has rung by then."""
        try:
            self._rung.get(timeout=None if seconds is None else max(0.0, seconds))
        except queue.Empty:
            return False
        return True

    def wait_until(self, moment: float) -> bool:
        """Until it rings or the moment has come; whether there is time left."""
        left = moment - time.monotonic()
        if left > 0:
            self.wait(left)
        return left > 0


class Latch:
    """What is set once, also by a signal handler."""

    def __init__(self, is_set: bool = False) -> None:
        self.is_set = is_set
        self._bell = Bell()

    def set(self) -> None:
        self.is_set = True
        self._bell.ring()

    def wait(self, seconds: float) -> None:
        """Until then, or until it is set."""
        if not self.is_set and self._bell.wait(seconds):
            self._bell.ring()  # for the next one who waits


def wait_for_end(connected: Optional[socket.socket], wake: Wake) -> bool:
    """Waits until the other end of the socket has gone, or `wake` rings. Whether it has gone."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    if connected is not None:
        poll.register(connected, select.POLLRDHUP)  # not POLLIN: a late answer is no end
    return any(number != wake.fileno() for number, _ in poll.poll())
