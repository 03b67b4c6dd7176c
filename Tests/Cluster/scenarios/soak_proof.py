# SPDX-License-Identifier: Apache-2.0
"""Whether the soak's ledger can find what it is for: a small, sound story, and the same with one thing wrong each time."""
from cluster.client import date
from cluster.tally import Tally

START = 1_800_000_000.0


class Story:
    """Three jobs with a date each second, and one that fires once; what two watchers are told, what clients know, and what is stored."""

    def __init__(self):
        self.told, self.jobs, self.rows, self.lines, fire = [], [], [], [], 0
        for number in (1, 2, 3, 4):
            self.say("job.added", START, number, fireDate=date(START + 1 + number / 10))
        for second in range(1, 9):
            for number in (1, 2, 3, 4):
                if number == 4 and second > 1:
                    continue
                fire += 1
                at, due = START + second + number / 10 + 0.001, date(START + second + number / 10)
                if number == 2 and second == 4:
                    self.say("fire.skipped", at, 2, fireDate=due, dates=1, reason="coalesced")
                    self.rows.append({"job": 2, "fireDate": due, "state": "skipped", "reason": "coalesced"})
                    continue
                self.say("fire.fired", at, number, fire=fire, fireDate=due, firedAt=date(at))
                self.rows.append({"job": number, "fireDate": due, "state": "fired", "fire": fire})
                if number == 3:
                    self.say("run.finished", at, 3, fire=fire, run=fire, attempt=1, outcome="exited", status=0, fireDate=due)
                    self.lines.append((3, fire))
                if number == 4:
                    self.say("job.finished", at, 4, reason="once")
        self.again = len(self.told)
        # A fire that is told again, as after a kill.
        self.told.append(dict(self.last(1), seq=len(self.told) + 1, redelivered=True))
        for number in (1, 2):
            self.say("job.invalidated", START + 8.9, number, reason="invalidated")
        self.jobs = [{"id": number, "name": "j%d" % number, "state": "scheduled" if number == 3 else "invalidated",
                      "fires": sum(row["job"] == number and row["state"] == "fired" for row in self.rows)} for number in (1, 2, 3, 4)]
        self.streams = [list(self.told), list(self.told)]
        self.stored = {event["seq"] for event in self.told}
        self.answered = {"j%d" % number: number for number in (1, 2, 3, 4)}
        self.cancelled = {"j1": START + 8.9, "j2": START + 8.9}

    def say(self, kind, at, job, **more):
        self.told.append(dict(more, type=kind, at=date(at), job=job, name="j%d" % job, seq=len(self.told) + 1))

    def last(self, job):
        return [event for event in self.told if event["job"] == job and event["type"] == "fire.fired"][-1]

    def index(self, kind, job, count=0):
        return [number for number, event in enumerate(self.told) if (event["type"], event["job"]) == (kind, job)][count]

    def found(self):
        """What the ledger finds."""
        found = []
        tally = Tally(found.append, 2)
        tally.now = lambda: START + 10
        for name in ("j1", "j2", "j3", "j4"):
            tally.asked(name, None if name == "j4" else 1.0, name == "j3")
        for job in tally.names.values():
            job.born = START
        for name, number in self.answered.items():
            if name not in tally.names:
                tally.asked(name)
            tally.added(name, number)
        for name in self.cancelled:
            tally.cancelling(name)
        lines, streams = list(self.lines), [list(stream) for stream in self.streams]
        while any(streams):
            for watcher in (0, 1):
                for event in streams[watcher][:3]:
                    tally.tell(watcher, event)
                del streams[watcher][:3]
            while lines and tally.wrote(*lines[0]):
                lines.pop(0)
        for name, at in self.cancelled.items():
            tally.now = lambda: at
            tally.cancelled(name)
        tally.now = lambda: START + 9.15
        tally.compare(self.stored, max(event["seq"] for event in self.told))
        tally.look_at_stored(self.jobs, self.rows)
        tally.sweep(is_last=True)
        return found


