# SPDX-License-Identifier: Apache-2.0
"""What a worker has to do: which tasks it has, what is to be said of them, and when. Does no input or output; the time is given."""
from __future__ import annotations

import functools
import inspect
from types import CodeType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import outcome
from .errors import Refused
from .outcome import Report
from .task import Task
from .values import Duration, Json, duration, seconds, texts

#: How many tasks one request is about at most.
_MOST = 500
#: A reserve takes no more.
_MOST_RESERVED = 1000
#: How long a reserve is in progress, in seconds, before a stop ends it with its connection. What is handed out in that moment is lost with that, so a
#: younger one is waited for: the tasks that it brings are given back. Where none came for so long, hardly one comes just then.
_QUIET = 1.0

Handler = Callable[[Task], Any]


class Held:
    """A task that this worker has, from its reserve until what became of it was answered."""

    def __init__(self, task: Task, deadline: Optional[float]) -> None:
        self.task = task
        self.deadline = deadline
        self.is_said = False
        self.running: Any = None  # what an event loop runs for it


class Duty:
    """Threads use it one at a time."""

    def __init__(
        self,
        queues: Union[str, Sequence[str]],
        handler: Optional[Handler],
        by_queue: Optional[Mapping[str, Handler]],
        by_name: Optional[Mapping[str, Handler]],
        concurrency: int,
        lease: Duration,
        deadline: Optional[Duration],
        wait: Duration,
    ) -> None:
        if isinstance(concurrency, bool) or not isinstance(concurrency, int) or concurrency < 1:
            raise ValueError("concurrency is an integer of at least 1, not %r" % (concurrency,))
        self.queues = [queues] if isinstance(queues, str) else texts("queues", queues)
        self.handler, self.by_queue, self.by_name = handler, dict(by_queue or {}), dict(by_name or {})
        self.concurrency = concurrency
        self.lease, self.wait = duration(lease), duration(wait)
        self._third = max(0.03, seconds(self.lease) / 3)
        self._deadline = None if deadline is None else seconds(duration(deadline)) or None
        if seconds(self.wait) == 0:  # answered at once, it would ask without a pause
            raise ValueError("wait %r is too short; accepted is how long the daemon is to wait for a task, such as '30s'" % (wait,))
        #: By the token: while this process stood still, a later attempt of the same fire may have become this worker's as well.
        self.held: Dict[Any, Held] = {}
        self.is_stopping = False
        #: From when on a stop may end the reserve that is in progress.
        self.quiet_at = 0.0
        #: The connection that the tasks were tied to may be over: they are to be tied to the next one.
        self.is_untied = False
        self._busy = 0
        self._reports: List[Report] = []
        self._again: List[Tuple[str, List[Report]]] = []  # in front of these
        self._on_their_way = 0
        self._extend_at: Optional[float] = None

    @property
    def handlers(self) -> List[Handler]:
        return [one for one in (self.handler, *self.by_queue.values(), *self.by_name.values()) if one is not None]

    def choose(self, task: Task) -> Optional[Handler]:
        """A handler of the task's name, else of its queue, else the one for all."""
        named = self.by_name.get(task.name) if task.name is not None else None
        return named or self.by_queue.get(task.queue) or self.handler

    # Taking

    def room(self) -> int:
        return 0 if self.is_stopping else min(_MOST_RESERVED, self.concurrency - self._busy)

    def reserves(self, now: float) -> None:
        """A reserve begins, unless it is stopping: to be said before that is looked at, so that a stop that comes in between knows of it."""
        self.quiet_at = now + _QUIET

    def take(self, task: Task, now: float) -> Optional[Held]:
        """What was reserved, to be handled; None where it is given back, for nothing is begun any more."""
        held = self.held[task.token] = Held(task, None if self._deadline is None else now + self._deadline)
        if self.is_stopping:
            self.settle(held, outcome.released(task))
            return None
        self._busy += 1
        if self._extend_at is None:
            self._extend_at = now + self._third
        return held

    def handled(self, held: Held, report: Optional[Report]) -> None:
        """Its handler has ended."""
        self._busy -= 1
        if report is not None:
            self.settle(held, report)

    # Saying

    def settle(self, held: Held, report: Report) -> None:
        """Says what became of a task, unless that was said, or it was lost."""
        if not held.is_said and held.task.token in self.held:
            held.is_said = True
            self._reports.append(report)

    def next_batch(self) -> Optional[Tuple[str, List[Report]]]:
        """What is to be said with one request. What has gathered meanwhile goes together."""
        if not self._again:
            self._again = outcome.batches(self._reports)
            self._reports = []
        if not self._again:
            return None
        batch = self._again.pop(0)
        self._on_their_way += len(batch[1])
        return batch

    def answered(self, reports: Sequence[Report], result: Any) -> List[Tuple[Task, Refused]]:
        """Of each what was said; those that were refused, but for what had gone back by itself before it was given back at a stop."""
        refused = outcome.answers(result, len(reports))
        self._said(reports)
        told = [(report, error) for report, error in zip(reports, refused) if error is not None]
        return [
            (report.task, error)
            for report, error in told
            if not (self.is_stopping and report.method == "task.release" and outcome.is_lost(error))
        ]

    def refused(self, reports: Sequence[Report], error: Refused) -> Optional[Task]:
        """The request was refused, and with it all that it said: each is said by itself, and what cannot be said is a failure.

        The task of which nothing at all can be said: it comes back with the end of its lease.
        """
        self._on_their_way -= len(reports)
        if len(reports) > 1:
            self._again = [(report.method, [report]) for report in reports] + self._again
            return None
        report = reports[0]
        if report.method != "task.fail":
            self._again.insert(0, ("task.fail", [outcome.failed(report.task, "%s: %s" % (report.method, error))]))
            return None
        self._on_their_way += 1
        self._said(reports)
        return report.task

    def _said(self, reports: Sequence[Report]) -> None:
        self._on_their_way -= len(reports)
        for report in reports:
            self.held.pop(report.task.token, None)

    def unsaid(self) -> int:
        """Of how many tasks something is still to be said, or to be answered."""
        return self._on_their_way + len(self._reports) + sum(len(reports) for _, reports in self._again)

    # Keeping

    def extends_at(self, now: float) -> Optional[float]:
        """When all leases are to be extended; None while nothing is held."""
        if not self.held:
            self._extend_at = None
        elif self._extend_at is None:
            self._extend_at = now + self._third
        return self._extend_at

    def extends(self, now: float) -> None:
        self._extend_at = now + self._third

    def extend_failed(self, now: float) -> None:
        """Again soon: while no daemon runs no lease ends; once it is back, each has its whole length."""
        self._extend_at = now + min(self._third, 0.25)

    def extensions(self, while_connected: bool) -> List[Tuple[List[Held], Json]]:
        """The requests that extend all leases, and whom each is about. With `while_connected` they are tied to the connection that it goes over."""
        held = list(self.held.values())
        more = {"whileConnected": True} if while_connected else {}
        parts = [held[start : start + _MOST] for start in range(0, len(held), _MOST)]
        return [(some, {"tasks": [one.task.handle for one in some], **more}) for some in parts]

    def extended(self, some: Sequence[Held], result: Any) -> List[Held]:
        """Those whose lease is lost: nothing is said of them any more."""
        lost = []
        for held, refused in zip(some, outcome.answers(result, len(some))):
            # What became of it may be on its way, and have ended the lease.
            if outcome.is_lost(refused) and not held.is_said and self.held.pop(held.task.token, None) is not None:
                held.task.lost.set()
                lost.append(held)
        return lost

    # Deadlines

    def next_deadline(self) -> Optional[float]:
        return min((held.deadline for held in self.held.values() if held.deadline is not None and not held.is_said), default=None)

    def overdue(self, now: float) -> List[Held]:
        return [held for held in self.held.values() if held.deadline is not None and held.deadline <= now and not held.is_said]

    def fail_overdue(self, held: Held) -> None:
        self.settle(held, outcome.failed(held.task, "it took longer than %g s" % (self._deadline or 0.0)))
        held.task.lost.set()

    # The end

    def give_up(self) -> List[Held]:
        """What is still handled is given back; the handlers' results count for nothing."""
        left = [held for held in self.held.values() if not held.is_said]
        for held in left:
            self.settle(held, outcome.released(held.task))
            held.task.lost.set()
        return left

    def forget(self) -> None:
        """Nothing is said any more; what is tied to the connection goes back with it."""
        self.is_stopping = True
        self.held, self._reports, self._again = {}, [], []


