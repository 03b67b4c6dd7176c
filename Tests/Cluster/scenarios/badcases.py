# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the database, its address or its nodes: one clear message each, and it goes on once that is mended.

A clock that is off is in `clock`, and what a link costs that hangs while much is going on in `cut`.
"""
import os
import re
import resource
import shutil
import subprocess
import time
import urllib.request

from cluster.client import Client, Lost, Refused, ask, is_root
from cluster.node import folder_of_programs
from cluster.server import free_port

LEASE = 1.5


def run(world):
    server = world.server()
    server.sql("CREATE ROLE ann LOGIN PASSWORD 'secret-word'")
    server.sql("CREATE DATABASE ann OWNER ann")
    for refused in ("postgresql://[::1/x", "postgresql://localhost:notaport/x", "postgresql://postgres@/x?nonsense=1",
                    "password=secret-word hots=db", "PostgreSQL://ann:secret-word@localhost/x"):
        at_the_start(world, refused)
    password_on_the_command_line(world)
    no_route(world, server)
    wrong_password(world, server)
    unknown_database(world, server)
    without_rights(world, server)
    older(world, server)
    another_schema(world, server)
    newer_schema(world, server)
    removed(world, server)
    without_row(world, server)
    adopting(world, server)
    restored(world, server)
    hanging(world, server)
    one_name_twice(world, server)
    few_descriptors(world, server)
    pages(world)
    read_only(world, server)
    too_many_connections(world, server)
    replica(world, server)
    full_disk(world)


def errors(log, level="error"):
    """The messages of a log, without their times."""
    return [line.split(" %s timerd: " % level, 1)[1] for line in log.splitlines() if " %s timerd: " % level in line]


def tell(world, what, lines, *words, most=3):
    """One clear message: it has these words, it is not said again and again."""
    text = "\n".join(lines)
    for word in words:
        world.check(re.search(word, text), "%s: '%s' is not in the log: %r" % (what, word, lines[:4]))
    world.check(0 < len(lines) <= most, "%s: the log has %d messages: %r" % (what, len(lines), lines[:6]))
    world.check("secret" not in text, "%s: the password is in the log: %r" % (what, lines))
    world.say("%s: %s" % (what, lines[0][:260] if lines else "nothing was said"))


def refused_client(world, node, what, always=False):
    """What a client is told meanwhile: it is refused in time, and not left without an answer.

    It waits for a node that leads, so that this takes 15 s: in the short form only where it is said.
    """
    if not (always or world.seconds):
        return
    try:
        with Client(node.socket, timeout=20) as client:
            begun = time.monotonic()
            client.call("job.add", schedule={"in": "1h"})
            world.broken("%s: a job was added" % what)
    except Refused as refusal:
        world.check(refusal.reason in ("storageFailed", "stopping"), "%s: a client was refused with %s" % (what, refusal))
        world.check("secret" not in refusal.message, "%s: the password is told to clients: %s" % (what, refusal))
        world.say("   a client was told after %.1f s: %s" % (time.monotonic() - begun, refusal.message[:200]))
    except Lost as error:
        world.broken("%s: a client was told nothing: %s" % (what, error))


def hear(world, node):
    """Waits for the first message of a trouble, and for as long as it could be said again."""
    world.wait_for(lambda: errors(node.log()), "a message in the log of '%s'" % node.name, 20)
    time.sleep(1)


def goes_on(world, node, what, patience=20):
    begun = time.monotonic()
    try:
        world.leader([node], patience=patience)
        ask(node.socket, "job.add", schedule={"in": "1h"}, patience=10)
        world.say("   mended: a job was added %.1f s later" % (time.monotonic() - begun))
    except (SystemError, Lost, Refused) as error:
        world.broken("%s: it does not go on once that is mended: %s; %r" % (what, error, errors(node.log())[-3:]))


def end(node):
    if node.is_running():
        node.resume()
        node.stop(10)


def at_the_start(world, uri):
    node = world.node("a", uri, lease=LEASE).start()
    status = None
    try:
        status = node.process.wait(10)
    except subprocess.TimeoutExpired:
        node.kill()
    log = [line for line in node.log().splitlines() if line]
    world.check(status not in (0, None), "%s: the daemon was started: %r, %r" % (uri, status, log))
    world.check(1 <= len(log) <= 2, "%s: %r" % (uri, log))
    world.check("secret" not in "".join(log), "%s: the password is told: %r" % (uri, log))
    world.say("%s: %s" % (uri, " / ".join(log)[:240]))


def password_on_the_command_line(world):
    done = subprocess.run([folder_of_programs() + "/timerd", "--database", "postgresql://ann:secret-word@localhost/x",
                           "--socket", world.folder + "/p.sock"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=20, env=dict(os.environ, TIMERD_COPY=world.folder + "/p.db"))
    world.check(done.returncode != 0 and "secret-word" not in done.stdout and "password" in done.stdout,
                "a password on the command line: %d %r" % (done.returncode, done.stdout))
    world.say("password on the command line: %s" % done.stdout.strip()[:240])


def no_route(world, server):
    port = free_port()
    node = world.node("a", "postgresql://ann:secret-word@127.0.0.1:%d/postgres" % port, lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "nobody listens", always=True)
    tell(world, "nobody listens", errors(node.log()), "127.0.0.1", "refused", most=2)
    end(node)
    node = world.node("a", "postgresql://ann:secret-word@no-such-host.invalid/postgres", lease=LEASE).start(wait=True)
    hear(world, node)
    tell(world, "no such host", errors(node.log()), "no-such-host.invalid", most=2)
    end(node)
    # Nobody answers: packets to this address of TEST-NET-1 are dropped, or refused by who routes them.
    node = world.node("a", "postgresql://ann:secret-word@192.0.2.1/postgres", lease=LEASE).start(wait=True)
    refused_client(world, node, "no route")
    world.wait_for(lambda: errors(node.log()), "a message about no route", 15)
    tell(world, "no route", errors(node.log()), "192.0.2.1", most=2)
    begun = time.monotonic()
    end(node)
    world.check(time.monotonic() - begun < 8, "a node that connects in vain ended after %.1f s" % (time.monotonic() - begun))


def wrong_password(world, server):
    with open(server.data + "/pg_hba.conf") as file:
        before = file.read()
    with open(server.data + "/pg_hba.conf", "w") as file:
        file.write("local all all trust\nhost all ann 127.0.0.1/32 scram-sha-256\n" + before)
    server.sql("SELECT pg_reload_conf()")
    time.sleep(0.5)
    node = world.node("a", server.uri(user="ann", database="ann", password="wrong-secret"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "wrong password")
    tell(world, "wrong password", errors(node.log()), "password authentication failed")
    server.sql("ALTER ROLE ann PASSWORD 'wrong-secret'")
    goes_on(world, node, "wrong password")
    with node.client() as client:
        for method in ("daemon.status", "node.list"):
            world.check("secret" not in repr(client.call(method)), "the password is in %s" % method)
    with open("/proc/%d/cmdline" % node.process.pid, "rb") as file:
        world.check(b"secret" not in file.read(), "the password is in the list of processes")
    world.check("secret" not in node.log(), "the password is in the log")
    end(node)
    server.sql("ALTER ROLE ann PASSWORD 'secret-word'")
    server.sql("DROP SCHEMA IF EXISTS timerd CASCADE", "ann")


def unknown_database(world, server):
    node = world.node("a", server.uri(database="nowhere"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "unknown database")
    tell(world, "unknown database", errors(node.log()), "nowhere.*does not exist")
    server.sql("CREATE DATABASE nowhere")
    goes_on(world, node, "unknown database")
    end(node)


def without_rights(world, server):
    server.sql("CREATE DATABASE closed")
    server.sql("CREATE ROLE bob LOGIN")
    node = world.node("a", server.uri(user="bob", database="closed"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "role without rights")
    tell(world, "role without rights", errors(node.log()), "GRANT CREATE")
    server.sql("GRANT ALL ON DATABASE closed TO bob")
    goes_on(world, node, "role without rights")
    end(node)
    # Another role may connect, and owns nothing.
    server.sql("CREATE ROLE eve LOGIN")
    node = world.node("a2", server.uri(user="eve", database="closed"), lease=LEASE).start(wait=True)
    hear(world, node)
    tell(world, "role that owns nothing", errors(node.log()), "permission denied")
    end(node)


def keep(world, node):
    """Adds a job that is to be there at the end."""
    world.leader([node])
    return ask(node.socket, "job.add", schedule={"at": "2031-01-01T00:00:00Z"}, name="kept")["job"]["id"]


def is_kept(world, node, job, what):
    with node.client() as client:
        there = {each["id"] for each in client.all("job.list", "jobs")}
    world.check(job in there, "%s: a job that was answered is lost" % what)


def older(world, server):
    """A server that says that it is of version 12: none can be had here."""
    server.sql("CREATE DATABASE older")
    link = world.proxy(server.port, lambda got: re.sub(rb"(server_version\0)\d\d", rb"\g<1>12", got))
    node = world.node("a", server.uri(database="older", port=link.port), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "PostgreSQL 12")
    tell(world, "PostgreSQL 12", errors(node.log()), "version 12", "needs 13", most=1)
    world.check(server.sql("SELECT to_regnamespace('timerd') IS NULL", "older") == "t", "tables were made in PostgreSQL 12")
    link.change = None
    link.heal(keep=False)
    goes_on(world, node, "PostgreSQL 12")
    end(node)


def newer_schema(world, server):
    server.sql("CREATE DATABASE newer")
    node = world.node("a", server.uri(database="newer"), lease=LEASE).start(wait=True)
    kept = keep(world, node)
    end(node)
    for what, word, change, undo in (
            ("the nodes' tables of a newer timerd", "newer timerd", "UPDATE timerd.cluster SET format = format + 1",
             "UPDATE timerd.cluster SET format = format - 1"),
            ("the jobs' tables of a newer timerd", "newer timerd", "UPDATE timerd.store SET version = version + 1000",
             "UPDATE timerd.store SET version = version - 1000"),
            ("the jobs' tables of another build", "another build", "UPDATE timerd.store SET fingerprint = fingerprint + 1",
             "UPDATE timerd.store SET fingerprint = fingerprint - 1")):
        server.sql(change, "newer")
        before = server.sql("SELECT number FROM timerd.store", "newer")
        node = world.node("a", server.uri(database="newer"), lease=LEASE).start(wait=True)
        hear(world, node)
        refused_client(world, node, what)
        lines = errors(node.log())
        tell(world, what, lines, word, most=1)
        world.check(server.sql("SELECT number FROM timerd.store", "newer") == before, "%s were written" % what)
        server.sql(undo, "newer")
        goes_on(world, node, what)
        is_kept(world, node, kept, what)
        end(node)


def removed(world, server):
    """The tables are taken away under two nodes, and put back; then they are gone for good, and one node is restarted."""
    server.sql("CREATE DATABASE removed")
    a = world.node("a", server.uri(database="removed"), lease=LEASE).start(wait=True)
    kept = keep(world, a)
    b = world.node("b", server.uri(database="removed"), lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    server.sql("ALTER SCHEMA timerd RENAME TO away", "removed")
    for node in (a, b):
        world.wait_for(lambda: "were removed" in node.log(), "'%s' to say that the tables were removed" % node.name, 20)
    time.sleep(2 * LEASE)
    refused_client(world, b, "tables that were removed")
    tell(world, "tables that were removed", errors(b.log()), "were removed", "restore", most=1)
    tell(world, "tables that were removed", errors(a.log()), "were removed", most=2)
    world.check(server.sql("SELECT to_regnamespace('timerd') IS NULL", "removed") == "t", "tables were made where others were removed")
    server.sql("ALTER SCHEMA away RENAME TO timerd", "removed")
    goes_on(world, b, "tables that were removed")
    is_kept(world, b, kept, "tables that were removed")
    for node in (a, b):
        world.wait_for(lambda: "can be used again" in node.log(), "'%s' to find the tables again" % node.name, 20)
    server.sql("DROP SCHEMA timerd CASCADE", "removed")
    for node in (a, b):
        world.wait_for(lambda: node.log().count("were removed") >= 2, "'%s' to say so again" % node.name, 20)
    end(a)
    a.start(wait=True)
    goes_on(world, b, "tables that were dropped")
    goes_on(world, a, "tables that were dropped")
    end(b)
    end(a)


def without_row(world, server):
    """The one row of timerd.store is taken away under two nodes, and put back; then a restore brings it behind that of the lease."""
    server.sql("CREATE DATABASE without_row")
    a = world.node("a", server.uri(database="without_row"), lease=LEASE).start(wait=True)
    kept = keep(world, a)
    b = world.node("b", server.uri(database="without_row"), lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    for gone in ("timerd.store", "timerd.lease, timerd.store"):
        server.sql("DROP TABLE IF EXISTS kept_lease, kept_store", "without_row")
        server.sql("CREATE TABLE kept_lease AS TABLE timerd.lease; CREATE TABLE kept_store AS TABLE timerd.store", "without_row")
        before = [node.log().count("'timerd.store' has no row") for node in (a, b)]
        server.sql("TRUNCATE %s" % gone, "without_row")
        if "lease" in gone:
            for node in (a, b):
                world.wait_for(lambda: "'timerd.lease' was removed" in node.log(), "'%s' to miss the lease's row" % node.name, 20)
            server.sql("INSERT INTO timerd.lease TABLE kept_lease", "without_row")
        for node, count in zip((a, b), before):
            world.wait_for(lambda: node.log().count("'timerd.store' has no row") > count, "'%s' to miss the jobs' row" % node.name, 20)
        time.sleep(2 * LEASE)
        refused_client(world, b, "a removed row of timerd.store")
        tell(world, "a removed row of timerd.store", errors(b.log()), "INSERT INTO timerd.store", most=6)
        server.sql("INSERT INTO timerd.store TABLE kept_store", "without_row")
        goes_on(world, b, "a removed row of timerd.store")
        is_kept(world, b, kept, "a removed row of timerd.store")
    for node in (a, b):
        world.check(node.is_running(), "'%s' has ended, as timerd.store had no row" % node.name)
        end(node)


def adopting(world, server):
    """An --adopt that was cut off has the lease: the log says so, and clients are told for how long."""
    server.sql("CREATE DATABASE adopting")
    node = world.node("a", server.uri(database="adopting"), lease=LEASE).start(wait=True)
    kept = keep(world, node)
    end(node)
    server.sql("UPDATE timerd.lease SET epoch = epoch + 1, node = '(adoption)', machine = NULL,"
               " until = clock_timestamp() + interval '15 s', length_us = 15000000", "adopting")
    node.start(wait=True)
    world.wait_for(lambda: "an --adopt is at work" in node.log(), "'a' to say that an --adopt is at work", 20)
    refused_client(world, node, "an --adopt that was cut off")
    goes_on(world, node, "an --adopt that was cut off", patience=40)
    is_kept(world, node, kept, "an --adopt that was cut off")
    end(node)


def restored(world, server):
    """An older dump is put in place of the tables under two nodes: no number is given out twice."""
    server.sql("CREATE DATABASE restored")
    a = world.node("a", server.uri(database="restored"), lease=LEASE).start(wait=True)
    b = world.node("b", server.uri(database="restored"), lease=LEASE).start(wait=True)
    before = ask(b.socket, "job.add", name="before", schedule={"in": "1h"})["job"]["id"]
    server.dump("restored")
    since = [ask(b.socket, "job.add", schedule={"in": "1h"})["job"]["id"] for _ in range(3)]
    seq = ask(b.socket, "daemon.status")["seq"]
    server.sql("DROP SCHEMA timerd CASCADE", "restored")
    for node in (a, b):
        world.wait_for(lambda: "were removed" in node.log(), "'%s' to say that the tables were removed" % node.name, 20)
    server.restore("restored")
    goes_on(world, b, "tables from a dump")
    world.wait_for(lambda: any("started on a restored copy" in node.log() for node in (a, b)), "a node to say that it leads with a dump", 20)
    world.check(ask(a.socket, "job.get", id=before)["job"]["name"] == "before", "a job of the dump is not there")
    job = ask(b.socket, "job.add", schedule={"in": "1h"})["job"]["id"]
    world.check(job > max(since), "job %d has a number that was given out before: %r" % (job, since))
    world.check(ask(a.socket, "daemon.status")["seq"] > seq, "events have numbers that were given out before")
    copies = [node.log().count("started on a restored copy") for node in (a, b)]
    end(b)
    goes_on(world, a, "tables from a dump, by another node")
    end(a)
    a.start(wait=True)
    goes_on(world, a, "tables from a dump, at a start")
    world.check(a.log().count("started on a restored copy") <= max(copies), "tables count as a dump after they were written")
    end(a)


def samples(port):
    """A node's page of metrics: the values by their names."""
    with urllib.request.urlopen("http://127.0.0.1:%d/metrics" % port, timeout=10) as page:
        lines = [line for line in page.read().decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}


