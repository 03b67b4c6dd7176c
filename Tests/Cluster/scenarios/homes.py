# SPDX-License-Identifier: Apache-2.0
"""Where commands run, and how they are reached there: labels, drains, users, output, signals; and that an answered change holds there."""
import base64
import collections
import os
import pwd
import random
import subprocess
import threading
import time

from cluster.client import Client, Lost, Refused, ask, ask_all, date, instant, is_root
from cluster.node import folder_of_programs
from cluster.runs import Ledger

SETTINGS = {"TIMERD_MAX_RUNS": "300", "TIMERD_MAX_RUNS_PER_USER": "300"}
# A process may follow its order by so much on a busy machine.
MOMENT = 0.25


def run(world):
    answered(world, 800)
    labels(world)
    drained(world)
    output(world)
    long_offers(world)
    users(world)
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        answered(world, 3000)
        drained(world)
        output(world)


def set_up(world):
    _, nodes = world.cluster("abc", lease=2.0, settings=SETTINGS)
    return nodes, Ledger(world, nodes, "homes-%d" % world.nodes_made)


class Attacker(threading.Thread):
    """Ends jobs, or pauses them, at about the date on which they begin, through any node."""

    def __init__(self, world, nodes, ledger, rounds):
        super().__init__(daemon=True)
        self.world, self.nodes, self.ledger, self.rounds = world, nodes, ledger, rounds
        self.dice = random.Random(world.dice.random())
        self.done, self.lost, self.clients = [], 0, {}

    def client(self):
        node = self.dice.choice(self.nodes)
        if node not in self.clients:
            self.clients[node] = Client(node.socket, timeout=30)
        return self.clients[node]

    def run(self):
        for _ in range(self.rounds):
            try:
                self.one()
            except (Lost, Refused) as error:
                # One that has run is over, and cannot be paused.
                if isinstance(error, Refused) and error.reason == "conflict":
                    continue
                if isinstance(error, Refused) and error.reason not in ("storageFailed", "stopping"):
                    self.world.broken("refused: %s" % error)
                self.lost += 1
                for client in self.clients.values():
                    client.close()
                self.clients.clear()
                time.sleep(0.05)

    def one(self):
        verb = self.dice.choice(["invalidate", "invalidate", "kill", "apply", "pause"])
        job = self.client().call("job.add", schedule={"in": "%dms" % self.dice.choice([40, 60, 120])},
                                 command=self.ledger.command(0.05))["job"]
        due = instant(job["fireDate"])
        time.sleep(max(0, due + self.dice.uniform(-0.015, 0.015) - time.time()))
        client = self.client()
        if verb == "apply":
            client.call("job.apply", invalidate=[job["id"]])
        elif verb == "pause":
            client.call("job.pause", id=job["id"])
        else:
            client.call("job.invalidate", id=job["id"], kill=verb == "kill")
        self.done.append((job["id"], verb, due, time.time()))


