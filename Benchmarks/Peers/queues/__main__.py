# SPDX-License-Identifier: Apache-2.0
"""Queues beside their peers: what a task costs, how late it is, what workers that wait cost. Prints one table, and ends within five minutes.

    TIMERD_PROGRAMS=.build/release PYTHON Benchmarks/Peers/queues [--only NAMES] [--tasks N] [--seconds S] [--dates N] [--waiting N] [--idle S]

PYTHON is one with procrastinate, huey and redis from PyPI; beanstalkd, PostgreSQL and Redis are Debian's. What is not there is left out, and said.
All is spoken over Unix sockets, and stored below $QUEUES_FOLDER (the temporary folder), which is to be on a disk.
"""
import argparse
import os
import platform
import shutil
import signal
import sys
import time

sys.dont_write_bytecode = True
import server  # noqa: E402
from beanstalkd_peer import Beanstalkd, BeanstalkdInMemory  # noqa: E402
from huey_peer import Huey  # noqa: E402
from measures import memory, processor_time, quantile, raise_file_limit  # noqa: E402
from procrastinate_peer import Procrastinate  # noqa: E402
from timerd_peer import Timerd  # noqa: E402

PEERS = [Timerd, Beanstalkd, BeanstalkdInMemory, Procrastinate, Huey]
LIST = 100
#: All of it, in seconds, with room for what ends behind it.
WHOLE = 285


class TooLong(BaseException):
    pass


def spent(peer, part):
    """What `part()` returns, its seconds, and those of the server's processors."""
    used, begun = processor_time(peer.server.pids), time.monotonic()
    value = part()
    return value, time.monotonic() - begun, processor_time(peer.server.pids) - used


def rate(peer, add, work, size, options):
    """Tasks a second and the server's µs for each, through add, reserve and finish: first all are added, then all are worked off."""

    def through():
        begun, added, done = time.monotonic(), 0, 0
        while added < min(options.tasks, getattr(peer, "most", options.tasks)) and time.monotonic() < begun + options.seconds / 2:
            add()
            added += size
        while done < added and time.monotonic() < begun + 2 * options.seconds:
            some = work()
            if some == 0:
                break
            done += some
        if done < added:
            raise RuntimeError("of %d tasks %d came back in time" % (added, done))
        return done

    count, seconds, used = spent(peer, through)
    return {"rate": count / seconds, "used": used / count * 1e6}


def one_by_one(peer, options):
    return rate(peer, lambda: peer.add("one"), lambda: peer.work("one"), 1, options)


def in_lists(peer, options):
    if peer.add_list is None:
        return {}
    return rate(peer, lambda: peer.add_list("lists", LIST), lambda: peer.work_list("lists", LIST), LIST, options)


def late(peer, options):
    count = min(options.dates, getattr(peer, "dates", options.dates))
    samples = peer.lateness("late", count, getattr(peer, "gap", 0.03))
    if len(samples) < count:
        raise RuntimeError("of %d tasks %d came in time" % (count, len(samples)))
    return {"p50": quantile(samples, 0.5) * 1e3, "p99": quantile(samples, 0.99) * 1e3}


def waiting(peer, options):
    if peer.wait is None or options.waiting == 0:
        return {}
    before = memory(peer.server.pids)
    until = time.monotonic() + 30
    waiters = peer.wait("waiting", options.waiting, until)
    try:
        while not peer.all_wait("waiting", options.waiting):
            if time.monotonic() > until:
                raise RuntimeError("not all %d workers waited in time" % options.waiting)
            time.sleep(0.1)
        time.sleep(1)  # what has to settle
        _, _, idle = spent(peer, lambda: time.sleep(options.idle))
        grown = memory(peer.server.pids) - before

        def serve():
            peer.feed("waiting", options.waiting)
            return waiters.gather(peer.is_task, time.monotonic() + 20)

        served, seconds, used = spent(peer, serve)
        if served < options.waiting:
            raise RuntimeError("of %d workers %d had their task in time" % (options.waiting, served))
        return {"each": grown / options.waiting / 1024, "idle": idle * 1e3, "served": served / seconds, "serving": used / served * 1e6}
    finally:
        waiters.close()


