# SPDX-License-Identifier: Apache-2.0
"""Whether each date is one fire or has its reason, and each event was told in order, at least once."""
import collections

from .client import instant


def percentile(values, part):
    values = sorted(values)
    return values[min(int(len(values) * part), len(values) - 1)] if values else 0.0


def check_order(world, watcher, fresh):
    """What a watcher that went on from its last number has been told, against one that asked for all at the end."""
    last = 0
    for _, event in watcher.events:
        if event["seq"] <= last:
            world.broken("event %d came to a watcher after %d" % (event["seq"], last))
        last = max(last, event["seq"])
    for lost in watcher.lost + fresh.lost:
        world.broken("events.lost was told: %r" % lost)
    seen = {event["seq"]: event for _, event in watcher.events}
    missed = [event for _, event in fresh.events if event["seq"] not in seen]
    if missed:
        world.broken("%d events are kept that a watcher was not told, the first: %r" % (len(missed), missed[0]))
    for _, event in fresh.events:
        if event["seq"] in seen and seen[event["seq"]] != event:
            world.broken("event %d was told as %r and is %r" % (event["seq"], seen[event["seq"]], event))


def check_dates(world, events, due, runs, bound):
    """`due`: the one date of each job. Answers how late each fire was, in seconds."""
    fires, skips = collections.defaultdict(list), collections.defaultdict(list)
    for _, event in events:
        if event.get("job") in due and event["type"] == "fire.fired":
            fires[event["job"]].append(event)
        elif event.get("job") in due and event["type"] == "fire.skipped":
            skips[event["job"]].append(event)
    rows = collections.defaultdict(list)
    for run in runs:
        rows[run["job"]].append(run)
    late, repeated = [], 0
    for job, at in due.items():
        told = fires[job]
        if not told and not skips[job]:
            world.broken("job %d, due at %.3f, was neither told as fired nor as skipped; its rows: %r"
                         % (job, at, rows[job]))
            continue
        if told and skips[job]:
            world.broken("job %d fired and was skipped: %r %r" % (job, told, skips[job]))
        if len({event["fire"] for event in told}) > 1:
            world.broken("job %d has several fires of its one date: %r" % (job, told))
        for event in told[1:]:
            repeated += 1
            if not event.get("redelivered"):
                world.broken("job %d was told twice, not as redelivered: %r" % (job, told))
        if told:
            late.append(instant(told[0]["firedAt"]) - at)
            if late[-1] > bound:
                world.broken("job %d fired %.3f s after its date" % (job, late[-1]))
            if late[-1] < -0.0005:
                world.broken("job %d fired %.6f s before its date" % (job, -late[-1]))
        states = [(row["state"], row.get("attempt")) for row in rows[job]]
        if len({row["fire"] for row in rows[job]}) != 1:
            world.broken("job %d has %d rows of its one date: %r" % (job, len(states), rows[job]))
    return late, repeated


def check_grid(world, job, interval, runs, allowed=("coalesced", "misfire", "overload", "overlap", "lineFull", "replaced", "misfireLimit", "invalidated")):
    """The rows of a job on a grid: no date without one, none with two."""
    step = interval * 1e6
    dates = collections.Counter()
    for run in runs:
        if run.get("attempt", 1) not in (0, 1) or run.get("onFailure") or run.get("onSuccess"):
            continue
        first = round(instant(run["fireDate"]) * 1e6)
        for number in range(run.get("dates", 1)):
            dates[round((first + number * step) / 100)] += 1
        if run["state"] == "skipped" and run.get("reason") not in allowed:
            world.broken("job %d: a date was skipped as %r" % (job, run.get("reason")))
    twice = [at for at, count in dates.items() if count > 1]
    if twice:
        world.broken("job %d: %d dates have two rows, such as %d" % (job, len(twice), twice[0]))
    ordered = sorted(dates)
    holes = [(a, b) for a, b in zip(ordered, ordered[1:]) if abs((b - a) - step / 100) > 60]
    if holes:
        world.broken("job %d: dates without a row between %r; %d rows" % (job, holes[:3], len(runs)))
    return len(ordered)
