# SPDX-License-Identifier: Apache-2.0
"""A daemon among the others, as a process."""
import os
import signal
import subprocess
import sys
import time

from .client import Client, Lost, Refused

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")


def folder_of_programs():
    for folder in (os.environ.get("TIMERD_PROGRAMS", ""), ROOT + "/.build/release", ROOT + "/.build/debug"):
        if os.path.exists(os.path.join(folder, "timerd")):
            return os.path.abspath(folder)
    sys.exit("cluster: no timerd; build it ('swift build'), or name its folder in TIMERD_PROGRAMS")


class Node:
    def __init__(self, folder, name, uri, lease=2.0, settings=None, prefix=(), file=None):
        self.folder, self.name, self.uri, self.lease = folder, name, uri, lease
        self.file = file or name
        self.socket = "%s/%s.sock" % (folder, self.file)
        self.copy = "%s/%s-copy.db" % (folder, self.file)
        self.logged = "%s/%s.log" % (folder, self.file)
        self.settings, self.prefix = settings or {}, list(prefix)
        self.process = None

    def start(self, wait=False):
        environment = dict(os.environ, TIMERD_COPY=self.copy, TIMERD_LEASE="%dms" % (self.lease * 1000),
                           TIMERD_DATABASE=self.uri, TIMERD_EVENTS_KEPT="1000000", TIMERD_MAX_RUNS_KEPT="100000",
                           SWIFT_BACKTRACE="enable=no",
                           TIMERD_LOG_LEVEL="info")
        environment.update(self.settings)
        with open(self.logged, "ab") as log:
            self.process = subprocess.Popen(
                self.prefix + [folder_of_programs() + "/timerd", "--node", self.name, "--socket", self.socket],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment, cwd="/")
        if wait:
            self.wait_for_socket()
        return self

    def wait_for_socket(self, patience=60):
        end = time.monotonic() + patience
        while time.monotonic() < end and self.process.poll() is None:
            try:
                Client(self.socket).close()
                return
            except Lost:
                time.sleep(0.02)

    def is_running(self):
        return self.process is not None and self.process.poll() is None

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self, patience=60):
        """SIGTERM; answers the exit status, or None where it had to be killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(patience)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def client(self, uid=None, timeout=10):
        return Client(self.socket, uid=uid, timeout=timeout)

    def log(self):
        try:
            with open(self.logged, errors="replace") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def states(self, timeout=3):
        """What this node says of all nodes; empty where it says nothing."""
        try:
            with self.client(timeout=timeout) as client:
                return {node["name"]: node for node in client.call("node.list")["nodes"]}
        except (Lost, Refused):
            return {}
