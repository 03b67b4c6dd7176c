# SPDX-License-Identifier: Apache-2.0
"""Adds a second on a shared store, through the node that leads and through one that stands by; fires a second."""
import threading
import time

from cluster.client import Client, Lost, Refused


def run(world):
    _, (a, b) = world.cluster("ab", lease=5.0)
    seconds = max(2.0, min(world.seconds / 8, 20))
    for node, role in ((a, "leads"), (b, "stands by")):
        for clients in (1, 8):
            world.say("%d client%s at the node that %s: %.0f adds/s, p50 %.2f ms, p99 %.1f ms"
                      % ((clients, "s" if clients > 1 else "", role) + measure(world, node, clients, seconds)))
    statements = world.servers[0].sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'")
    time.sleep(10)
    after = world.servers[0].sql("SELECT xact_commit FROM pg_stat_database WHERE datname = 'postgres'")
    world.say("with nothing due: %d transactions in 10 s, with 2 nodes and a lease of 5 s" % (int(after) - int(statements)))


def measure(world, node, clients, seconds):
    spans, lock, end = [], threading.Lock(), time.monotonic() + seconds

    def add():
        of = []
        try:
            with Client(node.socket, timeout=20) as client:
                while time.monotonic() < end:
                    begun = time.monotonic()
                    client.call("job.add", schedule={"at": "2031-01-01T00:00:00Z"})
                    of.append(time.monotonic() - begun)
        except (Lost, Refused) as error:
            world.broken("an add failed: %s" % error)
        with lock:
            spans.extend(of)

    threads = [threading.Thread(target=add) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spans.sort()
    return len(spans) / seconds, spans[len(spans) // 2] * 1000, spans[int(len(spans) * 0.99)] * 1000