def kind(function: Any) -> Optional[str]:
    """What a function is of which a call runs nothing yet, or None."""
    while isinstance(function, functools.partial):
        function = function.func
    # `types.coroutine` makes a coroutine function of a generator function, which is one all the same.
    code = getattr(function, "__code__", None)
    if inspect.iscoroutinefunction(function) or (isinstance(code, CodeType) and code.co_flags & inspect.CO_ITERABLE_COROUTINE):
        return "coroutine function"
    return "generator function" if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function) else None


def unrun(value: Any) -> Optional[str]:
    """What is wrong with a handler whose value, awaited where that is due, is this."""
    if inspect.isawaitable(value):
        _close(value)
        return "the handler has returned what is to be awaited, and was not"
    if inspect.isasyncgen(value) or (inspect.isgenerator(value) and inspect.getgeneratorstate(value) == inspect.GEN_CREATED):
        return "the handler has returned a generator, of which nothing was run"
    return None


def unawaited(value: Any) -> Optional[str]:
    """What is wrong with a handler that has returned this where a plain value was expected."""
    if not inspect.isawaitable(value):
        return unrun(value)
    _close(value)
    return "the handler is a coroutine function, of which nothing was run: AsyncWorker takes these"


def _close(value: Any) -> None:
    """So that Python does not warn of it. What has begun is somebody else's."""
    if inspect.iscoroutine(value) and inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
        value.close()
