# SPDX-License-Identifier: Apache-2.0
"""With the keyboard alone."""

import unittest

from browser import Keys
from scene import scene


class Keyboard(unittest.TestCase):
    def setUp(self):
        self.scene, self.browser, self.daemon = scene(), scene().browser, scene().daemon

    def active(self):
        return self.browser.run("const e = document.activeElement; return (e.innerText || e.ariaLabel || e.name || e.id || e.nodeName).trim()")

    def tab_to(self, words, most=150):
        """Presses Tab until what is focused has these words."""
        for _ in range(most):
            self.browser.keys(Keys.TAB)
            if self.active() == words:
                return
        self.fail(f"no Tab leads to '{words}' at {self.browser.address}")

    def test_the_first_tab_is_the_way_past_the_top(self):
        self.scene.open("/jobs")
        self.browser.keys(Keys.TAB)
        self.assertEqual(self.active(), "Skip to the content")
        self.assertTrue(self.browser.find(".skip").is_displayed())
        self.browser.keys(Keys.ENTER)
        self.browser.until("document.activeElement.id === 'main'", "the content has the focus")

    def test_each_thing_that_can_be_used_is_reached_and_shows_the_focus(self):
        for path in ("/", f"/jobs/{self.scene.backup}", "/add", "/queues/mails", f"/runs/{self.scene.live_run}"):
            self.scene.open(path)
            # One radio button of a group is reached by Tab, the others by the arrows.
            wanted = self.browser.run("""return [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex='0']")]
                .filter((e) => e.checkVisibility() && !e.disabled && e.getClientRects().length && !(e.type === "radio" && !e.checked)).length""")
            seen = set()
            for _ in range(wanted + 20):
                self.browser.keys(Keys.TAB)
                number, outline, text = self.browser.run("""const e = document.activeElement, s = getComputedStyle(e);
                    window.order ??= new Map(); if (!window.order.has(e)) window.order.set(e, window.order.size);
                    return [window.order.get(e), s.outlineStyle !== "none" && parseFloat(s.outlineWidth) >= 2 || e === document.body, e.outerHTML.slice(0, 100)]""")
                self.assertTrue(outline, f"{path}: no ring around {text}")
                if number in seen and len(seen) >= wanted:
                    break
                seen.add(number)
            self.assertGreaterEqual(len(seen), wanted, f"{path}: not all of its controls are reached")

    def test_a_job_is_ended_by_keys_and_escape_changes_its_mind(self):
        job = self.daemon.add(name="by keys", schedule={"every": "1h"}, command=["true"])
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job)
        self.scene.open(f"/jobs/{job}")
        self.tab_to("End")
        self.browser.keys(Keys.ENTER)
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        self.assertEqual(self.active(), "Cancel")
        self.browser.keys(Keys.ESCAPE)
        self.browser.until("!document.querySelector('dialog')", "no dialog")
        self.assertEqual(self.active(), "End")
        self.assertEqual(self.daemon.job(job)["state"], "scheduled")
        self.browser.keys(Keys.ENTER)
        self.browser.until("document.querySelector('dialog[open]')", "a dialog")
        def end():
            for _ in range(6):
                if self.browser.run("return document.activeElement.matches('dialog form button')"):
                    break
                self.browser.keys(Keys.TAB)
            self.browser.keys(Keys.ENTER)
        self.browser.goes(end)
        self.assertEqual(self.daemon.job(job)["state"], "invalidated")
        self.assertEqual(self.browser.run("return document.activeElement.id"), "flash")
        self.tab_to("Undo", 3)
        self.browser.goes(lambda: self.browser.keys(Keys.ENTER))
        self.assertEqual(self.daemon.job(job)["state"], "scheduled")

    def test_a_job_is_added_by_keys(self):
        self.scene.open("/add")
        self.browser.run("document.querySelector('input[name=kind]:checked').focus()")
        for _ in range(6):
            if self.browser.run("return document.querySelector('input[name=kind]:checked').value") == "every":
                break
            self.browser.keys(Keys.ARROW_RIGHT)
        self.browser.run("document.querySelector('#f-schedule').focus()")
        self.browser.run("document.querySelector('#f-schedule').select()")
        self.browser.keys("45min", Keys.TAB)
        self.tab_to("name")
        self.browser.keys("added by keys")
        self.browser.goes(lambda: self.browser.keys(Keys.ENTER))
        job = self.daemon.ask("job.get", name="added by keys")["job"]
        self.addCleanup(self.daemon.ask, "job.invalidate", id=job["id"])
        self.assertEqual(job["schedule"], {"every": "45min"})


if __name__ == "__main__":
    unittest.main()
