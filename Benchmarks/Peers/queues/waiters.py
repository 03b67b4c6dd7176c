# SPDX-License-Identifier: Apache-2.0
"""Thousands of connections, each of a worker that waits."""
import selectors
import socket
import time


class Waiters:
    """Each says `hello` once, and has its task when `is_task(bytes)` holds of what it has got; `greeted` bytes are no task."""

    def __init__(self, path, count, hello, until):
        self.sockets = []
        for _ in range(count):
            while True:
                one = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
                try:
                    one.connect(path)
                    break
                except BlockingIOError:  # the backlog is full
                    one.close()
                    if time.monotonic() > until:
                        raise TimeoutError("%d of %d connections were made in time" % (len(self.sockets), count)) from None
                    time.sleep(0.002)
            one.send(hello)
            self.sockets.append(one)

    def gather(self, is_task, until):
        """How many have their task by then."""
        selector = selectors.DefaultSelector()
        got = {}
        for one in self.sockets:
            selector.register(one, selectors.EVENT_READ)
            got[one] = b""
        left = len(self.sockets)
        while left and time.monotonic() < until:
            for key, _ in selector.select(min(1.0, max(0.0, until - time.monotonic()))):
                data = key.fileobj.recv(65536)
                if not data:
                    raise ConnectionError("the server closed a connection: %r" % got[key.fileobj][-200:])
                got[key.fileobj] += data
                if is_task(got[key.fileobj]):
                    selector.unregister(key.fileobj)
                    left -= 1
        selector.close()
        return len(self.sockets) - left

    def close(self):
        for one in self.sockets:
            one.close()
