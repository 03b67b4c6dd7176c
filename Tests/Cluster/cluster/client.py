# SPDX-License-Identifier: Apache-2.0
"""The control protocol as docs/protocol.md has it: a client that asks, and one that watches and connects again."""
import ctypes
import json
import os
import platform
import socket
import threading
import time

# What the numbers of setresuid and setresgid are; glibc's functions would change all threads.
CALLS = {"x86_64": (117, 119), "aarch64": (147, 149)}


class Refused(Exception):
    """An answer that is an error."""

    def __init__(self, reason, message):
        super().__init__("%s: %s" % (reason, message))
        self.reason, self.message = reason, message


class Lost(Exception):
    """The connection ended, or nothing came in time: whether the request was done is not known."""


def connect(path, uid=None, gid=None, timeout=10):
    """A connection whose other end sees `uid`; the kernel notes it in connect()."""
    end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    end.settimeout(timeout)
    try:
        if uid is None:
            end.connect(path)
        else:
            set_uid, set_gid = CALLS[platform.machine()]
            call = ctypes.CDLL(None, use_errno=True).syscall
            call(set_gid, -1, gid if gid is not None else uid, -1)
            call(set_uid, -1, uid, -1)
            try:
                end.connect(path)
            finally:
                call(set_uid, -1, 0, -1)
                call(set_gid, -1, 0, -1)
    except OSError as error:
        end.close()
        raise Lost("cannot connect to %s: %s" % (path, error))
    return end


class Client:
    def __init__(self, path, uid=None, gid=None, timeout=10):
        self.socket = connect(path, uid, gid, timeout)
        self.rest = b""
        self.number = 0

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, method, **parameters):
        self.number += 1
        request = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": parameters}
        try:
            self.socket.sendall(json.dumps(request).encode() + b"\n")
        except OSError as error:
            raise Lost("cannot send %s: %s" % (method, error))
        return self.number

    def line(self):
        while b"\n" not in self.rest:
            try:
                got = self.socket.recv(1 << 18)
            except OSError as error:
                raise Lost("nothing came: %s" % error)
            if not got:
                raise Lost("the connection ended")
            self.rest += got
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def answer(self, number=None):
        line = self.line()
        if "error" in line:
            raise Refused(line["error"].get("data", {}).get("reason"), line["error"]["message"])
        if number is not None and line.get("id") != number:
            raise Refused("harness", "the answer to %r is for %r" % (number, line.get("id")))
        return line["result"]

    def call(self, method, **parameters):
        return self.answer(self.send(method, **parameters))

    def all(self, method, key, **parameters):
        """All pages of a list."""
        rows, cursor = [], None
        while True:
            page = self.call(method, limit=1000, **parameters, **({"cursor": cursor} if cursor else {}))
            rows += page[key]
            cursor = page.get("cursor")
            if not cursor:
                return rows


def ask(path, method, patience=30, timeout=10, uid=None, **parameters):
    """Asks until it is answered, also by an error that no change of leaders explains. For what may be done twice."""
    end = time.monotonic() + patience
    while True:
        try:
            with Client(path, uid=uid, timeout=timeout) as client:
                return client.call(method, **parameters)
        except Lost as error:
            last = error
        except Refused as error:
            if error.reason not in ("storageFailed", "stopping"):
                raise
            last = error
        if time.monotonic() > end:
            raise Lost("%s was not answered within %d s: %s" % (method, patience, last))
        time.sleep(0.05)


def ask_all(path, method, key, patience=30, **parameters):
    end = time.monotonic() + patience
    while True:
        try:
            with Client(path, timeout=patience) as client:
                return client.all(method, key, **parameters)
        except (Lost, Refused) as error:
            if time.monotonic() > end:
                raise Lost("%s was not answered within %d s: %s" % (method, patience, error))
        time.sleep(0.1)


class Watcher(threading.Thread):
    """Has all events since a number, with when they came; connects again wherever its connection ends."""

    def __init__(self, path, since=0, uid=None, **options):
        super().__init__(daemon=True)
        self.path, self.seq, self.uid, self.options = path, since, uid, options
        self.events, self.lost, self.breaks = [], [], 0
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            try:
                with Client(self.path, uid=self.uid, timeout=60) as client:
                    client.call("events.subscribe", since=self.seq, **self.options)
                    while not self.over.is_set():
                        told = client.line()
                        if told.get("method") == "event":
                            event = told["params"]
                            self.events.append((time.time(), event))
                            self.seq = event["seq"]
                        elif told.get("method") == "events.lost":
                            self.lost.append(told["params"])
            except (Lost, Refused):
                self.breaks += 1
            self.over.wait(0.02)

    def stop(self):
        self.over.set()

    def of(self, kind):
        return [(at, event) for at, event in list(self.events) if event["type"] == kind]


def instant(text):
    """A date of an answer, in seconds since 1970."""
    import datetime
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(
        tzinfo=datetime.timezone.utc).timestamp()


def date(seconds):
    """The same back."""
    import datetime
    return datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def is_root():
    return os.geteuid() == 0
