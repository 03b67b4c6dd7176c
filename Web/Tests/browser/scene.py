# SPDX-License-Identifier: Apache-2.0
"""What the tests look at: one daemon with jobs of each kind, runs, queues and a past; one page; one browser."""

import atexit
import datetime
import functools
import random
import sqlite3
import time
import zoneinfo

from browser import Browser
from programs import ZONE, Daemon, Web, wait

LONG = "nightly-export-of-all-customer-invoices-to-the-accounting-department-in-three-currencies-and-two-formats-with-checksums"
# Markup, quotes, an entity, text from right to left, an override of the direction, an emoji; 200 bytes.
EVIL = "<img src=x onerror=\"window.owned=1\">'\"&amp;</title><script>window.owned=1</script>{{7*7}} \u05d0\u05d1\u05d2 \u202eevil\u2066 \U0001f570"
EVIL += "x" * (200 - len(EVIL.encode()))
# The same for what a command may be given, and write: with colours and other orders to a terminal.
ESCAPES = "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b[2J\x1b[1;4;38;5;208morange\x1b[m \b\b\x9b31m \x7f" + EVIL
HOUR = 3600
MINUTE = 60


# For the pictures of the documents, in place of what is hostile or for its number alone.
ORDINARY = [
    ("rates", {"every": "5min"}, ["net"], ["/opt/rates", "--from", "ecb"]), ("mirror", {"cron": "20 */3 * * *"}, ["net"], ["rsync", "-a", "mirror::debian", "/srv/mirror"]),
    ("rotate-logs", {"cron": "0 0 * * *"}, [], ["logrotate", "/etc/logrotate.conf"]), ("vacuum", {"calendar": "Sat *-*-* 03:00"}, ["db"], ["vacuumdb", "--all"]),
    ("invoices", {"cron": "0 8 1 * *"}, ["web"], ["/opt/invoices", "--send"]), ("newsletter-stats", {"cron": "45 6 * * 1"}, ["web"], ["/opt/stats"]),
    ("thumbnails", {"every": "20min"}, ["web"], ["/opt/thumbnails", "--missing"]), ("smart", {"cron": "10 5 * * *"}, [], ["smartctl", "-t", "short", "/dev/sda"]),
    ("sitemap", {"every": "6h"}, ["web"], ["/opt/sitemap"]), ("trim", {"calendar": "Mon *-*-* 01:00"}, [], ["fstrim", "--all"]),
    ("expire-sessions", {"every": "10min"}, ["web", "db"], ["psql", "-c", "select expire_sessions()"]), ("snapshots", {"cron": "0 * * * *"}, ["db"], ["/opt/snapshot", "--keep", "48"]),
]


