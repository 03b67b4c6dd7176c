# SPDX-License-Identifier: Apache-2.0
"""The programs under test, each in a folder of its own, ended with the tests."""

import atexit
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PROGRAMS = pathlib.Path(os.environ["TIMERD_PROGRAMS"])
WEB = os.environ["TIMERD_WEB"]
ZONE = "Europe/Berlin"
# Who is told to end ends what he has started.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
LIMIT = 60  # seconds that anything may take before a test says what it waited for


class Refused(AssertionError):
    """An answer that is an error; `reason` is its word for it."""

    def __init__(self, method, params, error):
        super().__init__(f"{method} {params}: {error}")
        self.reason = error.get("data", {}).get("reason")


class Program:
    """A process that is ended with the tests, whatever becomes of them."""

    def __init__(self, *command, **options):
        self.process = subprocess.Popen([str(word) for word in command], start_new_session=True, **options)
        atexit.register(self.kill)

    def stop(self, limit=LIMIT):
        """SIGTERM; the test fails where it does not end by itself."""
        self.process.terminate()
        return self.process.wait(limit)

    def kill(self):
        """SIGKILL; only where a test is about that, or nothing else helps."""
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()


class Daemon:
    """A timerd on a database and a socket of its own."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="timerd-page."))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.socket = self.folder / "timerd.sock"
        self.database = self.folder / "timerd.sqlite"
        self.start()

    def start(self):
        self.log = open(self.folder / "log", "ab")
        self.program = Program(PROGRAMS / "timerd", "--database", self.database, "--socket", self.socket,
                               stdout=self.log, stderr=self.log, env={**os.environ, "TZ": ZONE})
        atexit.register(self.end)
        wait(lambda: self.answers(), "the daemon answers")

    def answers(self):
        try:
            return self.ask("daemon.status")
        except OSError:
            return None

    def ask(self, method, **params):
        """One request over its socket."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(LIMIT)
            connection.connect(str(self.socket))
            request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
            connection.sendall(json.dumps(request).encode() + b"\n")
            with connection.makefile("rb") as lines:
                answer = json.loads(lines.readline())
        if "error" in answer:
            raise Refused(method, params, answer["error"])
        return answer["result"]

    def add(self, **definition):
        return self.ask("job.add", **definition)["job"]["id"]

    def job(self, job):
        return self.ask("job.get", id=job)["job"]

    def runs(self, job):
        return self.ask("run.list", job=job)["runs"]

    def after(self, what, job):
        """The newest run of a job, once `what` holds of it."""
        def look():
            runs = self.runs(job)
            return runs[0] if runs and what(runs[0]) else None
        return wait(look, f"a run of job {job}")

    def stop(self):
        self.program.stop()

    def kill(self):
        self.program.kill()

    def end(self):
        """Ends it with all its runs: one that is killed leaves them."""
        if self.program.process.poll() is not None:
            return
        for run in self.ask("run.list", open=True)["runs"]:
            if "id" in run:
                self.kill_run(run["id"])
        wait(lambda: not self.ask("daemon.status")["running"], "all runs are over")
        self.stop()

    def kill_run(self, run):
        """Ends a run, unless it has ended by itself since it was looked for."""
        try:
            self.ask("run.kill", id=run)
        except Refused as refused:
            if refused.reason != "conflict":
                raise


class Web:
    """A timerd-web for one daemon."""

    def __init__(self, daemon, *options, zone=ZONE, port=0, **who):
        words = ["--socket", daemon.socket if isinstance(daemon, Daemon) else daemon]
        if port is not None:
            words += ["--port", port]
        self.errors = open(tempfile.mktemp(prefix="timerd-web-log."), "w+b")
        atexit.register(os.unlink, self.errors.name)
        self.program = Program(WEB, *words, *options, stdout=subprocess.PIPE, stderr=self.errors,
                               env={**os.environ, "TZ": zone}, **who)
        self.url = self.line()
        self.origin = self.url.split("/?")[0]
        self.port = int(self.origin.rsplit(":", 1)[1]) if port is not None else None

    def line(self):
        ready, _, _ = select.select([self.program.process.stdout], [], [], LIMIT)
        line = self.program.process.stdout.readline().decode().strip() if ready else ""
        if not line:
            self.errors.seek(0)
            raise AssertionError(f"timerd-web printed no address within {LIMIT} s: {self.errors.read()!r}")
        return line

    @property
    def token(self):
        return self.url.split("token=")[1]

    def memory(self):
        """Resident bytes."""
        status = pathlib.Path(f"/proc/{self.program.process.pid}/status").read_text()
        return int(status.split("VmRSS:")[1].split()[0]) * 1024

    def processor(self):
        """Seconds of processor time that it has used."""
        fields = pathlib.Path(f"/proc/{self.program.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self):
        return self.program.stop()


def wait(look, what, limit=LIMIT):
    """What `look` returns once that is something; fails with `what` after the limit.

    For what has no event to wait for, such as another process that gets ready.
    """
    until = time.monotonic() + limit
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            raise AssertionError(f"waited {limit} s, but not: {what}")
        time.sleep(0.02)
