# SPDX-License-Identifier: Apache-2.0
"""A server of a peer: a process in a folder of its own, that ends with the benchmark."""
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time


class Missing(Exception):
    """Why a peer cannot be measured here."""


class Server:
    def __init__(self, program, arguments, socket_path, folder, user=None):
        found = shutil.which(program) or next(iter(candidates(program)), None)
        if found is None:
            raise Missing("'%s' is not installed" % program)
        self.folder, self.socket_path = folder, socket_path
        self.log = open(os.path.join(folder, "log"), "wb")
        # An unprivileged one: what root may not start, and whose files lie in its folder.
        as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        self.process = subprocess.Popen([found, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, **as_user)
        self.pids = [self.process.pid]
        until = time.monotonic() + 20
        while not listens(socket_path):
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                with open(self.log.name, "rb") as log:
                    raise Missing("'%s' does not start: %s" % (program, log.read()[-300:].decode("utf-8", "replace").strip()))
            time.sleep(0.02)

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()


def candidates(program):
    """Where Debian has what is on nobody's path."""
    root = "/usr/lib/postgresql"
    versions = sorted(os.listdir(root), key=lambda name: (len(name), name), reverse=True) if os.path.isdir(root) else []
    paths = [os.path.join(root, version, "bin", program) for version in versions] + ["/usr/sbin/" + program]
    return [path for path in paths if os.path.exists(path)]


def listens(path):
    with socket.socket(socket.AF_UNIX) as trying:
        try:
            trying.connect(path)
            return True
        except OSError:
            return False


def folder(user=None):
    """On the disk, where the temporary folder is one in memory."""
    made = tempfile.mkdtemp(prefix="queues-", dir=os.environ.get("QUEUES_FOLDER"))
    if user is not None:
        os.chown(made, user.pw_uid, user.pw_gid)
    return made


def unprivileged():
    """Whom PostgreSQL is started as where root starts this."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else None


class Lines:
    """One connection, whose requests and replies are lines."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(60)
        self.socket.connect(path)
        self.file = self.socket.makefile("rb")

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\n"):
            raise ConnectionError("the server closed the connection")
        return line

    def close(self):
        self.file.close()
        self.socket.close()
