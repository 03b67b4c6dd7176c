# SPDX-License-Identifier: Apache-2.0
"""The database fails over to a standby that replicates it synchronously: nothing that was answered is lost."""
import time

from cluster.dates import Dates
from cluster.workload import Workload

LEASE = 2.0


def run(world):
    end = time.monotonic() + world.seconds
    once(world, False)
    once(world, True)
    while time.monotonic() < end:
        once(world, world.dice.random() < 0.5)


def once(world, hangs_first):
    """`hangs_first`: the replica is stopped for longer than a lease before, so that commits wait for it."""
    first = world.server("log_min_duration_statement=300", "log_lock_waits=on", "log_connections=on")
    second = first.standby("%s/replica%d" % (world.folder, world.servers_made), "replica")
    world.servers.append(second)
    second.settings += first.settings
    second.start()
    first.sql("ALTER SYSTEM SET synchronous_standby_names = 'replica'")
    first.sql("SELECT pg_reload_conf()")
    world.wait_for(lambda: first.sql("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1",
                   "the replica to be synchronous")
    uri = ("postgresql://postgres@127.0.0.1:%d,127.0.0.1:%d/postgres?target_session_attrs=read-write&connect_timeout=2"
           % (first.port, second.port))
    a = world.node("a", uri, lease=LEASE).start(wait=True)
    world.leader([a])
    b = world.node("b", uri, lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    dates = Dates(world, b.socket, [a.socket, b.socket])
    work = Workload(world, [a.socket, b.socket], clients=4)
    work.wait_for_answers(20)
    dates.wait_for_fires()
    if hangs_first:
        second.pause()
        time.sleep(LEASE * 2)
        second.resume()
        work.wait_for_answers(5)
        dates.wait_for_fires()
    killed = time.time()
    first.kill()
    second.sql("SELECT pg_promote()")
    promoted = time.time()
    work.wait_for_answers(5)
    answered = time.time() - promoted
    dates.wait_for_fires()
    fired = time.time() - promoted
    work.wait_for_answers(20)
    work.stop()
    world.say(work.verify(b.socket))
    world.say(dates.verify(b.socket))
    world.say("failover%s: promoted %.2f s after the kill; all clients were answered %.2f s, all grids had fired %.2f s after that"
              % (" after commits had hung for two leases" if hangs_first else "", promoted - killed, answered, fired))
    for text, count in work.messages.most_common(4):
        world.say("  refused %d times: %s" % (count, text))
    world.close_nodes()
