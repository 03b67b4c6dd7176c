# SPDX-License-Identifier: Apache-2.0
"""For Flask:

    from timerd.contrib.flask import Timerd

    timers = Timerd(app)                     # or Timerd() and timers.init_app(app)

    @timers.task(queue="mails", retries=5)
    def welcome(user): ...                   # runs in the app's context

    flask timerd-worker                      # the worker

Settings: TIMERD_SOCKET, TIMERD_QUEUE ("default"), TIMERD_CONCURRENCY (4), TIMERD_LEASE ("1min"), TIMERD_DEADLINE, TIMERD_GRACE (30).
"""
from __future__ import annotations

from typing import Any, Optional, Tuple

import click
from flask import Flask

from ..app import App
from ..task import Task


class Timerd(App):
    def __init__(self, app: Optional[Flask] = None) -> None:
        super().__init__()
        self.app: Optional[Flask] = None
        if app is not None:
            self.init_app(app)

    def init_app(self, app: Flask) -> None:
        self.app = app
        self.socket = app.config.get("TIMERD_SOCKET")
        self.queue = app.config.get("TIMERD_QUEUE", "default")
        app.extensions["timerd"] = self
        app.cli.add_command(self._command(), "timerd-worker")

    def handle(self, task: Task) -> Any:
        if self.app is None:
            raise RuntimeError("Timerd has no app; call init_app")
        with self.app.app_context():
            return super().handle(task)

    def _command(self) -> click.Command:
        @click.command("timerd-worker", help="Works off tasks until SIGTERM.")
        @click.argument("queues", nargs=-1)
        def work(queues: Tuple[str, ...]) -> None:
            config: Any = self.app.config if self.app is not None else {}
            self.worker(
                list(queues) or None,
                concurrency=config.get("TIMERD_CONCURRENCY", 4),
                lease=config.get("TIMERD_LEASE", "1min"),
                deadline=config.get("TIMERD_DEADLINE"),
                grace=config.get("TIMERD_GRACE", 30.0),
            ).run()

        return work
