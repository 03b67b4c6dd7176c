# SPDX-License-Identifier: Apache-2.0
"""The link to the database of one node is cut without a word; then it is healed."""
import os
import subprocess
import time

from cluster.client import is_root
from cluster.dates import Dates
from cluster.workload import Workload

LEASE = 1.5


def run(world):
    end = time.monotonic() + world.seconds
    by_proxy(world, keep=True)
    if world.seconds:
        by_proxy(world, keep=False)
    answers_alone(world)
    within_a_commit(world)
    if is_root():
        by_namespace(world)
    while time.monotonic() < end:
        by_proxy(world, keep=world.dice.random() < 0.7)


def both(world, server, uri, prefix=()):
    a = world.node("a", uri, lease=LEASE, prefix=prefix).start(wait=True)
    world.leader([a])
    b = world.node("b", server.uri(), lease=LEASE).start(wait=True)
    world.wait_for(lambda: len(world.standing([b])) == 2, "both nodes to be there")
    return a, b


def go_through(world, a, b, cut, heal, how):
    dates = Dates(world, b.socket, [a.socket, b.socket])
    work = Workload(world, [a.socket, b.socket], clients=4, patience=20)
    work.wait_for_answers(20)
    dates.wait_for_fires()
    time.sleep(world.dice.random() * LEASE / 3)
    began = time.time()
    cut()
    world.leader([b], but=a)
    taken = time.time() - began
    time.sleep(max(0, began + 3 * LEASE - time.time()))
    lines = dates.lines()
    healed = time.time()
    heal()
    world.wait_for(lambda: a.states().get("a", {}).get("state") == "standby", "a to stand by again", 30)
    back = time.time() - healed
    work.wait_for_answers(20)
    dates.wait_for_fires()
    # The other way: a standby is cut off, and comes back.
    cut()
    time.sleep(2 * LEASE)
    heal()
    work.wait_for_answers(10)
    work.stop()
    end_of_lease = began + LEASE
    begun = [line for all_lines in dates.lines().values() for line in all_lines
             if line[2] == a.socket and end_of_lease + 0.2 < line[1] < healed]
    world.check(not begun, "a began %d commands after its lease: %r" % (len(begun), begun[:2]))
    world.say(work.verify(b.socket))
    world.say(dates.verify(b.socket))
    world.say("link of a cut (%s) for %.1f s: b answered after %.2f s, a stood by %.2f s after it was healed"
              % (how, healed - began, taken, back))
    for text, count in work.messages.most_common(4):
        world.say("  refused %d times: %s" % (count, text))
    world.close_nodes()


def by_proxy(world, keep):
    server = world.server()
    proxy = world.proxy(server.port)
    a, b = both(world, server, server.uri(port=proxy.port))
    go_through(world, a, b, proxy.cut, lambda: proxy.heal(keep=keep),
               "proxy, " + ("what was under way came late" if keep else "connections ended then"))


def answers_alone(world):
    """The database does what a is asked to store, and its answers are held back: nobody may be told that it was not done."""
    server = world.server()
    proxy = world.proxy(server.port)
    a, b = both(world, server, server.uri(port=proxy.port))
    for held in (0.5 * LEASE, 2 * LEASE, 4.5 * LEASE):
        leading = world.leader()
        if leading is not a:
            leading.stop()
            world.leader([a], but=leading)
            leading.start(wait=True)
        work = Workload(world, [a.socket, b.socket], clients=6, pause=0, patience=25)
        work.wait_for_answers(10)
        proxy.cut(answers_alone=True)
        time.sleep(held)
        proxy.heal(keep=held < 4 * LEASE)
        work.wait_for_answers(5)
        work.stop()
        world.say("answers to a held back for %.1f s: %s" % (held, work.verify(b.socket)))
        for text, count in work.messages.most_common(4):
            world.say("  refused %d times: %s" % (count, text))
    world.close_nodes()


def within_a_commit(world):
    """One connection is forgotten on its way, so that the server waits for the rest of a commit: who leads goes on, or the next."""
    server = world.server()
    proxy = world.proxy(server.port)
    a, b = both(world, server, server.uri(port=proxy.port))
    work = Workload(world, [a.socket, b.socket], clients=4, pause=0, patience=25)
    for is_killed in (False, True):
        work.wait_for_answers(10)
        proxy.forget()
        world.wait_for(lambda: len(proxy.forgotten) == (4 if is_killed else 2), "a commit")
        began = time.time()
        if is_killed:
            # The commit is over for a, which looks on another connection what became of it.
            time.sleep(1.1 * LEASE)
            a.kill()
            world.leader([b], but=a)
            a.start(wait=True)
        work.wait_for_answers(5)
        world.say("a connection forgotten within a commit%s: each client is answered after %.1f s"
                  % (", and its node killed" if is_killed else "", time.time() - began))
    work.stop()
    world.say(work.verify(b.socket))
    world.close_nodes()


def by_namespace(world):
    name = "timerd-%d" % os.getpid()

    def ip(*words):
        return subprocess.run(["ip", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    near, far = "tdn%d" % (os.getpid() % 100000), "tdf%d" % (os.getpid() % 100000)
    if ip("netns", "add", name).returncode:
        return world.say("no network namespaces here: that part is left out")
    world.at_the_end(lambda: ip("netns", "del", name))
    world.at_the_end(lambda: ip("link", "del", near))
    for words in (["link", "add", near, "type", "veth", "peer", "name", far, "netns", name],
                  ["addr", "add", "10.213.7.1/30", "dev", near], ["link", "set", near, "up"],
                  ["-n", name, "addr", "add", "10.213.7.2/30", "dev", far], ["-n", name, "link", "set", far, "up"],
                  ["-n", name, "link", "set", "lo", "up"]):
        done = ip(*words)
        if done.returncode:
            return world.say("no veth here (%s): that part is left out" % done.stdout.strip())
    server = world.server(**{"listen_addresses": "127.0.0.1,10.213.7.1"})
    with open(server.data + "/pg_hba.conf", "a") as file:
        file.write("host all all 10.213.7.2/32 trust\n")
    server.sql("SELECT pg_reload_conf()")
    time.sleep(0.3)
    uri = server.uri().replace("127.0.0.1", "10.213.7.1")
    a, b = both(world, server, uri, ["ip", "netns", "exec", name])
    go_through(world, a, b, lambda: ip("link", "set", near, "down"), lambda: ip("link", "set", near, "up"), "network namespace")
    ip("link", "del", near)
    ip("netns", "del", name)
