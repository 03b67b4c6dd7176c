# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT in an event loop, which has one handler for each: all workers of the loop share it."""
from __future__ import annotations

import asyncio
import signal
from typing import Callable, Dict, List

#: Of each event loop that has a worker who is to hear of signals, all of them.
_listeners: "Dict[asyncio.AbstractEventLoop, List[Callable[[], None]]]" = {}


def listen(loop: asyncio.AbstractEventLoop, told: Callable[[], None]) -> bool:
    """Whether `told` is called with each of these signals, until `leave`; in the main thread alone."""
    listeners = _listeners.get(loop)
    if listeners is None:
        listeners = []
        try:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.add_signal_handler(number, _tell, listeners)
        except (RuntimeError, ValueError):
            return False  # not the main thread
        _listeners[loop] = listeners
    listeners.append(told)
    return True


def leave(loop: asyncio.AbstractEventLoop, told: Callable[[], None]) -> None:
    """The signals do what they do by themselves once nobody listens any more."""
    listeners = _listeners[loop]
    listeners.remove(told)
    if not listeners:
        del _listeners[loop]
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


def _tell(listeners: "List[Callable[[], None]]") -> None:
    for told in list(listeners):
        told()
