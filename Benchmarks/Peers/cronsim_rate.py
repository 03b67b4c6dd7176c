# SPDX-License-Identifier: Apache-2.0
"""How many dates a second cronsim finds: the peer of `timerd-benchmarks schedules`.

    cronsim_rate.py EXPRESSION ZONE START DATES SECONDS

Goes through the first DATES dates after START (seconds since 1970), over and over, for SECONDS of
processor time. Prints JSON: "rate" in dates a second, "last" the last of those dates in seconds
since 1970, "version". Reading the expression is not counted.
"""

import importlib.metadata
import json
import platform
import sys
from collections import deque
from datetime import datetime, timezone
from itertools import islice
from time import process_time
from zoneinfo import ZoneInfo

from cronsim import CronSim


def main() -> None:
    expression, zone_name, start, dates, seconds = sys.argv[1:]
    # cronsim knows UTC by this object, and is faster with it than with the zone of that name.
    zone = timezone.utc if zone_name == "UTC" else ZoneInfo(zone_name)
    first = datetime.fromtimestamp(int(start), zone)
    elapsed, found, last = 0.0, 0, first
    while elapsed < float(seconds):
        iterator = islice(CronSim(expression, first), int(dates))
        begin = process_time()
        # The fastest way to run an iterator to its end.
        last = deque(iterator, maxlen=1)[0]
        elapsed += process_time() - begin
        found += int(dates)
    version = f"cronsim {importlib.metadata.version('cronsim')}"
    print(
        json.dumps(
            {
                "rate": found / elapsed,
                "last": int(last.timestamp()),
                "version": f"{version} on Python {platform.python_version()}",
            }
        )
    )


main()
