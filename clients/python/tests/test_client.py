# SPDX-License-Identifier: Apache-2.0
"""The client's own promises; what is on the wire is looked at by docs/conformance, which this runs too."""
import asyncio
import contextlib
import datetime
import os
import pickle
import socket
import subprocess
import sys
import tempfile
import threading
import unittest
import unittest.mock

from fake import FakeDaemon

import timerd
from timerd import calls, definition, errors, repeats, values, wire
from timerd.aio_connection import AsyncConnection
from timerd.paths import default_socket
from timerd.progress import Progress

HERE = os.path.dirname(os.path.abspath(__file__))
CONFORMANCE = os.environ.get("TIMERD_CONFORMANCE", os.path.join(HERE, "../../../docs/conformance/run"))
DRIVER = os.path.join(HERE, "..", "conformance_driver.py")


class ConformanceTests(unittest.TestCase):
    def conforms(self, *options):
        if not os.path.exists(CONFORMANCE):
            self.skipTest("docs/conformance is not here")
        ran = subprocess.run([CONFORMANCE, "--limit", "60", sys.executable, DRIVER, *options], stdout=subprocess.PIPE)
        self.assertEqual(ran.returncode, 0, ran.stdout.decode())
        self.assertIn(b" 0 fail, 0 skipped", ran.stdout)

    def test_the_client_conforms(self):
        self.conforms()

    def test_the_client_for_asyncio_conforms(self):
        self.conforms("--asyncio")


class PathTests(unittest.TestCase):
    def path(self, environment, there=(), uid=1000, folders=()):
        return default_socket(environment, uid, lambda path: path in there, lambda path: path in folders)

    def test_the_socket_is_where_timerctl_looks(self):
        own, system = "/run/user/1000/timerd/timerd.sock", "/run/timerd/timerd.sock"
        runtime = {"XDG_RUNTIME_DIR": "/run/user/1000", "HOME": "/home/ann"}
        self.assertEqual(self.path({"TIMERD_SOCKET": "/x"}), "/x")
        self.assertEqual(self.path(runtime, there=[own, system]), own)
        self.assertEqual(self.path(runtime, there=[system]), system)
        self.assertEqual(self.path(runtime), own)
        self.assertEqual(self.path({"HOME": "/home/ann"}, folders=["/run/user/1000"]), own)
        self.assertEqual(self.path({"HOME": "/home/ann"}), "/home/ann/.local/state/timerd/timerd.sock")
        self.assertEqual(self.path({"XDG_RUNTIME_DIR": "relative", "HOME": "/h"}), "/h/.local/state/timerd/timerd.sock")
        self.assertEqual(self.path({"XDG_RUNTIME_DIR": "/run/user/0"}, uid=0), system)


