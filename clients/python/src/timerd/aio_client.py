# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio."""
from __future__ import annotations

import asyncio
import time
import warnings
from types import TracebackType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Set, Tuple, Type, TypeVar

from .aio_connection import AsyncConnection
from .aio_methods import AsyncMethods
from .call import Call
from .client import time_limit
from .conversation import LONGEST_NUMBER, Conversation, handles
from .errors import ConnectionFailed, ConnectionLost, ProtocolError, Refused, TimerdError
from .outcome import LATER
from .paths import default_socket
from .repeats import Attempts, Backoff
from .wire import encode_params

T = TypeVar("T")

#: For how long a client tries to give back what nobody has taken.
_GIVES_BACK_FOR = 30.0
_ENDINGS = ("task.finish", "task.fail", "task.release")


class AsyncClient(AsyncMethods):
    """As `Client`, for one event loop at a time. Calls that run at the same time share the connection and do not wait for each other's turn.

    A call says what its arguments are as it begins, which for a task is the next turn of the event loop; what is changed in them later is not said.

    A call that is cancelled may have been carried out. One that waits in the daemon gives up its place with its connection, unless tasks are tied to that;
    tasks that came for a reserve by then are released at once.
    """

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 30.0, patience: float = 0.0, reconnect: bool = True) -> None:
        self.path = socket or default_socket()
        self.timeout = timeout
        self.patience = patience
        self.reconnect = reconnect
        self._connection: Optional[AsyncConnection] = None
        self._others: List[AsyncConnection] = []  # each for one call that waits
        self._tied: Dict[int, AsyncConnection] = {}  # of each task that is tied to one of these, by its token
        self._releasing: "Set[asyncio.Task[None]]" = set()
        self._opening: "Optional[Tuple[asyncio.AbstractEventLoop, asyncio.Lock]]" = None
        self._closed = False
        #: Called at each end of a connection; it must not hold the client.
        self.on_end: Callable[[], None] = lambda: None

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        await self.close()

    def __del__(self) -> None:
        connections: List[Optional[AsyncConnection]] = [*getattr(self, "_others", []), getattr(self, "_connection", None)]
        for connection in connections:
            if connection is not None and connection.lost is None and not connection.loop.is_closed():
                warnings.warn("a timerd.AsyncClient was not closed", ResourceWarning, source=self)
                connection.loop.call_soon_threadsafe(connection.close)

    async def close(self) -> None:
        """Ends all connections; a call in progress raises ConnectionLost. Tasks that had come for a reserve that was given up, or that nobody has taken yet, are
        released before this returns, where that takes no longer than a second."""
        here = asyncio.get_running_loop()
        self._closed = True
        main, self._connection = self._connection, None
        connections, self._others = [*self._others, main], []
        # A call that is part of another (`wait_for`, a task) hears turns later that it was cancelled: whatever reserves is given up here.
        for connection in connections:
            if connection is None or connection.loop is not here:
                continue
            if connection.waits_in_vain and connection is not main:
                connection.hear()
            if connection.reserves:
                self._release_soon(connection.leave())
        giving: "List[asyncio.Future[None]]" = []
        try:
            await asyncio.sleep(0)  # a call that was cancelled as its answer came gives back over its connection
            giving = [asyncio.ensure_future(one.has_given_back()) for one in connections if one is not None and one.loop is here]
            if giving:
                await asyncio.wait(giving, timeout=1.0)
        finally:
            for one in giving:
                one.cancel()
            for connection in connections:
                if connection is not None:
                    connection.close()
                    if connection.loop is here:  # what one that `leave` has ended was given back since, or was not answered in time
                        self._release_soon(connection.take_ungiven())
        releasing = [one for one in self._releasing if one.get_loop() is here]
        try:
            if releasing:
                await asyncio.wait(releasing, timeout=1.0)
        finally:
            for one in releasing:
                one.cancel()

    async def call(self, method: str, **params: Any) -> Any:
        """The result of any method of docs/protocol.md, by its parameters' own names."""
        return await self.request(method, params)

    async def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None) -> Any:
        """As `call`, with a timeout of its own."""
        answer = await self._ask(method, params or {}, timeout)
        if isinstance(answer, Refused):
            raise answer
        return answer

    async def calls(self, requests: Sequence[Tuple[str, Mapping[str, Any]]], *, timeout: Optional[float] = None) -> List[Any]:
        """Sends all at once, and returns their results in order; an exception of Refused stands in the place of a result.

        Where one of them cannot be said, none is sent.
        """
        said = [encode_params(params) for _, params in requests]
        for (method, _), text in zip(requests, said):
            Conversation.line_of(LONGEST_NUMBER, method, text)  # also where one is too long, no other is sent
        asked = [asyncio.ensure_future(self._ask(*ask, timeout, text)) for ask, text in zip(requests, said)]
        try:
            return list(await asyncio.gather(*asked))
        except BaseException:
            for one in asked:
                one.cancel()
            await asyncio.gather(*asked, return_exceptions=True)
            raise

    async def carry_out(self, call: Call[T]) -> T:
        answer = await self._ask(call.method, call.params, None)
        try:
            return call.value(answer)
        except ProtocolError:  # of one task; those beside it are nobody's
            late = handles(call.method, answer)
            for task in late:
                self._forget_tie(task)
            self._release_soon([late] if late else [])
            raise

    async def _ask(self, method: str, params: Mapping[str, Any], timeout: Optional[float], said: Optional[bytes] = None) -> Any:
        # Ahead of any wait: what the caller changes meanwhile is not said, and a repeat says the same.
        said = encode_params(params) if said is None else said
        asks = [(method, params)]
        limit, does_wait = time_limit(asks, self.timeout if timeout is None else timeout, timeout is None)
        deadline = None if limit is None else time.monotonic() + limit
        attempts = Attempts(asks, self.patience, self.reconnect, time.monotonic(), deadline)
        while True:
            try:
                connection = await (self._other() if does_wait and self.reconnect else self._main())
                try:
                    answer = await connection.request(method, said, deadline)
                finally:
                    if connection.waits_in_vain and connection in self._others:
                        self._leave(connection)
                self._note_ties(method, params, answer, connection)
                return answer
            except Refused as error:  # also one of the whole connection
                self._forget_lost()
                return error
            except ConnectionFailed as error:
                self._forget_lost()
                if self._closed and isinstance(error, ConnectionLost):
                    raise type(error)("the client was closed") from None
                pause = None if self._closed else attempts.after(error, time.monotonic())
                if pause is None:
                    raise attempts.final(error)
            await asyncio.sleep(pause)

    def _leave(self, connection: AsyncConnection) -> None:
        """Ends a connection on which nobody waits any more. One that tasks are tied to stays, for they would go back, as one lost attempt; so does one
        whose answer has come: its tasks are released over it."""
        connection.hear()
        if not connection.waits_in_vain or connection in self._tied.values():
            return
        self._others.remove(connection)
        self._release_soon(connection.leave())

    def _release_soon(self, late: List[List[Any]]) -> None:
        for tasks in late:
            releasing = asyncio.ensure_future(self._release(tasks))
            self._releasing.add(releasing)
            releasing.add_done_callback(self._releasing.discard)

    async def _release(self, tasks: List[Any]) -> None:
        """By a client of its own: this one may be closed meanwhile. A daemon that is restarted is waited for; what cannot be said comes back with the end of its
        lease."""
        backoff, until = Backoff(), time.monotonic() + _GIVES_BACK_FOR
        async with AsyncClient(self.path, timeout=self.timeout, patience=self.patience) as other:
            while True:
                try:
                    await other.request("task.release", {"tasks": tasks})
                    return
                except (ConnectionFailed,) + LATER:
                    if time.monotonic() >= until:
                        return
                except TimerdError:
                    return
                await asyncio.sleep(backoff.next())

    def _note_ties(self, method: str, params: Mapping[str, Any], answer: Any, connection: AsyncConnection) -> None:
        if method == "task.reserve" and params.get("whileConnected") and connection in self._others:
            self._tied.update((task["token"], connection) for task in handles(method, answer))  # of no other will anybody say what became of it
        elif self._tied and method in _ENDINGS:
            for said, told in zip(_tasks(params), _tasks(answer)):
                if isinstance(told, dict) and "state" in told:  # what was refused is perhaps tied
                    self._forget_tie(said)
            for other in [other for other in self._others if other.waits_in_vain]:
                self._leave(other)

    def _forget_tie(self, task: Any) -> None:
        token = _token(task)
        if token is not None:
            self._tied.pop(token, None)

    def has_ended(self) -> bool:
        """With `reconnect` false: whether the connection has ended, which is said once, here or by a call."""
        had_one = self._connection is not None
        self._forget_lost()
        return had_one and self._connection is None

    def _forget_lost(self) -> None:
        """Their end was said."""
        for connection in (self._connection, *self._others):
            if connection is not None and connection.lost is not None:
                self._release_soon(connection.take_ungiven())
        if self._connection is not None and self._connection.lost is not None:
            self._connection = None
        self._others = [connection for connection in self._others if connection.lost is None]
        self._tied = {token: connection for token, connection in self._tied.items() if connection.lost is None}

    async def _main(self) -> AsyncConnection:
        loop = asyncio.get_running_loop()
        if self._opening is None or self._opening[0] is not loop:
            self._opening = (loop, asyncio.Lock())  # before Python 3.10 it belongs to the loop that is there when it is made
        async with self._opening[1]:
            connection = self._connection
            if connection is not None and connection.loop is not loop:
                connection = self._connection = None  # it has gone with its loop
            if connection is not None and connection.lost is None:
                return self._unless_closed(connection)
            self._forget_lost()
            if connection is not None and not self.reconnect:
                raise ConnectionLost("the connection to timerd at '%s' ended while nothing was asked" % self.path)
            self._connection = self._unless_closed(await AsyncConnection.open(self.path, self.on_end))
            return self._connection

    async def _other(self) -> AsyncConnection:
        """A connection on which nothing else waits."""
        loop = asyncio.get_running_loop()
        self._others = [connection for connection in self._others if connection.loop is loop]
        for connection in self._others:
            if connection.lost is None and connection.waits_for == 0:
                break
        else:
            connection = self._unless_closed(await AsyncConnection.open(self.path, self.on_end))
            self._others.append(connection)
        return connection

    def _unless_closed(self, connection: AsyncConnection) -> AsyncConnection:
        if self._closed:
            connection.close()
            raise ConnectionLost("the client was closed")
        return connection


def _tasks(said: Any) -> List[Any]:
    """Of a request or an answer that is about one task, or about a list."""
    if not isinstance(said, Mapping):
        return []
    tasks = said.get("tasks", [said.get("task", said)])
    return tasks if isinstance(tasks, list) else []


def _token(task: Any) -> Optional[int]:
    """None where it says none that could be one."""
    token = task.get("token") if isinstance(task, Mapping) else None
    return token if isinstance(token, int) and not isinstance(token, bool) else None