def pages(world):
    """Each node has its page all the while: as it stands by, leads, and has no database."""
    server, ports = world.server(), {name: free_port() for name in "ab"}
    a, b = (world.node(name, server.uri(), lease=LEASE, settings={"TIMERD_LISTEN": "127.0.0.1:%d" % ports[name]}) for name in "ab")
    a.start(wait=True)
    world.leader([a])
    b.start(wait=True)
    world.wait_for(lambda: len(world.standing([a, b])) == 2, "both nodes to be there")
    ask(b.socket, "job.add", schedule={"in": "1h"})
    leading = samples(ports["a"])
    world.check(leading.get('timerd_jobs{state="scheduled"}') == 1 and leading.get('timerd_node_leads{node="a"}') == 1
                and leading.get('timerd_node_running_runs{node="b"}') == 0, "the page of the node that leads: %r" % leading)
    world.wait_for(lambda: samples(ports["b"]).get("timerd_runner_ready") == 1, "b to say that its runner is ready")
    standby = samples(ports["b"])
    world.check(standby.get('timerd_node_leads{node="b"}') == 0 and standby.get("timerd_database_writable") == 1,
                "the page of the node that stands by: %r" % standby)
    world.check(not any(name.startswith(("timerd_jobs", "timerd_runs", "timerd_fires")) for name in standby),
                "the page of the node that stands by tells numbers of all: %r" % standby)
    a.kill()
    world.leader([b], but=a)
    world.wait_for(lambda: samples(ports["b"]).get('timerd_jobs{state="scheduled"}') == 1, "b to tell of all once it leads")
    server.stop()
    world.wait_for(lambda: samples(ports["b"]).get("timerd_database_writable") == 0, "b to say that the database is away")
    server.start()
    world.wait_for(lambda: samples(ports["b"]).get('timerd_jobs{state="scheduled"}') == 1, "b to tell of all again")
    world.say("pages of metrics: each node has one while it stands by, leads, and has no database")
    end(b)


