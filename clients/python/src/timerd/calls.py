# SPDX-License-Identifier: Apache-2.0
"""What a web team needs, as values: each function makes the request of a method, and knows how its answer is read.

`Client` and `AsyncClient` have them as methods. Names of fields are those of docs/protocol.md.
"""
from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Union

from .call import Call, Pages
from .definition import job, target
from .errors import NotFound, Refused, refusal
from .task import Task
from .values import Date, Duration, Json, bounded, date, duration, without_none

Queues = Union[str, Sequence[str]]
AnyTask = Union[Task, Mapping[str, Any]]
Jobs = Union[int, Sequence[int], None]


class Changed(List[Json]):
    """The jobs of a change of several. Of many, all were changed, and the last ones are not told in full: `others` has their ids."""

    others: List[int] = []


# Jobs


def add(
    *,
    in_: Optional[Duration] = None,
    at: Optional[Date] = None,
    every: Optional[Duration] = None,
    cron: Optional[str] = None,
    calendar: Optional[str] = None,
    from_: Optional[Date] = None,
    tz: Optional[str] = None,
    queue: Optional[str] = None,
    key: Optional[str] = None,
    key_kept: Optional[Duration] = None,
    priority: Optional[int] = None,
    retries: Optional[int] = None,
    backoff: Optional[str] = None,
    user_info: Any = None,
    name: Optional[str] = None,
    tags: Optional[Sequence[str]] = None,
    command: Optional[Sequence[str]] = None,
    count: Optional[int] = None,
    until: Optional[Date] = None,
    misfire: Optional[str] = None,
    overlap: Optional[str] = None,
    paused: Optional[bool] = None,
    replace: bool = False,
    dry_run: bool = False,
    other: Optional[Mapping[str, Any]] = None,
) -> Call[Json]:
    """Adds a job and returns it; once this has returned it is on disk. Without in_, at, every, cron or calendar it is due at once.

    With `key` it may be said again: it then returns the job that is there, with `existing` true. With `dry_run` it is tried and answered, and nothing is added.
    """
    definition = job(
        in_=in_, at=at, every=every, cron=cron, calendar=calendar, from_=from_, tz=tz, queue=queue, key=key,
        key_kept=key_kept, priority=priority, retries=retries, backoff=backoff, user_info=user_info, name=name,
        tags=tags, command=command, count=count, until=until, misfire=misfire, overlap=overlap, paused=paused,
        other=other,
    )  # fmt: skip
    return add_definition({**definition, **_if(replace, replace=True), **_if(dry_run, dryRun=True)})


def add_definition(definition: Json) -> Call[Json]:
    return Call("job.add", definition, _job_with_notes)


def _job_with_notes(result: Any) -> Json:
    job: Json = dict(result["job"])
    for word in ("existing", "notes"):  # said beside the job
        if word in result:
            job.setdefault(word, result[word])
    return job


def add_all(jobs: Sequence[Mapping[str, Any]], *, replace: bool = False, dry_run: bool = False) -> Call[List[Json]]:
    """Adds all or none: 1 to 10,000 definitions, as `timerd.job(...)` makes them. What was there by its key has `existing` true."""

    def read(result: Any) -> List[Json]:
        there = frozenset(result.get("existing", ()))
        return [{**one, "existing": True} if one["id"] in there else one for one in result["jobs"]]

    return Call("job.add", {"jobs": [dict(item) for item in jobs], **_if(replace, replace=True), **_if(dry_run, dryRun=True)}, read)


def get(id: Optional[int] = None, *, name: Optional[str] = None) -> Call[Optional[Json]]:
    """The job, or None where there is none."""

    def absent(error: Refused) -> None:
        if not isinstance(error, NotFound):
            raise error

    return Call("job.get", target(id, name, None), _the("job"), absent)


def list_jobs(**filters: Any) -> Pages[Json]:
    """All jobs, read page by page; `filters` are those of `job.list`: all, state, name, tag, owner, search, held, order, last, limit."""
    return Pages("job.list", "jobs", filters, dict)


