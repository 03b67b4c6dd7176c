# SPDX-License-Identifier: Apache-2.0
"""What somebody may try who reaches the port, or whose page is open in the same browser; and what is answered.

The table that this makes is in docs/web.md.
"""

import atexit
import errno
import http.server
import os
import pathlib
import re
import socket
import threading
import time
import unittest
from urllib.parse import urlencode

from programs import Daemon, Web, wait
from raw import Answer, Peer, read
from scene import scene

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; font-src 'none'; "
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
HEADERS = {
    "content-security-policy": POLICY, "x-content-type-options": "nosniff", "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
}
tries = []


@atexit.register
def table():
    """The tries as a table in Markdown, and to the file that the environment names."""
    if not tries:
        return
    text = "\n".join(["| tried | answered |", "| --- | --- |"] + [f"| {what} | {answer} |" for what, answer in tries]) + "\n"
    print("\n" + text)
    if os.environ.get("TIMERD_TRIES"):
        pathlib.Path(os.environ["TIMERD_TRIES"]).write_text(text)


class Security(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.web = Web(cls.daemon)
        cls.peer = Peer(cls.web)
        cls.job = cls.daemon.add(name="wanted", schedule={"every": "1h"}, command=["true"])
        # A connection that says nothing, from the beginning on: see the last test.
        cls.silent = cls.peer.connect()
        cls.slow = cls.peer.connect()
        cls.slow.sendall(b"GET / HTTP/1.1\r\nHost: ")
        cls.began = time.monotonic()
        cls.peer.enter()

    @classmethod
    def tearDownClass(cls):
        cls.web.program.kill()
        cls.daemon.end()

    def answered(self, what, answer, *statuses, words=""):
        """Checks and notes one try."""
        tries.append((what, words or answer.words()))
        self.assertIn(answer.status, statuses, f"{what}: {answer.data[:600]!r}")
        if answer.status is not None:
            for name, value in HEADERS.items():
                self.assertEqual(answer.field(name), value, f"{what}: {name} of {answer.data[:300]!r}")
            if not answer.field("cache-control").startswith("public, max-age") and not answer.field("cache-control").endswith("immutable"):
                self.assertEqual(answer.field("cache-control"), "no-store", what)
            self.assertLessEqual(answer.count, 1, f"{what}: {answer.data!r}")
        self.untouched(what)
        return answer

    def untouched(self, what):
        job = self.daemon.job(self.job)
        self.assertEqual((job["fires"], job["state"]), (0, "scheduled"), f"{what}: the job was changed")

    def act(self, fields=(), **changes):
        """The request that fires the job, with something of it changed."""
        body = changes.pop("body", None)
        if body is None:
            body = urlencode({"csrf": self.peer.key()}).encode()
        return self.peer.request("POST", f"/jobs/{self.job}/fire", fields, body, **changes)

    @property
    def origin(self):
        return f"Origin: {self.web.origin}"

    # Who comes in

    def test_01_the_token_lets_one_in_and_is_seen_no_more(self):
        self.answered("a page, without a cookie", self.peer.request(cookie=False), 403)
        self.answered("the stream of events, without a cookie", self.peer.request(path="/events", cookie=False), 403)
        self.answered("a wrong token", self.peer.request(path="/?token=" + "0" * 64, cookie=False), 403)
        self.answered("an empty token", self.peer.request(path="/?token=", cookie=False), 403)
        # A comparison that is wrong for some values alone: each place of it, and other lengths.
        token = self.web.token
        others = [token[:place] + ("0" if letter != "0" else "1") + token[place + 1:] for place, letter in enumerate(token)]
        others += [token[:-1], token + "0", token.upper() if token.upper() != token else token.lower(), token[::-1]]
        for other in others:
            if other != token:
                self.assertEqual(self.peer.request(path=f"/?token={other}", cookie=False).status, 403, "a token that differs in one place")
        name, value = self.peer.cookie.split("=", 1)
        for place, letter in enumerate(value):
            other = value[:place] + ("0" if letter != "0" else "1") + value[place + 1:]
            self.assertEqual(self.peer.request(cookie=f"{name}={other}").status, 403, "a cookie that differs in one place")
        self.answered("a cookie with a wrong value", self.peer.request(cookie=f"timerd-{self.web.port}=" + "0" * 64), 403)
        entered = self.answered("the token", self.peer.request(path=f"/?token={self.web.token}", cookie=False), 303,
                                words="303 to the same page without it; cookie `HttpOnly; SameSite=Strict; Path=/`")
        self.assertEqual(entered.field("location"), "/")
        cookie = entered.field("set-cookie")
        self.assertTrue(cookie.startswith(f"timerd-{self.web.port}="), cookie)
        for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
            self.assertIn(word, cookie)
        page = self.answered("the cookie", self.peer.request(), 200)
        self.assertNotIn(self.web.token.encode(), page.data, "the token is in a page")
        value = self.peer.cookie.split("=", 1)[1]
        self.assertNotIn(value.encode(), page.data, "the cookie is in a page")
        self.assertNotIn(self.web.token, " ".join(pathlib.Path(f"/proc/{self.web.program.process.pid}/cmdline").read_text().split("\0")))

    def test_02_who_is_asked_for(self):
        name = self.peer.host.split(":")[0]
        for what, host, statuses in (
            ("`Host: evil.example` (a name that leads to 127.0.0.1)", "evil.example", (421,)),
            ("`Host: 127.0.0.1:PORT`, `localhost:PORT`, `[::1]:PORT`", f"127.0.0.1:{self.web.port}", (421,)),
            ("`Host` of another label below `localhost`", f"{'0' * 32}.localhost:{self.web.port}", (421,)),
            ("`Host` with another port", f"{name}:1", (421,)),
            ("`Host` without the port", name, (421,)),
            ("`Host: LABEL.localhost:PORT.evil.example`", f"{self.peer.host}.evil.example", (421, 400)),
            ("`Host: evil@LABEL.localhost:PORT`", f"evil@{self.peer.host}", (421, 400)),
            ("`Host: 0.0.0.0:PORT`", f"0.0.0.0:{self.web.port}", (421,)),
            ("no `Host`", False, (400, 421)),
        ):
            self.answered(what, self.peer.request(host=host), *statuses)
        self.answered("two `Host`", self.peer.request(fields=["Host: evil.example"]), 400, 421)
        self.answered("an absolute address of another host", self.peer.request(path="http://evil.example/"), 400, 404, 421)
        self.answered("`X-Forwarded-Host: evil.example`", self.peer.request(fields=["X-Forwarded-Host: evil.example"]), 200, words="200, unread")
        for host in (f"localhost:{self.web.port}", f"[::1]:{self.web.port}"):
            for path in ("/", f"/?token={self.web.token}"):
                answer = self.peer.request(path=path, host=host)
                self.assertEqual((answer.status, answer.field("set-cookie")), (421, ""), host)
                self.assertNotIn(name.encode(), answer.data, "the label is told")

    # Who acts

    def test_03_acting_needs_the_pages_own_form(self):
        key = self.peer.key()
        good = urlencode({"csrf": key}).encode()
        for what, fields, body in (
            ("POST without `Origin`", [], good),
            ("POST with `Origin: https://evil.example`", ["Origin: https://evil.example"], good),
            ("POST with `Origin: null`", ["Origin: null"], good),
            ("POST with the page's `Origin` at another port", [f"Origin: {self.web.origin.rsplit(':', 1)[0]}:1"], good),
            ("POST with `Origin: http://127.0.0.1:PORT`", [f"Origin: http://127.0.0.1:{self.web.port}"], good),
            ("POST with `Origin` of https", [self.origin.replace("http:", "https:")], good),
            ("POST with two `Origin`", [self.origin, "Origin: https://evil.example"], good),
            ("POST without the form's key", [self.origin], b""),
            ("POST with a wrong key", [self.origin], urlencode({"csrf": "0" * len(key)}).encode()),
            ("POST with the key in the address", [self.origin], b""),
        ):
            path = f"/jobs/{self.job}/fire" + (f"?csrf={key}" if "address" in what else "")
            self.answered(what, self.peer.request("POST", path, fields, body), 400, 403)
        for place, letter in enumerate(key):
            other = key[:place] + ("0" if letter != "0" else "1") + key[place + 1:]
            self.assertEqual(self.peer.request("POST", f"/jobs/{self.job}/fire", [self.origin], urlencode({"csrf": other}).encode()).status, 403, "a key that differs in one place")
        self.answered("POST with all of it but the cookie", self.act([self.origin], cookie=False), 403)
        self.answered("POST of JSON", self.peer.send((f"POST /jobs/{self.job}/fire HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n{self.origin}\r\n"
                      f"Content-Type: application/json\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}").encode()), 400, 403, 415)
        self.answered("GET of an action", self.peer.request(path=f"/jobs/{self.job}/fire?csrf={key}"), 200, words="200, a page that asks; nothing is done")

    def test_04_keys_are_of_one_session(self):
        other = Web(self.daemon)
        self.addCleanup(other.program.kill)
        stranger = Peer(other)
        stranger.enter()
        self.answered("POST with the key of another page's form", self.act([self.origin], body=urlencode({"csrf": stranger.key()}).encode()), 403)
        self.answered("the cookie of another page", self.peer.request(cookie=stranger.cookie.replace(str(other.port), str(self.web.port))), 403)

    def test_05_other_methods(self):
        head = self.answered("HEAD", self.peer.request("HEAD"), 200, words="200, without a body")
        self.assertEqual(head.body, b"")
        for method in ("OPTIONS", "TRACE", "PUT", "DELETE", "PATCH", "CONNECT", "BREW"):
            answer = self.answered(method, self.peer.request(method, fields=["X-Secret: echo"]), 400, 403, 404, 405, 501)
            self.assertNotIn(b"X-Secret", answer.data)
            self.assertEqual(answer.field("access-control-allow-origin"), "")
        self.answered("HEAD of an action", self.peer.request("HEAD", f"/jobs/{self.job}/fire"), 200, 405)

    # What is sent

    def test_06_too_much(self):
        length = 2 << 20
        head = f"POST /add HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n{self.origin}\r\nContent-Type: application/x-www-form-urlencoded\r\nConnection: close\r\n"
        self.answered("a body of 2 MiB", self.peer.send(f"{head}Content-Length: {length}\r\n\r\n".encode() + b"x" * length), 413)
        self.answered("a body said to be of 8 EiB", self.peer.send(f"{head}Content-Length: 9223372036854775807\r\n\r\nx".encode()), 400, 413)
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        self.answered("a body of 2 MiB in chunks", self.peer.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + piece * 32 + b"0\r\n\r\n"), 413)
        self.answered("a header of 32 KiB", self.peer.request(fields=["X-Long: " + "x" * 32768]), 400, 431)
        self.answered("10,000 headers", self.peer.request(fields=[f"X-{number}: x" for number in range(10_000)]), 400, 431)
        self.answered("an address of 32 KiB", self.peer.request(path="/jobs?q=" + "x" * 32768), 400, 414, 431)
        self.answered("a form of 100,000 fields", self.peer.request("POST", "/add", [self.origin], b"a=b&" * 100_000), 400, 403, 413, 422)

    def test_07_smuggling(self):
        inner = f"GET /jobs/{self.job} HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n\r\n"
        head = f"POST /add HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n{self.origin}\r\n"
        for what, text in (
            ("`Content-Length` and `Transfer-Encoding`", f"{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"),
            ("two different `Content-Length`", f"{head}Content-Length: 0\r\nContent-Length: 5\r\n\r\n{inner}"),
            ("`Content-Length: 0, 5`", f"{head}Content-Length: 0, 5\r\n\r\n{inner}"),
            ("`Content-Length: -1`", f"{head}Content-Length: -1\r\n\r\n{inner}"),
            ("`Content-Length: +0`", f"{head}Content-Length: +0\r\n\r\n{inner}"),
            ("`Transfer-Encoding: xchunked`", f"{head}Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n{inner}"),
            ("`Transfer-Encoding: chunked, identity`", f"{head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n{inner}"),
            ("a blank before a header's colon", f"{head}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n{inner}"),
            ("a header over two lines", f"{head}X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n{inner}"),
            ("a chunk of a size that overflows", f"{head}Transfer-Encoding: chunked\r\n\r\n10000000000000000A\r\nx\r\n0\r\n\r\n{inner}"),
            ("a header with a NUL", f"GET / HTTP/1.1\r\nHost: {self.peer.host}\r\nX: a\0b\r\n\r\n"),
        ):
            answer = Answer(self.one_answer(text))
            self.answered(what, answer, 400, 403, 501)

    def one_answer(self, text):
        with self.peer.connect() as connection:
            connection.settimeout(3)
            connection.sendall(text.encode("latin-1"))
            return read(connection)

    def test_08_what_is_not_http(self):
        for what, data in (("HTTP/2's first words", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), ("the beginning of TLS", bytes.fromhex("1603010200010001fc0303") + b"\0" * 500),
                           ("a line of nonsense", b"\xff\xfe\0nonsense\r\n\r\n"), ("a request of the daemon's protocol", b'{"jsonrpc":"2.0","id":1,"method":"job.list"}\n\n')):
            answer = self.peer.send(data, wait=3)
            self.answered(what, answer, 400, 403, 405, 421, 431, 505, None)
            self.assertNotIn(b"wanted", answer.data)

    def test_09_paths(self):
        page = self.peer.request().body.decode()
        asset = re.search(r'href="(/assets/[^"]+/)style\.css"', page)[1]
        for path in (f"{asset}../../../../etc/passwd", f"{asset}..%2f..%2f..%2fetc%2fpasswd", f"{asset}%2e%2e/%2e%2e/etc/passwd", f"{asset}..\\..\\etc\\passwd",
                     f"{asset}style.css%00.js", "/assets/../jobs", "//etc/passwd", "/etc/passwd", "/.git/config", f"/jobs/{self.job}%00", "/jobs/-1", "/jobs/99999999999999999999",
                     "/%", "/%ff%fe", "/runs/1/output.txt/../../.."):
            answer = self.answered(f"`{path.replace(asset, '/assets/HASH/')}`", self.peer.request(path=path), 400, 404)
            self.assertNotIn(b"root:", answer.data)
        style = self.peer.request(path=asset + "style.css", cookie=False)
        self.assertEqual((style.status, style.field("content-type")), (200, "text/css; charset=utf-8"))
        self.assertIn("immutable", style.field("cache-control"))

    def test_10_lines_in_what_is_given_back(self):
        for what, path in (("a line break in the token", "/?token=x%0d%0aSet-Cookie:%20a=b"), ("a line break in a query", "/jobs?q=%0d%0aSet-Cookie:%20a=b"),
                           ("another host in the token's address", f"//evil.example/?token={self.web.token}"), ("the same, by a backslash", f"/\\evil.example/?token={self.web.token}")):
            answer = self.answered(what, self.peer.request(path=path), 200, 303, 400, 403, 404)
            self.assertNotIn("a=b", answer.field("set-cookie"))
            self.assertFalse(answer.field("location").startswith(("//", "/\\", "http")), answer.field("location"))

    # How many

    def test_11_a_thousand_connections(self):
        crowd = []
        try:
            for _ in range(1000):
                crowd.append(self.peer.connect())
            refused = 0
            answer = None
            answer = wait(lambda: (a := self.peer.request()).status == 200 and a, "the page is answered beside a thousand connections")
            self.answered("1,000 connections that say nothing, then a page", answer, 200)
            self.assertLess(self.web.memory(), 200 << 20)
        finally:
            for connection in crowd:
                connection.close()
        self.assertEqual(self.peer.request().status, 200)

    def test_12_more_streams_than_there_may_be(self):
        crowd, statuses = [], []
        try:
            for number in range(205):
                connection = self.peer.connect()
                crowd.append(connection)
                connection.sendall(f"GET /events HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n\r\n".encode())
                statuses.append(Answer(connection.recv(65536)).status)
            self.assertEqual(statuses[:200], [200] * 200)
            self.assertEqual(set(statuses[200:]), {503})
            tries.append(("the 201st stream of events", "503"))
            self.assertEqual(self.peer.request().status, 200)
        finally:
            for connection in crowd:
                connection.close()
        def again():
            with self.peer.connect() as connection:
                connection.sendall(f"GET /events HTTP/1.1\r\nHost: {self.peer.host}\r\nCookie: {self.peer.cookie}\r\n\r\n".encode())
                return Answer(connection.recv(65536)).status == 200
        wait(again, "there is room once they are gone")

    # A page of somebody else's in the same browser

    def test_13_another_page_in_the_same_browser(self):
        target, job, seen = self.web.origin, self.job, []
        pages = {
            "form": f'<form id=f method=post action="{target}/jobs/{job}/fire"><input name=csrf value=x></form><script>document.getElementById("f").submit()</script>',
            "frame": f'<iframe src="{target}/jobs/{job}"></iframe><script>document.querySelector("iframe").onload = () => document.title = "done"</script>',
            "fetch": f'<script>Promise.allSettled([fetch("{target}/", {{credentials: "include"}}), fetch("{target}/jobs/{job}/fire", {{method: "POST", mode: "no-cors", credentials: "include", body: new URLSearchParams({{csrf: "x"}})}}),'
                     f'new Promise((y, n) => {{ const e = new EventSource("{target}/events", {{withCredentials: true}}); e.onopen = y; e.onerror = n; }})]).then((all) => document.title = all.map((one) => one.status).join())</script>',
            "script": f'<script src="{target}/jobs" onload="document.title=\'loaded\'" onerror="document.title=\'refused\'"></script>',
            "window": f'<script>const w = open("{target}/jobs/{job}"); setInterval(() => {{ try {{ document.title = w.closed ? "cut off" : String(w.document.title || "") }} catch {{ document.title = "refused" }} }}, 20)</script>',
        }

        class Evil(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = pages.get(self.path.strip("/"), "").encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                seen.append(dict(self.headers))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Evil)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        evil = f"http://127.0.0.1:{server.server_address[1]}"
        browser = scene().browser
        self.addCleanup(browser.open, "about:blank")
        self.addCleanup(browser.faults)
        browser.open(self.web.url)

        browser.open(evil + "/form")
        browser.until(f"location.href.includes('/jobs/{job}/fire')", "the form was sent")
        self.untouched("a form of another page")
        tries.append(("another page at 127.0.0.1 sends a form here", browser.run("return String(performance.getEntriesByType('navigation')[0].responseStatus)")))
        self.assertEqual(tries[-1][1], "403")
        browser.open(evil + "/frame")
        browser.until("document.title === 'done'", "the frame was tried")
        browser.collect()
        self.assertTrue([fault for fault in browser.errors if "frame" in fault.lower()], browser.errors)
        tries.append(("it shows this page in a frame", "refused by the browser (`frame-ancestors 'none'`)"))
        browser.open(evil + "/fetch")
        browser.until("document.title.includes(',')", "all was tried")
        answers = browser.run("return document.title").split(",")
        self.assertEqual((answers[0], answers[2]), ("rejected", "rejected"))
        tries.append(("it fetches pages and events, with the cookie", "refused by the browser (no CORS), nothing is read"))
        browser.open(evil + "/script")
        self.assertEqual(browser.until("document.title"), "refused")
        tries.append(("it loads this page as a script", "refused by the browser (`Cross-Origin-Resource-Policy`)"))
        self.untouched("another page")
        # What it could take away: the opener is cut, and no address of ours is told to others.
        before = browser.driver.window_handles
        browser.open(evil + "/window")
        browser.until("['cut off', 'refused'].includes(document.title)", "the window is cut off")
        tries.append(("it opens this page in a window", "it cannot reach into it (`Cross-Origin-Opener-Policy`)"))
        for handle in set(browser.driver.window_handles) - set(before):
            browser.driver.switch_to.window(handle)
            browser.driver.close()
        browser.driver.switch_to.window(before[0])
        self.untouched("another page's window")

    def test_13_a_page_at_another_port_of_127_0_0_1_that_you_open_gets_no_cookie(self):
        seen = []
        bounce = (b'<script>if (location.hostname === "localhost") location = location.href.replace("localhost", "127.0.0.1").replace("start", "over");'
                  b'else if (location.pathname === "/over") location = "/last"; else document.title = "done"</script>')

        class Thief(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(bounce)))
                self.end_headers()
                self.wfile.write(bounce)
                seen.append((self.path, self.headers.get("Cookie")))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Thief)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        browser = scene().browser
        self.addCleanup(browser.open, "about:blank")
        self.addCleanup(browser.faults)
        for start in (f"http://127.0.0.1:{server.server_port}/tool", f"http://localhost:{server.server_port}/start"):
            browser.open(self.web.url)
            self.assertTrue(browser.driver.get_cookies(), "the page was not let in")
            browser.open(start)
            browser.until("document.title === 'done'", "it has gone where it was sent")
        self.assertIn("/last", [path for path, _ in seen])
        self.assertEqual([one for one in seen if one[1]], [], "another port was sent a cookie")
        tries.append(("you open a page at another port of 127.0.0.1, or of localhost, which sends you to 127.0.0.1", "no cookie is sent there"))
        # A browser asks ::1 first: nobody else may listen there.
        try:
            other = socket.create_server(("::1", self.web.port), family=socket.AF_INET6)
        except OSError as error:
            self.assertIn(error.errno, (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT))
        else:
            other.close()
            self.fail("another program can listen at the page's port of ::1")
        tries.append(("another program listens at the page's port of ::1", "it cannot: the port is held"))

    def test_14_only_loopback_is_listened_on(self):
        port = f"{self.web.port:04X}"
        listening = set()
        for file in ("/proc/net/tcp", "/proc/net/tcp6"):
            for line in pathlib.Path(file).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == "0A" and fields[1].endswith(":" + port):
                    listening.add(fields[1].split(":")[0])
        self.assertLessEqual(listening, {"0100007F", "00000000000000000000000001000000"})
        self.assertTrue(listening)
        tries.append(("the port from another machine", "nothing listens: loopback alone"))

    def test_15_whoever_is_slow_is_let_go(self):
        for connection, what in ((self.silent, "a connection that says nothing"), (self.slow, "a header that never ends, a byte now and then")):
            connection.settimeout(1)
            while True:
                try:
                    if connection is self.slow:
                        connection.sendall(b"1")
                    if connection.recv(4096) == b"":
                        break
                except socket.timeout:
                    pass
                except (ConnectionResetError, BrokenPipeError):
                    break
                self.assertLess(time.monotonic() - self.began, 90, f"{what} is still there")
            tries.append((what, "closed"))

    def test_16_at_last_the_right_request_is_done(self):
        answer = self.act([self.origin])
        self.assertEqual(answer.status, 303, answer.data[:500])
        self.assertEqual(wait(lambda: self.daemon.job(self.job)["fires"], "the job has fired"), 1)
        tries.append(("the page's own form, in the browser that was let in", "303, and it is done"))

    def test_17_the_document_has_this_table(self):
        if len(tries) < 80:
            self.skipTest("not all was tried")
        document = (pathlib.Path(__file__).parents[3] / "docs/web.md").read_text()
        missing = [row for row in (f"| {what} | {answer} |" for what, answer in tries) if row not in document]
        self.assertEqual(missing, [], "docs/web.md lacks these; TIMERD_TRIES=FILE has the whole table made")


if __name__ == "__main__":
    unittest.main()
