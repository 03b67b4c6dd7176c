# SPDX-License-Identifier: Apache-2.0
"""The calendar says what the daemon says, also where clocks change; and who sees what."""

import datetime
import os
import pwd
import re
import unittest
import zoneinfo

from programs import ZONE, Daemon, Web
from raw import Peer
from scene import scene


def today():
    return datetime.datetime.now(zoneinfo.ZoneInfo(ZONE)).date()


def change(month):
    """The coming last Sunday of a month: clocks change on those of March and October."""
    def last(year):
        end = datetime.date(year, month, 31)
        return end - datetime.timedelta(days=end.isoweekday() % 7)
    day = last(today().year)
    return day if day > today() else last(today().year + 1)


class Calendar(unittest.TestCase):
    def setUp(self):
        self.scene, self.browser, self.daemon = scene(), scene().browser, scene().daemon

    def test_an_hour_that_clocks_leave_out_and_one_that_comes_twice_are_marked(self):
        forward, back = change(3), change(10)
        self.scene.open(f"/calendar?view=week&date={forward}")
        gone = self.browser.all("td.gone")
        self.assertEqual(len(gone), 1)
        self.assertEqual(self.browser.run("return document.querySelector('td.gone').parentElement.querySelector('th').textContent"), "02:00")
        self.assertIn(f"{forward.day} Mar", self.browser.find(".shift").text)
        self.scene.open(f"/calendar?view=week&date={back}")
        words = self.browser.run("return [...document.querySelectorAll('td.split a')].map((a) => a.textContent)")
        self.assertEqual([re.sub(r"[\d,]+ ", "", word).strip() for word in words], ["CEST", "CET"])
        self.assertIn(f"{back.day} Oct", self.browser.find(".shift").text)
        self.assertEqual(self.browser.axe(), [])

    def test_the_days_of_a_clock_change_have_23_and_25_hours(self):
        for date, hours in ((change(3), 23), (change(10), 25), (change(3) + datetime.timedelta(days=65), 24)):
            self.scene.open(f"/calendar?view=day&date={date}")
            rows = [row for row in self.browser.all("table.day tbody tr") if not row.get_attribute("class") or "gone" not in row.get_attribute("class")]
            self.assertIn(len(rows), (hours, 24 if hours == 23 else hours), date)
            links = self.browser.run("return [...document.querySelectorAll('table.day a[href]')].map((a) => a.getAttribute('href'))")
            self.assertEqual(len(links), len(set(links)), "two hours lead to the same dates")

    def test_cells_have_the_daemons_counts_and_lead_to_those_dates(self):
        zone = zoneinfo.ZoneInfo(ZONE)
        day = today() + datetime.timedelta(days=40)
        start, end = (datetime.datetime.combine(date, datetime.time(), zone).astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
                      for date in (day, day + datetime.timedelta(days=1)))
        self.scene.open(f"/calendar?view=day&date={day}&tag=poll")
        link = self.browser.run("return [...document.querySelectorAll('table.day a[href]')].map((a) => [a.href, parseInt(a.textContent.replace(/,/g, ''))]).find(([, count]) => count > 100)")
        self.assertTrue(link, "an hour with dates of all polls")
        address, count = link
        buckets = self.daemon.ask("job.calendar", **{"from": start, "before": end, "bucket": "hour", "tz": ZONE, "tag": "poll"})["buckets"]
        self.assertIn(count, [bucket["count"] for bucket in buckets])
        self.browser.open(address)
        self.browser.reads("poll-000")

    def test_the_past_has_what_became_of_it(self):
        self.scene.open(f"/calendar?view=week&date={self.scene.missed}")
        self.assertTrue(self.browser.all(".h-missed") or self.browser.all(".some-missed"), "the hours that nobody ran")
        self.scene.open(f"/jobs/{self.scene.heartbeat}")
        self.assertTrue(self.browser.all("[data-live=history] .b-missed"), "missed dates in the picture")
        self.browser.goes(lambda: self.browser.press("All its runs"))
        self.assertIn("heartbeat", self.browser.find("main").text)

    def test_a_date_on_a_clock_change_says_so_on_its_job(self):
        job = self.daemon.add(name="in the night", schedule={"calendar": "Sun *-03-25..31 02:30", "tz": "Europe/Berlin"}, command=["true"])
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job)
        self.scene.open(f"/jobs/{job}")
        self.assertIn("clocks go forward", self.browser.find("[data-live=next] .shift").text)
        self.assertIn("03:00 CEST", self.browser.find("[data-live=next]").text)


@unittest.skipUnless(os.getuid() == 0, "only root can be somebody else")
class Rights(unittest.TestCase):
    def test_the_page_may_what_its_user_may(self):
        daemon = Daemon()
        self.addCleanup(daemon.end)
        daemon.folder.chmod(0o755)
        secret = daemon.add(name="of root", schedule={"every": "1h"}, command=["true"])
        user = pwd.getpwnam("nobody")
        web = Web(daemon, user=user.pw_uid, group=user.pw_gid, extra_groups=[])
        self.addCleanup(web.program.kill)
        peer = Peer(web)
        peer.enter()
        for path in ("/", "/jobs", "/runs", "/calendar", f"/jobs?q={secret}"):
            answer = peer.request(path=path)
            self.assertEqual(answer.status, 200, path)
            self.assertNotIn(b"of root", answer.body, path)
            self.assertNotIn(b"No daemon answers", answer.body, path)
        for path in (f"/jobs/{secret}", f"/jobs/{secret}/end", f"/jobs/{secret}/change"):
            self.assertEqual(peer.request(path=path).status, 404, path)
        from urllib.parse import urlencode
        answer = peer.request("POST", f"/jobs/{secret}/fire", [f"Origin: {web.origin}"], urlencode({"csrf": peer.key()}).encode())
        self.assertIn(answer.status, (303, 404))
        self.assertEqual(daemon.job(secret)["fires"], 0)
        form = urlencode({"csrf": peer.key(), "kind": "every", "schedule": "1h", "name": "of nobody", "do": "save"}).encode()
        self.assertEqual(peer.request("POST", "/add", [f"Origin: {web.origin}"], form).status, 303)
        self.assertIn(b"of nobody", peer.request(path="/jobs").body)
        self.assertEqual([job["owner"] for job in daemon.ask("job.list")["jobs"] if job["name"] == "of nobody"], ["nobody"])


if __name__ == "__main__":
    unittest.main()
