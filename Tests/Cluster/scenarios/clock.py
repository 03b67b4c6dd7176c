# SPDX-License-Identifier: Apache-2.0
"""Clocks that are a minute off: of the node that leads, of one that takes over, of the database; and that are stepped on the way.

Each node has a boot and an elapsed time of its own, as on a host of its own. Dates are looked at by this machine's clock, which is right.
"""
import collections
import re
import subprocess
import time

from cluster.client import Watcher, ask, ask_all, date, instant
from cluster.host import Host, check
from cluster.ledger import check_order
from cluster.node import folder_of_programs
from cluster.server import Server

LEASE = 2.0
# How far the interval of an elapsed job may be wrong over a take-over: half the round trips of two comparisons.
EXACT = 0.3


def run(world):
    check()
    hosts_apart(world, [("a", 0), ("b", 60), ("c", -45)])
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        hosts_apart(world, [(name, world.dice.randint(-90, 90)) for name in "abc"])
    database_off(world)


class Jobs:
    """On grids and once in elapsed time, each second and once by the wall clock; watched at all nodes."""

    def __init__(self, world, nodes):
        self.world, self.watchers = world, [Watcher(node.socket) for node in nodes]
        # When another node led: what is due around then is late.
        self.changes = []
        path = nodes[-1].socket
        self.grid = ask(path, "job.add", schedule={"every": "1s"}, keepRuns=10000)["job"]["id"]
        self.cron = ask(path, "job.add", schedule={"cron": "* * * * * *"}, keepRuns=10000)["job"]["id"]
        self.once, self.dated = {}, {}
        for number in range(24):
            begun = time.time()
            job = ask(path, "job.add", schedule={"in": "%ds" % (2 + 2 * number)})["job"]["id"]
            self.once[job] = (begun + time.time()) / 2 + 2 + 2 * number
        for number in range(-4, 56):
            at = round(time.time() + 2 + 2 * number, 3)
            self.dated[ask(path, "job.add", schedule={"at": date(at)})["job"]["id"]] = at

    def told(self):
        """The events by their numbers, each with when it came first."""
        first = {}
        for watcher in self.watchers:
            for at, event in list(watcher.events):
                if event["seq"] not in first or at < first[event["seq"]][0]:
                    first[event["seq"]] = (at, event)
        return [first[seq] for seq in sorted(first)]

    def is_calm(self, at):
        return not any(begin - 0.5 < at < end + 1.5 for begin, end in self.changes)

    def verify(self, path, leads, clock_of):
        """`leads`: since when which node led; `clock_of`: how far the clock of the host that led then was ahead."""
        world, told = self.world, self.told()
        runs = ask_all(path, "run.list", "runs", patience=60)
        rows = collections.defaultdict(list)
        for row in runs:
            rows[row["job"]].append(row)
        fires = collections.defaultdict(dict)
        repeated = 0
        for at, event in told:
            if event["type"] != "fire.fired":
                continue
            before = fires[event["job"]].setdefault(event["fire"], (at, event))
            if before[1] is not event:
                repeated += 1
                if not event.get("redelivered"):
                    world.broken("fire %d was told twice, not as redelivered: %r" % (event["fire"], event))
        apart = self.elapsed(fires, rows)
        ends = [begin for begin, _ in leads[1:]] + [time.time()]
        self.wall(fires, rows, clock_of, max(end - 3 + clock_of(end - 3) for end in ends),
                  ends[-1] + clock_of(ends[-1]))
        return ("the grid of 1 s went on within %.0f ms, %d one-shots of elapsed time within %.0f ms; %d dates of the wall clock are "
                "one fire each; %d told again" % (apart[0] * 1000, len(self.once), apart[1] * 1000,
                                                 len(self.dated) + len(fires[self.cron]), repeated))

    def elapsed(self, fires, rows):
        world, of = self.world, sorted(fires[self.grid].values(), key=lambda each: each[0])
        first, last = of[0][0], of[-1][0]
        worst = 0
        for at, event in of:
            apart = abs((at - first + 0.5) % 1 - 0.5)
            if self.is_calm(at):
                worst = max(worst, apart)
                world.check(apart < EXACT, "the grid of 1 s fired %.3f s beside it: %r" % (apart, event))
        passed = len(rows[self.grid]) + sum(row.get("dates", 1) - 1 for row in rows[self.grid] if row["state"] == "skipped")
        # A date that has come and was not told yet, at either end.
        world.check(abs(passed - (round(last - first) + 1)) <= 2, "a grid of 1 s has %d dates in %.1f s" % (passed, last - first))
        exact = 0
        for job, due in self.once.items():
            if not world.check(len(fires[job]) == 1, "the one-shot %d, due at %.3f, has the fires %r" % (job, due, list(fires[job]))):
                continue
            at = next(iter(fires[job].values()))[0]
            if self.is_calm(due):
                exact = max(exact, abs(at - due))
                world.check(abs(at - due) < EXACT, "the one-shot %d fired %.3f s after its time" % (job, at - due))
            else:
                late = next(end for begin, end in self.changes if begin - 0.5 < due < end + 1.5) + 2
                world.check(due - EXACT < at < late, "the one-shot %d, due at %.3f over a take-over, fired at %.3f" % (job, due, at))
        return worst, exact

    def wall(self, fires, rows, clock_of, reached, now):
        """`reached`: the latest date that the clock of a host has shown while it led; `now`: what the one shows that leads."""
        world = self.world
        for job, at in self.dated.items():
            if at > reached and not fires[job]:
                continue
            if not world.check(len(fires[job]) == 1 and len(rows[job]) == 1,
                               "the job of %s has the fires %r and the rows %r" % (date(at), list(fires[job]), rows[job])):
                continue
            came, event = next(iter(fires[job].values()))
            world.check(instant(event["firedAt"]) > at - 0.001, "job %d fired before its date: %r" % (job, event))
            if self.is_calm(came):
                shown = came + clock_of(came)
                world.check(abs(shown - instant(event["firedAt"])) < 0.5,
                            "job %d fired at %s, when the clock of the host that led showed %s" % (job, event["firedAt"], date(shown)))
        dates = collections.Counter()
        for row in rows[self.cron]:
            count = row.get("dates", 1) if row["state"] == "skipped" else 1
            for number in range(count):
                dates[round(instant(row["fireDate"])) + number] += 1
        twice = [at for at, count in dates.items() if count > 1]
        world.check(not twice, "dates of cron that have two rows: %r" % [date(at) for at in twice[:5]])
        # What was skipped while the clock was ahead, and lies ahead of it now, is to come again.
        missing = {at for at in range(min(dates), max(dates)) if at < now - 2} - set(dates)
        world.check(not missing, "%d dates of cron have no row, the first: %s" % (len(missing), date(min(missing or [0]))))


