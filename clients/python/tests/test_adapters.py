# SPDX-License-Identifier: Apache-2.0
"""The decorator, Django and Flask, each with its own worker."""
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import unittest

from fake import FakeDaemon

import timerd


class AdapterTests(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.daemon = FakeDaemon(folder.name)
        self.addCleanup(self.daemon.stop)

    def has(self, module):
        try:
            __import__(module)
        except ImportError:
            self.skipTest(module + " is not installed")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(textwrap.dedent(text))

    def run_program(self, *arguments):
        environment = {**os.environ, "TIMERD_SOCKET": self.daemon.path, "PYTHONPATH": os.pathsep.join([self.folder] + [p for p in sys.path if p])}
        return subprocess.Popen([sys.executable, *arguments], cwd=self.folder, stdout=subprocess.PIPE, env=environment)

    def work(self, *arguments):
        """Runs a worker until everything is done, and returns what it wrote."""
        with self.run_program(*arguments) as worker:
            done = self.daemon.until(lambda: self.daemon.tasks and all(t["state"] == "done" for t in self.daemon.tasks.values()))
            worker.send_signal(signal.SIGTERM)
            written = worker.stdout.read().decode()
            self.assertTrue(done, (self.daemon.states(), written))
            self.assertEqual(worker.wait(60), 0)
            return written

    def test_one_argument_without_its_comma_is_not_taken_for_one_a_letter(self):
        app = timerd.App(self.daemon.path)
        task = app.task(name="welcome")(lambda name: None)
        for args in (("ann"), b"ann", {"name": "ann"}):
            with self.assertRaisesRegex(TypeError, "args is a list or a tuple, not .*; one argument is"):
                task.apply_async(args)
        self.assertEqual(len(self.daemon.jobs), 0)

    def test_a_decorated_function_is_called_by_a_worker(self):
        app = timerd.App(self.daemon.path, queue="main")
        seen = []

        @app.task(queue="mails", retries=5)
        def welcome(name, *, greeting="hello"):
            seen.append((greeting, name))

        @app.task(bind=True)
        def bound(task, number):
            seen.append((task.fire, number))

        self.assertEqual(welcome("direct"), None)
        job = welcome.delay("ann", greeting="hi")
        self.assertEqual((job["queue"], job["retries"]), ("mails", 5))
        self.assertEqual(welcome.apply_async(("bob",), countdown=60, key="k")["schedule"], {"in": "60000ms"})
        self.daemon.tasks.pop(2)
        bound.delay(4)
        worker = app.worker(wait="1s")
        thread = threading.Thread(target=worker.run)
        thread.start()
        self.assertTrue(self.daemon.until(lambda: all(task["state"] == "done" for task in self.daemon.tasks.values())))
        worker.stop()
        thread.join(60)
        self.assertEqual(seen[0], ("hello", "direct"))
        self.assertEqual(set(seen[1:]), {(3, 4), ("hi", "ann")})

    def test_a_task_needs_no_options_and_its_queue_may_be_said_later(self):
        app = timerd.App(client=timerd.Client(self.daemon.path))
        self.addCleanup(app.client.close)

        @app.task
        def hello(name):
            """Says it."""

        self.assertEqual((hello.__doc__, hello.name, hello.queue), ("Says it.", "%s.%s" % (__name__, hello.__qualname__), "default"))
        app.queue = "web"
        self.assertEqual((hello.delay("ann")["queue"], app.queues()), ("web", ["web"]))
        self.assertRaisesRegex(ValueError, "already", app.task(name=hello.name), print)
        self.assertRaisesRegex(LookupError, "it knows .*hello", app.handle, timerd.Task({"fire": 1, "userInfo": {"task": "none"}}))
        with self.assertRaises(ValueError):
            app.handle(timerd.Task({"fire": 1, "userInfo": [1]}))
        worker = app.worker(wait="100ms")  # of the client's socket
        thread = threading.Thread(target=worker.run)
        thread.start()
        self.assertTrue(self.daemon.until(lambda: self.daemon.states() == {1: "done"}))
        worker.stop()
        thread.join(60)

    def test_an_app_whose_socket_is_set_anew_calls_and_works_there(self):
        app = timerd.App("/nonexistent/s.sock")
        self.addCleanup(lambda: app.client.close())
        hello, before = app.task(print), app.client
        self.assertIs(app.client, before)
        app.socket = self.daemon.path
        self.assertEqual(hello.delay("ann")["id"], 1)
        self.assertRaisesRegex(timerd.ConnectionLost, "was closed", before.get, 1)
        self.assertEqual(app.worker()._saying.path, self.daemon.path)

    def test_django_calls_where_the_setting_is(self):
        self.make_django_site()
        self.write(
            "sell.py",
            """
            import os
            import django
            django.setup()
            from django.test import override_settings
            from shop.tasks import app, receipt
            with override_settings(TIMERD_SOCKET="/nonexistent/s.sock"):
                print(app.client.path)
            print(receipt.delay(1)["id"], app.worker()._saying.path == os.environ["TIMERD_SOCKET"])
            """,
        )
        with self.run_program("sell.py") as web:
            self.assertEqual(web.stdout.read(), b"/nonexistent/s.sock\n1 True\n")

    def test_a_second_flask_app_moves_calls_and_worker_to_its_socket(self):
        self.has("flask")
        self.write(
            "shops.py",
            """
            import os
            from flask import Flask
            from timerd.contrib.flask import Timerd
            timers = Timerd()
            hello = timers.task(print)
            for socket in ("/nonexistent/s.sock", None):
                app = Flask("shop")
                app.config["TIMERD_SOCKET"] = socket
                timers.init_app(app)
                print(timers.client.path == timers.worker()._saying.path)
            print(hello.delay("ann")["id"], timers.client.path == os.environ["TIMERD_SOCKET"])
            """,
        )
        with self.run_program("shops.py") as web:
            self.assertEqual(web.stdout.read(), b"True\nTrue\n1 True\n")

    def test_a_key_that_was_there_is_told_as_by_add(self):
        app = timerd.App(self.daemon.path)
        self.addCleanup(lambda: app.client.close())
        hello = app.task(print)
        self.assertEqual([hello.apply_async(key="k").get("existing") for _ in range(2)], [None, True])

    def test_flask(self):
        self.has("flask")
        self.write(
            "shop.py",
            """
            from flask import Flask, current_app
            from timerd.contrib.flask import Timerd
            app = Flask("shop")
            app.config.update(TIMERD_CONCURRENCY=1, TIMERD_QUEUE="web")
            timers = Timerd()
            @timers.task(retries=2)
            def hello(name):
                print("hello", name, "from", current_app.name, flush=True)
            timers.init_app(app)
            @app.post("/<name>")
            def greet(name):
                return {"job": hello.delay(name)["id"]}
            if __name__ == "__main__":
                print(app.test_client().post("/ann").json)
            """,
        )
        with self.run_program("shop.py") as web:
            self.assertEqual(web.stdout.read(), b"{'job': 1}\n")
        self.assertEqual(self.daemon.jobs[1]["queue"], "web")
        self.daemon.jobs[1]["userInfo"]["task"] = "shop.hello"  # it was __main__ there
        self.assertEqual(self.work("-m", "flask", "--app", "shop", "timerd-worker"), "hello ann from shop\n")

    def make_django_site(self):
        self.has("django")
        self.write(
            "settings.py",
            """
            SECRET_KEY = "x"
            INSTALLED_APPS = ["timerd.contrib.django", "shop"]
            DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite"}}
            TIMERD_QUEUE = "web"
            """,
        )
        self.write("shop/__init__.py", "")
        self.write(
            "shop/tasks.py",
            """
            from timerd.contrib.django import app
            @app.task(retries=3)
            def receipt(order):
                print("receipt", order, flush=True)
            """,
        )
        os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
        self.addCleanup(os.environ.pop, "DJANGO_SETTINGS_MODULE")

    def test_django_sends_what_the_arguments_were_at_the_call(self):
        self.make_django_site()
        self.write(
            "sell.py",
            """
            import datetime
            import django
            django.setup()
            from django.db import transaction
            from shop.tasks import receipt
            rows, more = ["a"], {"at": {"noon": 1}}
            with transaction.atomic():
                receipt.delay(rows, more)
                rows.append("changed after the call")
                more["at"]["noon"] = 2
            try:
                with transaction.atomic():
                    transaction.on_commit(lambda: print("committed", flush=True))
                    receipt.delay(datetime.date(2026, 1, 2))
            except TypeError as error:
                print(error)
            """,
        )
        with self.run_program("sell.py") as web:
            self.assertEqual(web.stdout.read(), b"Object of type date is not JSON serializable\n")
        self.assertEqual([job["userInfo"]["args"] for job in self.daemon.jobs.values()], [[["a"], {"at": {"noon": 1}}]])

    def test_django_sends_with_the_commit(self):
        self.make_django_site()
        self.write(
            "sell.py",
            """
            import django
            django.setup()
            from django.db import transaction
            from shop.tasks import receipt
            from timerd import Client
            with transaction.atomic():
                receipt.apply_async((1,), key="order-1")
                assert Client().get(1) is None, "it was sent ahead of the commit"
            try:
                with transaction.atomic():
                    receipt.delay(2)
                    raise LookupError
            except LookupError:
                pass
            print(receipt.delay(3)["id"])
            """,
        )
        with self.run_program("sell.py") as web:
            self.assertEqual(web.stdout.read(), b"2\n")
        self.assertEqual([job["queue"] for job in self.daemon.jobs.values()], ["web", "web"])
        written = self.work("-m", "django", "timerd_worker", "--concurrency", "1")
        self.assertEqual(written, "receipt 1\nreceipt 3\n")


if __name__ == "__main__":
    unittest.main()
