# SPDX-License-Identifier: Apache-2.0
"""The words of a job."""
from __future__ import annotations

from datetime import datetime
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

from .values import Date, Duration, Json, date, duration, texts, without_none


def job(
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
    other: Optional[Mapping[str, Any]] = None,
) -> Json:
    """A definition of a job, for `add_all` and `job.apply`. `other` has further fields, by the names of docs/protocol.md.

    With neither of the schedule's words the job is due at once.
    """
    schedule: Json = without_none(
        {
            "in": None if in_ is None else duration(in_),
            "at": None if at is None else date(at),
            "every": None if every is None else duration(every),
            "cron": cron,
            "calendar": calendar,
        }
    )
    if other is not None and "schedule" in other:
        raise ValueError("the schedule is said by in_, at, every, cron, calendar, from_ and tz, not by 'schedule' in other")
    if len(schedule) > 1:
        raise ValueError("a schedule has one of in_, at, every, cron and calendar, not %s" % " and ".join(schedule))
    if not schedule:
        schedule = {"in": "0s"}
    schedule.update(without_none({"from": None if from_ is None else date(from_), "tz": tz}))
    definition: Json = without_none(
        {
            "queue": queue,
            "key": key,
            "keyKept": None if key_kept is None else duration(key_kept),
            "priority": priority,
            "retries": retries,
            "backoff": backoff,
            "userInfo": user_info,
            "name": name,
            "tags": None if tags is None else texts("tags", tags),
            "command": None if command is None else texts("command", command),
            "count": count,
            "until": None if until is None else date(until),
            "misfire": misfire,
            "overlap": overlap,
            "paused": paused,
        }
    )
    if schedule.get("at") is not None and misfire is None and isinstance(at, datetime):
        # A moment that has just passed is meant to be done now, and not to be refused.
        definition["misfire"] = "once"
    return {**definition, **dict(other or {}), "schedule": schedule}


def target(id: Union[int, Sequence[int], None], name: Optional[str], tag: Optional[str]) -> Json:
    """One of a number, a list of numbers, a name and a tag, as a request says it."""
    chosen: Json = without_none({"name": name, "tag": tag})
    if id is not None:
        if isinstance(id, int):
            chosen["id"] = id
        elif isinstance(id, (str, bytes, Mapping)) or not isinstance(id, Iterable):
            raise TypeError("id is a number or a list of numbers, not %.200r; a name is name=…" % (id,))
        else:
            chosen["ids"] = list(id)
    if len(chosen) != 1:
        raise ValueError("a job is named by one of id, name and tag, not by %s" % (" and ".join(chosen) or "none"))
    return chosen