def hanging(world, server):
    """The connections of a node alone hang, and are not closed."""
    server.sql("CREATE DATABASE hanging")
    link = world.proxy(server.port)
    node = world.node("a", server.uri(database="hanging", port=link.port), lease=LEASE).start(wait=True)
    kept = keep(world, node)
    for keeps in (True, False):
        before = len(errors(node.log()))
        link.cut()
        world.wait_for(lambda: len(errors(node.log())) > before, "a message about connections that hang", 20)
        time.sleep(2 * LEASE)
        refused_client(world, node, "connections that hang", always=keeps)
        tell(world, "connections that hang", errors(node.log())[before:], "no answer in time|lost")
        link.heal(keep=keeps)
        goes_on(world, node, "connections that hang")
    is_kept(world, node, kept, "connections that hang")
    end(node)


def another_schema(world, server):
    server.sql("CREATE DATABASE other")
    server.sql("CREATE SCHEMA timerd CREATE TABLE timerd.lease (id int) CREATE TABLE timerd.jobs (what text)", "other")
    node = world.node("a", server.uri(database="other"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "schema of another program")
    tell(world, "schema of another program", errors(node.log()), "timerd")
    world.check(server.sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'timerd'", "other") == "2",
                "the schema of another program was changed")
    server.sql("DROP SCHEMA timerd CASCADE", "other")
    goes_on(world, node, "schema of another program")
    server.sql("SELECT 1", "other")
    end(node)


def one_name_twice(world, server):
    server.sql("CREATE DATABASE twins")
    one = world.node("same", server.uri(database="twins"), lease=LEASE).start(wait=True)
    world.leader([one])
    other = world.node("other", server.uri(database="twins"), lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([other])) == 2, "both nodes to be there")
    two = world.node("same", server.uri(database="twins"), lease=LEASE).start(wait=True)
    # The second hears what the first is sent, and has to keep silent.
    try:
        with other.client(timeout=20) as client:
            for _ in range(30):
                client.call("job.add", schedule={"in": "1h"})
                time.sleep(0.1)
    except Lost as error:
        world.broken("two nodes of one name: a client of a third node lost its connection with the first: %s" % error)
    end(other)
    tell(world, "two nodes of one name", errors(two.log()), "same")
    world.check(one.states().get("same", {}).get("state") == "leading", "the first of two nodes of one name leads no more")
    refused_client(world, two, "two nodes of one name")
    end(one)
    goes_on(world, two, "two nodes of one name")
    end(two)


