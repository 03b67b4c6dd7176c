# SPDX-License-Identifier: Apache-2.0
"""Waking a thread that waits for a socket."""
from __future__ import annotations

import os
import select
import socket
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


def wait_for_end(connected: Optional[socket.socket], wake: Wake) -> bool:
    """Waits until the other end of the socket has gone, or `wake` rings. Whether it has gone."""
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    if connected is not None:
        poll.register(connected, select.POLLRDHUP)  # not POLLIN: a late answer is no end
    return any(number != wake.fileno() for number, _ in poll.poll())
