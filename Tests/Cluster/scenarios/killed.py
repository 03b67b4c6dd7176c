# SPDX-License-Identifier: Apache-2.0
"""kill -9 of the node that leads, with jobs due over the next seconds."""
import collections
import os
import threading
import time

from cluster.client import Refused, Watcher, ask, ask_all, date, instant
from cluster.ledger import check_dates, check_grid, check_order, percentile


def run(world):
    events(world, jobs=10_000)
    commands(world, jobs=300)
    end = time.monotonic() + world.seconds
    while world.seconds and time.monotonic() < end:
        events(world, jobs=2_000)
        commands(world, jobs=200)


class Moment(threading.Thread):
    """When a text stood in a log first."""

    def __init__(self, node, text):
        super().__init__(daemon=True)
        self.node, self.text, self.at = node, text, None
        self.start()

    def run(self):
        before = self.node.log().count(self.text)
        while self.node.log().count(self.text) == before:
            time.sleep(0.005)
        self.at = time.time()


def add(client, definitions):
    """Adds them in lists of 1,000; answers their numbers and how many a second that was."""
    begun, numbers = time.monotonic(), []
    for first in range(0, len(definitions), 1000):
        answer = client.call("job.add", jobs=definitions[first:first + 1000])
        numbers += [job["id"] for job in answer["jobs"]] + list(answer.get("others", []))
    return numbers, len(definitions) / (time.monotonic() - begun)


def spread_out(client, count, definition, lead=1.5, over=20.0):
    """Adds `count` jobs whose dates lie one behind the other, and answers when each is due.

    A machine that is slow, or busy, has fewer of them, and no more a second than it can fire: what is late is to be late for the take-over.
    Where the first is due before all are added, which would tell nothing of that, it is done once more with more time.
    """
    _, rate = add(client, [dict(definition, schedule={"in": "1h"}, tags=["warm"]) for _ in range(1000)])
    client.call("job.invalidate", tag="warm")
    pace = min(500, rate / 4)
    count = min(count, int(over * pace))
    over = count / pace
    for patience in (2.0, 5.0, 15.0, 40.0):
        base = time.time() + patience * count / rate + lead
        dates = [round(base + over * index / count, 6) for index in range(count)]
        try:
            numbers, added = add(client, [dict(definition, schedule={"at": date(at)}, tags=["spread"]) for at in dates])
            if time.time() < base:
                return dict(zip(numbers, dates)), base, added
        except Refused:
            # A date that has passed is no date.
            if time.time() < base:
                raise
        client.call("job.invalidate", tag="spread")
    raise SystemError("the machine is too slow, or too busy: %d jobs are not added within %.0f s" % (count, patience * count / rate))


def events(world, jobs):
    _, (a, b) = world.cluster("ab", lease=2.0)
    watchers = [Watcher(b.socket) for _ in range(2)]
    grids = [0.25, 0.5, 1.0] * 10
    with b.client(timeout=60) as client:
        grid_jobs = [client.call("job.add", schedule={"every": "%dms" % (step * 1000)})["job"]["id"] for step in grids]
        due, base, rate = spread_out(client, jobs, {})
    margin = base - time.time()
    time.sleep(max(0, base + 2 - time.time()))
    leads = Moment(b, "this node leads")
    killed = time.time()
    a.kill()
    last = max(due.values())
    time.sleep(max(0, last - time.time()))

    def is_done():
        told = {event["job"] for _, event in list(watchers[0].events) if event["type"] in ("fire.fired", "fire.skipped")}
        return not due.keys() - told

    try:
        world.wait_for(is_done, "all %d jobs to fire" % len(due), patience=60)
    except SystemError as error:
        world.broken(str(error))
    for job in grid_jobs:
        ask(b.socket, "job.invalidate", id=job)
    time.sleep(2)
    fresh = Watcher(b.socket)
    runs = ask_all(b.socket, "run.list", "runs", patience=60)
    time.sleep(3)
    # The lease, and what a busy machine may take to see that it is over.
    bound = 2.0 + 5.0
    first = min((instant(event["firedAt"]) for _, event in watchers[0].of("fire.fired")
                 if instant(event["firedAt"]) > killed + 0.3), default=0)
    loading = first - leads.at if leads.at else 0
    late, repeated = check_dates(world, list(watchers[0].events), due, runs, bound + loading)
    for watcher in watchers:
        check_order(world, watcher, fresh)
    rows = collections.defaultdict(list)
    for row in runs:
        rows[row["job"]].append(row)
    dates = sum(check_grid(world, job, step, rows[job]) for job, step in zip(grid_jobs, grids))
    world.say("%d events over kill -9 (added through the standby at %.0f/s, ready %.1f s ahead), %d told again: leads "
              "after %.2f s, first fire %.2f s after the kill (%.2f s of it loading); late p50 %.1f ms, p99 %.0f ms, max %.2f s; "
              "%d dates of %d grids have one row each; watchers connected again %s times"
              % (len(due), rate, margin, repeated, (leads.at or 0) - killed, first - killed, loading,
                 percentile(late, 0.5) * 1000, percentile(late, 0.99) * 1000, max(late, default=0), dates, len(grids),
                 "/".join(str(watcher.breaks) for watcher in watchers)))
    for watcher in watchers + [fresh]:
        watcher.stop()
    world.close_nodes()


