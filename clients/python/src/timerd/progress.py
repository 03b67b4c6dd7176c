# SPDX-License-Identifier: Apache-2.0
"""Where a watcher is: what was seen, what is to be asked for, and which fires were told already. Does no input or output but the cursor's."""
from __future__ import annotations

import collections
from typing import Deque, NamedTuple, Optional, Sequence, Set

from .cursor import Cursor
from .errors import ConnectionFailed, InternalError, LimitReached, ProtocolError, StorageFailed, Stopping, TimerdError
from .values import Json, texts, without_none
from .wire import Notification

#: As many fires are known, so that one that is told again after a crash is told apart.
_KNOWN = 10_000


class Lost(NamedTuple):
    """Of the events behind `after`, up to `through`, some are no longer kept; the others follow."""

    after: int
    through: int


class Progress:
    def __init__(self, cursor: Optional[Cursor], since: Optional[int], types: Optional[Sequence[str]], jobs: Optional[Sequence[int]]) -> None:
        self.cursor = cursor
        kept = cursor.load() if cursor is not None else None
        self.seen: Optional[int] = kept if kept is not None else since
        self._saved = self.seen
        #: Up to which event a loss has been told.
        self._lost = 0
        #: `seen` and `_lost` of what was dealt with.
        self._dealt = (self.seen, self._lost)
        #: The fire that is being dealt with, if it is known by that alone.
        self._fire: Optional[int] = None
        # An empty list is not none: the daemon refuses it.
        self._filter = without_none({"types": None if types is None else texts("types", types), "jobs": None if jobs is None else list(jobs)})
        self._fires: Set[int] = set()
        self._order: Deque[int] = collections.deque()

    def params(self) -> Json:
        return {**self._filter, **without_none({"since": self.seen})}

    def begun(self, seq: int) -> None:
        """Without a number to begin at, what comes from now on is watched, also over a lost connection."""
        if self.seen is None:
            self.seen = seq
            self.done()

    def take(self, notification: Notification) -> "Json | Lost | None":
        """What the user is to be told of this, if anything."""
        params = notification.params
        if notification.method == "events.lost":
            # Behind it root is sent what is left of those numbers: the next event says where the watch is.
            # Until then each new connection is told of the same loss, and perhaps of more.
            after, through = max(_integer(params, "after"), self._lost), _integer(params, "through")
            if through <= after:
                return None
            self._lost = through
            return Lost(after, through)
        if notification.method != "event":
            return None
        seq = _integer(params, "seq")
        if self.seen is not None and seq <= self.seen:
            return None
        self.seen = seq
        return None if self._is_repeat(params) else params

    def _is_repeat(self, event: Json) -> bool:
        if event.get("type") != "fire.fired":
            return False
        fire = _integer(event, "fire")
        if fire in self._fires and event.get("redelivered"):
            return True
        self._fire = fire
        self._fires.add(fire)
        self._order.append(fire)
        if len(self._order) > _KNOWN:
            self._fires.discard(self._order.popleft())
        return False

    def rewind(self) -> bool:
        """An iteration begins: what the one before was dealing with as it ended is told again. Whether there is such."""
        if self._dealt == (self.seen, self._lost):
            return False
        self.seen, self._lost = self._dealt
        if self._fire is not None:
            self._fires.discard(self._fire)
            self._order.pop()
            self._fire = None
        return True

    def done(self) -> None:
        """What was told has been dealt with."""
        self._dealt, self._fire = (self.seen, self._lost), None
        if self.cursor is not None and self.seen is not None and self.seen != self._saved:
            self.cursor.save(self.seen)
            self._saved = self.seen


def passes(error: TimerdError) -> bool:
    """Whether what has ended a watch passes: the daemon is away or stopping, its disk is full for a while, it has all the connections it may have.

    A limit that is the subscription's own does not.
    """
    if isinstance(error, LimitReached):
        return error.of_connection
    return isinstance(error, (ConnectionFailed, StorageFailed, Stopping, InternalError)) and not isinstance(error, ProtocolError)


def _integer(params: Json, word: str) -> int:
    number = params.get(word)
    if not isinstance(number, int) or isinstance(number, bool):
        raise ProtocolError("timerd sent a notification whose '%s' is %r and no integer" % (word, number))
    return number
