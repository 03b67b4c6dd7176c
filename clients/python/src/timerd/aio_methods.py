# SPDX-License-Identifier: Apache-2.0
"""The calls as methods of a client for asyncio."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Coroutine, TypeVar

from . import calls
from .call import Call, Pages
from .methods import as_method

if TYPE_CHECKING:  # the type checkers bring it with them
    from typing_extensions import Concatenate, ParamSpec

    P = ParamSpec("P")
T = TypeVar("T")


def method(make: Callable[P, Call[T]]) -> Callable[Concatenate[AsyncMethods, P], Coroutine[Any, Any, T]]:
    async def carry_out(self: AsyncMethods, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.carry_out(make(*args, **kwargs))

    as_method(carry_out, make)
    return carry_out


def iterator(make: Callable[P, Pages[T]]) -> Callable[Concatenate[AsyncMethods, P], AsyncIterator[T]]:
    def iterate(self: AsyncMethods, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self.all_of(make(*args, **kwargs))

    as_method(iterate, make)
    return iterate


class AsyncMethods:
    async def carry_out(self, call: Call[T]) -> T:
        raise NotImplementedError

    async def all_of(self, pages: Pages[T]) -> AsyncIterator[T]:
        cursor = None
        while True:
            items, cursor = await self.carry_out(pages.page(cursor))
            for item in items:
                yield item
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
