# SPDX-License-Identifier: Apache-2.0
"""One connection, used by one thread at a time. A connection that has failed is over."""
from __future__ import annotations

import contextlib
import select
import socket
import time
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence

from .conversation import Answer, Conversation, Event, TurnedAway
from .dialing import dial, is_over, said
from .errors import ConnectionFailed, ConnectionLost, NotSent, ProtocolError, TimedOut, located
from .repeats import Ask
from .wake import Wake, wait_for_end
from .wire import Notification


class Connection:
    def __init__(self, path: str) -> None:
        self._path = path
        self._conversation = Conversation()
        self._socket = dial(path)
        self._poll = select.poll()
        self._unsent = memoryview(b"")
        self._behind = 0  # of what is unsent, the bytes that come behind the request that is asked
        self._is_tied = False
        #: Whether all that was asked was answered, or may be answered later.
        self.is_usable = True

    def close(self) -> None:
        self._socket.close()

    def leave(self) -> List[List[Any]]:
        """Ends it; the tasks that nobody has taken, or that were on their way back, to be given back over another one.

        From the shutdown on the daemon can hand over nothing here, and keeps what it would have; what it had handed over is read.
        """
        self.interrupt()
        self._conversation.abandon_all()
        with contextlib.suppress(OSError):
            while True:
                data = self._socket.recv(262144)
                if not data:
                    break
                self._conversation.feed(data)
        with contextlib.suppress(ConnectionFailed):
            while self._conversation.next() is not None:
                pass
        self.close()
        return self._conversation.take_ungiven()

    def interrupt(self) -> None:
        """Ends the connection under a thread that reads from it."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over already

    def is_over(self) -> bool:
        return is_over(self._socket)

    def wait_for_end(self, wake: Wake) -> bool:
        return wait_for_end(self._socket, wake)

    def give_back(self, late: Iterable[List[Any]]) -> None:
        """Tasks that came over another connection. They go ahead of what is asked next."""
        self._conversation.owe(late)
        self._send_later(self._conversation.take_unsent())

    def ask(self, asks: Sequence[Ask], deadline: Optional[float]) -> List[Any]:
        """Sends all at once; their answers in order, each a result or a Refused."""
        numbers, lines = self._conversation.ask_all(asks)
        self.is_usable = False
        self._behind = 0
        self._send_later(lines)
        answers: Dict[int, Any] = {}
        try:
            while len(answers) < len(numbers):
                event = self._event(deadline)
                if isinstance(event, Answer):
                    answers[event.number] = event.value
                elif not isinstance(event, Notification):
                    return [event.error for _ in numbers]  # and it stays unusable
        except BaseException as error:
            # Tasks that are tied to it would go back with it. Else another one is better: there nobody waits behind the late answer.
            self.is_usable = self._is_tied and isinstance(error, TimedOut)
            for number, (method, _) in zip(numbers, asks):
                self._conversation.abandon(number)
                self._conversation.give_back(method, answers.get(number))
            raise
        told = [answers[number] for number in numbers]
        self._is_tied |= any(_ties(params, answer) for (_, params), answer in zip(asks, told))
        with contextlib.suppress(OSError):  # which the next call meets as well
            self._send()  # what is given back
        self.is_usable = True
        return told

    def notification(self) -> Notification:
        """The next one, for as long as it takes."""
        event = self._event(None)
        if isinstance(event, TurnedAway):
            raise event.error
        if not isinstance(event, Notification):
            raise ProtocolError("timerd at '%s' answered what was not asked" % self._path)
        return event

    def _event(self, deadline: Optional[float]) -> Event:
        """Sends while it reads: a daemon whose answers nobody takes takes no requests either."""
        while True:
            try:
                event = self._conversation.next()
            except ConnectionFailed as error:
                raise located(error, self._path) from None
            given_back = self._conversation.take_unsent()
            self._behind += len(given_back)
            self._send_later(given_back)
            if event is not None:
                return event
            try:
                self._send()
            except BlockingIOError:
                pass
            except OSError as error:
                self._read_rest(error)  # which may say why
                continue
            self._wait(deadline)
            self._receive()

    def _send_later(self, data: bytes) -> None:
        if data:
            self._unsent = memoryview(bytes(self._unsent) + data)

    def _send(self) -> None:
        if self._unsent:
            self._unsent = self._unsent[self._socket.send(self._unsent) :]

    def _receive(self) -> None:
        try:
            data = self._socket.recv(262144)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost("the connection to timerd at '%s' is over: %s" % (self._path, said(error))) from None
        if not data:
            raise self._lost("timerd at '%s' closed the connection" % self._path)
        self._conversation.feed(data)

    def _read_rest(self, error: OSError) -> None:
        """What came before the other end has gone, or that it has gone."""
        try:
            data = self._socket.recv(262144)
        except OSError:
            data = b""
        if not data:
            raise self._lost("the connection to timerd at '%s' is over: %s" % (self._path, said(error)))
        self._conversation.feed(data)

    def _lost(self, message: str) -> ConnectionLost:
        return NotSent(message) if len(self._unsent) > self._behind else ConnectionLost(message)

    def _wait(self, deadline: Optional[float]) -> None:
        """Until there is something to read, or room for what is to be sent."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimedOut("timerd at '%s' did not answer in time" % self._path)
        self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        # A limit beyond what poll(2) takes is looked at again.
        self._poll.poll(None if left is None else min(left * 1000 + 1, 1e6))


def _ties(params: Mapping[str, Any], answer: Any) -> bool:
    """Whether tasks are tied to the connection that this answer came over."""
    return bool(params.get("whileConnected")) and isinstance(answer, dict) and bool(answer.get("tasks") or answer.get("task"))
