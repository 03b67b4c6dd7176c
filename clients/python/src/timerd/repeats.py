# SPDX-License-Identifier: Apache-2.0
"""Which requests may be sent twice, and when a call that has failed is tried again. Decides, and does nothing."""
from __future__ import annotations

import random
from typing import Any, Mapping, Optional, Sequence, Tuple

from .errors import CannotConnect, ConnectionFailed, ConnectionLost, NotSent
from .values import seconds

Ask = Tuple[str, Mapping[str, Any]]

_READS = frozenset(
    """daemon.check daemon.metrics daemon.status job.calendar job.dates job.get job.list node.list notice.list queue.list
    run.calendar run.get run.list run.output schedule.preview task.list upload.list""".split()
)

#: What the token of one attempt guards, and what sets a state.
_HARMLESS = frozenset("node.drain task.extend task.fail task.finish task.release queue.set".split())

#: A key that is kept for less may be forgotten by the time of the second request.
_LEAST_KEPT = 60.0


def may_repeat(method: str, params: Mapping[str, Any]) -> bool:
    """Whether it does no harm to send this request again when its reply was lost: it reads, or the second time changes nothing.

    By name a repeat could mean another job than the first time, so only ids are taken as safe.
    """
    if method in _READS or method in _HARMLESS:
        return True
    if method in ("job.invalidate", "job.pause", "job.resume"):
        return "id" in params or "ids" in params
    if method == "job.add":
        jobs = params.get("jobs", [params])
        return not params.get("replace") and isinstance(jobs, list) and bool(jobs) and all(_has_key(job) for job in jobs)
    return False


def _has_key(job: Any) -> bool:
    if not isinstance(job, dict) or not isinstance(job.get("key"), str):
        return False
    # With the connection its job has ended: the second request would be answered with that one.
    if job.get("whileConnected"):
        return False
    kept = job.get("keyKept")
    if kept is None:
        return True
    try:
        return seconds(kept) >= _LEAST_KEPT
    except (TypeError, ValueError):
        return False  # the daemon will say what is wrong with it


class Attempts:
    """The attempts of one call: what connects to nobody is tried for `patience` seconds; what has lost its connection once more in any case, for a
    daemon that was killed takes connections until the kernel has closed its socket, and then for as long as that.
    """

    def __init__(self, asks: Sequence[Ask], patience: float, reconnect: bool, now: float, deadline: Optional[float]) -> None:
        self._asks, self._patience, self._reconnect, self._deadline = asks, patience, reconnect, deadline
        self._until = now + patience
        self._pause = 0.02
        self._was_lost = False

    def after(self, error: ConnectionFailed, now: float) -> Optional[float]:
        """The pause in front of the next attempt, or None: there is none."""
        if self._deadline is not None and now >= self._deadline:
            return None
        if isinstance(error, CannotConnect):
            # Where somebody listens, and has more to accept than the kernel keeps, there will be room.
            if now >= self._until and not error.is_full:
                return None
        elif not self._may_repeat(error):
            return None
        elif not self._was_lost:
            self._was_lost = True
            self._until = now + self._patience
            return 0.0
        elif now >= self._until:
            return None
        pause = self._pause
        self._pause = min(1.0, pause * 1.5)
        ends = [self._until - now] if now < self._until else []
        if self._deadline is not None:
            ends.append(self._deadline - now)
        return max(0.001, min([pause] + ends))

    def _may_repeat(self, error: ConnectionFailed) -> bool:
        if not self._reconnect:
            return False
        if isinstance(error, NotSent) and len(self._asks) == 1:
            return True
        return isinstance(error, ConnectionLost) and all(may_repeat(*ask) for ask in self._asks)


class Backoff:
    """Pauses between attempts that go on for as long as it takes: longer each time, up to two seconds, and not of all programs at once."""

    def __init__(self) -> None:
        self._pause = 0.02

    def next(self) -> float:
        pause = self._pause * (0.5 + random.random() / 2)
        self._pause = min(2.0, self._pause * 1.7)
        return pause

    def reset(self) -> None:
        self._pause = 0.02
