# SPDX-License-Identifier: Apache-2.0
"""The disk of one node's copy is full, again and again: the other leads, and what the full one's runner was never asked for does not
count as interrupted. Where the other one drains it leads all the same, and its drain can be undone."""
import os
import shutil
import subprocess
import time

from cluster.client import ask, ask_all, is_root

LEASE = 1.5


def run(world):
    if not is_root():
        return world.say("not root: a full disk is left out")
    folder = world.folder + "/small-disk"
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "none", folder]).returncode:
        return world.say("no tmpfs here: a full disk is left out")
    world.at_the_end(lambda: subprocess.run(["umount", "-l", folder]))
    uri = world.server().uri()
    a = world.node("a", uri, lease=LEASE)
    # Its runner's socket is there too.
    a.copy = folder + "/copy.db"
    a.start(wait=True)
    world.leader([a])
    b = world.node("b", uri, lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    # An end within it is rare, so that what is interrupted was never begun.
    options = dict(overlap="allow", misfire="all", keepRuns=1000)
    for number in range(3):
        ask(b.socket, "job.add", name="command%d" % number, schedule={"every": "150ms"}, command=["true"], **options)
    ask(b.socket, "job.add", name="event", schedule={"every": "20ms"}, keepRuns=1000)
    for _ in range(1 + int(world.seconds) // 20):
        once(world, a, b, folder)
    for number in range(3):
        ask(b.socket, "job.pause", name="command%d" % number)
    world.wait_for(lambda: not [row for row in commands(b) if row["state"] != "done"], "all commands to end", 30)
    rows = commands(b)
    interrupted = [row for row in rows if row.get("outcome") == "interrupted"]
    world.check(not interrupted, "%d of %d commands count as interrupted: %r" % (len(interrupted), len(rows), interrupted[:3]))
    world.say("%d commands, none interrupted" % len(rows))
    for leads_first in True, False:
        world.close_nodes()
        drained(world, folder, leads_first)


def drained(world, folder, leads_first):
    """The only sound node drains; the other, whose disk is full, leads before that, or is to lead because of it."""
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    uri = world.server().uri()
    full, sound = world.node("full", uri, lease=LEASE), world.node("sound", uri, lease=LEASE)
    full.copy = folder + "/copy%d.db" % leads_first
    for node in (full, sound) if leads_first else (sound, full):
        node.start(wait=True)
        world.leader()
    world.wait_for(lambda: len(world.standing([sound])) == 2, "both nodes to be there")
    ask(sound.socket, "job.add", name="event", schedule={"every": "100ms"}, keepRuns=1000)
    filler = folder + "/filler"
    if leads_first:
        ask(sound.socket, "node.drain", name="sound")
        fill(filler)
    else:
        fill(filler)
        ask(sound.socket, "node.drain", name="sound")
    begun = time.monotonic()
    world.wait_for(lambda: "could not" in full.log(), "the node whose disk is full to fail")

    def epoch():
        # Of the one that leads alone; it is told as one that drains.
        return sound.states().get("sound", {}).get("epoch")

    first = world.wait_for(epoch, "the node that drains to lead in place of the other", 15)
    taken = time.monotonic() - begun
    time.sleep(10 * LEASE)
    world.check(epoch() == first, "the lead came and went between a node that drains and one that cannot lead: epoch %r, then %r" % (first, epoch()))
    fired = [row for row in ask_all(sound.socket, "run.list", "runs", name="event") if row["state"] != "skipped"]
    world.check(len(fired) > 100, "%d fires of an event in %.1f s" % (len(fired), time.monotonic() - begun))
    ask(sound.socket, "node.drain", name="sound", drains=False)
    world.check(world.leader([sound]) is sound, "a drain that was undone is none")
    os.unlink(filler)
    world.say("a node that drains led after %.1f s in place of one whose disk is full, which %s" % (taken, "led before" if leads_first else "took over"))


def fill(path):
    for size in (65536, 512):
        with open(path, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                pass


def commands(node):
    return [row for number in range(3) for row in ask_all(node.socket, "run.list", "runs", name="command%d" % number) if row.get("id")]


def leads(node):
    return node.states().get(node.name, {}).get("state") == "leading"


def once(world, a, b, folder):
    # So that it is the one that fails.
    if not leads(a):
        ask(b.socket, "node.drain", name="b")
        world.wait_for(lambda: leads(a), "'a' to lead", 90)
        ask(a.socket, "node.drain", name="b", drains=False)
    failed = a.log().count("could not go on leading")
    filler = folder + "/filler"
    fill(filler)
    begun = time.monotonic()
    world.wait_for(lambda: leads(b), "'b' to lead in place of the one whose copy's disk is full", 30)
    taken = time.monotonic() - begun
    # It may have led once more before, by chance; from here on the other does.
    since = a.log().count("could not")
    ask(b.socket, "job.add", schedule={"in": "1h"})
    time.sleep(6 * LEASE)
    world.check(leads(b), "the node whose copy's disk is full took the lead again")
    world.check(a.log().count("could not") == since, "the node whose copy's disk is full tried to lead while another does")
    world.check(a.log().count("could not go on leading") > failed, "it is not told that the copy has failed: %r" % a.log()[-600:])
    os.unlink(filler)
    world.say("another led after %.1f s, and went on" % taken)
