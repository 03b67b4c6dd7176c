# SPDX-License-Identifier: Apache-2.0
"""One connection for asyncio. Many requests may be in progress. A connection that has failed is over."""
from __future__ import annotations

import asyncio
import collections
import contextlib
import os
import socket
import time
from typing import Any, Callable, Deque, Dict, List, Optional, Tuple, cast

from .conversation import Answer, Conversation, Params, TurnedAway
from .dialing import dial, is_over, said
from .errors import ConnectionFailed, ConnectionLost, NotSent, Refused, TimedOut, TimerdError, located
from .forks import mind_forks
from .wire import Notification

#: With as many notifications that nobody has taken, reading pauses.
_MOST_NOTIFICATIONS = 256


class AsyncConnection(asyncio.Protocol):
    def __init__(self, path: str, socket_: socket.socket, on_end: Callable[[], None]) -> None:
        self._path = path
        self.loop = asyncio.get_running_loop()
        self.lost: Optional[TimerdError] = None
        self._socket = socket_
        self._transport: Optional[asyncio.Transport] = None
        self._conversation = Conversation()
        self._waiting: "Dict[int, Tuple[str, asyncio.Future[Any]]]" = {}  # with the method
        #: Whether somebody asks for notifications; else they are dropped, for those that nobody takes would have reading paused for ever.
        self.watches = False
        self._notifications: Deque[Notification] = collections.deque()
        self._wanted: "Optional[asyncio.Future[None]]" = None
        self._answered: "Optional[asyncio.Future[None]]" = None
        self._is_paused = False
        self._on_end = on_end
        mind_forks(self)

    @staticmethod
    async def open(path: str, on_end: Callable[[], None] = lambda: None) -> "AsyncConnection":
        """Whoever is cancelled here leaves no connection behind."""
        connected = dial(path)
        try:
            connection = AsyncConnection(path, connected, on_end)
            await connection.loop.create_unix_connection(lambda: connection, sock=connected)
        except BaseException:
            connected.close()
            raise
        return connection

    @property
    def waits_for(self) -> int:
        return self._conversation.waits_for

    async def request(self, method: str, params: Params, deadline: Optional[float]) -> Any:
        """The result, or a Refused. Whoever is cancelled, or too late, has no answer; tasks that come for such a reserve are given back."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimedOut("timerd at '%s' did not answer in time" % self._path)
        if self.lost is None and not self._waiting and is_over(self._socket):
            self.close(ConnectionLost("timerd at '%s' closed the connection" % self._path))  # which the event loop has not come to notice
        if self.lost is not None or self._transport is None:
            raise self.lost if isinstance(self.lost, Refused) else NotSent(str(self.lost))
        number, line = self._conversation.ask(method, params)
        future: "asyncio.Future[Any]" = self.loop.create_future()
        self._waiting[number] = (method, future)
        timer = None if left is None else self.loop.call_later(left, self._too_late, future)
        try:
            self._transport.write(line)
            return await future
        except asyncio.CancelledError:
            if future.done() and not future.cancelled() and future.exception() is None:
                self._conversation.give_back(method, future.result())  # it was cancelled as its answer came
                if self.lost is None:
                    self._transport.write(self._conversation.take_unsent())
            raise
        finally:
            if timer is not None:
                timer.cancel()
            if self._waiting.pop(number, None) is not None:
                self._conversation.abandon(number)

    def _too_late(self, future: "asyncio.Future[Any]") -> None:
        if not future.done():
            future.set_exception(TimedOut("timerd at '%s' did not answer in time" % self._path))

    async def notification(self) -> Notification:
        """The next one, for as long as it takes. For one caller at a time."""
        while not self._notifications:
            if self.lost is not None:
                raise self.lost
            self._wanted = self.loop.create_future()
            await self._wanted
        if self._is_paused and self._transport is not None and len(self._notifications) < _MOST_NOTIFICATIONS // 2:
            self._is_paused = False
            self._transport.resume_reading()
        return self._notifications.popleft()

    @property
    def waits_in_vain(self) -> bool:
        return self.lost is None and self._conversation.waits_in_vain

    @property
    def reserves(self) -> bool:
        """Whether a reserve has no answer yet, also one whose caller has gone."""
        return self.lost is None and self._conversation.reserves

    async def has_given_back(self) -> None:
        """Returns once what gives tasks back here is answered, or the connection is over. For one caller at a time."""
        while self.lost is None and self._conversation.gives_back:
            self._answered = self.loop.create_future()
            await self._answered

    def hear(self) -> None:
        """Takes what has come, and the event loop has not come to read. For a connection on which nobody waits."""
        with contextlib.suppress(OSError):
            data = self._socket.recv(262144)
            while data:
                self.data_received(data)
                data = self._socket.recv(262144)

    def leave(self) -> List[List[Any]]:
        """Ends a connection; the tasks of answers that had come, and that nobody has taken or that are on their way back, to be given back over another one.

        From the shutdown on the daemon can hand over nothing here, and keeps what it would have; what it had handed over is read. So no task is lost between the two.
        """
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
            while True:
                data = self._socket.recv(262144)
                if not data:
                    break
                self._conversation.feed(data)
        with contextlib.suppress(ConnectionFailed):
            while True:
                event = self._conversation.next()
                if event is None:
                    break
                if isinstance(event, Answer):  # its caller is told that the connection is over
                    self._conversation.give_back(self._waiting[event.number][0], event.value)
        self.close()
        return self.take_ungiven()

    def take_ungiven(self) -> List[List[Any]]:
        """Of a connection that is over, the tasks that were not given back over it, as far as is known."""
        return self._conversation.take_ungiven()

    def close(self, why: Optional[TimerdError] = None) -> None:
        if self.lost is not None:
            return
        self.lost = why or ConnectionLost("the connection was closed")
        if self._transport is not None and not self.loop.is_closed():
            self._transport.abort()
        for _, future in self._waiting.values():
            if not future.done():
                future.set_exception(self.lost)
        self._wake()
        self._hear()
        self._on_end()

    # What the event loop says

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's are of no class of asyncio's

    def data_received(self, data: bytes) -> None:
        if self.lost is not None:
            return
        self._conversation.feed(data)
        try:
            while True:
                event = self._conversation.next()
                if event is None:
                    break
                if isinstance(event, Answer):
                    self._answer(event)
                elif isinstance(event, TurnedAway):
                    return self.close(event.error)
                elif self.watches:
                    self._notifications.append(event)
                    self._wake()
        except ConnectionFailed as error:
            return self.close(located(error, self._path))
        self._hear()
        if self._transport is not None:
            self._transport.write(self._conversation.take_unsent())
            if len(self._notifications) >= _MOST_NOTIFICATIONS and not self._is_paused:
                self._is_paused = True
                self._transport.pause_reading()

    def connection_lost(self, error: Optional[Exception]) -> None:
        if self.lost is None and error is not None:
            # It was noticed by writing. What came before it may say why.
            with contextlib.suppress(OSError):
                self.data_received(self._socket.recv(262144))
        self.close(ConnectionLost("the connection to timerd at '%s' is over: %s" % (self._path, said(error)) if error else "timerd at '%s' closed the connection" % self._path))

    def _answer(self, answer: Answer) -> None:
        method, future = self._waiting.pop(answer.number)
        if future.done():  # its caller goes, and has not come to say so
            self._conversation.give_back(method, answer.value)
        else:
            future.set_result(answer.value)

    def _wake(self) -> None:
        wanted, self._wanted = self._wanted, None
        if wanted is not None and not wanted.done():
            wanted.set_result(None)

    def _hear(self) -> None:
        answered, self._answered = self._answered, None
        if answered is not None and not answered.done():
            answered.set_result(None)

    def _forked(self) -> None:
        """The event loop's own files are shared with the parent, so nothing may be said to it: the socket makes way for /dev/null."""
        if self._socket.fileno() < 0:
            return
        null = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(null, self._socket.fileno(), inheritable=False)
        os.close(null)
        self.lost = self.lost or ConnectionLost("the connection is that of the parent process")