def everywhere(story, change):
    for stream in story.streams:
        change(stream)


def changed(index, **fields):
    def change(stream):
        stream[index] = dict(stream[index], **fields)
    return change


def faults(story):
    """Each a name and what spoils a story."""
    fired, late = story.index("fire.fired", 1, 3), story.index("fire.fired", 1, 6)
    again = len(story.told) - 3

    def drop(index):
        return lambda stream: stream.pop(index)

    def repeat(index, **fields):
        return lambda stream: stream.append(dict(stream[index], seq=len(stream) + 1, **fields))

    return {
        "an event that one watcher was not told": lambda s: s.streams[1].pop(fired),
        "an event that nobody was told": lambda s: everywhere(s, drop(fired)),
        "a date that nobody was told of, nor stored": lambda s: (everywhere(s, drop(fired)), s.stored.discard(fired + 1)),
        "a date without a row": lambda s: s.rows.pop(next(i for i, row in enumerate(s.rows) if row["job"] == 1 and i > 6)),
        "a row that nobody was told of": lambda s: s.rows.append({"job": 1, "fireDate": date(START + 30.1), "state": "fired", "fire": 99}),
        "a date with two rows": lambda s: s.rows.append(dict(s.rows[0])),
        "a row of another fire": lambda s: s.rows[5].update(fire=77),
        "one date as two fires": lambda s: everywhere(s, repeat(late, fire=98)),
        "a fire told twice, unmarked": lambda s: everywhere(s, changed(again, redelivered=False)),
        "a fire and a skip of one date": lambda s: everywhere(s, repeat(late, type="fire.skipped", fire=None, reason="coalesced")),
        "a number told twice": lambda s: everywhere(s, changed(late, seq=late)),
        "one number told as two things": lambda s: changed(fired, fire=97)(s.streams[1]),
        "a skip for a reason that is none": lambda s: everywhere(s, changed(s.index("fire.skipped", 2), reason="paused")),
        "a date off the grid": lambda s: everywhere(s, changed(fired, fireDate=date(START + 4.4))),
        "a fire ahead of its date": lambda s: everywhere(s, changed(fired, firedAt=date(START + 4.0))),
        "a fire after an answered end": lambda s: s.cancelled.update(j1=START + 7.5),
        "an end that nobody asked for": lambda s: s.cancelled.pop("j1"),
        "an answered end that nobody was told": lambda s: (everywhere(s, drop(len(s.told) - 1)), s.stored.discard(len(s.told)),
                                                          s.jobs[1].update(state="scheduled")),
        "an answered add that is not there": lambda s: s.answered.update(j9=9),
        "a live job that is not there": lambda s: s.jobs.pop(2),
        "a live job that nobody added": lambda s: s.jobs.append({"id": 50, "name": "x", "state": "scheduled", "fires": 0}),
        "a job that is there twice": lambda s: s.jobs.append(dict(s.jobs[2], id=51)),
        "a count of fires that is another": lambda s: s.jobs[2].update(fires=7),
        "a command that ran twice": lambda s: s.lines.append(s.lines[2]),
        "a command that exited and never ran": lambda s: s.lines.pop(2),
        "a run whose end nobody was told": lambda s: (everywhere(s, drop(s.index("run.finished", 3, 2))),
                                                      s.stored.discard(s.index("run.finished", 3, 2) + 1)),
        "a one-shot that ended without its fire": lambda s: (everywhere(s, drop(s.index("fire.fired", 4))),
                                                             s.stored.discard(s.index("fire.fired", 4) + 1), s.jobs[3].update(fires=0),
                                                             s.rows.pop(3)),
    }


def run():
    """How many faults were found, and fed."""
    found = Story().found()
    if found:
        raise SystemError("the ledger finds something in what is sound: %s" % found[0])
    names = list(faults(Story()))
    for name in names:
        story = Story()
        faults(story)[name](story)
        if not story.found():
            raise SystemError("the ledger does not find %s" % name)
    return len(names), len(names)
