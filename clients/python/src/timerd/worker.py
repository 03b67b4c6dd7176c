# SPDX-License-Identifier: Apache-2.0
"""A worker with threads."""
from __future__ import annotations

import queue
import signal
import threading
import time
from typing import Any, Callable, List, Mapping, Optional, Sequence, Tuple, Union

from . import outcome
from .client import Client
from .duty import Duty, Handler, Held, kind, unawaited
from .errors import ConnectionFailed, Refused, TimerdError
from .log import Log
from .outcome import Report
from .repeats import Backoff
from .values import Duration, duration, seconds
from .wake import Bell, Wake

log = Log("timerd.worker")

#: How long, once all handlers have ended, what became of their tasks may take to be said.
_LAST_WORDS = 5.0


class Worker:
    """Takes tasks of queues, and calls a handler for each: that of the task's name, of its queue, or the one for all.

    `handler(task)`: it returns, and the task is finished; it raises, and the task has failed (see `Retry`). `task.payload` is the job's `userInfo`.
    A task may come again after a crash: `task.fire` is its number, which stays.

    `lease`: how long a task stays this worker's without a word; it is extended at each third of it for as long as the handler runs. `deadline`:
    how long a handler may take, without a limit where it is None or 0; a task that takes longer has failed. `task.lost` is then set, the handler's result counts for nothing, and its
    thread is busy until it returns. `grace`: how long `run` waits at its end for what is in progress; what is left is released. What became of
    the tasks is then said for 5 s at most, where the daemon does not answer.
    """

    def __init__(
        self,
        queues: Union[str, Sequence[str]],
        handler: Optional[Handler] = None,
        *,
        by_queue: Optional[Mapping[str, Handler]] = None,
        by_name: Optional[Mapping[str, Handler]] = None,
        socket: Optional[str] = None,
        concurrency: int = 4,
        lease: Duration = "1min",
        deadline: Optional[Duration] = None,
        grace: Duration = 30.0,
        wait: Duration = "30s",
    ) -> None:
        self._duty = Duty(queues, handler, by_queue, by_name, concurrency, lease, deadline, wait)
        for one in self._duty.handlers:
            if kind(one) is not None:
                hint = "AsyncWorker takes these" if kind(one) == "coroutine function" else "nothing of it would run"
                raise TypeError("the handler %r is a %s; %s" % (one, kind(one), hint))
        self.grace = seconds(duration(grace))
        # Tasks are tied to its connection: a lost one must be noticed.
        self._reserving = Client(socket, reconnect=False)
        self._saying = Client(socket)
        self._lock = threading.Condition()
        self._work: "queue.SimpleQueue[Optional[Held]]" = queue.SimpleQueue()
        self._woken = Bell()  # wakes `run`
        # Two connections tie tasks to themselves at a stop: the one that is to keep them has to be the later one.
        self._tying = threading.Lock()
        self._has_run = False
        self._is_asked = False  # to stop
        self._stopping = threading.Event()
        self._reserves_no_more = threading.Event()
        self._over = threading.Event()
        self._trouble: Optional[BaseException] = None

    def stop(self, grace: Optional[float] = None) -> None:
        """Takes no more tasks; `run` returns once what is in progress has ended. May be called from a signal handler and from any thread."""
        if grace is not None:
            self.grace = grace
        self._is_asked = True
        self._woken.ring()

    def run(self, *, signals: bool = True) -> None:
        """Works until `stop`, or in the main thread SIGTERM or SIGINT; a second signal ends the grace. Raises what makes working impossible,
        such as NotPermitted. Where an exception of the program's ends it, such as KeyboardInterrupt, its tasks go back at once. A worker runs once."""
        if self._has_run:
            raise RuntimeError("this worker has run; make another")
        self._has_run = True
        # What wakes `_reserve`, which hears of the end of its connection as well. Made here: children of fork would share it, and take each other's rings.
        self._changed = Wake()
        before = self._take_signals() if signals and threading.current_thread() is threading.main_thread() else []
        try:
            for target in [self._reserve, self._leases, self._deadlines, self._report] + [self._handle] * self._duty.concurrency:
                threading.Thread(target=self._guarded, args=(target,), name="timerd" + target.__name__, daemon=True).start()
            while not self._is_asked:
                self._woken.wait()
            self._end()
        except BaseException:  # of a signal handler, or a thread that could not begin: none may go on behind it
            self._abandon()
            raise
        finally:
            for number, handler in before:
                signal.signal(number, handler)
        if self._trouble is not None:
            raise self._trouble

    def _take_signals(self) -> List[Tuple[int, Any]]:
        def taken(number: int, frame: Any) -> None:
            self.stop(0.0 if self._is_asked else None)

        return [(number, signal.signal(number, taken)) for number in (signal.SIGTERM, signal.SIGINT)]

    def _guarded(self, target: Callable[[], None]) -> None:
        """A thread that ends by a fault ends the worker, and is not missed in silence."""
        try:
            target()
        except BaseException as error:
            self._trouble = error
            self.stop()

    # Reserving

    def _reserve(self) -> None:
        try:
            self._reserve_until_stopped()
        finally:
            self._reserves_no_more.set()
            self._woken.ring()

    def _reserve_until_stopped(self) -> None:
        backoff = Backoff()
        while True:
            room = self._room_or_end()
            try:
                with self._tying:
                    self._duty.reserves(time.monotonic())
                    if self._duty.is_stopping:
                        return
                    if self._duty.is_untied:
                        self._extend(self._reserving, True)
                        self._duty.is_untied = False
                if room == 0:
                    backoff.reset()
                    continue
                tasks = self._reserving.reserve(
                    self._duty.queues, count=room, lease=self._duty.lease, wait=self._duty.wait, while_connected=True
                )
            except (ConnectionFailed,) + outcome.LATER as error:
                self._duty.is_untied = True
                if not self._stopping.is_set():
                    log.warning("reserving: %s; trying again", error)
                    self._stopping.wait(backoff.next())
                continue
            backoff.reset()
            with self._lock:
                for task in tasks:
                    held = self._duty.take(task, time.monotonic())
                    if held is not None:
                        self._work.put(held)
                self._lock.notify_all()

    def _room_or_end(self) -> int:
        """How many more may be taken, once there is room, or the connection has ended: its tasks are to be tied to the next one."""
        while True:
            self._changed.hush()
            with self._lock:
                room = self._duty.room()
                if room > 0 or self._duty.is_stopping or self._duty.is_untied:
                    return room
            if self._reserving.wait_for_end(self._changed):
                self._duty.is_untied = True

    # Handling

    def _handle(self) -> None:
        while True:
            held = self._work.get()
            if held is None:
                return
            # It may have been lost, be overdue or given back since it was taken.
            report = None if held.task.lost.is_set() else self._outcome(held)
            with self._lock:
                self._duty.handled(held, report)
                self._lock.notify_all()
            self._changed.ring()

    def _outcome(self, held: Held) -> Report:
        task = held.task
        handler = self._duty.choose(task)
        if handler is None:
            return outcome.failed(task, "this worker has no handler for the queue '%s'" % task.queue)
        try:
            wrong = unawaited(handler(task))
            return outcome.finished(task) if wrong is None else outcome.failed(task, wrong)
        except BaseException as error:  # SystemExit and the like end no worker
            if not outcome.is_retry(error):
                log.warning("task %d failed", task.fire, exc_info=True)
            return outcome.of_error(task, error)

    # Saying

    def _report(self) -> None:
        while True:
            with self._lock:
                batch = self._duty.next_batch()
                while batch is None and not self._over.is_set():
                    self._lock.wait()
                    batch = self._duty.next_batch()
            if batch is None:
                return
            self._insist(*batch)
            if self._stopping.is_set():
                self._woken.ring()

    def _insist(self, method: str, reports: Sequence[Report]) -> None:
        """Until it was answered: what is said again by the same attempt is answered again."""
        backoff = Backoff()
        while True:
            try:
                result = self._saying.request(method, {"tasks": [report.item for report in reports]})
                with self._lock:
                    refused = self._duty.answered(reports, result)
                    self._lock.notify_all()
                for task, why in refused:
                    log.warning("task %d: %s", task.fire, why)
                return
            except (ConnectionFailed,) + outcome.LATER as error:
                log.warning("%s: %s; trying again", method, error)
                if self._over.wait(backoff.next()):
                    return
            except Refused as error:
                log.error("%s: %s", method, error)
                with self._lock:
                    lost = self._duty.refused(reports, error)
                if lost is not None:
                    log.error("task %d: nothing can be said of it; it comes again", lost.fire)
                return

    # Keeping

    def _leases(self) -> None:
        while not self._over.is_set():
            with self._lock:
                now = time.monotonic()
                extends_at = self._duty.extends_at(now)
                if extends_at is None or now < extends_at:
                    self._sleep(extends_at, now)
                    continue
                self._duty.extends(now)
            try:
                # In the grace they are tied to this connection, which may have been made anew.
                self._extend(self._saying, self._stopping.is_set())
            except TimerdError as error:
                log.warning("extending leases: %s", error)
                with self._lock:
                    self._duty.extend_failed(time.monotonic())

    def _deadlines(self) -> None:
        """Beside the leases: a daemon that hangs answers no extend, and deadlines pass meanwhile."""
        with self._lock:
            while not self._over.is_set():
                now = time.monotonic()
                overdue = self._duty.overdue(now)
                for held in overdue:
                    self._duty.fail_overdue(held)
                if overdue:
                    self._lock.notify_all()
                else:
                    self._sleep(self._duty.next_deadline(), now)

    def _sleep(self, moment: Optional[float], now: float) -> None:
        """Until then, or until something changes."""
        if not self._over.is_set():
            self._lock.wait(None if moment is None else max(0.001, moment - now))

    def _extend(self, client: Client, while_connected: bool) -> None:
        with self._lock:
            extensions = self._duty.extensions(while_connected)
        for some, params in extensions:
            result = client.request("task.extend", params)
            with self._lock:
                lost = self._duty.extended(some, result)
                self._lock.notify_all()
            for held in lost:
                log.warning("task %d: its lease is lost; what its handler does counts for nothing", held.task.fire)
            if lost and self._stopping.is_set():
                self._woken.ring()  # what is in progress may be over with it

    # The end

    def _end(self) -> None:
        with self._lock:
            self._duty.is_stopping = True
            self._stopping.set()
            self._lock.notify_all()
        self._changed.ring()
        begun = time.monotonic()
        # In a thread: a daemon that hangs answers after the grace, or never, and a signal ends no wait for an answer.
        threading.Thread(target=self._guarded, args=(self._move,), name="timerd_move", daemon=True).start()
        while self._duty.held and self._woken.wait_until(begun + self.grace):
            pass
        while not self._reserves_no_more.is_set() and self._woken.wait_until(min(self._duty.quiet_at, begun + self.grace)):
            pass
        with self._lock:
            self._duty.give_up()
            self._lock.notify_all()
        until = time.monotonic() + _LAST_WORDS
        while self._duty.unsaid() and self._woken.wait_until(until):
            pass
        with self._lock:
            unsaid = self._duty.unsaid()
            self._over.set()
            self._lock.notify_all()
        if unsaid:
            log.warning("of %d tasks could not be said what became of them; they may come again", unsaid)
        self._let_go()

    def _abandon(self) -> None:
        """Nothing more is begun or said; what is tied to the connections goes back with them."""
        with self._lock:
            for held in self._duty.held.values():
                held.task.lost.set()
            self._duty.forget()
            self._stopping.set()
            self._over.set()
            self._lock.notify_all()
        self._changed.ring()
        self._let_go()

    def _let_go(self) -> None:
        """Lets the threads end that handle, and the connections, with what is still tied to them."""
        for _ in range(self._duty.concurrency):
            self._work.put(None)
        self._reserving.close()
        self._saying.close()

    def _move(self) -> None:
        """Ties what is in progress to the other connection: else it would go back with the one that waits for more."""
        backoff = Backoff()
        while not self._over.is_set():
            try:
                with self._tying:
                    self._extend(self._saying, True)
                self._reserves_no_more.wait(max(0.0, self._duty.quiet_at - time.monotonic()))
                self._extend(self._saying, True)  # what has come by then goes back by a release
                return self._reserving.close()
            except TimerdError as error:
                # The one that waits stays, and with it what is in progress.
                if not self._over.is_set():
                    log.warning("keeping what is in progress: %s; trying again", error)
                self._over.wait(backoff.next())
