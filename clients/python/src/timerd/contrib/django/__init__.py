# SPDX-License-Identifier: Apache-2.0
"""For Django: "timerd.contrib.django" in INSTALLED_APPS, tasks in each app's `tasks.py`:

    from timerd.contrib.django import app

    @app.task(queue="mails", retries=5)
    def welcome(user_id): ...

    welcome.delay(user.id)                   # is sent once the transaction has committed
    manage.py timerd_worker [QUEUE...]

A call says what its arguments are when it is made, and what JSON cannot say is an error there, within the transaction. What fails beyond that, as timerd
is away or refuses the job, is raised behind the commit: the call is lost, and what else was to be done on the commit behind it is not done. So is a call lost by
a crash between the commit and the sending. Who must not lose it adds the job with a `key` again, from what the database says.

Settings: TIMERD_SOCKET, TIMERD_QUEUE ("default"), TIMERD_CONCURRENCY (4), TIMERD_LEASE ("1min"), TIMERD_DEADLINE, TIMERD_GRACE (30),
TIMERD_DATABASE ("default", the one whose transaction counts).
"""
from __future__ import annotations

import json
from typing import Any, Optional

from django.conf import settings
from django.db import close_old_connections, transaction

from ...app import App
from ...task import Task
from ...values import Json
from ...wire import encode_params


def setting(name: str, default: Any) -> Any:
    return getattr(settings, "TIMERD_" + name, default)


class DjangoApp(App):
    @property
    def socket(self) -> Optional[str]:
        path: Optional[str] = setting("SOCKET", None)
        return path

    @socket.setter
    def socket(self, path: Optional[str]) -> None:
        pass  # the setting counts

    @property
    def queue(self) -> str:
        name: str = setting("QUEUE", "default")
        return name

    @queue.setter
    def queue(self, name: str) -> None:
        pass  # the setting counts

    def send(self, definition: Json) -> Json:
        """With the commit of the transaction that is open; at once where none is. Returns what is to be sent, which has no id yet."""
        said = encode_params(definition)  # what the caller changes until the commit is not sent
        answer: Json = json.loads(said)

        def send() -> None:
            answer.update(super(DjangoApp, self).send(json.loads(said)))

        transaction.on_commit(send, using=setting("DATABASE", "default"))
        return answer

    def handle(self, task: Task) -> Any:
        close_old_connections()
        try:
            return super().handle(task)
        finally:
            close_old_connections()


app = DjangoApp()
