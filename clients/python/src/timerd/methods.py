# SPDX-License-Identifier: Apache-2.0
"""The calls as methods of a client without an event loop."""
from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Callable, Iterator, TypeVar

from . import calls
from .call import Call, Pages

if TYPE_CHECKING:  # the type checkers bring it with them
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")


def as_method(method: Callable[..., Any], make: Callable[..., Any]) -> None:
    """With the text and the parameters of the call that it makes."""
    functools.update_wrapper(method, make)
    signature = inspect.signature(make)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    method.__signature__ = signature.replace(parameters=[itself, *signature.parameters.values()])  # type: ignore[attr-defined]


def method(make: Callable[P, Call[T]]) -> Callable[Concatenate[Methods, P], T]:
    def carry_out(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.carry_out(make(*args, **kwargs))

    as_method(carry_out, make)
    return carry_out


def iterator(make: Callable[P, Pages[T]]) -> Callable[Concatenate[Methods, P], Iterator[T]]:
    def iterate(self: Methods, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self.all_of(make(*args, **kwargs))

    as_method(iterate, make)
    return iterate


class Methods:
    def carry_out(self, call: Call[T]) -> T:
        raise NotImplementedError

    def all_of(self, pages: Pages[T]) -> Iterator[T]:
        cursor = None
        while True:
            items, cursor = self.carry_out(pages.page(cursor))
            yield from items
            if cursor is None:
                return

    add = method(calls.add)
    add_all = method(calls.add_all)
    get = method(calls.get)
    list = iterator(calls.list_jobs)
    runs = iterator(calls.runs)
    cancel = method(calls.cancel)
    pause = method(calls.pause)
    resume = method(calls.resume)
    set_fire_date = method(calls.set_fire_date)
    fire = method(calls.fire)
    reserve = method(calls.reserve)
    extend = method(calls.extend)
    finish = method(calls.finish)
    finish_all = method(calls.finish_all)
    fail = method(calls.fail)
    release = method(calls.release)
    list_tasks = iterator(calls.list_tasks)
    retry = method(calls.retry)
    drop = method(calls.drop)
    kick = method(calls.kick)
    queues = iterator(calls.queues)
    set_queue = method(calls.set_queue)
