# SPDX-License-Identifier: Apache-2.0
"""Clients at nodes that stand by: users, many connections, large lists, ends of connections, names that are not everywhere."""
import os
import socket
import subprocess
import threading
import time

from cluster.client import Client, Lost, Refused, Watcher, ask, connect, date, is_root


def run(world):
    server, (a, b) = world.cluster("ab", lease=2.0)
    large_lists(world, a, b)
    many_connections(world, b)
    ends_of_connections(world, b)
    if is_root():
        users(world, server, a, b)
    else:
        world.say("not root: users are left out")


def large_lists(world, a, b):
    text = "x" * 2000
    with b.client(timeout=60) as client:
        for _ in range(4):
            client.call("job.add", jobs=[{"schedule": {"at": "2031-01-01T00:00:00Z"}, "userInfo": {"text": text}, "tags": ["large"]}
                                         for _ in range(400)])
        begun = time.monotonic()
        listed = client.all("job.list", "jobs")
        took = time.monotonic() - begun
    with a.client(timeout=60) as client:
        world.check(listed == client.all("job.list", "jobs"), "a list through the standby differs from the leader's own")
    world.check(len(listed) == 1600 and all(job["userInfo"]["text"] == text for job in listed), "a large list is not whole")
    # Pipelined, and one who does not read what it asked for.
    with b.client(timeout=60) as client:
        numbers = [client.send("job.list", limit=100) for _ in range(40)]
        time.sleep(1)
        for number in numbers:
            client.answer(number)
    # A line of 1 MiB, and one that is too long.
    with b.client(timeout=60) as client:
        big = "y" * 60_000
        answer = client.call("job.add", jobs=[{"schedule": {"in": "1h"}, "userInfo": big, "tags": ["large"]} for _ in range(16)])
        world.check(len(answer["jobs"]) + len(answer.get("others", [])) == 16, "a line of nearly 1 MiB: %r" % answer)
        client.socket.sendall(b"z" * 3_000_000 + b"\n")
        world.check("error" in client.line(), "a line of 3 MB had no error")
        world.check(client.call("job.invalidate", tag="large")["jobs"], "after a line that is too long the connection does not go on")
    world.say("1,600 jobs of 2 KB listed through the standby in %.2f s, byte for byte as at the leader; 40 pipelined pages; lines of 1 MiB "
              "and of 3 MB" % took)


