# SPDX-License-Identifier: Apache-2.0
"""Jobs on grids, events and commands, whose dates are looked at over whatever happens."""
import collections
import os

from .client import Watcher, ask, ask_all, instant
from .ledger import check_grid, check_order, percentile

LINE = "echo $TIMERD_JOB_ID $TIMERD_FIRE_ID $TIMERD_ATTEMPT $(date +%%s.%%N) $TIMERD_SOCKET >> %s"


class Dates:
    def __init__(self, world, path, watched, events=(0.1, 0.25, 0.5), commands=(0.5, 1.0)):
        self.world, self.grids = world, {}
        self.book = "%s/book-%d" % (world.folder, world.servers_made)
        open(self.book, "w").close()
        self.watchers = [Watcher(each) for each in watched]
        for step in events:
            job = ask(path, "job.add", schedule={"every": "%dms" % (step * 1000)}, keepRuns=10000)["job"]
            self.grids[job["id"]] = (step, False)
        for step in commands:
            job = ask(path, "job.add", schedule={"every": "%dms" % (step * 1000)}, keepRuns=10000, overlap="allow",
                      command=["sh", "-c", LINE % self.book])["job"]
            self.grids[job["id"]] = (step, True)

    def lines(self):
        """Of each fire: (attempt, when, at which node)."""
        lines = collections.defaultdict(list)
        with open(self.book) as file:
            for line in file:
                job, fire, attempt, at, socket = line.split()
                lines[(int(job), int(fire))].append((int(attempt), float(at), socket))
        return lines

    def fires_after(self, moment):
        return [event for _, event in self.watchers[-1].of("fire.fired") if instant(event["firedAt"]) > moment]

    def wait_for_fires(self, patience=60):
        """Until each grid has fired anew."""
        import time
        begun = time.time()
        self.world.wait_for(lambda: self.grids.keys() <= {event["job"] for event in self.fires_after(begun)},
                            "fires of all grids", patience)
        return time.time() - begun

    def runs_if_over(self, path):
        runs = ask_all(path, "run.list", "runs", patience=60)
        commands = {job for job, (_, is_command) in self.grids.items() if is_command}
        return runs if all(row["state"] in ("done", "skipped") for row in runs if row["job"] in commands) else None

    def wait_for_watchers(self, path, fresh):
        """Until each has all events that were told before: the events of all are in one order."""
        last = ask(path, "job.add", schedule={"in": "1d"})["job"]["id"]
        watchers = self.watchers + [fresh]
        seq = self.world.wait_for(lambda: max((event["seq"] for _, event in self.watchers[-1].of("job.added") if event["job"] == last), default=0),
                                  "the last event to be told", 60)
        self.world.wait_for(lambda: all(watcher.seq >= seq for watcher in watchers), "all watchers to have the last event", 120)

    def verify(self, path):
        for job in self.grids:
            ask(path, "job.invalidate", id=job)
        runs = self.world.wait_for(lambda: self.runs_if_over(path), "all commands to be over", 60)
        fresh = Watcher(path)
        self.wait_for_watchers(path, fresh)
        for watcher in self.watchers:
            check_order(self.world, watcher, fresh)
        rows = collections.defaultdict(list)
        for row in runs:
            rows[row["job"]].append(row)
        lines, dates, interrupted, skipped = self.lines(), 0, 0, 0
        late = []
        for job, (step, is_command) in self.grids.items():
            dates += check_grid(self.world, job, step, rows[job])
            fired = collections.Counter()
            for row in rows[job]:
                skipped += row["state"] == "skipped" and row.get("dates", 1)
                if row["state"] == "skipped":
                    continue
                late.append(instant(row["firedAt"]) - instant(row["fireDate"]) if row.get("firedAt") else 0)
                if not is_command:
                    continue
                of = lines[(job, row["fire"])]
                interrupted += row.get("outcome") == "interrupted"
                if len(of) > 1:
                    self.world.broken("fire %d of job %d ran %d times: %r, row %r" % (row["fire"], job, len(of), of, row))
                if row.get("outcome") == "exited" and not of:
                    self.world.broken("fire %d of job %d has exited and wrote nothing: %r" % (row["fire"], job, row))
                if of and row.get("node") and not os.path.basename(of[0][2]).startswith(row["node"]):
                    self.world.broken("fire %d of job %d ran at %s, row %r" % (row["fire"], job, of[0][2], row))
                if row["state"] not in ("done", "skipped"):
                    self.world.broken("fire %d of job %d is not over: %r" % (row["fire"], job, row))
            known = {row["fire"] for row in rows[job]}
            if is_command:
                for of in lines:
                    if of[0] == job and of[1] not in known:
                        self.world.broken("fire %d of job %d ran and has no row: %r" % (of[1], job, lines[of]))
        told = collections.defaultdict(list)
        for _, event in self.watchers[-1].of("fire.fired"):
            if event["job"] in self.grids:
                told[(event["job"], event["fireDate"])].append(event)
        again = 0
        for events in told.values():
            again += len(events) - 1
            if len({event["fire"] for event in events}) > 1:
                self.world.broken("one date was told as several fires: %r" % events)
            if any(not event.get("redelivered") for event in events[1:]):
                self.world.broken("a fire was told twice, not as redelivered: %r" % events)
        for watcher in self.watchers:
            watcher.stop()
        fresh.stop()
        return ("%d dates have one row each (%d of them skipped), %d lines of commands, none twice, %d interrupted, "
                "%d events told again; late at most %.2f s" % (dates, skipped, sum(map(len, lines.values())), interrupted,
                                                              again, max(late, default=0)))
