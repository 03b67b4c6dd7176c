# SPDX-License-Identifier: Apache-2.0
"""Clients that change jobs of their own, and a book of what each job may be after what was answered, refused, or lost."""
import collections
import random
import threading
import time

from .client import Client, Lost, Refused, ask_all, date

# What nobody can have done: the request was refused as a whole. All else that is no answer is unknown.
REFUSALS = ("storageFailed", "stopping", "limitReached")
FAR = "2031-01-01T00:00:00.000000Z"
FARTHER = "2032-02-02T00:00:00.000000Z"


def is_unknown(refusal):
    """Whether an error says that it does not know."""
    return "cannot be known" in refusal.message or "may have been" in refusal.message or "not known" in refusal.message


class Adder(threading.Thread):
    def __init__(self, work, number, path, seed, pause):
        super().__init__(daemon=True)
        self.work, self.number, self.path, self.pause = work, number, path, pause
        self.dice = random.Random(seed)
        # By name: all that it may be, each (state, fireDate).
        self.book = {}
        self.live = {}
        self.answers = self.unknown = 0
        self.refusals = collections.Counter()
        self.last_answer, self.longest, self.longest_at = time.monotonic(), 0.0, 0.0
        self.serial = 0
        self.client = None

    def run(self):
        while not self.work.over.is_set():
            self.one()
            if self.pause:
                time.sleep(self.dice.random() * 2 * self.pause)
        if self.client:
            self.client.close()

    def one(self):
        verbs = {"add": self.add, "end": self.end, "pause": self.stop, "resume": self.go_on, "move": self.move}
        verb = self.dice.choices(list(verbs), [5, 2, 1, 1, 1])[0]
        if verb != "add" and not self.live:
            verb = "add"
        verbs[verb]()

    def ask(self, name, after, method, /, **parameters):
        """`after`: what the job is once this is done, of each thing that it may be before."""
        before = self.book[name]
        done = {after(state) for state in before}
        try:
            if self.client is None:
                self.client = Client(self.path, timeout=self.work.patience)
            answer = self.client.call(method, **parameters)
        except Lost:
            if self.client:
                self.client.close()
                self.client = None
            self.unknown += 1
            self.book[name] = before | done
            self.live.pop(name, None)
            time.sleep(0.05)
            return None
        except Refused as refusal:
            if refusal.reason not in REFUSALS:
                self.work.world.broken("%s of %s was refused: %s" % (method, name, refusal))
            self.refusals[refusal.reason + (" (unknown)" if is_unknown(refusal) else "")] += 1
            self.work.note(refusal.message)
            if is_unknown(refusal):
                self.book[name] = before | done
                self.live.pop(name, None)
            time.sleep(0.02)
            return None
        self.answers += 1
        now = time.monotonic()
        if now - self.last_answer > self.longest:
            self.longest, self.longest_at = now - self.last_answer, time.time()
        self.last_answer = now
        self.book[name] = done
        return answer

    def add(self):
        name = "w%s-%d-%d" % (self.work.name, self.number, self.serial)
        self.serial += 1
        self.book[name] = {None}
        answer = self.ask(name, lambda _: ("scheduled", FAR), "job.add", name=name, schedule={"at": FAR})
        if answer:
            self.live[name] = answer["job"]["id"]

    def some(self):
        name = self.dice.choice(list(self.live))
        return name, self.live[name]

    def end(self):
        name, number = self.some()
        if self.ask(name, lambda state: ("invalidated", None), "job.invalidate", id=number):
            self.live.pop(name, None)

    def stop(self):
        name, number = self.some()
        self.ask(name, lambda state: ("paused", state[1]), "job.pause", id=number)

    def go_on(self):
        name, number = self.some()
        self.ask(name, lambda state: ("scheduled", state[1]), "job.resume", id=number)

    def move(self):
        name, number = self.some()
        at = self.dice.choice([FAR, FARTHER])
        self.ask(name, lambda state: (state[0], at), "job.setFireDate", id=number, fireDate=at)


class Workload:
    def __init__(self, world, paths, clients=4, pause=0.01, patience=30):
        self.world, self.over, self.patience = world, threading.Event(), patience
        self.messages = collections.Counter()
        self.name = "%d" % (time.monotonic_ns() // 1000)
        self.adders = [Adder(self, number, paths[number % len(paths)], world.dice.random(), pause)
                       for number in range(clients)]
        self.begun = time.monotonic()
        for adder in self.adders:
            adder.start()

    def note(self, message):
        self.messages[message[:160]] += 1

    def answers(self):
        return sum(adder.answers for adder in self.adders)

    def wait_for_answers(self, more, patience=60):
        """Until each client has been answered so many times more."""
        goal = {adder: adder.answers + more for adder in self.adders}
        self.world.wait_for(lambda: all(adder.answers >= goal[adder] for adder in self.adders),
                            "answers to each client again", patience)

    def stop(self):
        self.over.set()
        for adder in self.adders:
            adder.join(self.patience + 5)

    def verify(self, path):
        """Compares the books with what is stored."""
        stored = collections.defaultdict(list)
        for job in ask_all(path, "job.list", "jobs", patience=60, all=True):
            stored[job.get("name")].append(job)
        jobs = doubtful = 0
        for adder in self.adders:
            for name, may in adder.book.items():
                jobs += 1
                doubtful += len(may) > 1
                if len(stored[name]) > 1:
                    self.world.broken("job %s is there %d times: %r" % (name, len(stored[name]), stored[name]))
                job = stored[name][0] if stored[name] else None
                # An ended job tells no date of its own.
                was = job and (job["state"], None if job["state"] == "invalidated" else job.get("fireDate"))
                if was not in may:
                    self.world.broken("job %s is %r, by the answers it may be %r" % (name, was, may))
        unknown = sum(adder.unknown for adder in self.adders)
        refused = sum((adder.refusals for adder in self.adders), collections.Counter())
        return ("%d jobs of %d answers are as answered, %d requests lost, refused %s, %d jobs left open; longest without an answer %.2f s"
                % (jobs, self.answers(), unknown, dict(refused), doubtful, max(adder.longest for adder in self.adders)))