class Scene:
    def __init__(self, hostile=True):
        self.hostile = hostile
        self.daemon = Daemon()
        self.add_jobs()
        self.ordinary = {} if hostile else {name: self.daemon.add(name=name, schedule=schedule, tags=tags, command=command) for name, schedule, tags, command in ORDINARY}
        self.daemon.stop()
        self.add_past()
        self.daemon.start()
        self.run_some()
        self.web = Web(self.daemon)
        self.browser = Browser()
        atexit.register(self.browser.close)
        self.browser.open(self.web.url)

    def add_jobs(self):
        add, zone = self.daemon.add, "Europe/Berlin"
        self.heartbeat = add(name="heartbeat", schedule={"cron": "*/15 * * * *", "tz": zone}, tags=["net"],
                             command=["curl", "-fsS", "http://localhost/"])
        self.backup = add(name="backup", schedule={"cron": "30 2 * * *", "tz": zone}, tags=["db"], retries=2, timeout="2h",
                          command=["/opt/backup.sh", "--target", "s3://atlas-backup/daily", "--keep", "30"], env={"KEEP": "30"})
        self.report = add(name="report", schedule={"cron": "7 * * * *", "tz": zone}, tags=["web", "db"],
                          command=["sh", "-c", "echo 17 rows without a key >&2; exit 3"])
        self.index = add(name="index", schedule={"calendar": "Sun *-*-* 04:00", "tz": zone}, command=["sh", "-c",
                         "printf 'building 12 shards\\n\\033[32m\\342\\234\\224\\033[0m shard 1 in 41 s\\n'; sleep 600"])
        self.colours = add(name="colours", schedule={"at": "tomorrow 09:00"}, command=["printf", "%s\\n", ESCAPES])
        self.paused = add(name="certificates", schedule={"cron": "0 5 * * 1", "tz": zone}, paused=True, command=["certbot", "renew"])
        self.standup = add(name="standup", schedule={"cron": "0 9 * * 1-5", "tz": zone}, userInfo={"text": "stand up"})
        self.nameless = add(schedule={"every": "3h"}, command=["true"])
        self.queued = add(name="digest", schedule={"every": "6h"}, queue="mails", overlap="allow")
        if self.hostile:
            self.add_hostile(add)

    def add_hostile(self, add):
        self.long = add(name=LONG, schedule={"cron": "30 2,14 * * 1-5", "tz": "America/Argentina/ComodRivadavia"},
                        tags=["invoices", "accounting-department-long-tag-name"], command=["/usr/local/bin/export", "--all"])
        self.evil = add(name=EVIL, schedule={"every": "1h"}, tags=[EVIL], env={"EVIL": EVIL},
                        command=["printf", "%s", ESCAPES], userInfo={EVIL: EVIL}, onFailure=["true", EVIL])
        self.nowhere = add(name="nowhere", schedule={"every": "2h"}, command=["true"], cwd="/" + EVIL)
        self.daemon.ask("job.add", jobs=[{"name": f"poll-{number:03}", "schedule": {"every": "4h"}, "tags": ["poll"],
                                          "command": ["true"]} for number in range(230)])

    def add_past(self):
        """A past that nobody waits for: rows as the daemon writes them."""
        dice = random.Random(7)
        now = int(time.time())
        with sqlite3.connect(self.daemon.database) as store:
            number = max(store.execute("SELECT coalesce(max(id), 0) FROM fires").fetchone()[0], 1000)
            rows = []
            hour = now - now % HOUR
            # The day of the hours that nobody ran, which may be of the week before this one.
            self.missed = datetime.datetime.fromtimestamp(hour - 8 * HOUR, zoneinfo.ZoneInfo(ZONE)).date()
            rows += [(self.heartbeat, hour - MINUTE * 15 * back, 0.2 + dice.random()) for back in range(1, 96)]
            rows += [(self.report, hour + 7 * MINUTE - HOUR * back, 20 + 60 * dice.random()) for back in range(1, 70)]
            for name, every, most in (("rates", 5, 94), ("thumbnails", 20, 90), ("expire-sessions", 10, 94), ("snapshots", 60, 90), ("mirror", 180, 40), ("sitemap", 360, 20)):
                if name in self.ordinary:
                    rows += [(self.ordinary[name], hour - MINUTE * every * back, 1 + 20 * dice.random()) for back in range(1, most)]
            day = now - now % 86400 + HOUR + 30 * MINUTE
            rows += [(self.backup, day - 86400 * back, 60 * (20 + 20 * dice.random())) for back in range(1, 60)]
            for job, date, took in sorted(rows, key=lambda row: row[1]):
                number += 1
                fire = {"id": number, "job_id": job, "owner_id": 0, "fire_date_us": date * 10**6, "wall_date_us": date * 10**6}
                state, reason = "done", None
                if hour - 9 * HOUR < date <= hour - 7 * HOUR:
                    state, reason = "skipped", "misfire"  # nobody ran it
                elif job == self.backup and dice.random() < 0.06:
                    state, reason = "skipped", "overlap"
                fire.update(state=state, reason=reason, fired_at_us=date * 10**6 + 400 if state == "done" else None)
                insert(store, "fires", fire)
                if state != "done":
                    continue
                failed = dice.random() < (0.08 if job in (self.report, self.backup) else 0 if self.hostile else 0.01)
                timed_out = failed and dice.random() < 0.3
                insert(store, "runs", {
                    "id": number, "job_id": job, "fire_id": number, "attempt": 1, "started_at_us": date * 10**6 + 900,
                    "ended_at_us": int((date + took) * 10**6), "outcome": "timedOut" if timed_out else "exited",
                    "code": None if timed_out else 3 if failed else 0, "user_us": int(took * 2e5), "system_us": int(took * 3e4),
                    "peak_memory_bytes": dice.randrange(20, 300) << 20, "failed_owner_id": 0 if failed else None})

    def run_some(self):
        daemon = self.daemon
        for job in (self.report, self.colours, self.index, self.standup, *((self.nowhere, self.evil) if self.hostile else ())):
            daemon.ask("job.fire", id=job)
        self.failed_run = daemon.after(lambda run: run.get("failed"), self.report)["id"]
        self.colour_run = daemon.after(lambda run: run["state"] == "done", self.colours)["id"]
        if self.hostile:
            self.evil_run = daemon.after(lambda run: run["state"] == "done", self.evil)["id"]
        self.live_run = daemon.after(lambda run: run["state"] == "running", self.index)["id"]
        # Tasks: one dead, one delayed, one ready; one in another queue of a hostile name.
        daemon.ask("job.add", jobs=[{"schedule": {"in": "1ms"}, "queue": "mails", "name": "welcome-42"}])
        self.take("mails", reason="SMTP 550 no such user <script>")
        daemon.add(schedule={"in": "1ms"}, queue="mails", name="newsletter", retries=3, backoff="1h..2h")
        self.take("mails", reason="timeout")
        other = EVIL if self.hostile else "thumbnails"
        daemon.add(schedule={"in": "1ms"}, queue="mails", name=LONG[:40] if self.hostile else "welcome-43")
        daemon.add(schedule={"in": "1ms"}, queue=other, name="in another queue")
        daemon.ask("queue.set", queue="mails", maxReserved=8, maxRate="10/s")
        wait(lambda: [queue for queue in daemon.ask("queue.list")["queues"] if queue["queue"] == other and queue["ready"]],
             "the tasks are ready")

    def take(self, queue, reason):
        """Reserves a task and has it fail."""
        [task] = self.daemon.ask("task.reserve", queues=[queue], wait="60s")["tasks"]
        self.daemon.ask("task.fail", fire=task["fire"], token=task["token"], reason=reason)

    def pages(self):
        """Each page that there is: a name, and where it is."""
        return [
            ("now", "/"), ("calendar-week", "/calendar?view=week"), ("calendar-day", "/calendar?view=day"),
            ("calendar-month", "/calendar?view=month"), ("calendar-shift", "/calendar?view=week&date=2027-03-28"),
            ("jobs", "/jobs"), ("jobs-found", "/jobs?q=poll&sort=name"), ("jobs-none", "/jobs?q=nosuchjob"),
            ("job", f"/jobs/{self.backup}"), ("job-long", f"/jobs/{self.long}"), ("job-hostile", f"/jobs/{self.evil}"),
            ("job-paused", f"/jobs/{self.paused}"), ("job-end", f"/jobs/{self.backup}/end"), ("job-fire", f"/jobs/{self.backup}/fire"),
            ("change", f"/jobs/{self.backup}/change"), ("change-hostile", f"/jobs/{self.evil}/change"), ("add", "/add"),
            ("runs", "/runs"), ("runs-failed", "/runs?failed=1"), ("runs-none", "/runs?q=nosuchjob"),
            ("run", f"/runs/{self.failed_run}"), ("run-colours", f"/runs/{self.colour_run}"), ("run-live", f"/runs/{self.live_run}"),
            ("run-kill", f"/runs/{self.live_run}/kill"), ("queues", "/queues"), ("queue", "/queues/mails"), ("doctor", "/doctor"),
        ]

    def open(self, path):
        return self.browser.open(self.web.origin + path)


def insert(store, table, row):
    """A row by its columns' names."""
    store.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


@functools.cache
def scene():
    """The one that all tests share; those that stop a daemon or a page have their own."""
    return Scene()
