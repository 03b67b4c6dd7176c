# SPDX-License-Identifier: Apache-2.0
"""Connections that are refused, full, shared, forked, cancelled, forgotten."""
import asyncio
import contextlib
import gc
import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import unittest
import unittest.mock
import warnings

from server import Server

import timerd
from timerd.aio_connection import AsyncConnection
from timerd.connection import Connection

REFUSED = {"code": -32005, "message": "one connection too many", "data": {"reason": "limitReached"}}
LIMIT = 60


def answering(connection):
    """Answers everything at once, but a reserve that waits: that is never answered."""
    for request in connection.requests():
        if "wait" not in request["params"]:
            connection.send(id=request["id"], result={"job": {"id": request["params"].get("id", 0)}, "tasks": []})


class ConnectionTests(unittest.TestCase):
    def run_async(self, made):
        return asyncio.run(asyncio.wait_for(made, LIMIT))

    def test_a_connection_that_is_refused_says_why(self):
        def refuse(connection):
            connection.send(id=None, error=REFUSED)

        server = Server(self, refuse)
        for _ in range(20):  # the error comes ahead of the request, or behind it
            with timerd.Client(server.path) as client:
                self.assertRaisesRegex(timerd.LimitReached, "too many", client.add, in_="1h")
                self.assertIsInstance(client.calls([("job.get", {"id": 1})] * 3)[2], timerd.LimitReached)

            async def ask():
                async with timerd.AsyncClient(server.path) as client:
                    with self.assertRaisesRegex(timerd.LimitReached, "too many"):
                        await client.add(in_="1h")
                    self.assertIsInstance((await client.calls([("job.get", {"id": 1})] * 3))[2], timerd.LimitReached)

            self.run_async(ask())

    def test_what_is_no_reply_of_the_protocol_is_told_with_the_socket_that_it_came_from(self):
        def answer(connection):
            connection.request()
            connection.send(id=77, result={})

        server = Server(self, answer)
        told = "timerd at '%s' answered request 77, which was not asked" % server.path

        async def ask():
            async with timerd.AsyncClient(server.path) as client:
                with self.assertRaisesRegex(timerd.ProtocolError, told):
                    await client.get(1)

        with timerd.Client(server.path) as client:
            self.assertRaisesRegex(timerd.ProtocolError, told, client.get, 1)
        self.run_async(ask())

    def test_a_line_that_could_not_be_read_is_one_call_alone_and_the_connection_goes_on(self):
        count = []

        def serve(connection):
            count.append(1)
            first, *others = [connection.request() for _ in range(3)]
            connection.send(id=None, error={"code": -32700, "message": "no JSON", "data": {"reason": "parseError"}})
            for one in others:
                connection.send(id=one["id"], result={"job": one["params"]})
            answering(connection)

        server = Server(self, serve)
        asked = [("job.get", {"id": number}) for number in (1, 2, 3)]

        async def ask():
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                return await client.calls(asked), await client.get(4)

        with timerd.Client(server.path, timeout=LIMIT) as client:
            told = [(client.calls(asked), client.get(4)), self.run_async(ask())]
        for (bad, *good), behind in told:
            self.assertIsInstance(bad, timerd.ParseError)
            self.assertEqual((good, behind), ([{"job": {"id": 2}}, {"job": {"id": 3}}], {"id": 4}))
        self.assertEqual(len(count), 2)

    def test_a_client_that_was_turned_away_asks_on_another_connection(self):
        count = []

        def serve(connection):
            count.append(1)
            if len(count) % 2 == 0:
                return answering(connection)
            requests = [connection.request() for _ in range(3)]
            connection.send(id=None, error=REFUSED)
            self.assertEqual(len(requests), 3)
            connection.request()  # until the client has closed it

        server = Server(self, serve)
        asked = [("job.get", {"id": 1})] * 3
        with timerd.Client(server.path, timeout=LIMIT) as client:
            self.assertEqual({type(one) for one in client.calls(asked)}, {timerd.LimitReached})
            self.assertEqual(client.get(4), {"id": 4})

        async def ask():
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                self.assertEqual({type(one) for one in await client.calls(asked)}, {timerd.LimitReached})
                return await client.get(5)

        self.assertEqual(self.run_async(ask()), {"id": 5})

    def test_where_one_of_several_calls_cannot_be_said_none_is_sent(self):
        count = []

        def serve(connection):
            count.append(connection.request())
            answering(connection)

        server = Server(self, serve)
        right = ("job.fire", {"id": 1})

        async def ask(wrong):
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                await client.calls([right, wrong])

        for told, error in ((float("nan"), ValueError), ("x" * 2_000_000, timerd.InvalidRequest)):
            wrong = ("job.add", {"userInfo": told})
            with timerd.Client(server.path, timeout=LIMIT) as client:
                self.assertRaises(error, client.calls, [right] * 500 + [wrong])
            self.assertRaises(error, self.run_async, ask(wrong))
        self.assertEqual(count, [])

    def test_what_is_changed_while_the_connection_is_made_is_not_said(self):
        server = Server(self, answering)

        async def ask():
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                numbers = {"id": 1}
                call = asyncio.ensure_future(client.request("job.get", numbers))
                await asyncio.sleep(0)  # it has begun
                self.assertIsNone(client._connection)
                numbers["id"] = 2
                return await call

        self.assertEqual(self.run_async(ask())["job"], {"id": 1})

    def test_a_server_that_takes_no_more_until_its_answers_are_read_is_no_end(self):
        text = "x" * 100_000

        def slow(connection):
            for _ in range(100):  # the answer of each is longer than what the kernel keeps
                request = connection.request()
                connection.send(id=request["id"], result=text * 3)

        server = Server(self, slow)
        with timerd.Client(server.path, timeout=LIMIT) as client:
            answers = client.calls([("job.get", {"name": text})] * 100)
        self.assertEqual({len(answer) for answer in answers}, {300_000})

    def test_an_error_names_the_socket(self):
        silent = Server(self, lambda connection: connection.request() and connection.request())
        ends = Server(self, lambda connection: connection.request())

        async def late():
            connection = await AsyncConnection.open(silent.path)
            try:
                await connection.request("job.add", {}, 0)
            finally:
                connection.close()

        async def lost():
            async with timerd.AsyncClient(ends.path, timeout=LIMIT) as client:
                await client.request("job.add", {})

        connection = Connection(silent.path)
        self.addCleanup(connection.close)
        with self.assertRaisesRegex(timerd.TimedOut, silent.path):
            connection.ask([("job.add", {})], 0)
        with self.assertRaisesRegex(timerd.TimedOut, silent.path):
            self.run_async(late())
        with timerd.Client(ends.path, timeout=LIMIT) as client:
            with self.assertRaisesRegex(timerd.ConnectionLost, ends.path):
                client.request("job.add", {})
        with self.assertRaisesRegex(timerd.ConnectionLost, ends.path):
            self.run_async(lost())

    def test_a_backlog_that_is_full_is_waited_for(self):
        server = Server(self, backlog=0)
        first = timerd.Client(server.path, timeout=LIMIT)
        self.addCleanup(first.close)
        full = threading.Thread(target=first.get, args=(1,))
        full.start()

        async def ask():
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                return await client.get(7)

        with timerd.Client(server.path, timeout=0.05) as client:
            # Whoever has the one place of the backlog has no answer, and another no connection.
            problems = {type(self.problem(client.get, 1)) for _ in range(3)}
            self.assertLessEqual(problems, {timerd.TimedOut, timerd.CannotConnect})
        threading.Timer(0.2, server.accept, args=(answering,)).start()
        with timerd.Client(server.path, timeout=LIMIT) as client:
            self.assertEqual(client.get(5), {"id": 5})
        self.assertEqual(self.run_async(ask()), {"id": 7})
        full.join(LIMIT)
        self.assertFalse(full.is_alive())

    @staticmethod
    def problem(function, *arguments):
        try:
            return function(*arguments)
        except timerd.TimerdError as error:
            return error

    def test_who_waits_for_tasks_keeps_no_other_thread_waiting(self):
        waiting = threading.Event()

        def serve(connection):
            request = connection.request()
            if request["method"] == "task.reserve":
                waiting.set()
            connection.send(id=request["id"], result={"job": {"id": 1}}) if request["method"] == "job.get" else connection.request()

        server = Server(self, serve)
        client = timerd.Client(server.path, timeout=LIMIT)
        problems = []
        thread = threading.Thread(target=lambda: problems.append(self.problem(lambda: client.reserve("q", wait="1h"))))
        thread.start()
        self.assertTrue(waiting.wait(LIMIT))
        self.assertEqual(client.get(1), {"id": 1})
        client.close()  # and ends the wait
        thread.join(LIMIT)
        self.assertFalse(thread.is_alive())
        self.assertEqual([(type(problem), str(problem)) for problem in problems], [(timerd.ConnectionLost, "the client was closed")])

    def test_with_asyncio_too_a_call_in_progress_is_told_who_closed_the_client(self):
        waiting = threading.Event()

        def serve(connection):
            connection.request()
            waiting.set()
            connection.request()  # until the client has closed it

        server = Server(self, serve)

        async def close():
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            reserve = asyncio.ensure_future(client.reserve("q", wait="1h"))
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, waiting.wait, LIMIT))
            await client.close()
            with self.assertRaisesRegex(timerd.ConnectionLost, "^the client was closed$"):
                await reserve

        self.run_async(close())

    def test_so_it_is_with_asyncio_and_tasks_for_a_cancelled_reserve_are_given_back(self):
        reserved, go_on, answered, released = threading.Event(), threading.Event(), threading.Event(), threading.Event()
        said = []

        def serve(connection):
            for request in connection.requests():
                said.append((request["method"], request["params"]))
                result = {"job": {"id": 1}, "tasks": []}
                if request["method"] == "task.reserve":
                    reserved.set()
                    go_on.wait(LIMIT)
                    result = {"tasks": [{"fire": 5, "token": 9, "queue": "q"}]}
                connection.send(id=request["id"], result=result)
                if request["method"] == "task.reserve":
                    answered.set()
                if request["method"] == "task.release":
                    released.set()

        server = Server(self, serve)

        async def work():
            loop = asyncio.get_running_loop()
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                reserve = asyncio.ensure_future(client.reserve("q", wait="1h"))
                await loop.run_in_executor(None, reserved.wait, LIMIT)
                self.assertEqual(await client.get(1), {"id": 1})
                go_on.set()
                answered.wait(LIMIT)  # while the event loop reads nothing
                reserve.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await reserve
                self.assertFalse(any(one.waits_in_vain for one in client._others))
                self.assertTrue(await loop.run_in_executor(None, released.wait, LIMIT))

        self.run_async(work())
        self.assertEqual(said[-1], ("task.release", {"tasks": [{"fire": 5, "token": 9}]}))

    def test_a_client_that_is_closed_right_behind_the_cancelling_has_given_them_back(self):
        answered = threading.Event()
        said = []

        def serve(connection):
            for request in connection.requests():
                said.append((request["method"], request["params"]))
                connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
                answered.set()

        server = Server(self, serve)

        async def nested(call):
            return await asyncio.ensure_future(call)

        # Each of these hears of the cancelling some turns of the event loop later.
        ways = {
            "itself": lambda call: call,
            "a task": nested,
            "tasks": lambda call: nested(nested(call)),
            "gather": lambda call: asyncio.gather(call),
            "wait_for": lambda call: asyncio.wait_for(call, LIMIT),
            "wait_for twice": lambda call: asyncio.wait_for(nested(asyncio.wait_for(call, LIMIT)), LIMIT),
        }

        async def work(way, wait, turn):
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            reserve = asyncio.ensure_future(way(client.reserve("q", wait=wait)))
            while not said:
                await asyncio.sleep(0)
            answered.wait(LIMIT)  # while the event loop reads nothing
            reserve.cancel()
            if turn:
                with contextlib.suppress(asyncio.CancelledError):
                    await reserve
            await client.close()
            with contextlib.suppress(asyncio.CancelledError, timerd.ConnectionLost):
                return await reserve

        for name, wait, turn in [*itertools.product(ways, ("1h", "0s"), (False,)), ("itself", "1h", True), ("itself", "0s", True)]:
            with self.subTest(name, wait=wait, turn=turn):
                said.clear()
                answered.clear()
                tasks = self.run_async(work(ways[name], wait, turn))
                self.assertEqual((tasks, said[1:]), (None, [("task.release", {"tasks": [{"fire": 5, "token": 9}]})]))

    def test_what_is_on_its_way_back_as_its_connection_is_ended_goes_back_over_another(self):
        cancelled, asked = threading.Event(), threading.Event()

        def serve(connection):
            first = connection.request()
            asked.set()
            cancelled.wait(LIMIT)
            connection.send(id=first["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
            while connection.request() is not None:  # that gives it back, and the second reserve: neither is answered
                pass

        server = Server(self, serve)

        async def work():
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            reserve = asyncio.ensure_future(client.reserve("q", wait="0s"))
            await asyncio.get_running_loop().run_in_executor(None, asked.wait, LIMIT)
            reserve.cancel()
            await asyncio.wait([reserve])
            cancelled.set()
            connection = client._connection
            while not connection._conversation.gives_back:
                await asyncio.sleep(0)
            connection._conversation.ask("task.reserve", {})
            self.assertTrue(connection.reserves)
            self.assertEqual(connection.leave(), [[{"fire": 5, "token": 9}]])
            await client.close()

        self.run_async(work())

    def test_what_nobody_has_taken_goes_back_also_over_a_restart_of_the_daemon(self):
        asked, cancelled, released = threading.Event(), threading.Event(), threading.Event()
        refused = []
        stopping = {"code": -32006, "message": "the daemon is stopping", "data": {"reason": "stopping"}}

        def serve(connection):
            for request in connection.requests():
                if request["method"] == "task.reserve":
                    asked.set()
                    cancelled.wait(LIMIT)
                    connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
                elif request["method"] == "job.get":
                    connection.send(id=request["id"], result={"job": {"id": 1}})
                elif len(refused) < 2:  # over its own connection, which ends then, and once over another
                    refused.append(request["params"])
                    connection.send(id=request["id"], error=stopping)
                    return
                else:
                    connection.send(id=request["id"], result={"tasks": [{"fire": 5, "state": "ready"}]})
                    released.set()

        server = Server(self, serve)

        async def work():
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            wait = asyncio.get_running_loop().run_in_executor
            reserve = asyncio.ensure_future(client.reserve("q", wait="0s"))
            await wait(None, asked.wait, LIMIT)
            reserve.cancel()
            await asyncio.wait([reserve])
            cancelled.set()
            while client._connection is not None and client._connection.lost is None:
                await asyncio.sleep(0.001)
            await client.get(1)
            self.assertTrue(await wait(None, released.wait, LIMIT))
            await client.close()

        with unittest.mock.patch("timerd.aio_client._GIVES_BACK_FOR", 3600.0):
            self.run_async(work())
        self.assertEqual(refused, [{"tasks": [{"fire": 5, "token": 9}]}] * 2)

    def test_a_wait_that_is_given_up_ends_its_connection_unless_tasks_are_tied_to_that(self):
        waiting, ended = threading.Semaphore(0), threading.Semaphore(0)

        def serve(connection):
            while True:
                request = connection.request()
                if request is None:
                    return ended.release()
                params = request["params"]
                if request["method"] == "task.finish":
                    connection.send(id=request["id"], result={"task": {"fire": 5, "state": "done"}})
                elif params.get("queues") == ["full"]:
                    connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "full"}]})
                elif params.get("queues") == ["spoilt"]:
                    connection.send(id=request["id"], result={"tasks": [{"fire": "5", "token": 9, "queue": "spoilt"}]})
                else:
                    waiting.release()

        server = Server(self, serve)

        async def work():
            loop = asyncio.get_running_loop()

            async def give_up(call):
                asked = asyncio.ensure_future(call)
                self.assertTrue(await loop.run_in_executor(None, waiting.acquire, True, LIMIT))
                asked.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await asked

            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                for call in (client.reserve("q", wait="1h"), client.reserve("q", wait="1h", while_connected=True), client.call("run.output", id=1, wait=True)):
                    await give_up(call)
                    self.assertTrue(await loop.run_in_executor(None, ended.acquire, True, LIMIT))
                with self.assertRaises(timerd.TimedOut):
                    await client.request("task.reserve", {"queues": ["q"], "wait": "1h"}, timeout=1)
                self.assertTrue(await loop.run_in_executor(None, ended.acquire, True, LIMIT))
                self.assertTrue(waiting.acquire(timeout=LIMIT))
                self.assertEqual(client._others, [])
                with self.assertRaises(timerd.ProtocolError):  # nobody will say what became of such a task
                    await client.reserve("spoilt", wait="1h", while_connected=True)
                await give_up(client.reserve("q", wait="1h", while_connected=True))
                self.assertEqual(client._others, [])
                self.assertTrue(await loop.run_in_executor(None, ended.acquire, True, LIMIT))
                first = await client.reserve("full", wait="1h", while_connected=True)
                await give_up(client.reserve("q", wait="1h", while_connected=True))
                self.assertEqual(len(client._others), 1)
                await client.finish(first[0])
                self.assertEqual(client._others, [])
                self.assertTrue(await loop.run_in_executor(None, ended.acquire, True, LIMIT))

        self.run_async(work())

    def test_an_answer_that_is_there_as_its_reserve_is_given_up_costs_its_tasks_nothing(self):
        answered, released = threading.Event(), threading.Event()

        def serve(connection):
            request = connection.request()
            connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
            answered.set()
            # Over the connection that they are tied to: with the end of that they would be lost.
            request = connection.request()
            if request is not None and request["method"] == "task.release":
                self.assertEqual(request["params"], {"tasks": [{"fire": 5, "token": 9}]})
                released.set()
                connection.send(id=request["id"], result={"tasks": [{"fire": 5, "state": "ready"}]})
                connection.request()

        server = Server(self, serve)

        async def work():
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                reserve = asyncio.ensure_future(client.reserve("q", wait="1h", while_connected=True))
                while not client._others or client._others[0].waits_for == 0:
                    await asyncio.sleep(0)
                self.assertTrue(answered.wait(LIMIT))  # the event loop stands still meanwhile
                reserve.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await reserve
                self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, released.wait, LIMIT))
                self.assertEqual(len(client._others), 1)

        self.run_async(work())

    def test_tasks_whose_answer_is_read_behind_the_cancelling_are_given_back(self):
        released = threading.Event()

        def serve(connection):
            request = connection.request()
            connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
            back = connection.request()  # none from the other one
            if back is not None and back["params"] == {"tasks": [{"fire": 5, "token": 9}]}:
                released.set()

        server = Server(self, serve)

        async def work():
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            reserve = asyncio.ensure_future(client.reserve("q", wait="1h"))
            while not client._others:
                await asyncio.sleep(0)
            connection = client._others[0]
            answered = connection._answer

            def cancel_and_answer(answer):
                reserve.cancel()
                answered(answer)

            connection._answer = cancel_and_answer
            with self.assertRaises(asyncio.CancelledError):
                await reserve
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, released.wait, LIMIT))
            await client.close()

        self.run_async(work())

    def test_tasks_that_come_in_the_moment_of_the_cancelling_are_given_back(self):
        released = threading.Event()

        def serve(connection):
            request = connection.request()
            connection.send(id=request["id"], result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]})
            back = connection.request()  # none from the other one
            if back is not None and back["params"] == {"tasks": [{"fire": 5, "token": 9}]}:
                released.set()

        server = Server(self, serve)

        async def work():
            client = timerd.AsyncClient(server.path, timeout=LIMIT)
            reserve = asyncio.ensure_future(client.reserve("q", wait="1h"))
            while not client._others:
                await asyncio.sleep(0)
            connection = client._others[0]
            answered = connection._answer

            def answer_and_cancel(answer):
                answered(answer)
                reserve.cancel()

            connection._answer = answer_and_cancel
            with self.assertRaises(asyncio.CancelledError):
                await reserve
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, released.wait, LIMIT))
            await client.close()

        self.run_async(work())

    def test_a_call_that_is_too_late_ends_no_other(self):
        late = threading.Event()

        def serve(connection):
            first, second = connection.request(), connection.request()
            late.wait(LIMIT)
            connection.send(id=first["id"], result={"job": {"id": 1}})
            connection.send(id=second["id"], result={"job": {"id": 2}})
            connection.request()

        server = Server(self, serve)

        async def work():
            async with timerd.AsyncClient(server.path) as client:
                first = asyncio.ensure_future(client.request("job.get", {"id": 1}, timeout=1))
                second = asyncio.ensure_future(client.get(2))
                with self.assertRaises(timerd.TimedOut):
                    await first
                late.set()
                return await second

        self.assertEqual(self.run_async(work()), {"id": 2})

    def test_a_call_that_is_too_late_ends_no_connection_that_tasks_are_tied_to(self):
        connections, said, released = [], [], threading.Event()

        def serve(connection):
            connections.append(connection)
            open_ = []
            for request in connection.requests():
                open_.append(request)
                said.append((request["method"], request["params"]))
                if request["method"] == "task.release":
                    released.set()
                if len(said) in (2, 3):
                    continue  # it hangs
                for one in open_:
                    tasks = [{"fire": len(said), "token": 9, "queue": "q"}]
                    connection.send(id=one["id"], result={"tasks": tasks} if one["method"] == "task.reserve" else {"job": one["params"]})
                open_.clear()

        server = Server(self, serve)
        with timerd.Client(server.path, timeout=LIMIT) as client:
            self.assertEqual([task.fire for task in client.reserve("q", while_connected=True)], [1])
            with self.assertRaises(timerd.TimedOut):
                client.request("job.get", {"id": 5}, timeout=1)
            with self.assertRaises(timerd.TimedOut):
                client.request("task.reserve", {"queues": ["q"]}, timeout=1)
            self.assertRaises(ValueError, client.add, user_info=float("nan"))
            # The late answers come ahead of its own, and the late tasks are given back.
            self.assertEqual(client.get(7), {"id": 7})
            self.assertTrue(released.wait(LIMIT))
            self.assertEqual(client.get(8), {"id": 8})
            self.assertEqual(len(connections), 1)
        self.assertIn(("task.release", {"tasks": [{"fire": 4, "token": 9}]}), said)

    def test_tasks_that_came_for_nobody_are_given_back_over_the_next_connection(self):
        said = []

        def serve(connection):
            number = len(connections)
            connections.append(connection)
            late = []
            for request in connection.requests():
                said.append((number, request["method"], request["params"]))
                if request["method"] == "task.release":
                    if number == 0:
                        return  # with the daemon, which does not answer
                    connection.send(id=request["id"], result={"tasks": [{"fire": 2, "state": "ready"}]})
                elif request["method"] == "job.get":
                    for one in late:
                        connection.send(id=one["id"], result={"tasks": [{"fire": 2, "token": 9, "queue": "q"}]})
                    late.clear()
                    connection.send(id=request["id"], result={"job": request["params"]})
                elif request["params"].get("whileConnected"):
                    connection.send(id=request["id"], result={"tasks": [{"fire": 1, "token": 8, "queue": "q"}]})
                else:
                    late.append(request)  # it hangs

        connections = []
        server = Server(self, serve)
        with timerd.Client(server.path, timeout=LIMIT) as client:
            self.assertEqual([task.fire for task in client.reserve("q", while_connected=True)], [1])
            with self.assertRaises(timerd.TimedOut):
                client.request("task.reserve", {"queues": ["q"]}, timeout=1)
            for id in (3, 4):
                self.assertEqual(client.get(id), {"id": id})
        release = ("task.release", {"tasks": [{"fire": 2, "token": 9}]})
        self.assertEqual(said[-3:], [(0, *release), (1, *release), (1, "job.get", {"id": 4})])

    def test_tasks_beside_one_that_cannot_be_read_are_given_back(self):
        def serve(connection):
            for request in connection.requests():
                said.append((request["method"], request["params"]))
                if request["method"] == "task.reserve":
                    tasks = [{"fire": 1, "token": 8, "queue": "q"}, {"fire": 2, "token": []}, {"fire": 3, "token": 9, "queue": 4}]
                    connection.send(id=request["id"], result={"tasks": tasks})
                elif request["method"] == "task.release":
                    released.set()
                    connection.send(id=request["id"], result={"tasks": [{"fire": 1, "state": "ready"}, {"fire": 3, "state": "ready"}]})
                else:
                    connection.send(id=request["id"], result={"job": request["params"]})

        said, released = [], threading.Event()
        back = ("task.release", {"tasks": [{"fire": 1, "token": 8}, {"fire": 3, "token": 9}]})
        server = Server(self, serve)
        for wait in (0, "1h"):
            said.clear()
            with self.assertRaises(timerd.ProtocolError), timerd.Client(server.path, timeout=LIMIT) as client:
                client.reserve("q", wait=wait)
            self.assertEqual(said[1:], [back])

        async def work(wait):
            async with timerd.AsyncClient(server.path, timeout=LIMIT) as client:
                with self.assertRaises(timerd.ProtocolError):
                    await client.reserve("q", wait=wait, while_connected=True)
                await asyncio.get_running_loop().run_in_executor(None, released.wait, LIMIT)

        for wait in (0, "1h"):
            said.clear()
            released.clear()
            self.run_async(work(wait))
            self.assertEqual(said[1:], [back])

    def test_those_that_the_daemon_does_not_take_back_go_with_the_next_call(self):
        def serve(connection):
            for request in connection.requests():
                said.append((request["method"], request["params"]))
                if request["method"] == "task.reserve":
                    connection.send(id=request["id"], result={"tasks": [{"fire": 1, "token": 8, "queue": "q"}, {"fire": 2, "token": []}]})
                elif request["method"] != "task.release":
                    connection.send(id=request["id"], result={"job": request["params"]})
                elif said.count(back) > 1:
                    connection.send(id=request["id"], result={"tasks": [{"fire": 1, "state": "ready"}]})
                elif stops:
                    connection.send(id=request["id"], error={"code": -32006, "message": "timerd is stopping", "data": {"reason": "stopping"}})
                else:
                    return

        said, back = [], ("task.release", {"tasks": [{"fire": 1, "token": 8}]})
        server = Server(self, serve)
        refused, lost = timerd.ProtocolError, timerd.ConnectionLost
        for reconnect, stops, error in ((True, True, refused), (True, False, refused), (False, True, refused), (False, False, lost)):
            said.clear()
            with timerd.Client(server.path, timeout=LIMIT, reconnect=reconnect) as client:
                with self.assertRaises(error):
                    client.reserve("q")
                self.assertEqual(client.get(7), {"id": 7})
            self.assertEqual(said[1:], [back, back, ("job.get", {"id": 7})])

    def test_tasks_that_came_with_what_failed_are_given_back_with_the_next_call(self):
        def serve(connection):
            request = connection.request()
            said.append((request["method"], request["params"]))
            if request["method"] == "task.reserve":
                connection.send(id=request["id"], result={"tasks": [{"fire": 2, "token": 9, "queue": "q"}]})
                connection.request()
                return  # and the other request has no answer
            connection.send(id=request["id"], result={"tasks": [{"fire": 2, "state": "ready"}]})
            request = connection.request()
            connection.send(id=request["id"], result={"job": request["params"]})
            connection.request()

        said = []
        server = Server(self, serve)
        with timerd.Client(server.path, timeout=LIMIT) as client:
            with self.assertRaises(timerd.ConnectionLost):
                client.calls([("task.reserve", {"queues": ["q"]}), ("job.get", {"id": 5})])
            self.assertEqual(client.get(7), {"id": 7})
        self.assertEqual(said, [("task.reserve", {"queues": ["q"]}), ("task.release", {"tasks": [{"fire": 2, "token": 9}]})])

    def test_close_ends_a_call_that_looks_for_a_daemon(self):
        client = timerd.Client("/nonexistent/s.sock", patience=600, timeout=None)
        problems = []
        thread = threading.Thread(target=lambda: problems.append(self.problem(client.get, 1)))
        thread.start()
        client.close()
        thread.join(LIMIT)
        self.assertIn(type(problems[0]), (timerd.CannotConnect, timerd.ConnectionLost))

    def test_a_signal_handler_may_close_the_client_whose_call_it_has_interrupted(self):
        program = """
            import signal, sys, timerd
            client = timerd.Client(sys.argv[1])
            def handler(*_):
                if sys.argv[2] == "job.get":
                    try:
                        client.get(1)  # over the connection that the other call has
                    except timerd.TimedOut as error:
                        print(error)
                client.close()
            signal.signal(signal.SIGTERM, handler)
            try:
                client.call(sys.argv[2], wait="1h")
            except timerd.ConnectionLost as error:
                print(error, client._channels[-1].connection)
        """
        closed = b"the client was closed None\n"
        for method, said in (("task.reserve", closed), ("job.get", b"the call that this one has interrupted has the connection\n" + closed)):
            asked = threading.Event()

            def serve(connection):
                if connection.request() is not None:
                    asked.set()
                    connection.request()

            server = Server(self, serve)
            command = [sys.executable, "-c", textwrap.dedent(program), server.path, method]
            with self.subTest(method), subprocess.Popen(command, stdout=subprocess.PIPE) as running:
                try:
                    self.assertTrue(asked.wait(LIMIT))
                    running.send_signal(signal.SIGTERM)
                    self.assertEqual(running.communicate(timeout=LIMIT)[0], said)
                finally:
                    running.kill()

    def test_who_is_interrupted_anywhere_as_it_tries_again_may_close_what_tries(self):
        # As a signal handler does, ahead of each step in turn that leads into the pause and through it.
        program = """
            import sys, timerd
            timerd.client.Attempts.after = lambda *_: 0.001
            timerd.watcher.Backoff.next = lambda _: 0.001
            def close_at(step, one, run):
                left = [step]
                def profile(frame, event, argument):
                    left[0] -= 1
                    if left[0] == 0:
                        sys.setprofile(None)
                        one.close()
                sys.setprofile(profile)
                try:
                    run()
                except timerd.ConnectionFailed:
                    pass
                finally:
                    sys.setprofile(None)
            for step in range(1, 400):
                client = timerd.Client("/nonexistent/s.sock", patience=600, timeout=None)
                close_at(step, client, lambda: client.get(1))
                watcher = timerd.Watcher("/nonexistent/s.sock")
                close_at(step, watcher, lambda: next(watcher, None))
            print("closed")
        """
        running = subprocess.run([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=LIMIT)
        self.assertEqual(running.stdout, b"closed\n")

    def test_a_daemon_that_has_gone_with_a_request_leaves_it_lost_and_not_unsent(self):
        def gone():
            def serve(connection):
                connection.request()
                server.close()

            server = Server(self, serve)
            return server.path

        with timerd.Client(gone()) as client:
            self.assertRaisesRegex(timerd.ConnectionLost, "may have been carried out", client.add, in_="1h", key="a")

        async def add():
            async with timerd.AsyncClient(gone()) as client:
                await client.add(in_="1h", key="a")

        with self.assertRaisesRegex(timerd.ConnectionLost, "may have been carried out"):
            self.run_async(add())

    def test_a_daemon_that_is_away_is_named_with_its_socket(self):
        with timerd.Client("/nonexistent/s.sock") as client:
            self.assertEqual(str(self.problem(client.get, 1)), "cannot connect to timerd at '/nonexistent/s.sock': no such file or directory")

    def test_a_child_of_fork_holds_no_connection_of_its_parent_open(self):
        ended = threading.Event()

        def serve(connection):
            while connection.request() is not None:
                connection.send(id=1, result={"job": {}})
            ended.set()

        server = Server(self, serve)
        reader, writer = os.pipe()
        client = timerd.Client(server.path)
        client.get(1)
        child = os.fork()
        if child == 0:
            os.close(writer)
            os.read(reader, 1)  # outlives the connection
            os._exit(0)
        client.close()
        self.assertTrue(ended.wait(LIMIT))
        os.close(writer)
        os.close(reader)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_nor_one_of_asyncio(self):
        ended = threading.Event()

        def serve(connection):
            while connection.request() is not None:
                connection.send(id=1, result={"job": {}})
            ended.set()

        server = Server(self, serve)
        reader, writer = os.pipe()

        async def work():
            client = timerd.AsyncClient(server.path)
            await client.get(1)
            child = os.fork()
            if child == 0:
                os.close(writer)
                os.read(reader, 1)
                os._exit(0)
            await client.close()
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, ended.wait, LIMIT))
            return child

        child = self.run_async(work())
        os.close(writer)
        os.close(reader)
        self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_a_client_that_is_forgotten_ends_its_connection_and_says_so(self):
        ended = threading.Semaphore(0)

        def serve(connection):
            answering(connection)
            ended.release()

        server = Server(self, serve)
        with self.assertWarns(ResourceWarning):
            client = timerd.Client(server.path)
            client.get(1)
            del client
            gc.collect()
        self.assertTrue(ended.acquire(timeout=LIMIT))

        async def work():
            client = timerd.AsyncClient(server.path)
            await client.get(1)
            with self.assertWarns(ResourceWarning):
                del client
                gc.collect()
            self.assertTrue(await asyncio.get_running_loop().run_in_executor(None, lambda: ended.acquire(timeout=LIMIT)))

        self.run_async(work())

    def test_a_client_for_asyncio_may_be_used_by_one_event_loop_after_another(self):
        server = Server(self, answering)
        client = timerd.AsyncClient(server.path)

        async def work(number):
            return await asyncio.gather(*[client.get(number) for _ in range(3)])

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)  # a loop that ends closes no connection
            for number in range(1, 4):
                self.assertEqual(self.run_async(work(number)), [{"id": number}] * 3)
            del client
            gc.collect()

    def test_events_that_nobody_takes_keep_no_call_waiting(self):
        def serve(connection):
            for request in connection.requests():
                connection.send(id=request["id"], result={"seq": 0, "job": {"id": 1}})
                for seq in range(1, 301):  # more than a watcher keeps
                    connection.send(method="event", params={"seq": seq, "type": "job.added"})

        server = Server(self, serve)

        async def asking():
            async with timerd.AsyncClient(server.path) as client:
                await client.call("events.subscribe")
                for _ in range(3):
                    self.assertEqual(await client.get(1), {"id": 1})

        self.run_async(asking())
        with timerd.Client(server.path) as client:
            client.call("events.subscribe")
            for _ in range(3):
                self.assertEqual(client.get(1), {"id": 1})

    def test_a_watcher_that_is_closed_ends(self):
        subscribed = threading.Event()

        def serve(connection):
            connection.send(id=connection.request()["id"], result={"seq": 3})
            subscribed.set()
            connection.request()

        server = Server(self, serve)

        async def work():
            watcher = timerd.AsyncWatcher(server.path)

            async def watch():
                return [event async for event in watcher]

            watching = asyncio.ensure_future(watch())
            await asyncio.get_running_loop().run_in_executor(None, subscribed.wait, LIMIT)
            watcher.close()
            return await watching

        self.assertEqual(self.run_async(work()), [])
        watcher = timerd.Watcher(server.path)
        subscribed.clear()
        thread = threading.Thread(target=list, args=(watcher,))
        thread.start()
        self.assertTrue(subscribed.wait(LIMIT))
        watcher.close()
        thread.join(LIMIT)
        self.assertFalse(thread.is_alive())

    def test_a_watcher_goes_on_where_the_events_could_not_be_read_for_a_while(self):
        def serve_from(count):
            def serve(connection):
                count.append(1)
                connection.send(id=connection.request()["id"], result={"seq": 3})
                if len(count) == 1:
                    error = {"code": -32006, "message": "cannot read the events", "data": {"reason": "storageFailed"}}
                    return connection.send(id=None, error=error)
                connection.send(method="event", params={"seq": 4, "type": "job.added"})
                connection.request()

            return serve

        with self.assertLogs("timerd.watcher", "WARNING"):
            watcher = timerd.Watcher(Server(self, serve_from([])).path)
            self.assertEqual(next(iter(watcher))["seq"], 4)
            watcher.close()

        async def watch():
            watcher = timerd.AsyncWatcher(Server(self, serve_from([])).path)
            async for event in watcher:
                watcher.close()
                return event["seq"]

        with self.assertLogs("timerd", "WARNING"):
            self.assertEqual(self.run_async(watch()), 4)

    def test_a_watcher_goes_on_where_connections_are_too_many_and_ends_where_its_jobs_are(self):
        count = []

        def serve(connection):
            count.append(1)
            if len(count) == 1:
                return connection.send(id=None, error=REFUSED)
            request = connection.request()
            if len(count) == 2:
                connection.send(id=request["id"], result={"seq": 3})
                return connection.send(method="event", params={"seq": 4, "type": "job.added"})
            connection.send(id=request["id"], error={**REFUSED, "message": "too many jobs"})

        server = Server(self, serve)
        seen = []
        with self.assertLogs("timerd.watcher", "WARNING"), self.assertRaisesRegex(timerd.LimitReached, "too many jobs"):
            for event in timerd.Watcher(server.path):
                seen.append(event["seq"])
        self.assertEqual(seen, [4])


if __name__ == "__main__":
    unittest.main()
