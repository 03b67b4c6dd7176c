# SPDX-License-Identifier: Apache-2.0
"""Watching events, over restarts of the daemon and of the watcher."""
from __future__ import annotations

import logging
from typing import Iterator, Optional, Sequence

from . import calls
from .connection import Connection
from .cursor import Cursor
from .errors import TimerdError
from .forks import mind_forks
from .paths import default_socket
from .progress import Lost, Progress, passes
from .repeats import Backoff
from .values import Json
from .wake import Latch

log = logging.getLogger("timerd.watcher")


class Watcher:
    """Iterates over events, each an object of docs/protocol.md, or `Lost`.

    The cursor is saved when the next event is asked for: what was being dealt with when the program died, or the iteration was left, is told again,
    also where the same watcher is iterated again. So each `iter(watcher)` begins with that event; `next(watcher)` asks for the one behind it. `since` counts where the cursor has nothing yet: 0 for all that are kept, None for new ones alone.
    A connection that is lost, or that cannot be made, is tried for as long as it takes, which the log `timerd.watcher` says; with `reconnect` false
    that ends the iteration with its error.
    """

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
        self._connection: Optional[Connection] = None
        self._iteration: Optional[object] = None
        self._closed = Latch()
        mind_forks(self)

    def close(self) -> None:
        """Ends the iteration, also from another thread or a signal handler."""
        self._closed.set()
        connection = self._connection
        if connection is not None:
            connection.interrupt()

    def subscribe(self) -> int:
        """Connects and subscribes; iterating does so by itself. Returns the newest event's number."""
        self._connection = connection = Connection(self.path)
        try:
            if self._closed.is_set:  # `close` may not have seen this connection
                connection.interrupt()
            call = calls.subscribe(self.progress.params())
            seq = call.value(connection.ask([(call.method, call.params)], None)[0])
        except BaseException:
            self._drop()
            raise
        self.progress.begun(seq)
        return seq

    def __iter__(self) -> "Iterator[Json | Lost]":
        self._iteration = iteration = object()
        if self.progress.rewind():
            self._drop()  # the iteration before may not have come to its end yet
        try:
            told = self._following()
            while told is not None:
                yield told
                told = self._following()
        finally:
            if self._iteration is iteration:
                self._drop()

    def __next__(self) -> "Json | Lost":
        """The event behind the one that was told last, which has been dealt with."""
        self._iteration = None  # the end of one that was left may come later, and is not to drop this connection
        try:
            told = self._following()
        except BaseException:
            self._drop()
            self.progress.rewind()  # nobody was told of what was read
            raise
        if told is None:
            self._drop()
            raise StopIteration
        return told

    def _following(self) -> "Json | Lost | None":
        """What is told next; what was told before has been dealt with. None once closed."""
        self.progress.done()
        backoff = Backoff()
        while not self._closed.is_set:
            try:
                if self._connection is None:
                    self.subscribe()
                    backoff.reset()
                connection = self._connection
                if connection is None:  # a child of fork
                    continue
                told = self.progress.take(connection.notification())
            except TimerdError as error:
                self._drop()
                if self._closed.is_set:
                    break
                if not self.reconnect or not passes(error):
                    raise
                log.warning("watching: %s; trying again", error)
                self._closed.wait(backoff.next())
                continue
            if told is not None:
                return told
            self.progress.done()
        return None

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _forked(self) -> None:
        self._closed = Latch(self._closed.is_set)
        self._drop()