class ValueTests(unittest.TestCase):
    def test_durations_and_dates(self):
        self.assertEqual([values.duration(x) for x in (5, 0.0001, 0, "1h", datetime.timedelta(minutes=1))], ["5000ms", "1ms", "0s", "1h", "60000ms"])
        for wrong in (-1, float("nan"), float("inf")):
            self.assertRaises(ValueError, values.duration, wrong)
        zone = datetime.timezone(datetime.timedelta(hours=2))
        self.assertEqual(values.date(datetime.datetime(2026, 12, 1, 10, tzinfo=zone)), "2026-12-01T08:00:00.000000Z")
        self.assertRaises(ValueError, values.date, datetime.datetime(2026, 12, 1))
        self.assertEqual(values.read_date("2026-12-01T08:00:00.000001Z").microsecond, 1)

    def test_tasks_by_their_numbers_have_no_state_and_no_count(self):
        self.assertEqual(calls.drop(fires=[1, 2]).params, {"fires": [1, 2]})
        self.assertRaises(ValueError, calls.drop, fires=[1], state="dead")
        self.assertRaises(ValueError, calls.retry, fires=1, count=1)

    def test_a_schedule_has_one_word(self):
        self.assertEqual(definition.job(in_="5s")["schedule"], {"in": "5s"})
        self.assertEqual(definition.job()["schedule"], {"in": "0s"})
        self.assertRaises(ValueError, definition.job, in_="5s", every="5s")

    def test_a_schedule_is_not_said_by_other_fields(self):
        self.assertEqual(definition.job(in_="5s", other={"keepOutput": "never"})["keepOutput"], "never")
        self.assertRaisesRegex(ValueError, "'schedule' in other", definition.job, other={"schedule": {"in": "1h"}})

    def test_a_reason_is_bounded_by_bytes_and_has_no_half_of_a_character(self):
        text = values.bounded("\u00e4" * 5000)
        self.assertLessEqual(len(text.encode()), 4096)
        self.assertTrue(text.endswith("\u00e4\u2026"))

    def test_a_reason_has_no_more_marks_in_a_row_than_a_daemon_takes(self):
        row = chr(0x301) * 64
        self.assertEqual(values.bounded("e" + row + chr(0x301) + chr(0x323) + "n" + row), "e" + row + "n" + row)
        self.assertEqual(values.bounded("\u6f22" * 65 + "\u0915" * 65), "\u6f22" * 65 + "\u0915" * 65)
        # Of class 0, though there are marks in the canonical form; ideographs, of which this Python may know nothing.
        for text in [sign * 65 for sign in "\u0c48\u0dda\u0ddd\u0f73\u0f75\u0f76\u0f78\u0f81"] + ["\U0002ebf0\U000323b0\U0003ffff" * 30]:
            self.assertEqual(values.with_few_marks(text), text)

    def test_of_a_text_without_marks_each_character_is_looked_at_once(self):
        looked = []
        with unittest.mock.patch("timerd.values.unicodedata.combining", lambda char: looked.append(char) or 0):
            self.assertEqual(values.with_few_marks("\u0436\u044f" * 1000), "\u0436\u044f" * 1000)
        self.assertEqual(sorted(looked), ["\u0436", "\u044f"])

    def test_only_what_does_no_harm_is_repeated(self):
        yes = [("job.get", {"id": 1}), ("job.add", {"key": "a"}), ("job.add", {"jobs": [{"key": "a"}]}), ("job.invalidate", {"id": 1})]
        yes += [("task.finish", {}), ("task.fail", {}), ("task.release", {}), ("job.calendar", {}), ("run.calendar", {}), ("job.dates", {})]
        yes += [("job.add", {"key": "a", "whileConnected": False})]
        no = [("job.add", {}), ("job.add", {"key": "a", "keyKept": "0s"}), ("job.add", {"jobs": [{"key": "a"}, {}]}), ("job.invalidate", {"name": "a"})]
        no += [("job.add", {"key": "a", "keyKept": "30s"}), ("job.add", {"jobs": []}), ("job.add", {"key": "a", "keyKept": "soon"})]
        no += [("job.fire", {"id": 1}), ("task.reserve", {}), ("task.retry", {}), ("of.tomorrow", {})]
        no += [("job.add", {"key": "a", "whileConnected": True}), ("job.add", {"jobs": [{"key": "a"}, {"key": "b", "whileConnected": True}]})]
        self.assertEqual([one for one in yes if repeats.repeats_for(*one) <= 0], [])
        self.assertEqual([one for one in no if repeats.repeats_for(*one) > 0], [])
        self.assertEqual(repeats.repeats_for("job.add", {"jobs": [{"key": "a"}, {"key": "b", "keyKept": "1min 15s"}]}), 45.0)

    def test_errors_have_a_class_for_each_reason_and_survive_pickling(self):
        for word in ("leaseLost", "notFound", "limitReached", "storageFailed", "stopping"):
            error = errors.refusal({"code": -1, "message": "no", "data": {"reason": word}})
            self.assertEqual((type(error).__name__, error.reason, str(error)), (word[0].upper() + word[1:], word, "no"))
            self.assertEqual(pickle.loads(pickle.dumps(error)).reason, word)
        self.assertIs(type(errors.refusal({"code": -1, "message": "x", "data": {"reason": "new"}})), errors.Refused)


