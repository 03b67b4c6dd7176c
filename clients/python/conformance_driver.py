#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The driver of docs/conformance for this client: conformance_driver.py [--asyncio]"""
from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import Any, Dict, Optional

try:
    import timerd
except ImportError:  # not installed: the sources beside it
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "src"))
    import timerd

Answer = Dict[str, Any]


def error(problem: timerd.TimerdError) -> Answer:
    fields = {"reason": problem.reason, "code": problem.code, "message": problem.message}
    return {"error": {name: value for name, value in fields.items() if value is not None}}


def item(value: Any) -> Answer:
    return error(value) if isinstance(value, timerd.TimerdError) else {"result": value}


def told(event: Any) -> Answer:
    return {"lost": event._asdict()} if isinstance(event, timerd.Lost) else {"event": event}


class Driver:
    def __init__(self) -> None:
        self.client: Optional[timerd.Client] = None
        self.watcher: Optional[timerd.Watcher] = None
        self.events: Any = None

    async def do(self, command: Answer) -> Answer:
        if "connect" in command:
            self.path = command["connect"]
            self.client = timerd.Client(self.path, timeout=None)
            return {"result": None}
        assert self.client is not None
        if "call" in command:
            return {"result": self.client.request(command["call"], command.get("params", {}))}
        if "giveUp" in command:
            try:
                return {"result": self.client.request(command["giveUp"], command.get("params", {}), timeout=0.2)}
            except timerd.TimedOut:
                return {"result": None}
        if "calls" in command:
            return {"results": [item(x) for x in self.client.calls([(c["call"], c.get("params", {})) for c in command["calls"]])]}
        if "watch" in command:
            self.watcher = timerd.Watcher(self.path, reconnect=False, **command["watch"])
            seq = self.watcher.subscribe()
            self.events = iter(self.watcher)
            return {"result": {"seq": seq}}
        if "next" in command:
            return told(next(self.events))
        if "timeout" in command:
            self.client.timeout = command["timeout"]
            return {"result": None}
        if "close" in command:
            self.client.close()
            return {"result": None}
        return {"error": {"reason": "unsupported"}}


class AsyncDriver:
    async def do(self, command: Answer) -> Answer:
        if "connect" in command:
            self.path = command["connect"]
            self.client = timerd.AsyncClient(self.path, timeout=None)
            return {"result": None}
        if "call" in command:
            return {"result": await self.client.request(command["call"], command.get("params", {}))}
        if "giveUp" in command:
            try:
                return {"result": await asyncio.wait_for(self.client.request(command["giveUp"], command.get("params", {})), 0.2)}
            except asyncio.TimeoutError:
                return {"result": None}
        if "calls" in command:
            return {"results": [item(x) for x in await self.client.calls([(c["call"], c.get("params", {})) for c in command["calls"]])]}
        if "watch" in command:
            watcher = timerd.AsyncWatcher(self.path, reconnect=False, **command["watch"])
            seq = await watcher.subscribe()
            self.events = watcher.__aiter__()
            return {"result": {"seq": seq}}
        if "next" in command:
            return told(await self.events.__anext__())
        if "timeout" in command:
            self.client.timeout = command["timeout"]
            return {"result": None}
        if "close" in command:
            await self.client.close()
            return {"result": None}
        return {"error": {"reason": "unsupported"}}


async def main() -> None:
    driver = AsyncDriver() if "--asyncio" in sys.argv else Driver()
    loop = asyncio.get_running_loop()
    while True:
        line = await loop.run_in_executor(None, sys.stdin.buffer.readline)
        if not line:
            return
        try:
            answer = await driver.do(json.loads(line))
        except timerd.TimerdError as problem:
            answer = error(problem)
        sys.stdout.buffer.write(json.dumps(answer, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    asyncio.run(main())
