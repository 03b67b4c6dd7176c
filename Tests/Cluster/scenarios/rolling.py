# SPDX-License-Identifier: Apache-2.0
"""Each node in turn is ended and started again while clients go on; nodes drain; runs go on over a restart of their node."""
import os
import time

from cluster.client import Refused, ask, ask_all
from cluster.dates import Dates
from cluster.workload import Workload


def run(world):
    restarts(world)
    drains(world)
    last_drained(world)
    many_terms(world)
    runs_in_progress(world)
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        restarts(world)
        drains(world)


def restarts(world):
    _, nodes = world.cluster("abc", lease=2.0)
    dates = Dates(world, nodes[1].socket, [node.socket for node in nodes], commands=(0.5,))
    work = Workload(world, [node.socket for node in nodes], clients=6)
    work.wait_for_answers(10)
    slowest, statuses = 0.0, []
    for node in nodes * 2:
        begun = time.time()
        statuses.append(node.stop())
        node.start(wait=True)
        work.wait_for_answers(5)
        slowest = max(slowest, time.time() - begun)
        world.wait_for(lambda: len(world.standing(nodes)) == 3, "all nodes to be there again")
    world.check(not any(statuses), "ends of nodes: %r" % statuses)
    dates.wait_for_fires()
    work.stop()
    world.say(work.verify(nodes[0].socket))
    world.say(dates.verify(nodes[0].socket))
    world.say("rolling restart of 3 nodes, twice, while 6 clients add: each was answered 5 times within %.1f s of each SIGTERM"
              % slowest)
    for text, count in work.messages.most_common(4):
        world.say("  refused %d times: %s" % (count, text))
    world.close_nodes()


def drains(world):
    _, nodes = world.cluster("ab", lease=2.0)
    a, b = nodes
    dates = Dates(world, b.socket, [a.socket, b.socket], commands=(0.5,))
    work = Workload(world, [a.socket, b.socket], clients=4)
    long = ask(b.socket, "job.add", schedule={"in": "0s"}, command=["sleep", "3"])["job"]["id"]
    world.wait_for(lambda: ask(b.socket, "run.list", job=long)["runs"], "a long run to begin")
    begun = time.time()
    ask(b.socket, "node.drain", name="a")
    world.check(world.leader(nodes, but=a) is b, "another leads than b")
    gone = time.time() - begun
    state = b.states().get("a", {}).get("state")
    world.check(state == "draining", "a node that drains is %r" % state)
    (row,) = ask(b.socket, "run.list", job=long)["runs"]
    world.check(row.get("outcome") == "exited" and row.get("status") == 0,
                "a run of 3 s on the node that drained is %r" % row)
    world.check(gone > 2, "the lead went on after %.1f s, before the run of 3 s had ended" % gone)
    # Undone, it may lead again.
    ask(b.socket, "node.drain", name="a", drains=False)
    world.wait_for(lambda: b.states().get("a", {}).get("state") == "standby", "a to stand by after its drain was undone")
    ask(b.socket, "node.drain", name="b")
    world.check(world.leader(nodes, but=b) is a, "another leads than a")
    # The last one that may lead does not: it has nobody to hand over to.
    try:
        ask(b.socket, "node.drain", name="a")
        world.broken("the last node that may lead could be drained")
    except Refused as refusal:
        world.check(refusal.reason == "conflict", "a drain of the last node: %s" % refusal)
    dates.wait_for_fires()
    work.wait_for_answers(5)
    work.stop()
    world.say(work.verify(b.socket))
    world.say(dates.verify(b.socket))
    world.say("drain: the lead went on after the run of 3 s, %.1f s; and back" % gone)
    world.close_nodes()


