# SPDX-License-Identifier: Apache-2.0
"""An hour of 500 fires a second on three nodes, one of which is killed each minute: what was told, answered and stored agrees to the last date.

`run soak` takes an hour, `run soak --seconds 150` two and a half minutes. $TIMERD_SOAK_RATE is how many jobs fire each second (500),
$TIMERD_SOAK_KILL how many seconds lie between two kills (60; in less than ten minutes 15). With $TIMERD_SOAK_SPOIL the ledger is given something wrong, and
has to say so: lost (an event one watcher was not told), unseen (one that nobody was told), changed (two were told different things), late (an answer to a
cancel that came before it was asked), absent (an answer to an add that nobody got).
"""
import collections
import heapq
import os
import random
import signal
import threading
import time

from cluster.client import Client, Lost, Refused, ask, ask_all, date, instant
from cluster.tally import Tally
from cluster.workload import REFUSALS, is_unknown
from scenarios import soak_proof

LEASE = 2.0
FAR = "2031-01-01T00:00:00.000000Z"
COMMANDS = 8
CLIENTS = 4
# What is kept, so that all of it is full after some minutes, and what grows then is a leak.
SETTINGS = {"TIMERD_EVENTS_KEPT": "100000", "TIMERD_EVENTS_MAX_AGE": "5min", "TIMERD_ENDED_JOBS_MAX_AGE": "5min",
            "TIMERD_HISTORY_MAX_AGE": "5min"}
FULL_AFTER = 420


class Listener(threading.Thread):
    """Tells the tally what it is told, and keeps nothing but its cursor. One without a node of its own goes from node to node."""

    def __init__(self, soak, number, nodes):
        super().__init__(daemon=True)
        self.soak, self.number, self.nodes, self.seq = soak, number, nodes, 0
        self.connected = 0
        self.dice = random.Random(number)
        self.start()

    def run(self):
        while not self.soak.over.is_set():
            hop = time.monotonic() + (self.dice.uniform(3, 12) if len(self.nodes) > 1 else 1e9)
            try:
                with Client(self.dice.choice(self.nodes).socket, timeout=30) as client:
                    client.call("events.subscribe", since=self.seq)
                    self.connected += 1
                    while not self.soak.over.is_set() and time.monotonic() < hop:
                        told = client.line()
                        if told.get("method") == "event":
                            self.seq = told["params"]["seq"]
                            self.soak.hear(self.number, told["params"])
                        elif told.get("method") == "events.lost":
                            self.soak.world.broken("watcher %d was told events.lost: %r" % (self.number, told["params"]))
            except (Lost, Refused):
                self.soak.over.wait(0.05)
            except Exception as error:
                # A ledger that has ended would find nothing more.
                self.soak.world.broken("watcher %d ended: %s: %s" % (self.number, type(error).__name__, error))
                raise