def many_connections(world, b):
    clients, broken = [], []
    for _ in range(200):
        clients.append(b.client(timeout=60))

    def use(client, number):
        try:
            for turn in range(5):
                job = client.call("job.add", schedule={"at": "2031-01-01T00:00:00Z"}, name="c%d-%d" % (number, turn))["job"]
                if client.call("job.get", id=job["id"])["job"]["name"] != "c%d-%d" % (number, turn):
                    broken.append("a client read another's job")
                client.call("job.invalidate", id=job["id"])
        except (Lost, Refused) as error:
            broken.append("connection %d of 200: %s" % (number, error))

    begun = time.monotonic()
    threads = [threading.Thread(target=use, args=pair) for pair in zip(clients, range(200))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for text in broken[:3]:
        world.broken(text)
    for client in clients:
        client.close()
    world.say("200 connections at the standby: 3,000 requests in %.1f s" % (time.monotonic() - begun))


def ends_of_connections(world, b):
    client = b.client()
    job = client.call("job.add", schedule={"every": "1s"}, whileConnected=True)["job"]["id"]
    client.close()
    world.wait_for(lambda: ask(b.socket, "job.get", id=job)["job"]["state"] != "scheduled", "a job to end with its connection")
    ended = ask(b.socket, "job.get", id=job)["job"]
    world.check(ended.get("endReason") == "targetGone", "a job whose connection is over is %r" % ended)
    # Half closed: what was asked is answered, then the end comes.
    with b.client() as client:
        for _ in range(20):
            client.send("job.list", limit=5)
        client.socket.shutdown(socket.SHUT_WR)
        for _ in range(20):
            client.answer()
        try:
            client.line()
            world.broken("a client that was half closed was sent more than its answers")
        except Lost as error:
            world.check("ended" in str(error), "a half-closed connection did not end: %s" % error)
    # A client that is gone in the middle of a line and one that is gone with answers unread.
    for words in (b'{"jsonrpc":"2.0","id":1,"meth', b'{"jsonrpc":"2.0","id":1,"method":"job.list"}\n' * 50):
        end = connect(b.socket)
        end.sendall(words)
        end.close()
    # A client whose process dies.
    process = subprocess.Popen(
        ["python3", "-c", "import sys; sys.path.insert(0, %r)\nfrom cluster.client import Client\nimport time\nc = Client(%r)\n"
         "print(c.call('job.add', schedule={'every': '1s'}, whileConnected=True)['job']['id'], flush=True)\ntime.sleep(100)"
         % (os.path.dirname(os.path.dirname(os.path.abspath(__file__))), b.socket)], stdout=subprocess.PIPE, text=True)
    job = int(process.stdout.readline())
    process.kill()
    process.wait()
    world.wait_for(lambda: ask(b.socket, "job.get", id=job)["job"]["state"] != "scheduled", "a job to end with a killed client")
    # A process of this host is not one of the leader's.
    with b.client() as client:
        try:
            answer = client.call("job.add", schedule={"every": "10s"}, whilePid=os.getpid())
            world.say("note: whilePid through a standby is accepted: %r" % answer["job"].get("whilePid"))
            client.call("job.invalidate", id=answer["job"]["id"])
        except Refused as refusal:
            world.say("whilePid through a standby: %s" % refusal)
    world.say("jobs end with connections that close, half close and die")


def users(world, server, a, b):
    names = ["tdone", "tdtwo", "tdthree"]
    uids = {}
    world.at_the_end(lambda: [subprocess.run(["userdel", name], stderr=subprocess.DEVNULL) for name in names])
    for name in names:
        subprocess.run(["userdel", name], stderr=subprocess.DEVNULL)
        subprocess.run(["useradd", "-M", "-s", "/bin/sh", name], check=True)
        uids[name] = int(subprocess.run(["id", "-u", name], stdout=subprocess.PIPE, text=True, check=True).stdout)
    book = world.folder + "/users"
    os.mkdir(book)
    os.chmod(book, 0o1777)
    jobs = {}
    for node in (a, b):
        for name in names:
            with Client(node.socket, uid=uids[name]) as client:
                job = client.call("job.add", schedule={"every": "300ms"}, name="mine", replace=True, cwd="/",
                                  command=["sh", "-c", "id -un >> %s/$TIMERD_JOB_ID; id -Gn >> %s/$TIMERD_JOB_ID.groups" % (book, book)])["job"]
                jobs[name] = job["id"]
                world.check(job["owner"] == name, "a job of %s at %s is owned by %r" % (name, node.name, job["owner"]))
    for name in names:
        with Client(b.socket, uid=uids[name]) as client:
            listed = client.all("job.list", "jobs")
            world.check([job["id"] for job in listed] == [jobs[name]], "%s is shown the jobs %r" % (name, listed))
            for other in names:
                if other == name:
                    continue
                for verb in ("get", "invalidate", "pause", "fire"):
                    try:
                        client.call("job." + verb, id=jobs[other])
                        world.broken("%s could %s a job of %s through the standby" % (name, verb, other))
                    except Refused as refusal:
                        world.check(refusal.reason == "notFound", "%s of another's job: %s" % (verb, refusal))
            try:
                client.call("node.drain", name="a")
                world.broken("%s could drain a node" % name)
            except Refused as refusal:
                world.check(refusal.reason == "notPermitted", "drain by a user: %s" % refusal)
            client.call("node.list")
    time.sleep(1.5)
    for name in names:
        with open("%s/%d" % (book, jobs[name])) as file:
            ran = set(file.read().split())
        world.check(ran == {name}, "commands of %s ran as %r" % (name, ran))
    # A uid without a name is nobody on other hosts, and somebody where the leader runs.
    try:
        with Client(b.socket, uid=54321) as client:
            client.call("job.list")
        world.broken("a uid without a name was served through the standby")
    except Refused as refusal:
        world.check(refusal.reason == "notPermitted", "a uid without a name: %s" % refusal)
        nobody = refusal.message
    # Hosts whose users differ: a third node sees another /etc/passwd.
    with open("/etc/passwd") as file:
        lines = [line for line in file if not line.startswith("tdone:")]
    lines = [line.replace("tdtwo:x:%d:" % uids["tdtwo"], "tdtwo:x:64001:") for line in lines]
    lines.append("stranger:x:64002:64002::/:/bin/sh\n")
    passwd = world.folder + "/passwd"
    with open(passwd, "w") as file:
        file.writelines(lines)
    os.chmod(passwd, 0o644)
    c = world.node("c", server.uri(), prefix=["unshare", "-m", "sh", "-c", "mount --bind %s /etc/passwd && exec \"$@\"" % passwd, "sh"])
    try:
        c.start(wait=True)
        world.wait_for(lambda: "c" in world.standing([c]), "the third node to stand by", 10)
    except SystemError:
        return world.say("no mount namespaces here: hosts with other users are left out")
    with Client(c.socket, uid=64001) as client:
        listed = client.all("job.list", "jobs")
        world.check([job["id"] for job in listed] == [jobs["tdtwo"]],
                    "tdtwo, with another uid on c, is shown %r" % listed)
    for uid in (64002, uids["tdone"], uids["tdtwo"]):
        try:
            with Client(c.socket, uid=uid) as client:
                client.call("job.list")
            world.broken("uid %d of c, who is nobody where a leads, was served" % uid)
        except Refused as refusal:
            world.check(refusal.reason == "notPermitted", "uid %d of c: %s" % (uid, refusal))
            stranger = refusal.message
    # c leads: it has no user tdone, whose jobs are held there.
    a.kill()
    b.kill()
    world.leader([c])
    seen = {}

    def held():
        for job in Client(c.socket, uid=0).all("job.list", "jobs"):
            seen[job["owner"]] = job
        return seen.get("tdone", {}).get("held")

    try:
        world.wait_for(held, "the job of a user who is not on c to be held", 15)
    except SystemError as error:
        world.broken("%s: %r" % (error, seen.get("tdone")))
    world.check(not seen.get("tdtwo", {}).get("held"), "the job of tdtwo, who has another uid on c, is held: %r" % seen.get("tdtwo"))
    world.check(not seen.get("tdthree", {}).get("held"), "the job of tdthree is held on c: %r" % seen.get("tdthree"))
    size = lambda name: os.path.getsize("%s/%d" % (book, jobs[name])) if os.path.exists("%s/%d" % (book, jobs[name])) else 0
    before = {name: size(name) for name in names}
    time.sleep(1.5)
    world.check(size("tdone") == before["tdone"], "commands of tdone ran where there is no tdone")
    world.check(size("tdthree") > before["tdthree"], "commands of tdthree do not run on c")
    world.say("3 users, their jobs theirs on both nodes; a uid without a name: '%s'; another host's user: '%s'; users with other "
              "uids, and without an account, on the node that leads next; held: %r" % (nobody, stranger, seen.get("tdone", {}).get("held")))
