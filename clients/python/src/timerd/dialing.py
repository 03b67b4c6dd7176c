# SPDX-License-Identifier: Apache-2.0
"""Connecting to a Unix socket, which never waits."""
from __future__ import annotations

import os
import select
import socket

from .errors import CannotConnect


def dial(path: str) -> socket.socket:
    """A socket that is connected, and does not block. A listener whose backlog is full is CannotConnect with `is_full`: there may be room soon.

    asyncio takes such a socket for one that is connected, and a limit of time for one that failed, so neither connects by itself here.
    """
    connecting = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
    try:
        connecting.connect(path)
        return connecting
    except (OSError, ValueError) as error:
        connecting.close()
        failure = CannotConnect("cannot connect to timerd at '%s': %s" % (path, said(error)))
        failure.is_full = isinstance(error, BlockingIOError)
        raise failure from None
    except BaseException:
        connecting.close()
        raise


def said(error: Exception) -> str:
    """What the kernel says, without its number."""
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if number else str(error)


def is_over(connected: socket.socket) -> bool:
    """Whether the other end has gone, as after a restart of the daemon. Only looks, waits for nothing."""
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    if not poll.poll(0):
        return False
    try:
        return connected.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True
