# SPDX-License-Identifier: Apache-2.0
"""SIGTERM and SIGINT in an event loop, which has one handler for each: all workers of the loop share it."""
from __future__ import annotations

import asyncio
import signal
from typing import Any, Callable, Dict, List, Tuple

_NUMBERS = (signal.SIGTERM, signal.SIGINT)
#: Of each event loop that has a worker who is to hear of signals, all of them.
_listeners: "Dict[asyncio.AbstractEventLoop, List[Callable[[], None]]]" = {}
#: What the program had for these signals before.
_before: "Dict[asyncio.AbstractEventLoop, List[Tuple[int, Any]]]" = {}


def listen(loop: asyncio.AbstractEventLoop, told: Callable[[], None]) -> bool:
    """Whether `told` is called with each of these signals, until `leave`; in the main thread alone."""
    listeners = _listeners.get(loop)
    if listeners is None:
        listeners = []
        before: "List[Tuple[int, Any]]" = [(number, signal.getsignal(number)) for number in _NUMBERS]
        try:
            for number in _NUMBERS:
                loop.add_signal_handler(number, _tell, listeners)
        except (RuntimeError, ValueError):
            return False  # not the main thread
        _listeners[loop], _before[loop] = listeners, before
    listeners.append(told)
    return True


def leave(loop: asyncio.AbstractEventLoop, told: Callable[[], None]) -> None:
    """The signals do what they did before once nobody listens any more."""
    listeners = _listeners[loop]
    listeners.remove(told)
    if not listeners:
        del _listeners[loop]
        for number, handler in _before.pop(loop):
            # Of a loop that was closed they are no longer this one's.
            if loop.remove_signal_handler(number) and handler is not None and not _is_of_a_loop(handler):
                signal.signal(number, handler)


def _is_of_a_loop(handler: Any) -> bool:
    """Whether it is what an event loop puts there, which does nothing without the loop's entry, and that is gone."""
    return (getattr(handler, "__module__", None) or "").split(".")[0] in ("asyncio", "uvloop")


def _tell(listeners: "List[Callable[[], None]]") -> None:
    for told in list(listeners):
        told()
