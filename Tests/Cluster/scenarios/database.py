# SPDX-License-Identifier: Apache-2.0
"""The database is killed and started again, is away for three leases, and hangs for three leases."""
import time

from cluster.dates import Dates
from cluster.workload import Workload

LEASE = 1.5


def run(world):
    end = time.monotonic() + world.seconds
    once(world, ["killed", "away", "hangs"])
    while time.monotonic() < end:
        once(world, [world.dice.choice(["killed", "away", "hangs", "restarted"]) for _ in range(4)])


def once(world, faults):
    server, (a, b) = world.cluster("ab", lease=LEASE)
    dates = Dates(world, b.socket, [a.socket, b.socket])
    work = Workload(world, [a.socket, b.socket], clients=4)
    work.wait_for_answers(20)
    for fault in faults:
        dates.wait_for_fires()
        time.sleep(world.dice.random() * LEASE / 3)
        began = time.time()
        if fault == "killed":
            server.kill()
            server.start()
        elif fault == "restarted":
            server.stop()
            server.start()
        elif fault == "away":
            server.kill()
            time.sleep(3 * LEASE)
            server.start()
        else:
            server.pause()
            time.sleep(3 * LEASE)
            server.resume()
        back = time.time()
        work.wait_for_answers(3)
        answered = time.time() - back
        dates.wait_for_fires()
        world.say("database %s for %.1f s: all clients were answered 3 times %.2f s after it was back, all grids fired within %.2f s"
                  % (fault, back - began, answered, time.time() - back))
    work.stop()
    world.say(work.verify(b.socket))
    world.say(dates.verify(b.socket))
    for text, count in work.messages.most_common(6):
        world.say("  refused %d times: %s" % (count, text))
    world.close_nodes()