def runs(**filters: Any) -> Pages[Json]:
    """Fires and what became of them; `filters` are those of `run.list`."""
    return Pages("run.list", "runs", filters, dict)


def cancel(id: Jobs = None, *, name: Optional[str] = None, tag: Optional[str] = None, kill: bool = False) -> Call[Changed]:
    """Ends jobs (`job.invalidate`): once this has returned nothing of them begins. A name that no job has is NotFound."""
    return Call("job.invalidate", {**target(id, name, tag), **_if(kill, kill=True)}, _changed)


def pause(id: Jobs = None, *, name: Optional[str] = None, tag: Optional[str] = None) -> Call[Changed]:
    """Their dates pass without a fire until `resume`."""
    return Call("job.pause", target(id, name, tag), _changed)


def resume(id: Jobs = None, *, name: Optional[str] = None, tag: Optional[str] = None) -> Call[Changed]:
    """What was missed meanwhile follows each job's `misfire`."""
    return Call("job.resume", target(id, name, tag), _changed)


def set_fire_date(
    id: Optional[int] = None, when: Date = "now", *, name: Optional[str] = None, from_: Optional[Date] = None
) -> Call[Json]:
    """Moves the next fire, and returns the job; Conflict where its fire date is not `from_`, if that is said."""
    moved = {**target(id, name, None), "fireDate": date(when)}
    if from_ is not None:
        moved["from"] = date(from_)
    return Call("job.setFireDate", moved, _job_with_notes)


def fire(id: Optional[int] = None, *, name: Optional[str] = None) -> Call[int]:
    """Fires a job now, and returns the number of the fire."""
    return Call("job.fire", target(id, name, None), _number("fire"))


# Tasks


def reserve(
    queues: Queues, *, count: int = 1, lease: Duration = "1min", wait: Duration = 0, while_connected: bool = False
) -> Call[List[Task]]:
    """Up to `count` tasks, each this caller's alone for the lease. `wait` is how long to wait for the first; who waits has a connection of its own.

    With `while_connected` they go back at once when this client is closed, or its process dies.
    """
    params: Json = {
        "queues": [queues] if isinstance(queues, str) else list(queues),
        "count": count,
        "lease": duration(lease),
        **_if(duration(wait) != "0s", wait=duration(wait)),
        **_if(while_connected, whileConnected=True),
    }
    return Call("task.reserve", params, lambda result: [_reserved(item) for item in result["tasks"]])


def _reserved(item: Any) -> Task:
    """What is said of the task goes by its numbers, and what handles it is chosen by its queue and name."""
    for word in ("fire", "token"):
        _number(word)(item)
    for word in ("queue", "name"):
        if not isinstance(item.get(word), (str, type(None))):
            raise TypeError("'%s' is %r and no text" % (word, item[word]))
    return Task(item)


def extend(task: AnyTask, *, lease: Optional[Duration] = None, while_connected: Optional[bool] = None) -> Call[Json]:
    """The lease begins anew. Who has lost it hears LeaseLost, as from all that follow."""
    more = {"lease": None if lease is None else duration(lease), "whileConnected": while_connected}
    return Call("task.extend", {**_handle(task), **without_none(more)}, _the("task"))


def finish(task: AnyTask) -> Call[Json]:
    """Said again by the same attempt, it is answered again."""
    return Call("task.finish", _handle(task), _the("task"))


def finish_all(tasks: Sequence[AnyTask]) -> Call[List[Any]]:
    """Each by itself: its answer, or the exception that stands for it, in order."""
    return Call("task.finish", {"tasks": [_handle(task) for task in tasks]}, each)


def fail(task: AnyTask, reason: Optional[str] = None) -> Call[Json]:
    """The attempt has failed. It is tried again while there are retries, and is dead then."""
    return Call("task.fail", {**_handle(task), **without_none({"reason": None if reason is None else bounded(reason)})}, _the("task"))


def release(task: AnyTask, delay: Duration = 0) -> Call[Json]:
    """Gives it back, for now or later. That is no failure."""
    span = duration(delay)
    return Call("task.release", {**_handle(task), **_if(span != "0s", delay=span)}, _the("task"))


