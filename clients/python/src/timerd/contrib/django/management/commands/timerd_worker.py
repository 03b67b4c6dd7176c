# SPDX-License-Identifier: Apache-2.0
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from timerd.contrib.django import app, setting


class Command(BaseCommand):
    help = "Works off tasks until SIGTERM."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("queues", nargs="*", help="all that tasks name, where none is given")
        parser.add_argument("--concurrency", type=int, default=setting("CONCURRENCY", 4))

    def handle(self, *args: Any, **options: Any) -> None:
        app.worker(
            options["queues"] or None,
            concurrency=options["concurrency"],
            lease=setting("LEASE", "1min"),
            deadline=setting("DEADLINE", None),
            grace=setting("GRACE", 30.0),
        ).run()