def measured(kind, options, figures, troubles):
    """Adds what could be measured of a peer, and what not."""
    user = server.unprivileged() if kind is Procrastinate else None
    folder = server.folder(user)
    try:
        peer = kind(folder, options.waiting)
    except (server.Missing, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        troubles.append("%s: %s" % (kind.name, error))
        return
    try:
        for part in (one_by_one, in_lists, late, waiting):
            print("%s: %s" % (kind.name, part.__name__.replace("_", " ")), file=sys.stderr, flush=True)
            try:
                figures[part.__name__] = part(peer, options)
            except (RuntimeError, OSError) as error:
                troubles.append("%s, %s: %s" % (kind.name, part.__name__.replace("_", " "), error))
    finally:
        peer.close()
        shutil.rmtree(folder, ignore_errors=True)


COLUMNS = [
    ("one by one /s", "one_by_one", "rate", "%.0f"),
    ("server µs", "one_by_one", "used", "%.0f"),
    ("lists /s", "in_lists", "rate", "%.0f"),
    ("server µs", "in_lists", "used", "%.0f"),
    ("late p50 ms", "late", "p50", "%.2f"),
    ("p99 ms", "late", "p99", "%.2f"),
    ("KiB a waiter", "waiting", "each", "%.1f"),
    ("idle ms", "waiting", "idle", "%.0f"),
    ("then one each /s", "waiting", "served", "%.0f"),
    ("server µs", "waiting", "serving", "%.0f"),
]


def table(results):
    rows = [["", *[title for title, *_ in COLUMNS]]]
    for name, figures in results:
        cells = [figures.get(part, {}).get(word) for _, part, word, _ in COLUMNS]
        rows.append([name, *["-" if cell is None else form % cell for cell, (*_, form) in zip(cells, COLUMNS)]])
    rows.insert(1, ["---"] * len(rows[0]))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths)) + " |" for row in rows)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--only", help="parts of names, with commas between")
    parser.add_argument("--tasks", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=6.0, help="of a pass, for adding half of it")
    parser.add_argument("--dates", type=int, default=200)
    parser.add_argument("--waiting", type=int, default=10_000)
    parser.add_argument("--idle", type=float, default=10.0)
    options = parser.parse_args()
    words = options.only.split(",") if options.only else [""]
    kinds = [kind for kind in PEERS if any(word.strip().lower() in kind.name for word in words)]
    files = raise_file_limit(options.waiting + 1000)
    if files < options.waiting + 1000:
        print("of %d workers %d wait: no more files may be open" % (options.waiting, files - 1000), file=sys.stderr)
        options.waiting = max(0, files - 1000)

    def too_long(number, frame):
        raise TooLong

    signal.signal(signal.SIGALRM, too_long)
    signal.signal(signal.SIGTERM, too_long)
    signal.alarm(WHOLE)
    print("%s, %d processors, load %.1f" % (platform.platform(terse=True), os.cpu_count(), os.getloadavg()[0]))
    results, troubles = [], []
    try:
        for kind in kinds:
            results.append((kind.name, {}))
            measured(kind, options, results[-1][1], troubles)
    except (TooLong, KeyboardInterrupt):
        troubles.append("it was ended in the midst of %s" % results[-1][0])
    signal.alarm(0)
    print(table([(name, figures) for name, figures in results if figures]))
    print("%d workers wait; idle: the server's processor time in %g s; load %.1f" % (options.waiting, options.idle, os.getloadavg()[0]))
    for trouble in troubles:
        print("left out: " + trouble)
    return 1 if any(trouble.startswith("timerd") for trouble in troubles) else 0


if __name__ == "__main__":
    sys.exit(main())
