# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP of the node that leads for three leases, then SIGCONT: it begins nothing, stores nothing, and stands by."""
import os
import signal
import time

from cluster.client import Client, Lost, Refused
from cluster.dates import Dates
from cluster.workload import Workload


def run(world):
    end = time.monotonic() + world.seconds
    once(world, True)
    if world.seconds:
        once(world, False)
    while time.monotonic() < end:
        once(world, world.dice.random() < 0.5)


def runner_of(node):
    try:
        with node.client() as client:
            return client.call("daemon.status").get("runner", {}).get("pid")
    except (Lost, Refused):
        return None


def long_run(world, socket):
    """The pid of a run that does not end by itself."""
    path = "%s/long-%d" % (world.folder, time.monotonic_ns())
    with Client(socket) as client:
        client.call("job.add", schedule={"in": "0s"}, command=["sh", "-c", 'echo $$ > "$0.part"; mv "$0.part" "$0"; exec sleep 900', path])
    world.wait_for(lambda: os.path.exists(path), "the long run to begin", 20)
    with open(path) as file:
        return int(file.read())


def is_there(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def once(world, with_runner):
    """`with_runner`: its runner is stopped as well, as on a machine that is paused."""
    lease = 1.5
    _, nodes = world.cluster("abc", lease=lease)
    a, b, c = nodes
    dates = Dates(world, b.socket, [a.socket, b.socket, c.socket])
    work = Workload(world, [a.socket, b.socket, c.socket], clients=3)
    work.wait_for_answers(20)
    dates.wait_for_fires()
    left = long_run(world, b.socket)
    runner = runner_of(a) if with_runner else None
    time.sleep(world.dice.random() * 0.5)
    stopped = time.time()
    a.pause()
    if runner:
        os.kill(runner, signal.SIGSTOP)
    leader = world.leader([b, c], but=a)
    taken = time.time() - stopped
    # What is asked of a node that is stopped waits in its socket.
    waiting = Client(a.socket, timeout=20)
    asked = waiting.send("job.add", name="asked-of-the-stopped", schedule={"at": "2031-01-01T00:00:00Z"})
    time.sleep(max(0, stopped + 3 * lease - time.time()))
    lines = dates.lines()
    goes_on = time.time()
    a.resume()
    if runner:
        os.kill(runner, signal.SIGCONT)
    try:
        answer = waiting.answer(asked)["job"]["id"]
    except (Lost, Refused) as error:
        answer = str(error)
    world.wait_for(lambda: a.states().get("a", {}).get("state") == "standby", "a to stand by after its pause", 15)
    back = time.time() - goes_on
    # What a had begun was told as interrupted: it ends as a learns that another leads.
    world.wait_for(lambda: not is_there(left), "the run that a had begun to end", 30)
    dates.wait_for_fires()
    work.wait_for_answers(20)
    work.stop()
    begun = [(of, line) for of, all_lines in dates.lines().items() for line in all_lines
             if line[2] == a.socket and line[1] > goes_on and of not in lines]
    if begun and not with_runner:
        world.broken("after its pause a began %d commands, the first: %r" % (len(begun), begun[0]))
    with leader.client() as client:
        there = [job for job in client.all("job.list", "jobs") if job.get("name") == "asked-of-the-stopped"]
    world.check(len(there) <= 1 and (not isinstance(answer, int) or len(there) == 1 and there[0]["id"] == answer),
                "what was asked of the stopped node was answered %r and is %r" % (answer, there))
    for text in (work.verify(b.socket), dates.verify(b.socket)):
        world.say(text)
    world.say("SIGSTOP of a%s for %.1f s: another answered after %.2f s; a stood by %.2f s after SIGCONT, began %d commands; what "
              "waited in its socket: %s" % (" and its runner" if runner else "", goes_on - stopped, taken, back, len(begun), answer))
    world.close_nodes()
