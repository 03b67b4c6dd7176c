# SPDX-License-Identifier: Apache-2.0
"""A task, as a worker has it."""
from __future__ import annotations

import threading
from datetime import datetime
from typing import Any, Optional

from .errors import LeaseLost
from .values import Json, read_date


class Task:
    """One attempt at a fire. `fire` is the number that never changes: what was done for it once need not be done again.

    `raw` has all fields as they came; in `task.list` there is no token.
    """

    __slots__ = ("raw", "_fire", "attempt", "_token", "queue", "job", "name", "payload", "lost")

    def __init__(self, raw: Json) -> None:
        self.raw = raw
        self._fire: int = raw["fire"]
        self.attempt: int = raw.get("attempt", 0)
        self._token: Any = raw.get("token")
        self.queue: str = raw.get("queue", "")
        self.job: Optional[int] = raw.get("job")
        self.name: Optional[str] = raw.get("name")
        #: The job's `userInfo`.
        self.payload: Any = raw.get("userInfo")
        #: Set by a worker once this attempt counts for nothing: its lease or its time is over. A long handler looks at it, or calls `check`.
        self.lost = threading.Event()

    def check(self) -> None:
        """Raises LeaseLost once this attempt counts for nothing."""
        if self.lost.is_set():
            raise LeaseLost("task %d is not this attempt's any more" % self.fire, "leaseLost", -32008)

    # What is said of the task goes by these two: no handler changes them.

    @property
    def fire(self) -> int:
        return self._fire

    @property
    def token(self) -> Any:
        return self._token

    @property
    def state(self) -> Optional[str]:
        value = self.raw.get("state")
        return value if isinstance(value, str) else None

    @property
    def fire_date(self) -> datetime:
        return read_date(self.raw["fireDate"])

    @property
    def handle(self) -> Json:
        """What is to be given with whatever is said of this attempt."""
        return {"fire": self.fire, "token": self.token}

    def __repr__(self) -> str:
        return "<Task fire=%d attempt=%d queue=%r>" % (self.fire, self.attempt, self.queue)
