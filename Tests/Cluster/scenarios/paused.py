# SPDX-License-Identifier: Apache-2.0
"""SIGSTOP of the node that leads for some leases, then SIGCONT: it begins nothing, stores nothing, and stands by. Its runs go on; those that were
given up are ended."""
import os
import signal
import time

from cluster.client import Client, Lost, Refused, ask_all
from cluster.dates import Dates
from cluster.workload import Workload


def run(world):
    end = time.monotonic() + world.seconds
    once(world, True, False)
    once(world, False, True)
    while time.monotonic() < end:
        once(world, world.dice.random() < 0.5, world.dice.random() < 0.5)


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
        client.call("job.add", name="long", on="a", schedule={"in": "0s"}, command=["sh", "-c", 'echo $$ > "$0.part"; mv "$0.part" "$0"; exec sleep 900', path])
    world.wait_for(lambda: os.path.exists(path), "the long run to begin", 20)
    with open(path) as file:
        return int(file.read())


def is_there(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def once(world, with_runner, for_long):
    """`with_runner`: its runner is stopped as well, as on a machine that is paused. `for_long`: until its runs count as interrupted."""
    lease = 1.5
    # The take-over, then the lease and 2 s, and some looks in between.
    pause = 2 * lease + lease + 2 + 3 if for_long else 3 * lease
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
    time.sleep(max(0, stopped + pause - time.time()))
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
    dates.wait_for_fires()
    if for_long:
        # It was told as interrupted: it ends as a comes with it.
        world.wait_for(lambda: not is_there(left), "the run that a had begun to end", 30)
    else:
        world.check(is_there(left), "the run that a had begun has ended, though a was back in time")
        os.kill(left, signal.SIGKILL)
    outcomes = lambda: [row.get("outcome") for row in ask_all(b.socket, "run.list", "runs", name="long")]
    world.wait_for(lambda: outcomes() == ["interrupted" if for_long else "signalled"], "the end of the long run to be told truly", 30)
    work.wait_for_answers(20)
    work.stop()
    with leader.client() as client:
        there = [job for job in client.all("job.list", "jobs") if job.get("name") == "asked-of-the-stopped"]
    world.check(len(there) <= 1 and (not isinstance(answer, int) or len(there) == 1 and there[0]["id"] == answer),
                "what was asked of the stopped node was answered %r and is %r" % (answer, there))
    for text in (work.verify(b.socket), dates.verify(b.socket)):
        world.say(text)
    world.say("SIGSTOP of a%s for %.1f s: another answered after %.2f s; a stood by %.2f s after SIGCONT; its long run %s; what "
              "waited in its socket: %s" % (" and its runner" if runner else "", goes_on - stopped, taken, back,
                                            "was ended" if for_long else "went on", answer))
    world.close_nodes()
