# SPDX-License-Identifier: Apache-2.0
"""One connection, used by one thread at a time. A connection that has failed is over."""
from __future__ import annotations

import select
import socket
import time
from typing import Any, Dict, List, Optional, Sequence

from .conversation import Answer, Conversation, Event
from .dialing import dial, is_over, said
from .errors import ConnectionLost, NotSent, ProtocolError, TimedOut
from .repeats import Ask
from .wire import Notification


class Connection:
    def __init__(self, path: str) -> None:
        self._conversation = Conversation()
        self._socket = dial(path)
        self._poll = select.poll()
        self._unsent = memoryview(b"")

    def close(self) -> None:
        self._socket.close()

    def interrupt(self) -> None:
        """Ends the connection under a thread that reads from it."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is over already

    def is_over(self) -> bool:
        return is_over(self._socket)

    def ask(self, asks: Sequence[Ask], deadline: Optional[float]) -> List[Any]:
        """Sends all at once; their answers in order, each a result or a Refused."""
        numbers, lines = [], []
        for method, params in asks:
            number, line = self._conversation.ask(method, params)
            numbers.append(number)
            lines.append(line)
        self._unsent = memoryview(b"".join(lines))
        answers: Dict[int, Any] = {}
        while len(answers) < len(numbers):
            event = self._event(deadline)
            if isinstance(event, Answer):
                answers[event.number] = event.value
            elif not isinstance(event, Notification):
                return [event.error for _ in numbers]
        return [answers[number] for number in numbers]

    def notification(self) -> Notification:
        """The next one, for as long as it takes."""
        event = self._event(None)
        if not isinstance(event, Notification):
            raise ProtocolError("timerd answered what was not asked")
        return event

    def _event(self, deadline: Optional[float]) -> Event:
        """Sends while it reads: a daemon whose answers nobody takes takes no requests either."""
        while True:
            event = self._conversation.next()
            if event is not None:
                return event
            try:
                if self._unsent:
                    self._unsent = self._unsent[self._socket.send(self._unsent) :]
            except BlockingIOError:
                pass
            except OSError as error:
                self._read_rest(error)  # which may say why
                continue
            self._wait(deadline)
            self._receive()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(262144)
        except BlockingIOError:
            return
        except OSError as error:
            raise self._lost("the connection to timerd is over: %s" % said(error)) from None
        if not data:
            raise self._lost("timerd closed the connection")
        self._conversation.feed(data)

    def _read_rest(self, error: OSError) -> None:
        """What came before the other end has gone, or that it has gone."""
        try:
            data = self._socket.recv(262144)
        except OSError:
            data = b""
        if not data:
            raise self._lost("the connection to timerd is over: %s" % said(error))
        self._conversation.feed(data)

    def _lost(self, message: str) -> ConnectionLost:
        return NotSent(message) if self._unsent else ConnectionLost(message)

    def _wait(self, deadline: Optional[float]) -> None:
        """Until there is something to read, or room for what is to be sent."""
        left = None if deadline is None else deadline - time.monotonic()
        if left is not None and left <= 0:
            raise TimedOut("timerd did not answer in time")
        self._poll.register(self._socket, select.POLLIN | (select.POLLOUT if self._unsent else 0))
        # A limit beyond what poll(2) takes is looked at again.
        self._poll.poll(None if left is None else min(left * 1000 + 1, 1e6))
