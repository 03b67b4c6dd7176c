# SPDX-License-Identifier: Apache-2.0
"""What becomes of a task, for both workers."""
from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from .errors import InternalError, LeaseLost, LimitReached, NotFound, ProtocolError, Refused, StorageFailed, Stopping, refusal
from .task import Task
from .values import Duration, Json, bounded, duration, seconds

#: What may be said of as many tasks in one request: reasons of failures are long, and a line has at most 1 MiB.
MOST = {"task.finish": 500, "task.release": 500, "task.fail": 32}

#: The daemon could not do it now; nothing was changed, and it is asked again. A limit is that of connections here, and passes.
LATER = (StorageFailed, Stopping, InternalError, LimitReached)


_LONGEST = 365 * 86400


class Retry(Exception):
    """Raised by a handler: try this task again.

    With `delay` it is released for then, which costs no retry and has no end; timerd keeps no reason of that, so a `reason` beside it is only the
    exception's text. With a `reason` alone it has failed, and is tried again after the job's backoff while it has retries.
    """

    def __init__(self, delay: Optional[Duration] = None, reason: Optional[str] = None) -> None:
        super().__init__(reason or "to be tried again")
        if delay is not None and not 0 <= seconds(duration(delay)) <= _LONGEST:
            raise ValueError("the delay %r is longer than 365 days" % (delay,))
        self.delay = delay
        self.reason = reason


class Report(NamedTuple):
    method: str
    task: Task
    item: Json


def finished(task: Task) -> Report:
    return Report("task.finish", task, task.handle)


def failed(task: Task, reason: str) -> Report:
    return Report("task.fail", task, {**task.handle, "reason": bounded(reason)})


def released(task: Task, delay: Duration = 0) -> Report:
    span = duration(delay)
    seconds(span)  # a text that is none, which JSON may not be able to say, is a ValueError here
    return Report("task.release", task, {**task.handle, **({} if span == "0s" else {"delay": span})})


def is_retry(error: BaseException) -> bool:
    return issubclass(type(error), Retry)  # `isinstance` asks the exception itself, which may raise


def of_error(task: Task, error: BaseException) -> Report:
    name = _name(error)
    try:
        if isinstance(error, Retry):
            if error.delay is not None:
                return released(task, error.delay)
            return failed(task, str(error.reason or "it is to be tried again"))
        text = "".join(char if char.isprintable() or char == "\n" else "?" for char in str(error))
    except BaseException as worse:  # also SystemExit, raised by its `__str__`, ends no worker
        text = "what it says cannot be told: %s" % _name(worse)
    return failed(task, "%s: %s" % (name, text) if text else name)


def _name(error: BaseException) -> str:
    """That of its class, whatever a metaclass says, which may raise."""
    name: str = type.__dict__["__name__"].__get__(type(error))
    return name


def batches(reports: Sequence[Report]) -> List[Tuple[str, List[Report]]]:
    """As few requests as hold them, each of one method."""
    by_method: Dict[str, List[Report]] = {}
    for report in reports:
        by_method.setdefault(report.method, []).append(report)
    return [
        (method, some[start : start + MOST[method]])
        for method, some in by_method.items()
        for start in range(0, len(some), MOST[method])
    ]


def answers(result: Any, count: int) -> List[Optional[Refused]]:
    """Of each task of a list: None, or why it was refused."""
    tasks = result.get("tasks") if isinstance(result, dict) else None
    if not isinstance(tasks, list) or len(tasks) != count or not all(isinstance(item, dict) for item in tasks):
        raise ProtocolError("timerd answered for %d tasks with what cannot be read: %.200r" % (count, result))
    return [refusal(item["error"]) if isinstance(item.get("error"), dict) else None for item in tasks]


def is_lost(error: Optional[Refused]) -> bool:
    return isinstance(error, (LeaseLost, NotFound))
