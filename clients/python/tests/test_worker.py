# SPDX-License-Identifier: Apache-2.0
"""Workers, against a daemon that a test stops, restarts and makes lose its replies."""
import asyncio
import functools
import gc
import logging
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import types
import unittest
from unittest import mock

from fake import FakeDaemon

import timerd
from timerd import aio_signals, wake


def setUpModule():
    logging.disable(logging.CRITICAL)  # failures are what is tried here


def tearDownModule():
    logging.disable(logging.NOTSET)



def blocking(handler):
    """A coroutine's handler of a plain one."""

    async def run(task):
        return await asyncio.get_running_loop().run_in_executor(None, handler, task)

    return run


class WorkerTests(unittest.TestCase):
    """For `Worker`; a class below says the same of `AsyncWorker`."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.daemon = FakeDaemon(folder.name)
        self.addCleanup(lambda: self.daemon.listener.fileno() >= 0 and self.daemon.stop())
        self.client = timerd.Client(self.daemon.path)
        self.addCleanup(self.client.close)

    def begin(self, handler, **options):
        options.setdefault("wait", "1s")
        worker = timerd.Worker(["q"], handler, socket=self.daemon.path, **options)
        self.thread = thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()

        def end():
            worker.stop(0.0)
            thread.join(60)
            self.assertFalse(thread.is_alive())

        self.addCleanup(end)
        self.end = end
        return worker

    def stop(self, worker, grace=None):
        worker.stop(grace)

    def add(self, number=1, **options):
        return [self.client.add(queue="q", user_info=index, **options)["id"] for index in range(number)]

    def all_are(self, state, fires):
        def hold():
            return all(self.daemon.tasks[fire]["state"] == state for fire in fires)

        self.assertTrue(self.daemon.until(hold), self.daemon.states())

    def test_every_task_is_handled_once_and_finished(self):
        seen = []
        fires = self.add(50)
        self.begin(lambda task: seen.append(task.payload), concurrency=5)
        self.all_are("done", fires)
        self.assertEqual(sorted(seen), list(range(50)))

    def test_tasks_that_end_together_are_finished_with_one_request(self):
        gate = threading.Event()
        fires = self.add(5)
        self.daemon.until(lambda: time.sleep(0.02) is None)
        self.begin(lambda task: gate.wait(60), concurrency=5)
        self.assertTrue(self.daemon.until(lambda: sum(t["state"] == "reserved" for t in self.daemon.tasks.values()) == 5))
        gate.set()
        self.all_are("done", fires)
        self.assertLessEqual(self.daemon.count("task.finish"), 5)

    def test_an_exception_becomes_a_failure_with_its_reason_and_is_tried_again(self):
        attempts = []

        def handler(task):
            attempts.append(task.attempt)
            raise ValueError("no \u00fc" + "x" * 9000)

        fires = self.add(1, retries=2)
        self.begin(handler)
        self.all_are("dead", fires)
        self.assertEqual(attempts, [1, 2, 3])
        self.assertTrue(self.daemon.tasks[fires[0]]["reason"].startswith("ValueError: no \u00fc"))

    def test_retry_with_a_delay_costs_no_retry(self):
        attempts = []

        def handler(task):
            attempts.append(task.attempt)
            if len(attempts) < 3:
                raise timerd.Retry(0.01)

        fires = self.add(1)
        self.begin(handler, wait="100ms")
        self.all_are("done", fires)
        self.assertEqual(attempts, [1, 2, 3])
        self.assertEqual(self.daemon.count("task.fail"), 0)

    def test_a_queue_without_a_handler_fails_and_says_so(self):
        fires = self.add(1)
        self.begin(None)
        self.all_are("dead", fires)
        self.assertIn("no handler", self.daemon.tasks[fires[0]]["reason"])

    def test_the_lease_is_extended_while_a_handler_runs(self):
        def handler(task):
            # Longer than the lease, as it would be without a word.
            self.daemon.until(lambda: len([1 for name, _ in self.daemon.asked if name == "task.extend"]) >= 6)

        fires = self.add(1)
        self.begin(handler, lease="3s")
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 1)

    def test_who_loses_the_lease_is_told_and_the_result_is_dropped(self):
        told = threading.Event()
        first = threading.Event()

        def handler(task):
            if task.attempt == 1:
                first.set()
                if task.lost.wait(60):
                    told.set()

        fires = self.add(1)
        self.begin(handler, lease="3s", concurrency=1)
        self.assertTrue(first.wait(60))
        with self.daemon.changed:
            self.daemon.tasks[fires[0]]["state"] = "ready"  # as a job that was ended with kill, and so on
        self.assertTrue(told.wait(60))
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 2)

    def test_a_finish_whose_reply_was_lost_is_asked_again(self):
        self.daemon.lose.append("task.finish")
        seen = []
        fires = self.add(1)
        self.begin(lambda task: seen.append(task.fire))
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.finish") >= 2))
        self.all_are("done", fires)
        self.assertEqual(seen, fires)

    def test_a_fail_whose_reply_was_lost_is_said_once(self):
        self.daemon.lose.append("task.fail")

        def handler(task):
            raise ValueError("no")

        fires = self.add(1, retries=0)
        self.begin(handler)
        self.all_are("dead", fires)
        later = self.add(1)
        self.all_are("dead", later)  # and the worker goes on
        self.assertEqual(self.daemon.tasks[fires[0]]["failures"], 1)

    def test_a_disk_that_is_full_for_a_while_loses_nothing(self):
        storage = (-32006, "storageFailed", "the disk is full")
        self.daemon.refuse = {"task.finish": [storage] * 3, "task.reserve": [storage] * 2}
        seen = []
        fires = self.add(2)
        self.begin(lambda task: seen.append(task.fire))
        self.all_are("done", fires)
        self.assertEqual(sorted(seen), fires)

    def test_a_restart_of_the_daemon_costs_no_attempt(self):
        begun, go_on = threading.Event(), threading.Event()

        def handler(task):
            begun.set()
            go_on.wait(60)

        fires = self.add(1)
        self.begin(handler, lease="2s")
        self.assertTrue(begun.wait(60))
        self.daemon.stop()
        self.daemon.start()

        def is_tied():
            return self.daemon.tasks[fires[0]]["connection"] is not None

        self.assertTrue(self.daemon.until(is_tied))
        go_on.set()
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 1)

    def begin_one(self, **options):
        """A worker whose handler runs until `go_on`, and its task."""
        begun, self.go_on = threading.Event(), threading.Event()

        def handler(task):
            begun.set()
            self.go_on.wait(60)

        fire = self.add(1)[0]
        worker = self.begin(handler, **options)
        self.addCleanup(self.go_on.set)
        self.assertTrue(begun.wait(60))
        return worker, self.daemon.tasks[fire]

    def is_tied_again_after_a_restart(self, task):
        self.daemon.stop()
        self.daemon.start()
        self.assertTrue(self.daemon.until(lambda: task["connection"] is not None))
        self.go_on.set()
        self.all_are("done", [task["job"]["id"]])
        self.assertEqual(task["attempt"], 1)

    def test_a_worker_without_room_ties_its_tasks_again_after_a_restart_and_waits_for_no_heartbeat(self):
        _, task = self.begin_one(concurrency=1, lease="1h")
        self.is_tied_again_after_a_restart(task)
        later = self.add(1)
        self.all_are("done", later)

    def test_a_worker_without_room_whose_task_is_lost_waits_for_room_alone(self):
        _, task = self.begin_one(concurrency=1, lease="1h")
        self.daemon.stop()
        task["state"] = "dead"
        self.daemon.start()
        # It is told as it ties what it has. Then nothing is left to be tied, and the next end of the connection is of no concern.
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") == 1))
        self.daemon.stop()
        self.daemon.start()
        self.go_on.set()
        later = self.add(1)
        self.all_are("done", later)

    def test_so_it_does_in_its_grace(self):
        worker, task = self.begin_one(lease="3s")
        self.stop(worker)
        self.assertTrue(self.daemon.until(lambda: ("task.extend", True) in [(name, params.get("whileConnected")) for name, params in self.daemon.asked]))
        self.is_tied_again_after_a_restart(task)

    def test_what_is_tied_to_a_new_connection_just_as_the_worker_stops_stays_its_own(self):
        worker, task = self.begin_one(lease="1h")
        self.daemon.slow = ["task.extend"]
        self.daemon.stop()
        self.daemon.start()
        self.assertTrue(self.daemon.until(lambda: self.daemon.slowed))
        self.stop(worker)
        # No other extend overtakes this one.
        self.assertFalse(self.daemon.until(lambda: self.daemon.count("task.extend") > 1, 0.3))
        self.daemon.slowed = False
        # The test's own is the other one that is left.
        self.assertTrue(self.daemon.until(lambda: sum(connection.open for connection in self.daemon.connections) == 2))
        self.assertEqual((task["state"], task["connection"].open), ("reserved", True))
        self.go_on.set()
        self.assertTrue(self.has_ended())
        self.assertEqual((task["state"], task["attempt"], self.daemon.count("task.release")), ("done", 1, 0))

    def test_an_attempt_whose_fire_has_become_its_own_again_is_told_that_it_is_lost(self):
        lost, other, go_on = threading.Event(), threading.Event(), threading.Event()

        def handler(task):
            if task.attempt == 1:
                first.set()
                if task.lost.wait(60):
                    lost.set()
            else:
                other.set()
                go_on.wait(60)

        first = threading.Event()
        fires = self.add(1)
        self.begin(handler, lease="2s", concurrency=2)
        self.addCleanup(go_on.set)
        self.assertTrue(first.wait(60))
        with self.daemon.changed:
            self.daemon.tasks[fires[0]]["state"] = "ready"  # its lease has ended while the process stood still
            self.daemon.changed.notify_all()
        self.assertTrue(other.wait(60))
        self.assertTrue(lost.wait(60))
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") >= 4))
        go_on.set()
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 2)

    def test_what_is_in_progress_at_a_stop_stays_tied_while_the_daemon_cannot_tie_it_to_another_connection(self):
        storage, limit = (-32006, "storageFailed", "the disk is full"), (-32005, "limitReached", "one connection too many")
        worker, task = self.begin_one()
        self.daemon.refuse = {"task.extend": [storage, limit, storage]}
        self.stop(worker)

        def is_decided():
            return self.daemon.count("task.extend") == 4 or task["state"] != "reserved"

        self.assertTrue(self.daemon.until(is_decided))
        self.assertEqual(task["state"], "reserved")
        # The test's own is the other one that is left.
        self.assertTrue(self.daemon.until(lambda: sum(connection.open for connection in self.daemon.connections) == 2))
        self.assertEqual((task["state"], task["connection"].open), ("reserved", True))
        self.go_on.set()
        self.assertTrue(self.has_ended())
        self.assertEqual((task["state"], task["attempt"], self.daemon.count("task.release")), ("done", 1, 0))

    def test_what_ends_while_the_daemon_is_away_is_finished_once_it_is_back(self):
        begun, ended = threading.Event(), threading.Event()
        go_on = threading.Event()

        def handler(task):
            begun.set()
            go_on.wait(60)
            ended.set()

        fires = self.add(1)
        self.begin(handler)
        self.assertTrue(begun.wait(60))
        self.daemon.stop()
        go_on.set()
        self.assertTrue(ended.wait(60))
        self.daemon.start()
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 1)

    def test_a_deadline_fails_the_task(self):
        def handler(task):
            task.lost.wait(60)

        fires = self.add(1)
        self.begin(handler, deadline=0.1)
        self.all_are("dead", fires)
        self.assertIn("longer than 0.1 s", self.daemon.tasks[fires[0]]["reason"])

    def test_a_stop_lets_what_runs_finish(self):
        begun, go_on = threading.Event(), threading.Event()

        def handler(task):
            begun.set()
            go_on.wait(60)

        fires = self.add(1)
        worker = self.begin(handler)
        self.assertTrue(begun.wait(60))
        self.stop(worker)

        def waiter_has_gone():
            tied = any(method == "task.extend" and params.get("whileConnected") for method, params in self.daemon.asked)
            return tied and sum(connection.open for connection in self.daemon.connections) == 2

        self.assertTrue(self.daemon.until(waiter_has_gone))
        self.assertEqual(self.daemon.states()[fires[0]], "reserved")
        go_on.set()
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 1)

    def test_what_comes_for_a_reserve_in_progress_at_a_stop_is_released_before_its_connection_ends(self):
        handled = []
        self.daemon.slow = ["task.reserve"]
        with mock.patch("timerd.duty._QUIET", 60.0):
            worker = self.begin(handled.append)
            self.assertTrue(self.daemon.until(lambda: self.daemon.slowed))
            fires = self.add(2)
            self.stop(worker)
            self.assertTrue(self.daemon.until(lambda: worker._duty.is_stopping))
            self.daemon.slowed = False
            self.thread.join(60)
        self.assertFalse(self.thread.is_alive())
        self.assertEqual([self.daemon.tasks[fire].get("said", (None,))[0] for fire in fires], ["release"] * 2)
        self.assertEqual((handled, set(self.daemon.states().values())), ([], {"ready"}))

    def test_a_stop_ends_a_reserve_that_was_quiet(self):
        with mock.patch("timerd.duty._QUIET", 0.0):
            worker = self.begin(print, wait="1h")
            self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.reserve") == 1))
            self.stop(worker)
            self.thread.join(60)
        self.assertFalse(self.thread.is_alive())
        self.assertEqual(self.daemon.count("task.release"), 0)

    def test_after_the_grace_what_is_left_is_released(self):
        begun = threading.Event()

        def handler(task):
            begun.set()
            task.lost.wait(60)

        fires = self.add(1)
        worker = self.begin(handler)
        self.assertTrue(begun.wait(60))
        self.stop(worker, 0.05)
        # Its own reserve, which waits yet, may get the task once more, and that goes back as well.
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.release") >= 1))
        self.end()
        self.all_are("ready", fires)


    def test_what_a_handler_raises_fails_its_task_whatever_it_is_and_the_worker_goes_on(self):
        class Unprintable(Exception):
            def __str__(self):
                raise RuntimeError

        class Unusual(BaseException):
            pass

        class Exiting(Exception):
            def __str__(self):
                raise SystemExit

        class Hollow(timerd.Retry):
            def __init__(self):
                pass

        class Nameless(type):
            @property
            def __name__(cls):
                raise RuntimeError

        class Indescribable(Exception, metaclass=Nameless):
            def __str__(self):
                raise Indescribable

        def unsayable():
            retry = timerd.Retry(delay="5s")
            retry.delay = "\ud800"  # which JSON cannot say
            return retry

        problems = [SystemExit(3), Unprintable(), Unusual("odd"), lambda: timerd.Retry(delay=-1), lambda: timerd.Retry(delay="soon"), lambda: timerd.Retry("400d"),
                    GeneratorExit(), KeyboardInterrupt(), Exiting(), Hollow(), unsayable, lambda: timerd.Retry(reason="\ud800"),
                    Indescribable()]  # fmt: skip

        def handler(task):
            if task.payload < len(problems):
                problem = problems[task.payload]
                raise problem() if callable(problem) else problem

        fires = self.add(len(problems) + 1)
        self.begin(handler, concurrency=1)
        self.all_are("dead", fires[:-1])
        self.all_are("done", fires[-1:])
        reasons = [self.daemon.tasks[fire]["reason"] for fire in fires[:-1]]
        for reason, part in zip(reasons, ["SystemExit: 3", "Unprintable: what it says cannot be told", "Unusual: odd", "negative", "'soon' is no duration", "365 days",
                                          "GeneratorExit", "KeyboardInterrupt", "cannot be told: SystemExit", "cannot be told: AttributeError", "cannot be told: ValueError", "?",
                                          "Indescribable: what it says cannot be told: Indescribable"]):  # fmt: skip
            self.assertIn(part, reason)

    def test_a_log_that_raises_ends_no_worker(self):
        def raising(record):
            raise SystemExit

        logging.disable(logging.NOTSET)
        self.addCleanup(logging.disable, logging.CRITICAL)
        logger = logging.getLogger("timerd.worker")
        logger.addFilter(raising)
        self.addCleanup(logger.removeFilter, raising)

        def handler(task):
            if task.payload == 0:
                raise ValueError("no")

        fires = self.add(2)
        self.begin(handler, concurrency=1)
        self.all_are("dead", fires[:1])
        self.all_are("done", fires[1:])

    def test_a_list_that_is_refused_is_said_one_by_one_and_what_cannot_be_said_is_a_failure(self):
        bad = (-32602, "invalidParams", "no")
        gate = threading.Event()
        fires = self.add(3)
        self.daemon.refuse = {"task.finish": [bad, bad]}  # the list, and the first of it
        self.begin(lambda task: gate.wait(60), concurrency=3)
        self.assertTrue(self.daemon.until(lambda: sum(t["state"] == "reserved" for t in self.daemon.tasks.values()) == 3))
        # All three end while the first list is on its way, or each alone: the two that are refused are failures in the end.
        gate.set()
        self.assertTrue(self.daemon.until(lambda: set(self.daemon.states().values()) <= {"done", "dead"}))
        self.assertIn("dead", self.daemon.states().values())
        dead = [task["reason"] for task in self.daemon.tasks.values() if task["state"] == "dead"]
        self.assertTrue(all(reason.startswith("task.finish: no") for reason in dead), dead)
        self.assertEqual(self.daemon.count("task.extend"), 0)
        del fires

    def test_a_worker_runs_once(self):
        worker = self.begin(lambda task: None)
        self.end()
        self.assertRaises(RuntimeError, self.run_again, worker)

    def run_again(self, worker):
        worker.run()

    def test_what_makes_working_impossible_is_raised_by_run(self):
        self.daemon.refuse = {"task.reserve": [(-32004, "notPermitted", "not yours")]}
        self.assertRaisesRegex(timerd.NotPermitted, "not yours", self.run_to_its_end)

    def run_to_its_end(self):
        timerd.Worker("q", print, socket=self.daemon.path).run()

    def leave_few_last_words(self):
        module = sys.modules[self.WORKER.__module__]
        before, module._LAST_WORDS = module._LAST_WORDS, 0.05
        self.addCleanup(setattr, module, "_LAST_WORDS", before)

    def test_a_stop_while_the_daemon_is_away_ends_and_says_what_could_not_be_said(self):
        begun, go_on = threading.Event(), threading.Event()

        def handler(task):
            begun.set()
            go_on.wait(60)

        self.add(1)
        self.leave_few_last_words()
        worker = self.begin(handler)
        self.assertTrue(begun.wait(60))
        self.daemon.stop()
        logging.disable(logging.NOTSET)
        self.addCleanup(logging.disable, logging.CRITICAL)
        with self.assertLogs("timerd.worker", "WARNING") as logs:
            self.stop(worker, 0.05)
            go_on.set()
            self.end()
        # Not always the last line: another thread may be about to say that the daemon is away.
        self.assertIn("of 1 tasks could not be said", "\n".join(logs.output))

    def begin_and_hang(self, **options):
        begun, self.go_on, self.has_let_go = threading.Event(), threading.Event(), threading.Event()
        self.addCleanup(self.go_on.set)

        def handler(task):
            begun.set()
            while not task.lost.is_set() and not self.go_on.wait(0.05):
                pass
            self.has_let_go.set()

        fires = self.add(1)
        worker = self.begin(handler, **options)
        self.assertTrue(begun.wait(60))
        self.daemon.hangs = True
        self.addCleanup(setattr, self.daemon, "hangs", False)
        return worker, fires

    def test_a_deadline_passes_while_a_daemon_that_hangs_is_asked_for_leases(self):
        self.begin_and_hang(lease="3s", deadline=1.5)
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") >= 1))
        self.assertTrue(self.has_let_go.wait(60))
        self.go_on.set()  # for who has it next

    def has_ended(self):
        self.thread.join(60)
        return not self.thread.is_alive()

    def test_a_daemon_that_hangs_keeps_no_worker_beyond_its_grace(self):
        self.leave_few_last_words()
        worker, _ = self.begin_and_hang(grace=0.05)
        self.go_on.set()
        self.stop(worker)
        self.assertTrue(self.has_ended())

    def test_a_second_stop_ends_the_grace_though_the_daemon_hangs(self):
        self.leave_few_last_words()
        worker, _ = self.begin_and_hang(grace=3600)
        self.stop(worker)
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") == 1))
        self.stop(worker, 0.0)
        self.go_on.set()
        self.assertTrue(self.has_ended())

    def test_what_ends_while_the_daemon_hangs_is_finished_within_the_grace(self):
        worker, fires = self.begin_and_hang(grace=60)
        self.stop(worker)
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") == 1))
        self.go_on.set()
        self.daemon.hangs = False
        self.all_are("done", fires)
        self.assertEqual(self.daemon.tasks[fires[0]]["attempt"], 1)
        self.assertTrue(self.has_ended())

    def test_a_task_that_is_lost_in_the_grace_is_waited_for_no_longer(self):
        worker, fires = self.begin_and_hang(grace=3600)
        self.stop(worker)
        self.assertTrue(self.daemon.until(lambda: self.daemon.count("task.extend") == 1))
        with self.daemon.changed:
            self.daemon.tasks[fires[0]]["state"] = "dead"
        self.daemon.hangs = False
        self.assertTrue(self.has_ended())

    WORKER = timerd.Worker

    def test_a_worker_that_would_not_wait_is_said_at_once(self):
        for wait in (0, 0.0, "0s", "0min", ""):
            with self.subTest(wait):
                self.assertRaises(ValueError, self.WORKER, "q", print, socket=self.daemon.path, wait=wait)

    def test_a_text_that_is_no_duration_is_said_at_once(self):
        for wrong in ({"lease": "abc"}, {"wait": "5 apples"}, {"grace": "x"}, {"deadline": -1}, {"concurrency": 0}, {"concurrency": 1.5}):
            with self.subTest(wrong):
                self.assertRaises(ValueError, self.WORKER, "q", print, socket=self.daemon.path, **wrong)
        self.assertRaises(TypeError, self.WORKER, 7, print, socket=self.daemon.path)


class KindTests(unittest.TestCase):
    """A coroutine function where a plain one belongs, and the other way round, loses no work."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.daemon = FakeDaemon(folder.name)
        self.addCleanup(self.daemon.stop)
        with timerd.Client(self.daemon.path) as client:
            self.fire = client.add(queue="q")["id"]

    async def coroutine(self, task):
        self.fail("it ran")

    def failed(self):
        return self.daemon.tasks[self.fire]["state"] == "dead"

    def test_a_worker_takes_no_coroutine_function(self):
        self.assertRaisesRegex(TypeError, "AsyncWorker", timerd.Worker, "q", self.coroutine, socket=self.daemon.path)
        self.assertRaisesRegex(TypeError, "coroutine", timerd.App(self.daemon.path).task, self.coroutine)
        worker = timerd.Worker("q", lambda task: self.coroutine(task), socket=self.daemon.path)
        thread = threading.Thread(target=worker.run)
        thread.start()
        self.assertTrue(self.daemon.until(self.failed))
        worker.stop()
        thread.join(60)
        self.assertIn("AsyncWorker takes these", self.daemon.tasks[self.fire]["reason"])

    def test_no_worker_takes_a_generator_function(self):
        def generator(task):
            self.fail("it ran")
            yield

        async def asynchronous(task):
            self.fail("it ran")
            yield

        def partly(task):
            yield

        for one in (generator, asynchronous, functools.partial(generator)):
            for worker in (timerd.Worker, timerd.AsyncWorker):
                self.assertRaisesRegex(TypeError, "generator function", worker, "q", one, socket=self.daemon.path)
                self.assertRaisesRegex(TypeError, "generator function", worker, "q", by_name={"n": one}, socket=self.daemon.path)
        self.assertRaisesRegex(TypeError, "generator function", timerd.App(self.daemon.path).task, generator)
        # A generator function that `types.coroutine` has made a coroutine function is one.
        made = types.coroutine(partly)
        timerd.AsyncWorker("q", made, socket=self.daemon.path)
        self.assertRaisesRegex(TypeError, "coroutine function", timerd.Worker, "q", made, socket=self.daemon.path)

    def test_a_generator_that_a_handler_returns_fails_its_task(self):
        def generator(task):
            self.fail("it ran")
            yield

        async def asynchronous(task):
            self.fail("it ran")
            yield

        async def returns(task):
            return generator(task)

        for make, handler in (
            (timerd.Worker, lambda task: generator(task)), (timerd.Worker, lambda task: asynchronous(task)),
            (timerd.AsyncWorker, lambda task: generator(task)), (timerd.AsyncWorker, lambda task: asynchronous(task)), (timerd.AsyncWorker, returns),
        ):  # fmt: skip
            with self.subTest(make):
                self.assertIn("a generator, of which nothing was run", self.worked_off(make, handler).get("reason", "it is done"))

    def test_what_a_coroutine_returns_without_awaiting_it_fails_its_task(self):
        async def send(task):
            self.fail("it ran")

        async def forgets(task):
            return send(task)

        async def begins(task):
            return asyncio.ensure_future(asyncio.sleep(60))

        for handler in (forgets, begins):
            with self.subTest(handler.__name__):
                self.assertIn("to be awaited", self.worked_off(timerd.AsyncWorker, handler).get("reason", "it is done"))

    def worked_off(self, make, handler):
        # Its task, once that is over.
        with timerd.Client(self.daemon.path) as client:
            fire = client.add(queue="q")["id"]
        worker = make("q", handler, socket=self.daemon.path, wait="100ms")

        def over():
            return self.daemon.tasks[fire]["state"] in ("dead", "done")

        async def work():
            running = asyncio.ensure_future(worker.run())
            await asyncio.get_running_loop().run_in_executor(None, self.daemon.until, over)
            worker.stop()
            await running

        if make is timerd.AsyncWorker:
            asyncio.run(work())
        else:
            thread = threading.Thread(target=worker.run)
            thread.start()
            self.daemon.until(over)
            worker.stop()
            thread.join(60)
        return self.daemon.tasks[fire]

    def test_a_keyboard_interrupt_in_a_coroutine_is_its_failure_unless_it_may_be_ctrl_c(self):
        async def handler(task):
            raise KeyboardInterrupt

        self.assertEqual(self.worked_off(timerd.AsyncWorker, handler)["reason"], "KeyboardInterrupt")
        worker = timerd.AsyncWorker("q", handler, socket=self.daemon.path, wait="100ms")
        with timerd.Client(self.daemon.path) as client:
            client.add(queue="q")
        with self.assertRaises(KeyboardInterrupt):
            asyncio.run(worker.run(signals=False))
        self.assertTrue(self.daemon.until(lambda: "reserved" not in self.daemon.states().values()))

    def test_a_handler_that_others_cancel_fails_its_task_also_before_it_began(self):
        async def handler(task):
            await asyncio.sleep(60)

        async def cancelling():
            while True:
                for task in asyncio.all_tasks():
                    if "_outcome" in repr(task):
                        task.cancel()
                await asyncio.sleep(0)

        async def work():
            worker = timerd.AsyncWorker("q", handler, socket=self.daemon.path)
            running, others = asyncio.ensure_future(worker.run()), asyncio.ensure_future(cancelling())
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, self.daemon.until, self.failed))
            others.cancel()
            worker.stop()
            await running

        asyncio.run(work())
        self.assertEqual(self.daemon.tasks[self.fire]["reason"], "its handler was cancelled")

    def test_a_worker_for_asyncio_takes_no_plain_function(self):
        async def work():
            worker = timerd.AsyncWorker("q", lambda task: None, socket=self.daemon.path)
            running = asyncio.ensure_future(worker.run())
            await asyncio.get_running_loop().run_in_executor(None, self.daemon.until, self.failed)
            worker.stop()
            await running

        asyncio.run(work())
        self.assertIn("no coroutine function", self.daemon.tasks[self.fire]["reason"])

    def test_a_cancelled_worker_for_asyncio_says_nothing_and_its_task_goes_back_at_once(self):
        begun = threading.Event()
        ended = []

        async def handler(task):
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                ended.append(task.fire)

        self.cancel(handler, begun)
        self.assertTrue(self.daemon.until(lambda: self.daemon.states()[self.fire] == "ready"))
        self.assertEqual((ended, self.daemon.count("task.fail"), self.daemon.count("task.release")), ([self.fire], 0, 0))

    def cancel(self, handler, begun):
        """Runs a worker, and cancels it once its handler has begun."""
        async def work():
            running = asyncio.ensure_future(timerd.AsyncWorker("q", handler, socket=self.daemon.path, wait="100ms").run())
            await asyncio.get_running_loop().run_in_executor(None, begun.wait, 60)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running

        asyncio.run(work())

    def test_the_task_of_a_cancelled_worker_goes_back_while_its_handler_still_ends(self):
        begun, back = threading.Event(), []

        async def handler(task):
            begun.set()
            try:
                await asyncio.sleep(60)
            finally:
                ready = functools.partial(self.daemon.until, lambda: self.daemon.states()[self.fire] == "ready")
                back.append(await asyncio.get_running_loop().run_in_executor(None, ready))

        self.cancel(handler, begun)
        self.assertEqual(back, [True])


