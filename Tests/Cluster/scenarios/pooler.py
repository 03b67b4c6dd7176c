# SPDX-License-Identifier: Apache-2.0
"""A pooler between node and database: one that lends sessions by the transaction is told as such, once, and nothing is made; with
sessions of its own a node leads."""
import os
import shutil
import subprocess
import time

from cluster.client import Client, Refused, ask
from cluster.server import free_port, programs
from scenarios.badcases import errors

LEASE = 1.5
PROGRAM = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"


def run(world):
    if not os.access(PROGRAM, os.X_OK):
        return world.say("there is no pgbouncer: left out")
    server, port = world.server(), free_port()
    uri = server.uri(port=port)
    for turns in (0, 1):
        pooler = start(world, server, port, "transaction", turns)
        node = world.node("a", uri, lease=LEASE).start(wait=True)
        world.wait_for(lambda: errors(node.log()), "a message about the pooler", 20)
        refused(world, node)
        # For as long as it could be said again.
        time.sleep(3 * LEASE)
        lines = errors(node.log())
        world.check(len(lines) == 1 and "pool_mode=session" in lines[0], "a pooler that lends sessions: %r" % lines[:4])
        world.check(server.sql("SELECT to_regnamespace('timerd') IS NULL") == "t", "tables were made by way of such a pooler")
        world.say("pool_mode=transaction, in turns: %d: %s" % (turns, lines[0][:240] if lines else "nothing was said"))
        if turns:
            break
        node.stop(10)
        stop(pooler)
    stop(pooler)
    start(world, server, port, "session", 0)
    world.leader([node], patience=20)
    ask(node.socket, "job.add", schedule={"in": "1h"}, patience=10)
    world.say("pool_mode=session: a job was added")


def start(world, server, port, mode, turns):
    path = server.folder + "/pgbouncer.ini"
    with open(server.folder + "/users", "w") as file:
        file.write('"postgres" ""\n')
    with open(path, "w") as file:
        file.write("[databases]\npostgres = host=127.0.0.1 port=%d dbname=postgres\n[pgbouncer]\nlisten_addr=127.0.0.1\nlisten_port=%d\n"
                   "unix_socket_dir=\nauth_type=trust\nauth_file=%s/users\npool_mode=%s\nserver_round_robin=%d\n"
                   % (server.port, port, server.folder, mode, turns))
    with open(server.folder + "/pgbouncer.log", "ab") as log:
        process = subprocess.Popen(server.as_nobody + [PROGRAM, path], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    world.at_the_end(lambda: stop(process))
    world.wait_for(lambda: process.poll() is not None or is_ready(server, port), "pgbouncer to begin", 20)
    world.check(process.poll() is None, "pgbouncer did not begin")
    return process


def is_ready(server, port):
    return subprocess.run([programs() + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL).returncode == 0


def stop(process):
    if process.poll() is None:
        process.kill()
    process.wait()


def refused(world, node):
    """What a client is told, who waits for a node that leads."""
    try:
        with Client(node.socket, timeout=20) as client:
            client.call("job.add", schedule={"in": "1h"})
            world.broken("a job was added by way of a pooler that lends sessions")
    except Refused as refusal:
        world.check("pool_mode=session" in refusal.message and "no node leads" not in refusal.message, "a client was told: %s" % refusal)
