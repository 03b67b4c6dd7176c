# SPDX-License-Identifier: Apache-2.0
"""A PostgreSQL of its own, as it comes: synced with each commit, in a folder of its own, at a Unix socket alone."""
import os
import re
import subprocess
import time

from server import Missing, Server, candidates, unprivileged

PORT = 5432


class Database:
    def __init__(self, folder):
        user = unprivileged()
        programs = candidates("initdb")
        if not programs:
            raise Missing("PostgreSQL is not installed")
        self.programs, self.folder = os.path.dirname(programs[0]), os.path.join(folder, "pg")
        os.mkdir(self.folder)
        if user is not None:
            os.chmod(folder, 0o755)
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        self.as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
        data = os.path.join(self.folder, "data")
        made = self.tool("initdb", "-D", data, "-A", "trust", "-U", "bench", "-E", "UTF8", "--locale=C")
        if made.returncode != 0:
            raise Missing("initdb failed: %s" % made.stdout[-300:])
        settings = ["-D", data, "-k", self.folder, "-c", "listen_addresses=", "-c", "log_line_prefix=%m [%p] ", "-c", "log_parameter_max_length=-1"]
        self.server = Server(os.path.join(self.programs, "postgres"), settings, os.path.join(self.folder, ".s.PGSQL.%d" % PORT), self.folder, user)
        self.pids = self.server.pids
        until = time.monotonic() + 20
        while self.tool("psql", *self.at("postgres"), "-c", "SELECT 1").returncode != 0:  # it listens before it answers
            if time.monotonic() > until:
                self.server.stop()
                raise Missing("PostgreSQL does not answer")
            time.sleep(0.1)

    def tool(self, name, *arguments, text=None):
        return subprocess.run([os.path.join(self.programs, name), *arguments], cwd=self.folder, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, **self.as_user)

    def at(self, name):
        return ["-XqAt", "-h", self.folder, "-U", "bench", "-d", name, "-v", "ON_ERROR_STOP=1"]

    def sql(self, text, name="postgres"):
        done = self.tool("psql", *self.at(name), "-f", "-", text=text)
        if done.returncode != 0:
            raise RuntimeError("psql: %s" % done.stdout.strip()[-500:])
        return done.stdout.strip()

    def fresh(self, name):
        """A new, empty database of that name, with nothing left to write of what was before."""
        self.sql("DROP DATABASE IF EXISTS %s WITH (FORCE);\nCREATE DATABASE %s;\nCHECKPOINT" % (name, name))
        return name

    def schema_of(self, source, target):
        """The tables of one, empty, in another."""
        dumped = self.tool("pg_dump", "-s", "-h", self.folder, "-U", "bench", source)
        if dumped.returncode != 0:
            raise RuntimeError("pg_dump: %s" % dumped.stdout[-300:])
        self.sql(dumped.stdout, self.fresh(target))

    def uri(self, name):
        return "postgresql://bench@/%s?host=%s" % (name, self.folder)

    # What it is asked

    def log_statements(self, logs):
        self.sql("ALTER SYSTEM %s\n;SELECT pg_reload_conf()" % ("SET log_statement = 'all'" if logs else "RESET log_statement"))
        time.sleep(0.5)
        return os.path.getsize(self.server.log.name)

    def logged(self, start):
        with open(self.server.log.name, errors="replace") as log:
            log.seek(start)
            return log.read()

    def statements(self, seconds):
        """What it is asked in that time, each statement with how often."""
        start, asked = self.log_statements(True), {}
        time.sleep(seconds)
        for text in re.findall(r"LOG:  (?:statement|execute [^:]*): ([^\n]{1,160}(?:\n\t[^\n]*){0,2})", self.logged(start)):
            word = re.sub(r"\s+", " ", text)[:70]
            asked[word] = asked.get(word, 0) + 1
        self.log_statements(False)
        return {word: count for word, count in asked.items() if not word.startswith(("ALTER SYSTEM", "SELECT pg_reload"))}

    def close(self):
        self.server.stop()
