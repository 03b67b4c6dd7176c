#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes crontab-lines.tsv: what cron does with fifty lines of real crontabs.

Run it as: python3 crontab-lines.py > crontab-lines.tsv

It shares nothing with timerd. It does what the cron of Debian does (3.0pl1-162; cron(8) tells of
it): once a minute it looks which lines match the local time, and when the local time jumps by less
than three hours, lines with a "*" in minute or hour follow the clock, while the others are run for
the minutes that were passed over, and not again for those that come twice.
"""

import datetime
import sys
import zoneinfo

MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
WORDS = {
    "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0", "@daily": "0 0 * * *", "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}  # fmt: skip


def values(field, low, high, names=(), base=0):
    """The numbers that a field matches."""

    def number(word):
        return names.index(word.lower()[:3]) + base if word[0].isalpha() else int(word)

    found = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        if span == "*":
            first, last = low, high
        elif "-" in span:
            first, last = map(number, span.split("-"))
        else:
            first = last = number(span)
        found.update(range(first, last + 1, int(step or 1)))
    assert all(low <= n <= high for n in found), field
    return found


class Line:
    def __init__(self, schedule):
        minute, hour, day, month, weekday = WORDS.get(schedule, schedule).split()
        self.minutes = values(minute, 0, 59)
        self.hours = values(hour, 0, 23)
        self.days = values(day, 1, 31)
        self.months = values(month, 1, 12, MONTHS, 1)
        self.weekdays = {n % 7 for n in values(weekday, 0, 7, DAYS)}
        self.is_wild = minute[0] == "*" or hour[0] == "*"
        self.is_either = day[0] != "*" and weekday[0] != "*"

    def matches_day(self, date):
        by_month = date.day in self.days
        by_week = date.isoweekday() % 7 in self.weekdays
        return date.month in self.months and (
            by_month or by_week if self.is_either else by_month and by_week
        )

    def matches(self, local):
        """Whether the minute, counted from 1970 on the local clock, is one of the line's."""
        date = EPOCH + datetime.timedelta(minutes=local)
        return date.minute in self.minutes and date.hour in self.hours and self.matches_day(date)


EPOCH = datetime.datetime(1970, 1, 1)


