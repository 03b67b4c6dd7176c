# SPDX-License-Identifier: Apache-2.0
"""What is said over one connection, and what is said again: values in, values out."""
import json
import unittest

import timerd
from timerd import calls
from timerd.conversation import Answer, Conversation, TurnedAway
from timerd.errors import CannotConnect, ConnectionLost, NotSent
from timerd.repeats import Attempts
from timerd.wire import Notification


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


REFUSED = {"code": -32005, "message": "one connection too many", "data": {"reason": "limitReached"}}


class ConversationTests(unittest.TestCase):
    def setUp(self):
        self.said = Conversation()

    def ask(self, method="job.get", **params):
        return self.said.ask(method, params)[0]

    def test_answers_come_by_the_numbers_of_their_requests_in_pieces_of_any_size(self):
        self.assertEqual(json.loads(self.said.ask("job.get", {"id": 7})[1]), {"jsonrpc": "2.0", "id": 1, "method": "job.get", "params": {"id": 7}})
        self.ask()
        text = b"\r\n\n" + line(id=1, result="a") + line(method="event", params={"seq": 1}) + line(id=2, error=REFUSED)
        events = []
        for at in range(len(text)):
            self.said.feed(text[at : at + 1])
            events.append(self.said.next())
        events = [event for event in events if event is not None]
        self.assertEqual(events[:2], [Answer(1, "a"), Notification("event", {"seq": 1})])
        self.assertIsInstance(events[2].value, timerd.LimitReached)
        self.assertEqual(self.said.waits_for, 0)

    def test_what_nobody_asked_for_is_no_answer(self):
        self.ask()
        for id in (2, "1", True, 1.5):
            with self.subTest(id):
                self.said.feed(line(id=id, result=None))
                self.assertRaises(timerd.ProtocolError, self.said.next)

    def test_an_error_for_the_whole_connection_turns_it_away(self):
        self.ask()
        self.ask()
        self.said.feed(line(id=None, error=REFUSED))
        away = self.said.next()
        self.assertIsInstance(away, TurnedAway)
        self.assertTrue(away.error.of_connection)

    def test_a_line_that_could_not_be_read_is_the_oldest_request_also_ahead_of_any_answer(self):
        for error, kind in (({"code": -32700, "message": "no JSON"}, timerd.ParseError), ({"code": -32600, "message": "no"}, timerd.InvalidRequest)):
            with self.subTest(kind.reason):
                self.said = Conversation()
                self.ask()
                self.ask()
                self.said.feed(line(id=None, error=error) + line(id=2, result="a") + line(id=None, error=REFUSED))
                first = self.said.next()
                self.assertEqual((first.number, type(first.value), first.value.of_connection), (1, kind, False))
                self.assertEqual(self.said.next(), Answer(2, "a"))
                # Nothing is asked any more, so it is the connection that ends.
                self.assertIsInstance(self.said.next(), TurnedAway)

    def test_also_once_something_was_answered_a_line_that_could_not_be_read_is_the_oldest_request(self):
        for number in range(3):
            self.ask()
        self.said.feed(line(id=1, result=None) + line(id=None, error={"code": -32700, "message": "no JSON"}) + line(id=3, result=None))
        self.assertEqual([self.said.next().number for _ in range(3)], [1, 2, 3])

    def test_a_connection_that_ends_once_something_was_answered_refuses_nothing_that_may_have_been_carried_out(self):
        for reason in ("notPermitted", "limitReached", "stopping", "storageFailed"):
            with self.subTest(reason):
                self.said = Conversation()
                self.ask()
                self.ask("job.fire")
                self.said.feed(line(id=1, result="a") + line(id=None, error={"code": -32000, "message": "you may not", "data": {"reason": reason}}))
                self.assertEqual(self.said.next(), Answer(1, "a"))
                self.assertRaisesRegex(ConnectionLost, "ended the connection: you may not", self.said.next)

    def test_what_comes_for_an_abandoned_reserve_and_cannot_be_read_is_passed_over(self):
        for result in (None, 1, "x", {}, {"tasks": 1}, {"tasks": "x"}, {"tasks": [1, None, {}, {"fire": 1}, {"token": 2}]}):
            with self.subTest(result):
                number = self.ask("task.reserve")
                self.said.abandon(number)
                self.said.feed(line(id=number, result=result))
                self.assertIsNone(self.said.next())
                self.assertEqual(self.said.take_unsent(), b"")

    def test_a_task_that_nothing_could_be_said_of_is_none(self):
        good = {"fire": 1, "token": 2, "queue": "q"}
        call = calls.reserve("q")
        self.assertEqual([(task.fire, task.token, task.name) for task in call.value({"tasks": [good, {**good, "name": None}]})], [(1, 2, None)] * 2)
        for wrong in (None, 1, {}, {"fire": 1}, {**good, "fire": "1"}, {**good, "token": []}, {**good, "token": True}, {**good, "queue": ["q"]}, {**good, "name": {}}):
            with self.subTest(wrong):
                self.assertRaises(timerd.ProtocolError, call.value, {"tasks": [good, wrong]})

    def test_tasks_that_come_for_an_abandoned_reserve_are_given_back(self):
        number = self.ask("task.reserve", queues=["q"])
        self.said.abandon(number)
        self.assertEqual(self.said.take_unsent(), b"")
        self.said.feed(line(id=number, result={"tasks": [{"fire": 5, "token": 9, "queue": "q"}]}))
        self.assertIsNone(self.said.next())
        release = json.loads(self.said.take_unsent())
        self.assertEqual((release["method"], release["params"]), ("task.release", {"tasks": [{"fire": 5, "token": 9}]}))
        self.said.feed(line(id=release["id"], result={"tasks": []}))
        self.assertIsNone(self.said.next())
        self.assertEqual(self.said.waits_for, 0)

    def test_what_was_not_given_back_over_a_connection_is_known_at_its_end(self):
        for said, ungiven in (({"result": {"tasks": [{"fire": 5, "state": "ready"}]}}, []), ({"error": REFUSED}, [[{"fire": 5, "token": 9}]]), (None, [[{"fire": 5, "token": 9}]])):
            with self.subTest(said):
                self.setUp()
                self.said.abandon(self.ask("task.reserve"))
                self.said.feed(line(id=1, result={"tasks": [{"fire": 5, "token": 9}]}))
                self.assertIsNone(self.said.next())
                release = json.loads(self.said.take_unsent())
                if said is not None:
                    self.said.feed(line(id=release["id"], **said))
                    self.assertIsNone(self.said.next())
                self.assertEqual([self.said.take_ungiven(), self.said.take_ungiven()], [ungiven, []])

    def test_a_request_that_is_too_long_is_refused_before_it_is_sent(self):
        self.assertRaisesRegex(timerd.InvalidRequest, "1048576", self.said.ask, "job.add", {"userInfo": "x" * 1048576})
        self.assertEqual(self.said.waits_for, 0)

    def test_what_is_no_value_of_json_is_said_before_it_is_sent(self):
        self.assertRaises(ValueError, self.said.ask, "job.add", {"userInfo": float("nan")})
        self.assertRaises(ValueError, self.said.ask, "job.add", {"userInfo": "half \ud800"})
        self.assertRaises(TypeError, self.said.ask, "job.add", {"userInfo": {1, 2}})
        self.assertRaises(TypeError, self.said.ask_all, [("job.get", {"id": 1}), ("job.add", {"userInfo": {1, 2}})])
        self.assertEqual(self.said.waits_for, 0)

    def test_more_marks_in_a_row_than_the_daemon_takes_are_refused_before_they_are_sent(self):
        # It answers such a line without its number, as it does a connection that it does not take.
        for row in (chr(0x301) * 64, chr(0x3099) * 64, chr(0x1D165) * 64):
            self.said.ask("job.add", {"userInfo": [row, row], row: "\u6f22" * 100 + row})
            for params in ({"userInfo": row + chr(0x301)}, {row + chr(0x323): 1}, {"userInfo": ["\u6f22" * 100 + row + chr(0x301)]}):
                with self.subTest(params):
                    self.assertRaisesRegex(ValueError, "more than 64 marks", self.said.ask, "job.add", params)
        self.assertRaisesRegex(ValueError, "more than 64 marks", self.said.ask, "job" + chr(0x301) * 65, {})
        self.assertEqual(self.said.waits_for, 3)

    def test_what_the_daemon_takes_for_no_json_is_refused_before_it_is_sent(self):
        def nested(levels):
            return [] if levels == 1 else [nested(levels - 1)]

        deepest = 61  # around it are the request, the parameters and userInfo's object
        for wrong, words in [
            ({"a": nested(deepest + 1)}, "64 levels"),
            ({"a": nested(900)}, "64 levels"),
            ({1: "a", "1": "b"}, "'1'"),
            ({"true": 1, True: 2}, "'true'"),
            ([{"\u00e9": 1, "e\u0301": 2}], "Unicode form"),
            ([1, {"n": 10**400}], "1.8e308"),
            (2**1024 - 2**970, "1.8e308"),  # the first that no double holds
            (1 - 2**1024, "1.8e308"),
        ]:
            with self.subTest(words):
                self.assertRaisesRegex(ValueError, words, self.said.ask, "job.add", {"userInfo": wrong})
        deep = []
        for _ in range(100_000):
            deep = [deep]
        self.assertRaisesRegex(ValueError, "64 levels", self.said.ask, "job.add", {"userInfo": deep})
        self.assertEqual(self.said.waits_for, 0)
        for right in ({"a": nested(deepest)}, {1: "a", "2": "b", None: 0, 1.5: 0}, {"\u00e9": 1, "e": 2}, 2**70, -(2**63), 10**300, 2**1024 - 2**970 - 1, [[], {}, ()]):
            with self.subTest(right):
                said = json.loads(self.said.ask("job.add", {"userInfo": right})[1])
                self.assertEqual(said["params"]["userInfo"], json.loads(json.dumps(right)))


