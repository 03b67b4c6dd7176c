# SPDX-License-Identifier: Apache-2.0
"""The database fails over to a standby that lacks the last commits: no number is given out twice, and what is ended by that is told."""
import os

from cluster.client import ask, ask_all

LEASE = 2.0


def run(world):
    first = world.server()
    second = first.standby("%s/replica" % world.folder, "replica")
    world.servers.append(second)
    second.start()
    uri = ("postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write&connect_timeout=2"
           % (first.port, second.port))
    a = world.node("a", uri, lease=LEASE).start(wait=True)
    world.leader([a])
    b = world.node("b", uri, lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    nodes, ledger = (a, b), world.folder + "/ledger"
    open(ledger, "w").close()

    known = [begin(world, node, ledger) for node in nodes]
    behind = first.sql("SELECT pg_current_wal_lsn()")
    world.wait_for(lambda: second.sql("SELECT pg_last_wal_replay_lsn() >= '%s'" % behind) == "t", "the replica to have them")
    second.sql("ALTER SYSTEM SET primary_conninfo = ''")
    second.sql("SELECT pg_reload_conf()")
    world.wait_for(lambda: second.sql("SELECT count(*) FROM pg_stat_wal_receiver") == "0", "the replica to follow no more")
    lost = [begin(world, node, ledger) for node in nodes for _ in range(2)]
    seq = ask(b.socket, "daemon.status")["seq"]
    first.kill()
    second.sql("SELECT pg_promote()")

    job = ask(b.socket, "job.add", schedule={"in": "0s"}, command=["true"])["job"]["id"]
    world.wait_for(lambda: any(row["job"] == job and row["state"] == "done" for row in rows(b)), "a command to run to its end")
    row = next(row for row in rows(b) if row["job"] == job)
    before = known + lost
    for what, number, given in (("job", job, [each["job"] for each in before]), ("fire", row["fire"], [each["fire"] for each in before]),
                                ("run", row["id"], [each["id"] for each in before]),
                                ("event", ask(b.socket, "daemon.status")["seq"], [seq])):
        world.check(number > max(given), "%s %d has a number that was given out before: %r" % (what, number, given))
    # Both nodes end what the database does not have, and say so once for each.
    for each in lost:
        pid = pid_of(each, ledger)
        world.wait_for(lambda: not is_alive(pid), "a run that the database does not have to be ended")
        words = "run=%d [TimerD] a run is ended that the database does not have" % each["id"]
        world.wait_for(lambda: sum(said(node, each["id"]) for node in nodes), "somebody to say '%s'" % words)
        world.check(sum(said(node, each["id"]) for node in nodes) == 1, "the end of run %d was not told once" % each["id"])
    for each in known:
        world.check(is_alive(pid_of(each, ledger)), "run %d, which the database has, was ended" % each["id"])
        ask(b.socket, "run.kill", id=each["id"])
        world.check(not sum(said(node, each["id"]) for node in nodes), "run %d was told to be unknown" % each["id"])
    for each in known:
        pid = pid_of(each, ledger)
        world.wait_for(lambda: not is_alive(pid), "a run that was killed to end")
    world.say("%d runs were lost, ended and told of; %d went on; the next job is %d, after %d"
              % (len(lost), len(known), job, max(each["job"] for each in lost)))
    world.close_nodes()


def begin(world, node, ledger):
    """A command that is in progress on that node; its row."""
    script = "echo $TIMERD_RUN_ID $$ >> %s; exec sleep 600" % ledger
    job = ask(node.socket, "job.add", schedule={"in": "0s"}, command=["sh", "-c", script], on=node.name)["job"]["id"]
    row = world.wait_for(lambda: next((row for row in rows(node) if row["job"] == job and row["state"] == "running"), None), "it to run")
    world.wait_for(lambda: pid_of(row, ledger), "it to write down its process")
    return row


def rows(node):
    return ask_all(node.socket, "run.list", "runs")


def pid_of(row, ledger):
    with open(ledger) as file:
        return next((int(line.split()[1]) for line in file if line.startswith("%d " % row["id"]) and line.endswith("\n")), None)


def is_alive(pid):
    return os.path.exists("/proc/%d" % pid)


def said(node, run):
    """How often a node has said that it ends a run that the database does not have."""
    return sum("a run is ended that the database does not have" in line and "run=%d " % run in line for line in node.log().splitlines())
