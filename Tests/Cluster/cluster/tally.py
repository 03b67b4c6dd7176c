# SPDX-License-Identifier: Apache-2.0
"""A ledger that goes along: what watchers are told is settled job by job as it comes, so that hours of fires take no more memory than minutes.

Each date of a job is to be one fire, or to have its reason. What a watcher is told is to be what all are told, and what is stored. What was answered is to
be so. `tell` takes events, `asked` and its like what clients know, `sweep` looks at what should have come by now.
"""
import collections
import math
import threading
import time

from .client import instant

# So long anything may take that is to come: a take-over and a client's wait with room for a busy machine.
PATIENCE = 60.0
# The newest dates of each job that are remembered, so that a repeat can be compared.
REMEMBERED = 150
REASONS = ("coalesced", "misfire", "misfireLimit", "overload", "overlap", "invalidated")


class Histogram:
    """Of seconds from 10 µs on, by steps of a tenth."""

    def __init__(self):
        self.counts, self.most, self.least, self.count = collections.Counter(), 0.0, 0.0, 0

    def add(self, seconds):
        self.counts[math.ceil(math.log(max(seconds, 1e-5) / 1e-5, 1.1))] += 1
        self.most, self.least = max(self.most, seconds), min(self.least, seconds)
        self.count += 1

    def quantile(self, part):
        left = part * self.count
        for step in sorted(self.counts):
            left -= self.counts[step]
            if left <= 0:
                return min(1e-5 * 1.1 ** step, self.most)
        return self.most


class Told:
    """One date: the fire that it became, or None where it was skipped, and the number of the event that said so unmarked."""
    __slots__ = ("fire", "unmarked", "least")

    def __init__(self, fire, seq, is_marked):
        self.fire, self.least, self.unmarked = fire, seq, None if is_marked else seq


class Job:
    """What is known of one job, by its name until an event has told its number."""

    def __init__(self, name, step, is_command):
        self.name, self.step, self.is_command = name, step, is_command
        self.id = self.first = self.reference = None
        self.born = self.touched = time.time()
        # All dates up to `low` are settled, and those of `ahead`.
        self.low, self.ahead, self.recent = -1, set(), {}
        self.fires, self.skipped, self.last_fired = 0, 0, 0.0
        # When it was answered that it is there; when its end was asked for; when that was answered.
        self.added = self.cancelling = self.cancelled = None
        self.ended, self.ended_seq, self.end_reason = None, None, None
        # By fire: [lines that its command wrote, how the run ended]
        self.runs = {}

    def number(self, date):
        """Which date of its grid that is; None where it is none. From the newest on, as a change of hosts may move the grid by a little."""
        if not self.step:
            return 0 if abs(date - self.first) < 0.01 else None
        known, at = self.reference
        number = known + round((date - at) / self.step)
        if abs(date - at - (number - known) * self.step) > 0.02:
            return None
        if number > known:
            self.reference = number, date
        return number

    def date(self, number):
        known, at = self.reference
        return at + (number - known) * (self.step or 0)

    def settle(self, number):
        self.ahead.add(number)
        while self.low + 1 in self.ahead:
            self.low += 1
            self.ahead.discard(self.low)


