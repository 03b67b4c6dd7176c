# SPDX-License-Identifier: Apache-2.0
"""The client for programs without an event loop."""
from __future__ import annotations

import collections
import contextlib
import threading
import time
import warnings
from types import TracebackType
from typing import Any, Deque, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar

from .call import Call, waits
from .connection import Connection
from .conversation import LONGEST_NUMBER, Conversation, handles
from .errors import ConnectionFailed, ConnectionLost, ProtocolError, Refused, TimedOut
from .forks import mind_forks
from .methods import Methods
from .paths import default_socket
from .repeats import Ask, Attempts
from .wake import Latch, Wake, wait_for_end

T = TypeVar("T")

#: The daemon has up to 256 requests of a connection in progress; a client need not fill that.
IN_PROGRESS = 200


class Client(Methods):
    """One connection, made when it is needed and made again when it has gone, and one more for each call that waits in the daemon. Threads may
    share a client: each call has its turn, and what waits keeps nobody waiting.

    `timeout`: seconds that a call may take in all, beyond what it asks the daemon to wait; None for no limit. `patience`: seconds for which a call
    goes on trying to connect, and to repeat what may be repeated, so that it survives a restart of the daemon.

    A request whose reply was lost is sent again only where that does no harm: reads, `finish`, `fail`, `release`, `extend`, `set_queue`, ending,
    pausing and resuming jobs by id, and adding jobs that each have a `key`, without `replace` and `whileConnected`: until 30 s before the key may
    be forgotten, which is `keyKept` (a day) after the request was first sent. Any other raises ConnectionLost: it was carried out, or it was not.

    A call that is too late ends its connection, unless tasks are tied to that: then later calls over it wait behind the late answer, and tasks that
    come for a late reserve are released.

    With `reconnect` false there is one connection for all, and each end of it is said, with ConnectionLost, before another is made: for who has
    tied something to it.
    """

    def __init__(self, socket: Optional[str] = None, *, timeout: Optional[float] = 30.0, patience: float = 0.0, reconnect: bool = True) -> None:
        self.path = socket or default_socket()
        self.timeout = timeout
        self.patience = patience
        self.reconnect = reconnect
        self._closed = Latch()
        self._ungiven: "Deque[List[Any]]" = collections.deque()  # tasks that came for nobody, over connections that have ended
        self._main = _Channel(self)
        self._guard = threading.RLock()  # `close` may be called by a signal handler, which may have interrupted anything
        self._channels = [self._main]
        self._spare: List[_Channel] = []  # of the others, who wait for nothing now
        mind_forks(self)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()

    def __del__(self) -> None:
        channels: List[_Channel] = getattr(self, "_channels", [])  # there are none where `__init__` has raised
        if any(channel.connection is not None for channel in channels):
            warnings.warn("a timerd.Client was not closed", ResourceWarning, source=self)
            for channel in channels:
                channel.forget()

    def close(self) -> None:
        """Ends the connections; a call that is in progress, in another thread or where a signal handler closes the client, raises ConnectionLost."""
        self._closed.set()
        with self._guard:
            channels = list(self._channels)
        for channel in channels:
            channel.interrupt()
        for channel in channels:
            channel.end()

    def call(self, method: str, **params: Any) -> Any:
        """The result of any method of docs/protocol.md, by its parameters' own names."""
        return self.request(method, params)

    def request(self, method: str, params: Optional[Mapping[str, Any]] = None, *, timeout: Optional[float] = None) -> Any:
        """As `call`, with a timeout of its own."""
        answer = self._ask([(method, params or {})], timeout)[0]
        if isinstance(answer, Refused):
            raise answer
        return answer

    def calls(self, requests: Sequence[Tuple[str, Mapping[str, Any]]], *, timeout: Optional[float] = None) -> List[Any]:
        """Sends all at once, and returns their results in order; an exception of Refused stands in the place of a result.

        Where one of them cannot be said, none is sent.
        """
        for method, params in requests[IN_PROGRESS:]:
            Conversation.line_of(LONGEST_NUMBER, method, params)  # the others are looked at together as they are sent
        answers: List[Any] = []
        for start in range(0, len(requests), IN_PROGRESS):
            answers += self._ask(requests[start : start + IN_PROGRESS], timeout)
        return answers

    def wait_for_end(self, wake: Wake) -> bool:
        """With `reconnect` false, while nothing is asked: waits until the connection has ended, or `wake` rings. Whether it has ended, which is said
        once, here or by a call."""
        return self._main.wait_for_end(wake)

    def carry_out(self, call: Call[T]) -> T:
        begun = time.monotonic()
        answer = self._ask([(call.method, call.params)], None)[0]
        try:
            return call.value(answer)
        except ProtocolError:  # of one task; those beside it are nobody's
            late = handles(call.method, answer)
            if late:
                limit, _ = time_limit([(call.method, call.params)], self.timeout, True)
                left = None if limit is None else max(0.0, begun + limit - time.monotonic())
                # Of a reserve that might have waited for an hour, no more than of any other call.
                self._give_back(late, left if left is None or self.timeout is None else min(left, self.timeout))
            raise

    def _give_back(self, late: List[Any], timeout: Optional[float]) -> None:
        """At once, for there may be no next call, which would say again what the daemon did not take."""
        answer: Any = None
        try:
            answer = self._ask([("task.release", {"tasks": late})], timeout)[0]
        except ConnectionFailed:
            if not self.reconnect:
                raise  # else nobody would be told that the connection has ended
        finally:
            if answer is None or isinstance(answer, Refused):
                self._ungiven.append(late)

    def _ask(self, asks: Sequence[Ask], timeout: Optional[float]) -> List[Any]:
        limit, does_wait = time_limit(asks, self.timeout if timeout is None else timeout, timeout is None)
        deadline = None if limit is None else time.monotonic() + limit
        if self._closed.is_set:
            raise ConnectionLost("the client was closed")
        if not (does_wait and self.reconnect):
            return self._main.ask(asks, deadline, limit, self.patience)
        with self._guard:
            if not self._spare:
                self._spare.append(_Channel(self))
                self._channels.append(self._spare[0])
            channel = self._spare.pop()
        try:
            return channel.ask(asks, deadline, limit, self.patience)
        finally:
            with self._guard:
                self._spare.append(channel)

    def _forked(self) -> None:
        self._closed, self._guard = Latch(self._closed.is_set), threading.RLock()
        self._ungiven.clear()  # which are the parent's
        for channel in self._channels:
            channel.lock, channel.closed, channel.is_used = threading.RLock(), self._closed, False
            channel.forget()
        self._spare = self._channels[1:]