class AttemptTests(unittest.TestCase):
    READ, CHANGE = ("job.get", {"id": 1}), ("job.fire", {"id": 1})

    def pauses(self, error, *asks, patience=0.0, reconnect=True, deadline=None, count=3):
        attempts, now, pauses = Attempts(asks, patience, reconnect, 0.0, deadline), 0.0, []
        for _ in range(count):
            pause = attempts.after(error, now)
            pauses.append(pause)
            if pause is None:
                break
            now += pause
        return pauses

    def test_a_lost_connection_is_made_again_once_and_then_for_as_long_as_patience(self):
        self.assertEqual(self.pauses(ConnectionLost("x"), self.READ), [0.0, None])
        self.assertEqual(self.pauses(ConnectionLost("x"), self.CHANGE), [None])
        self.assertEqual(self.pauses(ConnectionLost("x"), self.READ, reconnect=False), [None])
        patient = self.pauses(ConnectionLost("x"), self.READ, patience=1.0, count=50)
        self.assertAlmostEqual(sum(patient[:-1]), 1.0)
        self.assertIsNone(patient[-1])

    def test_what_was_not_sent_is_sent_again_alone_whatever_it_is(self):
        self.assertEqual(self.pauses(NotSent("x"), self.CHANGE), [0.0, None])
        self.assertEqual(self.pauses(NotSent("x"), self.CHANGE, self.CHANGE), [None])
        self.assertEqual(self.pauses(NotSent("x"), self.READ, self.READ), [0.0, None])

    def test_nobody_is_waited_for_without_patience_but_a_full_backlog_is(self):
        self.assertEqual(self.pauses(CannotConnect("x"), self.CHANGE), [None])
        self.assertEqual(len(self.pauses(CannotConnect("x"), self.CHANGE, patience=5.0)), 3)
        full = CannotConnect("x")
        full.is_full = True
        self.assertNotIn(None, self.pauses(full, self.CHANGE))
        self.assertIsNone(self.pauses(full, self.CHANGE, deadline=0.1, count=50)[-1])

    def test_a_job_is_added_again_only_while_its_key_is_there_in_any_case(self):
        for error in (ConnectionLost("x"), NotSent("x"), CannotConnect("x")):
            with self.subTest(type(error)):
                attempts = Attempts([("job.add", {"key": "a", "keyKept": "1min"})], 1000.0, True, 0.0, None)
                attempts.after(CannotConnect("x"), 100.0)
                attempts.after(ConnectionLost("x"), 101.0)  # until now nothing was sent
                self.assertIsNotNone(attempts.after(error, 129.9))
                self.assertIsNone(attempts.after(error, 130.0))

    def test_what_was_sent_once_is_lost_though_nobody_was_reached_by_the_last_attempt(self):
        away = CannotConnect("away")
        attempts = Attempts([self.READ], 0.0, True, 0.0, None)
        attempts.after(away, 0.0)
        self.assertIs(attempts.final(away), away)
        attempts.after(ConnectionLost("x"), 0.0)
        self.assertIsInstance(attempts.final(away), ConnectionLost)
        self.assertRegex(str(attempts.final(away)), "away; .* may have been carried out")

    def test_a_late_or_a_wrong_answer_is_final(self):
        for error in (timerd.TimedOut("x"), timerd.ProtocolError("x")):
            self.assertEqual(self.pauses(error, self.READ, patience=9.0), [None])


