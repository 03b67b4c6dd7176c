# SPDX-License-Identifier: Apache-2.0
"""beanstalkd of Debian: with a log that is synced with each change (-f0), and as it comes, in memory."""
import os
import threading
import time

from server import Lines, Server
from waiters import Waiters

BODY = b'{"to": "ann@example.org", "text": "' + b"x" * 100 + b'"}'


class Beanstalkd:
    name = "beanstalkd -f0"

    def __init__(self, folder, waiting):
        path = os.path.join(folder, "s.sock")
        self.server = Server("beanstalkd", ["-l", "unix:" + path, *self.durable(folder)], path, folder)
        self.path = path
        self.lines = Lines(path)
        self.using = None

    @staticmethod
    def durable(folder):
        return ["-b", folder, "-f0"]

    def use(self, queue):
        if self.using != queue:
            self.using = queue
            self.lines.send(b"use %s\r\nwatch %s\r\n" % (queue.encode(), queue.encode()))
            self.lines.line(), self.lines.line()

    @staticmethod
    def put(delay=0):
        return b"put 100 %d 60 %d\r\n%s\r\n" % (delay, len(BODY), BODY)

    def expect(self, word, lines=None):
        line = (lines or self.lines).line()
        if not line.startswith(word):
            raise RuntimeError("beanstalkd answered %r, and %r was expected" % (line, word))
        return line.split()

    def reserved(self):
        _, number, size = self.expect(b"RESERVED")
        self.lines.file.read(int(size) + 2)
        return number

    def add(self, queue):
        self.add_list(queue, 1)

    def work(self, queue):
        return self.work_list(queue, 1)

    def add_list(self, queue, count):
        self.use(queue)
        self.lines.send(self.put() * count)
        for _ in range(count):
            self.expect(b"INSERTED")

    def work_list(self, queue, count):
        self.use(queue)
        self.lines.send(b"reserve-with-timeout 5\r\n" * count)
        numbers = [self.reserved() for _ in range(count)]
        self.lines.send(b"".join(b"delete %s\r\n" % number for number in numbers))
        for _ in numbers:
            self.expect(b"DELETED")
        return count

    def lateness(self, queue, count, gap):
        """Its delays are whole seconds: those that are put at some moment are due two seconds later."""
        self.use(queue)
        due, late = [], []

        def put():
            putter = Lines(self.path)
            putter.send(b"use %s\r\n" % queue.encode())
            putter.line()
            for _ in range(count):
                due.append(time.time() + 2)
                putter.send(self.put(2))
                self.expect(b"INSERTED", putter)
                time.sleep(gap)
            putter.close()

        putting = threading.Thread(target=put)
        putting.start()
        for index in range(count):
            self.lines.send(b"reserve-with-timeout 10\r\n")
            number = self.reserved()
            late.append(time.time() - due[index])
            self.lines.send(b"delete %s\r\n" % number)
            self.expect(b"DELETED")
        putting.join()
        return late

    def wait(self, queue, count, until):
        return Waiters(self.path, count, b"watch %s\r\nreserve\r\n" % queue.encode(), until)

    def all_wait(self, queue, count):
        self.lines.send(b"stats\r\n")
        size = int(self.expect(b"OK")[1])
        text = self.lines.file.read(size + 2)
        return int(text.partition(b"current-waiting: ")[2].split()[0]) >= count

    def feed(self, queue, count):
        for start in range(0, count, 100):
            self.add_list(queue, min(100, count - start))

    @staticmethod
    def is_task(data):
        return b"RESERVED" in data

    def close(self):
        self.lines.close()
        self.server.stop()


class BeanstalkdInMemory(Beanstalkd):
    name = "beanstalkd, in memory"

    @staticmethod
    def durable(folder):
        return []
