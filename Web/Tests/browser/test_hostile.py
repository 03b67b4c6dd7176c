# SPDX-License-Identifier: Apache-2.0
"""A name of markup, quotes, two directions of text and 200 bytes, in each field that somebody may fill in."""

import unittest

from scene import EVIL, scene

# Elements that no page of ours has, and what a script in a name would have left.
STRANGE = """
const strange = [...document.querySelectorAll("img, iframe, object, embed, base, style, video, audio, svg script, [onerror], [onclick], [onload], [style], a[href^='javascript' i]")];
strange.push(...[...document.querySelectorAll("script")].filter((script) => !script.src.startsWith(location.origin + "/assets/")));
// Fields and choices hold what they were given, byte for byte, so that what is saved unchanged is unchanged: they are boxes of their own.
const fields = "input, textarea, option";
const text = [...document.querySelectorAll("*")].map((e) => [...e.attributes].filter((a) => a.name !== "value" || !e.matches(fields)).map((a) => a.value).join("")
    + [...e.childNodes].filter((c) => c.nodeType === 3 && !e.matches("textarea")).map((c) => c.nodeValue).join("")).join("");
const bad = [...text].filter((c) => /[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]/.test(c)).map((c) => c.codePointAt(0).toString(16));
return [window.owned === 1, strange.map((e) => e.outerHTML.slice(0, 100)), [...new Set(bad)]];
"""


class Hostile(unittest.TestCase):
    def setUp(self):
        self.scene, self.browser = scene(), scene().browser
        self.browser.forget()

    def harmless(self, where):
        owned, strange, bad = self.browser.run(STRANGE)
        self.assertFalse(owned, where)
        self.assertEqual(strange, [], where)
        self.assertEqual(bad, [], f"{where}: characters that steer a terminal or the direction of text")

    def test_it_is_text_on_each_page(self):
        from urllib.parse import quote
        queue = [path for path in self.scene.browser.open(self.scene.web.origin + "/queues").run("return [...document.querySelectorAll('th.name a')].map((a) => a.getAttribute('href'))") if "%3C" in path.upper()]
        self.assertEqual(len(queue), 1, "the queue's link")
        paths = [path for _, path in self.scene.pages()] + queue + [
            f"/jobs?q={quote(EVIL)}", f"/jobs?tag={quote(EVIL)}", f"/runs?q={quote(EVIL)}", f"/jobs?owner={quote(EVIL)}",
            f"/runs?since={quote(EVIL)}", f"/calendar?date={quote(EVIL)}", f"/calendar?view={quote(EVIL)}", f"/calendar?tag={quote(EVIL)}",
            f"/queues/{quote(EVIL, safe='')}", f"/jobs?cursor={quote(EVIL)}", f"/{quote(EVIL, safe='')}", f"/jobs/{quote(EVIL, safe='')}",
            f"/?flash={quote(EVIL)}", f"/runs/{self.scene.evil_run}", f"/jobs/{self.scene.evil}/end"]
        for path in paths:
            self.scene.open(path)
            self.harmless(path)
            page, window = self.browser.width()
            self.assertLessEqual(page, window, path)

    def test_it_is_shown_as_it_is(self):
        self.scene.open(f"/jobs/{self.scene.evil}")
        title = self.browser.find("main h1").text
        self.assertTrue(title.startswith("<img src=x onerror=\"window.owned=1\">'\"&amp;</title><script>"), title)
        self.assertIn("\U0001f570", title)
        self.assertTrue(self.browser.has("main h1 bdi"))
        self.assertTrue(self.browser.run("return document.title").startswith("<img src=x"))

    def test_colours_of_a_terminal_are_colours_and_its_orders_are_signs(self):
        self.scene.open(f"/runs/{self.scene.colour_run}")
        self.harmless("output")
        output = self.browser.find("#output")
        self.assertIn("<img src=x", output.text)
        self.assertEqual(self.browser.run("return document.querySelector('#output .f-1').textContent"), "red")
        orange = self.browser.run("return [...document.querySelectorAll('#output span')].find((span) => span.textContent === 'orange')?.className")
        self.assertIn("s-b", orange)
        self.assertIn("s-u", orange)
        self.assertIn("\u241b", output.text)  # the sign for escape
        self.assertEqual(self.browser.faults(), [])

    def test_output_as_a_file_is_bytes_that_no_browser_shows_as_a_page(self):
        self.scene.open("/")
        kind, disposition, sniff = self.browser.driver.execute_async_script("""fetch(arguments[0]).then((a) => arguments[1](
            [a.headers.get("content-type"), a.headers.get("content-disposition"), a.headers.get("x-content-type-options")]))""", f"/runs/{self.scene.colour_run}/output.txt")
        self.assertTrue(kind.startswith("text/plain"), kind)
        self.assertEqual(sniff, "nosniff")
        self.assertIn("attachment", disposition or "")


if __name__ == "__main__":
    unittest.main()
