# SPDX-License-Identifier: Apache-2.0
"""Three nodes under faults at random, one after the other and at once: kills, ends, pauses, cut links, restarts of the database."""
import collections
import time

from cluster.client import Client, Lost, Refused
from cluster.dates import Dates
from cluster.workload import Workload

LEASE = 1.5


class Storm:
    def __init__(self, world):
        self.world, self.dice = world, world.dice
        self.server = world.server()
        self.links, self.nodes = [], []
        for name in "abc":
            link = world.proxy(self.server.port)
            self.links.append(link)
            self.nodes.append(world.node(name, self.server.uri(port=link.port), lease=LEASE).start(wait=True))
        self.told = collections.Counter()
        # What is to be undone, and when.
        self.later = []

    def faults(self):
        dice, number = self.dice, self.dice.randrange(3)
        node, link = self.nodes[number], self.links[number]
        if dice.random() < 0.5:
            leading = [each for each, state in self.seen().items() if state["state"] == "leading"]
            if leading:
                number = "abc".index(leading[0])
                node, link = self.nodes[number], self.links[number]
        fault = dice.choice(["kill", "kill", "end", "pause", "pause", "cut", "cut", "deaf", "database", "hang", "drain"])
        if any(each[1] is node for each in self.later) and fault not in ("database", "hang"):
            return
        self.told[fault] += 1
        span = dice.choice([0.1, 0.5, 2, 2 * LEASE, 4 * LEASE])
        if fault == "kill":
            node.kill()
            self.undo(span, node, lambda: node.start())
        elif fault == "end":
            node.process.terminate()
            self.undo(span, node, lambda: (node.process.wait(60), node.start()))
        elif fault == "pause":
            node.pause()
            self.undo(span, node, node.resume)
        elif fault == "cut":
            link.cut()
            keep = dice.random() < 0.7
            self.undo(span, node, lambda: link.heal(keep=keep))
        elif fault == "deaf":
            link.cut(answers_alone=True)
            keep = dice.random() < 0.7
            self.undo(span, node, lambda: link.heal(keep=keep))
        elif fault == "database":
            self.server.kill()
            time.sleep(dice.choice([0, 1, LEASE * 2]))
            self.server.start()
        elif fault == "hang":
            self.server.pause()
            time.sleep(dice.choice([0.3, 1, LEASE * 2]))
            self.server.resume()
        elif fault == "drain":
            self.say_drain(node, True)
            self.undo(span, node, lambda: self.say_drain(node, False))

    def say_drain(self, node, drains):
        # Without a node that leads nobody can say so.
        self.server.sql("UPDATE timerd.nodes SET drains = %s WHERE name = '%s'; SELECT pg_notify('timerd_lease', '')"
                        % (drains, node.name))

    def seen(self):
        for node in self.nodes:
            if node.is_running() and not any(each[1] is node for each in self.later):
                return node.states(timeout=1)
        return {}

    def undo(self, span, node, action):
        self.later.append((time.monotonic() + span, node, action))

    def heal(self, all_of_it=False):
        for each in list(self.later):
            if all_of_it or each[0] <= time.monotonic():
                each[2]()
                self.later.remove(each)


def run(world):
    storm = Storm(world)
    a, b, c = storm.nodes
    world.leader()
    dates = Dates(world, b.socket, [a.socket, b.socket, c.socket])
    work = Workload(world, [a.socket, b.socket, c.socket], clients=6, pause=0.02, patience=25)
    work.wait_for_answers(5)
    begun = time.monotonic()
    while time.monotonic() - begun < max(40, world.seconds):
        storm.faults()
        time.sleep(world.dice.random() * 2)
        storm.heal()
    storm.heal(True)
    calm = time.monotonic()
    world.wait_for(lambda: all(node.is_running() for node in storm.nodes), "all nodes to run")
    for node in storm.nodes:
        world.wait_for(lambda: len(world.standing([node])) == 3, "all nodes to be there again", 30)
    work.wait_for_answers(5)
    dates.wait_for_fires()
    calm = time.monotonic() - calm
    work.stop()
    world.say(work.verify(b.socket))
    world.say(dates.verify(b.socket))
    epoch = storm.server.sql("SELECT epoch FROM timerd.lease")
    world.say("%s in %.0f s, %s epochs; all well again after %.1f s" % (dict(storm.told), time.monotonic() - begun, epoch, calm))
    for text, count in work.messages.most_common(6):
        world.say("  refused %d times: %s" % (count, text))
    for node in storm.nodes:
        for line in node.log().splitlines():
            if "Fatal" in line or "crashed" in line:
                world.broken("the log of %s: %s" % (node.name, line))
    world.close_nodes()
