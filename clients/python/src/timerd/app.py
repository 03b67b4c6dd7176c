# SPDX-License-Identifier: Apache-2.0
"""Functions that are called later, by a worker: what Celery's users know as `@app.task`."""
from __future__ import annotations

import functools
from typing import Any, Callable, Dict, Generic, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, overload

from . import calls
from .client import Client
from .definition import job
from .duty import kind
from .outcome import Retry
from .task import Task
from .values import Date, Duration, Json
from .worker import Worker

F = TypeVar("F", bound=Callable[..., Any])


class AppTask(Generic[F]):
    """A function with `delay` and `apply_async`. Called as it is, it is the function."""

    def __init__(self, app: "App", function: F, name: str, queue: Optional[str], options: Mapping[str, Any], bind: bool) -> None:
        functools.update_wrapper(self, function)
        self.app, self.function, self.name, self._queue = app, function, name, queue
        self.options, self.bind = dict(options), bind

    @property
    def queue(self) -> str:
        """The app's, where the task names none: also where that is set later."""
        return self._queue or self.app.queue

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> Json:
        return self.apply_async(args, kwargs)

    def apply_async(
        self,
        args: Sequence[Any] = (),
        kwargs: Optional[Mapping[str, Any]] = None,
        *,
        countdown: Optional[Duration] = None,
        eta: Optional[Date] = None,
        key: Optional[str] = None,
        queue: Optional[str] = None,
        priority: Optional[int] = None,
        retries: Optional[int] = None,
        expires: Optional[Date] = None,
        name: Optional[str] = None,
    ) -> Json:
        """Adds the job and returns it; once this has returned the call is not lost any more. `key`: said twice, it is one job."""
        if isinstance(args, (str, bytes, Mapping)):
            raise TypeError("args is a list or a tuple, not %.200r; one argument is (value,)" % (args,))
        options = {**self.options}
        for option, value in (("priority", priority), ("retries", retries)):
            if value is not None:
                options[option] = value
        definition = job(
            in_=countdown, at=eta, queue=queue or self.queue, key=key, until=expires, name=name,
            user_info={"task": self.name, "args": list(args), "kwargs": dict(kwargs or {})}, **options,
        )  # fmt: skip
        return self.app.send(definition)


class App:
    """Tasks by name. `socket` as of `Client`; `queue` for the tasks that name none."""

    def __init__(self, socket: Optional[str] = None, *, queue: str = "default", client: Optional[Client] = None) -> None:
        self.socket, self.queue = socket, queue
        self.tasks: Dict[str, AppTask[Any]] = {}
        self._given = client
        self._made: Optional[Tuple[Optional[str], Client]] = None if client is None else (self.socket, client)

    @property
    def client(self) -> Client:
        """That of the socket which is set now; one of another is closed, unless it was given."""
        socket, before = self.socket, self._made
        if before is not None and before[0] == socket:
            return before[1]
        client = Client(socket, patience=5.0)
        self._made = (socket, client)
        if before is not None and before[1] is not self._given:
            before[1].close()
        return client

    def send(self, definition: Json) -> Json:
        """How jobs are added; an adapter puts that off to the end of a transaction."""
        return self.client.carry_out(calls.add_definition(definition))

    @overload
    def task(self, function: F) -> AppTask[F]: ...

    @overload
    def task(
        self,
        *,
        name: Optional[str] = None,
        queue: Optional[str] = None,
        retries: Optional[int] = None,
        backoff: Optional[str] = None,
        priority: Optional[int] = None,
        bind: bool = False,
    ) -> Callable[[F], AppTask[F]]: ...

    def task(
        self,
        function: Optional[F] = None,
        *,
        name: Optional[str] = None,
        queue: Optional[str] = None,
        retries: Optional[int] = None,
        backoff: Optional[str] = None,
        priority: Optional[int] = None,
        bind: bool = False,
    ) -> Union[AppTask[F], Callable[[F], AppTask[F]]]:
        """`@app.task`, or `@app.task(queue="mails", retries=5)`. With `bind` the function gets the Task in front of its arguments.

        Workers know it by `name`; without one by that of its module and itself, which is another where the module is the program (`__main__`).
        """

        def decorate(function: F) -> AppTask[F]:
            if kind(function) is not None:
                raise TypeError("'%s' is a %s; the tasks of an App are plain ones" % (function.__qualname__, kind(function)))
            full = name or "%s.%s" % (function.__module__, function.__qualname__)
            if full in self.tasks:
                raise ValueError("there is a task of the name '%s' already" % full)
            options = {"retries": retries, "backoff": backoff, "priority": priority}
            task = AppTask(self, function, full, queue, options, bind)
            self.tasks[full] = task
            return task

        return decorate if function is None else decorate(function)

    def handle(self, task: Task) -> Any:
        """What a worker does with a task of this app."""
        call = task.payload
        if not isinstance(call, dict) or not isinstance(call.get("task"), str):
            raise ValueError("the task's userInfo names no function: %.200r" % (call,))
        known = self.tasks.get(call["task"])
        if known is None:
            raise LookupError("this worker knows no task '%s'; it knows %s" % (call["task"], ", ".join(sorted(self.tasks)) or "none"))
        args = list(call.get("args", []))
        return known.function(*([task] if known.bind else []), *args, **call.get("kwargs", {}))

    def queues(self) -> List[str]:
        return sorted({task.queue for task in self.tasks.values()} | {self.queue})

    def worker(self, queues: Optional[Sequence[str]] = None, **options: Any) -> Worker:
        """A worker for these queues, or all that tasks name, of the daemon that `client` asks."""
        return Worker(queues or self.queues(), self.handle, socket=self.client.path, **options)


__all__ = ["App", "AppTask", "Retry"]
