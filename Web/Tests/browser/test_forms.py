# SPDX-License-Identifier: Apache-2.0
"""Adding and changing, with a preview while one types; searching while one types."""

import unittest

from browser import Keys
from scene import EVIL, scene


class Forms(unittest.TestCase):
    def setUp(self):
        self.scene, self.browser, self.daemon = scene(), scene().browser, scene().daemon
        self.browser.forget()

    def tearDown(self):
        self.browser.scripts(True)
        self.assertEqual(self.browser.faults(), [])

    def kind(self, word):
        self.browser.find(f"input[name=kind][value={word}]").click()

    def preview(self, words):
        return self.browser.until(f"document.querySelector('#preview').innerText.includes({words!r})", f"the preview says {words!r}")

    def open_all(self):
        self.browser.run("for (const part of document.querySelectorAll('details')) part.open = true")

    def test_the_preview_says_dates_in_words_while_one_types(self):
        self.scene.open("/add")
        self.kind("cron")
        self.browser.type("#f-schedule", "30 2 * * *")
        self.browser.type("#f-tz", "Europe/Berlin")
        self.preview("02:30")
        self.assertEqual(len(self.browser.all("#preview .dates li")), 5)
        self.assertIn("CE", self.browser.find("#preview .dates li time").text)
        self.assertEqual(self.browser.run("return document.activeElement.id"), "f-tz")
        self.browser.type("#f-name", "it's")
        self.preview("timerctl add")
        self.preview("it")

    def test_the_line_to_copy_adds_the_same_job(self):
        self.scene.open("/add")
        self.kind("every")
        self.browser.type("#f-schedule", "5min")
        self.browser.type("#f-name", "a 'quoted' name")
        self.browser.type("#f-command", "printf '%s\\n' \"two words\" '$HOME'")
        line = self.browser.until("[...document.querySelectorAll('#preview .copy code')].map((code) => code.textContent).find((line) => line.includes('two words'))", "the line")
        import shlex
        words = shlex.split(line)
        self.assertEqual(words[:2], ["timerctl", "add"])
        self.assertIn("a 'quoted' name", words)
        self.assertEqual(words[words.index("--") + 1:], ["printf", "%s\\n", "two words", "$HOME"])

    def test_a_form_takes_the_key_of_a_fresh_page(self):
        """As behind a proxy, where the page may be started anew below what is typed."""
        self.scene.open("/add")
        key = self.browser.run("return document.querySelector('[name=csrf]').value")
        self.browser.run("document.querySelector('[name=csrf]').value = 'before';"
                         "void import(new URL('fresh.js', document.querySelector('script[type=module]').src)).then(({ read }) => read(location.href))")
        self.browser.until(f"document.querySelector('[name=csrf]').value === {key!r}", "the new key")

    def test_what_is_wrong_stands_at_its_field_while_one_types(self):
        self.scene.open("/add")
        self.kind("cron")
        self.browser.type("#f-schedule", "61 2 * * *" + Keys.TAB)
        error = self.browser.until("document.querySelector('#e-schedule')?.textContent", "the error at the schedule")
        self.assertIn("61", error)
        self.assertEqual(self.browser.find("#f-schedule").get_attribute("aria-invalid"), "true")
        self.browser.type("#f-schedule", "6 2 * * *")
        self.browser.until("!document.querySelector('#e-schedule')", "the error is gone")

    def test_a_job_is_added_changed_and_keeps_its_number(self):
        self.scene.open("/add")
        self.kind("cron")
        self.browser.type("#f-schedule", "5 4 * * *")
        self.browser.type("#f-tz", "Europe/Berlin")
        self.browser.type("#f-name", "added here")
        self.browser.type("#f-tags", "one, two words")
        self.browser.type("#f-command", "sh -c 'exit 3'")
        self.open_all()
        self.browser.type("#f-retries", "2")
        self.browser.type("#f-timeout", "2h")
        self.browser.goes(lambda: self.browser.press("Add it"))
        job = self.daemon.ask("job.get", name="added here")["job"]
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job["id"])
        self.assertEqual(self.browser.path(), f"jobs/{job['id']}")
        self.assertEqual(job["schedule"], {"cron": "5 4 * * *", "tz": "Europe/Berlin"})
        self.assertEqual((job["tags"], job["command"]), (["one", "two words"], ["sh", "-c", "exit 3"]))
        self.assertEqual((job["retries"], job["timeout"]), (2, "2h"))
        self.browser.goes(lambda: self.browser.press("Change", "aside"))
        self.open_all()
        self.assertEqual(self.browser.find("#f-schedule").get_attribute("value"), "5 4 * * *")
        self.browser.type("#f-schedule", "6 4 * * *")
        self.browser.goes(lambda: self.browser.press("Change it"))
        changed = self.daemon.job(job["id"])
        self.assertEqual(changed["schedule"]["cron"], "6 4 * * *")
        for field in ("name", "tags", "command", "retries", "timeout"):
            self.assertEqual(changed[field], job[field], field)

    def test_changing_nothing_changes_nothing_also_of_a_hostile_job(self):
        for job in (self.scene.evil, self.scene.backup, self.scene.queued, self.scene.standup):
            before = self.daemon.job(job)
            self.scene.open(f"/jobs/{job}/change")
            self.browser.goes(lambda: self.browser.press("Change it"))
            after = self.daemon.job(job)
            changed = {field: (before.get(field), after.get(field)) for field in {*before, *after} - {"revision"} if before.get(field) != after.get(field)}
            self.assertEqual(changed, {}, job)

    def test_a_change_by_somebody_else_meanwhile_is_not_overwritten(self):
        job = self.daemon.add(name="contended", schedule={"every": "1h"}, command=["true"])
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job)
        self.scene.open(f"/jobs/{job}/change")
        self.daemon.ask("job.apply", change=[{"id": job, "name": "contended", "schedule": {"every": "2h"}, "command": ["false"]}])
        self.browser.type("#f-schedule", "3h")
        self.browser.goes(lambda: self.browser.press("Change it"))
        self.assertEqual(self.daemon.job(job)["schedule"], {"every": "2h"})
        self.assertTrue(self.browser.has(".errors"), self.browser.words())
        self.browser.faults()

    def changed(self, **definition):
        """A job that the form has given another command and schedule."""
        job = self.daemon.add(**definition)
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job)
        before = self.daemon.job(job)
        self.scene.open(f"/jobs/{job}/change")
        self.browser.type("#f-schedule", "9 9 * * *" if "cron" in definition["schedule"] else "2h")
        self.browser.type("#f-command", "false")
        self.browser.goes(lambda: self.browser.press("Change it"))
        self.assertEqual(self.daemon.job(job)["command"], ["false"])
        return job, before

    def test_a_change_is_undone_with_all_that_the_form_does_not_have(self):
        for name, schedule in [("undone-grid", {"every": "7h"}), ("undone-cron", {"cron": "3 4 * * *", "tz": "Asia/Tokyo"})]:
            job, before = self.changed(name=name, schedule=schedule, command=["echo", "<b>'\"&"], env={"A": "1\n2"}, tags=["x"],
                                       userInfo={"a": [1, None]}, retries=2, jitter="5s")
            self.browser.goes(lambda: self.browser.press("Undo", "#flash"))
            after = self.daemon.job(job)
            changed = {field: (before.get(field), after.get(field)) for field in {*before, *after} - {"revision"} if before.get(field) != after.get(field)}
            self.assertEqual(changed, {}, name)

    def test_undoing_a_change_does_not_undo_what_somebody_has_changed_since(self):
        job, _ = self.changed(name="undone-late", schedule={"every": "7h"}, command=["true"])
        self.daemon.ask("job.apply", change=[{"id": job, "name": "undone-late", "schedule": {"every": "3h"}, "command": ["cat"]}])
        self.browser.goes(lambda: self.browser.press("Undo", "#flash"))
        self.assertEqual(self.daemon.job(job)["command"], ["cat"])
        self.assertIn("failed", self.browser.find("#flash").get_attribute("class"))
        self.browser.faults()  # the answer's status is an error's

    def test_errors_are_listed_at_the_top_and_what_was_typed_stays(self):
        self.scene.open("/add")
        self.kind("cron")
        self.browser.type("#f-schedule", "61 2 * * *")
        self.browser.type("#f-name", "backup")
        self.browser.type("#f-command", EVIL.replace("\U0001f570", "") .replace("'", ""))
        self.browser.goes(lambda: self.browser.press("Add it"))
        self.assertEqual(self.browser.run("return document.activeElement.id"), "errors")
        self.assertTrue(self.browser.has("#errors a[href$='#f-schedule']"))
        self.assertEqual(self.browser.find("#f-name").get_attribute("value"), "backup")
        self.assertIn("<img", self.browser.find("#f-command").get_attribute("value"))
        self.assertFalse(self.browser.run("return Boolean(window.owned)"))
        self.assertEqual(self.browser.axe(), [])
        self.browser.faults()

    def test_a_conflict_with_its_own_runs_is_told(self):
        self.scene.open(f"/jobs/{self.scene.backup}/change")
        self.kind("every")
        self.browser.type("#f-schedule", "5min")
        self.browser.until("document.querySelector('#preview .conflict')", "the conflict")
        self.assertIn("min on average", self.browser.find("#preview .conflict").text)

    def test_adding_works_without_scripts_with_a_button_for_the_preview(self):
        self.browser.scripts(False)
        self.scene.open("/add")
        self.kind("every")
        self.browser.type("#f-schedule", "7min")
        self.browser.type("#f-name", "without scripts")
        self.browser.goes(lambda: self.browser.press("Preview"))
        self.assertEqual(self.browser.find("#f-schedule").get_attribute("value"), "7min")
        self.assertEqual(len(self.browser.all("#preview .dates li")), 5)
        self.browser.goes(lambda: self.browser.press("Add it"))
        job = self.daemon.ask("job.get", name="without scripts")["job"]
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job["id"])
        self.assertEqual(job["schedule"], {"every": "7min"})

    def test_jobs_are_found_while_one_types_and_the_address_keeps_it(self):
        self.scene.open("/jobs")
        self.browser.type("#list, main input[name=q]".split(", ")[1], "poll-01")
        self.browser.until("document.querySelectorAll('#list tbody tr').length === 10", "ten jobs")
        self.browser.until("location.search.includes('q=poll-01')", "the address has it")
        self.assertEqual(self.browser.run("return document.activeElement.name"), "q")
        self.browser.driver.refresh()
        self.assertEqual(self.browser.find("main input[name=q]").get_attribute("value"), "poll-01")
        self.assertEqual(len(self.browser.all("#list tbody tr")), 10)

    def test_a_search_that_finds_nothing_and_goes_back_finds_again(self):
        self.scene.open("/jobs?tag=poll")
        self.browser.type("main input[name=q]", "nosuchjob")
        self.browser.until("document.querySelector('#list .empty')", "nothing is found")
        self.browser.type("main input[name=q]", "poll-001")
        self.browser.until("document.querySelectorAll('#list tbody tr').length === 1", "the job")

    def test_jobs_are_sorted_by_next_fire_and_by_name_and_paged(self):
        self.scene.open("/jobs")
        dates = self.browser.run("return [...document.querySelectorAll('#list tbody .next time')].map((time) => time.dateTime)")
        self.assertEqual(dates, sorted(dates))
        self.assertGreater(len(dates), 20)
        self.scene.open("/jobs?q=poll&sort=name")
        names, pages = [], 0
        while True:
            pages += 1
            names += self.browser.run("return [...document.querySelectorAll('#list tbody .name a')].map((a) => a.textContent).filter((name) => name.startsWith('poll-'))")
            following = self.browser.all("#list a[rel=next]")
            if not following:
                break
            self.browser.goes(following[0].click)
        self.assertEqual(names, [f"poll-{number:03}" for number in range(230)])
        self.assertGreater(pages, 1)

    def test_jobs_are_found_by_tag_state_and_number(self):
        for query, name in (("tag=net", "heartbeat"), ("state=paused", "certificates"), (f"q={self.scene.backup}", "backup"), ("q=s3://atlas", "backup")):
            self.scene.open("/jobs?" + query)
            names = self.browser.run("return [...document.querySelectorAll('#list tbody th a:first-child')].map((a) => a.textContent)")
            self.assertIn(name, names, query)


if __name__ == "__main__":
    unittest.main()