class AsyncWorkerTests(WorkerTests):
    WORKER = timerd.AsyncWorker

    def run_again(self, worker):
        asyncio.run(worker.run())

    def run_to_its_end(self):
        asyncio.run(timerd.AsyncWorker("q", print, socket=self.daemon.path).run())

    def begin(self, handler, **options):
        options.setdefault("wait", "1s")
        made = threading.Event()

        def run():
            async def main():
                self.loop = asyncio.get_running_loop()
                self.worker = timerd.AsyncWorker(["q"], blocking(handler) if handler else None, socket=self.daemon.path, **options)
                made.set()
                await self.worker.run()

            asyncio.run(main())

        self.thread = thread = threading.Thread(target=run, daemon=True)
        thread.start()
        made.wait(60)

        def end():
            if thread.is_alive():
                try:
                    self.loop.call_soon_threadsafe(self.worker.stop, 0.0)
                except RuntimeError:
                    pass  # it ended just then
            thread.join(60)
            self.assertFalse(thread.is_alive())

        self.addCleanup(end)
        self.end = end
        return self.worker

    def stop(self, worker, grace=None):
        self.loop.call_soon_threadsafe(worker.stop, grace)


class LostTests(unittest.TestCase):
    def test_a_task_that_is_lost_before_its_handler_begins_is_not_begun(self):
        begun = []
        worker = timerd.Worker("q", begun.append, socket="/nonexistent/s.sock", concurrency=2)
        worker._changed = wake.Wake()
        first, second = [worker._duty.take(timerd.Task({"fire": fire, "token": fire, "queue": "q"}), 0.0) for fire in (1, 2)]
        worker._duty.extended([first], {"tasks": [{"error": {"reason": "leaseLost"}}]})
        for one in (first, second, None):
            worker._work.put(one)
        worker._handle()
        self.assertEqual((begun, worker._duty.room()), ([second.task], 2))


