# SPDX-License-Identifier: Apache-2.0
"""A call as a value: its request, and how its answer is read."""
from __future__ import annotations

from typing import Any, Callable, Generic, List, Mapping, Optional, Tuple, TypeVar

from .errors import ProtocolError, Refused
from .values import Json, seconds

T = TypeVar("T")


class Call(Generic[T]):
    def __init__(self, method: str, params: Json, read: Callable[[Any], T], otherwise: "Optional[Callable[[Refused], T]]" = None) -> None:
        self.method, self.params = method, params
        self._read, self._otherwise = read, otherwise

    def value(self, answer: Any) -> T:
        """What the answer means, which is a result or a Refused."""
        if isinstance(answer, Refused):
            if self._otherwise is None:
                raise answer
            return self._otherwise(answer)
        try:
            return self._read(answer)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise ProtocolError("timerd answered '%s' with what cannot be read: %s: %s" % (self.method, type(error).__name__, error)) from error


class Pages(Generic[T]):
    """A list that is read page by page."""

    def __init__(self, method: str, key: str, filters: Mapping[str, Any], make: Callable[[Any], T]) -> None:
        self._method, self._key, self._filters, self._make = method, key, filters, make

    def page(self, cursor: Any) -> "Call[Tuple[List[T], Any]]":
        """The page at `cursor`, and the cursor of the next; None for the first, and behind the last."""
        params = {**self._filters, **({} if cursor is None else {"cursor": cursor})}
        return Call(self._method, params, lambda result: ([self._make(item) for item in result[self._key]], result.get("cursor")))


def waits(method: str, params: Mapping[str, Any]) -> Optional[float]:
    """For how many seconds the daemon may wait before it answers, holding back the replies behind it; None: for as long as a run takes."""
    if method == "run.output" and params.get("wait"):
        return None
    if method != "task.reserve":
        return 0.0
    try:
        return seconds(params.get("wait", "0s"))
    except (TypeError, ValueError):
        return 0.0  # the daemon will say what is wrong with it
