#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A client of timerd in a few lines; also a program: timerd.py METHOD [PARAMETERS]

    timerd.py job.add '{"schedule": {"every": "5s"}, "command": ["true"]}'
    timerd.py job.list
"""
import json
import os
import socket
import sys


class Refused(Exception):
    """What timerd answered instead of a result: `reason` for programs, the text for people."""

    def __init__(self, error):
        super().__init__(error["message"])
        self.reason = error.get("data", {}).get("reason")


class Timerd:
    """One connection. Replies come in the order of the requests, each a line of JSON."""

    def __init__(self, path=None):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path or os.environ.get("TIMERD_SOCKET", "/run/timerd/timerd.sock"))
        self.lines = self.socket.makefile("r", encoding="utf-8")

    def call(self, method, **parameters):
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        self.socket.sendall(json.dumps(request).encode() + b"\n")
        reply = self._read()
        if "error" in reply:
            raise Refused(reply["error"])
        return reply["result"]

    def events(self, **parameters):
        """Yields (method, event): "event", or "events.lost" for what is no longer kept."""
        self.call("events.subscribe", **parameters)
        while True:
            notification = self._read()
            yield notification["method"], notification["params"]

    def _read(self):
        line = self.lines.readline()
        if not line:
            raise ConnectionError("timerd closed the connection")
        return json.loads(line)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    try:
        result = Timerd().call(sys.argv[1], **json.loads(sys.argv[2] if len(sys.argv) == 3 else "{}"))
        print(json.dumps(result, indent=2))
    except Refused as refused:
        sys.exit(f"timerd: {refused}")