class CallTests(unittest.TestCase):
    def test_an_answer_that_cannot_be_read_is_a_protocol_error_and_names_the_method(self):
        for call, result in [
            (calls.add(), 5),
            (calls.add(), {}),
            (calls.reserve("q"), {"tasks": [{"token": 1}]}),
            (calls.reserve("q"), {"tasks": 7}),
            (calls.fire(1), {"fire": "x"}),
            (calls.finish_all([]), None),
            (calls.queues().page(None), []),
        ]:
            with self.subTest(call.method):
                self.assertRaisesRegex(timerd.ProtocolError, call.method.replace(".", "[.]"), call.value, result)

    def test_of_a_queue_that_was_made_with_its_settings_that_is_said(self):
        call = calls.set_queue("q", paused=True)
        self.assertEqual(call.value({"queue": {"queue": "q"}, "made": True}), {"queue": "q", "made": True})
        self.assertEqual(call.value({"queue": {"queue": "q"}}), {"queue": "q"})

    def test_a_job_may_be_tried_and_queues_asked_for_that_are_paused(self):
        self.assertEqual(calls.add(every="1h", dry_run=True).params, {"schedule": {"every": "1h"}, "dryRun": True})
        jobs = [{"schedule": {"every": "1h"}}]
        self.assertEqual(calls.add_all(jobs, dry_run=True).params, {"jobs": jobs, "dryRun": True})
        self.assertNotIn("dryRun", calls.add(every="1h").params)
        self.assertEqual(calls.queues(paused=True).page(None).params, {"paused": True})

    def test_a_trial_is_repeated_for_as_long_as_anybody_wants(self):
        away = timerd.ConnectionLost("away")
        for params, is_repeated in [({"dryRun": True}, True), ({}, False)]:
            attempts = Attempts([("job.add", {"schedule": {"in": "1h"}, **params})], 9.0, True, 0.0, None)
            with self.subTest(params):
                self.assertEqual(attempts.after(away, 1.0) is not None, is_repeated)

    def test_of_a_change_of_very_many_jobs_the_others_are_named(self):
        changed = calls.cancel(tag="t").value({"jobs": [{"id": 1}], "others": [2, 3]})
        self.assertEqual((list(changed), changed.others), ([{"id": 1}], [2, 3]))

    def test_of_a_queue_it_may_be_said_whose_is_meant_and_of_numbered_tasks_not(self):
        for call, method, params in [
            (calls.kick("q", 2, owner="ann"), "task.kick", {"count": 2}),
            (calls.retry(queue="q", owner="ann"), "task.retry", {}),
            (calls.drop(queue="q", state="dead", owner="ann"), "task.drop", {"state": "dead"}),
            (calls.set_queue("q", paused=True, owner="ann"), "queue.set", {"paused": True}),
        ]:
            with self.subTest(method):
                self.assertEqual((call.method, call.params), (method, {"queue": "q", "owner": "ann", **params}))
        self.assertEqual(calls.kick("q").params, {"queue": "q"})
        for make in (calls.retry, calls.drop):
            self.assertRaisesRegex(ValueError, "owner .* not beside fires", make, fires=[1], owner="ann")

    def test_a_text_is_not_taken_for_a_list_of_its_letters(self):
        self.assertRaisesRegex(TypeError, "tags is a list", timerd.job, tags="net")
        self.assertRaisesRegex(TypeError, "command is a list", timerd.job, command="echo")
        self.assertRaisesRegex(TypeError, "types is a list", timerd.Watcher, "/none", types="fire.fired")

    def test_methods_have_the_parameters_and_the_text_of_their_calls(self):
        import inspect

        expected = ["self", *inspect.signature(calls.kick).parameters]
        for client in (timerd.Client, timerd.AsyncClient):
            self.assertEqual(list(inspect.signature(client.kick).parameters), expected)
            self.assertIn("on disk", client.add.__doc__)


if __name__ == "__main__":
    unittest.main()
