# SPDX-License-Identifier: Apache-2.0
"""Against the real daemon, where $TIMERD_PROGRAMS names the folder with timerd."""
import asyncio
import doctest
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import timerd

PROGRAMS = os.environ.get("TIMERD_PROGRAMS", "")
HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.environ.get("TIMERD_CONFORMANCE", os.path.join(HERE, "../../../docs/conformance/run"))


def waited(holds, limit=60.0):
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@unittest.skipUnless(os.path.exists(os.path.join(PROGRAMS, "timerd")), "TIMERD_PROGRAMS names no folder with timerd")
class DaemonTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        # Its runner ends a moment after the daemon, and may still have a file there.
        self.addCleanup(lambda: waited(lambda: self.cleaned(folder)))
        self.folder = folder.name
        self.socket = folder.name + "/s.sock"
        self.start()
        self.addCleanup(self.kill)
        self.client = timerd.Client(self.socket, patience=60)
        self.addCleanup(self.client.close)
        self.client.call("daemon.status")

    @staticmethod
    def cleaned(folder):
        try:
            folder.cleanup()
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def start(self):
        program = [os.path.join(PROGRAMS, "timerd"), "--database", self.folder + "/d.sqlite", "--socket", self.socket]
        with open(self.folder + "/log", "ab") as log:
            self.daemon = subprocess.Popen(program, stdout=log, stderr=log)

    def kill(self):
        self.daemon.send_signal(signal.SIGKILL)
        self.daemon.wait()

    def needs_queues(self):
        try:
            list(self.client.queues())
        except timerd.UnknownMethod:
            self.skipTest("this daemon has no queues yet")

    def test_jobs_are_added_read_moved_and_ended(self):
        job = self.client.add(in_="1h", name="tea", user_info={"n": 9007199254740993}, tags=["t"])
        self.assertEqual(self.client.get(name="tea")["userInfo"], {"n": 9007199254740993})
        moved = self.client.set_fire_date(job["id"], "+2h", from_=job["fireDate"])
        self.assertRaises(timerd.Conflict, self.client.set_fire_date, job["id"], "+3h", from_=job["fireDate"])
        self.assertGreater(moved["fireDate"], job["fireDate"])
        self.assertEqual(self.client.pause(name="tea")[0]["state"], "paused")
        self.assertEqual(self.client.resume(tag="t")[0]["state"], "scheduled")
        self.assertGreater(self.client.fire(name="tea"), 0)
        self.client.add_all([timerd.job(in_="1h") for _ in range(250)])
        self.assertEqual(len(list(self.client.list(limit=100))), 250)
        self.assertRaises(timerd.NotFound, self.client.cancel, name="nothing")
        self.assertRaises(timerd.BadSchedule, self.client.add, cron="x")

    def test_who_has_shut_down_its_writing_is_handed_nothing_that_is_tied_to_its_connection(self):
        self.needs_queues()
        line = {"jsonrpc": "2.0", "id": 1, "method": "task.reserve", "params": {"queues": ["q"], "wait": "1h"}}
        for tied in (True, False):
            line["params"]["whileConnected"] = tied
            with socket.socket(socket.AF_UNIX) as worker:
                worker.settimeout(60)
                worker.connect(self.socket)
                worker.sendall(json.dumps(line).encode() + b"\n")
                self.assertTrue(waited(lambda: self.client.call("daemon.status")))
                worker.shutdown(socket.SHUT_WR)
                if tied:
                    # At once: nothing was ready, and it does not go on waiting.
                    self.assertEqual(json.loads(worker.makefile().readline())["result"], {"tasks": []})
                job = self.client.add(in_="0s", queue="q")["id"]
                if not tied:
                    tasks = json.loads(worker.makefile().readline())["result"]["tasks"]
                    self.assertEqual([(task["job"], task["attempt"]) for task in tasks], [(job, 1)])
            if tied:
                self.assertEqual([task.attempt for task in self.client.reserve(["q"])], [1])

    def test_waits_that_are_given_up_leave_no_connection_and_lose_no_task(self):
        self.needs_queues()
        count = 100
        self.client.add_all([timerd.job(in_="0s", queue="hasty") for _ in range(count)])
        before = self.client.call("daemon.status")["connections"]
        taken = set()

        async def work():
            async with timerd.AsyncClient(self.socket, patience=60) as client:
                for delay in range(100):
                    try:
                        tasks = await asyncio.wait_for(client.reserve("hasty", wait="1h", lease="1h"), delay / 20000)
                        taken.update(task.fire for task in tasks)
                        await client.finish_all(tasks)
                    except asyncio.TimeoutError:
                        pass
                while len(taken) < count:
                    tasks = await client.reserve("hasty", count=count, wait="60s")
                    self.assertTrue(tasks, "%d tasks wait for the end of their lease" % (count - len(taken)))
                    taken.update(task.fire for task in tasks)
                    await client.finish_all(tasks)
                for while_connected in (False, True) * 10:
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(client.reserve("hasty", wait="1h", lease="1h", while_connected=while_connected), 0.02)
                # Its first connection, and none that waits.
                self.assertTrue(waited(lambda: self.client.call("daemon.status")["connections"] <= before + 1))

        asyncio.run(work())

    def test_a_watcher_misses_nothing_over_kill_9_of_the_daemon(self):
        cursor = timerd.FileCursor(self.folder + "/cursor")
        watcher = timerd.Watcher(self.socket, cursor=cursor, since=0, types=["fire.fired"])
        fires = []

        def watch():
            for event in watcher:
                fires.append(event["job"])

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        first = [self.client.add(in_="10ms")["id"] for _ in range(20)]
        self.assertTrue(waited(lambda: len(fires) >= 20))
        later = [self.client.add(in_="1s")["id"] for _ in range(20)]
        self.kill()
        self.start()
        self.assertTrue(waited(lambda: set(fires) >= set(first + later)), (fires, first, later))
        self.assertEqual(len(fires), len(set(fires)))
        watcher.close()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_workers_do_each_task_though_the_daemon_is_killed(self):
        self.needs_queues()
        seen = []

        def handler(task):
            seen.append(task.fire)
            time.sleep(0.005)

        worker = timerd.Worker("mails", handler, socket=self.socket, concurrency=8, lease="5s")
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        for number in range(300):
            self.client.add(queue="mails", key="order-%d" % number)
            if number % 100 == 50:
                self.kill()
                self.start()
        self.assertTrue(waited(lambda: not list(self.client.list_tasks(queue="mails"))))
        worker.stop()
        thread.join(60)
        self.assertFalse(thread.is_alive())
        self.assertEqual(len(set(seen)), 300)

    def test_a_lease_outlives_the_daemon(self):
        self.needs_queues()
        begun, go_on = threading.Event(), threading.Event()
        attempts = []

        def handler(task):
            attempts.append(task.attempt)
            begun.set()
            go_on.wait(60)

        self.client.add(queue="q")
        worker = timerd.Worker("q", handler, socket=self.socket, lease="5s")
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self.assertTrue(begun.wait(60))
        self.kill()
        self.start()
        list(self.client.queues())
        go_on.set()
        self.assertTrue(waited(lambda: not list(self.client.list_tasks(queue="q"))))
        worker.stop()
        thread.join(60)
        self.assertEqual(attempts, [1])

    def test_a_daemon_that_hangs_for_longer_than_a_call_may_take_costs_no_attempt(self):
        self.needs_queues()
        for kind in (timerd.Worker, timerd.AsyncWorker):
            with self.subTest(kind.__name__):
                self.hangs_for_long(kind)

    def hangs_for_long(self, kind):
        begun, go_on = threading.Event(), threading.Event()
        self.addCleanup(go_on.set)
        attempts, loops = [], []

        def handler(task):
            attempts.append((task.payload, task.attempt))
            begun.set()
            go_on.wait(60)

        async def coroutine(task):
            await asyncio.get_running_loop().run_in_executor(None, handler, task)

        async def run_async():
            loops.append(asyncio.get_running_loop())
            await worker.run()

        def run():
            worker.run() if kind is timerd.Worker else asyncio.run(run_async())

        def stop():
            loops[0].call_soon_threadsafe(worker.stop) if loops else worker.stop()

        worker = kind("q", handler if kind is timerd.Worker else coroutine, socket=self.socket, concurrency=2, wait="100ms")
        worker._reserving.timeout = 5.0
        thread = threading.Thread(target=run, daemon=True)
        self.client.add(queue="q", user_info="first")
        thread.start()
        self.assertTrue(begun.wait(60))
        with self.assertLogs("timerd.worker", "WARNING") as logs:
            self.daemon.send_signal(signal.SIGSTOP)
            self.addCleanup(self.daemon.send_signal, signal.SIGCONT)
            self.assertTrue(waited(lambda: any("did not answer" in line for line in logs.output)), logs.output)
            self.daemon.send_signal(signal.SIGCONT)
            # Whoever takes this has said what it has.
            self.client.add(queue="q", user_info="second")
            self.assertTrue(waited(lambda: "second" in dict(attempts)))
        go_on.set()
        self.assertTrue(waited(lambda: not list(self.client.list_tasks(queue="q"))))
        self.assertEqual([attempt for attempt in attempts if attempt[0] == "first"], [("first", 1)])
        stop()
        thread.join(60)
        self.assertFalse(thread.is_alive())

    def test_a_dead_task_is_listed_with_its_reason_retried_and_dropped(self):
        self.needs_queues()
        self.client.add(queue="q")
        task = self.client.reserve("q", wait="60s")[0]
        self.assertEqual(self.client.fail(task, "no \u00fc")["state"], "dead")
        self.assertEqual([t.raw["reason"] for t in self.client.list_tasks(state="dead")], ["no \u00fc"])
        self.assertRaises(timerd.LeaseLost, self.client.finish, task)
        self.assertEqual(self.client.retry(queue="q"), 1)
        self.assertEqual(self.client.drop(queue="q", state="ready"), 1)

    def test_a_failure_and_a_release_may_be_said_again_and_a_key_is_known(self):
        self.needs_queues()
        self.client.add(queue="q", key="a", retries=0)
        self.assertEqual([job.get("existing") for job in self.client.add_all([timerd.job(queue="q", key="a"), timerd.job(in_="1h")])], [True, None])
        first = self.client.reserve("q", wait="60s")[0]
        self.assertEqual([self.client.release(first)["state"] for _ in range(2)], ["ready"] * 2)
        second = self.client.reserve("q")[0]
        self.assertEqual([self.client.fail(second, "no")["state"] for _ in range(2)], ["dead"] * 2)
        self.assertRaises(timerd.LeaseLost, self.client.fail, first)

    @unittest.skipUnless(os.getuid() == 0, "only root can be two users")
    def test_an_administrator_names_whose_queue_is_meant(self):
        self.needs_queues()
        os.chmod(self.folder, 0o755)
        other = timerd.Client(self.socket, timeout=60)
        self.addCleanup(other.close)
        os.seteuid(65534)
        try:
            other.add_all([timerd.job(queue="theirs") for _ in range(2)])  # it is this user's connection from here on
        finally:
            os.seteuid(0)
        first, second = other.reserve("theirs", count=2)
        other.fail(first, "no")
        other.release(second, delay="1h")
        self.assertRaises(timerd.NotFound, self.client.kick, "theirs")
        self.assertRaises(timerd.NotFound, self.client.set_queue, "nowhere", paused=True, owner="65534")
        self.assertRaises(timerd.NotPermitted, other.set_queue, "theirs", paused=True, owner="root")
        self.assertTrue(self.client.set_queue("theirs", paused=True, owner="65534")["paused"])
        self.assertEqual(self.client.kick("theirs", owner="65534"), 1)
        self.assertEqual(self.client.retry(queue="theirs", owner="65534"), 1)
        self.assertEqual(self.client.drop(queue="theirs", state="ready", owner="65534"), 2)
        self.assertEqual(list(self.client.list_tasks(owner="65534")), [])
        self.assertEqual([queue["paused"] for queue in self.client.queues(owner="65534")], [True])

    def test_of_very_many_jobs_all_are_ended_and_named(self):
        self.client.add_all([timerd.job(in_="1h", tags=["many"]) for _ in range(2000)])
        ended = self.client.cancel(tag="many")
        self.assertGreater(len(ended.others), 0)
        self.assertEqual(len({job["id"] for job in ended} | set(ended.others)), 2000)

    def test_the_session_of_the_readme_is_true(self):
        os.environ["TIMERD_SOCKET"] = self.socket
        self.addCleanup(os.environ.pop, "TIMERD_SOCKET")
        tried = doctest.testfile(os.path.join(HERE, "../README.md"), module_relative=False, report=True)
        self.assertEqual((tried.failed, tried.attempted), (0, 5))

    def test_the_suite_says_what_is_true(self):
        if not os.path.exists(CONFORMANCE):
            self.skipTest("docs/conformance is not here")
        ran = subprocess.run([sys.executable, CONFORMANCE, "--limit", "60", "--daemon", self.socket], stdout=subprocess.PIPE)
        self.assertEqual(ran.returncode, 0, ran.stdout.decode())


if __name__ == "__main__":
    unittest.main()
