# SPDX-License-Identifier: Apache-2.0
"""Each page, as it may be looked at."""

import unittest

from scene import scene


class Pages(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.scene, self.browser = scene(), scene().browser
        self.addCleanup(self.browser.looks)
        self.browser.forget()

    def each(self, check):
        """Opens each page, and tells all that is wrong with any."""
        wrong = []
        for name, path in self.scene.pages():
            self.scene.open(path)
            wrong += [f"{name} ({path}): {fault}" for fault in check(name)]
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))

    def test_each_page_has_one_title_one_current_place_and_no_complaint_of_the_browser(self):
        def check(name):
            titles = self.browser.all("main h1")
            if len(titles) != 1:
                yield f"has {len(titles)} titles: {self.browser.words()[:300]}"
            title, _, where = self.browser.run("return document.title").partition(" · timerd on ")
            if not title.strip() or not where:
                yield f"has no title of its own but '{title}'"
            if self.browser.run("return Boolean(window.owned)"):
                yield "ran a script from a name"
            yield from self.browser.faults()
        self.each(check)
        self.assertEqual(self.browser.strangers(self.scene.web.origin), [], "something was asked for elsewhere")

    def test_axe_would_find_what_is_wrong(self):
        self.scene.open("/").run("document.querySelector('main').append(Object.assign(document.createElement('button'), { style: 'color: #eee' }), document.createElement('img'))")
        self.assertEqual({fault.split(":")[0] for fault in self.browser.axe()} & {"button-name", "image-alt"}, {"button-name", "image-alt"})

    def test_axe_finds_nothing_in_light(self):
        self.each(lambda name: self.browser.axe())

    def test_axe_finds_nothing_in_the_dark(self):
        self.browser.looks(dark=True)
        # All other rules were looked at in the light.
        self.each(lambda name: self.browser.axe(["color-contrast"]))

    def test_no_page_scrolls_sideways_at_360_pixels(self):
        self.browser.looks(width=360)
        self.each(self.sideways)

    def test_no_page_scrolls_sideways_at_200_percent(self):
        self.browser.looks(width=640, scale=2)
        self.each(self.sideways)

    def test_no_page_scrolls_sideways_where_the_readers_type_is_twice_as_large(self):
        self.browser.looks(width=1280, font=32)
        self.assertEqual(self.scene.open("/").run("return getComputedStyle(document.documentElement).fontSize"), "28px")
        self.each(self.sideways)

    def sideways(self, name):
        page, window = self.browser.width()
        if page > window:
            wide = self.browser.run("""return [...document.querySelectorAll("main *, header *, footer *")]
                .filter((e) => e.getBoundingClientRect().right > innerWidth + 1).slice(0, 3).map((e) => e.outerHTML.slice(0, 120))""")
            yield f"is {page} wide in {window}: {wide}"

    def test_a_page_that_is_not_there_says_so(self):
        for path in ("/nothing", "/jobs/999999", "/runs/999999", "/queues/nosuchqueue", "/jobs/abc"):
            self.scene.open(path)
            self.assertIn("404", self.browser.run("return String(performance.getEntriesByType('navigation')[0].responseStatus)"), path)
            self.assertTrue(self.browser.has("main h1"), path)
            self.assertEqual(self.browser.axe(), [], path)

    def test_each_page_reads_the_same_without_scripts(self):
        with_scripts = {}
        for name, path in self.scene.pages():
            with_scripts[name] = self.scene.open(path).run("return document.querySelector('main h1').innerText")
        self.browser.scripts(False)
        self.addCleanup(self.browser.scripts, True)
        for name, path in self.scene.pages():
            self.scene.open(path)
            self.assertEqual(self.browser.find("main h1").text, with_scripts[name])
            self.assertGreater(len(self.browser.find("main").text), 20, name)


class Links(unittest.TestCase):
    def test_no_link_of_a_page_leads_nowhere(self):
        browser, seen = scene().browser, {}
        for name, path in scene().pages():
            scene().open(path)
            for link in browser.run("return [...document.querySelectorAll('a[href]')].map((a) => a.href.split('#')[0])"):
                seen.setdefault(link, path)
        # A hundred of the jobs and runs are as good as all.
        kinds = {}
        for link, path in seen.items():
            kind = "/".join(part if not part.isdigit() else "N" for part in link.split("?")[0].split("/"))
            if len(kinds.setdefault(kind, [])) < 6:
                kinds[kind].append((link, path))
        browser.open(scene().web.origin + "/")
        wrong = []
        for link, path in [pair for pairs in kinds.values() for pair in pairs]:
            status = browser.driver.execute_async_script(
                "fetch(arguments[0]).then((answer) => arguments[1](answer.status), (error) => arguments[1](String(error)))", link)
            if status != 200:
                wrong.append(f"{path} links to {link}, which answers {status}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))


if __name__ == "__main__":
    unittest.main()