class Tally:
    def __init__(self, broken, watchers):
        self.say_broken, self.lock = broken, threading.RLock()
        self.names, self.jobs = {}, {}
        self.watchers = watchers
        self.position = [0] * watchers
        # Events that not all watchers are beyond: number -> [who has it, as a mask, what it says, its identity].
        self.pending = {}
        # Of each watcher: what it was passed over with, which is to be told again; what was told again, so much of it.
        self.orphans = [{} for _ in range(watchers)]
        self.again = [collections.OrderedDict() for _ in range(watchers)]
        # Numbers that each was told since they were last compared with what is stored.
        self.numbers = [set() for _ in range(watchers)]
        self.compared = self.top = 0
        self.late, self.reasons, self.outcomes = Histogram(), collections.Counter(), collections.Counter()
        self.events = self.dates = self.fires = self.repeats = self.jumps = self.passed_over = self.stored = self.closed = self.lines = 0
        self.last_fire, self.pause, self.pause_at = None, 0.0, 0.0
        self.now = time.time

    def broken(self, text):
        self.say_broken(text)

    # What watchers are told

    @staticmethod
    def identity(event):
        if event.get("fire") is not None:
            return (event["type"], event["job"], event["fire"], event.get("run"), event.get("attempt"))
        # Not by when it was: the end of a one-shot that is told again with its fire has the fire's new time.
        return (event["type"], event.get("job"), event.get("fireDate"), event.get("reason"))

    def tell(self, watcher, event):
        with self.lock:
            seq, before, bit = event["seq"], self.position[watcher], 1 << watcher
            if seq <= before:
                self.broken("event %d came to watcher %d after %d" % (seq, watcher, before))
                return
            self.position[watcher] = seq
            self.numbers[watcher].add(seq)
            identity = self.identity(event)
            if seq != before + 1:
                for each, entry in list(self.pending.items()):
                    if before < each < seq and not entry[0] & bit:
                        self.pass_over(watcher, each, entry)
            if event.get("redelivered"):
                self.orphans[watcher].pop(identity, None)
                again = self.again[watcher]
                again[identity] = seq
                while len(again) > 5000:
                    again.popitem(last=False)
            entry = self.pending.get(seq)
            says = hash(tuple(sorted((key, str(value)) for key, value in event.items())))
            if entry:
                if entry[1] != says:
                    self.broken("event %d was told to one watcher as something else than to another: %r" % (seq, event))
                self.have(seq, entry, bit)
                return
            entry = self.pending[seq] = [0, says, identity]
            self.have(seq, entry, bit)
            for other in range(self.watchers):
                if other != watcher and self.position[other] > seq:
                    self.pass_over(other, seq, entry)
            self.events += 1
            if seq > self.top:
                self.jumps += seq != self.top + 1
                self.top = seq
            self.settle(event)

    def have(self, seq, entry, bit):
        entry[0] |= bit
        if entry[0] == (1 << self.watchers) - 1:
            self.pending.pop(seq, None)

    def pass_over(self, watcher, seq, entry):
        """It was told to others alone: it was not stored when its node died, so that all are to be told again, marked."""
        self.have(seq, entry, 1 << watcher)
        if self.again[watcher].get(entry[2], 0) < seq:
            self.orphans[watcher][entry[2]] = (seq, self.now())
            self.passed_over += 1

    def compare(self, stored, through):
        """Whether all that is stored up to a number, which all watchers are beyond, was told to each of them."""
        with self.lock:
            self.stored += len(stored)
            for watcher, numbers in enumerate(self.numbers):
                missed = stored - numbers
                if missed:
                    self.broken("%d events are stored that watcher %d was not told, such as %d" % (len(missed), watcher, min(missed)))
                self.numbers[watcher] = {seq for seq in numbers if seq > through}
            self.compared = through

    def settle(self, event):
        kind = event["type"]
        if kind == "job.added":
            self.born(event)
            return
        job = self.jobs.get(event.get("job"))
        if job is None:
            self.broken("an event of a job that is not there, or was over: %r" % event)
            return
        job.touched = self.now()
        if kind == "fire.fired":
            self.fired(job, event)
        elif kind == "fire.skipped":
            if event.get("reason") not in REASONS:
                self.broken("%s: a date was skipped as %r: %r" % (job.name, event.get("reason"), event))
            self.reasons[event.get("reason")] += event.get("dates", 1)
            first = job.number(instant(event["fireDate"]))
            for number in range(event.get("dates", 1)):
                self.cover(job, None if first is None else first + number, None, event)
        elif kind in ("job.invalidated", "job.finished"):
            # Whose one date has fired may still be invalidated by its name as long as its command runs.
            is_again = kind == "job.invalidated" and job.is_command and job.end_reason == "once" and job.cancelling
            if job.ended is not None and not event.get("redelivered") and not is_again:
                self.broken("%s ended twice, the second time not marked: %r" % (job.name, event))
            job.ended, job.ended_seq, job.end_reason = instant(event["at"]), event["seq"], event.get("reason")
            if kind == "job.invalidated" and job.cancelling is None:
                self.broken("%s was ended, which nobody has asked for: %r" % (job.name, event))
            if kind == "job.finished" and job.step:
                self.broken("%s, which has no end, finished: %r" % (job.name, event))
        elif kind == "run.finished":
            run = job.runs.setdefault(event["fire"], [0, None])
            if run[1] is not None and not event.get("redelivered"):
                self.broken("%s: fire %d ended twice, the second time not marked: %r" % (job.name, event["fire"], event))
            self.outcomes[event.get("outcome")] += run[1] is None
            run[1] = event.get("outcome")
            # One that was cancelled while it waited to be begun, on a node that was just killed.
            withdrawn = run[1] == "notStarted" and job.cancelling and event.get("reason") == "it was ended before it began"
            if not withdrawn and (run[1] not in ("exited", "interrupted") or event.get("status", 0) != 0):
                self.broken("%s: a run ended as %r: %r" % (job.name, run[1], event))
        elif kind != "run.started":
            self.broken("%s: nobody has asked for this: %r" % (job.name, event))

    def born(self, event):
        job = self.names.get(event.get("name"))
        if job is None:
            self.broken("a job was added that nobody has asked for: %r" % event)
            return
        if job.id is not None:
            if job.id != event["job"] or not event.get("redelivered"):
                self.broken("%s, which is job %d, was added again: %r" % (job.name, job.id, event))
            return
        if job.added and job.added[1] != event["job"]:
            self.broken("%s was answered as job %d: %r" % (job.name, job.added[1], event))
        job.id, job.first = event["job"], instant(event["fireDate"])
        job.reference = 0, job.first
        job.touched = self.now()
        self.jobs[job.id] = job

    def fired(self, job, event):
        at, due = instant(event["firedAt"]), instant(event["fireDate"])
        is_marked = bool(event.get("redelivered"))
        if not is_marked:
            job.last_fired = max(job.last_fired, at)
            if job.ended_seq and event["seq"] > job.ended_seq:
                self.broken("%s fired after its end was told: %r" % (job.name, event))
            self.look_at_end(job, event)
        if self.cover(job, job.number(due), event["fire"], event):
            self.fires += 1
            job.fires += 1
            self.late.add(at - due)
            if at - due < -0.0005:
                self.broken("%s fired before its date: %r" % (job.name, event))
            if self.last_fire is not None and at - self.last_fire > self.pause:
                self.pause, self.pause_at = at - self.last_fire, at
            self.last_fire = max(at, self.last_fire or at)
            if job.is_command:
                job.runs.setdefault(event["fire"], [0, None])
                self.forget_runs(job, REMEMBERED)

    def look_at_end(self, job, what):
        # A command that was due before, and waited, may not begin either.
        if job.cancelled and job.last_fired > job.cancelled:
            self.broken("%s: its end was answered at %.6f, and it fired at %.6f: %r" % (job.name, job.cancelled, job.last_fired, what))

    def cover(self, job, number, fire, event):
        """Notes what became of a date; answers whether that is new."""
        if number is None or number < 0:
            self.broken("%s has no such date, counted from %.6f: %r" % (job.name, job.first, event))
            return False
        is_marked, seq, known = bool(event.get("redelivered")), event["seq"], job.recent.get(number)
        if known is None:
            if number <= job.low:
                self.broken("%s: a date that was settled long ago was told again: %r" % (job.name, event))
                return False
            job.settle(number)
            job.recent[number] = Told(fire, seq, is_marked)
            while len(job.recent) > REMEMBERED:
                del job.recent[next(iter(job.recent))]
            job.skipped += fire is None
            self.dates += 1
            return True
        self.repeats += 1
        if known.fire != fire:
            self.broken("%s: one date became fire %r and fire %r: %r" % (job.name, known.fire, fire, event))
        elif is_marked and known.unmarked is not None and seq < known.unmarked:
            self.broken("%s: fire %r was told unmarked after it was told marked: %r" % (job.name, fire, event))
        elif not is_marked and (known.unmarked is not None or seq > known.least):
            self.broken("%s: fire %r was told twice, not as redelivered: %r" % (job.name, fire, event))
        known.least = min(known.least, seq)
        if not is_marked:
            known.unmarked = seq
        return False

    # What commands have written

    def wrote(self, number, fire):
        with self.lock:
            self.lines += 1
            job = self.jobs.get(number)
            if job is None:
                return False
            run = job.runs.setdefault(fire, [0, None])
            run[0] += 1
            if run[0] > 1:
                self.broken("%s: the command of fire %d ran %d times" % (job.name, fire, run[0]))
            return True

    def forget_runs(self, job, kept):
        while len(job.runs) > kept:
            fire = next(iter(job.runs))
            lines, outcome = job.runs.pop(fire)
            if outcome is None:
                self.broken("%s: of fire %d no end was told; it wrote %d lines" % (job.name, fire, lines))
            if outcome == "notStarted" and lines:
                self.broken("%s: fire %d was ended before it began, and ran" % (job.name, fire))
            if outcome == "exited" and not lines:
                self.broken("%s: fire %d has exited and wrote nothing" % (job.name, fire))

    # What clients know

    def asked(self, name, step=None, is_command=False):
        with self.lock:
            self.names[name] = Job(name, step, is_command)

    def added(self, name, number):
        with self.lock:
            job = self.names[name]
            job.added = self.now(), number
            if job.id is not None and job.id != number:
                self.broken("%s, which is job %d, was answered as job %d" % (name, job.id, number))

    def cancelling(self, name):
        with self.lock:
            if name in self.names:
                self.names[name].cancelling = self.names[name].cancelling or self.now()

    def cancelled(self, name):
        with self.lock:
            job = self.names.get(name)
            if job and not job.cancelled:
                job.cancelled = self.now()
                self.look_at_end(job, "its events came before")

    # What should have come by now

    def sweep(self, is_last=False):
        """At the end nothing may be left to come."""
        with self.lock:
            now, patience = self.now(), -1 if is_last else PATIENCE
            for name, job in list(self.names.items()):
                if self.is_over(job, now, patience):
                    self.forget_runs(job, 0)
                    self.names.pop(name)
                    self.jobs.pop(job.id, None)
                    self.closed += 1
                elif is_last:
                    self.forget_runs(job, 0)
            for watcher, orphans in enumerate(self.orphans):
                for identity, (seq, at) in list(orphans.items()):
                    if now - at > patience:
                        del orphans[identity]
                        self.broken("event %d was told to others and not to watcher %d, nor was it told again, marked: %r"
                                    % (seq, watcher, identity))

    def is_over(self, job, now, patience):
        """Says what is late, and whether all is said of the job."""
        if job.id is None:
            if job.added and now - job.added[0] > patience:
                self.broken("%s was answered, and nobody was told of it" % job.name)
                return True
            # Its request was lost on its way.
            return now - job.born > 2 * patience
        if job.ahead and now - job.date(min(job.ahead)) > patience:
            self.broken("%s: of its date %d, %.6f, nothing was told, but of later ones"
                        % (job.name, job.low + 1, job.date(job.low + 1)))
            job.low = min(job.ahead) - 1
            job.settle(job.low + 1)
        if job.ended is None:
            if job.cancelled and now - job.cancelled > patience:
                self.broken("%s: its end was answered, and nobody was told of it" % job.name)
                return True
            if not job.cancelling and now - job.date(job.low + 1) > patience + (job.step or 0) \
                    and not (job.step is None and job.low == 0):
                self.broken("%s: its date %d, %.6f, was not told" % (job.name, job.low + 1, job.date(job.low + 1)))
                job.settle(job.low + 1)
            return False
        if job.step is None and job.low < 0 and job.end_reason != "invalidated":
            self.broken("%s ended as %r without a fire" % (job.name, job.end_reason))
            job.low = 0
        return now - job.touched > patience and (job.cancelled is not None or job.step is None)

    def look_at_stored(self, jobs, rows):
        """At the end: all jobs, those that have ended among them, and the rows that are kept."""
        with self.lock:
            live = collections.Counter(job.get("name") for job in jobs if job["state"] not in ("finished", "invalidated"))
            for name, count in live.items():
                if count > 1:
                    self.broken("job %s is there %d times" % (name, count))
                if name not in self.names:
                    self.broken("job %s is there, which nobody has added, or whose end was told" % name)
            for name, job in self.names.items():
                if job.added and job.cancelling is None and job.ended is None and not live[name]:
                    self.broken("job %s was answered and is not there" % name)
                if live[name] and (job.cancelled or job.ended):
                    self.broken("job %s is there, and its end was %s" % (name, "told" if job.ended else "answered"))
            for each in jobs:
                job = self.jobs.get(each["id"])
                if job and each["fires"] != job.fires:
                    self.broken("job %s has fired %d times, and %d fires were told" % (job.name, each["fires"], job.fires))
            return self.look_at_rows(rows)

    def look_at_rows(self, rows):
        dates, seen = 0, collections.defaultdict(set)
        for row in rows:
            job = self.jobs.get(row["job"])
            if job is None or row.get("attempt", 1) not in (0, 1):
                continue
            first, is_skipped = job.number(instant(row["fireDate"])), row["state"] == "skipped"
            for number in range(first or 0, (first or 0) + row.get("dates", 1)):
                if number in seen[job.id]:
                    self.broken("%s: date %d has two rows: %r" % (job.name, number, row))
                seen[job.id].add(number)
                told = job.recent.get(number)
                if first is None or (told is None and number > job.low):
                    self.broken("%s: a row of which nothing was told: %r" % (job.name, row))
                elif told is not None and told.fire != (None if is_skipped else row["fire"]):
                    self.broken("%s: a date was told as fire %r and its row is %r" % (job.name, told.fire, row))
                dates += 1
        for number, of in seen.items():
            if max(of) - min(of) + 1 != len(of):
                self.broken("%s: %d of its dates between rows have none" % (self.jobs[number].name, max(of) - min(of) + 1 - len(of)))
            if max(of) < self.jobs[number].low - 1:
                self.broken("%s: its date %d was told, and its newest row is of %d" % (self.jobs[number].name, self.jobs[number].low, max(of)))
        return dates
