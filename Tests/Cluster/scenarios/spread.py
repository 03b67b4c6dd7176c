# SPDX-License-Identifier: Apache-2.0
"""Commands run on all nodes, over deaths and pauses of daemons, losses of hosts and of the database: each once, with its true end."""
import collections
import os
import signal
import time

from cluster.client import Client, ask, instant
from cluster.ledger import check_grid, percentile
from cluster.runs import Ledger, lose_host, runners

LEASE = 1.5
# So long a node may be away until its runs count as interrupted, and so long until that is found out.
ABSENCE, SILENCE = LEASE + 2, 6
# One user has all commands here.
SETTINGS = {"TIMERD_MAX_RUNS": "300", "TIMERD_MAX_RUNS_PER_USER": "300"}


def run(world):
    evenly(world)
    killed(world, 20)
    standby_paused(world)
    host_paused(world)
    leader_paused(world)
    link_cut(world)
    host_lost(world)
    database(world, ["killed", "away"])
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        world.dice.choice([lambda: killed(world, 40), lambda: standby_paused(world), lambda: host_paused(world), lambda: leader_paused(world), lambda: link_cut(world),
                           lambda: host_lost(world), lambda: database(world, ["killed", "away"])])()


def set_up(world):
    _, nodes = world.cluster("abc", lease=LEASE, settings=SETTINGS)
    return nodes, Ledger(world, nodes, "ledger-%d" % world.nodes_made)


def steady(world, ledger, path, rate, seconds, lengths, **options):
    """Adds commands for the next `seconds`; answers when the first is due."""
    base = time.time() + 2 + rate * seconds / 1000
    with Client(path, timeout=60) as client:
        ledger.add(client, [base + number / rate for number in range(int(rate * seconds))],
                   lambda: world.dice.choice(lengths), **options)
    return base


def lateness(ledger):
    late = [line.at - ledger.due[line.job] for line in ledger.lines() if line.job in ledger.due]
    return "late p50 %.0f ms, p99 %.2f s, max %.2f s" % (percentile(late, 0.5) * 1000, percentile(late, 0.99), max(late, default=0))


def evenly(world):
    nodes, ledger = set_up(world)
    steady(world, ledger, nodes[2].socket, 60, 5, [1])
    lines, _ = ledger.check(ledger.wait(nodes[1].socket))
    ledger.check_single()
    shares = collections.Counter(line.node for line in ledger.lines())
    for node in nodes:
        world.check(0.2 <= shares[node.name] / 300 <= 0.5, "node %s had %d of 300 commands" % (node.name, shares[node.name]))
    world.say("%d commands of 1 s, 60 a second: %s; %s" % (lines, dict(sorted(shares.items())), lateness(ledger)))
    world.close_nodes()


def killed(world, seconds):
    """kill -9 of daemons, of any, without their runners; beside that jobs of which one run follows the other."""
    nodes, ledger = set_up(world)
    chains = {}
    with nodes[1].client(timeout=60) as client:
        for overlap, length in [("skip", 0.5), ("queue", 0.3), ("replace", 0.6)] * 2:
            chains[client.call("job.add", schedule={"every": "400ms"}, overlap=overlap, command=ledger.command(length))["job"]["id"]] = overlap
    base = steady(world, ledger, nodes[2].socket, 60, seconds, [1, 1.5, 2, 2.5, 3])
    kills = 0
    while time.time() < base + seconds:
        time.sleep(world.dice.uniform(1, 4))
        node = world.dice.choice(nodes + [world.leader()])
        node.kill()
        kills += 1
        # It is back before its runs are given up.
        time.sleep(world.dice.choice([0, 0, world.dice.uniform(0, ABSENCE - 1.5)]))
        node.start()
    lines, _ = ledger.check(ledger.wait(nodes[0].socket))
    ledger.check_single()
    for job in chains:
        ask(nodes[0].socket, "job.invalidate", id=job)
    time.sleep(1.5)
    rows = collections.defaultdict(list)
    for row in ledger.rows(nodes[0].socket, chains):
        rows[row["job"]].append(row)
    begun = collections.defaultdict(list)
    for line in ledger.lines():
        begun[line.job].append(line)
    for job, overlap in chains.items():
        ends = {row.get("id"): instant(row["endedAt"]) for row in rows[job] if "endedAt" in row}
        for one, next_one in zip(begun[job], begun[job][1:]):
            end = one.end or ends.get(one.run)
            if end is None or end > next_one.at + 0.005:
                world.broken("overlap %s: %r and %r are beside each other" % (overlap, one, next_one))
        check_grid(world, job, 0.4, rows[job])
    world.say("%d times kill -9 of a daemon: %d commands ended truly, none was interrupted or ran twice; %d runs of jobs of which one "
              "follows the other were not beside each other; %s" % (kills, lines, sum(len(begun[job]) for job in chains), lateness(ledger)))
    world.close_nodes()


def is_given_up(pauses):
    """Whether a row is of a run whose node was away for so long."""
    def answer(row, _):
        at = instant(row["endedAt"])
        return any(name == row.get("node") and first + ABSENCE - 0.5 < at < last + 2 for name, first, last in pauses)
    return answer


