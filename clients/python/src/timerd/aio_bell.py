# SPDX-License-Identifier: Apache-2.0
"""Waiting for a change, with a limit."""
from __future__ import annotations

import asyncio
from typing import Optional, Set


class Bell:
    """Whoever waits hears the next ring. Between what is looked at and `wait` nothing else runs, so that none is missed."""

    def __init__(self) -> None:
        self._waiting: "Set[asyncio.Future[bool]]" = set()

    def ring(self) -> None:
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            self._tell(future, True)

    async def wait(self, until: Optional[float] = None) -> bool:
        """Until the next ring, or the moment by the event loop's clock: false where that has come."""
        loop = asyncio.get_running_loop()
        future: "asyncio.Future[bool]" = loop.create_future()
        self._waiting.add(future)
        timer = None if until is None else loop.call_at(until, self._tell, future, False)
        try:
            return await future
        finally:
            self._waiting.discard(future)
            if timer is not None:
                timer.cancel()

    @staticmethod
    def _tell(future: "asyncio.Future[bool]", rang: bool) -> None:
        if not future.done():
            future.set_result(rang)
