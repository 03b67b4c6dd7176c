# SPDX-License-Identifier: Apache-2.0
"""The limit: the rows that timerd wrote, in the same batches, written again by libpq and nothing else.

PostgreSQL logs what the node that leads commits. Its statements that store rows are kept as they were, with their values, one list for each commit; the fence and the number
of the commit are timerd's own, and left out. They are then sent to empty tables of the same kind, prepared, each commit in one round trip, as timerd does, by psycopg's
plain bindings of libpq.
"""
import re
import time

from server import Missing

ENTRY = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \S+ \[(\d+)\] (LOG|DETAIL|STATEMENT|ERROR|FATAL|WARNING):  ", re.M)
PARAMETER = re.compile(r"\$\d+ = (NULL|'(?:[^']|'')*')(?:, |$)")


def commits(log, after=None):
    """Of each commit that stored rows: when, and its statements with their values."""
    found, open_ones, waiting = [], {}, {}
    entries = list(ENTRY.finditer(log))
    for entry, following in zip(entries, [*entries[1:], None]):
        text = log[entry.end():following.start() if following else len(log)].rstrip("\n").replace("\n\t", "\n")
        backend, kind = entry.group(1), entry.group(2)
        if kind == "LOG":
            put_away(open_ones, waiting, backend)
            _, _, statement = text.partition(": ")
            if statement == "BEGIN":
                open_ones[backend] = []
            elif statement == "COMMIT" and backend in open_ones:
                stored = open_ones.pop(backend)
                if stored:
                    found.append((moment(entry.group(0)), stored))
            elif backend in open_ones and statement.startswith(("INSERT INTO timerd.\"", "DELETE FROM timerd.\"", "UPDATE timerd.\"")):
                waiting[backend] = (statement, [])
        elif kind == "DETAIL" and backend in waiting and text.startswith("parameters: "):
            values = [None if value == "NULL" else value[1:-1].replace("''", "'").encode() for value in PARAMETER.findall(text[len("parameters: "):])]
            waiting[backend] = (waiting[backend][0], values)
    return found


def put_away(open_ones, waiting, backend):
    if backend in waiting and backend in open_ones:
        open_ones[backend].append(waiting.pop(backend))


def moment(prefix):
    """Seconds since 1970 of an entry of the log, whose zone is UTC or the machine's."""
    from datetime import datetime, timezone
    day, clock, zone = prefix.split()[:3]
    read = datetime.strptime(day + " " + clock, "%Y-%m-%d %H:%M:%S.%f")
    return (read.replace(tzinfo=timezone.utc) if zone in ("UTC", "GMT") else read).timestamp()


def rows(stored, table):
    """How many rows of a table such commits write."""
    count = 0
    for _, statements in stored:
        for statement, values in statements:
            if statement.startswith('INSERT INTO timerd."%s"' % table) and values:
                count += values[0].count(b",") + 1
    return count


class Loop:
    """One connection that writes what was recorded."""

    def __init__(self, database, name):
        try:
            from psycopg import pq
        except ImportError as error:
            raise Missing("the package psycopg is not installed: %s" % error) from None
        self.pq, self.known = pq, {}
        self.connection = pq.PGconn.connect(("host=%s user=bench dbname=%s" % (database.folder, name)).encode())
        if self.connection.status != pq.ConnStatus.OK:
            raise RuntimeError("libpq: %s" % self.connection.error_message)

    def prepare(self, stored):
        for statement in ["BEGIN", "COMMIT", *{statement for _, statements in stored for statement, _ in statements}]:
            if statement not in self.known:
                self.known[statement] = b"s%d" % len(self.known)
                self.check(self.connection.prepare(self.known[statement], statement.encode()))

    def check(self, result):
        if result is not None and result.status in (self.pq.ExecStatus.FATAL_ERROR, self.pq.ExecStatus.PIPELINE_ABORTED):
            raise RuntimeError("libpq: %s" % self.connection.error_message.decode("utf-8", "replace"))

    def empty(self):
        names = self.connection.exec_(b"SELECT string_agg(format('timerd.%I', relname), ', ') FROM pg_stat_user_tables WHERE schemaname = 'timerd'")
        self.check(self.connection.exec_(b"TRUNCATE " + names.get_value(0, 0)))
        self.check(self.connection.exec_(b"CHECKPOINT"))

    def write(self, stored):
        """Seconds for all of them, one after the other, each answered before the next."""
        self.prepare(stored)
        connection, begin, commit = self.connection, self.known["BEGIN"], self.known["COMMIT"]
        connection.enter_pipeline_mode()
        begun = time.monotonic()
        for _, statements in stored:
            connection.send_query_prepared(begin, None)
            for statement, values in statements:
                connection.send_query_prepared(self.known[statement], values)
            connection.send_query_prepared(commit, None)
            connection.pipeline_sync()
            while True:
                result = connection.get_result()
                if result is not None:
                    self.check(result)
                    if result.status == self.pq.ExecStatus.PIPELINE_SYNC:
                        break
        spent = time.monotonic() - begun
        connection.exit_pipeline_mode()
        return spent

    def close(self):
        self.connection.finish()
