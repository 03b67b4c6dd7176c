# SPDX-License-Identifier: Apache-2.0
"""What a worker has to do, as values: no thread, no socket, no clock."""
import unittest

import timerd
from timerd import outcome
from timerd.duty import Duty


class DutyTests(unittest.TestCase):
    def setUp(self):
        self.duty = Duty("q", print, None, None, 4, "3s", 10, "30s")

    def take(self, fire, now=0.0, token=None):
        return self.duty.take(timerd.Task({"fire": fire, "token": token or fire + 100, "queue": "q"}), now)

    def said(self):
        batch = self.duty.next_batch()
        return None if batch is None else (batch[0], [report.task.fire for report in batch[1]])

    def test_there_is_room_for_as_many_as_are_handled_at_once(self):
        held = [self.take(fire) for fire in range(4)]
        self.assertEqual(self.duty.room(), 0)
        self.duty.handled(held[0], outcome.finished(held[0].task))
        self.assertEqual(self.duty.room(), 1)  # though the answer is still to come
        self.assertEqual(len(self.duty.held), 4)

    def test_a_reserve_asks_for_no_more_than_the_daemon_gives(self):
        self.assertEqual(Duty("q", print, None, None, 5000, "1min", None, "30s").room(), 1000)

    def test_what_ends_together_is_said_together_and_once(self):
        held = [self.take(fire) for fire in range(3)]
        for one in held + held:
            self.duty.settle(one, outcome.finished(one.task))
        method, reports = self.duty.next_batch()
        self.assertEqual((method, len(reports), self.duty.next_batch()), ("task.finish", 3, None))
        self.assertEqual(self.duty.unsaid(), 3)
        refused = self.duty.answered(reports, {"tasks": [{}, {"error": {"reason": "leaseLost"}}, {}]})
        self.assertEqual([(task.fire, type(error)) for task, error in refused], [(1, timerd.LeaseLost)])
        self.assertEqual((self.duty.unsaid(), self.duty.held), (0, {}))

    def test_an_answer_for_another_number_of_tasks_is_none(self):
        one = self.take(1)
        self.duty.settle(one, outcome.finished(one.task))
        _, reports = self.duty.next_batch()
        for wrong in (None, {"tasks": []}, {"tasks": [{}, {}]}, {"tasks": [7]}):
            self.assertRaises(timerd.ProtocolError, self.duty.answered, reports, wrong)
        self.assertEqual(self.duty.unsaid(), 1)

    def test_of_a_list_that_is_refused_each_is_said_by_itself_then_as_a_failure_then_not_at_all(self):
        for fire in (1, 2):
            one = self.take(fire)
            self.duty.settle(one, outcome.released(one.task, "5s"))
        no = timerd.InvalidParams("no")
        batch = self.duty.next_batch()
        self.assertIsNone(self.duty.refused(batch[1], no))
        batch = self.duty.next_batch()
        self.assertEqual((batch[0], len(batch[1])), ("task.release", 1))
        self.assertIsNone(self.duty.refused(batch[1], no))
        batch = self.duty.next_batch()
        self.assertEqual((batch[0], batch[1][0].item["reason"]), ("task.fail", "task.release: no"))
        self.assertEqual(self.duty.refused(batch[1], no).fire, 1)
        self.assertEqual(list(self.duty.held), [102])  # which is extended until it is said
        self.assertEqual(self.said(), ("task.release", [2]))
        self.assertEqual(self.duty.unsaid(), 1)

    def test_leases_are_extended_at_each_third_while_something_is_held(self):
        self.assertIsNone(self.duty.extends_at(0.0))
        one = self.take(1, now=5.0)
        self.assertEqual((self.duty.extends_at(5.0), self.duty.extends_at(5.5)), (6.0, 6.0))
        self.duty.extends(6.0)
        self.assertEqual(self.duty.extends_at(6.5), 7.0)
        self.duty.extend_failed(7.0)
        self.assertEqual(self.duty.extends_at(7.0), 7.25)
        del self.duty.held[one.task.token]
        self.assertIsNone(self.duty.extends_at(9.0))

    def test_a_deadline_fails_the_task_once(self):
        one = self.take(1)
        self.assertEqual(self.duty.next_deadline(), 10.0)
        self.assertEqual(self.duty.overdue(9.9), [])
        self.assertEqual(self.duty.overdue(10.0), [one])
        self.duty.fail_overdue(one)
        self.assertTrue(one.task.lost.is_set())
        self.assertEqual((self.duty.overdue(11.0), self.duty.next_deadline()), ([], None))
        self.duty.handled(one, outcome.finished(one.task))
        self.assertEqual((self.said(), self.said()), (("task.fail", [1]), None))

    def test_a_deadline_of_nothing_is_none(self):
        for deadline in (None, 0, 0.0, "0s"):
            self.duty = Duty("q", print, None, None, 4, "3s", deadline, "30s")
            self.assertIsNone(self.take(1).deadline)

    def test_of_a_lost_lease_nothing_is_said(self):
        one, two = self.take(1), self.take(2)
        self.duty.settle(two, outcome.finished(two.task))
        lost = {"error": {"reason": "leaseLost"}}
        self.assertEqual(self.duty.extended([one, two], {"tasks": [lost, lost]}), [one])
        self.assertTrue(one.task.lost.is_set())
        self.duty.handled(one, outcome.finished(one.task))
        self.assertEqual(self.said(), ("task.finish", [2]))  # its lease was ended by that

    def test_two_attempts_of_a_fire_are_held_beside_each_other_and_the_first_is_told_that_it_is_lost(self):
        first, second = self.take(1, token=101), self.take(1, token=102)
        (some, params), = self.duty.extensions(False)
        self.assertEqual([item["token"] for item in params["tasks"]], [101, 102])
        self.assertEqual(self.duty.extended(some, {"tasks": [{"error": {"reason": "leaseLost"}}, {}]}), [first])
        self.assertEqual((first.task.lost.is_set(), second.task.lost.is_set()), (True, False))
        self.duty.handled(first, outcome.finished(first.task))
        self.assertIsNone(self.said())
        self.duty.handled(second, outcome.finished(second.task))
        _, reports = self.duty.next_batch()
        self.assertEqual([report.item["token"] for report in reports], [102])
        self.duty.answered(reports, {"tasks": [{}]})
        self.assertEqual((self.duty.held, self.duty.room()), ({}, 4))

    def test_what_is_said_of_an_attempt_ends_no_other_of_the_same_fire(self):
        first = self.take(1, token=101)
        self.duty.settle(first, outcome.finished(first.task))
        _, reports = self.duty.next_batch()
        second = self.take(1, token=102)
        self.duty.answered(reports, {"tasks": [{"error": {"reason": "leaseLost"}}]})
        self.assertEqual(list(self.duty.held.values()), [second])

    def test_an_exception_that_hides_its_class_is_a_failure_as_any(self):
        class Hidden(Exception):
            @property
            def __class__(self):
                raise SystemExit

        task = timerd.Task({"fire": 1, "token": 101, "queue": "q"})
        self.assertFalse(outcome.is_retry(Hidden()))
        report = outcome.of_error(task, Hidden())
        self.assertEqual((report.method, report.item["reason"]), ("task.fail", "Hidden: what it says cannot be told: SystemExit"))

    def test_a_worker_that_stops_gives_back_what_it_did_not_begin_and_what_does_not_end(self):
        one = self.take(1)
        self.duty.is_stopping = True
        self.assertEqual((self.duty.room(), self.take(2)), (0, None))
        self.assertEqual(self.duty.give_up(), [one])
        self.duty.handled(one, outcome.finished(one.task))
        _, reports = self.duty.next_batch()
        self.assertEqual(([report.task.fire for report in reports], self.said()), ([2, 1], None))
        self.assertEqual(list(self.duty.held), [101, 102])  # which may be tied to another connection until it is said
        # It has gone back with its connection: that is no news at a stop.
        refused = self.duty.answered(reports, {"tasks": [{"error": {"reason": "leaseLost"}}, {"error": {"reason": "limitReached"}}]})
        self.assertEqual([task.fire for task, _ in refused], [1])

    def test_a_stop_ends_a_reserve_only_once_that_was_quiet_for_a_while(self):
        self.duty.reserves(5.0)
        self.assertEqual(self.duty.quiet_at, 6.0)


if __name__ == "__main__":
    unittest.main()
