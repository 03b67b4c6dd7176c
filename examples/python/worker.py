#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker that misses no fire: worker.py FILE

Prints each fire as a line of JSON. FILE keeps the number of the last event that was dealt with, so a worker that was
killed, or a daemon that was, costs nothing: the next one goes on behind it. Events come at least once, each with a
number that is never used again; what may come twice is a fire that was told and not yet noted down.
"""
import json
import os
import sys
import time

from timerd import Timerd


def read(path):
    try:
        with open(path) as file:
            return int(file.read())
    except FileNotFoundError:
        return 0  # from the first event that is kept


def write(path, seq):
    """Whole or not at all, whatever happens meanwhile."""
    with open(path + ".new", "w") as file:
        file.write(str(seq))
        file.flush()
        os.fsync(file.fileno())
    os.rename(path + ".new", path)


def work(path, deal_with):
    while True:
        try:
            for method, event in Timerd().events(since=read(path), types=["fire.fired"]):
                if method == "events.lost":
                    print(f"events {event['after'] + 1} to {event['through']} are no longer kept", file=sys.stderr)
                    continue
                deal_with(event)
                write(path, event["seq"])
        except BrokenPipeError:
            raise  # nobody reads what it writes any more
        except (ConnectionError, FileNotFoundError) as error:
            print(f"worker: {error}, trying again", file=sys.stderr)
            time.sleep(1)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    work(sys.argv[1], lambda event: print(json.dumps(event), flush=True))
