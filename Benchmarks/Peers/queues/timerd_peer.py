# SPDX-License-Identifier: Apache-2.0
"""timerd: the program of $TIMERD_PROGRAMS, spoken to in its own lines."""
import json
import os
import time
from datetime import datetime, timezone

from server import Lines, Missing, Server
from waiters import Waiters

PAYLOAD = {"to": "ann@example.org", "text": "x" * 100}


class Timerd:
    name = "timerd"

    def __init__(self, folder, waiting):
        programs = os.environ.get("TIMERD_PROGRAMS", "")
        if not os.path.exists(os.path.join(programs, "timerd")):
            raise Missing("TIMERD_PROGRAMS names no folder with timerd")
        programs = os.path.abspath(programs)  # it is started in a folder of its own
        path = os.path.join(folder, "s.sock")
        limits = {"maxConnections": waiting + 200, "maxConnectionsPerUser": waiting + 100, "maxInFlightPerUser": waiting + 1100, "maxTasksPerUser": 1_000_000, "maxJobsPerUser": 1_000_000}
        config = os.path.join(folder, "config.json")
        with open(config, "w") as file:
            json.dump(limits, file)
        arguments = ["--database", os.path.join(folder, "d.sqlite"), "--socket", path, "--config", config, "--log-level", "error"]
        self.server = Server(os.path.join(programs, "timerd"), arguments, path, folder)
        self.path = path
        self.lines = Lines(path)
        self.number = 0

    def ask(self, method, lines=None, **params):
        lines = lines or self.lines
        self.number += 1
        lines.send(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}).encode() + b"\n")
        reply = json.loads(lines.line())
        if "error" in reply:
            raise RuntimeError("%s: %s" % (method, reply["error"]["message"]))
        return reply["result"]

    @staticmethod
    def job(queue, schedule=None):
        # Due at once, as the clients say it that are given no date.
        return {"schedule": schedule or {"in": "0s"}, "queue": queue, "userInfo": PAYLOAD}

    def add(self, queue):
        self.ask("job.add", **self.job(queue))

    def work(self, queue):
        tasks = self.ask("task.reserve", queues=[queue], wait="5s")["tasks"]
        for task in tasks:
            self.ask("task.finish", fire=task["fire"], token=task["token"])
        return len(tasks)

    def add_list(self, queue, count):
        self.ask("job.add", jobs=[self.job(queue)] * count)

    def work_list(self, queue, count):
        tasks = self.ask("task.reserve", queues=[queue], wait="5s", count=count)["tasks"]
        told = self.ask("task.finish", tasks=[{"fire": task["fire"], "token": task["token"]} for task in tasks])["tasks"]
        return sum(one.get("state") == "done" for one in told)

    def lateness(self, queue, count, gap):
        dates = [time.time() + 1 + index * gap for index in range(count)]
        for at in dates:
            text = datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            self.ask("job.add", **self.job(queue, {"at": text}))
        finisher = Lines(self.path)
        late = []
        while len(late) < count:
            tasks = self.ask("task.reserve", queues=[queue], wait="10s")["tasks"]
            now = time.time()
            if not tasks:
                break
            for task in tasks:
                due = datetime.strptime(task["fireDate"], "%Y-%m-%dT%H:%M:%S.%fZ").replace(tzinfo=timezone.utc)
                late.append(now - due.timestamp())
                self.ask("task.finish", finisher, fire=task["fire"], token=task["token"])
        finisher.close()
        return late

    def wait(self, queue, count, until):
        hello = {"jsonrpc": "2.0", "id": 1, "method": "task.reserve", "params": {"queues": [queue], "wait": "1h", "whileConnected": True}}
        return Waiters(self.path, count, json.dumps(hello).encode() + b"\n", until)

    def all_wait(self, queue, count):
        self.ask("queue.set", queue=queue, paused=False)  # a queue is there once it was named
        return any(one["queue"] == queue and one["waiting"] >= count for one in self.ask("queue.list")["queues"])

    def feed(self, queue, count):
        for start in range(0, count, 100):
            self.add_list(queue, min(100, count - start))

    @staticmethod
    def is_task(data):
        return data.endswith(b"\n") and b'"fire"' in data

    def close(self):
        self.lines.close()
        self.server.stop()