def few_descriptors(world, server):
    """A node that gets the lease, and cannot begin to lead for something that is not the database's."""
    server.sql("CREATE DATABASE descriptors")
    node = world.node("few", server.uri(database="descriptors"), lease=LEASE).start(wait=True)
    world.leader([node])
    pid = node.process.pid
    (soft, hard), failed = resource.prlimit(pid, resource.RLIMIT_NOFILE), 0
    # Each failure has it stand back twice as long.
    for spare in (0, 2, 4, 5, 6):
        ended, told = (node.log().count(words) for words in ("leads no more", "could not lead"))
        server.sql("UPDATE timerd.lease SET epoch = epoch + 1, node = 'other', machine = 'there',"
                   " until = clock_timestamp() + interval '1500 ms', length_us = 1500000", "descriptors")
        world.wait_for(lambda: node.log().count("leads no more") > ended, "it to lead no more")
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir("/proc/%d/fd" % pid)) + spare, hard))
        end_of_wait = time.monotonic() + 6
        while time.monotonic() < end_of_wait and node.is_running() and node.log().count("could not lead") == told:
            time.sleep(0.05)
        failed += node.log().count("could not lead") > told
        if not world.check(node.is_running(), "%d descriptors left: the node has ended: %r" % (spare, node.log()[-300:])):
            return
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
        goes_on(world, node, "%d descriptors left" % spare, 40)
    world.check(failed, "few descriptors: nothing kept it from leading, so that nothing was tried")
    world.say("few descriptors: it could not lead %d times, stood by, and led once it could: %r" % (failed, errors(node.log())[:1]))
    end(node)


