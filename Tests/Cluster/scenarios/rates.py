# SPDX-License-Identifier: Apache-2.0
"""Adds a second on a shared store, through the node that leads and through one that stands by; fires a second."""
import collections
import re
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
    time.sleep(2)
    server = world.servers[0]
    server.sql("ALTER SYSTEM SET log_statement = 'all'")
    server.sql("SELECT pg_reload_conf()")
    time.sleep(1)
    before = len(server.log())
    time.sleep(10)
    statements = collections.Counter(re.sub(r"\s+", " ", text)[:90] for text in
                                     re.findall(r"LOG:  (?:statement|execute [^:]*): (.{1,300})", server.log()[before:], re.S))
    server.sql("ALTER SYSTEM RESET log_statement")
    world.say("with nothing due: %d statements in 10 s, with 2 nodes and a lease of 5 s: %s"
              % (sum(statements.values()), dict(statements.most_common(4))))
    world.check(sum(statements.values()) < 40, "with nothing due there are %d statements in 10 s" % sum(statements.values()))


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