def list_tasks(*, queue: Optional[str] = None, state: Optional[str] = None, owner: Optional[str] = None) -> Pages[Task]:
    """Tasks that are not over; `state` is ready, delayed, reserved or dead."""
    return Pages("task.list", "tasks", without_none({"queue": queue, "state": state, "owner": owner}), Task)


def retry(
    *, queue: Optional[str] = None, fires: Jobs = None, count: Optional[int] = None, owner: Optional[str] = None
) -> Call[int]:
    """Dead tasks are ready again; how many. `owner`, of a queue: whose it is, for administrators; so in the next three."""
    return Call("task.retry", _some(queue, fires, count, owner=owner), _number("count"))


def drop(
    *,
    queue: Optional[str] = None,
    state: Optional[str] = None,
    fires: Jobs = None,
    count: Optional[int] = None,
    owner: Optional[str] = None,
) -> Call[int]:
    """Tasks are gone; how many. Of a queue those of one state: ready, delayed or dead."""
    return Call("task.drop", _some(queue, fires, count, state, owner), _number("count"))


def kick(queue: str, count: Optional[int] = None, *, owner: Optional[str] = None) -> Call[int]:
    """The next delayed tasks are ready at once; how many."""
    return Call("task.kick", without_none({"queue": queue, "count": count, "owner": owner}), _number("count"))


def queues(owner: Optional[str] = None, *, paused: Optional[bool] = None) -> Pages[Json]:
    """All queues, with how many tasks each has; with `paused` only those that are paused, or are not."""
    return Pages("queue.list", "queues", without_none({"owner": owner, "paused": paused}), dict)


def set_queue(
    queue: str,
    *,
    paused: Optional[bool] = None,
    max_reserved: Optional[int] = None,
    max_rate: Optional[str] = None,
    owner: Optional[str] = None,
) -> Call[Json]:
    """What is left out stays. `max_reserved` 0 and `max_rate` "none" are no limit. A queue that was not there before is made, and has `made` true."""
    more = {"paused": paused, "maxReserved": max_reserved, "maxRate": max_rate, "owner": owner}
    return Call("queue.set", {"queue": queue, **without_none(more)}, _queue)


def _queue(result: Any) -> Json:
    queue: Json = dict(result["queue"])
    if "made" in result:  # said beside the queue
        queue["made"] = result["made"]
    return queue


# Events


def subscribe(params: Json) -> Call[int]:
    """The number of the newest event."""
    return Call("events.subscribe", params, _number("seq"))


# Parts


def each(result: Any) -> List[Any]:
    """Of a list of tasks: an exception in the place of each error."""
    return [refusal(item["error"]) if "error" in item else item for item in result["tasks"]]


def _handle(task: AnyTask) -> Json:
    return task.handle if isinstance(task, Task) else {"fire": task["fire"], "token": task["token"]}


def _some(
    queue: Optional[str], fires: Jobs, count: Optional[int], state: Optional[str] = None, owner: Optional[str] = None
) -> Json:
    if (queue is None) == (fires is None):
        raise ValueError("tasks are named by one of queue and fires")
    if fires is not None:
        if count is not None or state is not None or owner is not None:
            raise ValueError("count, state and owner are for the tasks of a queue, not beside fires")
        return {"fires": [fires] if isinstance(fires, int) else list(fires)}
    return without_none({"queue": queue, "owner": owner, "state": state, "count": count})


def _if(condition: bool, **params: Any) -> Dict[str, Any]:
    return params if condition else {}


def _the(word: str) -> Callable[[Any], Json]:
    return lambda result: dict(result[word])


def _number(word: str) -> Callable[[Any], int]:
    def read(result: Any) -> int:
        number = result[word]
        if not isinstance(number, int) or isinstance(number, bool):
            raise TypeError("'%s' is %r and no integer" % (word, number))
        return number

    return read


def _changed(result: Any) -> Changed:
    changed = Changed(result["jobs"])
    changed.others = list(result.get("others", ()))
    return changed
