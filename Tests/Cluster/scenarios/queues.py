# SPDX-License-Identifier: Apache-2.0
"""Tasks of a queue, with workers at all nodes, over take-overs: none lost, none finished twice, none in two hands."""
import collections
import threading
import time

from cluster.client import Client, Lost, Refused, ask, ask_all


class Worker(threading.Thread):
    def __init__(self, world, node, book, over):
        super().__init__(daemon=True)
        self.world, self.node, self.book, self.over = world, node, book, over
        self.lost = 0

    def run(self):
        client = None
        while not self.over.is_set():
            try:
                client = client or Client(self.node.socket, timeout=15)
                for task in client.call("task.reserve", queues=["work"], count=3, lease="5s", wait="2s")["tasks"]:
                    self.work(client, task)
            except (Lost, Refused) as error:
                if isinstance(error, Refused) and error.reason not in ("storageFailed", "stopping", "leaseLost"):
                    self.world.broken("a worker was refused: %s" % error)
                self.lost += 1
                if client:
                    client.close()
                client = None
                time.sleep(0.05)

    def work(self, client, task):
        fire, token = task["fire"], task["token"]
        self.book.take(fire, token)
        time.sleep(self.world.dice.random() * 0.02)
        dice = self.world.dice.random()
        verb = "finish" if dice < 0.8 else "release" if dice < 0.9 else "fail"
        try:
            answer = client.call("task." + verb, fire=fire, token=token)["task"]
            self.book.tell(fire, token, verb, answer["state"])
        except Refused as refusal:
            if refusal.reason != "leaseLost":
                # Said again until it is known, as a worker does.
                self.book.unknown(fire, token, verb)
                raise
            self.book.tell(fire, token, "leaseLost", None)
        except Lost:
            self.book.unknown(fire, token, verb)
            raise


class Book:
    def __init__(self, world):
        self.world, self.lock = world, threading.Lock()
        self.finished, self.perhaps, self.taken = {}, collections.defaultdict(set), collections.defaultdict(set)
        self.attempts = 0

    def take(self, fire, token):
        with self.lock:
            self.attempts += 1
            if token in self.taken[fire]:
                self.world.broken("task %d was handed out twice as attempt %d" % (fire, token))
            self.taken[fire].add(token)
            if fire in self.finished:
                self.world.broken("task %d was handed out again after it was finished" % fire)

    def tell(self, fire, token, verb, state):
        with self.lock:
            if verb == "finish":
                if fire in self.finished and self.finished[fire] != token:
                    self.world.broken("task %d was finished twice, by %d and %d" % (fire, self.finished[fire], token))
                self.finished[fire] = token

    def unknown(self, fire, token, verb):
        with self.lock:
            if verb == "finish":
                self.perhaps[fire].add(token)


def run(world):
    once(world, 2000, 3)
    end = time.monotonic() + world.seconds
    while time.monotonic() < end:
        once(world, 3000, 6)


def once(world, tasks, changes):
    _, nodes = world.cluster("abc", lease=1.5)
    book, over = Book(world), threading.Event()
    workers = [Worker(world, nodes[number % 3], book, over) for number in range(9)]
    for worker in workers:
        worker.start()
    added, adding = {}, threading.Event()

    def add():
        for first in range(0, tasks, 50):
            names = ["t%d" % number for number in range(first, first + 50)]
            while not over.is_set():
                try:
                    with Client(world.dice.choice(nodes).socket, timeout=15) as client:
                        answer = client.call("job.add", jobs=[{"schedule": {"in": "0s"}, "queue": "work", "key": name, "retries": 1000,
                                                               "backoff": "10ms"} for name in names])
                    for name, job in zip(names, [each["id"] for each in answer["jobs"]] + answer.get("others", [])):
                        added[job] = name
                    break
                except (Lost, Refused) as error:
                    if isinstance(error, Refused) and error.reason not in ("storageFailed", "stopping"):
                        world.broken("an add was refused: %s" % error)
                    time.sleep(0.05)
            time.sleep(0.1)
        adding.set()

    threading.Thread(target=add, daemon=True).start()
    begun = time.time()
    for _ in range(changes):
        time.sleep(1 + world.dice.random())
        leader = world.leader()
        leader.kill()
        world.leader(but=leader)
        leader.start(wait=True)
    world.wait_for(adding.is_set, "all tasks to be added", 120)

    def left():
        queues = ask(nodes[0].socket, "queue.list")["queues"]
        return not sum(queue[state] for queue in queues for state in ("ready", "delayed", "reserved"))

    try:
        world.wait_for(left, "the queue to be empty", 120)
    except SystemError as error:
        world.broken("%s: %r" % (error, ask(nodes[0].socket, "queue.list")["queues"]))
    over.set()
    for worker in workers:
        worker.join(20)
    world.check(len(added) == tasks, "%d tasks were added, and %d are known" % (tasks, len(added)))
    rows = collections.defaultdict(list)
    for run in ask_all(nodes[0].socket, "run.list", "runs", patience=60):
        rows[run["job"]].append(run)
    for job in added:
        done = [run for run in rows[job] if run.get("outcome") == "finished"]
        if len(done) != 1:
            world.broken("the task of job %d has %d finished attempts: %r" % (job, len(done), rows[job]))
            continue
        fire = done[0]["fire"]
        told = book.finished.get(fire)
        if told is not None and told != done[0]["id"]:
            world.broken("task %d was answered as finished by %d, and is so by %d" % (fire, told, done[0]["id"]))
        if told is None and done[0]["id"] not in book.perhaps[fire]:
            world.broken("task %d is finished by %d, which nobody has said" % (fire, done[0]["id"]))
        if len({run["fire"] for run in rows[job]}) > 1:
            world.broken("job %d has several tasks: %r" % (job, rows[job]))
    world.say("%d tasks over %d take-overs in %.0f s: each finished once, in %d attempts of 9 workers, who were cut off %d times; "
              "%d ends had no answer" % (len(added), changes, time.time() - begun, book.attempts,
                                         sum(worker.lost for worker in workers), sum(map(len, book.perhaps.values()))))
    world.close_nodes()
