# SPDX-License-Identifier: Apache-2.0
"""Behind nginx with auth_basic, by the very files that packaging has."""

import atexit
import base64
import grp
import os
import pathlib
import pwd
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import tempfile
import unittest
from urllib.parse import urlencode

from programs import LIMIT, Daemon, Program, Web, wait
from raw import Answer, Peer, read

PACKAGING = pathlib.Path(__file__).parents[3] / "packaging"


def lack(*users):
    """Those of them that this host does not have; Debian has them all."""
    return set(users) - {user.pw_name for user in pwd.getpwall()}


@unittest.skipIf(lack("www-data"), "there is no user www-data here")
class Proxy(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.job = cls.daemon.add(name="behind nginx", schedule={"every": "1h"}, command=["true"])
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-nginx."))
        cls.folder.chmod(0o755)
        with socket.create_server(("127.0.0.1", 0)) as free:
            cls.port = free.getsockname()[1]
        cls.origin = f"https://timerd.example.org:{cls.port}"
        cls.socket = cls.folder / "http.sock"
        cls.web = Web(cls.daemon, *cls.unit_options(), port=None)
        wait(cls.socket.exists, "the page's socket is there")
        cls.start_nginx()

    @classmethod
    def tearDownClass(cls):
        cls.nginx.stop()  # with its workers
        cls.web.program.kill()
        cls.daemon.end()
        shutil.rmtree(cls.folder, ignore_errors=True)

    @classmethod
    def unit_options(cls):
        """What the unit's ExecStart says after the daemon's socket, with places of this test."""
        unit = (PACKAGING / "systemd/timerd-web@.service").read_text()
        words = shlex.split(re.search(r"^ExecStart=(.*)$", unit, re.M)[1])
        assert words[:3] == ["/usr/bin/timerd-web", "--socket", "/run/timerd/timerd.sock"], words
        places = {"/run/timerd-web-%i/http.sock": str(cls.socket), "${TIMERD_WEB_ORIGIN}": cls.origin}
        return [places.get(word, word) for word in words[3:]]

    @classmethod
    def start_nginx(cls):
        folder = cls.folder
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=timerd.example.org",
                        "-addext", "subjectAltName=DNS:timerd.example.org", "-keyout", folder / "key", "-out", folder / "pem"], check=True, capture_output=True)
        password = subprocess.run(["openssl", "passwd", "-apr1", "secret"], check=True, capture_output=True, text=True).stdout.strip()
        (folder / "htpasswd").write_text("".join(f"{user}:{password}\n" for user in ("ann", "Ann", "carol", "a.b", "axb")))
        site = (PACKAGING / "nginx/timerd-web.conf").read_text()
        for old, new in (("/run/timerd-web-ann/http.sock", cls.socket), ("/etc/ssl/certs/timerd.example.org.pem", folder / "pem"),
                         ("/etc/ssl/private/timerd.example.org.key", folder / "key"), ("/etc/nginx/timerd.htpasswd", folder / "htpasswd"),
                         ("listen 443 ssl", f"listen 127.0.0.1:{cls.port} ssl")):
            assert old in site, old
            site = site.replace(old, str(new))
        # A name with a dot, as the lines of the file have theirs; it leads to the same page.
        line = re.search(r"^.*ann.* unix:.*\n", site, re.M)[0]
        site = site.replace(line, line + line.replace("ann", "a.b", 1))
        # nginx's workers are www-data, as Debian has it: they reach the socket by its group alone.
        (folder / "nginx.conf").write_text(f"user www-data;\npid {folder}/pid;\nerror_log {folder}/errors;\ndaemon off;\nevents {{}}\nhttp {{ access_log off;\n"
                                           + "".join(f"{kind}_temp_path {folder}/{kind};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) + site + "}\n")
        cls.nginx = Program("nginx", "-e", folder / "errors", "-p", folder, "-c", folder / "nginx.conf")
        atexit.register(cls.nginx.process.terminate)
        def listens():
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", cls.port)) == 0
        wait(listens, "nginx listens")

    def send(self, method="GET", path="/", fields=(), body=None, user="ann:secret", until=None):
        context = ssl.create_default_context(cafile=str(self.folder / "pem"))
        lines = [f"{method} {path} HTTP/1.1", f"Host: timerd.example.org:{self.port}", *fields]
        if user:
            lines.append("Authorization: Basic " + base64.b64encode(user.encode()).decode())
        if body is not None:
            lines += [f"Content-Length: {len(body)}", "Content-Type: application/x-www-form-urlencoded"]
        lines.append("Connection: close")
        with socket.create_connection(("127.0.0.1", self.port), LIMIT) as plain, context.wrap_socket(plain, server_hostname="timerd.example.org") as connection:
            connection.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
            if until is None:
                return Answer(read(connection))
            data = b""
            while until not in data:
                piece = connection.recv(65536)
                self.assertTrue(piece, f"waited for {until!r}, but got {data!r}")
                data += piece
            return Answer(data)

    def test_nobody_is_let_in_without_a_password(self):
        for user in (None, "ann:wrong", "bob:secret", ":"):
            self.assertEqual(self.send(user=user).status, 401, user)
        self.assertIn("Basic", self.send(user=None).field("www-authenticate"))

    def test_somebody_who_has_no_page_sees_nobody_elses(self):
        self.assertEqual(self.send(user="a.b:secret").status, 200)
        for user in ("carol:secret", "Ann:secret", "axb:secret"):
            answer = self.send(user=user)
            self.assertEqual(answer.status, 502, user)
            self.assertNotIn(b"behind nginx", answer.data)

    def test_pages_and_assets_are_served(self):
        page = self.send()
        self.assertEqual(page.status, 200, page.data[:500])
        self.assertIn(b"behind nginx", page.data)
        self.assertIn("frame-ancestors 'none'", page.field("content-security-policy"))
        style = re.search(rb'href="(/assets/[^"]+style\.css)"', page.data)[1].decode()
        self.assertEqual(self.send(path=style).status, 200)

    def test_acting_needs_the_origin_and_the_forms_key_still(self):
        page = self.send(path=f"/jobs/{self.job}")
        key = re.search(rb'name="csrf" value="([^"]+)"', page.body)[1].decode()
        cookies = [f"Cookie: {cookie.split(';')[0]}" for cookie in page.fields.get("set-cookie", [])]
        path, body = f"/jobs/{self.job}/fire", urlencode({"csrf": key}).encode()
        for fields, form in (([], body), (["Origin: https://evil.example"], body), ([f"Origin: {self.origin}"], b"")):
            self.assertIn(self.send("POST", path, fields + cookies, form).status, (400, 403))
        self.assertEqual(self.daemon.job(self.job)["fires"], 0)
        self.assertEqual(self.send("POST", path, [f"Origin: {self.origin}"] + cookies, body).status, 303)
        wait(lambda: self.daemon.job(self.job)["fires"] == 1, "the job has fired")

    def test_events_come_at_once_through_it(self):
        seq = self.daemon.ask("daemon.status")["seq"]
        self.daemon.add(name="an event through nginx", schedule={"in": "1h"})
        answer = self.send(path=f"/events?since={seq}", until=b"an event through nginx")
        self.assertEqual(answer.field("content-type").split(";")[0], "text/event-stream")

    def test_another_host_is_refused_and_the_password_is_not_passed_on(self):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LIMIT)
            connection.connect(str(self.socket))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n")
            self.assertEqual(Answer(read(connection)).status, 421)

    def test_the_socket_is_the_proxys_group_alone(self):
        state = self.socket.stat()
        self.assertEqual((oct(state.st_mode & 0o777), grp.getgrgid(state.st_gid).gr_name), ("0o660", "www-data"))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "there is no systemd-analyze here")
    def test_systemd_reads_the_unit(self):
        unit = self.folder / "timerd-web@ann.service"
        unit.write_text((PACKAGING / "systemd/timerd-web@.service").read_text().replace("/usr/bin/timerd-web", os.environ["TIMERD_WEB"]).replace("User=%i", "User=root"))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr.strip()), (0, ""))


