# SPDX-License-Identifier: Apache-2.0
"""HTTP by hand: bytes to a socket, and what came back. So that also what no library would send can be sent."""

import re
import socket

from programs import LIMIT


class Answer:
    def __init__(self, data):
        self.data = data
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        match = re.match(r"HTTP/1\.[01] (\d{3})", lines[0])
        self.status = int(match[1]) if match else None
        self.fields = {}
        for line in lines[1:]:
            name, _, value = line.partition(":")
            self.fields.setdefault(name.lower(), []).append(value.strip())
        # Of one connection: more than one is an answer to something that was smuggled in.
        self.count = len(re.findall(rb"(?:^|\n|\})HTTP/1\.[01] \d{3} ", data)) or (1 if self.status else 0)

    def field(self, name):
        return ", ".join(self.fields.get(name, []))

    def words(self):
        """For the table: the status, and what is worth knowing."""
        if self.status is None:
            return "closed without an answer" if not self.data else f"{self.data[:20]!r}"
        return str(self.status)


class Peer:
    """Somebody at the other end of the page's port."""

    def __init__(self, web, path=None):
        self.web, self.path = web, path
        self.host = web.origin.split("//")[1].rstrip("/")
        self.cookie = None

    def connect(self):
        if self.path:
            connection = socket.socket(socket.AF_UNIX)
            connection.settimeout(LIMIT)
            connection.connect(str(self.path))
        else:
            connection = socket.create_connection(("127.0.0.1", self.web.port), LIMIT)
        return connection

    def send(self, data, wait=20):
        """Sends bytes and reads until the other end closes, or has answered whole."""
        with self.connect() as connection:
            connection.settimeout(wait)
            try:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR) if wait is None else None
            except (BrokenPipeError, ConnectionResetError):
                pass  # refused before it was read whole: there may be an answer
            return Answer(read(connection))

    def request(self, method="GET", path="/", fields=(), body=None, host=True, cookie=True, version="1.1", close=True):
        """One request, with a Host and a cookie unless told otherwise."""
        lines = [f"{method} {path} HTTP/{version}"]
        if host:
            lines.append(f"Host: {self.host if host is True else host}")
        if cookie and self.cookie:
            lines.append(f"Cookie: {self.cookie if cookie is True else cookie}")
        lines += fields
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
            lines.append("Content-Type: application/x-www-form-urlencoded")
        if close:
            lines.append("Connection: close")
        return self.send("\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (body or b""))

    def enter(self):
        """Takes the cookie for the token, as a browser does."""
        answer = self.request(path=f"/?token={self.web.token}")
        self.cookie = answer.fields["set-cookie"][0].split(";")[0]
        return answer

    def key(self, path="/add"):
        """The hidden field of a form."""
        body = self.request(path=path).body.decode()
        return re.search(r'name="csrf" value="([^"]+)"|value="([^"]+)" name="csrf"', body)[1]


def read(connection):
    data = b""
    try:
        while piece := connection.recv(65536):
            data += piece
    except (ConnectionResetError, socket.timeout):
        pass
    return data
