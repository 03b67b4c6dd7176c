# SPDX-License-Identifier: Apache-2.0
"""A daemon for tests: queues in memory, over restarts, and replies that are lost when a test says so."""
import json
import os
import socket
import threading
import time


class Refusal(Exception):
    def __init__(self, code, reason, message):
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": {"reason": reason}}


def span(text):
    from timerd.values import seconds

    return seconds(text)


def stamp(at=None):
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at)) + ".000000Z"


class FakeDaemon:
    """`stop` is kill -9: connections end, what is stored stays; `start` gives each lease its whole length again, as the real one does."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "s.sock")
        self.changed = threading.Condition()
        self.jobs, self.tasks, self.keys, self.queues = {}, {}, {}, {}
        self.asked = []  # (method, params)
        self.lose = []  # of these methods the next reply is lost, after it was carried out
        self.refuse = {}  # method: errors for the next requests
        self.hangs = False  # as by SIGSTOP: who connects is heard later, and so is what is asked
        self.slow = []  # of these methods the next request is carried out once `slowed` is cleared
        self.slowed = False
        self.counter = self.tokens = 0
        self.start()

    def start(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        self.connections = []
        with self.changed:
            for task in self.tasks.values():
                if task["state"] == "reserved":
                    task["until"] = time.monotonic() + task["lease"]
                    task["grace"] = True  # the connection has gone with the daemon
                    task["connection"] = None
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def stop(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for connection in list(self.connections):
            connection.dead = True
            connection.drop()

    def count(self, method):
        with self.changed:
            return sum(1 for name, _ in self.asked if name == method)

    def until(self, holds, limit=60.0):
        """Waits until `holds()`, and says whether it came."""
        end = time.monotonic() + limit
        with self.changed:
            while not holds():
                if time.monotonic() > end:
                    return False
                self.changed.wait(0.05)
            return True

    def states(self):
        with self.changed:
            return {fire: task["state"] for fire, task in self.tasks.items()}

    def _accept(self, listener):
        while True:
            try:
                accepted = listener.accept()[0]
            except OSError:
                return
            _Connection(self, accepted)

    # The methods

    def carry_out(self, method, params, connection):
        with self.changed:
            self.asked.append((method, params))
            self.changed.notify_all()
            while self.hangs and not connection.dead:
                self.changed.wait(0.02)
            if method in self.slow:
                self.slow.remove(method)
                self.slowed = True
                while self.slowed:
                    self.changed.wait(0.02)
            errors = self.refuse.get(method)
            if errors:
                raise Refusal(*errors.pop(0))
            self._age()
            name = method.replace(".", "_")
            if not hasattr(self, name):
                raise Refusal(-32601, "unknownMethod", "there is no method '%s'" % method)
            result = getattr(self, name)(params, connection)
            self.changed.notify_all()
            return result

    def _age(self):
        now = time.monotonic()
        for task in self.tasks.values():
            if task["state"] == "reserved" and task["until"] <= now:
                task["state"] = "ready"
            if task["state"] == "delayed" and task["at"] <= now:
                task["state"] = "ready"

    def job_add(self, params, connection):
        if "jobs" in params:
            answers = [self.job_add(job, connection) for job in params["jobs"]]
            there = [answer["job"]["id"] for answer in answers if "existing" in answer]
            return {"jobs": [answer["job"] for answer in answers], **({"existing": there} if there else {})}
        if "key" in params and params["key"] in self.keys:
            return {"job": self.jobs[self.keys[params["key"]]], "existing": True}
        self.counter += 1
        job = {**params, "id": self.counter, "state": "scheduled", "retries": params.get("retries", 0)}
        self.jobs[job["id"]] = job
        if "key" in params:
            self.keys[params["key"]] = job["id"]
        if "queue" in params:
            delay = span(params["schedule"]["in"]) if "in" in params["schedule"] else 0.0
            self.tasks[job["id"]] = {"job": job, "state": "delayed", "at": time.monotonic() + delay, "attempt": 0, "failures": 0}
        return {"job": job}

    def job_get(self, params, connection):
        if params.get("id") not in self.jobs:
            raise Refusal(-32001, "notFound", "there is no job %s" % params.get("id"))
        return {"job": self.jobs[params["id"]]}

    def task_reserve(self, params, connection):
        end = time.monotonic() + span(params.get("wait", "0s"))
        while True:
            self._age()
            taken = []
            for fire, task in sorted(self.tasks.items()):
                if connection.dead:
                    break  # what waited in a daemon that was killed takes nothing of the next one
                if task["state"] == "ready" and task["job"]["queue"] in params["queues"] and len(taken) < params.get("count", 1):
                    lease = span(params.get("lease", "1min"))
                    task.update(state="reserved", attempt=task["attempt"] + 1, lease=lease, until=time.monotonic() + lease)
                    self.tokens += 1
                    task["token"] = self.tokens
                    task["connection"] = connection if params.get("whileConnected") else None
                    told = {"fire": fire, "job": fire, "queue": task["job"]["queue"], "attempt": task["attempt"]}
                    told.update({key: task["job"][key] for key in ("name", "userInfo") if key in task["job"]})
                    taken.append({**told, "token": task["token"], "fireDate": stamp(), "leaseUntil": stamp(), "priority": 0})
            if taken or time.monotonic() >= end or connection.dead:
                return {"tasks": taken}
            self.changed.wait(0.02)

    def _each(self, params, deal):
        if "tasks" not in params:
            return {"task": deal(params)}
        answers = []
        for item in params["tasks"]:
            try:
                answers.append(deal({**{key: value for key, value in params.items() if key != "tasks"}, **item}))
            except Refusal as refusal:
                error = refusal.error
                answers.append({"fire": item["fire"], "error": {"reason": error["data"]["reason"], "message": error["message"]}})
        return {"tasks": answers}

    def _mine(self, item, *states):
        task = self.tasks.get(item["fire"])
        if task is None:
            raise Refusal(-32001, "notFound", "there is no task %d" % item["fire"])
        if task.get("token") != item["token"] or task["state"] not in states:
            raise Refusal(-32008, "leaseLost", "task %d is not this attempt's any more" % item["fire"])
        return task

    def _again(self, what, item):
        """Said again by the same attempt: where the task stands now."""
        task = self.tasks.get(item["fire"])
        if task is not None and task.get("said") == (what, item["token"]):
            return {"fire": item["fire"], "state": task["state"]}
        return None

    def task_extend(self, params, connection):
        def extend(item):
            task = self._mine(item, "reserved")
            task["until"] = time.monotonic() + (span(item["lease"]) if "lease" in item else task["lease"])
            if item.get("whileConnected"):
                task["connection"] = connection
            return {"fire": item["fire"], "state": "reserved", "leaseUntil": stamp()}

        return self._each(params, extend)

    def task_finish(self, params, connection):
        def finish(item):
            self._mine(item, "reserved", "done")["state"] = "done"
            return {"fire": item["fire"], "state": "done"}

        return self._each(params, finish)

    def task_fail(self, params, connection):
        def fail(item):
            assert len(item.get("reason", "").encode()) <= 4096
            again = self._again("fail", item)
            if again is not None:
                return again
            task = self._mine(item, "reserved")
            task["said"] = ("fail", item["token"])
            task["failures"] += 1
            task["reason"] = item.get("reason")
            task["state"] = "dead" if task["failures"] > task["job"]["retries"] else "ready"
            return {"fire": item["fire"], "state": task["state"]}

        return self._each(params, fail)

    def task_release(self, params, connection):
        def release(item):
            again = self._again("release", item)
            if again is not None:
                return again
            task = self._mine(item, "reserved")
            task["said"] = ("release", item["token"])
            task.update(state="delayed" if "delay" in item else "ready", at=time.monotonic() + span(item.get("delay", "0s")))
            return {"fire": item["fire"], "state": task["state"]}

        return self._each(params, release)

    def gone(self, connection):
        with self.changed:
            for task in self.tasks.values():
                # Not where the daemon itself has ended.
                if task["state"] == "reserved" and task.get("connection") is connection and not connection.dead:
                    task["state"] = "ready"
            self.changed.notify_all()


class _Connection:
    def __init__(self, daemon, accepted):
        self.daemon, self.socket, self.dead = daemon, accepted, False
        self.open = True
        daemon.connections.append(self)
        self.lines = accepted.makefile("rb")
        threading.Thread(target=self.serve, daemon=True).start()

    def drop(self):
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def serve(self):
        try:
            for line in self.lines:
                request = json.loads(line)
                try:
                    reply = {"result": self.daemon.carry_out(request["method"], request.get("params", {}), self)}
                except Refusal as refusal:
                    reply = {"error": refusal.error}
                if self.dead:
                    break
                if request["method"] in self.daemon.lose:
                    self.daemon.lose.remove(request["method"])
                    self.drop()
                    break
                self.socket.sendall(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}).encode() + b"\n")
        except OSError:
            pass
        self.open = False
        self.daemon.gone(self)
        self.lines.close()
        self.socket.close()
