# SPDX-License-Identifier: Apache-2.0
"""huey of PyPI, on Debian's Redis that syncs with each change, or where there is none on SQLite. It takes no lists, and what a worker has taken is
gone with it: at most once."""
import os
import signal
import time
from datetime import datetime

from server import Missing, Server
from waiters import Waiters


class Huey:
    name = "huey"
    # It looks each second for what is due.
    dates, gap = 100, 0.1

    def __init__(self, folder, waiting):
        try:
            import huey
            import redis
        except ImportError as error:
            raise Missing("the packages huey and redis are not installed: %s" % error) from None
        self.path = os.path.join(folder, "s.sock")
        settings = ["--port", "0", "--unixsocket", self.path, "--dir", folder, "--appendonly", "yes", "--appendfsync", "always", "--save", ""]
        self.server = Server("redis-server", [*settings, "--maxclients", str(waiting + 100)], self.path, folder)
        pool = redis.ConnectionPool(connection_class=redis.UnixDomainSocketConnection, path=self.path)
        self.make = lambda name: huey.RedisHuey(name, results=False, utc=False, connection_pool=pool)
        self.kept = {}

    def queue(self, name):
        if name not in self.kept:
            made = self.make(name)

            @made.task(name="mail")
            def mail(due=None, **fields):
                if due is not None:
                    self.late.append(time.time() - due)

            self.kept[name] = made, mail
        return self.kept[name]

    def add(self, queue):
        made, mail = self.queue(queue)
        made.enqueue(mail.s(to="ann@example.org", text="x" * 100))

    def work(self, queue):
        made, _ = self.queue(queue)
        task = made.dequeue()
        if task is None:
            return 0
        made.execute(task)
        return 1

    add_list = None

    def lateness(self, queue, count, gap):
        made, mail = self.queue(queue)
        self.late = []
        now = time.time()
        for index in range(count):
            due = now + 1 + index * gap
            mail.schedule(kwargs={"due": due}, eta=datetime.fromtimestamp(due))
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        consumer = made.create_consumer(workers=1, periodic=False, check_worker_health=False)
        consumer.start()
        for number, handler in before.items():  # it has set its own
            signal.signal(number, handler)
        until = time.monotonic() + 1 + count * gap + 3
        while len(self.late) < count and time.monotonic() < until:
            time.sleep(0.05)
        consumer.stop(graceful=True)
        return self.late

    def wait(self, queue, count, until):
        made, _ = self.queue(queue)
        self.key = made.storage.queue_key
        self.key = self.key if isinstance(self.key, bytes) else self.key.encode()
        return Waiters(self.path, count, b"BRPOP %s 0\r\n" % self.key, until)

    def all_wait(self, queue, count):
        made, _ = self.queue(queue)
        return int(made.storage.conn.info("clients")["blocked_clients"]) >= count

    def feed(self, queue, count):
        made, _ = self.queue(queue)
        pipeline = made.storage.conn.pipeline(transaction=False)
        for index in range(count):
            pipeline.lpush(self.key, b"x" * 100)
            if index % 100 == 99:
                pipeline.execute()
        pipeline.execute()

    @staticmethod
    def is_task(data):
        return data.startswith(b"*2") and data.endswith(b"x\r\n")

    def close(self):
        self.server.stop()
