#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Delayed jobs for a web application, in place of the table that every web team writes again.

A request handler says what is to be done later, and may take it back or put it off; a worker does it when it is due:

    delayed_jobs.py later 30min reminder-42 '{"mail": "ann@example.org"}'
    delayed_jobs.py never reminder-42
    delayed_jobs.py work sequence

A name stands for at most one job: `later` with the same name puts it off. What was accepted is on disk.
"""
import json
import sys

from timerd import Refused, Timerd
from worker import work

TAG = "web"


def later(delay, name, payload):
    """In the transaction of the request, last: once this has returned, it will be done."""
    return Timerd().call(
        "job.add", schedule={"in": delay}, name=name, tags=[TAG], userInfo=payload, replace=True, misfire="once"
    )["job"]


def never(name):
    """Whether it was still to be done; once this has returned, it does not begin any more."""
    try:
        Timerd().call("job.invalidate", name=name)
        return True
    except Refused as refused:
        if refused.reason == "notFound":
            return False
        raise


def handle(event):
    """The application's own; it may see a fire twice after a crash, and tells that by `event["fire"]`."""
    print(event["fire"], event["name"], json.dumps(event.get("userInfo")), flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["later", delay, name, payload]:
            print(later(delay, name, json.loads(payload))["fireDate"])
        case ["never", name]:
            print("taken back" if never(name) else "it was done already, or never asked for")
        case ["work", file]:
            work(file, handle)
        case _:
            sys.exit(__doc__)
