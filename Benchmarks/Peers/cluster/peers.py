# SPDX-License-Identifier: Apache-2.0
"""Tasks on the same PostgreSQL: timerd's queues on one node, procrastinate and pgqueuer of PyPI, each used as its documentation has it."""
import asyncio
import os
import time

from nodes import Client, Nodes
from server import Missing

FIELDS = {"to": "ann@example.org", "text": "x" * 100}


class Timerd:
    name = "timerd, a queue"
    asks = "one connection; a worker reserves so many and finishes them"

    def __init__(self, database, folder):
        self.nodes = Nodes(os.path.join(folder, "peer"), database.uri(database.fresh("tasks")))
        self.pids = self.nodes.pids
        self.client = Client(self.nodes.paths[0])

    @staticmethod
    def job():
        return {"schedule": {"in": "0s"}, "queue": "q", "userInfo": FIELDS}

    def add(self):
        self.client.ask("job.add", **self.job())

    def add_list(self, count):
        self.client.ask("job.add", jobs=[self.job()] * count)

    def work(self, count, together):
        """How many were done, at least so many, and in how many seconds."""
        done, begun = 0, time.monotonic()
        while done < count:
            tasks = self.client.ask("task.reserve", queues=["q"], wait="5s", count=together)["tasks"]
            if not tasks:
                raise RuntimeError("of %d tasks %d came back in time" % (count, done))
            if together == 1:
                self.client.ask("task.finish", fire=tasks[0]["fire"], token=tasks[0]["token"])
            else:
                self.client.ask("task.finish", tasks=[{"fire": task["fire"], "token": task["token"]} for task in tasks])
            done += len(tasks)
        return done, time.monotonic() - begun

    def wait(self, seconds, meanwhile):
        """What `meanwhile()` returns, while a worker waits for that long and a little longer."""
        from nodes import line_of
        waiter = Client(self.nodes.paths[0])
        waiter.send(line_of("task.reserve", queues=["q"], wait="%ds" % (seconds + 20)))
        time.sleep(1)
        value = meanwhile()
        waiter.close()
        return value

    def close(self):
        self.client.close()
        self.nodes.close()


class Library:
    """A library of Python on an event loop of its own."""
    pids = ()

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    def work(self, count, together):
        """How many were done, at least so many, and in how many seconds. What its worker has begun then it ends."""
        self.done, self.wanted = 0, count
        begun = time.monotonic()
        self.run(self.until_done(together, begun))
        if self.done < count:
            raise RuntimeError("of %d tasks %d were done in time" % (count, self.done))
        return self.done, self.reached - begun

    async def until_done(self, together, begun):
        self.over, self.reached = asyncio.Event(), begun
        working = asyncio.ensure_future(self.worker(together))
        over = asyncio.ensure_future(self.over.wait())
        await asyncio.wait([working, over], timeout=60, return_when=asyncio.FIRST_COMPLETED)
        over.cancel()
        await self.stop(working)

    def count(self):
        self.done += 1
        if self.done >= self.wanted > 0:
            self.reached = time.monotonic() if self.done == self.wanted else self.reached
            self.over.set()

    def wait(self, seconds, meanwhile):
        async def waiting():
            self.over, self.done, self.wanted = asyncio.Event(), 0, -1
            working = asyncio.ensure_future(self.worker(1))
            await asyncio.sleep(2)
            value = await asyncio.get_running_loop().run_in_executor(None, meanwhile)
            await self.stop(working)
            return value

        return self.run(waiting())


class Procrastinate(Library):
    name = "procrastinate"
    asks = "its worker runs so many at once"

    def __init__(self, database, folder):
        try:
            import procrastinate
        except ImportError as error:
            raise Missing("the package procrastinate is not installed: %s" % error) from None
        self.loop = asyncio.new_event_loop()
        conninfo = "host=%s user=bench dbname=%s" % (database.folder, database.fresh("tasks"))
        # One for its work, and one on which its worker listens.
        self.app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=conninfo, min_size=2, max_size=2))

        @self.app.task(name="mail", queue="q")
        async def mail(**fields):
            self.count()

        self.mail = mail
        self.run(self.opened())

    async def opened(self):
        await self.app.open_async()
        await self.app.schema_manager.apply_schema_async()

    def add(self):
        self.run(self.mail.defer_async(**FIELDS))

    def add_list(self, count):
        self.run(self.mail.batch_defer_async(*[FIELDS] * count))

    def worker(self, together):
        return self.app.run_worker_async(queues=["q"], concurrency=together, install_signal_handlers=False)

    @staticmethod
    async def stop(working):
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    def close(self):
        self.run(self.app.close_async())
        self.loop.close()


class Pgqueuer(Library):
    name = "pgqueuer"
    asks = "its worker takes so many from the table at once"

    def __init__(self, database, folder):
        try:
            import asyncpg
            from pgqueuer import PgQueuer
            from pgqueuer.db import AsyncpgDriver
            from pgqueuer.queries import Queries
        except ImportError as error:
            raise Missing("the packages pgqueuer and asyncpg are not installed: %s" % error) from None
        import json
        self.loop, self.payload = asyncio.new_event_loop(), json.dumps(FIELDS).encode()
        self.connect = lambda: asyncpg.connect(host=database.folder, user="bench", database=name)
        self.make, self.driver = PgQueuer, AsyncpgDriver
        name = database.fresh("tasks")

        async def opened():
            self.connection = await self.connect()
            self.queries = Queries(AsyncpgDriver(self.connection))
            await self.queries.install()

        self.run(opened())

    def add(self):
        self.run(self.queries.enqueue("mail", self.payload))

    def add_list(self, count):
        self.run(self.queries.enqueue(["mail"] * count, [self.payload] * count, [0] * count))

    async def worker(self, together):
        connection = await self.connect()
        try:
            self.queuer = self.make(self.driver(connection))

            @self.queuer.entrypoint("mail")
            async def mail(job):
                self.count()

            await self.queuer.run(batch_size=together)
        finally:
            await connection.close()

    async def stop(self, working):
        self.queuer.shutdown.set()
        await asyncio.wait([working], timeout=20)
        working.cancel()
        await asyncio.gather(working, return_exceptions=True)

    def close(self):
        self.run(self.connection.close())
        self.loop.close()


PEERS = [Timerd, Procrastinate, Pgqueuer]