class Changer(threading.Thread):
    """Adds jobs that fire once, soon or never, and grids that live for seconds, some with commands, and cancels many."""

    def __init__(self, soak, number):
        super().__init__(daemon=True)
        self.soak, self.tally, self.number, self.serial = soak, soak.tally, number, 0
        self.dice = random.Random("%s/%d" % (soak.world.dice.random(), number))
        self.client, self.later = None, []
        self.answers, self.unknown, self.refused = collections.Counter(), 0, collections.Counter()
        self.start()

    def run(self):
        try:
            while not self.soak.calm.is_set() or self.later:
                if self.soak.calm.is_set():
                    # Whatever would go on else.
                    self.cancel(*heapq.heappop(self.later)[1:])
                else:
                    self.add()
                    wait = time.time() + self.dice.uniform(0, 0.5)
                    # What is to be cancelled, just about when it is due.
                    while self.later and self.later[0][0] < wait:
                        time.sleep(max(0, self.later[0][0] - time.time()))
                        self.cancel(*heapq.heappop(self.later)[1:])
                    time.sleep(max(0, wait - time.time()))
        except Exception as error:
            self.soak.world.broken("client %d ended: %s: %s" % (self.number, type(error).__name__, error))
            raise

    def request(self, method, **parameters):
        """The answer, and whether it may have been done; raises what is refused for good."""
        try:
            if self.client is None or self.dice.random() < 0.02:
                self.hang_up()
                self.client = Client(self.dice.choice(self.soak.nodes).socket, timeout=20)
            answer = self.client.call(method, **parameters)
            self.answers[method] += 1
            return answer, True
        except Lost:
            self.hang_up()
            self.unknown += 1
            time.sleep(0.05)
            return None, True
        except Refused as refusal:
            if refusal.reason not in REFUSALS:
                raise
            self.refused[refusal.reason] += 1
            time.sleep(0.05)
            return None, is_unknown(refusal)

    def hang_up(self):
        if self.client:
            self.client.close()
            self.client = None

    def add(self):
        kind = self.dice.choices("ocfg", [70, 8, 10, 12])[0]
        name = "%s-%d-%d" % (kind, self.number, self.serial)
        self.serial += 1
        step = self.dice.choice([0.25, 0.5, 1.0]) if kind == "g" else None
        wait = self.dice.uniform(0.3, 4)
        schedule = {"every": "%dms" % (step * 1000)} if step else {"at": FAR if kind == "f" else date(time.time() + wait)}
        command = {"command": self.soak.command} if kind == "c" else {}
        self.tally.asked(name, step, bool(command))
        try:
            answer, may_be = self.request("job.add", name=name, schedule=schedule, misfire="once", **command)
        except Refused as refusal:
            self.soak.world.broken("an add was refused: %s" % refusal)
            return
        if answer:
            self.tally.added(name, answer["job"]["id"])
        if not may_be:
            return
        # About when it is due, or a while after.
        span = self.dice.uniform(1, 15) if step else wait + self.dice.uniform(-0.3, 0.01) if kind != "f" else self.dice.uniform(1, 60)
        if step or self.dice.random() < (0.3 if kind != "f" else 0.6):
            heapq.heappush(self.later, (time.time() + span, name, bool(answer), time.time()))

    def cancel(self, name, is_known, since):
        self.tally.cancelling(name)
        while True:
            try:
                answer, _ = self.request("job.invalidate", name=name)
            except Refused as refusal:
                if refusal.reason != "notFound":
                    self.soak.world.broken("the end of %s was refused: %s" % (name, refusal))
                elif is_known:
                    # It has fired, or an earlier request has ended it.
                    self.tally.cancelled(name)
                elif time.time() < since + 30:
                    # Its add may still be on its way.
                    heapq.heappush(self.later, (time.time() + 5, name, is_known, since))
                return
            if answer:
                self.tally.cancelled(name)
                return
            if self.soak.over.is_set():
                return


