# SPDX-License-Identifier: Apache-2.0
"""A worker for asyncio."""
from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from typing import Any, Awaitable, Callable, List, Mapping, Optional, Sequence, Set, Union

from . import aio_signals, outcome
from .aio_bell import Bell
from .aio_client import AsyncClient
from .duty import Duty, Held, kind, unrun
from .errors import ConnectionFailed, Refused, TimerdError
from .log import Log
from .outcome import Report
from .repeats import Backoff
from .task import Task
from .values import Duration, duration, seconds

AsyncHandler = Callable[[Task], Awaitable[Any]]
log = Log("timerd.worker")

#: How long, once all handlers have ended, what became of their tasks may take to be said.
_LAST_WORDS = 5.0
_CANCELLED = "its handler was cancelled"


class AsyncWorker:
    """As `Worker`, with coroutines: a handler whose task is lost, or whose deadline is over, is cancelled."""

    def __init__(
        self,
        queues: Union[str, Sequence[str]],
        handler: Optional[AsyncHandler] = None,
        *,
        by_queue: Optional[Mapping[str, AsyncHandler]] = None,
        by_name: Optional[Mapping[str, AsyncHandler]] = None,
        socket: Optional[str] = None,
        concurrency: int = 100,
        lease: Duration = "1min",
        deadline: Optional[Duration] = None,
        grace: Duration = 30.0,
        wait: Duration = "30s",
    ) -> None:
        self._duty = Duty(queues, handler, by_queue, by_name, concurrency, lease, deadline, wait)
        for one in self._duty.handlers:
            if kind(one) == "generator function":
                raise TypeError("the handler %r is a generator function; nothing of it would run" % (one,))
        self.grace = seconds(duration(grace))
        # Tasks are tied to the first one's connection: a lost one must be noticed.
        self._reserving, self._saying = AsyncClient(socket, reconnect=False), AsyncClient(socket)
        self._running: "Set[asyncio.Task[Report]]" = set()
        self._bell = Bell()
        self._reserving.on_end = self._bell.ring
        self._has_run = False
        self._is_asked = False  # to stop
        self._has_ctrl_c = False  # so that a KeyboardInterrupt is one that a handler has raised by itself
        self._moving: "Optional[asyncio.Future[None]]" = None

    def stop(self, grace: Optional[float] = None) -> None:
        """Takes no more tasks. From another thread: `loop.call_soon_threadsafe(worker.stop)`."""
        if grace is not None:
            self.grace = grace
        self._is_asked = True
        self._bell.ring()

    async def run(self, *, signals: bool = True) -> None:
        """Works until `stop`, or in the main thread SIGTERM or SIGINT, which all workers of the event loop hear; a second signal ends the grace. Raises
        what makes working impossible, such as NotPermitted. Where it is cancelled, its handlers are, and their tasks go back at once. A worker runs once."""
        if self._has_run:
            raise RuntimeError("this worker has run; make another")
        self._has_run = True
        loop = asyncio.get_running_loop()
        # Two connections tie tasks to themselves at a stop: the one that is to keep them has to be the later one. Made here: with Python 3.9 a lock
        # belongs to the event loop that is there when it is made.
        self._tying = asyncio.Lock()
        listens = signals and aio_signals.listen(loop, self._signalled)
        self._has_ctrl_c = listens or threading.current_thread() is not threading.main_thread()
        reserving = asyncio.ensure_future(self._reserve())
        others = [asyncio.ensure_future(one) for one in (self._leases(), self._deadlines(), self._report(), self._until_asked())]
        try:
            ended, _ = await asyncio.wait([reserving, *others], return_when=asyncio.FIRST_COMPLETED)
            self._duty.is_stopping = True
            await self._end(reserving)
            for first in ended:
                first.result()  # a fault in one of these
        finally:
            self._duty.forget()
            left: "List[asyncio.Future[Any]]" = [reserving, *others, *self._running, *([] if self._moving is None else [self._moving])]
            try:
                for one in left:
                    one.cancel()  # which fails where its event loop was closed
                # In front of what the handlers do when they are cancelled, which may take long: their tasks go back with the connections.
                await asyncio.gather(self._reserving.close(), self._saying.close())
                await asyncio.gather(*left, return_exceptions=True)
            finally:  # also where it is cancelled a second time: else the signals would be heard by nobody
                if listens:
                    aio_signals.leave(loop, self._signalled)

    def _signalled(self) -> None:
        self.stop(0.0 if self._is_asked else None)

    async def _until_asked(self) -> None:
        while not self._is_asked:
            await self._bell.wait()

    # Reserving

    async def _reserve(self) -> None:
        backoff = Backoff()
        while not self._duty.is_stopping:
            room = self._duty.room()
            if self._reserving.has_ended():
                self._duty.is_untied = True
            if room == 0 and not self._duty.is_untied:
                await self._bell.wait()
                continue
            try:
                async with self._tying:
                    self._duty.reserves(time.monotonic())
                    if self._duty.is_stopping:
                        return
                    if self._duty.is_untied:
                        await self._extend(self._reserving, True)
                        self._duty.is_untied = False
                if room == 0:
                    backoff.reset()
                    continue
                tasks = await self._reserving.reserve(
                    self._duty.queues, count=room, lease=self._duty.lease, wait=self._duty.wait, while_connected=True
                )
            except (ConnectionFailed,) + outcome.LATER as error:
                self._duty.is_untied = True
                if not self._duty.is_stopping:
                    log.warning("reserving: %s; trying again", error)
                    await asyncio.sleep(backoff.next())
                continue
            backoff.reset()
            for task in tasks:
                held = self._duty.take(task, time.monotonic())
                if held is not None:
                    held.running = running = asyncio.ensure_future(self._outcome(task))
                    self._running.add(running)
                    running.add_done_callback(functools.partial(self._handled, held))
            self._bell.ring()

    # Handling

    def _handled(self, held: Held, running: "asyncio.Task[Report]") -> None:
        """Also where it was cancelled before it began, or raised what is about the program: a task of which nothing is said is kept for ever."""
        self._running.discard(running)
        error = None if running.cancelled() else running.exception()
        if running.cancelled():
            report = outcome.failed(held.task, _CANCELLED)
        elif error is not None:
            log.warning("task %d failed", held.task.fire, exc_info=error)
            report = outcome.of_error(held.task, error)
        else:
            report = running.result()
        self._duty.handled(held, report)
        self._bell.ring()

    async def _outcome(self, task: Task) -> Report:
        handler = self._duty.choose(task)
        if handler is None:
            return outcome.failed(task, "this worker has no handler for the queue '%s'" % task.queue)
        try:
            value = handler(task)
            if not inspect.isawaitable(value):
                return outcome.failed(task, unrun(value) or "the handler is no coroutine function: Worker takes these")
            wrong = unrun(await value)
            return outcome.finished(task) if wrong is None else outcome.failed(task, wrong)
        except asyncio.CancelledError:
            return outcome.failed(task, _CANCELLED)
        except GeneratorExit:
            raise  # the event loop may have gone; where it goes on `_handled` says it
        except BaseException as error:  # SystemExit and the like end no worker
            if issubclass(type(error), KeyboardInterrupt) and not self._has_ctrl_c:
                raise  # it may be Ctrl-C, and is about the program
            if not outcome.is_retry(error):
                log.warning("task %d failed", task.fire, exc_info=True)
            return outcome.of_error(task, error)

    # Saying

    async def _report(self) -> None:
        while True:
            batch = self._duty.next_batch()
            if batch is None:
                await self._bell.wait()
            else:
                await self._insist(*batch)
                self._bell.ring()

    async def _insist(self, method: str, reports: Sequence[Report]) -> None:
        """Until it was answered: what is said again by the same attempt is answered again."""
        backoff = Backoff()
        while True:
            try:
                result = await self._saying.request(method, {"tasks": [report.item for report in reports]})
                for task, why in self._duty.answered(reports, result):
                    log.warning("task %d: %s", task.fire, why)
                return
            except (ConnectionFailed,) + outcome.LATER as error:
                log.warning("%s: %s; trying again", method, error)
                await asyncio.sleep(backoff.next())
            except Refused as error:
                log.error("%s: %s", method, error)
                lost = self._duty.refused(reports, error)
                if lost is not None:
                    log.error("task %d: nothing can be said of it; it comes again", lost.fire)
                return

    # Keeping

    async def _leases(self) -> None:
        while True:
            now = time.monotonic()
            extends_at = self._duty.extends_at(now)
            if extends_at is None or now < extends_at:
                await self._sleep(extends_at, now)
                continue
            self._duty.extends(now)
            try:
                # In the grace they are tied to this connection, which may have been made anew.
                await self._extend(self._saying, self._duty.is_stopping)
            except TimerdError as error:
                log.warning("extending leases: %s", error)
                self._duty.extend_failed(time.monotonic())

    async def _deadlines(self) -> None:
        """Beside the leases: a daemon that hangs answers no extend, and deadlines pass meanwhile."""
        while True:
            now = time.monotonic()
            overdue = self._duty.overdue(now)
            for held in overdue:
                self._duty.fail_overdue(held)
                held.running.cancel()
            if overdue:
                self._bell.ring()
            else:
                await self._sleep(self._duty.next_deadline(), now)

    async def _sleep(self, moment: Optional[float], now: float) -> None:
        """Until then, or until something changes."""
        await self._bell.wait(None if moment is None else asyncio.get_running_loop().time() + max(0.0, moment - now))

    async def _extend(self, client: AsyncClient, while_connected: bool) -> None:
        for some, params in self._duty.extensions(while_connected):
            result = await client.request("task.extend", params)
            for held in self._duty.extended(some, result):
                held.running.cancel()
                log.warning("task %d: its lease is lost; its handler was cancelled", held.task.fire)
            self._bell.ring()

    # The end

    async def _end(self, reserving: "asyncio.Future[None]") -> None:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        # Beside it: a daemon that hangs answers after the grace, or never.
        self._moving = asyncio.ensure_future(self._move(reserving))
        while self._duty.held and loop.time() < begun + self.grace:
            await self._bell.wait(begun + self.grace)
        reserving.add_done_callback(lambda _: self._bell.ring())
        quiet_at = loop.time() + self._duty.quiet_at - time.monotonic()
        while not reserving.done() and loop.time() < min(quiet_at, begun + self.grace):
            await self._bell.wait(min(quiet_at, begun + self.grace))
        for held in self._duty.give_up():
            held.running.cancel()
        self._bell.ring()
        until = loop.time() + _LAST_WORDS
        while self._duty.unsaid() and loop.time() < until:
            await self._bell.wait(until)
        if self._duty.unsaid():
            log.warning("of %d tasks could not be said what became of them; they may come again", self._duty.unsaid())
        if self._moving.done():
            self._moving.result()  # a fault in it

    async def _move(self, reserving: "asyncio.Future[None]") -> None:
        """Ties what is in progress to the other connection: else it would go back with the one that waits for more."""
        backoff = Backoff()
        while True:
            try:
                async with self._tying:
                    await self._extend(self._saying, True)
                await asyncio.wait([reserving], timeout=max(0.0, self._duty.quiet_at - time.monotonic()))
                await self._extend(self._saying, True)  # what has come by then goes back by a release
                return await self._reserving.close()
            except TimerdError as error:
                # The one that waits stays, and with it what is in progress.
                log.warning("keeping what is in progress: %s; trying again", error)
                await asyncio.sleep(backoff.next())