def standby_paused(world):
    """SIGSTOP of the daemon of a node that stands by: for moments, while it is told to begin something, and for long."""
    nodes, ledger = set_up(world)
    lengths = [0.2, 0.3, 1, 20]
    base = steady(world, ledger, nodes[2].socket, 40, 24, lengths)
    pauses = []
    time.sleep(max(0, base + 0.5 - time.time()))
    for length in [0.3, 1.1, 0.7, 1.6, 2.2, ABSENCE + SILENCE + 2]:
        node = world.dice.choice([node for node in nodes if node is not world.leader()])
        begun = time.time()
        node.pause()
        time.sleep(length)
        node.resume()
        pauses.append((node.name, begun, time.time()))
        time.sleep(world.dice.uniform(0.2, 0.8))
    given_up = []

    def interrupted(row, line):
        given_up.append((row, line))
        return is_given_up(pauses[-1:])(row, line)

    lines, _ = ledger.check(ledger.wait(nodes[0].socket), interrupted)
    ledger.check_single()
    name, _, back = pauses[-1]
    for row, line in given_up:
        if line and line.at > instant(row["endedAt"]):
            world.broken("it was given up, and began %.2f s later: %r, %r" % (line.at - instant(row["endedAt"]), row, line))
        if line and line.end and line.end > back + 2:
            world.broken("it was given up, and went on until %.2f s after its node was back: %r, %r" % (line.end - back, row, line))
    world.check(given_up, "no run was given up, though %s was away for %.1f s" % (name, back - pauses[-1][1]))
    world.wait_for(lambda: not left_processes(ledger, given_up), "the runs that were given up to end", 10)
    world.say("SIGSTOP of a standby's daemon, %d times: %d commands; of the %d that were given up none began later, all were ended; %s"
              % (len(pauses), lines, len(given_up), lateness(ledger)))
    world.close_nodes()


def host_paused(world):
    """SIGSTOP of a standby's runner and, a moment later, of its daemon: an order to begin waits between them."""
    nodes, ledger = set_up(world)
    length = ABSENCE + SILENCE + 2
    base = steady(world, ledger, nodes[2].socket, 100, 4, [0.3])
    time.sleep(max(0, base + 1 - time.time()))
    node = world.dice.choice([node for node in nodes if node is not world.leader()])
    minders = runners(node)[0]
    for pid in minders:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(0.3)
    node.pause()
    begun = time.time()
    time.sleep(length)
    # Until then all of it was given up; the runner is the first to go on.
    for pid in minders:
        os.kill(pid, signal.SIGCONT)
    time.sleep(0.05)
    node.resume()
    given_up = []

    def interrupted(row, line):
        given_up.append((row, line))
        return is_given_up([(node.name, begun, begun + length)])(row, line)

    lines, _ = ledger.check(ledger.wait(nodes[0].socket), interrupted)
    ledger.check_single()
    late = [(row, line) for row, line in given_up if line and line.at > instant(row["endedAt"])]
    if late:
        row, line = late[0]
        world.broken("%d of %d runs that were given up began later, the first %.2f s: %r, %r"
                     % (len(late), len(given_up), line.at - instant(row["endedAt"]), row, line))
    world.say("SIGSTOP of a standby's runner and daemon for %.0f s: %d commands; of the %d that were given up %d began later"
              % (length, lines, len(given_up), len(late)))
    world.close_nodes()