class Soak:
    def __init__(self, world):
        self.world = world
        self.seconds = world.seconds or 3600
        self.rate = int(os.environ.get("TIMERD_SOAK_RATE") or 500)
        self.every = float(os.environ.get("TIMERD_SOAK_KILL") or (60 if self.seconds >= 600 else 15))
        self.spoil = os.environ.get("TIMERD_SOAK_SPOIL")
        # No more is changed; no more is watched.
        self.calm, self.over = threading.Event(), threading.Event()
        self.marks, self.kills, self.lines, self.spoiled = [], collections.Counter(), [], None
        self.offset, self.unsorted = 0, []

    def begin(self):
        self.server, self.nodes = self.world.cluster("abc", lease=LEASE, settings=SETTINGS)
        self.book = self.world.folder + "/book"
        open(self.book, "w").close()
        self.command = ["sh", "-c", "echo $TIMERD_JOB_ID $TIMERD_FIRE_ID $TIMERD_ATTEMPT >> %s; sleep 0.1" % self.book]
        self.tally = Tally(self.world.broken, 4)
        self.watchers = [Listener(self, number, [node]) for number, node in enumerate(self.nodes)] + [Listener(self, 3, self.nodes)]
        self.grids = []
        with self.nodes[1].client(timeout=30) as client:
            for number in range(self.rate + COMMANDS):
                is_command = number >= self.rate
                name, step = "s-%d" % number, 2.0 if is_command else 1.0
                self.tally.asked(name, step, is_command)
                more = {"command": self.command} if is_command else {}
                answer = client.call("job.add", name=name, schedule={"every": "%gs" % step}, **more)
                self.tally.added(name, answer["job"]["id"])
                self.grids.append(name)
        self.changers = [Changer(self, number) for number in range(CLIENTS)]
        self.begun = time.time()

    # What goes on meanwhile

    def hear(self, number, event):
        if self.spoil in ("lost", "unseen", "changed") and self.spoiled is None and time.time() > self.begun_spoiling() and event["type"] == "fire.fired":
            self.spoiled = event["seq"] if self.spoil != "lost" or number == 0 else None
        if self.spoiled == event["seq"]:
            if self.spoil == "lost" and number == 0 or self.spoil == "unseen":
                return
            if self.spoil == "changed" and number == 2:
                event = dict(event, firedAt=event["at"][:-2] + "0Z", name="other")
        self.tally.tell(number, event)

    def begun_spoiling(self):
        return getattr(self, "begun", 1e12) + 10

    def read_book(self, is_last=False):
        with open(self.book) as file:
            file.seek(self.offset)
            text = file.read()
        whole = text[:text.rfind("\n") + 1]
        self.offset += len(whole.encode())
        left, self.unsorted = self.unsorted, []
        # A command may be ahead of the event that tells of its job.
        for line in left + whole.splitlines():
            job, fire, _ = line.split()
            if not self.tally.wrote(int(job), int(fire)):
                self.unsorted.append(line)
        if is_last and self.unsorted:
            self.world.broken("%d commands of jobs that nobody was told of have run, such as %r" % (len(self.unsorted), self.unsorted[0]))

    def compare(self):
        """What is stored was told to each, up to a number that all were beyond some moments ago."""
        through = min(self.tally.position)
        time.sleep(2)
        text = self.server.sql("SELECT seq FROM timerd.events WHERE seq > %d AND seq <= %d" % (self.tally.compared, through))
        self.tally.compare(set(map(int, text.split())), through)

    def mark(self):
        """Sizes in MB."""
        mark = {"at": time.time() - self.begun, "fires": self.tally.fires, "self": memory(os.getpid()), "nodes": {}}
        for node in self.nodes:
            if node.is_running():
                mark["nodes"][node.name] = memory(node.process.pid)
        # Of which only that of the node that leads is more than what was left there.
        mark["copy"] = max(sum(os.path.getsize(node.copy + end) for end in ("", "-wal") if os.path.exists(node.copy + end))
                           for node in self.nodes) / 1e6
        database, tables = self.server.sql("SELECT pg_database_size('postgres'), (SELECT sum(n_dead_tup) FROM pg_stat_user_tables)").split("|")
        mark["database"], mark["dead"] = int(database) / 1e6, int(tables or 0)
        mark["processors"] = os.getloadavg()[0]
        self.marks.append(mark)
        return mark

    def kill(self):
        dice = self.world.dice
        leader = self.world.leader()
        node = leader if dice.random() < 0.5 else dice.choice(self.nodes)
        mark, before = self.mark(), self.marks[-2] if len(self.marks) > 1 else {"at": 0, "fires": 0}
        down = dice.choice([0, 0.5, 1.5, 3]) * LEASE
        self.kills["led" if node is leader else "stood by"] += 1
        node.kill()
        time.sleep(down)
        node.start(wait=True)
        self.world.wait_for(lambda: len(self.world.standing([node])) == 3, "all nodes to be there again", 60)
        self.world.say("%5.0f s | %s %s, away for %.0f s | %.0f fires/s | nodes %s MB, copy %.1f, database %.1f MB, %d dead rows; load %.1f"
                       % (mark["at"], node.name, "led" if node is leader else "stood by", down,
                          (mark["fires"] - before["fires"]) / max(mark["at"] - before["at"], 1e-3),
                          " ".join("%s %.0f" % pair for pair in sorted(mark["nodes"].items())), mark["copy"], mark["database"],
                          mark["dead"], mark["processors"]))

    def go_on(self):
        end, kill, look = self.begun + self.seconds, self.begun + min(self.every, self.seconds / 4), self.begun
        while time.time() < end and len(self.world.found) < 50:
            for each in [self.server, *self.nodes]:
                if each.process.poll() is not None:
                    # Not by this: also somebody else's signal would make all that follows worthless.
                    raise SystemError("%s ended by itself, with %d" % (getattr(each, "name", "the server"), each.process.returncode))
            if time.time() >= kill and end - time.time() > 5:
                kill += self.every
                self.kill()
            if time.time() >= look:
                look = time.time() + 10
                self.compare()
                self.read_book()
                self.tally.sweep()
                self.answer_wrongly()
            time.sleep(0.1)

    def answer_wrongly(self):
        if self.spoil == "absent" and self.spoiled is None:
            self.spoiled = "nobody"
            self.tally.asked("nobody")
            self.tally.added("nobody", 10**9)
        if self.spoil == "late" and self.spoiled is None and time.time() > self.begun_spoiling():
            self.spoiled = "s-0"
            self.tally.cancelling("s-0")
            self.tally.names["s-0"].cancelled = time.time() - 5
            self.tally.look_at_end(self.tally.names["s-0"], "spoiled")

    # Its end

    def end(self):
        world, tally, paths = self.world, self.tally, [node.socket for node in self.nodes]
        self.mark()
        self.calm.set()
        for changer in self.changers:
            changer.join(120)
            world.check(not changer.is_alive(), "client %d did not end" % changer.number)
        # As many dates as time has passed, to the last moment.
        for name in self.grids:
            job = tally.names.get(name)
            behind = time.time() - job.date(job.low) if job else 0
            world.check(behind < LEASE + 10, "%s: its last date is %.1f s ago" % (name, behind))
        for name in self.grids:
            tally.cancelling(name)
            ask(paths[1], "job.invalidate", name=name)
            tally.cancelled(name)
        time.sleep(6)
        rows = ask_all(paths[2], "run.list", "runs", patience=60)
        jobs = ask_all(paths[0], "job.list", "jobs", patience=60, all=True)
        newest = ask(paths[0], "daemon.status")["seq"]
        # Numbers may be left out at the end of all, too.
        last = int(self.server.sql("SELECT max(seq) FROM timerd.events"))
        world.wait_for(lambda: min(tally.position) >= last, "all watchers to be told event %d of %d" % (last, newest), 60)
        self.compare()
        self.read_book(is_last=True)
        kept = tally.look_at_stored(jobs, rows)
        tally.sweep(is_last=True)
        self.over.set()
        return kept, len(jobs)

    def report(self, kept, jobs):
        world, tally, late = self.world, self.tally, self.tally.late
        epochs = int(self.server.sql("SELECT epoch FROM timerd.lease"))
        world.check(tally.jumps <= epochs, "numbers of events were left out %d times, in %d leads" % (tally.jumps, epochs))
        world.check(tally.fires > 0 and tally.lines > 0 and self.kills, "nothing was tried")
        # It is what an hour costs, not how long a busy machine takes: far from what would be a fault.
        world.check(tally.pause < LEASE + 20, "for %.1f s nothing fired" % tally.pause)
        spent = time.time() - self.begun
        world.say("%d events, each to 4 watchers, who connected %d times, %d of them compared with what is stored; %d dates: %d fires, skipped %s; "
                  "%d told again; %d had reached one watcher alone and were told again to the others; numbers left out %d times in %d leads"
                  % (tally.events, sum(watcher.connected for watcher in self.watchers), tally.stored, tally.dates, tally.fires,
                     dict(tally.reasons), tally.repeats, tally.passed_over, tally.jumps, epochs))
        answers = sum((changer.answers for changer in self.changers), collections.Counter())
        world.say("%.0f fires/s over %.0f s, %d kills (%s); late p50 %.2f ms, p99 %.1f ms, max %.2f s; at most %.2f s without a fire"
                  % (tally.fires / spent, spent, sum(self.kills.values()), dict(self.kills), late.quantile(0.5) * 1e3, late.quantile(0.99) * 1e3,
                     late.most, tally.pause))
        world.say("%s answered, %d requests lost, refused %s; %d jobs settled, %d at the end; runs %s, %d lines of commands; %d rows compared"
                  % (dict(answers), sum(changer.unknown for changer in self.changers),
                     dict(sum((changer.refused for changer in self.changers), collections.Counter())), tally.closed, jobs,
                     dict(tally.outcomes), tally.lines, kept))
        self.look_at_growth()

    def look_at_growth(self):
        """Between what was there once all that is kept was full, and the end."""
        full = [mark for mark in self.marks if mark["at"] > FULL_AFTER]
        third = len(full) // 3
        if not third:
            self.world.say("too short to tell whether anything grows: %s" % self.sizes(self.marks))
            return
        before, after = self.sizes(full[:third]), self.sizes(full[-third:])
        self.world.say("the first %d kills after %d s, MB: %s; the last %d: %s" % (third, FULL_AFTER, before, third, after))
        for what, size in after.items():
            # Jobs that nobody cancels become more, by less than a kilobyte each in the database.
            self.world.check(size < before[what] * 1.3 + 20, "%s has grown from %.1f to %.1f MB" % (what, before[what], size))

    @staticmethod
    def sizes(marks):
        return {"a node": round(max(max(mark["nodes"].values()) for mark in marks), 1),
                **{what: round(max(mark[what] for mark in marks), 1) for what in ("copy", "database", "self")}}


def memory(pid):
    """MB that are resident."""
    with open("/proc/%d/status" % pid) as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:")) / 1000


def run(world):
    found = soak_proof.run()
    world.say("the ledger finds all %d of %d faults that it is fed, and nothing in what is sound" % found)
    soak = Soak(world)

    def too_long(number, frame):
        raise SystemError("it did not end within %d s" % (soak.seconds + 400))

    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(int(soak.seconds) + 400)
    try:
        soak.begin()
        soak.go_on()
        soak.report(*soak.end())
    finally:
        soak.calm.set()
        soak.over.set()
        signal.alarm(0)
        world.close_nodes()
