# SPDX-License-Identifier: Apache-2.0
"""procrastinate of PyPI, on Debian's PostgreSQL: synced as it comes, on a socket alone."""
import asyncio
import os
import subprocess
import time
from datetime import datetime, timezone

from server import Missing, Server, candidates, unprivileged


class Procrastinate:
    name = "procrastinate"
    # It finds what was put off by asking each five seconds.
    dates, gap = 25, 0.4
    # It adds lists far faster than it works them off.
    most = 1000

    def __init__(self, folder, waiting):
        try:
            import procrastinate
            import psycopg
            from procrastinate import jobs
        except ImportError as error:
            raise Missing("the packages procrastinate and psycopg are not installed: %s" % error) from None
        user = unprivileged()
        data = os.path.join(folder, "data")
        programs = candidates("initdb")
        if not programs:
            raise Missing("PostgreSQL is not installed")
        as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        initdb = [programs[0], "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C"]
        made = subprocess.run(initdb, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **as_user)
        if made.returncode != 0:
            raise Missing("initdb failed: %s" % made.stdout[-300:].decode("utf-8", "replace"))
        postgres = os.path.join(os.path.dirname(programs[0]), "postgres")
        settings = ["-D", data, "-k", folder, "-c", "listen_addresses="]
        self.server = Server(postgres, settings, os.path.join(folder, ".s.PGSQL.5432"), folder, user)
        self.done = jobs.Status.SUCCEEDED
        self.loop = asyncio.new_event_loop()
        conninfo = "host=%s user=bench dbname=postgres" % folder
        until = time.monotonic() + 20
        while True:  # it listens before it answers
            try:
                psycopg.connect(conninfo).close()
                break
            except psycopg.OperationalError as error:
                if time.monotonic() > until:
                    self.server.stop()
                    raise Missing("PostgreSQL does not answer: %s" % error) from None
                time.sleep(0.1)
        # One connection, as the others have.
        connector = procrastinate.PsycopgConnector(conninfo=conninfo, min_size=1, max_size=1)
        self.app = procrastinate.App(connector=connector)
        self.late = []

        @self.app.task(name="mail")
        async def mail(due=None, **fields):
            self.late.append(time.time() - due)

        self.mail = mail
        try:
            self.run(self.opened())
        except BaseException:
            self.server.stop()
            raise

    def run(self, coroutine):
        return self.loop.run_until_complete(coroutine)

    async def opened(self):
        await self.app.open_async()
        await self.app.schema_manager.apply_schema_async()
        self.worker = await self.app.job_manager.register_worker()

    def add(self, queue):
        self.run(self.mail.configure(queue=queue).defer_async(to="ann@example.org", text="x" * 100))

    def work(self, queue):
        return self.run(self.fetched(queue, 1))

    async def fetched(self, queue, count):
        for index in range(count):
            job = await self.app.job_manager.fetch_job(queues=[queue], worker_id=self.worker)
            if job is None:
                return index
            await self.app.job_manager.finish_job(job, status=self.done, delete_job=True)
        return count

    def add_list(self, queue, count):
        self.run(self.mail.configure(queue=queue).batch_defer_async(*[{"to": "ann@example.org", "text": "x" * 100}] * count))

    def work_list(self, queue, count):
        """It has no lists here: one by one."""
        return self.run(self.fetched(queue, count))

    def lateness(self, queue, count, gap):
        async def measure():
            now = time.time()
            for index in range(count):
                due = now + 1 + index * gap
                at = datetime.fromtimestamp(due, timezone.utc)
                await self.mail.configure(queue=queue, schedule_at=at).defer_async(due=due)
            working = asyncio.ensure_future(
                self.app.run_worker_async(queues=[queue], install_signal_handlers=False, listen_notify=False, concurrency=1)
            )
            until = time.monotonic() + 1 + count * gap + 6
            while len(self.late) < count and time.monotonic() < until and not working.done():
                await asyncio.sleep(0.05)
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

        self.run(measure())
        return self.late

    wait = None  # a connection of PostgreSQL is a process: it has 100

    def close(self):
        self.run(self.app.close_async())
        self.loop.close()
        self.server.stop()