def commands(world, jobs):
    _, (a, b) = world.cluster("ab", lease=2.0)
    book = "%s/book-%d" % (world.folder, time.monotonic_ns())
    open(book, "w").close()
    words = ["sh", "-c", "echo $TIMERD_JOB_ID $TIMERD_ATTEMPT $(date +%%s.%%N) >> %s" % book]
    with b.client(timeout=60) as client:
        # By then all are added, on any machine.
        base = time.time() + 8
        dates = [round(base + 4 * index / jobs, 6) for index in range(jobs)]
        numbers, _ = add(client, [{"schedule": {"at": date(at)}, "command": words} for at in dates])
    due = dict(zip(numbers, dates))
    time.sleep(max(0, base + 1.5 + world.dice.random() - time.time()))
    a.kill()
    killed = time.time()
    world.leader([b], but=a)

    def is_done():
        runs = ask_all(b.socket, "run.list", "runs")
        return runs if all(run["state"] in ("done", "skipped") for run in runs) \
            and not due.keys() - {run["job"] for run in runs} else None

    runs = world.wait_for(is_done, "all %d commands to be over" % jobs, patience=60)
    time.sleep(1)
    check_lines(world, book, due, runs)
    world.close_nodes()


def check_lines(world, book, due, runs):
    lines = collections.defaultdict(list)
    with open(book) as file:
        for line in file:
            job, attempt, at = line.split()
            lines[int(job)].append((int(attempt), float(at)))
    rows = collections.defaultdict(list)
    for row in runs:
        rows[row["job"]].append(row)
    interrupted = 0
    for job, at in due.items():
        of = rows[job]
        outcomes = [row.get("outcome") or row["state"] for row in of]
        if len(of) != 1:
            world.broken("command %d has the rows %r" % (job, of))
        if len(lines[job]) > 1:
            world.broken("command %d of one date has %d lines %r, rows %r" % (job, len(lines[job]), lines[job], of))
        if "exited" in outcomes and not lines[job]:
            world.broken("command %d has exited and wrote no line: %r" % (job, of))
        if "skipped" in outcomes and lines[job]:
            world.broken("command %d was skipped and wrote a line: %r" % (job, of))
        if "notStarted" in outcomes:
            world.broken("command %d could not be started: %r" % (job, of))
        interrupted += "interrupted" in outcomes
    late = [line[1] - due[job] for job, of in lines.items() for line in of if job in due]
    world.say("%d commands over kill -9: %d lines, none twice; %d interrupted (of them %d had written); late at most %.2f s"
              % (len(due), sum(len(of) for of in lines.values()), interrupted,
                 sum(1 for job in due if lines[job] and any(row.get("outcome") == "interrupted" for row in rows[job])),
                 max(late, default=0)))