def left_processes(ledger, given_up):
    """The processes of runs that were given up and that go on."""
    runs = {str(row["id"]) for row, _ in given_up}
    left = []
    for name in os.listdir("/proc"):
        try:
            with open("/proc/%s/environ" % name, "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        mine = any(word.startswith(b"TIMERD_SOCKET=" + ledger.world.folder.encode()) for word in words)
        if mine and any(b"TIMERD_RUN_ID=" + run.encode() in words for run in runs):
            left.append(name)
    return left


def leader_paused(world):
    """SIGSTOP of the daemon that leads for three leases, of its runner, too: all goes on elsewhere, nothing ends but by itself."""
    nodes, ledger = set_up(world)
    base = steady(world, ledger, nodes[2].socket, 50, 16, [0.3, 1, 2, 8])
    time.sleep(max(0, base + 1 - time.time()))
    for with_runner in (False, True):
        node = world.leader()
        stopped = [node.process.pid] + (runners(node)[0] if with_runner else [])
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        # Its runs are not to be given up.
        time.sleep(3 * LEASE)
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        world.leader([each for each in nodes if each is not node])
        time.sleep(1)
    lines, _ = ledger.check(ledger.wait(nodes[0].socket))
    ledger.check_single()
    world.say("SIGSTOP of the leading daemon for three leases, twice: %d commands ended truly, none ran twice; %s" % (lines, lateness(ledger)))
    world.close_nodes()


def link_cut(world):
    """The links between nodes and the database are silent for a while; what was under way comes late, or not at all."""
    server = world.server()
    proxies = [world.proxy(server.port) for _ in range(3)]
    nodes = []
    for name, proxy in zip("abc", proxies):
        nodes.append(world.node(name, server.uri(port=proxy.port), lease=LEASE, settings=SETTINGS).start(wait=True))
        world.leader(nodes[:1])
    world.wait_for(lambda: len(world.standing(nodes)) == 3, "all nodes to be there")
    ledger = Ledger(world, nodes, "ledger-%d" % world.nodes_made)
    base = steady(world, ledger, nodes[2].socket, 40, 26, [0.2, 0.3, 1, 20])
    time.sleep(max(0, base + 0.5 - time.time()))
    cuts = []
    for length in [0.4, 1.2, 0.8, 2.2, 1.6, ABSENCE + SILENCE + 2]:
        number = world.dice.randrange(3)
        if length > ABSENCE:
            leader = world.leader()
            number = world.dice.choice([number for number in range(3) if nodes[number] is not leader])
        begun = time.time()
        proxies[number].cut()
        time.sleep(length)
        proxies[number].heal(keep=world.dice.random() < 0.7)
        cuts.append((nodes[number].name, begun, time.time()))
        time.sleep(world.dice.uniform(0.3, 1.5))
    given_up = []

    def interrupted(row, line):
        given_up.append((row, line))
        return is_given_up(cuts[-1:])(row, line)

    lines, _ = ledger.check(ledger.wait(nodes[0].socket), interrupted)
    ledger.check_single()
    for row, line in given_up:
        if line and line.at > instant(row["endedAt"]):
            world.broken("it was given up, and began %.2f s later: %r, %r" % (line.at - instant(row["endedAt"]), row, line))
    world.check(given_up, "no run was given up, though the link of %s was cut for %.1f s" % (cuts[-1][0], cuts[-1][2] - cuts[-1][1]))
    world.wait_for(lambda: not left_processes(ledger, given_up), "the runs that were given up to end", 10)
    world.say("links to the database cut %d times: %d commands; of the %d that were given up none began later, all were ended; %s"
              % (len(cuts), lines, len(given_up), lateness(ledger)))
    world.close_nodes()


def host_lost(world):
    """kill -9 of all that a host has: of one that stands by, then of the one that leads."""
    nodes, ledger = set_up(world)
    base, socket = time.time() + 1, nodes[2].socket
    dates = [base + number / 50 for number in range(50)]
    with nodes[2].client(timeout=60) as client:
        plain = ledger.add(client, dates, lambda: 10)
        again = ledger.add(client, dates, lambda: 10, rerunInterrupted=True)
        retried = ledger.add(client, dates, lambda: 10, retries=2, backoff="100ms..1s", successCodes=list(range(7)))
    world.wait_for(lambda: len(ledger.lines()) == 150, "all commands to begin", 20)
    leader, lost = world.leader(), {}
    for node in [world.dice.choice([node for node in nodes if node is not leader]), leader]:
        lost[node.name] = time.time()
        lose_host(node)
        time.sleep(0.5)
    third = next(node for node in nodes if node.name not in lost)
    rows = ledger.wait(third.socket)
    lines, interrupted = ledger.check(rows, lambda row, _: row.get("node") in lost)
    ledger.check_single(set(plain))
    times = [instant(row["endedAt"]) - lost[row["node"]] for row in rows if row.get("outcome") == "interrupted"]
    world.check(interrupted > 30, "two hosts of three were lost, and %d of 150 runs were interrupted" % interrupted)
    world.check(min(times, default=0) > ABSENCE - 0.5 and max(times, default=0) < ABSENCE + SILENCE + LEASE + 2,
                "they were given up after %.1f to %.1f s" % (min(times, default=0), max(times, default=0)))
    outcomes = collections.defaultdict(list)
    for row in rows:
        outcomes[row["job"]].append(row.get("outcome"))
    for job in again + retried:
        world.check(outcomes[job].count("exited") == 1, "job %d was to run again: %r" % (job, outcomes[job]))
    for job in plain:
        world.check(len(outcomes[job]) == 1, "job %d was to run once: %r" % (job, outcomes[job]))
    for node in nodes:
        if node is not third:
            node.start(wait=True)
    world.wait_for(lambda: len(world.standing(nodes)) == 3, "all hosts to be back")
    world.say("two of three hosts lost: %d lines of 150 commands, %d interrupted after %.1f to %.1f s, each that was to run again did so "
              "elsewhere" % (lines, interrupted, min(times, default=0), max(times, default=0)))
    world.close_nodes()


def database(world, faults):
    nodes, ledger = set_up(world)
    base = steady(world, ledger, nodes[2].socket, 40, 5 * len(faults) + 4 * LEASE, [0.5, 1, 4, 10])
    server = world.servers[-1]
    time.sleep(max(0, base + 2 - time.time()))
    for fault in faults:
        server.kill()
        if fault == "away":
            time.sleep(3 * LEASE)
        server.start()
        world.leader()
        time.sleep(3)
    lines, _ = ledger.check(ledger.wait(nodes[1].socket))
    ledger.check_single()
    world.say("database %s: %d commands ended truly, none was interrupted or ran twice; %s" % (", ".join(faults), lines, lateness(ledger)))
    world.close_nodes()