def warnings(node):
    """What its log says of the clock."""
    return [line for line in node.log().splitlines() if "the clock of this host" in line and " warning " in line]


def ctl(node, *words):
    done = subprocess.run([folder_of_programs() + "/timerctl", "--socket", node.socket, *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=30)
    return done.stdout


def tells(world, asked, node, off):
    """That `nodes`, `doctor` and the node's own log say how far its clock is off."""
    def seen():
        return abs(asked.states().get(node.name, {}).get("clockDifference", 0) / 1e6 - off) < 0.2

    # It is compared with each renewal.
    world.wait_for(seen, "the clock of '%s' to be told as %+d s, not as %r" % (node.name, off, asked.states()), 3 * LEASE)
    doctor = ctl(asked, "doctor")
    named = "the clock of '%s' is" % node.name
    if off:
        side = "behind" if off < 0 else "ahead of"
        world.check(re.search("%s .* %s the database's" % (named, side), doctor), "doctor does not name the clock of '%s':\n%s"
                    % (node.name, doctor))
        world.check(warnings(node) and (" ahead=" in warnings(node)[-1]) == (off > 0),
                    "the log of '%s' does not say that its clock is off: %r" % (node.name, warnings(node)))
    else:
        world.check(named not in doctor, "doctor names the clock of '%s':\n%s" % (node.name, doctor))


def hosts_apart(world, clocks):
    """Each leads once, is killed, and comes back."""
    server = world.server()
    hosts, nodes = {}, []
    for number, (name, off) in enumerate(clocks):
        hosts[name] = Host(world.folder, "%s%d" % (name, world.servers_made), off, up=1000 * (number + 1))
        nodes.append(world.node(name, server.uri(), lease=LEASE, prefix=hosts[name].words).start(wait=True))
        world.leader(nodes[:1])
    world.wait_for(lambda: len(world.standing(nodes)) == len(nodes), "all nodes to be there")
    for node in nodes:
        tells(world, nodes[0], node, hosts[node.name].off)
    jobs = Jobs(world, nodes)
    leads = [(0, nodes[0].name)]
    offs, steps = collections.defaultdict(list), []
    for name, host in hosts.items():
        offs[name].append((0, host.off))

    def epoch():
        return int(server.sql("SELECT epoch FROM timerd.lease"))

    def clock_of(at):
        name = [each for each in leads if each[0] <= at][-1][1]
        return [each for each in offs[name] if each[0] <= at][-1][1]

    def goes_on(what, seconds):
        before = epoch()
        end = time.time() + seconds
        while time.time() < end:
            leading = [name for node in nodes for name, state in node.states().items() if state["state"] == "leading"]
            world.check(len(set(leading)) <= 1, "%s: several lead: %r" % (what, leading))
            time.sleep(0.1)
        world.check(epoch() == before, "%s: the lead changed, from epoch %d to %d" % (what, before, epoch()))

    goes_on("clocks apart", 2 * LEASE)
    for leader, following in zip(nodes, nodes[1:] + nodes[:1]):
        others = [node for node in nodes if node not in (leader, following)]
        # One that stands by is stepped, and one that leads; what they fire by is looked at, at the end.
        for node in [following] * (following is nodes[0]) + [leader] * (leader is nodes[1]):
            host = hosts[node.name]
            host.step(world.dice.choice([-1, 1]) * 60 + world.dice.randint(-20, 20))
            offs[node.name].append((time.time(), host.off))
            steps.append("%s %+d s" % (node.name, host.off))
            tells(world, leader, node, host.off)
            goes_on("a clock was stepped", LEASE)
        for node in others:
            node.pause()
        begun = time.time()
        leader.kill()
        world.leader([following], but=leader)
        jobs.changes.append((begun, time.time()))
        leads.append((time.time(), following.name))
        for node in others:
            node.resume()
        leader.start(wait=True)
        world.wait_for(lambda: len(world.standing([following])) == len(nodes), "all nodes to be there again")
        goes_on("clocks apart", 2 * LEASE)
    time.sleep(max(0, max(jobs.once.values()) + 1 - time.time()))
    text = jobs.verify(world.leader().socket, leads, clock_of)
    fresh = Watcher(world.leader().socket)
    time.sleep(2)
    for watcher in jobs.watchers:
        check_order(world, watcher, fresh)
    lines = sum(len(warnings(node)) for node in nodes)
    # Set right, it is told once more.
    for node in nodes:
        host = hosts[node.name]
        if not warnings(node):
            continue
        host.step(0)
        tells(world, nodes[0], node, 0)
        world.wait_for(lambda: "is the database's again" in node.log(), "'%s' to say that its clock is right again" % node.name, 5)
    world.say("clocks %s, stepped to %s: %s; %d epochs for %d kills; take-overs within %.1f s; the logs name them %d times"
              % (", ".join("%s %+d s" % each for each in clocks), ", ".join(steps), text, epoch(), len(jobs.changes),
                 max(end - begin for begin, end in jobs.changes), lines))
    for watcher in jobs.watchers + [fresh]:
        watcher.stop()
    world.close_nodes()


def database_off(world):
    """The clock of the database's machine is stepped, by which leases are measured: nobody loses or takes one by that."""
    host = Host(world.folder, "database")
    world.servers_made += 1
    server = Server("%s/pg%d" % (world.folder, world.servers_made), prefix=host.clock_alone)
    world.servers.append(server)
    server.start()
    _, nodes = world.cluster("abc", lease=LEASE, server=server)
    grid = ask(nodes[1].socket, "job.add", schedule={"every": "1s"}, keepRuns=1000)["job"]["id"]
    watcher = Watcher(nodes[2].socket)

    def epoch():
        return int(server.sql("SELECT epoch FROM timerd.lease"))

    before = epoch()
    for off in (60, 0, -60, 60, 0):
        host.step(off)
        for node in nodes:
            tells(world, nodes[1], node, -off)
        time.sleep(LEASE)
        world.check(epoch() == before, "the database's clock is %+d s: the lead changed, from epoch %d to %d" % (off, before, epoch()))
        before = epoch()
    leader = world.leader()
    host.step(-60)
    begun = time.time()
    leader.kill()
    following = world.leader([node for node in nodes if node is not leader], but=leader)
    taken = time.time() - begun
    world.check(taken < 2 * LEASE + 2, "with the database's clock set back a minute the lease was taken after %.1f s" % taken)
    time.sleep(3)
    fired = [at for at, event in watcher.of("fire.fired") if event["job"] == grid and not event.get("redelivered")]
    apart = [b - a for a, b in zip(fired, fired[1:])]
    calm = [each for each in apart if each < 1.5]
    world.check(len(calm) >= len(apart) - 2, "a grid of 1 s had gaps of %r" % [each for each in apart if each >= 1.5])
    world.say("the database's clock stepped by +60, -60, -60, +120, -60 s: %d epoch(s), and one more for a kill, taken by '%s' after %.1f s"
              % (before, following.name, taken))
    world.close_nodes()
