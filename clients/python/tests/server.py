# SPDX-License-Identifier: Apache-2.0
"""A server that a test writes: it gets each connection, and does with it what it likes."""
import json
import os
import socket
import tempfile
import threading


class Connection:
    def __init__(self, accepted):
        self.socket, self.lines = accepted, accepted.makefile("rb")

    def request(self):
        """The next request, or None at the end."""
        line = self.lines.readline()
        return json.loads(line) if line else None

    def requests(self):
        """All of them, up to the end."""
        return iter(self.request, None)

    def send(self, **message):
        self.socket.sendall(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def close(self):
        self.lines.close()
        self.socket.close()


class Server:
    """`serve(connection)` runs in a thread for each. `backlog` 0 and no `serve`: nobody accepts until `accept` is called."""

    def __init__(self, test, serve=None, backlog=64):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "s.sock")
        self.serve = serve
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(backlog)
        test.addCleanup(self.close)
        if serve is not None:
            self.accept()

    def accept(self, serve=None):
        self.serve = serve or self.serve
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                accepted = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self._serve, args=(Connection(accepted),), daemon=True).start()

    def _serve(self, connection):
        try:
            self.serve(connection)
        except OSError:
            pass  # the client has gone
        finally:
            connection.close()

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.listener.close()
