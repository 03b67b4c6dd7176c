# SPDX-License-Identifier: Apache-2.0
"""Having the browser open the page: what is started, and how; needs no browser."""

import os
import pathlib
import shutil
import signal
import tempfile
import unittest
from unittest import mock

from programs import Web, wait


class Open(unittest.TestCase):
    def begun(self, line):
        """What a line of the shell prints, as the browser."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-web-open."))
        self.addCleanup(shutil.rmtree, folder)
        told = folder / "told"
        browser = folder / "xdg-open"
        browser.write_text(f"#!/bin/sh\n{line} > {told}.new\nmv {told}.new {told}\n")
        browser.chmod(0o755)
        variables = {"DISPLAY": ":99", "PATH": f"{folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}
        with mock.patch.dict(os.environ, variables):
            web = Web(folder / "no-daemon.sock", "--open")
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


if __name__ == "__main__":
    unittest.main()
