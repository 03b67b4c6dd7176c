# SPDX-License-Identifier: Apache-2.0
"""Several hosts, beside their limits: what nodes on one PostgreSQL add and fire, how late, what they ask while nothing is due, and what other libraries do there.

    TIMERD_PROGRAMS=.build/release PYTHON Benchmarks/Peers/cluster [--only PARTS] [--rounds N] [--seconds S] [--fires N] [--tasks N] [--idle S]

PYTHON is one with what requirements.txt says, in a virtual environment; PostgreSQL is Debian's, and is started here, as nobody where root starts this. All is spoken over Unix
sockets and stored below $CLUSTER_FOLDER (the temporary folder), which is to be on a disk. PARTS are of: adds, fires, late, idle, tasks. What is not there is left out, and said.
It ends within ten minutes.
"""
import argparse
import os
import platform
import shutil
import signal
import statistics
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "queues"))
import nodes  # noqa: E402
import peers  # noqa: E402
import raw  # noqa: E402
from database import Database  # noqa: E402
from measures import processor_time, quantile  # noqa: E402
from server import Missing  # noqa: E402

LIST = 100
#: All of it, in seconds, with room for what ends behind it.
WHOLE = 585
PARTS = ["adds", "fires", "late", "idle", "tasks"]
#: Clients, and jobs in a request.
WAYS = {"1 client": (1, 1), "8 clients": (8, 1), "lists of %d" % LIST: (1, LIST)}


class TooLong(BaseException):
    pass