def read_only(world, server):
    server.sql("CREATE DATABASE readonly")
    server.sql("ALTER DATABASE readonly SET default_transaction_read_only = on")
    node = world.node("a", server.uri(database="readonly"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "default_transaction_read_only")
    tell(world, "default_transaction_read_only", errors(node.log()), "read-only")
    server.sql("ALTER DATABASE readonly SET default_transaction_read_only = off")
    goes_on(world, node, "default_transaction_read_only")
    # And while it leads.
    server.sql("ALTER DATABASE readonly SET default_transaction_read_only = on")
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'readonly'")
    time.sleep(LEASE * 2)
    refused_client(world, node, "read-only while it leads")
    server.sql("ALTER DATABASE readonly SET default_transaction_read_only = off")
    goes_on(world, node, "read-only while it leads")
    end(node)


def too_many_connections(world, server):
    server.sql("CREATE DATABASE small CONNECTION LIMIT 1")
    server.sql("GRANT ALL ON DATABASE small TO bob")
    node = world.node("a", server.uri(user="bob", database="small"), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "connection limit of 1")
    lines = errors(node.log())
    tell(world, "connection limit of 1", lines, "too many connections", most=30)
    server.sql("ALTER DATABASE small CONNECTION LIMIT 20")
    goes_on(world, node, "connection limit")
    # While it leads: no connection is to be had once those that it has are gone.
    server.sql("ALTER DATABASE small CONNECTION LIMIT 0")
    server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'small'")
    time.sleep(LEASE * 2)
    refused_client(world, node, "connection limit of 0 while it leads")
    server.sql("ALTER DATABASE small CONNECTION LIMIT 20")
    goes_on(world, node, "connection limit of 0 while it leads")
    end(node)


def replica(world, server):
    second = server.standby(world.folder + "/replica", "replica")
    world.servers.append(second)
    second.start()
    node = world.node("a", second.uri(), lease=LEASE).start(wait=True)
    hear(world, node)
    refused_client(world, node, "read-only replica")
    tell(world, "read-only replica", errors(node.log()), "read-only|recovery|replica")
    second.sql("SELECT pg_promote()")
    goes_on(world, node, "read-only replica")
    end(node)
    second.stop()


def full_disk(world):
    if not is_root():
        return world.say("not root: a full disk is left out")
    folder = world.folder + "/small-disk"
    os.mkdir(folder)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120m", "none", folder]).returncode:
        return world.say("no tmpfs here: a full disk is left out")
    world.at_the_end(lambda: subprocess.run(["umount", "-l", folder]))
    shutil.chown(folder, "nobody", "nogroup")
    # The tables alone are there: without room for its log PostgreSQL itself ends.
    server = world.server()
    server.sql("CREATE TABLESPACE small LOCATION '%s'" % folder)
    server.sql("CREATE DATABASE full_disk TABLESPACE small")
    a = world.node("a", server.uri(database="full_disk"), lease=LEASE).start(wait=True)
    world.leader([a])
    b = world.node("b", server.uri(database="full_disk"), lease=LEASE).start(wait=True)
    kept = ask(b.socket, "job.add", schedule={"at": "2031-01-01T00:00:00Z"}, name="kept")["job"]["id"]
    filler = folder + "/filler"
    with open(filler, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 65536)
        except OSError:
            pass
        # Some are to be stored before.
        file.truncate(file.tell() - (4 << 20))
    added, refused, begun = [], None, time.monotonic()
    while refused is None and time.monotonic() - begun < 60:
        try:
            with Client(b.socket, timeout=20) as client:
                while True:
                    answer = client.call("job.add", jobs=[{"schedule": {"at": "2031-01-01T00:00:00Z"}, "userInfo": "u" * 20000,
                                                           "tags": ["much"]} for _ in range(40)])
                    added += [job["id"] for job in answer["jobs"]] + answer.get("others", [])
        except Refused as refusal:
            refused = refusal
        except Lost:
            time.sleep(0.05)
    world.check(added, "a full disk: nothing was answered before it was full, so that nothing could be lost")
    world.check(refused is not None and refused.reason in ("storageFailed", "stopping"), "a full disk: %s" % refused)
    world.say("full disk of the database: after %d jobs a client was told: %s" % (len(added), refused))
    time.sleep(LEASE * 3)
    lines = errors(a.log()) + errors(b.log())
    world.say("   the logs have %d errors: %s" % (len(lines), lines[0][:200] if lines else ""))
    world.check(len(lines) < 30, "a full disk: the logs have %d errors: %r" % (len(lines), lines[-3:]))
    os.unlink(filler)
    goes_on(world, b, "full disk", 40)
    with b.client(timeout=60) as client:
        stored = {job["id"] for job in client.all("job.list", "jobs")}
    lost = set(added) | {kept}
    world.check(lost <= stored, "full disk: %d jobs that were answered are lost" % len(lost - stored))
    world.say("   all %d jobs that were answered are there" % len(added))
    end(a)
    end(b)

