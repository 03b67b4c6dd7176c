# SPDX-License-Identifier: Apache-2.0
"""Which requests may be sent twice, and when a call that has failed is tried again. Decides, and does nothing."""
from __future__ import annotations

import math
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

#: For how long after its job's end a key is kept where none is said.
_KEPT = 86400.0

#: So long before its key may be forgotten a job is added for the last time: the request may lie in the daemon for a while.
_MARGIN = 30.0


def repeats_for(method: str, params: Mapping[str, Any]) -> float:
    """For how many seconds since it was first sent it does no harm to send this request again when its reply was lost: for ever where it reads, or
    the second time changes nothing; 0 for not at all.

    By name a repeat could mean another job than the first time, so only ids are taken as safe.
    """
    if method in _READS or method in _HARMLESS:
        return math.inf
    if method in ("job.invalidate", "job.pause", "job.resume"):
        return math.inf if "id" in params or "ids" in params else 0.0
    if method in ("job.add", "job.apply") and params.get("dryRun") is True:
        return math.inf  # it changes nothing
    if method == "job.add" and not params.get("replace"):
        jobs = params.get("jobs", [params])
        return min(map(_key_guards_for, jobs), default=0.0) if isinstance(jobs, list) else 0.0
    return 0.0


def _key_guards_for(job: Any) -> float:
    """For how long since it was first sent its key is there in any case: it may have ended at once."""
    if not isinstance(job, dict) or not isinstance(job.get("key"), str):
        return 0.0
    # With the connection its job has ended: the second request would be answered with that one.
    if job.get("whileConnected"):
        return 0.0
    kept = job.get("keyKept")
    try:
        return (_KEPT if kept is None else seconds(kept)) - _MARGIN
    except (TypeError, ValueError):
        return 0.0  # the daemon will say what is wrong with it


class Attempts:
    """The attempts of one call: what connects to nobody is tried for `patience` seconds; what has lost its connection once more in any case, for a
    daemon that was killed takes connections until the kernel has closed its socket, and then for as long as that.
    """

    def __init__(self, asks: Sequence[Ask], patience: float, reconnect: bool, now: float, deadline: Optional[float]) -> None:
        self._asks, self._patience, self._reconnect, self._deadline = asks, patience, reconnect, deadline
        self._until = now + patience
        self._pause = 0.02
        self._was_lost = False
        self._was_sent = False
        self._first = now  # the attempt that has sent it first began then, or later

    def after(self, error: ConnectionFailed, now: float) -> Optional[float]:
        """The pause in front of the next attempt, or None: there is none."""
        if not (isinstance(error, CannotConnect) or (isinstance(error, NotSent) and len(self._asks) == 1)):
            self._was_sent = True
        if not self._was_sent:
            self._first = now
        elif now >= self._first + min(repeats_for(*ask) for ask in self._asks):
            return None
        if self._deadline is not None and now >= self._deadline:
            return None
        if isinstance(error, CannotConnect):
            # Where somebody listens, and has more to accept than the kernel keeps, there will be room.
            if now >= self._until and not error.is_full:
                return None
        elif not self._reconnect or not isinstance(error, ConnectionLost):
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

    def final(self, error: ConnectionFailed) -> ConnectionFailed:
        """What the caller is told: what was sent once may have been carried out, though the last attempt has reached nobody."""
        if self._was_sent and isinstance(error, CannotConnect):
            return ConnectionLost("%s; the request was sent before that, and may have been carried out" % error)
        return error


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
