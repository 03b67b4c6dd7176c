# SPDX-License-Identifier: Apache-2.0
"""What is said over one connection: requests become bytes, bytes become answers. Does no input or output, and knows no clock."""
from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple, Union

from .errors import ConnectionLost, InvalidRequest, ParseError, ProtocolError, Refused
from .wire import LINE_LIMIT, REQUEST_LIMIT, Notification, Reply, decode, encode


#: Of a request whose line is looked at before it has one: no number of a connection is longer.
LONGEST_NUMBER = 0x7FFFFFFF


class Answer(NamedTuple):
    """The reply to the request of this number."""

    number: int
    value: Any  # the result, or a Refused


class TurnedAway(NamedTuple):
    """The daemon does not take this connection, or ends it, and has carried out nothing of what is not answered."""

    error: Refused


Event = Union[Answer, TurnedAway, Notification]
Params = Union[Mapping[str, Any], bytes]  # as they are, or encoded


class Conversation:
    """One for each connection. `ask` gives bytes to send, `feed` takes what came, `next` says what that means.

    `take_unsent` gives bytes to be sent that nobody asked for: tasks that came for a reserve whose caller has gone are given back.
    """

    def __init__(self) -> None:
        self._number = 0
        self._open: Dict[int, str] = {}  # the methods of what is not answered, the oldest first
        self._abandoned: Set[int] = set()
        self._rest = bytearray()
        self._looked = 0
        self._was_answered = False
        self._late: List[List[Any]] = []  # of each answer that nobody took, the tasks
        self._giving: Dict[int, List[Any]] = {}  # those of each request that gives some back, unless it is carried out

    @property
    def waits_for(self) -> int:
        """How many requests have no answer yet, abandoned ones as well."""
        return len(self._open)

    def ask(self, method: str, params: Params) -> Tuple[int, bytes]:
        """What JSON cannot say is a ValueError or a TypeError, and what is too long InvalidRequest, before anything is sent."""
        numbers, line = self.ask_all([(method, params)])
        return numbers[0], line

    def ask_all(self, asks: Sequence[Tuple[str, Params]]) -> Tuple[List[int], bytes]:
        """As `ask`. Where one of them cannot be said, none is asked."""
        numbers = [self._number + 1 + index for index in range(len(asks))]
        lines = [self.line_of(number, *ask) for number, ask in zip(numbers, asks)]
        self._number += len(asks)
        self._open.update(zip(numbers, (method for method, _ in asks)))
        return numbers, b"".join(lines)

    @staticmethod
    def line_of(number: int, method: str, params: Params) -> bytes:
        """What cannot be said raises, as in `ask`."""
        line = encode(number, method, params)
        if len(line) > REQUEST_LIMIT:
            raise InvalidRequest("the request '%s' has %d bytes; accepted are %d" % (method, len(line), REQUEST_LIMIT), "invalidRequest", -32600)
        return line

    def abandon(self, number: int) -> None:
        """Nobody waits for this answer any more."""
        if number in self._open:
            self._abandoned.add(number)

    def abandon_all(self) -> None:
        self._abandoned.update(self._open)

    def owe(self, late: Iterable[List[Any]]) -> None:
        """Tasks that came over another connection, and are to be given back over this one."""
        self._late += late

    def feed(self, data: bytes) -> None:
        self._rest += data

    def take_unsent(self) -> bytes:
        unsent = b""
        for tasks in self.take_late():
            number, line = self.ask("task.release", {"tasks": tasks})
            self.abandon(number)
            self._giving[number] = tasks
            unsent += line
        return unsent

    def take_late(self) -> List[List[Any]]:
        """The tasks that came for each reserve whose caller has gone, to be given back by who takes them."""
        late, self._late = self._late, []
        return late

    def take_ungiven(self) -> List[List[Any]]:
        """Of a connection that is over, these, and those that were to be given back over it: a daemon that stops refuses that, or does not answer; said again it does no harm."""
        giving, self._giving = list(self._giving.values()), {}
        return giving + self.take_late()

    @property
    def waits_in_vain(self) -> bool:
        """Whether something is asked whose caller has gone, other than what gives tasks back."""
        return any(self._open.get(number) != "task.release" for number in self._abandoned)

    @property
    def gives_back(self) -> bool:
        """Whether something that gives tasks back is not answered yet."""
        return any(self._open.get(number) == "task.release" for number in self._abandoned)

    @property
    def reserves(self) -> bool:
        """Whether a reserve is not answered yet."""
        return "task.reserve" in self._open.values()

    def next(self) -> Optional[Event]:
        """What the next line says, or None where it is not there yet. After a ConnectionFailed the connection is of no use."""
        while True:
            line = self._line()
            if line is None:
                return None
            said = decode(line)
            if isinstance(said, Notification):
                return said
            event = self._answer(said)
            if event is not None:
                return event

    def _line(self) -> Optional[bytes]:
        while True:
            end = self._rest.find(b"\n", self._looked)
            if end < 0:
                self._looked = len(self._rest)
                if self._looked > LINE_LIMIT:
                    raise ProtocolError("timerd sent a line of more than %d bytes" % LINE_LIMIT)
                return None
            line = bytes(self._rest[:end]).rstrip(b"\r")
            del self._rest[: end + 1]
            self._looked = 0
            if line:
                return line

    def _answer(self, reply: Reply) -> Optional[Event]:
        value = reply.result if reply.error is None else reply.error
        if reply.id is None:
            # A line that could not be read is the oldest request's: replies keep their order, and what stands behind it may have been carried out.
            # (One that is too long is never sent.) All else concerns the connection, which ends with it. Who is not admitted is told so ahead of any answer; behind one nobody knows what
            # became of the requests.
            assert reply.error is not None  # `decode` takes no result without an id
            number = next(iter(self._open), None)
            if number is None or not isinstance(reply.error, (ParseError, InvalidRequest)):
                if number is not None and self._was_answered:
                    raise ConnectionLost("timerd ended the connection: %s" % reply.error.message)
                reply.error.of_connection = True
                return TurnedAway(reply.error)
        else:
            number = reply.id if isinstance(reply.id, int) and reply.id in self._open else None
        if number is None:
            raise ProtocolError("timerd answered request %r, which was not asked" % (reply.id,))
        self._was_answered = True
        method = self._open.pop(number)
        if reply.error is None:
            self._giving.pop(number, None)
        if number not in self._abandoned:
            return Answer(number, value)
        self._abandoned.discard(number)
        self.give_back(method, value)
        return None

    def give_back(self, method: str, result: Any) -> None:
        """Of an answer that nobody takes, the tasks."""
        held = handles(method, result)
        if held:
            self._late.append(held)


def handles(method: str, result: Any) -> List[Any]:
    """Of the answer to a reserve, the tasks that can be given back: what cannot be read is none."""
    tasks = result.get("tasks") if method == "task.reserve" and isinstance(result, dict) else None
    said = [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
    return [{"fire": task["fire"], "token": task["token"]} for task in said if all(_is_number(task.get(word)) for word in ("fire", "token"))]


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
