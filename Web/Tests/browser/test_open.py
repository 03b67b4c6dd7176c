# SPDX-License-Identifier: Apache-2.0
"""Having the browser open the page: what is started, and how; needs no browser."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from programs import LIMIT, WEB, Program, Web, wait
from raw import Peer


class Open(unittest.TestCase):
    def begun(self, line):
        """What a line of the shell prints, as the browser; its file lies in `self.folder`."""
        self.folder = folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-web-open."))
        self.addCleanup(shutil.rmtree, folder)
        told = folder / "told"
        browser = folder / "xdg-open"
        browser.write_text(f"#!/bin/sh\n{line} > {told}.new\nmv {told}.new {told}\n")
        browser.chmod(0o755)
        variables = {"DISPLAY": ":99", "PATH": f"{folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}
        with mock.patch.dict(os.environ, variables):
            self.web = web = Web(folder / "no-daemon.sock", "--open")
        self.addCleanup(web.program.kill)
        wait(told.exists, "the browser is started")
        return told.read_text()

    def test_the_browser_begins_with_the_signals_as_they_usually_are(self):
        ignored = int(self.begun("grep SigIgn /proc/self/status").split()[1], 16)
        for number in (signal.SIGCHLD, signal.SIGPIPE):
            self.assertFalse(ignored >> (number - 1) & 1, f"{number.name} is ignored in the browser")

    def test_the_browser_has_none_of_the_sockets_of_the_page(self):
        # ls has the folder open that it lists.
        self.assertEqual(self.begun("ls /proc/self/fd").split(), ["0", "1", "2", "3"])

    def test_no_signal_that_ends_it_leaves_the_file_with_the_token(self):
        # SIGHUP is that of a terminal whose window is closed. Tests that nohup has begun would hand on that it is ignored.
        self.addCleanup(signal.signal, signal.SIGHUP, signal.signal(signal.SIGHUP, signal.SIG_DFL))
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            self.begun("echo begun")
            self.assertTrue(list(self.folder.glob("*.html")))
            self.web.program.process.send_signal(number)
            self.assertEqual(self.web.program.process.wait(LIMIT), 0, number.name)
            self.assertEqual(list(self.folder.glob("*.html")), [], number.name)


class Begun(unittest.TestCase):
    """With what whoever starts it may have left in an unusual state."""

    def test_it_is_ended_where_a_thread_that_blocks_signals_has_started_it(self):
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
        try:
            web = Web("/nonexistent/timerd.sock")
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        self.addCleanup(web.program.kill)
        self.assertEqual(web.stop(), 0)

    def test_it_outlives_its_terminal_where_nohup_has_begun_it(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            web = Web("/nonexistent/timerd.sock")
        finally:
            signal.signal(signal.SIGHUP, before)
        self.addCleanup(web.program.kill)
        status = pathlib.Path(f"/proc/{web.program.process.pid}/status").read_text()
        ignored = int(re.search(r"^SigIgn:\s*(\w+)", status, re.M)[1], 16)
        self.assertTrue(ignored >> (signal.SIGHUP - 1) & 1, "it is ignored still")
        web.program.process.send_signal(signal.SIGHUP)
        # Without the token.
        self.assertEqual(Peer(web).request().status, 403)
        self.assertEqual(web.stop(), 0)

    def test_too_few_descriptors_are_told(self):
        """It would print its address, and answer nobody."""
        words = 'ulimit -n 24; exec "$@"'
        done = subprocess.run(["/bin/sh", "-c", words, "sh", WEB, "--socket", "/nonexistent/timerd.sock"], capture_output=True, text=True, timeout=LIMIT)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("at most 24 files", done.stderr)

    def test_what_is_closed_at_the_start_is_nothing_of_the_pages_own(self):
        """`timerd-web <&- >&- 2>&- &`: no connection, and nothing of the event loop, has the numbers."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-web-open."))
        self.addCleanup(shutil.rmtree, folder)
        page = folder / "page.sock"
        program = Program("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", WEB, "--socket", folder / "no-daemon.sock",
                          "--listen-socket", page, "--origin", "https://timerd.example.org")
        self.addCleanup(program.kill)
        wait(page.exists, "the page listens")
        numbers = pathlib.Path(f"/proc/{program.process.pid}/fd")
        self.assertEqual({os.readlink(numbers / number) for number in "012"}, {"/dev/null"})
        self.assertEqual(program.stop(), 0)


if __name__ == "__main__":
    unittest.main()
