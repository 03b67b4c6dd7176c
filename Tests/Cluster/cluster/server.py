# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of its own, as an unprivileged user, at a free port of the loopback and at a Unix socket."""
import glob
import os
import shutil
import signal
import socket
import subprocess
import time


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def programs():
    """The folder with initdb and postgres: $TIMERD_POSTGRESQL, or that of the newest that Debian has."""
    named = os.environ.get("TIMERD_POSTGRESQL")
    if named:
        if not os.access(named + "/initdb", os.X_OK):
            raise SystemExit("cluster: there is no 'initdb' in '%s', which TIMERD_POSTGRESQL names" % named)
        return named
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda path: int(path.split("/")[4]))
    if found:
        return os.path.dirname(found[-1])
    if shutil.which("initdb"):
        return os.path.dirname(shutil.which("initdb"))
    raise SystemExit("cluster: there is no PostgreSQL; Debian's package is 'postgresql-15'")


def version():
    """As 'PostgreSQL 15.20', of what is started here."""
    return subprocess.run([programs() + "/postgres", "--version"], stdout=subprocess.PIPE, text=True).stdout.replace("(", "").replace(")", "") \
        .strip().removeprefix("postgres ")


def children(pid):
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open("/proc/%s/stat" % name) as file:
                    if int(file.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(name))
            except (OSError, IndexError):
                pass
    return found


class Server:
    as_nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.geteuid() == 0 else []

    def __init__(self, folder, settings=(), template=None, data=None, prefix=()):
        self.folder, self.port, self.process, self.prefix = folder, free_port(), None, list(prefix)
        self.data = data or folder + "/data"
        self.settings = list(settings)
        os.makedirs(folder, exist_ok=True)
        if self.as_nobody:
            shutil.chown(folder, "nobody", "nogroup")
        if template == "none":
            return
        self.tool("initdb", "-A", "trust", "-U", "postgres", "-D", self.data, "--no-sync", "-E", "UTF8", "--locale=C")
        with open(self.data + "/pg_hba.conf", "a") as file:
            file.write("host replication all 127.0.0.1/32 trust\n")

    def tool(self, name, *arguments):
        done = subprocess.run(self.as_nobody + [programs() + "/" + name, *arguments], cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise SystemExit("cluster: %s failed: %s" % (name, done.stdout[-2000:]))
        return done.stdout

    def start(self, wait=True, **changed):
        settings = ["listen_addresses=127.0.0.1", "port=%d" % self.port, "unix_socket_directories=" + self.folder,
                    "max_connections=100", "password_encryption=scram-sha-256", "shared_memory_type=mmap", "dynamic_shared_memory_type=mmap",
                    "log_line_prefix=%m [%p] ", *self.settings, *("%s=%s" % pair for pair in changed.items())]
        command = self.as_nobody + self.prefix + [programs() + "/postgres", "-D", self.data]
        for setting in settings:
            command += ["-c", setting]
        end = time.monotonic() + 60
        while True:
            with open(self.folder + "/server.log", "ab") as log:
                self.process = subprocess.Popen(command, cwd=self.folder, stdout=log, stderr=log,
                                                stdin=subprocess.DEVNULL, start_new_session=True)
            while wait and self.process.poll() is None and not self.is_ready():
                time.sleep(0.05)
            if self.process.poll() is None:
                return self
            # Processes of one that was killed may hold its memory yet.
            if time.monotonic() > end:
                raise SystemExit("cluster: PostgreSQL does not start: " + self.log()[-2000:])
            time.sleep(0.2)

    def is_ready(self):
        return subprocess.run([programs() + "/pg_isready", "-q", "-h", self.folder, "-p", str(self.port)],
                              stdout=subprocess.DEVNULL).returncode == 0

    def log(self):
        with open(self.folder + "/server.log", errors="replace") as file:
            return file.read()

    def kill(self):
        """kill -9 of the postmaster, and of what it has started, which would end by itself within moments."""
        if not self.process:
            return
        left = children(self.process.pid)
        self.process.kill()
        self.process.wait()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process = None

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def signal_all(self, number):
        for pid in [self.process.pid, *children(self.process.pid)]:
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                pass

    def pause(self):
        self.signal_all(signal.SIGSTOP)

    def resume(self):
        self.signal_all(signal.SIGCONT)

    def sql(self, text, database="postgres"):
        done = subprocess.run(["psql", "-XqAt", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-d", database,
                               "-v", "ON_ERROR_STOP=1", "-c", text],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
        if done.returncode:
            raise RuntimeError("psql: " + done.stdout)
        return done.stdout.strip()

    def dump(self, database):
        """Keeps what is in a database, for `restore`."""
        self.tool("pg_dump", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-f", self.folder + "/dump.sql", database)

    def restore(self, database):
        self.tool("psql", "-XqAt", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-d", database,
                  "-v", "ON_ERROR_STOP=1", "-f", self.folder + "/dump.sql")

    def uri(self, user="postgres", database="postgres", password=None, port=None, options=""):
        secret = ":" + password if password else ""
        return "postgresql://%s%s@127.0.0.1:%d/%s%s" % (user, secret, port or self.port, database, options)

    def standby(self, folder, name):
        """A server that replicates this one."""
        other = Server(folder, ["cluster_name=" + name], template="none")
        self.tool("pg_basebackup", "-h", self.folder, "-p", str(self.port), "-U", "postgres", "-D", other.data, "-R", "-c",
                  "fast", "-X", "stream")
        with open(other.data + "/postgresql.auto.conf", "a") as file:
            file.write("primary_conninfo = 'host=127.0.0.1 port=%d user=postgres application_name=%s'\n" % (self.port, name))
        return other
