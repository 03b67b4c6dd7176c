# SPDX-License-Identifier: Apache-2.0
"""Daemons of $TIMERD_PROGRAMS that share a database, or one with its jobs in a file, and clients that speak their lines."""
import json
import os
import select
import time
from datetime import datetime, timezone

from server import Lines, Missing, Server

FAR = "2031-01-01T00:00:00Z"
PAYLOAD = {"text": "x" * 100}


def line_of(method, **params):
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode() + b"\n"


def date(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def instant(text):
    return datetime.strptime(text, "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc).timestamp()


class Client(Lines):
    def ask(self, method, **params):
        self.send(line_of(method, **params))
        reply = json.loads(self.line())
        if "error" in reply:
            raise RuntimeError("%s: %s" % (method, reply["error"]["message"]))
        return reply["result"]


class Nodes:
    """So many nodes of one database, the first of which leads; or one daemon with a file, where there is no database."""

    def __init__(self, folder, uri=None, count=1, lease="10s"):
        programs = os.path.abspath(os.environ.get("TIMERD_PROGRAMS", ""))
        if not os.path.exists(os.path.join(programs, "timerd")):
            raise Missing("TIMERD_PROGRAMS names no folder with timerd")
        os.mkdir(folder)
        self.servers, self.paths = [], []
        try:
            for number in range(count):
                path = os.path.join(folder, "%d.sock" % number)
                settings = {"maxTasksPerUser": 1_000_000, "maxJobsPerUser": 1_000_000, "eventsKept": 1_000_000, "lease": lease,
                            "copy": os.path.join(folder, "copy-%d.db" % number)}
                config = os.path.join(folder, "%d.json" % number)
                with open(config, "w") as file:
                    json.dump(settings, file)
                place = ["--database", uri, "--node", "n%d" % number] if uri else ["--database", os.path.join(folder, "timerd.db")]
                own = os.path.join(folder, "%d" % number)
                os.mkdir(own)
                self.servers.append(Server(os.path.join(programs, "timerd"), [*place, "--socket", path, "--config", config, "--log-level", "error"], path, own))
                self.paths.append(path)
                self.wait_until_answered(path, count=number + 1 if uri else 0)
        except BaseException:
            self.close()
            raise
        self.pids = [pid for server in self.servers for pid in server.pids]

    @staticmethod
    def wait_until_answered(path, count):
        until = time.monotonic() + 30
        while True:
            try:
                client = Client(path)
                nodes = client.ask("node.list")["nodes"]
                client.close()
                if len([node for node in nodes if node["state"] in ("leading", "standby")]) == count:
                    return
            except (RuntimeError, OSError):
                pass  # nobody leads yet
            if time.monotonic() > until:
                raise RuntimeError("%d nodes do not stand after 30 s" % count)
            time.sleep(0.05)

    def close(self):
        for server in reversed(self.servers):
            server.stop()


def adds(paths, seconds, clients, size=1):
    """Jobs added a second by so many clients, spread over these sockets, each of which waits for its answer."""
    job = {"schedule": {"at": FAR}, "userInfo": PAYLOAD}
    line = line_of("job.add", **(job if size == 1 else {"jobs": [job] * size}))
    ends = [Lines(paths[number % len(paths)]) for number in range(clients)]
    by_file = {end.socket.fileno(): end for end in ends}
    poll = select.poll()
    for number, end in by_file.items():
        poll.register(number, select.POLLIN)
        end.send(line)
    begun, added, open_ends = time.monotonic(), 0, len(ends)
    while open_ends:
        for number, _ in poll.poll(20_000) or [(None, None)]:
            if number is None:
                raise RuntimeError("an add was not answered in 20 s")
            answer = by_file[number].line()
            if b'"error"' in answer:
                raise RuntimeError("an add was refused: %s" % answer[:300])
            added += size
            if time.monotonic() < begun + seconds:
                by_file[number].send(line)
            else:
                open_ends -= 1
    spent = time.monotonic() - begun
    for end in ends:
        end.close()
    return added / spent


class Watch(Client):
    """Told of all fires from now on."""

    def __init__(self, path):
        super().__init__(path)
        self.ask("events.subscribe", types=["fire.fired"])

    def event(self):
        event = json.loads(self.line())["params"]
        return time.time(), event


def add_at(path, dates):
    client = Client(path)
    for start in range(0, len(dates), 500):
        client.ask("job.add", jobs=[{"schedule": {"at": date(at)}} for at in dates[start:start + 500]])
    client.close()


def fires(path, watched, count, lead):
    """Events a second of so many jobs that are due at one instant: until the last was received, until all are stored; and that instant."""
    watch = Watch(watched)
    at = time.time() + lead
    begun = time.time()
    add_at(path, [at] * count)
    if time.time() > at - 0.5:
        raise RuntimeError("%d jobs took %.1f s to add, and were due by then" % (count, time.time() - begun))
    for _ in range(count):
        came, _ = watch.event()
    # Who asks is answered behind what he was told, once that is stored.
    client = Client(path)
    rows = client.ask("run.list", limit=1)["runs"]
    stored = time.time()
    client.close()
    watch.close()
    if rows[0]["state"] != "fired":
        raise RuntimeError("an answer was ahead of what was told: %r" % rows)
    return count / (came - at), count / (stored - at), at


def lateness(path, watched, count, over):
    """Seconds after their dates: when each fired, and when the watcher had it."""
    watch = Watch(watched)
    begin = time.time() + 2
    dates = [begin + over * number / count for number in range(count)]
    add_at(path, dates)
    fired, received = [], []
    for _ in range(count):
        came, event = watch.event()
        due = instant(event["fireDate"])
        fired.append(instant(event["firedAt"]) - due)
        received.append(came - due)
    watch.close()
    return fired, received