class Bench:
    def __init__(self, options, database, folder):
        self.options, self.database, self.folder, self.made = options, database, folder, 0
        self.tables, self.troubles, self.figures = [], [], {}

    def nodes(self, count, shared=True, **more):
        """That many on a new database, or a daemon with a file."""
        self.made += 1
        uri = self.database.uri(self.database.fresh("jobs")) if shared else None
        return nodes.Nodes(os.path.join(self.folder, "nodes-%d" % self.made), uri, count, **more)

    def on(self, count, part, shared=True, **more):
        made = self.nodes(count, shared, **more)
        try:
            return part(made)
        finally:
            made.close()

    def note(self, title, figure):
        """One more round of a figure."""
        self.figures.setdefault(title, []).append(figure)

    def get(self, title):
        return self.figures.get(title, [])

    # Adds

    def adds(self):
        for _ in range(self.options.rounds):
            for count in (1, 2, 3):
                self.on(count, self.adds_of)
            self.on(1, lambda made: self.adds_to("a file", made.paths), shared=False)
            self.raw_adds()
        rows = [["adds a second", *WAYS]]
        for place in ("1 node", "2 nodes, leading", "2 nodes, standing by", "3 nodes, leading", "3 nodes, standing by", "3 nodes, all", "a file", "written raw"):
            rows.append([place, *[told(self.get((place, way))) for way in WAYS]])
        rows.append(["adds in a commit of it", *[told(self.get(("commits", way))) for way in WAYS]])
        for place in ("1 node", "3 nodes, all"):
            rows.append(["%s, of raw" % place, *[ratio(self.get((place, way)), self.get(("written raw", way)), 0.5) for way in WAYS]])
        self.tables.append((rows, "jobs with 100 bytes of userInfo, the best round first; lists at all of 3 nodes by a client at each; to be: 0.5 of raw with one node, "
                                  "and not less with three in all"))

    def adds_of(self, made):
        count = len(made.paths)
        if count == 1:
            return self.adds_to("1 node", made.paths)
        self.adds_to("%d nodes, leading" % count, made.paths[:1])
        self.adds_to("%d nodes, standing by" % count, made.paths[1:2])
        if count == 3:
            # One client is at one node: this is of those that are at all.
            self.adds_to("3 nodes, all", made.paths, [way for way in WAYS if way != "1 client"])

    def adds_to(self, place, paths, ways=WAYS):
        for way in ways:
            clients, size = WAYS[way]
            self.note((place, way), nodes.adds(paths, self.options.seconds, max(clients, len(paths)), size))

    def raw_adds(self):
        """Recorded of one node in a pass of its own, of which nothing is measured."""
        for way, (clients, size) in WAYS.items():

            def record(made):
                self.database.schema_of("jobs", "raw")
                start = self.database.log_statements(True)
                nodes.adds(made.paths, min(2.0, self.options.seconds), clients, size)
                self.database.log_statements(False)
                return raw.commits(self.database.logged(start))

            stored = self.on(1, record)
            count = raw.rows(stored, "job_definitions")
            self.write_raw(way, stored, count)

    def write_raw(self, way, stored, count, before=()):
        loop = raw.Loop(self.database, "raw")
        try:
            spent, passes, until = 0.0, 0, time.monotonic() + self.options.seconds
            while passes == 0 or (time.monotonic() < until and passes < 20):
                loop.empty()
                if before:
                    loop.write(before)
                spent += loop.write(stored)
                passes += 1
            self.note(("written raw", way), count * passes / spent)
            self.note(("commits", way), count / len(stored))
        finally:
            loop.close()

    # Fires

    def fires(self):
        count = self.options.fires
        for _ in range(self.options.rounds):
            for number in (1, 2, 3):
                self.on(number, lambda made: self.fires_of(made, number, count))
            self.on(1, lambda made: self.fires_of(made, "a file", count), shared=False)
            self.raw_fires(count)
        limit = self.get(("written raw", "fires"))
        rows = [["%d events at one instant" % count, "told, a second", "stored, a second", "of raw"]]
        for number in (1, 2, 3):
            stored = self.get(("stored", number))
            rows.append(["%d node%s" % (number, "s" if number > 1 else ""), told(self.get(("fires", number))), told(stored), ratio(stored, limit, 0.5)])
        rows.append(["a file", told(self.get(("fires", "a file"))), told(self.get(("stored", "a file"))), ""])
        rows.append(["written raw", "", told(limit), "%s fires a commit" % told(self.get(("commits", "fires")))])
        self.tables.append((rows, "told: until a watcher at the last node has the last, for an event waits for no commit; stored: until all have their rows; "
                                  "raw: what was committed after the instant"))

    def fires_of(self, made, place, count):
        told_at, stored_at, _ = nodes.fires(made.paths[0], made.paths[-1], count, self.lead())
        self.note(("fires", place), told_at)
        self.note(("stored", place), stored_at)

    def lead(self):
        return 3 + self.options.fires / 2500

    def raw_fires(self, count):
        def record(made):
            self.database.schema_of("jobs", "raw")
            start = self.database.log_statements(True)
            _, _, at = nodes.fires(made.paths[0], made.paths[0], count, self.lead() + 2)
            time.sleep(1)
            self.database.log_statements(False)
            return raw.commits(self.database.logged(start)), at

        stored, at = self.on(1, record)
        before, after = [commit for commit in stored if commit[0] < at], [commit for commit in stored if commit[0] >= at]
        if not after:
            raise RuntimeError("nothing was committed after the instant")
        self.write_raw("fires", after, count, before)

    # Lateness

    def late(self):
        rows = [["1,000 events over 5 s", "fired p50", "p99", "received p50", "p99 ms"]]
        of = {}
        for place, count, shared in (("a file", 1, False), ("1 node", 1, True), ("3 nodes, a watcher that stands by", 3, True)):
            fired, received = [], []
            for _ in range(self.options.rounds):
                some = self.on(count, lambda made: nodes.lateness(made.paths[0], made.paths[-1], 1000, 5), shared)
                fired += some[0]
                received += some[1]
            of[place] = quantile(fired, 0.99)
            rows.append([place, *["%.2f" % (1e3 * quantile(samples, part)) for samples in (fired, received) for part in (0.5, 0.99)]])
        apart = 1e3 * (of["1 node"] - of["a file"])
        rows.append(["p99 apart", "", "%.2f: %s" % (apart, "yes" if apart <= 2 else "NO"), "", ""])
        self.tables.append((rows, "to be: p99 within 2 ms of the file's"))

    # What is asked while nothing is due

    def idle(self):
        def quiet(made):
            client = nodes.Client(made.paths[0])
            client.ask("job.add", schedule={"at": nodes.FAR})
            client.close()
            time.sleep(3)  # what the add has left to do
            return self.database.statements(self.options.idle)

        rows = [["statements a minute, nothing due", "of a node", "which"]]
        for count in (1, 3):
            asked = self.on(count, quiet)
            minute = sum(asked.values()) * 60 / self.options.idle
            rows.append(["%d node%s, lease 10 s" % (count, "s" if count > 1 else ""), "%.0f" % (minute / count),
                         ", ".join("%d x %s" % (number, word) for word, number in sorted(asked.items()))])
        self.tables.append((rows, "to be: the renewals of the lease alone, 18 a minute of each node"))

    # Tasks

    def tasks(self):
        columns = ["added one by one /s", "µs", "in lists of %d /s" % LIST, "µs", "worked off, 1 at once /s", "µs", "10 at once /s", "µs", "idle, a minute"]
        rows = [["tasks, one client", *columns]]
        for kind in peers.PEERS:
            try:
                peer = kind(self.database, self.folder)
            except (Missing, OSError) as error:
                self.troubles.append("%s: %s" % (kind.name, error))
                continue
            try:
                rows.append([kind.name, *self.tasks_of(peer)])
            except (RuntimeError, OSError) as error:
                self.troubles.append("%s: %s" % (kind.name, error))
            finally:
                peer.close()
        self.tables.append((rows, "µs: processor time of PostgreSQL, and of timerd's node, for each task. " + "; ".join(
            "%s: %s" % (kind.name, kind.asks) for kind in peers.PEERS)))

    def tasks_of(self, peer):
        count, cells = self.options.tasks, []

        def measured(part):
            """Of what says how many it was, and perhaps in how many seconds."""
            pids = [*self.database.pids, *peer.pids]
            used, begun = processor_time(pids), time.monotonic()
            done, spent = part()
            spent = spent or time.monotonic() - begun
            cells.extend(["%.0f" % (done / spent), "%.0f" % (1e6 * (processor_time(pids) - used) / done)])
            return done

        measured(lambda: ([peer.add() for _ in range(count)] and count, None))
        measured(lambda: ([peer.add_list(LIST) for _ in range(count // LIST)] and count // LIST * LIST, None))
        done = measured(lambda: peer.work(count, 1))
        # A worker that is told to stop ends what it has taken, so some of these may be done.
        measured(lambda: peer.work(count + count // LIST * LIST - done, 10))
        asked = peer.wait(self.options.idle, lambda: self.database.statements(self.options.idle))
        cells.append("%.0f" % (sum(asked.values()) * 60 / self.options.idle))
        return cells


def told(figures):
    """The best first: what disturbs makes it less."""
    return ", ".join("%.0f" % figure for figure in sorted(figures, reverse=True)) or "-"


def ratio(figures, limits, wanted):
    if not figures or not limits:
        return "-"
    of = statistics.median(figures) / statistics.median(limits)
    return "%.2f%s" % (of, "" if of >= wanted else " (NO)")


def table(rows):
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between: " + ", ".join(PARTS))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=2.5, help="of a pass of adds")
    parser.add_argument("--fires", type=int, default=10_000)
    parser.add_argument("--tasks", type=int, default=2_000)
    parser.add_argument("--idle", type=float, default=20.0)
    options = parser.parse_args()
    parts = options.only.split(",")
    for part in parts:
        if part not in PARTS:
            parser.error("there is no part '%s'; there are %s" % (part, ", ".join(PARTS)))

    def too_long(number, frame):
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGTERM, too_long)
    signal.alarm(WHOLE)
    print("%s, %d processors, load %.1f; synchronous_commit on, all on one machine and disk" % (platform.platform(terse=True), os.cpu_count(), os.getloadavg()[0]))
    folder, database, bench, begun = tempfile.mkdtemp(prefix="cluster-", dir=os.environ.get("CLUSTER_FOLDER")), None, None, time.monotonic()
    try:
        database = Database(folder)
        bench = Bench(options, database, folder)
        for part in parts:
            print("%s, after %.0f s" % (part, time.monotonic() - begun), file=sys.stderr, flush=True)
            try:
                getattr(bench, part)()
            except (Missing, RuntimeError, OSError) as error:
                bench.troubles.append("%s: %s" % (part, error))
    except (TooLong, KeyboardInterrupt):
        bench and bench.troubles.append("it was ended in the midst of %s" % part)
    except Missing as error:
        print("left out: all: %s" % error)
    finally:
        signal.alarm(0)
        if database:
            database.close()
        shutil.rmtree(folder, ignore_errors=True)
    if not bench:
        return 1
    for rows, words in bench.tables:
        print("\n%s\n\n%s" % (table(rows), words))
    print("\nload %.1f at the end, after %.0f s" % (os.getloadavg()[0], time.monotonic() - begun))
    for trouble in bench.troubles:
        print("left out: " + trouble)
    return 1 if bench.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