class WatcherTests(unittest.TestCase):
    def server(self, scripts):
        """Answers each connection's subscription by a script: notifications, then its end."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(folder.name + "/s")
        listener.listen(5)
        self.addCleanup(listener.close)
        self.asked = []

        def serve():
            for script in scripts:
                with listener.accept()[0] as connection, connection.makefile("rb") as lines:
                    self.asked.append(wire.json.loads(lines.readline())["params"])
                    connection.sendall(b'{"jsonrpc":"2.0","id":1,"result":{"seq":3}}\n')
                    with contextlib.suppress(OSError):  # a watcher may go before the script's end
                        for method, params in script:
                            connection.sendall(wire.json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode() + b"\n")

        threading.Thread(target=serve, daemon=True).start()
        return folder.name

    FIRE = {"type": "fire.fired", "fire": 7}

    def scripts(self):
        one = [("event", {**self.FIRE, "seq": 4}), ("event", {"type": "job.added", "seq": 5})]
        two = [("events.lost", {"after": 5, "through": 8}), ("event", {**self.FIRE, "seq": 9, "redelivered": True}), ("event", {"type": "job.added", "seq": 10})]
        return [one, two]

    def check(self, told, cursor):
        self.assertEqual([x if isinstance(x, timerd.Lost) else x["seq"] for x in told], [4, 5, timerd.Lost(5, 8), 10])
        self.assertEqual(self.asked[:2], [{"since": 0}, {"since": 5}])
        # What was being dealt with at the end is told again.
        self.assertEqual(cursor.load(), 9)

    def test_a_watcher_goes_on_behind_what_it_saw_and_drops_repeats(self):
        folder = self.server(self.scripts())
        cursor = timerd.FileCursor(folder + "/cursor")
        told = []
        for event in timerd.Watcher(folder + "/s", cursor=cursor, since=0):
            told.append(event)
            if len(told) == 4:
                break
        self.check(told, cursor)
        self.assertEqual(os.listdir(folder).count("cursor.new"), 0)

    def test_so_does_the_one_for_asyncio(self):
        folder = self.server(self.scripts())
        kept = []
        cursor = timerd.Cursor(lambda: kept[-1] if kept else None, kept.append)

        async def watch():
            told = []
            async for event in timerd.AsyncWatcher(folder + "/s", cursor=cursor, since=0):
                told.append(event)
                if len(told) == 4:
                    return told

        self.check(asyncio.run(watch()), cursor)

    def scripts_that_meet_a_problem(self):
        first = [("event", {**self.FIRE, "seq": 4}), ("event", {"type": "fire.fired", "fire": 8, "seq": 5}), ("event", {"type": "job.added", "seq": 6})]
        return [first, [("event", {"type": "fire.fired", "fire": 8, "seq": 5, "redelivered": True}), ("event", {"type": "job.added", "seq": 6})]]

    def deal(self, event):
        """With the second event in the second attempt only; True at the end."""
        self.told.append(event["seq"])
        if self.told == [4, 5]:
            raise LookupError("the database is away")
        return event["seq"] == 6

    def test_an_event_whose_handling_has_raised_is_told_again_by_the_same_watcher(self):
        folder = self.server(self.scripts_that_meet_a_problem())
        kept, self.told = [], []
        watcher = timerd.Watcher(folder + "/s", cursor=timerd.Cursor(lambda: kept[-1] if kept else None, kept.append), since=0)
        left = iter(watcher)  # which does not come to its end by itself
        with self.assertRaises(LookupError):
            for event in left:
                self.deal(event)
        for event in watcher:
            if self.deal(event):
                break
        left.close()
        self.assertEqual((self.told, kept, self.asked), ([4, 5, 5, 6], [4, 5], [{"since": 0}, {"since": 4}]))

    def test_so_it_is_with_asyncio(self):
        folder = self.server(self.scripts_that_meet_a_problem())
        kept, self.told = [], []
        watcher = timerd.AsyncWatcher(folder + "/s", cursor=timerd.Cursor(lambda: kept[-1] if kept else None, kept.append), since=0)

        async def watch():
            with self.assertRaises(LookupError):
                async for event in watcher:
                    self.deal(event)
            async for event in watcher:
                if self.deal(event):
                    break

        asyncio.run(watch())
        self.assertEqual((self.told, kept, self.asked), ([4, 5, 5, 6], [4, 5], [{"since": 0}, {"since": 4}]))

    def scripts_one_by_one(self):
        added = [("event", {"type": "job.added", "seq": seq}) for seq in (4, 5, 6, 7)]
        return [added[:2], added[1:], added[2:]]

    def test_next_goes_on_behind_what_was_told_and_a_new_iteration_tells_the_last_again(self):
        folder = self.server(self.scripts_one_by_one())
        kept = []
        watcher = timerd.Watcher(folder + "/s", cursor=timerd.Cursor(lambda: None, kept.append), since=0)
        told = [next(watcher), next(watcher), next(iter(watcher)), next(watcher), next(watcher)]
        self.assertEqual(([event["seq"] for event in told], kept), ([4, 5, 5, 6, 7], [4, 5, 6]))
        self.assertEqual(self.asked, [{"since": 0}, {"since": 4}, {"since": 5}])
        watcher.close()
        self.assertRaises(StopIteration, next, watcher)

    def test_so_does_that_of_asyncio_also_where_a_wait_for_it_was_given_up(self):
        folder = self.server(self.scripts_one_by_one())
        kept = []
        watcher = timerd.AsyncWatcher(folder + "/s", cursor=timerd.Cursor(lambda: None, kept.append), since=0)

        async def watch():
            told = [await watcher.__anext__(), await watcher.__anext__()]
            waiting = asyncio.ensure_future(watcher.__anext__())
            await asyncio.sleep(0)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            told += [await watcher.__anext__(), await watcher.__anext__()]
            watcher.close()
            with self.assertRaises(StopAsyncIteration):
                await watcher.__anext__()
            return [event["seq"] for event in told]

        self.assertEqual((asyncio.run(watch()), kept), ([4, 5, 6, 7], [4, 5, 6, 7]))

    def test_next_goes_on_where_an_iteration_was_left_whatever_becomes_of_that(self):
        folder = self.server([[("event", {"type": "job.added", "seq": seq}) for seq in (4, 5, 6)]] * 2)

        async def watch():
            watcher = timerd.AsyncWatcher(folder + "/s", since=0, reconnect=False)
            async for event in watcher:
                told = [event]
                break
            told.append(await watcher.__anext__())
            await asyncio.sleep(0)  # the loop ends the iteration that was left
            told.append(await watcher.__anext__())
            watcher.close()
            return [event["seq"] for event in told]

        self.assertEqual((asyncio.run(watch()), self.asked), ([4, 5, 6], [{"since": 0}]))
        watcher = timerd.Watcher(folder + "/s", since=0, reconnect=False)
        left = iter(watcher)
        told = [next(left), next(watcher)]
        left.close()
        told.append(next(watcher))
        watcher.close()
        self.assertRaises(StopIteration, next, watcher)
        self.assertEqual(([event["seq"] for event in told], self.asked), ([4, 5, 6], [{"since": 0}] * 2))

    def test_a_loss_that_was_not_dealt_with_is_told_again(self):
        lost = wire.Notification("events.lost", {"after": 5, "through": 100})
        progress = Progress(None, 5, None, None)
        self.assertEqual((progress.take(lost), progress.rewind(), progress.take(lost)), (timerd.Lost(5, 100), True, timerd.Lost(5, 100)))
        progress.done()
        self.assertEqual((progress.rewind(), progress.take(lost)), (False, None))

    def test_without_a_number_new_events_alone_are_watched_also_over_a_lost_connection(self):
        progress = Progress(None, None, ["fire.fired"], None)
        self.assertEqual(progress.params(), {"types": ["fire.fired"]})
        progress.begun(3)
        self.assertEqual(progress.params(), {"types": ["fire.fired"], "since": 3})

    def test_what_is_left_of_numbers_that_were_lost_is_told_and_the_cursor_stays_in_front_of_it(self):
        lost = wire.Notification("events.lost", {"after": 0, "through": 3502})
        left = [wire.Notification("event", {"type": "job.added", "seq": seq}) for seq in (1, 3502)]
        kept = []
        progress = Progress(timerd.Cursor(lambda: 0, kept.append), None, None, None)
        told = []
        for notification in [lost] + left:
            told.append(progress.take(notification))
            progress.done()
        self.assertEqual(told, [timerd.Lost(0, 3502), left[0].params, left[1].params])
        self.assertEqual(kept, [1, 3502])

    def test_a_loss_is_told_once_however_often_the_watch_connects_before_an_event_comes(self):
        progress = Progress(None, 5, ["fire.fired"], None)
        lost = [wire.Notification("events.lost", {"after": 5, "through": through}) for through in (100, 100, 120)]
        self.assertEqual([progress.take(each) for each in lost], [timerd.Lost(5, 100), None, timerd.Lost(100, 120)])

    def test_an_empty_list_is_no_missing_one(self):
        self.assertEqual(Progress(None, None, [], []).params(), {"types": [], "jobs": []})

    def test_a_damaged_cursor_is_said_and_not_taken_for_none(self):
        with tempfile.NamedTemporaryFile() as file:
            self.assertRaisesRegex(ValueError, "no number", timerd.FileCursor(file.name).load)


class ClientTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.daemon = FakeDaemon(folder.name)

    def test_a_key_is_added_once_though_the_reply_was_lost(self):
        self.daemon.lose.append("job.add")
        with timerd.Client(self.daemon.path) as client:
            job = client.add(queue="q", key="order-1")
        self.assertTrue(job["existing"])
        self.assertEqual(len(self.daemon.tasks), 1)

    def test_a_move_says_what_the_date_was_and_answers_with_the_notes(self):
        call = calls.set_fire_date(1, "2026-10-25T02:30:00", from_="2026-10-24T00:00:00Z")
        self.assertEqual(call.params, {"id": 1, "fireDate": "2026-10-25T02:30:00", "from": "2026-10-24T00:00:00Z"})
        self.assertEqual(call.value({"job": {"id": 1}, "notes": ["the first"]}), {"id": 1, "notes": ["the first"]})

    def test_a_name_in_the_place_of_an_id_is_told_as_such(self):
        for value in ("tea", b"tea", {"id": 1}, 1.5):
            with self.assertRaisesRegex(TypeError, "id is a number or a list of numbers, not .*; a name is name="):
                calls.cancel(value)
        self.assertEqual(calls.cancel((1, 2)).params, {"ids": [1, 2]})

    def test_of_several_jobs_those_that_were_there_have_existing(self):
        with timerd.Client(self.daemon.path) as client:
            client.add(queue="q", key="order-2")
            jobs = client.add_all([timerd.job(queue="q", key="order-1"), timerd.job(queue="q", key="order-2")])
        self.assertEqual([job.get("existing", False) for job in jobs], [False, True])

    def test_a_failure_and_a_release_are_said_again_where_the_reply_was_lost(self):
        self.daemon.lose += ["task.fail", "task.release"]
        with timerd.Client(self.daemon.path) as client:
            client.add(queue="q", retries=0)
            self.assertEqual(client.release(client.reserve("q", wait="5s")[0])["state"], "ready")
            self.assertEqual(client.fail(client.reserve("q")[0], "no")["state"], "dead")
        self.assertEqual((self.daemon.count("task.fail"), self.daemon.count("task.release")), (2, 2))

    def test_what_may_be_repeated_is_repeated_for_as_long_as_patience(self):
        # A daemon that was killed still takes connections for a moment, and each of them is lost.
        self.daemon.lose += ["job.add"] * 3
        with timerd.Client(self.daemon.path, patience=30) as client:
            self.assertTrue(client.add(queue="q", key="order-1")["existing"])
        self.assertEqual(self.daemon.count("job.add"), 4)
        self.daemon.lose += ["job.add"] * 3

        async def add():
            async with timerd.AsyncClient(self.daemon.path, patience=30) as client:
                return await client.add(queue="q", key="order-2")

        self.assertTrue(asyncio.run(add())["existing"])

    def test_an_add_without_a_key_is_not_repeated(self):
        self.daemon.lose.append("job.add")
        with timerd.Client(self.daemon.path) as client:
            self.assertRaises(timerd.ConnectionLost, client.add, queue="q")
            self.assertIsNone(client.get(99))
        self.assertEqual(self.daemon.count("job.add"), 1)

    def test_a_call_waits_for_a_daemon_that_starts_where_patience_is_given(self):
        self.daemon.stop()
        with timerd.Client(self.daemon.path, patience=20) as client:
            threading.Timer(0.1, self.daemon.start).start()
            self.assertEqual(client.add(queue="q")["id"], 1)

    def test_a_child_of_fork_has_a_connection_of_its_own(self):
        with timerd.Client(self.daemon.path) as client:
            self.assertIsNone(client.get(99))
            child = os.fork()
            if child == 0:
                os._exit(0 if client.get(98) is None and client.get(97) is None else 1)
            self.assertIsNone(client.get(96))
            self.assertEqual(os.waitpid(child, 0)[1], 0)
            self.assertIsNone(client.get(95))
        self.assertEqual(len(self.daemon.connections), 2)

    def test_who_has_tied_something_to_a_connection_hears_of_its_end(self):
        client = timerd.Client(self.daemon.path, reconnect=False)
        self.assertIsNone(client.get(99))
        self.daemon.stop()
        self.daemon.start()
        self.assertRaises(timerd.ConnectionLost, client.get, 99)
        self.assertIsNone(client.get(99))

        async def also():
            other = timerd.AsyncClient(self.daemon.path, reconnect=False)
            await other.get(99)
            self.daemon.stop()
            self.daemon.start()
            with self.assertRaises(timerd.ConnectionLost):
                await other.get(99)
            return await other.get(99)

        self.assertIsNone(asyncio.run(also()))

    def test_a_client_that_was_closed_says_so(self):
        client = timerd.Client(self.daemon.path)
        client.close()
        self.assertRaises(timerd.ConnectionLost, client.get, 1)

    def test_threads_share_a_client(self):
        with timerd.Client(self.daemon.path) as client:
            threads = [threading.Thread(target=client.add, kwargs={"queue": "q"}) for _ in range(20)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(60)
        self.assertEqual(len(self.daemon.jobs), 20)

    def test_the_event_loop_may_have_transports_of_a_class_of_its_own(self):
        class Transport:  # as uvloop's, which is what uvicorn runs on
            def __init__(self, other):
                self.other = other

            def __getattr__(self, name):
                return getattr(self.other, name)

        made = AsyncConnection.connection_made

        async def add():
            async with timerd.AsyncClient(self.daemon.path) as client:
                return await client.add(queue="q")

        with unittest.mock.patch.object(AsyncConnection, "connection_made", lambda self, transport: made(self, Transport(transport))):
            self.assertEqual(asyncio.run(add())["id"], 1)

    def test_the_methods_for_asyncio(self):
        async def work():
            async with timerd.AsyncClient(self.daemon.path) as client:
                added = await asyncio.gather(*[client.add(queue="q", in_="1ms") for _ in range(5)])
                tasks = await client.reserve("q", count=10, wait="5s")
                answers = await client.finish_all(tasks)
                return len(added), [answer["state"] for answer in answers], await client.get(99)

        count, states, nothing = asyncio.run(work())
        self.assertEqual((count, set(states), nothing), (5, {"done"}, None))


if __name__ == "__main__":
    unittest.main()
