# SPDX-License-Identifier: Apache-2.0
"""Asks a real daemon, and compares the shape of its replies with what a case promises."""
import json
import re
import socket

from player import Failed, Skipped, expanded, show

DATE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
#: Members whose values the daemon chose, by what they are numbers of.
CHOSEN = {"id": "job", "ids": "job", "job": "job", "fire": "fire", "fires": "fire", "token": "token", "cursor": "cursor"}


class Truth:
    def __init__(self, path, limit):
        self.path, self.limit = path, limit
        self.known = {}

    def play(self, case):
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(self.limit)
        try:
            connection.connect(self.path)
        except OSError as error:
            raise Failed("cannot connect to '%s': %s" % (self.path, error)) from None
        with connection, connection.makefile("rb") as lines:
            for number, step in enumerate(case["steps"], 1):
                try:
                    self._step(expanded(step), connection, lines)
                except Failed as failed:
                    raise Failed("step %d: %s" % (number, failed)) from None
                except socket.timeout:
                    raise Failed("step %d: the daemon did not answer in %g s" % (number, self.limit)) from None

    def _step(self, step, connection, lines):
        do = step.get("do", {})
        if "watch" in do:
            do = {"call": "events.subscribe", "params": do["watch"]}
        if "next" in do:
            event = json.loads(lines.readline())
            promised = step["gives"].get("event", step["gives"].get("lost"))
            return self._compare(promised, event.get("params"), "$", None)
        requests = step.get("requests") or ([step["request"]] if "request" in step else None)
        if requests is None:
            calls = do["calls"] if "calls" in do else [do] if "call" in do else []
            requests = [{"method": call["call"], "params": call.get("params", {})} for call in calls]
        replies = step.get("replies") or ([step["reply"]] if "reply" in step else [])
        for number, request in enumerate(requests):
            params = self._translated(request.get("params", {}), None)
            line = {"jsonrpc": "2.0", "id": number, "method": request["method"], "params": params}
            connection.sendall(json.dumps(line).encode() + b"\n")
        for number, promised in enumerate(replies):
            while True:
                text = lines.readline()
                if not text:
                    raise Failed("the daemon closed the connection")
                reply = json.loads(text)
                if "id" in reply:
                    break
            if reply["id"] != number:
                raise Failed("reply %d has the id %s" % (number, show(reply["id"])))
            self._judge(promised, reply)

    def _judge(self, promised, reply):
        error = reply.get("error")
        if error is None or "error" not in promised:
            if error is not None:
                reason = error.get("data", {}).get("reason")
                unknown = reason == "unknownMethod" or (reason == "invalidParams" and "there is no parameter" in error["message"])
                kind = Skipped if unknown else Failed
                raise kind("the daemon answered: %s: %s" % (reason, error["message"][:160]))
            if "error" in promised:
                raise Failed("expected the error %s\ncame %s" % (show(promised["error"]), show(reply["result"])))
            return self._compare(promised["result"], reply["result"], "$.result", None)
        said = {"code": error["code"], "reason": error.get("data", {}).get("reason")}
        wanted = {"code": promised["error"]["code"], "reason": promised["error"]["data"]["reason"]}
        if said != wanted:
            if said["reason"] == "unknownMethod":
                raise Skipped(error["message"][:80])
            raise Failed("expected the error %s\ncame %s: %s" % (show(wanted), show(said), error["message"]))

    def _compare(self, promised, came, where, key):
        if isinstance(promised, dict) and isinstance(came, dict):
            for name, value in promised.items():
                if name not in came:
                    raise Failed("%s.%s is promised, and missing in %s" % (where, name, show(came)))
                if name == "userInfo":  # a user's own: as it is
                    if value != came[name]:
                        raise Failed("%s.%s: expected %s\ncame %s" % (where, name, show(value), show(came[name])))
                    continue
                self._compare(value, came[name], "%s.%s" % (where, name), name)
            return
        if isinstance(promised, list) and isinstance(came, list):
            if len(promised) != len(came):
                raise Failed("%s: expected %d items\ncame %s" % (where, len(promised), show(came)))
            for index, (one, other) in enumerate(zip(promised, came)):
                self._compare(one, other, "%s[%d]" % (where, index), key)
            return
        kinds = [bool if isinstance(v, bool) else (int, float) if isinstance(v, (int, float)) else type(v) for v in (promised, came)]
        if kinds[0] != kinds[1]:
            raise Failed("%s: expected something such as %s\ncame %s" % (where, show(promised), show(came)))
        if key in CHOSEN:
            self.known[(CHOSEN[key], json.dumps(promised))] = came
        elif isinstance(promised, str):
            if DATE.fullmatch(promised):
                if not DATE.fullmatch(came):
                    raise Failed("%s: expected a date\ncame %s" % (where, show(came)))
            elif key in ("state", "type", "reason", "queue", "name", "key", "endReason") and promised != came:
                raise Failed("%s: expected %s\ncame %s" % (where, show(promised), show(came)))

    def _translated(self, value, key):
        if isinstance(value, dict):
            return {name: item if name == "userInfo" else self._translated(item, name) for name, item in value.items()}
        if isinstance(value, list):
            return [self._translated(item, key) for item in value]
        return self.known.get((CHOSEN[key], json.dumps(value)), value) if key in CHOSEN else value
