# SPDX-License-Identifier: Apache-2.0
"""What an open page does by itself: events, a daemon that goes and comes back, a flood, output as it is written."""

import json
import socket
import unittest

from browser import Browser
from programs import LIMIT, Daemon, Web, wait
from scene import scene

# Counts the streams that a page holds; put in before its own scripts.
COUNT = """
window.streams = [];
window.EventSource = class extends EventSource {
    constructor(address) { super(address); window.streams.push(this); this.addEventListener("error", () => {}); }
};
window.fetches = 0;
const fetched = window.fetch;
window.fetch = (...all) => { window.fetches += 1; return fetched(...all); };
window.open_streams = () => window.streams.filter((stream) => stream.readyState !== 2 && stream.url.includes("/events")).length;
"""
HIDE = """Object.defineProperty(document, "hidden", { configurable: true, get: () => %s });
document.dispatchEvent(new Event("visibilitychange"));"""


class Live(unittest.TestCase):
    """With a daemon and a page of its own for each test, which may be killed."""

    def setUp(self):
        self.daemon = Daemon()
        self.addCleanup(self.daemon.end)
        self.web = Web(self.daemon)
        self.addCleanup(self.web.program.kill)
        self.browser = scene().browser
        self.browser.forget()
        script = self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=COUNT)["identifier"]
        self.addCleanup(self.browser.cdp, "Page.removeScriptToEvaluateOnNewDocument", identifier=script)
        self.addCleanup(self.browser.open, "about:blank")
        self.browser.open(self.web.url)
        self.is_live()

    def is_live(self):
        self.browser.until("document.querySelector('#live').textContent === 'live'", "the page is live")

    def mark(self):
        """Marks the page, to see that it is not loaded anew."""
        self.browser.run("window.marked = true")

    def same(self):
        self.assertTrue(self.browser.run("return window.marked === true"), "the page was loaded anew")

    def test_a_job_that_is_added_and_a_run_that_fails_are_shown_at_once(self):
        self.mark()
        job = self.daemon.add(name="fails soon", schedule={"in": "100ms"}, command=["false"])
        self.browser.until("document.querySelector('[data-live=failed] .state.failed')", "the failure")
        self.assertIn("fails soon", self.browser.find("[data-live=failed]").text)
        self.same()
        self.assertEqual(self.browser.faults(), [])
        self.assertEqual(self.daemon.job(job)["fires"], 1)

    def test_focus_choice_scroll_and_typing_stay_where_they_were(self):
        jobs = self.daemon.ask("job.add", jobs=[{"name": f"job-{number:02}", "schedule": {"every": "1h"}, "command": ["true"]} for number in range(60)])["jobs"]
        self.browser.open(self.web.origin + "/jobs?sort=name")
        self.is_live()
        self.mark()
        self.browser.run("""
            document.querySelectorAll("td input[name=id]")[30].checked = true;
            const link = document.querySelectorAll("th.name a")[40];
            link.scrollIntoView({ block: "center" }); link.focus(); window.here = scrollY; window.focused = link.getAttribute("href");
            document.querySelector("main input[name=q]").value = "typed";""")
        self.daemon.ask("job.invalidate", id=jobs[0]["id"])
        self.daemon.ask("job.pause", id=jobs[41]["id"])
        self.browser.until("document.querySelector('tbody .state.paused')", "the pause")
        self.browser.until("![...document.querySelectorAll('th.name')].some((th) => th.textContent.includes('job-00'))", "the first one is gone")
        self.same()
        state = self.browser.run("""return [document.activeElement.getAttribute("href") === window.focused,
            document.querySelectorAll("td input:checked").length, document.querySelector("main input[name=q]").value, document.activeElement.getBoundingClientRect().top > 0]""")
        self.assertEqual(state, [True, 1, "typed", True])

    def test_what_is_typed_into_an_action_stays_while_the_job_fires(self):
        job = self.daemon.add(name="ticks", schedule={"every": "1s"}, command=["true"])
        self.browser.open(self.web.origin + f"/jobs/{job}")
        self.is_live()
        self.mark()
        self.browser.type("main input[name=to]", "tomorrow 09:00")
        self.browser.type("main input[name=count]", "7")
        shown = self.browser.run("return document.querySelector('main input[name=from]').value")
        text = self.browser.run("return document.querySelector('main').innerText")
        self.browser.until(f"document.querySelector('main').innerText !== {json.dumps(text)}", "the page is renewed by a fire")
        self.same()
        made = self.browser.run("return document.querySelector('main input[name=from]').value")
        self.assertEqual(made, shown, "a form has what it was made with")
        state = self.browser.run("""return [document.querySelector("main input[name=to]").value, document.querySelector("main input[name=count]").value,
            document.activeElement.name]""")
        self.assertEqual(state, ["tomorrow 09:00", "7", "count"])

    def test_a_search_that_has_no_answer_is_told_and_asked_for_again(self):
        for name in ["needle", "hay"]:
            self.daemon.add(name=name, schedule={"every": "1h"}, command=["true"])
        self.browser.open(self.web.origin + "/jobs")
        self.is_live()
        self.browser.run("""const answered = window.fetch; window.busy = true;
            const refusal = () => new Response("busy", { status: 503, headers: { "content-type": "text/plain" } });
            window.fetch = (...all) => window.busy ? Promise.resolve(refusal()) : answered(...all);""")
        self.browser.type("main input[name=q]", "needle")
        self.browser.until("document.querySelector('#live').textContent.includes('asking again')", "the page says that it has no answer")
        self.browser.type("main input[name=q]", "need")
        self.assertIn("asking again", self.browser.find("#live").text, "another search is as little answered")
        self.assertIn("hay", self.browser.find("tbody").text, "what was shown stays")
        self.browser.run("window.busy = false")
        self.browser.until("document.querySelectorAll('tbody tr').length === 1", "what was asked for")
        self.assertIn("needle", self.browser.find("tbody").text)
        self.is_live()

    def goes_away_and_comes_back(self, end):
        self.mark()
        job = self.daemon.add(name="before", schedule={"every": "1h"}, command=["true"])
        self.browser.until("document.querySelector('main').innerText.includes('before')")
        end()
        words = self.browser.until("document.querySelector('#away .away')?.innerText", "the page says that no daemon answers")
        self.assertIn(str(self.daemon.socket), words)
        fetches = self.browser.run("return window.fetches")
        self.daemon.start()
        self.daemon.add(name="meanwhile", schedule={"in": "1h"}, command=["true"])
        self.browser.until("document.querySelector('main').innerText.includes('meanwhile') && !document.querySelector('#away .away')", "the page goes on by itself")
        self.same()
        self.assertLess(self.browser.run("return window.fetches") - fetches, 10, "it asked again and again")
        self.daemon.add(name="afterwards", schedule={"in": "1h"}, command=["true"])
        self.browser.until("document.querySelector('main').innerText.includes('afterwards')", "it is live again")
        self.assertEqual(self.daemon.job(job)["state"], "scheduled")

    def test_a_daemon_that_is_stopped_and_started_under_an_open_page(self):
        self.goes_away_and_comes_back(self.daemon.stop)

    def test_a_daemon_that_is_killed_under_an_open_page(self):
        self.goes_away_and_comes_back(self.daemon.kill)

    def test_a_page_opened_while_no_daemon_answers_goes_on_with_new_events_alone(self):
        self.daemon.stop()
        self.browser.open(self.web.origin + "/jobs")
        self.browser.until("document.querySelector('#away .away')", "the page says that no daemon answers")
        self.browser.until("open_streams() === 1", "a stream")
        self.assertEqual(self.browser.run("return window.streams.filter((stream) => stream.url.includes('since=')).length"), 0)
        self.mark()
        self.daemon.start()
        self.daemon.add(name="after that", schedule={"every": "1h"}, command=["true"])
        self.browser.until("document.querySelector('main').innerText.includes('after that') && !document.querySelector('#away .away')", "the page goes on by itself")
        self.same()
        self.browser.faults()  # the first answer's status is an error's

    def test_no_event_is_missed_and_none_comes_twice_over_a_kill(self):
        self.browser.run("""window.got = []; window.lost = 0; window.mine = new EventSource("/events?since=0");
            window.mine.onmessage = ({ data, lastEventId }) => window.got.push(Number(lastEventId));
            window.mine.addEventListener("lost", () => window.lost += 1);""")
        for round in range(3):
            for number in range(20):
                self.daemon.add(schedule={"in": "1ms"})
            self.daemon.kill()
            self.daemon.start()
            for number in range(20):
                self.daemon.add(schedule={"in": "1ms"})
        wait(lambda: not self.daemon.ask("daemon.status")["armed"], "all have fired")
        last = self.daemon.add(name="the last", schedule={"in": "1h"})
        wanted = self.events(last)
        self.browser.until(f"window.got.at(-1) >= {wanted[-1]}", "the last event")
        got = self.browser.run("return window.got")
        self.assertEqual(got, sorted(set(got)), "an event came twice, or out of order")
        # What was told at its date and not yet stored is told again after a kill, with another number.
        self.assertEqual(sorted(set(wanted) - set(got)), [], "an event was missed")
        self.assertEqual(self.browser.run("return window.lost"), 0)

    def events(self, last):
        """The numbers of all events up to the addition of a job, from the daemon itself."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(str(self.daemon.socket))
            connection.sendall(b'{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"since":0}}\n')
            numbers = []
            for line in connection.makefile("rb"):
                message = json.loads(line)
                if message.get("method") != "event":
                    continue
                numbers.append(message["params"]["seq"])
                if message["params"]["job"] == last and message["params"]["type"] == "job.added":
                    return numbers

    def test_output_comes_as_it_is_written_and_the_end_is_told(self):
        go = self.daemon.folder / "go"
        job = self.daemon.add(name="writes", schedule={"in": "1ms"}, command=["sh", "-c",
            f"echo first; printf '\\033[31mred\\033[0m <b>bold</b>\\n' >&2; while [ ! -e {go} ]; do sleep 0.05; done; echo last; exit 4"])
        run = self.daemon.after(lambda run: run["state"] == "running", job)["id"]
        self.browser.open(f"{self.web.origin}/runs/{run}")
        self.browser.until("document.querySelector('#output').textContent.includes('first')")
        self.browser.until("document.querySelector('#output .err .f-1, #output .err.f-1')?.textContent.includes('red')", "red is red")
        self.assertFalse(self.browser.has("#output b"))
        self.mark()
        go.touch()
        self.browser.until("document.querySelector('#output').textContent.includes('last')", "the last line")
        self.browser.until("document.querySelector('main .state.failed')?.textContent.includes('4')", "how it ended")
        self.browser.until("!document.querySelector('[data-follow]')", "the stream is over")
        self.same()
        self.assertEqual(self.browser.run("return document.querySelector('#output').textContent.match(/first/g).length"), 1)

    def test_output_that_found_no_place_for_its_stream_is_told_and_followed_later(self):
        """As where the proxy had nobody to ask, while the page was begun anew."""
        go = self.daemon.folder / "go"
        job = self.daemon.add(name="waits", schedule={"in": "1ms"}, command=["sh", "-c",
                              f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; echo second; sleep 600"])
        run = self.daemon.after(lambda run: run["state"] == "running", job)["id"]
        head = self.request()
        self.browser.open("about:blank")
        places = []
        self.addCleanup(lambda: [place.close() for place in places])
        def full():
            """Whether the last of the places is taken; the browser's own may be given back late."""
            place = socket.create_connection(("127.0.0.1", self.web.port), LIMIT)
            place.sendall(head)
            if place.recv(65536).startswith(b"HTTP/1.1 200"):
                places.append(place)
            else:
                place.close()
            return len(places) == 200
        wait(full, "all places are taken")
        self.browser.open(f"{self.web.origin}/runs/{run}")
        self.browser.until("document.querySelector('#follow').textContent.includes('trying again')", "it says that the output stands still")
        self.mark()
        go.touch()
        for place in places:
            place.close()
        self.browser.until("document.querySelector('#output').textContent.includes('second')", "the second line")
        self.browser.until("document.querySelector('#follow').textContent === ''", "it goes on")
        self.same()
        self.assertEqual(self.browser.run("return document.querySelector('#output').textContent.match(/first/g).length"), 1)
        self.browser.faults()

    def typed(self):
        """Fills in the form of a job, and sends it."""
        self.browser.type("#f-schedule", "5 4 * * *")
        self.browser.type("#f-name", "typed")
        self.browser.press("Add it")

    def stays(self, words):
        """Waits until the page says so, and still has what was typed."""
        self.browser.until(f"document.querySelector('#away').textContent.includes({words!r})", f"the page says {words!r}")
        self.assertEqual(self.browser.find("#f-name").get_attribute("value"), "typed")
        self.assertEqual(self.daemon.ask("job.list", name="typed")["jobs"], [])

    def test_what_was_typed_stays_where_nobody_is_there_to_send_it_to(self):
        self.browser.open(f"{self.web.origin}/add")
        port = self.web.port
        self.web.stop()
        self.typed()
        self.stays("timerd-web, does not answer")
        again = Web(self.daemon, port=port)
        self.addCleanup(again.program.kill)
        self.browser.press("Add it")
        self.stays("was begun anew")
        self.browser.faults()

    def test_what_was_typed_is_sent_once_a_daemon_answers(self):
        self.browser.open(f"{self.web.origin}/add")
        self.daemon.stop()
        self.typed()
        self.browser.until("document.querySelector('#away').textContent.includes('No daemon answers')", "no daemon answers")
        self.daemon.start()
        self.stays("No daemon answers")
        self.stays("Nothing was sent")
        self.assertNotIn("by itself", self.browser.find("#away").text, "the form stays until it is sent")
        self.browser.goes(lambda: self.browser.press("Add it"))
        self.assertEqual(len(self.daemon.ask("job.list", name="typed")["jobs"]), 1)
        self.browser.faults()

    def test_a_form_is_sent_once_though_its_button_is_pressed_twice(self):
        self.browser.open(f"{self.web.origin}/add")
        # Whether somebody is there is answered only once the test says so.
        self.browser.run("""const fetched = window.fetch; window.asked = 0;
            const told = new Promise((tell) => window.tell = tell);
            window.fetch = async (address, request) => {
                if (address === location.href && request.method !== "POST") {
                    window.asked += 1;
                    await told;
                }
                return fetched(address, request);
            };""")
        self.typed()
        self.browser.press("Add it")
        self.assertEqual(self.browser.run("return window.asked"), 1)
        self.assertTrue(self.browser.has("form[data-preview][aria-busy=true]"), "it shows that it is busy")
        self.browser.goes(lambda: self.browser.run("window.tell()"))
        self.assertEqual(len(self.daemon.ask("job.list", name="typed")["jobs"]), 1)
        self.assertEqual(self.browser.faults(), [])

    def test_what_is_said_below_an_output_is_what_is_so(self):
        go = self.daemon.folder / "go"
        job = self.daemon.add(name="writes much", schedule={"in": "1ms"}, outputKept="16M", command=["sh", "-c",
                              f"echo first; while [ ! -e {go} ]; do sleep 0.05; done; yes 'a line, which is as long as it is' | head -c 3000000; sleep 600"])
        run = self.daemon.after(lambda run: run["state"] == "running", job)["id"]
        def says(words):
            self.browser.until(f"document.querySelector('#follow').textContent.includes({words!r})", f"it says {words!r}")
        self.browser.open(f"{self.web.origin}/runs/{run}")
        self.browser.until("document.querySelector('#output').textContent.includes('first')", "the first line")
        go.touch()
        says("older output is left out")
        port = self.web.port
        self.web.stop()
        says("trying again")
        # A page that is begun anew does not let this browser in: nothing is tried any more.
        again = Web(self.daemon, port=port)
        self.addCleanup(again.program.kill)
        self.browser.until("document.querySelector('#live').textContent.includes('begun anew')", "it says what to do")
        says("older output is left out")
        self.browser.faults()

    def test_a_run_that_writes_for_ever_does_not_fill_the_browser(self):
        job = self.daemon.add(name="floods", schedule={"in": "1ms"}, outputKept="16M", command=["sh", "-c",
                              "yes 'a line of a flood, which is as long as lines of logs are, more or less' | head -c 30000000; echo; echo the last line; sleep 600"])
        run = self.daemon.after(lambda run: run["state"] == "running", job)["id"]
        self.browser.open(f"{self.web.origin}/runs/{run}")
        self.browser.until("document.querySelector('#output').textContent.includes('the last line')", "the last line", limit=60)
        self.assertLess(self.browser.run("return document.querySelector('#output').textContent.length"), 20_000_000)
        self.assertLess(self.web.memory(), 300 << 20)

    def test_a_hidden_page_holds_no_stream_and_is_right_when_it_is_seen_again(self):
        self.assertEqual(self.browser.run("return open_streams()"), 1)
        self.browser.run(HIDE % "true")
        self.browser.until("open_streams() === 0", "the stream is closed")
        fetches = self.browser.run("return window.fetches")
        self.daemon.add(name="while hidden", schedule={"in": "1h"})
        self.assertEqual(self.browser.run("return window.fetches"), fetches)
        self.browser.run(HIDE % "false")
        self.browser.until("document.querySelector('main').innerText.includes('while hidden')", "it is right again")
        self.browser.until("open_streams() === 1", "one stream")

    def test_two_windows_share_one_stream_and_the_other_takes_over(self):
        driver = self.browser.driver
        first = driver.current_window_handle
        self.mark()
        driver.switch_to.new_window("window")
        second = driver.current_window_handle
        try:
            self.browser.cdp("Page.addScriptToEvaluateOnNewDocument", source=COUNT)
            self.browser.open(self.web.origin + "/jobs")
            self.is_live()
            self.assertEqual(self.browser.run("return open_streams()"), 0, "the second has a stream of its own")
            self.daemon.add(name="for both", schedule={"in": "1h"}, command=["true"])
            self.browser.until("document.querySelector('main').innerText.includes('for both')", "the second window is told")
            driver.switch_to.window(first)
            self.browser.until("document.querySelector('main').innerText.includes('for both')", "the first window is told")
            self.browser.run(HIDE % "true")
            driver.switch_to.window(second)
            self.browser.until("open_streams() === 1", "the second takes over")
            self.daemon.add(name="for one", schedule={"in": "1h"}, command=["true"])
            self.browser.until("document.querySelector('main').innerText.includes('for one')", "it is told")
        finally:
            driver.close()
            driver.switch_to.window(first)

    def test_distances_grow_older_without_a_request(self):
        job = self.daemon.add(name="soon", schedule={"in": "90s"}, command=["true"])
        self.browser.open(f"{self.web.origin}/jobs/{job}")
        self.is_live()
        before = self.browser.until("document.querySelector('[data-live=next] .far')?.textContent", "the job")
        fetches = self.browser.run("return window.fetches")
        self.browser.until(f"document.querySelector('[data-live=next] .far').textContent !== {before!r}", "it has come nearer")
        self.assertEqual(self.browser.run("return window.fetches"), fetches)

    def test_a_page_is_made_anew_once_its_day_has_ended(self):
        job = self.daemon.add(name="next year", schedule={"in": "365d"}, command=["true"])
        self.browser.open(f"{self.web.origin}/jobs/{job}")
        self.is_live()
        fetches, until = self.browser.run("return [window.fetches, document.body.dataset.until]")
        self.assertGreater(until, "2026")
        # Set again where the page was renewed just then, which takes it back.
        self.browser.run("""const soon = new Date(Date.now() + 1000).toISOString();
            window.ends = () => {
                if (document.body.dataset.until === soon) return;
                document.body.dataset.until = soon;
                document.dispatchEvent(new Event("renewed"));
            };""")
        self.browser.until(f"(window.ends(), window.fetches > {fetches})", "it is asked for")

    def test_a_page_is_asked_for_again_once_a_stream_that_broke_off_is_back(self):
        # What was asked for meanwhile, as at midnight while a laptop slept, has had no answer.
        job = self.daemon.add(name="next year", schedule={"in": "365d"}, command=["true"])
        self.browser.open(f"{self.web.origin}/jobs/{job}")
        self.is_live()
        fetches = self.browser.run("return window.fetches")
        self.browser.run("const stream = window.streams.at(-1); stream.onerror(); stream.onopen();")
        self.browser.until(f"window.fetches > {fetches}", "it is asked for")
        self.is_live()

    def test_a_thousand_events_a_second_leave_the_page_usable_and_memory_bounded(self):
        self.daemon.ask("job.add", jobs=[{"name": f"flood-{number}", "schedule": {"every": "1s"}} for number in range(1000)])
        stalled = self.stalled()
        self.addCleanup(stalled.close)
        self.mark()
        self.browser.run("""window.got = 0; window.mine = new EventSource("/events?since=" + document.body.dataset.seq);
            window.mine.onmessage = () => window.got += 1;""")
        self.browser.until("window.got >= 3000", "three thousand events have come", limit=60)
        # In the middle of it: something else is shown, and the page can be used.
        self.daemon.add(name="in the flood", schedule={"in": "1ms"}, command=["false"])
        self.browser.until("document.querySelector('[data-live=failed]').innerText.includes('in the flood')", "a failure is shown", limit=60)
        self.same()
        self.browser.goes(lambda: self.browser.find(".top nav a[href='/jobs']").click())
        self.browser.type("main input[name=q]", "in the flood")
        self.browser.until("document.querySelector('#list').innerText.includes('in the flood') || document.querySelector('#list .empty')", "a search is answered", limit=60)
        self.browser.cdp("HeapProfiler.collectGarbage")
        heap = self.browser.cdp("Runtime.getHeapUsage")["usedSize"]
        self.assertLess(heap, 64 << 20, "the page's memory")
        self.assertLess(self.web.memory(), 200 << 20, "timerd-web's memory")

    def stalled(self):
        """A browser that asks for events and reads none."""
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(("127.0.0.1", self.web.port))
        connection.sendall(self.request("?since=0"))
        return connection

    def request(self, query=""):
        """A request for events, as the browser makes it."""
        cookies = "; ".join(f"{cookie['name']}={cookie['value']}" for cookie in self.browser.driver.get_cookies())
        return f"GET /events{query} HTTP/1.1\r\nHost: {self.web.origin.split('//')[1]}\r\nCookie: {cookies}\r\n\r\n".encode()

    def test_a_page_whose_program_was_begun_anew_says_what_to_do(self):
        port = self.web.port
        self.web.stop()
        self.browser.until("document.querySelector('#live').textContent.includes('not live')", "it says that it is not live")
        again = Web(self.daemon, port=port)
        self.addCleanup(again.program.kill)
        self.browser.until("document.querySelector('#live').textContent.includes('begun anew')", "it says what to do", limit=60)
        self.browser.faults()

    def test_the_program_ends_at_once_under_open_streams(self):
        self.assertEqual(self.web.stop(), 0)
        self.browser.faults()


if __name__ == "__main__":
    unittest.main()