def runs_in_progress(world):
    _, nodes = world.cluster("ab", lease=4.0)
    a, b = nodes
    lines = world.folder + "/in-progress"
    open(lines, "w").close()
    with b.client() as client:
        jobs = {client.call("job.add", schedule={"in": "0s"}, command=[
            "sh", "-c", "echo begin $TIMERD_JOB_ID >> %s; sleep %s; echo end $TIMERD_JOB_ID >> %s; exit %d"
            % (lines, 3 + number / 4, lines, number)])["job"]["id"]: number for number in range(8)}
    world.wait_for(lambda: open(lines).read().count("begin") == 8, "all runs to begin")
    status = a.stop()
    a.start(wait=True)
    world.check(status == 0, "the node that led ended with %r" % status)

    def are_over():
        runs = ask_all(b.socket, "run.list", "runs")
        return runs if len(runs) >= 8 and all(run["state"] == "done" for run in runs) else None

    runs = world.wait_for(are_over, "all runs to end")
    for row in runs:
        world.check(row.get("outcome") == "exited" and row.get("status") == jobs[row["job"]],
                    "a run over the restart of its node: %r, its status was %d" % (row, jobs[row["job"]]))
    text = open(lines).read()
    world.check(text.count("begin") == 8 and text.count("end") == 8, "the runs wrote %r" % text)
    leader = world.leader().name
    # The same with kill -9 and a start within the lease.
    with b.client() as client:
        jobs = {client.call("job.add", schedule={"in": "0s"}, command=["sh", "-c", "echo again $TIMERD_JOB_ID >> %s; sleep 3; exit %d"
                                                                       % (lines, number)])["job"]["id"]: number for number in range(8)}
    world.wait_for(lambda: open(lines).read().count("again") == 8, "all runs to begin")
    leading = world.leader()
    leading.kill()
    leading.start(wait=True)
    rows = world.wait_for(lambda: (lambda runs: runs if all(run["state"] == "done" for run in runs) else None)(
        [run for run in ask_all(b.socket, "run.list", "runs") if run["job"] in jobs]), "all runs to end")
    for row in rows:
        world.check(row.get("outcome") == "exited" and row.get("status") == jobs[row["job"]],
                    "a run over kill -9 of its node, started again at once: %r, its status was %d" % (row, jobs[row["job"]]))
    world.say("8 runs over a restart of the node that leads, within its lease of 4 s, and over kill -9 (%s leads then): true ends"
              % leader)
    world.close_nodes()


def many_terms(world):
    """A node that has led often has no more descriptors than one that has led twice."""
    _, nodes = world.cluster("ab", lease=2.0)
    counts = []
    for term in range(8):
        leader = nodes[term % 2]
        other = nodes[1 - term % 2]
        if world.leader(nodes) is not leader:
            ask(leader.socket, "node.drain", name=other.name)
            world.check(world.leader(nodes, but=other) is leader, "another leads than %s" % leader.name)
            ask(leader.socket, "node.drain", name=other.name, drains=False)
        ask(leader.socket, "job.add", schedule={"every": "1h"}, command=["true"])
        world.wait_for(lambda: other.states().get(other.name, {}).get("state") == "standby", "%s to stand by" % other.name)
        counts.append(len(os.listdir("/proc/%d/fd" % other.process.pid)))
    # The first two have what the first connections need.
    most = max(counts[2:4])
    world.wait_for(lambda: len(os.listdir("/proc/%d/fd" % other.process.pid)) <= most, "%s to have %d descriptors as before; it had %r"
                   % (other.name, most, counts))
    world.say("8 terms of two nodes in turn: descriptors of the one that stands by: %s" % " ".join(map(str, counts)))
    world.close_nodes()


def last_drained(world):
    """All are lost but a drained node: it leads, begins no command, and hands over once another is there."""
    _, nodes = world.cluster("ab", lease=1.5)
    a, b = nodes
    ask(b.socket, "node.drain", name="a")
    world.check(world.leader(nodes, but=a) is b, "another leads than b")

    def add(command=None):
        job = {"schedule": {"in": "0s"}, **({"command": command} if command else {})}
        return ask(a.socket, "job.add", **job)["job"]["id"]

    def outcome(job):
        rows = ask(a.socket, "run.list", job=job)["runs"]
        return rows[-1].get("outcome") if rows else None

    def leads_alone():
        view = a.states().get("a", {})
        return view.get("state") == "draining" and view.get("epoch")

    b.kill()
    world.wait_for(leads_alone, "the drained node to lead")
    event, command = add(), add(["true"])
    world.wait_for(lambda: ask(a.socket, "job.get", id=event)["job"]["state"] == "finished", "an event on a drained node")
    trouble = ask(a.socket, "daemon.status")["runner"].get("trouble", "")
    world.check("drains" in trouble and "--undo" in trouble, "the status of a drained node that leads: %r" % trouble)
    world.check(outcome(command) is None, "a command began on a drained node")
    b.start(wait=True)
    world.check(world.leader(nodes, but=a) is b, "the drained node did not hand over")
    world.wait_for(lambda: outcome(command) == "exited", "the command that waited to run on the node that came")
    # Lost again, and now the drained one is told to take commands.
    b.kill()
    world.wait_for(leads_alone, "the drained node to lead again")
    command = add(["true"])
    ask(a.socket, "node.drain", name="a", drains=False)
    world.wait_for(lambda: outcome(command) == "exited", "a command on a node that drains no more")
    world.say("the drained node led alone, handed over, led again, and took commands once it was told to")
    world.close_nodes()