def time_limit(asks: Sequence[Ask], timeout: Optional[float], adds_waits: bool) -> Tuple[Optional[float], bool]:
    """How long these may take in all, and whether the daemon is asked to wait."""
    spans = [waits(*ask) for ask in asks]
    if timeout is None or None in spans:
        return (None if adds_waits else timeout), any(span != 0.0 for span in spans)
    total = sum(span for span in spans if span is not None)
    return timeout + (total if adds_waits else 0.0), total > 0.0


class _Channel:
    """A connection that is made again, and whose turn it is to use it. Does not know its client, so that the client can be collected."""

    def __init__(self, client: Client) -> None:
        self._path, self._reconnect = client.path, client.reconnect
        self.closed, self._ungiven = client._closed, client._ungiven
        self.lock = threading.RLock()  # of one thread at a time, and there of one call: a signal handler may have interrupted it
        self.is_used = False
        self.connection: Optional[Connection] = None

    def ask(self, asks: Sequence[Ask], deadline: Optional[float], limit: Optional[float], patience: float) -> List[Any]:
        if not self.lock.acquire(timeout=-1 if limit is None else min(max(0.0, limit), threading.TIMEOUT_MAX)):
            raise TimedOut("other calls had the connection for %g s" % (limit or 0.0))
        try:
            with self._used():
                attempts = Attempts(asks, patience, self._reconnect, time.monotonic(), deadline)
                while True:
                    try:
                        return self._once(asks, deadline)
                    except ConnectionFailed as error:
                        if self.closed.is_set and isinstance(error, ConnectionLost):  # `interrupt` looks like the daemon's end
                            raise type(error)("the client was closed") from None
                        pause = None if self.closed.is_set else attempts.after(error, time.monotonic())
                        if pause is None:
                            raise attempts.final(error)
                    self.closed.wait(pause)
        finally:
            self.lock.release()

    @contextlib.contextmanager
    def _used(self) -> Iterator[None]:
        if self.is_used:
            raise TimedOut("the call that this one has interrupted has the connection")
        self.is_used = True
        try:
            yield
        finally:
            self.is_used = False
            if self.closed.is_set:
                self.drop()

    def end(self) -> None:
        with self.lock:
            if not self.is_used:  # else the call that `close` has interrupted does so
                self.drop()

    def _once(self, asks: Sequence[Ask], deadline: Optional[float]) -> List[Any]:
        connection = self._connected()
        try:
            connection.give_back(self._take_ungiven())
            return connection.ask(asks, deadline)
        finally:
            # Also for KeyboardInterrupt: of what it has interrupted the answer must not become that of another request.
            if not connection.is_usable:
                self.drop()

    def _connected(self) -> Connection:
        connection = self.connection
        if connection is not None and connection.is_over():
            self.drop()
            if not self._reconnect:
                raise ConnectionLost("the connection to timerd at '%s' ended while nothing was asked" % self._path)
            connection = None
        if connection is None and not self.closed.is_set:
            self.connection = connection = Connection(self._path)
        if connection is None or self.closed.is_set:  # by `close`, which may not have seen this connection
            raise ConnectionLost("the client was closed")
        return connection

    def wait_for_end(self, wake: Wake) -> bool:
        with self.lock, self._used():
            has_ended = wait_for_end(None, wake) if self.connection is None else self.connection.wait_for_end(wake)
            if has_ended:
                self.drop()
            return has_ended

    def interrupt(self) -> None:
        connection = self.connection
        if connection is not None:
            connection.interrupt()

    def drop(self) -> None:
        connection, self.connection = self.connection, None
        if connection is not None:
            self._ungiven.extend(connection.leave())

    def forget(self) -> None:
        """Closes the connection, which another process may have as well."""
        connection, self.connection = self.connection, None
        if connection is not None:
            connection.close()

    def _take_ungiven(self) -> List[List[Any]]:
        taken = []
        with contextlib.suppress(IndexError):
            while True:
                taken.append(self._ungiven.popleft())
        return taken
