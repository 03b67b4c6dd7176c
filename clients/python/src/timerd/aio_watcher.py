# SPDX-License-Identifier: Apache-2.0
"""Watching events with asyncio."""
from __future__ import annotations

import asyncio
import logging
from typing import AsyncIterator, Optional, Sequence

from . import calls
from .aio_connection import AsyncConnection
from .cursor import Cursor
from .errors import ConnectionLost, TimerdError
from .paths import default_socket
from .progress import Lost, Progress, passes
from .repeats import Backoff
from .values import Json

log = logging.getLogger("timerd.watcher")


class AsyncWatcher:
    """As `Watcher`: `async for event in AsyncWatcher(...)`. Reading pauses while events are dealt with. The cursor's functions are called
    in the event loop."""

    def __init__(
        self,
        socket: Optional[str] = None,
        *,
        cursor: Optional[Cursor] = None,
        since: Optional[int] = None,
        types: Optional[Sequence[str]] = None,
        jobs: Optional[Sequence[int]] = None,
        reconnect: bool = True,
    ) -> None:
        self.path = socket or default_socket()
        self.progress = Progress(cursor, since, types, jobs)
        self.reconnect = reconnect
        self._connection: Optional[AsyncConnection] = None
        self._iteration: Optional[object] = None
        self._closed = False

    async def subscribe(self) -> int:
        """Connects and subscribes; iterating does so by itself. Returns the newest event's number."""
        self._connection = connection = await AsyncConnection.open(self.path)
        connection.watches = True
        try:
            if self._closed:
                raise ConnectionLost("the watcher was closed")
            call = calls.subscribe(self.progress.params())
            seq = call.value(await connection.request(call.method, call.params, None))
        except BaseException:
            self._drop()
            raise
        self.progress.begun(seq)
        return seq

    async def __aiter__(self) -> "AsyncIterator[Json | Lost]":
        self._iteration = iteration = object()
        if self.progress.rewind():
            self._drop()  # the iteration before may not have come to its end yet
        try:
            told = await self._following()
            while told is not None:
                yield told
                told = await self._following()
        finally:
            if self._iteration is iteration:
                self._drop()

    async def __anext__(self) -> "Json | Lost":
        """The event behind the one that was told last, which has been dealt with."""
        self._iteration = None  # the end of one that was left may come later, and is not to drop this connection
        try:
            told = await self._following()
        except BaseException:
            self._drop()
            self.progress.rewind()  # nobody was told of what was read
            raise
        if told is None:
            self._drop()
            raise StopAsyncIteration
        return told

    async def _following(self) -> "Json | Lost | None":
        """What is told next; what was told before has been dealt with. None once closed."""
        self.progress.done()
        backoff = Backoff()
        while not self._closed:
            try:
                if self._connection is None:
                    await self.subscribe()
                    backoff.reset()
                connection = self._connection
                if connection is None:  # it was closed meanwhile
                    continue
                told = self.progress.take(await connection.notification())
            except TimerdError as error:
                self._drop()
                if self._closed:
                    break
                if not self.reconnect or not passes(error):
                    raise
                log.warning("watching: %s; trying again", error)
                await asyncio.sleep(backoff.next())
                continue
            if told is not None:
                return told
            self.progress.done()
        return None

    def close(self) -> None:
        """Ends the iteration."""
        self._closed = True
        self._drop()

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
