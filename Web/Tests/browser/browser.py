# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, and what the tests ask of it."""

import base64
import importlib.resources
import json
import pathlib
import time

from selenium import webdriver
from selenium.common.exceptions import JavascriptException, TimeoutException, WebDriverException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from programs import LIMIT

AXE = importlib.resources.files("axe_playwright_python").joinpath("axe.min.js").read_text()

# Ends once `condition` holds: looked at with each change of the page, and now and then for what is no change of it.
UNTIL = """
const [condition, limit, done] = arguments;
const holds = () => { try { return condition(); } catch { return null; } };
let over = false;
const end = (value) => { if (!over) { over = true; observer.disconnect(); clearInterval(tick); done(value); } };
const look = () => { const value = holds(); if (value) end(value); };
const observer = new MutationObserver(look);
observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
const tick = setInterval(look, 50);
setTimeout(() => end(null), limit);
look();
"""


class Browser:
    """One window of Chromium, headless."""

    def __init__(self):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                     "--force-color-profile=srgb", "--disable-background-networking", "--disable-component-update",
                     "--disable-features=Translate,OptimizationHints,MediaRouter", "--no-first-run", "--lang=en"):
            options.add_argument(word)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(2 * LIMIT)
        self.driver.set_page_load_timeout(LIMIT)
        self.requested = set()
        self.errors = []
        self.looks()

    def close(self):
        self.driver.quit()

    # How it looks

    def looks(self, width=1280, height=900, dark=False, scale=1, font=16):
        """The size of the window in CSS pixels, the colours, how many pixels one is, and the reader's size of type."""
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)
        self.cdp("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.cdp("Page.setFontSizes", fontSizes={"standard": font, "fixed": round(font * 13 / 16)})

    def scripts(self, run):
        self.cdp("Emulation.setScriptExecutionDisabled", value=not run)

    def cdp(self, method, **params):
        return self.driver.execute_cdp_cmd(method, params)

    # Where it is

    def open(self, address):
        self.driver.get(address)
        return self

    @property
    def address(self):
        return self.driver.current_url

    def path(self):
        return self.address.split("//", 1)[1].partition("/")[2].split("?")[0]

    # What is there. All of it works without the page's own scripts too.

    def run(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def until(self, condition, what=None, limit=LIMIT):
        """What a JavaScript expression gives, once it gives something. Goes on over a change of the page."""
        end = time.monotonic() + limit
        while True:
            rest = end - time.monotonic()
            if rest <= 0:
                raise AssertionError(f"waited {limit} s, but not: {what or condition}; at {self.address}: {self.words()[:1500]}")
            script = UNTIL.replace("condition()", f"({condition})", 1).replace("const [condition, limit, done]", "const [limit, done]")
            try:
                value = self.driver.execute_async_script(script, int(rest * 1000))
            except (JavascriptException, TimeoutException, WebDriverException) as error:
                if "unload" in str(error) or "navigat" in str(error) or "context" in str(error) or "frame" in str(error):
                    continue
                raise
            if value:
                return value

    def reads(self, words, limit=LIMIT):
        """Waits until the page has these words."""
        return self.until(f"document.querySelector('main').innerText.includes({json.dumps(words)})", f"the page says {words!r}", limit)

    def words(self):
        try:
            return self.run("return document.body.innerText")
        except WebDriverException:
            return ""

    def find(self, selector):
        found = self.driver.find_elements(By.CSS_SELECTOR, selector)
        if not found:
            raise AssertionError(f"there is no '{selector}' at {self.address}: {self.words()[:1500]}")
        return found[0]

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def has(self, selector):
        return bool(self.all(selector))

    def button(self, word, within="main"):
        """The first button, or link like one, with that word that is seen."""
        for element in self.all(f"{within} button, {within} a"):
            if element.is_displayed() and element.text.strip() == word:
                return element
        raise AssertionError(f"there is no button '{word}' at {self.address}: {self.words()[:1500]}")

    def press(self, word, within="main"):
        """Presses a button."""
        element = self.button(word, within)
        self.run("arguments[0].scrollIntoView({ block: 'center' })", element)
        element.click()

    def goes(self, action):
        """Does what leads to another page, and waits for that."""
        before = self.find("html")
        action()
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            try:
                before.tag_name
            except WebDriverException:
                self.until("document.readyState === 'complete'")
                return
            time.sleep(0.02)
        raise AssertionError(f"no other page came within {LIMIT} s; still at {self.address}: {self.words()[:1500]}")

    def type(self, selector, text):
        field = self.find(selector)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys):
        ActionChains(self.driver).send_keys(*keys).perform()

    # What it must not do

    def collect(self):
        """Takes what the console and the network have told since the last time."""
        for entry in self.driver.get_log("browser"):
            if entry["level"] in ("SEVERE", "WARNING"):
                self.errors.append(entry["message"])
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self.requested.add(message["params"]["request"]["url"])

    def strangers(self, *origins):
        """What was asked for elsewhere."""
        self.collect()
        return sorted(url for url in self.requested
                      if not url.startswith(tuple(f"{origin}/" for origin in origins)) and not url.startswith(("data:", "about:", "chrome")))

    def faults(self):
        """What the console has complained of since the last time; a refused page is not the page's fault."""
        self.collect()
        faults, self.errors = self.errors, []
        return faults

    def forget(self):
        """Forgets what earlier tests have asked for, and were told."""
        self.collect()
        self.errors, self.requested = [], set()

    def axe(self, rules=None):
        """What axe finds wrong with the page, by all of its rules or some: a line each."""
        self.run(AXE)
        result = self.driver.execute_async_script("""
            const [rules, done] = arguments;
            axe.run(document, { resultTypes: ["violations"], ...(rules && { runOnly: rules }) }).then((result) => done(result.violations.flatMap((violation) =>
                violation.nodes.map((node) => `${violation.id}: ${violation.help}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`))),
                (error) => done([String(error)]));""", rules)
        return result

    def width(self):
        """How wide the page is, and how wide the window: more is a horizontal scroll."""
        return self.run("return [document.documentElement.scrollWidth, document.documentElement.clientWidth]")

    def picture(self, file, height=None):
        size = self.run("return [innerWidth, document.documentElement.scrollHeight]")
        shot = self.cdp("Page.captureScreenshot", captureBeyondViewport=True,
                        clip={"x": 0, "y": 0, "width": size[0], "height": min(size[1], height or 4000), "scale": 1})
        pathlib.Path(file).write_bytes(base64.b64decode(shot["data"]))


__all__ = ["Browser", "Keys"]
