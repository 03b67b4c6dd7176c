# SPDX-License-Identifier: Apache-2.0
"""invalidate, pause, set-fire-date and fire from random nodes against jobs about to fire: after the answer nothing begins."""
import collections
import threading
import time

from cluster.client import Client, Lost, Refused, Watcher, ask_all, instant

VERBS = ["invalidate", "pause", "setFireDate", "fire"]


class Round:
    def __init__(self, job, verb, is_command, is_grid, asked, answered, fire):
        self.job, self.verb, self.is_command, self.is_grid = job, verb, is_command, is_grid
        self.asked, self.answered, self.fire = asked, answered, fire


class Attacker(threading.Thread):
    def __init__(self, world, nodes, rounds, over, shared):
        super().__init__(daemon=True)
        self.world, self.nodes, self.rounds, self.over, self.shared = world, nodes, rounds, over, shared
        self.clients, self.done, self.lost = {}, [], 0

    def client(self):
        node = self.world.dice.choice(self.nodes)
        if node not in self.clients:
            self.clients[node] = Client(node.socket, timeout=30)
        return node, self.clients[node]

    def run(self):
        while len(self.done) < self.rounds and not self.over.is_set():
            try:
                self.one()
            except (Lost, Refused) as error:
                if isinstance(error, Refused) and error.reason not in ("storageFailed", "stopping", "conflict"):
                    self.world.broken("refused: %s" % error)
                self.lost += 1
                for client in self.clients.values():
                    client.close()
                self.clients.clear()
                time.sleep(0.05)

    def one(self):
        dice = self.world.dice
        verb, is_command, is_grid = dice.choice(VERBS), dice.random() < 0.4, dice.random() < 0.3
        wait = dice.choice([30, 60, 120, 500])
        definition = {"schedule": {"every" if is_grid else "in": "%dms" % wait}}
        if is_command:
            definition["command"] = ["true"]
        _, client = self.client()
        job = client.call("job.add", **definition)["job"]
        due = instant(job["fireDate"])
        time.sleep(max(0, due + dice.uniform(-0.012, 0.003) - time.time()))
        _, client = self.client()
        asked = time.time()
        fire = None
        try:
            if verb == "setFireDate":
                client.call("job.setFireDate", id=job["id"], fireDate="2031-01-01T00:00:00Z")
            else:
                fire = client.call("job." + verb, id=job["id"]).get("fire")
        except Refused as refusal:
            # It had fired already, and a one-shot is over with that.
            if refusal.reason != "conflict":
                raise
            verb = "conflict"
        self.done.append(Round(job["id"], verb, is_command, is_grid, asked, time.time(), fire))
        if verb in ("fire", "conflict") and is_grid:
            client.call("job.invalidate", id=job["id"])


def run(world):
    _, nodes = world.cluster("abc", lease=2.0)
    watcher = Watcher(nodes[2].socket, types=["fire.fired"])
    assault(world, nodes, watcher, 1000, 8, None)
    # The same while the lead changes hands.
    rounds = 150

    def change():
        leader = world.leader()
        world.dice.choice([leader.kill, leader.kill, leader.stop])()
        world.leader(but=leader)
        leader.start(wait=True)
        time.sleep(1)

    assault(world, nodes, watcher, rounds, 4, change)
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        assault(world, nodes, watcher, 1000, 8, change)


def assault(world, nodes, watcher, rounds, threads, change):
    over, begun, changes = threading.Event(), time.time(), 0
    attackers = [Attacker(world, nodes, rounds // threads, over, None) for _ in range(threads)]
    for attacker in attackers:
        attacker.start()
    while any(attacker.is_alive() for attacker in attackers):
        if change:
            change()
            changes += 1
        else:
            time.sleep(0.1)
        if time.time() - begun > 300:
            over.set()
    done = [each for attacker in attackers for each in attacker.done]
    # Longer than the longest grid and a take-over.
    time.sleep(3)
    rows = collections.defaultdict(list)
    for run in ask_all(nodes[1].socket, "run.list", "runs", patience=60):
        rows[run["job"]].append(run)
    told = collections.defaultdict(list)
    for came, event in list(watcher.events):
        told[event["job"]].append((came, event))
    spans = sorted(each.answered - each.asked for each in done)
    raced = 0
    for each in done:
        fires = [run for run in rows[each.job] if run["state"] != "skipped"]
        raced += bool(fires)
        if each.verb in ("invalidate", "setFireDate", "pause"):
            for run in fires:
                for field in ("firedAt", "startedAt"):
                    # A command whose date had come, and that waits, still begins after a pause.
                    if field == "startedAt" and each.verb != "invalidate":
                        continue
                    if run.get(field) and instant(run[field]) > each.answered:
                        world.broken("job %d: %s was answered at %.6f, and %s is %.6f: %r"
                                     % (each.job, each.verb, each.answered, field, instant(run[field]), run))
            for _, event in told[each.job]:
                if not event.get("redelivered") and instant(event["firedAt"]) > each.answered \
                        and not (each.is_command and each.verb != "invalidate"):
                    world.broken("job %d: %s was answered at %.6f, and an event of %s: %r"
                                 % (each.job, each.verb, each.answered, event["firedAt"], event))
        elif each.verb == "fire" and not each.is_grid:
            numbers = {event["fire"] for _, event in told[each.job]} | {run["fire"] for run in fires}
            if each.fire not in numbers:
                world.broken("job %d: fire %r was answered, and its fires are %r" % (each.job, each.fire, numbers))
            if len(numbers) > 1:
                world.broken("job %d was fired by hand as %r, and has the fires %r" % (each.job, each.fire, numbers))
    world.say("%d rounds in %.0f s from 3 nodes%s: after no answer anything of the job began; %d of them had fired before; answers "
              "p50 %.1f ms, max %.0f ms; %s; %d requests lost"
              % (len(done), time.time() - begun, ", the lead changed %d times" % changes if change else "", raced,
                 spans[len(spans) // 2] * 1000, spans[-1] * 1000,
                 dict(collections.Counter(each.verb for each in done)), sum(attacker.lost for attacker in attackers)))