def dates(line, zone, start, count=5):
    """The first dates after start, by the loop of cron's main()."""
    zone = zoneinfo.ZoneInfo(zone)

    def offset(minute):
        moment = datetime.datetime.fromtimestamp(minute * 60, datetime.timezone.utc)
        return int(moment.astimezone(zone).utcoffset().total_seconds()) // 60

    found = []

    def run(now, local, wild, fixed):
        if (wild if line.is_wild else fixed) and line.matches(local):
            if not found or found[-1] != now:
                found.append(now)

    now = int(start.timestamp()) // 60
    virtual = now + offset(now)
    while len(found) < count:
        now += 1
        local = now + offset(now)
        gap = local - virtual
        if gap == 1:
            # A day of the local clock without a match, and without a change of the clock.
            day = EPOCH + datetime.timedelta(minutes=local)
            if local % 1440 == 0 and not line.matches_day(day):
                changes = any(offset(now + n) != offset(now) for n in range(0, 1441, 15))
                if not changes:
                    now += 1439
                    virtual = local + 1439
                    continue
            virtual = local
            run(now, local, True, True)
        elif 0 < gap <= 5:
            while virtual < local:
                virtual += 1
                run(now, virtual, True, True)
        elif 5 < gap < 180:
            run(now, local, True, False)
            while virtual < local:
                virtual += 1
                run(now, virtual, False, True)
        elif -180 < gap <= 0:
            run(now, local, True, False)
        else:
            virtual = local
            run(now, local, True, True)
    return [
        datetime.datetime.fromtimestamp(n * 60, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%MZ")
        for n in found
    ]


# Zone, start, whether the line has a user (s) or not (u), the line. The zones' clocks change on
# 2027-03-28 and 2027-10-31 (Berlin, London), 2027-03-14 (New York), 2027-04-04 and 2027-10-03
# (Lord Howe, by half an hour), 2027-04-03 and 2027-09-04, at midnight (Santiago).
LINES = r"""
UTC	2027-01-15T12:00Z	s	17 * * * * root cd / && run-parts --report /etc/cron.hourly
Europe/Berlin	2027-03-27T12:00Z	s	25 6 * * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.daily; }
Europe/Berlin	2027-03-20T12:00Z	s	47 6 * * 7 root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.weekly; }
America/New_York	2027-01-15T12:00Z	s	52 6 1 * * root test -x /usr/sbin/anacron || { cd / && run-parts --report /etc/cron.monthly; }
UTC	2027-01-15T12:00Z	s	30 7-23 * * * root [ -x /etc/init.d/anacron ] && if [ ! -d /run/systemd/system ]; then /usr/sbin/invoke-rc.d anacron start >/dev/null; fi
Europe/Berlin	2027-10-30T12:00Z	s	0 */12 * * * root test -x /usr/bin/certbot -a \! -d /run/systemd/system && perl -e 'sleep int(rand(43200))' && certbot -q renew --no-random-sleep-on-renew
Europe/Berlin	2027-03-27T23:00Z	s	09,39 * * * * root [ -x /usr/lib/php/sessionclean ] && if [ ! -d /run/systemd/system ]; then /usr/lib/php/sessionclean; fi
UTC	2027-01-15T12:00Z	s	5-55/10 * * * * root command -v debian-sa1 > /dev/null && debian-sa1 1 1
Europe/London	2027-10-29T12:00Z	s	59 23 * * * root command -v debian-sa1 > /dev/null && debian-sa1 60 2
Europe/Berlin	2027-03-20T12:00Z	s	30 3 * * 0 root test -e /run/systemd/system || SERVICE_MODE=1 /usr/lib/x86_64-linux-gnu/e2fsprogs/e2scrub_all_cron
Europe/Berlin	2027-03-27T12:00Z	s	10 3 * * * root test -e /run/systemd/system || SERVICE_MODE=1 /sbin/e2scrub_all -A -r
Europe/Berlin	2027-03-01T12:00Z	s	57 0 * * 0 root if [ -x /usr/share/mdadm/checkarray ] && [ $(date +\%d) -le 7 ]; then /usr/share/mdadm/checkarray --cron --all --idle --quiet; fi
UTC	2027-01-15T12:00Z	s	24 0 8-14 * * root if [ $(date +\%w) -eq 0 ] && [ -x /usr/lib/zfs-linux/scrub ]; then /usr/lib/zfs-linux/scrub; fi
UTC	2027-01-15T12:00Z	s	*/5 * * * * root if [ -x /usr/bin/munin-cron ]; then /usr/bin/munin-cron; fi
UTC	2027-01-15T12:00Z	s	*/10 * * * * munin test -x /usr/sbin/munin-node && date > /tmp/x
Europe/Berlin	2027-03-27T12:00Z	u	30 2 * * * /usr/local/bin/backup.sh
Europe/Berlin	2027-10-30T12:00Z	u	30 2 * * * /usr/local/bin/backup.sh
America/New_York	2027-03-13T12:00Z	u	30 2 * * * pg_dump shop | gzip > /var/backups/shop-$(date +\%F).sql.gz
America/New_York	2027-11-06T12:00Z	u	15 1 * * * pg_dump shop > /var/backups/shop.sql
Europe/Berlin	2027-03-27T12:00Z	u	*/30 2 * * * echo half
Europe/Berlin	2027-10-30T22:00Z	u	*/30 2 * * * echo half
Europe/Berlin	2027-10-30T23:30Z	u	0 * * * * /usr/bin/mbsync -aq
Europe/Berlin	2027-03-28T00:10Z	u	*/15 * * * * /usr/bin/fetchmail --silent
America/Santiago	2027-09-02T12:00Z	u	0 0 * * * /home/ana/bin/rotate
America/Santiago	2027-04-02T12:00Z	u	30 23 * * * /home/ana/bin/close-day
Australia/Lord_Howe	2027-10-01T12:00Z	u	15 2 * * * /usr/bin/rsync -a /srv/ backup:/srv/
Australia/Lord_Howe	2027-04-02T12:00Z	u	45 1 * * * /usr/bin/rsync -a /srv/ backup:/srv/
UTC	2027-01-15T12:00Z	u	0 0 * * 7 /usr/bin/apt-get -q update
UTC	2027-01-15T12:00Z	u	*/7 * * * * /usr/bin/check
UTC	2027-01-15T12:00Z	u	@weekly /usr/bin/updatedb
Europe/Berlin	2027-02-15T12:00Z	u	@monthly find /tmp -mtime +30 -delete
UTC	2027-01-15T12:00Z	u	@yearly echo happy new year
Asia/Kolkata	2027-01-15T12:00Z	u	@daily /usr/sbin/logrotate --state ~/.logrotate ~/.logrotate.conf
UTC	2027-01-15T12:00Z	u	@hourly /usr/bin/vnstat -u
UTC	2027-01-15T12:00Z	u	0 0 29 2 * echo leap
UTC	2027-01-15T12:00Z	u	0 0 13 * 5 echo the 13th, and each Friday
UTC	2027-01-15T12:00Z	u	0 9 1-7 * mon echo days 1 to 7, and each Monday
UTC	2027-01-15T12:00Z	u	0 9 */2 * mon echo a Monday of an odd day
UTC	2027-01-15T12:00Z	u	0 4 1,15 * * /usr/bin/payroll --half-month
Europe/Berlin	2027-01-15T12:00Z	u	0 9 * jan-mar,oct MON-FRI mail -s standup team%Good morning%%See you at nine
UTC	2027-01-15T12:00Z	u	0 8-18/2 * * 1-5 /opt/sync/run
UTC	2027-01-15T12:00Z	u	*/20 9-17 * * 1-5 cd /srv/app && php artisan schedule:run >> /dev/null 2>&1
UTC	2027-01-15T12:00Z	u	0 22 * * 1-5 mail -s "It's 10pm" joe%Joe,%%Where are your kids?%
UTC	2027-01-15T12:00Z	u	23 0-23/2 * * * echo "run 23 minutes after midn, 2am, 4am ..., everyday"
UTC	2027-01-15T12:00Z	u	5 4 * * sun echo "run at 5 after 4 every sunday"
UTC	2027-01-15T12:00Z	u	0 0 31 * * echo the 31st
UTC	2027-01-15T12:00Z	u	0 12 * feb,Apr Sat,sun echo names
Europe/Berlin	2027-01-15T12:00Z	u	0 3 1 1,4,7,10 * /usr/local/bin/quarter
America/New_York	2027-01-15T12:00Z	u	59 23 28-31 * * [ "$(date -d tomorrow +\%d)" = 01 ] && /opt/month-end
UTC	2027-01-15T12:00Z	u	1-59/2 6,18 * * * /usr/bin/odd-minutes
Europe/London	2027-03-27T12:00Z	u	0 1,13 * * * /usr/bin/duplicity incr ~ file:///mnt/backup
"""


def main():
    rows = [row.split("\t") for row in LINES.strip().splitlines()]
    print(f"# source: crontab-lines.py beside this file, run {datetime.date.today()} with Python")
    print(f"# {sys.version.split()[0]}: the loop of Debian's cron 3.0pl1-162, replayed minute by")
    print("# minute. Lines: /etc/crontab, anacron, certbot, php, sysstat, e2fsprogs, mdadm, munin")
    print("# as Debian installs them, the examples of crontab(5), and what people write themselves.")
    print("# The dates are the next five after start, in UTC; format s has a user column, u none.")
    print("zone\tstart\tformat\tline\tdates")
    for zone, start, kind, text in rows:
        words = text.split()
        schedule = words[0] if text[0] == "@" else " ".join(words[:5])
        moment = datetime.datetime.fromisoformat(start.replace("Z", "+00:00"))
        print(zone, start, kind, text, ";".join(dates(Line(schedule), zone, moment)), sep="\t")


main()
