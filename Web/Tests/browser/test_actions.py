# SPDX-License-Identifier: Apache-2.0
"""Each thing that can be done, by its button, with scripts and without; and what the daemon says of it then."""

import unittest

from scene import EVIL, scene
from programs import wait


class Actions(unittest.TestCase):
    def setUp(self):
        self.scene, self.browser, self.daemon = scene(), scene().browser, scene().daemon
        self.number = 0
        self.browser.forget()

    def tearDown(self):
        self.browser.scripts(True)
        self.assertEqual(self.browser.faults(), [])

    def job(self, **definition):
        """A job of this test's own."""
        Actions.count = getattr(Actions, "count", 0) + 1
        words = {"name": f"mine-{Actions.count}", "schedule": {"every": "1h"}, "command": ["true"], **definition}
        self.id = self.daemon.add(**words)
        self.addCleanup(self.daemon.ask, "job.invalidate", id=self.id, kill=True)
        self.name = words["name"]
        return self.id

    def show(self, path=None):
        self.scene.open(path or f"/jobs/{self.id}")

    def press(self, word, within="main"):
        self.browser.goes(lambda: self.browser.press(word, within))

    def flash(self):
        return self.browser.until("document.querySelector('#flash')?.innerText", "a flash")

    def test_firing_a_job_runs_it_and_says_so(self):
        self.show(f"/jobs/{self.job()}")
        self.press("Fire now")
        self.assertIn(self.name, self.flash())
        self.assertEqual(self.browser.path(), f"jobs/{self.id}")
        self.daemon.after(lambda run: run["state"] == "done", self.id)
        self.browser.until("document.querySelector('[data-live=history] .state.ok')", "the run is listed without a reload")

    def test_a_double_click_does_it_once(self):
        self.show(f"/jobs/{self.job()}")
        button = self.browser.button("Fire now")
        self.browser.goes(lambda: self.browser.run("for (let click = 0; click < 5; click += 1) arguments[0].click()", button))
        self.flash()
        self.assertEqual(self.daemon.job(self.id)["fires"], 1)

    def test_reading_the_page_again_does_not_tell_it_again(self):
        self.show(f"/jobs/{self.job()}")
        self.press("Fire now")
        self.flash()
        self.browser.driver.refresh()
        self.assertFalse(self.browser.has("#flash"))
        self.assertEqual(self.daemon.job(self.id)["fires"], 1)

    def test_a_job_is_paused_resumed_and_that_undone(self):
        self.show(f"/jobs/{self.job()}")
        self.press("Pause")
        self.assertEqual(self.daemon.job(self.id)["state"], "paused")
        self.press("Undo", "#flash")
        self.assertEqual(self.daemon.job(self.id)["state"], "scheduled")
        self.press("Pause")
        self.press("Resume", "aside")
        self.assertEqual(self.daemon.job(self.id)["state"], "scheduled")

    def test_dates_are_skipped(self):
        before = self.daemon.job(self.job())["fireDate"]
        self.show()
        self.browser.type("aside input[name=count]", "3")
        self.press("Skip")
        self.assertGreater(self.daemon.job(self.id)["fireDate"], before)
        self.assertFalse(self.browser.has("#flash button"))
        skipped = [run for run in self.daemon.runs(self.id) if run.get("reason") == "skip"]
        self.assertEqual(sum(run.get("dates", 1) for run in skipped), 3)

    def test_the_next_fire_is_moved_in_words(self):
        self.show(f"/jobs/{self.job(schedule={'cron': '0 4 * * *', 'tz': 'Europe/Berlin'})}")
        self.browser.type("aside input[name=to]", "tomorrow 09:15")
        self.press("Move")
        self.assertIn("09:15", self.flash())
        self.assertIn(":15:00", self.daemon.job(self.id)["fireDate"])
        self.assertIn("movedFrom", self.daemon.job(self.id))
        self.press("Undo", "#flash")
        self.assertNotIn("movedFrom", self.daemon.job(self.id))
        self.assertIn(":00:00", self.daemon.job(self.id)["fireDate"])

    def test_a_date_that_cannot_be_read_is_refused_in_the_daemons_words(self):
        before = self.daemon.job(self.job())["fireDate"]
        self.show()
        self.browser.type("aside input[name=to]", "<b>someday</b>")
        self.press("Move")
        self.browser.reads("<b>someday</b>")
        self.assertEqual(self.daemon.job(self.id)["fireDate"], before)
        self.browser.faults()  # the answer's status is an error's

    def test_ending_a_job_asks_first_and_can_be_undone(self):
        self.show(f"/jobs/{self.job()}")
        self.browser.press("End")
        words = self.browser.until("document.querySelector('dialog[open]')?.innerText", "a dialog")
        self.assertIn(self.name, words)
        self.assertEqual(self.browser.run("return document.activeElement.closest('dialog') !== null && document.activeElement.matches('[data-cancel]')"), True)
        self.browser.press("Cancel", "dialog")
        self.browser.until("!document.querySelector('dialog')", "the dialog is gone")
        self.assertEqual(self.daemon.job(self.id)["state"], "scheduled")
        self.browser.press("End")
        self.browser.until("document.querySelector('dialog[open] button')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual(self.daemon.job(self.id)["state"], "invalidated")
        self.press("Undo", "#flash")
        self.assertEqual(self.daemon.job(self.id)["state"], "scheduled")

    def test_a_run_is_killed_and_run_again(self):
        self.daemon.ask("job.fire", id=self.job(command=["sleep", "600"]))
        run = self.daemon.after(lambda run: run["state"] == "running", self.id)["id"]
        self.show(f"/runs/{run}")
        self.browser.press("Kill", "aside")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.daemon.after(lambda run: run["state"] == "done", self.id)
        self.show(f"/runs/{run}")
        self.press("Run again", "aside")
        self.daemon.after(lambda run: run["state"] == "running", self.id)

    def test_jobs_that_are_chosen_are_paused_together(self):
        self.job(tags=["together"])
        first = self.id
        second = self.job(tags=["together"])
        self.show("/jobs?tag=together")
        for box in self.browser.all("td input[name=id]"):
            box.click()
        self.browser.until("document.querySelector('[data-chosen]').textContent === '2 chosen'", "what is chosen is counted")
        self.browser.press("Pause")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["paused", "paused"])
        self.flash()
        self.press("Undo", "#flash")
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["scheduled", "scheduled"])
        self.assertIn("tag=together", self.browser.run("return location.search"))

    def choose_all(self):
        for box in self.browser.all("td input[name=id]"):
            if not box.is_selected():
                box.click()

    def test_undoing_a_pause_of_many_leaves_paused_what_was_paused_before(self):
        self.job(tags=["some"])
        first = self.id
        second = self.job(tags=["some"], paused=True)
        self.show("/jobs?tag=some")
        self.choose_all()
        self.browser.press("Pause")
        words = self.browser.until("document.querySelector('dialog[open]')?.innerText", "a dialog")
        self.assertIn("Pause 1 job?", words)
        self.assertIn("1 of the 2 that were chosen stays as it is", words)
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["paused", "paused"])
        self.press("Undo", "#flash")
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["scheduled", "paused"])
        self.choose_all()
        self.browser.press("Resume")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.press("Undo", "#flash")
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["scheduled", "paused"])

    def test_many_jobs_are_ended_and_that_undone(self):
        self.job(tags=["ended"])
        first = self.id
        second = self.job(tags=["ended"])
        self.show("/jobs?tag=ended")
        self.choose_all()
        self.browser.press("End")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["invalidated"] * 2)
        self.press("Undo", "#flash")
        self.assertEqual([self.daemon.job(job)["state"] for job in (first, second)], ["scheduled"] * 2)

    def test_what_cannot_be_undone_says_so_beside_its_button(self):
        self.show(f"/jobs/{self.job()}")
        words = {item.find_element("css selector", "button, a").text: item.text for item in self.browser.all("aside .actions li")}
        self.assertEqual([word for word, text in words.items() if "annot be undone" in text], ["Fire now", "Skip"])
        self.press("Skip")
        self.assertFalse(self.browser.has("#flash button"))

    def test_all_that_match_are_paused_also_those_of_other_pages(self):
        jobs = self.daemon.ask("job.add", jobs=[{"schedule": {"every": "9h"}, "tags": ["many"], "command": ["true"]} for _ in range(150)])["jobs"]
        self.addCleanup(self.daemon.ask, "job.invalidate", ids=[job["id"] for job in jobs])
        self.show("/jobs?tag=many")
        self.browser.find("input[name=all]").click()
        self.browser.press("Pause")
        self.assertIn("150", self.browser.until("document.querySelector('dialog[open] h1')?.innerText", "a dialog"))
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        states = {self.daemon.job(job["id"])["state"] for job in jobs}
        self.assertEqual(states, {"paused"})

    def test_all_that_match_are_those_of_what_was_typed_since(self):
        jobs = self.daemon.ask("job.add", jobs=[{"name": f"typed-{number:03}", "schedule": {"every": "9h"}, "tags": ["typed"]} for number in range(150)])["jobs"]
        other = self.job(tags=["typed"], name="another")
        self.addCleanup(self.daemon.ask, "job.invalidate", ids=[job["id"] for job in jobs])
        self.show("/jobs?tag=typed")
        self.browser.type("main input[name=q]", "typed-")
        self.browser.until("document.querySelector('#list .bulk').innerText.includes('all 150 that match')", "the search")
        self.browser.find("input[name=all]").click()
        self.browser.press("Pause")
        self.assertIn("150", self.browser.until("document.querySelector('dialog[open] h1')?.innerText", "a dialog"))
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual({self.daemon.job(job["id"])["state"] for job in jobs}, {"paused"})
        self.assertEqual(self.daemon.job(other)["state"], "scheduled")

    def test_nothing_chosen_is_told_and_nothing_is_done(self):
        self.show(f"/jobs?tag=poll")
        self.browser.goes(lambda: self.browser.press("Pause"))
        self.assertTrue(self.browser.has("main h1"))
        self.assertEqual([job for job in self.daemon.ask("job.list", tag="poll", state="paused")["jobs"]], [])
        self.browser.faults()

    def test_a_queue_is_paused_resumed_limited_kicked_and_its_dead_tasks_retried_and_dropped(self):
        def queue():
            return next(queue for queue in self.daemon.ask("queue.list")["queues"] if queue["queue"] == "mails")
        self.show("/queues/mails")
        self.press("Pause", "aside")
        self.assertTrue(queue().get("paused"))
        self.press("Undo", "#flash")
        self.assertFalse(queue().get("paused"))
        self.press("Pause", "aside")
        self.press("Resume", "aside")
        self.assertFalse(queue().get("paused"))
        self.browser.type("#f-maxReserved", "5")
        self.browser.type("#f-maxRate", "100/min")
        self.press("Set limits", "aside")
        self.assertEqual((queue()["maxReserved"], queue()["maxRate"]), (5, "100/min"))
        delayed = queue()["delayed"]
        self.assertGreater(delayed, 0)
        self.press("Kick", "aside")
        self.assertEqual(queue()["delayed"], 0)
        self.press("Retry dead", "aside")
        self.assertEqual(queue()["dead"], 0)
        while queue()["dead"] == 0:
            self.scene.take("mails", "again")
        self.show("/queues/mails")
        self.browser.press("Drop dead", "aside")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual(queue()["dead"], 0)

    def test_tasks_that_are_chosen_are_dropped(self):
        self.daemon.add(schedule={"in": "1ms"}, queue="chosen", name="to be dropped")
        wait(lambda: self.daemon.ask("task.list", queue="chosen")["tasks"], "the task is ready")
        self.show("/queues/chosen")
        self.browser.find("td input[name=fire]").click()
        self.browser.press("Drop")
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.browser.goes(lambda: self.browser.find("dialog form button").click())
        self.assertEqual(self.daemon.ask("task.list", queue="chosen")["tasks"], [])

    def test_a_queue_of_a_hostile_name_is_found_and_paused(self):
        self.show("/queues")
        self.browser.goes(lambda: [link for link in self.browser.all("th a") if link.text.startswith("<img")][0].click())
        self.press("Pause", "aside")
        self.assertTrue(next(queue for queue in self.daemon.ask("queue.list")["queues"] if queue["queue"] == EVIL).get("paused"))
        self.assertFalse(self.browser.run("return Boolean(window.owned)"))

    def test_all_of_it_works_without_scripts(self):
        self.job(command=["sleep", "600"])
        self.browser.scripts(False)
        self.show()
        self.press("Fire now")
        run = self.daemon.after(lambda run: run["state"] == "running", self.id)["id"]
        self.assertIn(self.name, self.browser.find("#flash").text)
        self.press("Pause", "aside")
        self.assertEqual(self.daemon.job(self.id)["state"], "paused")
        self.press("Undo", "#flash")
        self.assertEqual(self.daemon.job(self.id)["state"], "scheduled")
        self.show(f"/runs/{run}")
        self.press("Kill", "aside")
        self.assertEqual(self.browser.path(), f"runs/{run}/kill")
        self.browser.goes(lambda: self.browser.find("#confirm form button").click())
        self.daemon.after(lambda run: run["state"] == "done", self.id)
        self.show("/jobs?q=" + self.name)
        self.browser.find("td input[name=id]").click()
        self.press("Pause", ".bulk")
        self.browser.goes(lambda: self.browser.find("#confirm form button").click())
        self.assertEqual(self.daemon.job(self.id)["state"], "paused")
        self.show()
        self.press("End", "aside")
        self.browser.goes(lambda: self.browser.find("#confirm form button").click())
        self.assertEqual(self.daemon.job(self.id)["state"], "invalidated")


if __name__ == "__main__":
    unittest.main()
