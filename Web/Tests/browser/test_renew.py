# SPDX-License-Identifier: Apache-2.0
"""What an open page shows and keeps while others act, the daemon goes, or there is no page for what was asked for."""

import unittest

from programs import Daemon, Web, wait
from scene import scene


class Renew(unittest.TestCase):
    """With a daemon and a page of its own for each test."""

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.end)
        self.web = Web(self.daemon)
        self.addCleanup(self.web.program.kill)
        self.browser = scene().browser
        self.browser.forget()
        self.addCleanup(self.browser.open, "about:blank")
        self.browser.open(self.web.url)

    def opens(self, path):
        """Opens a page, waits until it is live, and marks it, to see that it is not loaded anew."""
        self.browser.open(self.web.origin + path)
        self.browser.until("document.querySelector('#live').textContent === 'live'", "the page is live")
        self.browser.run("window.marked = true")

    def same(self):
        self.assertTrue(self.browser.run("return window.marked === true"), "the page was loaded anew")

    def test_a_number_is_typed_into_the_search_of_runs_and_the_search_stays(self):
        self.daemon.after(lambda run: run["state"] == "done", self.daemon.add(name="2024", schedule={"in": "1ms"}, command=["true"]))
        self.opens("/runs")
        self.browser.type("main input[name=q]", "999")
        self.browser.until("document.querySelector('#list').innerText.includes('No run matches')", "nothing is found")
        self.browser.type("main input[name=q]", "2024")
        self.browser.until("document.querySelectorAll('#list tbody tr').length === 1", "the job of that name")
        self.assertEqual(self.browser.run("return document.activeElement.name"), "q")
        self.same()

    def test_what_cannot_be_shown_is_told_above_a_page_that_stays(self):
        self.daemon.add(name="stays", schedule={"every": "1h"}, command=["true"])
        self.opens("/jobs")
        self.browser.run("""const answered = window.fetch; window.wrong = true;
            window.fetch = (address, ...rest) => answered(window.wrong ? "/jobs/999999" : address, ...rest);""")
        self.browser.type("main input[name=q]", "stays")
        self.browser.until("document.querySelector('#away #trouble')?.innerText.includes('999999')", "why there is no page")
        self.assertEqual(self.browser.run("return [document.activeElement.name, document.activeElement.value]"), ["q", "stays"])
        self.assertIn("stays", self.browser.find("#list").text)
        self.browser.run("window.wrong = false")
        self.browser.type("main input[name=q]", "nothing of that name")
        self.browser.until("document.querySelector('#list .empty') && !document.querySelector('#trouble')", "it goes on")
        self.same()
        self.browser.faults()  # the answer's status was an error's

    def test_tasks_that_come_to_an_empty_queue_can_be_chosen_and_dropped(self):
        self.daemon.ask("queue.set", queue="mails", paused=True)
        self.opens("/queues/mails")
        self.assertIn("There is none.", self.browser.find("main").text)
        self.daemon.add(name="comes", schedule={"in": "1ms"}, queue="mails")
        self.browser.until("document.querySelectorAll('main table.list tbody tr').length === 1", "the task is a row of a table")
        self.browser.find("td.check input").click()
        self.browser.until("document.querySelector('[data-chosen]').textContent === '1 chosen'", "it is chosen")
        self.same()
        self.browser.press("Drop", "main form .bulk")
        self.browser.until("document.querySelector('dialog[open] #confirm')", "it asks first")

    def test_the_heading_of_a_queue_and_of_a_job_is_what_somebody_has_made_of_it(self):
        self.daemon.ask("queue.set", queue="mails", paused=True)
        self.opens("/queues/mails")
        self.assertIn("paused", self.browser.find("main .head").text)
        self.daemon.ask("queue.set", queue="mails", paused=False)
        self.daemon.add(schedule={"in": "1ms"}, queue="mails")
        self.browser.until("document.querySelector('main .head').innerText.includes('1 ready')", "the task is counted")
        self.assertNotIn("paused", self.browser.find("main .head").text)
        self.same()
        schedule = {"every": "1h"}
        job = self.daemon.add(name="before", tags=["old"], schedule=schedule, command=["true"])
        self.opens(f"/jobs/{job}")
        self.daemon.ask("job.apply", change=[{"id": job, "name": "after", "tags": ["new"], "schedule": schedule, "command": ["true"]}])
        self.browser.until("document.querySelector('main h1').innerText === 'after'", "its new name")
        self.assertEqual(self.browser.find("main .head .tag").text, "new")
        self.same()

    def test_a_fire_that_begins_to_wait_is_shown_as_that_though_no_event_tells_of_it(self):
        for number, (path, words) in enumerate([("/", "1 waiting"), ("/jobs/{}", "1 waits"), ("/jobs", "waiting"), ("/runs", "waiting")]):
            job = self.daemon.add(name=f"slow {number}", schedule={"every": "1h"}, overlap="queue", command=["sleep", "1000"])
            self.daemon.ask("job.fire", id=job)
            self.daemon.after(lambda run: run["state"] == "running" and "startedAt" in run, job)
            self.opens(path.format(job))
            self.assertNotIn(words, self.browser.find("main").text)
            self.daemon.ask("job.setFireDate", id=job, fireDate="+2s")
            self.browser.reads(words)
            self.same()
            self.daemon.ask("job.invalidate", id=job, kill=True)
            # Of those before, nothing waits.
            wait(lambda: not self.daemon.ask("run.list", open=True)["runs"], "its runs have ended")

    def test_what_others_do_with_a_queue_and_its_tasks_is_shown_though_no_event_tells_of_it(self):
        self.daemon.add(name="task", schedule={"in": "1ms"}, queue="mails")
        [task] = self.daemon.ask("task.reserve", queues=["mails"], wait="60s", lease="1h")["tasks"]
        self.opens("/queues/mails")
        self.assertIn("1 reserved", self.browser.find("main .head").text)
        self.daemon.ask("queue.set", queue="mails", paused=True)
        self.browser.until("document.querySelector('main .head').innerText.includes('paused')", "it is paused")
        self.daemon.ask("task.release", fire=task["fire"], token=task["token"], delay="2s")
        self.browser.until("document.querySelector('main .head').innerText.includes('1 ready')", "its task is ready again")
        self.same()
        self.opens("/queues")
        self.assertIn("paused", self.browser.find("#list").text)
        self.daemon.ask("queue.set", queue="mails", paused=False)
        self.browser.until("!document.querySelector('#list').innerText.includes('paused')", "it goes on")
        self.same()

    def test_the_page_of_a_run_goes_by_what_becomes_of_its_job(self):
        # So also by its next attempt, which is another run.
        job = self.daemon.add(name="ends", schedule={"every": "1h"}, command=["true"])
        self.daemon.ask("job.fire", id=job)
        run = self.daemon.after(lambda run: run["state"] == "done", job)["id"]
        self.opens(f"/runs/{run}")
        self.browser.button("Run again")
        self.daemon.ask("job.invalidate", id=job)
        self.browser.until("!document.querySelector('main').innerText.includes('Run again')", "it is not to be run again")
        self.same()

    def test_what_is_typed_and_chosen_outlives_a_restart_of_the_daemon(self):
        self.daemon.ask("queue.set", queue="mails", paused=True)
        self.daemon.add(name="waits", schedule={"in": "1ms"}, queue="mails")
        self.opens("/queues/mails")
        self.browser.until("document.querySelector('td.check input')", "the task")
        self.browser.find("td.check input").click()
        self.browser.type("input[name=maxRate]", "100/min")
        self.daemon.kill()
        self.browser.until("document.querySelector('#away .away')", "the page says that no daemon answers")
        self.assertTrue(self.browser.run("""const all = [...document.querySelectorAll("main button:not([data-copy])")];
            return all.length > 0 && all.every((button) => button.inert)"""), "nothing can be sent meanwhile")
        self.assertIn("waits", self.browser.find("main table").text)
        field = """const field = document.querySelector("input[name=maxRate]"); """
        self.assertEqual(self.browser.run(field + "return [field.value, document.activeElement === field, field.closest('[inert]')]"), ["100/min", True, None])
        self.assertFalse(self.browser.run(field + """return field.form.dispatchEvent(new SubmitEvent("submit", { bubbles: true, cancelable: true }))"""), "nor by Enter")
        self.daemon.start()
        self.browser.until("!document.querySelector('#away .away') && !document.querySelector('[inert]')", "the page goes on by itself")
        state = self.browser.run("""return [document.querySelector("input[name=maxRate]").value, document.querySelectorAll("td.check input:checked").length,
            document.activeElement.name]""")
        self.assertEqual(state, ["100/min", 1, "maxRate"])
        self.same()
        self.browser.faults()  # the answers while no daemon was there were errors

    def test_the_output_of_a_run_opened_while_no_daemon_answers_is_followed_once_one_does(self):
        go = self.daemon.folder / "go"
        job = self.daemon.add(name="writes", schedule={"in": "1ms"}, command=["sh", "-c",
            f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo last"])
        # One that is killed before a run has begun begins it under another number.
        run = self.daemon.after(lambda run: run["state"] == "running" and "startedAt" in run, job)["id"]
        self.daemon.kill()
        self.browser.open(f"{self.web.origin}/runs/{run}")
        self.browser.until("document.querySelector('#away .away')", "the page says that no daemon answers")
        self.browser.run("window.marked = true")
        self.daemon.start()
        self.browser.until("document.querySelector('#output')?.textContent.includes('first')", "what it had written")
        go.touch()
        self.browser.until("document.querySelector('#output').textContent.includes('last')", "what it writes since")
        self.browser.until("!document.querySelector('[data-follow]')", "the stream is over")
        self.same()
        self.browser.faults()  # the first answer's status is an error's

    def test_a_form_opened_while_no_daemon_answers_comes_with_it(self):
        self.daemon.stop()
        self.browser.open(self.web.origin + "/add")
        self.browser.until("document.querySelector('#away .away')", "the page says that no daemon answers")
        self.daemon.start()
        self.browser.until("document.querySelector('#f-schedule') && !document.querySelector('#away .away')", "the form")
        self.browser.find("input[name=kind][value=every]").click()
        self.browser.type("#f-schedule", "5min")
        self.browser.until("document.querySelectorAll('#preview .dates li').length === 5", "the dates while one types")
        self.browser.faults()  # the first answer's status is an error's


if __name__ == "__main__":
    unittest.main()
