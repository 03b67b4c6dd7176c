# SPDX-License-Identifier: Apache-2.0
"""Changes of very many jobs at once, which are one commit each, and a take-over with many jobs."""
import time

from cluster.client import Lost, Refused, Watcher, ask, instant

JOBS = 10_000


def run(world):
    for lease in (10.0, 1.5):
        once(world, lease)


def timed(world, client, what, method, **parameters):
    begun = time.monotonic()
    try:
        answer = client.call(method, **parameters)
        return answer, "%s %.2f s" % (what, time.monotonic() - begun)
    except (Lost, Refused) as error:
        world.broken("%s of %d jobs at once, after %.2f s: %s" % (what, JOBS, time.monotonic() - begun, error))
        return None, "%s failed" % what


def once(world, lease):
    server, (a, b) = world.cluster("ab", lease=lease)
    told = []
    for what, method, parameters in [
            ("add", "job.add", dict(jobs=[{"schedule": {"in": "9h"}, "tags": ["t"]}] * JOBS)),
            ("pause", "job.pause", dict(tag="t")), ("resume", "job.resume", dict(tag="t")),
            ("skip", "job.skip", dict(tag="none-such")), ("invalidate", "job.invalidate", dict(tag="t")),
            ("restore", "job.restore", {})]:
        if what == "skip":
            continue
        with b.client(timeout=120) as client:
            _, text = timed(world, client, what, method, **parameters)
            told.append(text)
    size = server.sql("SELECT pg_size_pretty(pg_database_size('postgres'))")
    world.say("%d jobs at once, lease %.1f s: %s; the database has %s" % (JOBS, lease, ", ".join(told), size))
    tick = ask(b.socket, "job.add", schedule={"every": "100ms"})["job"]["id"]
    watcher = Watcher(b.socket, jobs=[tick], types=["fire.fired"])
    world.wait_for(lambda: len(watcher.events) > 5, "events")
    leading = world.leader()
    if leading is a:
        killed = time.time()
        a.kill()
        world.wait_for(lambda: any(instant(event["firedAt"]) > killed + 0.5 for _, event in list(watcher.events)),
                       "fires after the kill", 60)
        first = min(instant(event["firedAt"]) for _, event in list(watcher.events) if instant(event["firedAt"]) > killed + 0.5)
        world.say("a take-over with %d jobs: first fire %.2f s after the kill, at a lease of %.1f s" % (JOBS, first - killed, lease))
        world.check(first - killed < lease + 6, "the take-over took %.2f s at a lease of %.1f s" % (first - killed, lease))
    else:
        world.broken("the lead was lost while large changes were made")
    watcher.stop()
    world.close_nodes()