def answered(world, rounds):
    """Beside that a node that stands by is stopped for moments: a word to begin may wait in its socket."""
    nodes, ledger = set_up(world)
    attackers = [Attacker(world, nodes[:2], ledger, rounds // 8) for _ in range(8)]
    begun = time.time()
    for attacker in attackers:
        attacker.start()
    stops = 0
    while any(attacker.is_alive() for attacker in attackers):
        time.sleep(world.dice.uniform(0.1, 0.5))
        # Requests do not go through it.
        nodes[2].pause()
        time.sleep(world.dice.choice([0.05, 0.2, 0.9, 1.3]))
        nodes[2].resume()
        stops += 1
    time.sleep(2)
    leader, rows, lines = world.leader(), {}, collections.defaultdict(list)
    for row in ask_all(nodes[1].socket, "run.list", "runs", patience=60):
        rows[row.get("id")] = row
    for line in ledger.lines():
        lines[line.job].append(line)
    count, worst = collections.Counter(), 0.0
    for job, verb, due, at in (each for attacker in attackers for each in attacker.done):
        count[verb] += 1
        if len(lines[job]) > 1:
            world.broken("job %d of one date ran %d times: %r" % (job, len(lines[job]), lines[job]))
        for line in lines[job]:
            row = rows.get(line.run)
            if row is None or row["job"] != job or row.get("node") != line.node:
                world.broken("%r has the row %r" % (line, row))
                continue
            # A command whose date had come still begins after a pause.
            start = instant(row["firedAt" if verb == "pause" else "startedAt"])
            # On the node that leads it was asked for before, and followed a moment later.
            slack = 0.02 if line.node == leader.name and verb != "pause" else 0
            if start > at + slack:
                world.broken("job %d: %s was answered %.1f ms after its date, and on %s, where it %s, it began %.1f ms after that answer: %r"
                             % (job, verb, (at - due) * 1000, line.node, "leads" if slack else "stands by", (start - at) * 1000, row))
            if verb != "pause":
                worst = max(worst, line.at - at)
                world.check(line.at < at + MOMENT, "job %d: %s was answered, and %.0f ms later it wrote %r" % (job, verb, (line.at - at) * 1000, line))
    raced = sum(1 for attacker in attackers for each in attacker.done if lines[each[0]])
    world.say("%d rounds in %.0f s, %s; %d had begun; nothing began after an answer (the first line of one that had begun came %.0f ms "
              "after it at most); a standby's daemon was stopped %d times; %d requests lost"
              % (sum(count.values()), time.time() - begun, dict(count), raced, max(worst, 0) * 1000, stops,
                 sum(attacker.lost for attacker in attackers)))
    world.close_nodes()


def labels(world):
    server = world.server()

    def node(name, words):
        return world.node(name, server.uri(), lease=2.0, settings={"TIMERD_MAX_RUNS": "4", "TIMERD_LABELS": words})

    a = node("a", "one").start(wait=True)
    world.leader([a])
    b, c = node("b", "gpu,ssd").start(wait=True), node("c", "ssd")
    world.wait_for(lambda: len(world.standing([a, b])) == 2, "two nodes to be there")
    ledger = Ledger(world, [a, b, c], "labels")
    now = time.time()
    with b.client(timeout=60) as client:
        gpu = ledger.add(client, [now + 0.5] * 12, lambda: 1.5, on="gpu")
        nowhere = ledger.add(client, [now + 0.6] * 3, lambda: 0.2, on="c")
        ssd = ledger.add(client, [now + 0.7] * 8, lambda: 0.5, on="ssd")
        one = ledger.add(client, [now + 0.8 + number * 0.2 for number in range(10)], lambda: 0.2, on="one")
        anywhere = ledger.add(client, [now + 0.9 + number * 0.3 for number in range(8)], lambda: 0.2)
    ledger.wait(a.socket, one + anywhere)
    rows = ledger.rows(a.socket, set(nowhere))
    world.check([(row["state"], row.get("waitsFor")) for row in rows] == [("waiting", "place")] * 3,
                "commands for a node that is not there are %r" % rows)
    c.start(wait=True)
    came = time.time()
    ledger.check(ledger.wait(a.socket))
    ledger.check_single()
    lines = {line.job: line for line in ledger.lines()}
    for words, jobs, allowed in (("gpu", gpu, "b"), ("c", nowhere, "c"), ("ssd", ssd, "bc"), ("one", one, "a")):
        for job in jobs:
            world.check(job in lines and lines[job].node in allowed, "on %s: %r" % (words, lines.get(job)))
    for job in one + anywhere:
        late = lines[job].at - ledger.due[job]
        world.check(late < 2, "b was full of others' commands, and %r was %.2f s late" % (lines[job], late))
    waited = min(lines[job].at for job in nowhere) - came
    world.check(waited < 3, "what had waited for c began %.2f s after it had come" % waited)
    for name in "abc":
        moments = sorted(moment for line in lines.values() if line.node == name for moment in ((line.at, 1), (line.end, -1)))
        now, most = 0, 0
        for _, step in moments:
            now += step
            most = max(most, now)
        world.check(most <= 4, "%s had %d commands at once, its maxRuns is 4" % (name, most))
    world.say("labels: %d commands where they were to run; those for a node that was not there waited, and began %.2f s after it had come; "
              "others were at most %.2f s late beside a full node"
              % (len(lines), waited, max(lines[job].at - ledger.due[job] for job in one + anywhere)))
    world.close_nodes()


def drained(world):
    nodes, ledger = set_up(world)
    a, b, c = nodes
    base = time.time() + 1.5
    with c.client(timeout=60) as client:
        ledger.add(client, [base + number / 30 for number in range(30 * 14)], lambda: world.dice.choice([0.5, 1, 3]))
    time.sleep(max(0, base + 2 - time.time()))
    spans = []

    def drain(node, wait):
        ask(c.socket, "node.drain", name=node.name)
        first = time.time()
        wait()
        ask(a.socket, "node.drain", name=node.name, drains=False)
        spans.append((node.name, first, time.time()))

    drain(b, lambda: time.sleep(2.5))
    time.sleep(1)
    begun, leader = time.time(), []
    drain(a, lambda: leader.append((world.leader([b, c], but=a), time.time() - begun)))
    rows = ledger.wait(c.socket)
    ledger.check(rows)
    ledger.check_single()
    lines = ledger.lines()
    for name, first, last in spans:
        late = [line for line in lines if line.node == name and first + MOMENT < line.at < last]
        world.check(not late, "%s drained, and %d commands began there later, the first: %r" % (name, len(late), late[:1]))
        # What stands by has others' commands again; so has one that led.
        world.check(any(line.node == name and line.at > last for line in lines), "%s drains no more, and nothing began there" % name)
        left = max((line.end for line in lines if line.node == name and line.at < first), default=first)
        if name == "a":
            world.check(leader[0][1] > left - first - 0.5, "the lead went on %.1f s after the drain, its last run ended after %.1f s"
                        % (leader[0][1], left - first))
    world.say("drain of a standby, and of the node that leads (which handed over after %.1f s): %d commands ended truly, none began there"
              % (leader[0][1], len(lines)))
    world.close_nodes()


def whole_output(path, run):
    """What both streams of a run have, and the last answer."""
    got, after = {"stdout": b"", "stderr": b""}, {}
    with Client(path, timeout=30) as client:
        while True:
            answer = client.call("run.output", id=run, **after)
            for chunk in answer["chunks"]:
                got[chunk["stream"]] += chunk["text"].encode() if "text" in chunk else base64.b64decode(chunk["base64"])
            if not answer.get("more"):
                return got, answer
            after = {"after": {stream: len(bytes) for stream, bytes in got.items()}}


def memory(node):
    """The resident set of a daemon, in MiB."""
    with open("/proc/%d/status" % node.process.pid) as file:
        return next(int(line.split()[1]) // 1024 for line in file if line.startswith("VmRSS"))


def output(world):
    nodes, ledger = set_up(world)
    a, b, c = nodes
    blob = os.urandom(60_000)
    path = world.folder + "/blob"
    with open(path, "wb") as file:
        file.write(blob)

    def add(*words, **options):
        return ask(a.socket, "job.add", schedule={"in": "0s"}, command=list(words), **options)["job"]["id"]

    whole = [add("sh", "-c", "cat %s; head -c 60000 /dev/zero | tr '\\0' x >&2" % path, on="abc"[number % 3]) for number in range(9)]
    for row in ledger.wait(b.socket, whole):
        got, _ = whole_output((a if row["node"] == "c" else c).socket, row["id"])
        world.check(got == {"stdout": blob, "stderr": b"x" * 60_000}, "of run %d on %s 60000 bytes of each stream are to be there, and %d and %d are"
                    % (row["id"], row["node"], len(got["stdout"]), len(got["stderr"])))
    # Followed and killed from a third node.
    slow = add("bash", "-c", "for i in {1..10}; do echo $i; sleep 0.2; done", on="b", name="slow-%d" % world.nodes_made)
    world.wait_for(lambda: ledger.rows(c.socket, {slow}), "a slow run to begin")
    follow = subprocess.Popen([folder_of_programs() + "/timerctl", "--socket", c.socket, "logs", "-f", "slow-%d" % world.nodes_made],
                              stdout=subprocess.PIPE, text=True)
    told = [(time.time(), line.strip()) for line in follow.stdout]
    follow.wait()
    world.check([line for _, line in told] == [str(number) for number in range(1, 11)], "logs -f told %r" % told)
    world.check(told and told[-1][0] - told[0][0] > 1, "logs -f told all of it at once: %r" % told)
    long = add("sleep", "60", on="b")
    row = world.wait_for(lambda: [row for row in ledger.rows(c.socket, {long}) if "startedAt" in row], "a long run to begin")[0]
    ask(c.socket, "run.kill", id=row["id"])
    row = ledger.wait(c.socket, {long}, patience=10)[0]
    world.check(row.get("outcome") == "signalled" and row.get("node") == "b", "a run that was killed from another node is %r" % row)
    # Much of it, beside others.
    before = {node.name: memory(node) for node in nodes}
    base = time.time() + 1.5
    with c.client(timeout=60) as client:
        small = ledger.add(client, [base + number / 20 for number in range(160)], lambda: 0.3)
    time.sleep(max(0, base + 1 - time.time()))
    much = {add("sh", "-c", "yes %s | head -c 50000000; exit 3" % ("x" * 60), on=node.name) for node in (b, c)}
    # So slow that all of it could be handed on.
    much.add(add("bash", "-c", "for i in {1..250}; do head -c 200000 %s/pg1/server.log /dev/zero | tail -c 200000; sleep 0.01; done; exit 3"
                 % world.folder, on="b"))
    peak = dict(before)
    while time.time() < base + 8:
        for node in nodes:
            peak[node.name] = max(peak[node.name], memory(node))
        time.sleep(0.1)
    ledger.check(ledger.wait(c.socket, set(small)), jobs=small)
    late = max(line.at - ledger.due[line.job] for line in ledger.lines())
    world.check(late < 2, "beside commands that write 50 MB others were %.2f s late" % late)
    for name in peak:
        world.check(peak[name] - before[name] < 100, "%s had %d MiB, and %d while commands wrote 50 MB" % (name, before[name], peak[name]))
    for row in ledger.wait(b.socket, much):
        _, answer = whole_output(a.socket, row["id"])
        world.check(row.get("status") == 3 and answer["stdout"]["bytes"] == 50_000_000, "a command that wrote 50 MB: %r, %r"
                    % (row, answer["stdout"]))
    world.say("output of %d runs is whole on all nodes, followed and killed from a third; 3 x 50 MB: others at most %.2f s late, %s MiB"
              % (len(whole), late, "; ".join("%s %d to %d" % (name, before[name], peak[name]) for name in before)))
    world.close_nodes()


def long_offers(world):
    """Much that is to be said to one node of what it is to begin: each command is offered to it once."""
    nodes, ledger = set_up(world)
    at = time.time() + 4
    with nodes[0].client(timeout=60) as client:
        for _ in range(200):
            job = client.call("job.add", schedule={"at": date(at)}, command=ledger.command(0.1), userInfo={"much": "u" * 60_000}, on="b")["job"]["id"]
            ledger.due[job], ledger.status[job] = at, 0
        small = ledger.add(client, [at + number * 0.05 for number in range(80)], lambda: 0.2)
    # On a busy machine the dates pass before all have been added: nobody can begin before that.
    added = time.time()
    ledger.check(ledger.wait(nodes[2].socket))
    ledger.check_single()
    again = nodes[0].log().count("it was told to begin")
    lines = [(line.job, line.at - max(ledger.due[line.job], added)) for line in ledger.lines()]
    late = [each for _, each in lines]
    world.check(again <= 20, "200 commands with 60 KB of userInfo, all due at once on b: %d times it was told too late to begin one; the last began "
                "%.1f s after its date" % (again, max(late)))
    others = max(each for job, each in lines if job in set(small))
    # Behind all of them they would be as late as the last.
    world.check(others < max(2, 0.6 * max(late)), "beside them others were %.2f s late" % others)
    world.say("200 commands with 60 KB each, all due at once on one node: the last began after %.1f s, %d were told too late; others %.2f s late"
              % (max(late), again, others))
    world.close_nodes()


def users(world):
    if not is_root():
        return world.say("not root: whose commands they are is left out")
    nodes, ledger = set_up(world)
    owners = {}
    base = time.time() + 1.5
    for number, name in enumerate([None, "nobody", "daemon"] * 2):
        uid = pwd.getpwnam(name).pw_uid if name else None
        with Client(nodes[number % 3].socket, uid=uid) as client:
            for job in ledger.add(client, [base + each * 0.05 for each in range(12)], lambda: 0.3, cwd="/"):
                owners[job] = uid or 0
    ledger.check(ledger.wait(nodes[1].socket))
    ledger.check_single()
    seen = collections.Counter()
    for line in ledger.lines():
        seen[line.node, line.uid] += 1
        world.check(line.uid == owners[line.job], "it is user %d's, and ran as %d: %r" % (owners[line.job], line.uid, line))
    for node in nodes:
        for uid in set(owners.values()):
            world.check(seen[node.name, uid], "none of user %d's 24 commands ran on %s: %r" % (uid, node.name, seen))
    world.say("%d commands of 3 users: each as who has added it, on each node" % sum(seen.values()))
    world.close_nodes()
