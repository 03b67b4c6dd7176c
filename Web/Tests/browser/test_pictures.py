# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documents, made of the page as it is; only where TIMERD_PICTURES names their folder."""

import os
import pathlib
import unittest

from scene import Scene

FOLDER = os.environ.get("TIMERD_PICTURES")


@unittest.skipUnless(FOLDER, "TIMERD_PICTURES names no folder")
class Pictures(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scene = Scene(hostile=False)
        cls.browser = cls.scene.browser

    def setUp(self):
        self.folder = pathlib.Path(FOLDER).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.addCleanup(self.browser.looks)

    def picture(self, name, height, ready="document.readyState === 'complete'"):
        self.browser.until(ready)
        file = self.folder / f"page-{name}.png"
        self.browser.picture(file, height)
        self.assertGreater(file.stat().st_size, 5000)

    def test_each_page(self):
        job = f"/jobs/{self.scene.backup}"
        for name, path, height in (("now", "/", 820), ("calendar", "/calendar?view=week", 900), ("jobs", "/jobs", 700), ("job", job, 900),
                                   ("run", f"/runs/{self.scene.live_run}", 520), ("runs", "/runs?failed=1", 620), ("queue", "/queues/mails", 600),
                                   ("queues", "/queues", 400), ("doctor", "/doctor", 520), ("month", "/calendar?view=month", 620), ("day", "/calendar?view=day", 900)):
            self.scene.open(path)
            self.picture(name, height)

    def test_the_form_with_its_preview(self):
        self.scene.open("/add")
        self.browser.find("input[name=kind][value=cron]").click()
        for field, text in (("schedule", "30 2 * * *"), ("tz", "Europe/Berlin"), ("name", "backup-of-mails"), ("tags", "db, nightly"), ("command", "/opt/backup.sh --target s3://atlas-backup/mails")):
            self.browser.type(f"#f-{field}", text)
        self.picture("add", 760, "document.querySelector('#preview').textContent.includes('mails')")

    def test_a_dialog(self):
        self.scene.open(f"/jobs/{self.scene.backup}")
        self.browser.press("End")
        self.picture("end", 700, "document.querySelector('dialog[open]')")

    def test_in_the_dark_and_on_a_telephone(self):
        self.browser.looks(dark=True)
        self.scene.open("/")
        self.picture("dark", 820)
        self.browser.looks(width=360, height=740, scale=2)
        for name, path in (("small", "/"), ("small-job", f"/jobs/{self.scene.backup}")):
            self.scene.open(path)
            self.picture(name, 740)


if __name__ == "__main__":
    unittest.main()