class ForkTests(unittest.TestCase):
    def test_a_worker_that_has_not_run_has_nothing_open_that_children_of_fork_would_share(self):
        def open_files():
            return sorted(os.listdir("/proc/self/fd"))

        before = open_files()
        workers = [make("q", print, socket="/nowhere") for make in (timerd.Worker, timerd.AsyncWorker)]
        self.assertEqual(open_files(), before)
        workers[0].stop()
        workers[0].run()  # what it needs is made then, also where it was stopped before


class SignalTests(unittest.TestCase):
    PROGRAM = """
        import asyncio, sys, time, timerd
        def handler(task):
            print("begun", flush=True)
            time.sleep(0.3)
            print("ended", flush=True)
        async def coroutine(task):
            print("begun", flush=True)
            await asyncio.sleep(0.3)
            print("ended", flush=True)
        if sys.argv[2] == "sync":
            timerd.Worker("q", handler, socket=sys.argv[1]).run()
        else:
            asyncio.run(timerd.AsyncWorker("q", coroutine, socket=sys.argv[1]).run())
        print("over", flush=True)
    """

    def test_sigterm_lets_what_runs_finish_and_ends_the_program(self):
        for kind in ("sync", "asyncio"):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                daemon = FakeDaemon(folder)
                with timerd.Client(daemon.path) as client:
                    fire = client.add(queue="q")["id"]
                program = [sys.executable, "-c", textwrap.dedent(self.PROGRAM), daemon.path, kind]
                with subprocess.Popen(program, stdout=subprocess.PIPE, env={**os.environ}) as worker:
                    self.assertEqual(worker.stdout.readline(), b"begun\n")
                    worker.send_signal(signal.SIGTERM)
                    self.assertEqual(worker.stdout.read(), b"ended\nover\n")
                    self.assertEqual(worker.wait(60), 0)
                self.assertEqual(daemon.states()[fire], "done")
                daemon.stop()

    def test_an_exception_of_a_signal_handler_ends_the_worker_and_its_tasks_go_back(self):
        program = """
            import signal, sys, threading, timerd
            def interrupted(*_): raise KeyboardInterrupt
            signal.signal(signal.SIGINT, interrupted)
            def handler(task):
                print("begun", flush=True)
                task.lost.wait(60)
                print("lost", flush=True)
            worker = timerd.Worker("q", handler, socket=sys.argv[1], concurrency=2, wait="100ms")
            try:
                worker.run(signals=False)
            except KeyboardInterrupt:
                for thread in threading.enumerate():
                    if thread.name.startswith("timerd"):
                        thread.join(60)
                        assert not thread.is_alive(), thread
                print("over", flush=True)
        """
        with tempfile.TemporaryDirectory() as folder:
            daemon = FakeDaemon(folder)
            with timerd.Client(daemon.path) as client:
                fire = client.add(queue="q")["id"]
            with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), daemon.path], stdout=subprocess.PIPE) as worker:
                try:
                    self.assertEqual(worker.stdout.readline(), b"begun\n")
                    worker.send_signal(signal.SIGINT)
                    self.assertTrue(daemon.until(lambda: daemon.tasks[fire]["state"] == "ready"))
                    self.assertEqual(worker.stdout.read(), b"lost\nover\n")
                    self.assertEqual(worker.wait(60), 0)
                finally:
                    worker.kill()
            daemon.stop()

    def test_a_worker_whose_event_loop_was_closed_keeps_that_no_longer(self):
        loop = asyncio.new_event_loop()
        worker = timerd.AsyncWorker(["q"], lambda task: None, socket="/nonexistent/s.sock")
        task = loop.create_task(worker.run())
        loop.run_until_complete(asyncio.sleep(0))
        self.assertIn(loop, aio_signals._listeners)
        loop.close()
        with self.assertRaises(RuntimeError):
            task.get_coro().close()  # as the collector does
        self.assertEqual(aio_signals._listeners, {})
        del task
        gc.collect()  # now, while what asyncio says of it is not logged

    def test_the_signals_do_what_they_did_before_once_no_worker_of_the_event_loop_is_left(self):
        def own(number, frame):
            pass

        async def main(before):
            signal.signal(signal.SIGTERM, before)
            interrupt = signal.getsignal(signal.SIGINT)
            worker = timerd.AsyncWorker(["q"], lambda task: None, socket="/nonexistent/s.sock")
            running = asyncio.ensure_future(worker.run())
            await asyncio.sleep(0)
            self.assertIsNot(signal.getsignal(signal.SIGTERM), before)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            self.assertIs(signal.getsignal(signal.SIGTERM), before)
            self.assertIs(signal.getsignal(signal.SIGINT), interrupt)

        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        for before in (own, signal.SIG_IGN, signal.SIG_DFL):
            asyncio.run(main(before))

    def test_a_loops_own_handler_is_not_put_back_for_it_would_do_nothing(self):
        async def main():
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, print)
            running = asyncio.ensure_future(timerd.AsyncWorker(["q"], lambda task: None, socket="/nonexistent/s.sock").run())
            await asyncio.sleep(0)
            running.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await running
            self.assertIs(signal.getsignal(signal.SIGTERM), signal.SIG_DFL)

        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))
        asyncio.run(main())

    def test_a_signal_is_heard_by_all_workers_of_an_event_loop_and_by_those_that_are_left(self):
        program = """
            import asyncio, sys, timerd
            async def handler(task): pass
            async def main():
                one, two, three = (timerd.AsyncWorker(queue, handler, socket=sys.argv[1]) for queue in ("one", "two", "three"))
                running = [asyncio.ensure_future(worker.run()) for worker in (one, two, three)]
                await asyncio.sleep(0)
                three.stop()
                await running[2]
                print("begun", flush=True)
                await asyncio.gather(*running)
                print("over", flush=True)
            asyncio.run(main())
        """
        with tempfile.TemporaryDirectory() as folder:
            daemon = FakeDaemon(folder)
            with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program), daemon.path], stdout=subprocess.PIPE) as workers:
                try:
                    self.assertEqual(workers.stdout.readline(), b"begun\n")
                    workers.send_signal(signal.SIGTERM)
                    self.assertEqual(workers.wait(60), 0)
                    self.assertEqual(workers.stdout.read(), b"over\n")
                finally:
                    workers.kill()
            daemon.stop()


if __name__ == "__main__":
    unittest.main()
