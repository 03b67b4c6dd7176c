# SPDX-License-Identifier: Apache-2.0
"""Commands that write down, each by itself, where and when they begin and end; and what the rows of their runs have to say of that."""
import collections
import os

from .client import ask_all, date

SCRIPT = """#!/bin/bash
# ledger seconds status
printf 'b %s %s %s %s %s %s %s\\n' $TIMERD_RUN_ID $TIMERD_JOB_ID $TIMERD_ATTEMPT $TIMERD_FIRE_ID ${TIMERD_SOCKET##*/} $EPOCHREALTIME $UID >> "$1"
[ "$2" = 0 ] || sleep "$2"
printf 'e %s %s\\n' $TIMERD_RUN_ID $EPOCHREALTIME >> "$1"
exit "$3"
"""


class Line:
    def __init__(self, words):
        self.run, self.job, self.attempt, self.fire = (int(word) for word in words[1:5])
        self.node, self.at, self.uid, self.end = words[5], float(words[6]), int(words[7]), None

    def __repr__(self):
        return "run %d of job %d on %s, %.4f to %s" % (self.run, self.job, self.node, self.at, self.end)


class Ledger:
    def __init__(self, world, nodes, name="ledger"):
        self.world = world
        self.nodes = {os.path.basename(node.socket): node.name for node in nodes}
        self.script, self.path = world.folder + "/" + name + ".sh", world.folder + "/" + name
        with open(self.script, "w") as file:
            file.write(SCRIPT)
        os.chmod(self.script, 0o755)
        open(self.path, "w").close()
        # Runs of other users write it as well.
        os.chmod(self.path, 0o666)
        # By job: when it is due, which status it ends with.
        self.due, self.status = {}, {}

    def command(self, seconds, status=0):
        return [self.script, self.path, "%g" % seconds, "%d" % status]

    def add(self, client, dates, seconds, **options):
        """Adds a command for each of `dates`, and answers the jobs' numbers; each ends with a status of its own."""
        added = []
        for first in range(0, len(dates), 500):
            some = dates[first:first + 500]
            statuses = [(first + number) % 7 for number in range(len(some))]
            answer = client.call("job.add", jobs=[
                dict(options, schedule={"at": date(at)}, command=self.command(seconds(), status))
                for at, status in zip(some, statuses)])
            numbers = [job["id"] for job in answer["jobs"]] + list(answer.get("others", []))
            for number, at, status in zip(numbers, some, statuses):
                self.due[number], self.status[number] = at, status
            added += numbers
        return added

    def lines(self):
        """What the commands have written, in that order."""
        lines, by_run = [], {}
        with open(self.path) as file:
            for text in file:
                words = text.split()
                if words[0] == "b":
                    line = Line(words)
                    line.node = self.nodes.get(line.node, line.node)
                    lines.append(line)
                    by_run[line.run] = line
                elif int(words[1]) in by_run:
                    by_run[int(words[1])].end = float(words[2])
        return lines

    def rows(self, path, jobs=None):
        jobs = self.due if jobs is None else jobs
        return [row for row in ask_all(path, "run.list", "runs", patience=60) if row["job"] in jobs]

    def over(self, path, jobs=None):
        """The rows, once there is one of each job and all are over."""
        jobs = set(self.due if jobs is None else jobs)
        rows = self.rows(path, jobs)
        return rows if all(row["state"] in ("done", "skipped") for row in rows) and not jobs - {row["job"] for row in rows} else None

    def wait(self, path, jobs=None, patience=60):
        try:
            return self.world.wait_for(lambda: self.over(path, jobs), "all commands to be over", patience)
        except SystemError as error:
            jobs = set(self.due if jobs is None else jobs)
            rows = self.rows(path, jobs)
            left = [row for row in rows if row["state"] not in ("done", "skipped")]
            none = jobs - {row["job"] for row in rows}
            self.world.broken("%s: %d are not: %r; %d have no row: %r" % (error, len(left), left[:2], len(none), sorted(none)[:5]))
            return rows

    def check(self, rows, interrupted=lambda row, line: False, jobs=None, skipped=()):
        """Whether lines and rows agree, and each command ran once. `interrupted` says which runs may have ended so; `skipped` which
        reasons there may be. Answers how many lines, and how many runs were interrupted."""
        broken, status = self.world.broken, self.status
        jobs = set(self.due if jobs is None else jobs)
        by_run, by_job = collections.defaultdict(list), collections.defaultdict(list)
        for line in self.lines():
            if line.job in jobs:
                by_run[line.run].append(line)
                by_job[line.job].append(line)
        known, of_job, lost = {}, collections.defaultdict(list), 0
        for row in rows:
            if row["job"] in jobs:
                known[row.get("id")] = row
                of_job[row["job"]].append(row)
        for run, lines in by_run.items():
            if len(lines) > 1:
                broken("run %d has begun %d times: %r; its row: %r" % (run, len(lines), lines, known.get(run)))
            row = known.get(run)
            if row is None:
                broken("%r has no row; its job has %r" % (lines[0], of_job[lines[0].job]))
            elif row["job"] != lines[0].job or row.get("node") != lines[0].node:
                broken("%r has the row %r" % (lines[0], row))
        for job in jobs:
            fires = {row["fire"] for row in of_job[job]}
            if len(fires) != 1:
                broken("job %d of one date has %d fires: %r" % (job, len(fires), of_job[job]))
            for row in of_job[job]:
                line = by_run.get(row.get("id"), [None])[0]
                outcome = row.get("outcome") or row["state"]
                if outcome == "interrupted":
                    lost += 1
                    if not interrupted(row, line):
                        broken("interrupted, though its node was not lost: %r, %r" % (row, line))
                elif outcome == "skipped":
                    if row.get("reason") not in skipped or line:
                        broken("skipped: %r, %r" % (row, line))
                elif outcome != "exited" or row.get("status") != status[job]:
                    broken("its status is %d, and its row %r, %r" % (status[job], row, line))
                elif line is None or line.end is None:
                    broken("it has exited by its row, and wrote %r: %r" % (line, row))
        return sum(len(lines) for lines in by_run.values()), lost

    def check_single(self, jobs=None):
        """That no job has two lines: where nothing is run again."""
        jobs = set(self.due if jobs is None else jobs)
        count = collections.Counter(line.job for line in self.lines() if line.job in jobs)
        twice = sorted(job for job, lines in count.items() if lines > 1)
        for job in twice[:5]:
            self.world.broken("job %d of one date ran %d times: %r" % (job, count[job], [line for line in self.lines() if line.job == job]))


def runners(node):
    """The pids of a node's runners, those of processes that they have begun, and of what these have."""
    found, parents = [], {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % name) as file:
                text = file.read()
            parents[int(name)] = int(text.rsplit(")", 1)[1].split()[1])
            if "(timerd-runner)" in text:
                with open("/proc/%s/environ" % name, "rb") as file:
                    if b"TIMERD_COPY=" + node.copy.encode() in file.read().split(b"\0"):
                        found.append(int(name))
        except OSError:
            pass
    below = set(found)
    while True:
        more = {pid for pid, parent in parents.items() if parent in below} - below
        if not more:
            return found, below - set(found)
        below |= more


def lose_host(node):
    """kill -9 of all that a host has: its daemon, its runner and their runs."""
    node.kill()
    minders, runs = runners(node)
    for pid in minders:
        os.kill(pid, 9)
    for pid in runs | runners(node)[1]:
        try:
            os.kill(pid, 9)
        except ProcessLookupError:
            pass