@unittest.skipUnless(os.getuid() == 0, "only root can be somebody else")
@unittest.skipIf(lack("nobody", "games", "www-data"), "it takes the users nobody, games and www-data, which are not all here")
class Pages(unittest.TestCase):
    """The unit's page is its user's and reached by the proxy's group, which it is not in: else it could open everybody's."""

    def page(self, daemon, user, meanwhile=lambda socket: None):
        """The folder and the process that the unit makes; its words have places of this test. `meanwhile` comes before ExecStartPost."""
        unit = (PACKAGING / "systemd/timerd-web@.service").read_text()
        folder = self.folder / user.pw_name
        def words(of):
            return [word.replace("/run/timerd-web-%i", str(folder)).replace("%i", user.pw_name).replace("${TIMERD_WEB_ORIGIN}", "https://timerd.example.org")
                    for word in shlex.split(re.search(rf"^{of}=\+?(.*)$", unit, re.M)[1])]
        groups = [grp.getgrnam(name).gr_gid for line in re.findall(r"^SupplementaryGroups=(.*)$", unit, re.M) for name in line.split()]
        subprocess.run(words("ExecStartPre"), check=True)
        self.web = web = Web(daemon, *words("ExecStart")[3:], port=None, user=user.pw_uid, group=user.pw_gid, extra_groups=groups, umask=0o077)
        self.addCleanup(web.program.kill)
        proxy = pwd.getpwnam("www-data")
        self.assertFalse(self.opens(folder / "http.sock", proxy.pw_uid, proxy.pw_gid, []), "the proxy may enter while the folder is the user's")
        meanwhile(folder / "http.sock")
        self.begun = subprocess.run(words("ExecStartPost"), env={**os.environ, "MAINPID": str(web.program.process.pid)}, timeout=LIMIT).returncode
        return folder / "http.sock", groups

    def may(self, script, path, uid, gid, groups):
        """Whether a process of that user and those groups may do so."""
        script = "import os, socket, sys; " + script
        done = subprocess.run([shutil.which("python3", path="/usr/bin:/bin"), "-c", script, path], user=uid, group=gid, extra_groups=groups, capture_output=True, text=True)
        self.assertIn(done.stderr.strip().rsplit("\n", 1)[-1].split(":")[0], ("", "PermissionError"), done.stderr)
        return done.returncode == 0

    # For a link to a socket of that name, as another page's is.
    exchange = "path = sys.argv[1]; real = path + '.d/http.sock'; os.mkdir(path + '.d'); os.rename(path, real); os.symlink(real, path)"

    def opens(self, *who):
        return self.may("socket.socket(socket.AF_UNIX).connect(sys.argv[1])", *who)

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.end)
        self.daemon.folder.chmod(0o755)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-pages."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.folder.chmod(0o755)

    def test_one_page_cannot_open_another(self):
        ann, bob, proxy = pwd.getpwnam("nobody"), pwd.getpwnam("games"), pwd.getpwnam("www-data")
        anns, _ = self.page(self.daemon, ann)
        bobs, groups = self.page(self.daemon, bob)
        state = anns.stat()
        self.assertEqual((oct(state.st_mode & 0o777), state.st_uid, state.st_gid), ("0o660", ann.pw_uid, proxy.pw_gid))
        self.assertTrue(self.opens(anns, proxy.pw_uid, proxy.pw_gid, []))
        self.assertTrue(self.opens(bobs, proxy.pw_uid, proxy.pw_gid, []))
        self.assertFalse(self.opens(anns, bob.pw_uid, bob.pw_gid, groups), "a page has opened another user's")

    def test_nobody_leads_the_proxy_elsewhere_by_a_link_in_place_of_his_socket(self):
        bob = pwd.getpwnam("games")
        socket, groups = self.page(self.daemon, bob)
        self.assertEqual(self.begun, 0)
        self.assertFalse(self.may(self.exchange, socket, bob.pw_uid, bob.pw_gid, groups), "he has exchanged it")
        # It may not remove its own socket any more, which ExecStopPost does, and ends in order.
        self.assertEqual(self.web.stop(), 0)

    def test_a_page_whose_socket_was_a_link_before_does_not_start(self):
        bob = pwd.getpwnam("games")
        self.page(self.daemon, bob, lambda path: self.assertTrue(self.may(self.exchange, path, bob.pw_uid, bob.pw_gid, [])))
        self.assertNotEqual(self.begun, 0)


if __name__ == "__main__":
    unittest.main()
