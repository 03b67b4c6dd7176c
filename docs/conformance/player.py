# SPDX-License-Identifier: Apache-2.0
"""Plays the server of one case, and drives the client."""
import json
import os
import queue
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import threading
import time


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


def show(value):
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 2000 else "%s… (%d characters)" % (text[:2000], len(text))


def expanded(value):
    """With {"$repeat": ["x", 3]} as "xxx"."""
    if isinstance(value, dict):
        if set(value) == {"$repeat"}:
            return value["$repeat"][0] * value["$repeat"][1]
        return {key: expanded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [expanded(item) for item in value]
    return value


def same(a, b):
    """As JSON values: 1 is not true, and 1 is not 1.0 where it would lose digits."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b
    return type(a) is type(b) and a == b


def difference(expected, came, where="$"):
    if isinstance(expected, dict) and isinstance(came, dict):
        for key in list(expected) + [key for key in came if key not in expected]:
            if key not in came:
                return "%s.%s is missing" % (where, key)
            if key not in expected:
                return "%s.%s is too much" % (where, key)
            if not same(expected[key], came[key]):
                return difference(expected[key], came[key], "%s.%s" % (where, key))
    if isinstance(expected, list) and isinstance(came, list) and len(expected) == len(came):
        for index, (one, other) in enumerate(zip(expected, came)):
            if not same(one, other):
                return difference(one, other, "%s[%d]" % (where, index))
    return "%s: expected %s\ncame %s" % (where, show(expected), show(came))


class Server:
    """Accepts any number of connections, and hands on each line that comes, with the connection that it came on."""

    def __init__(self, path):
        self.path = path
        self.arrived = queue.Queue()
        self.connections = []
        self.listener = None
        self.listen()

    def listen(self):
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen(64)
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def deafen(self):
        os.unlink(self.path)
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.listener = None

    def _accept(self, listener):
        while True:
            try:
                connection = listener.accept()[0]
            except OSError:
                return
            # A limit for sending alone; settimeout would be one of the thread that reads as well.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", 10, 0))
            self.connections.append(connection)
            threading.Thread(target=self._read, args=(connection,), daemon=True).start()

    def _read(self, connection):
        try:
            with connection.makefile("rb") as lines:
                for line in lines:
                    if line.strip():
                        self.arrived.put((connection, line))
        except (OSError, ValueError):
            pass

    def close_connections(self):
        # A client may connect again while its connections are closed; the new one is not meant.
        connections, self.connections = self.connections, []
        for connection in connections:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Player:
    def __init__(self, driver, limit, verbose=False):
        self.driver, self.limit, self.verbose = driver, limit, verbose
        self.answers = queue.Queue()
        self.open = []  # of the step: (connection, request)
        self.unanswered = []  # of all steps, the oldest first
        self.watch = None  # the connection that events leave on

    def play(self, case):
        folder = tempfile.mkdtemp(prefix="conformance-")
        errors = tempfile.TemporaryFile()
        self.deadline = time.monotonic() + self.limit
        self.server = Server(os.path.join(folder, "s"))
        self.process = subprocess.Popen(self.driver, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        threading.Thread(target=self._read_answers, daemon=True).start()
        try:
            self._command({"connect": self.server.path})
            self._check_answer({"result": None}, "connect")
            for number, step in enumerate(case["steps"], 1):
                try:
                    self._step(step)
                except Failed as failed:
                    raise Failed("step %d: %s" % (number, failed)) from None
            self._quiet()
        except Failed as failed:
            errors.seek(0)
            text = errors.read().decode("utf-8", "replace")[-3000:]
            raise Failed("%s%s" % (failed, "\nthe driver wrote: " + text if text else "")) from None
        finally:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.server.close_connections()
            if self.server.listener is not None:
                self.server.deafen()
            errors.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _step(self, step):
        do = expanded(step.get("do"))
        if step.get("listen") is False:
            self.server.deafen()
        elif step.get("listen") is True:
            self.server.listen()
        if do is not None:
            self._command(do)
        wanted = self._wanted(step, do)
        if wanted:
            self.open = [self._arrived(request) for request in wanted]
            self.unanswered += self.open
            ids = [(connection, show(request["id"])) for connection, request in self.open]
            if len(set(ids)) != len(ids):
                raise Failed("two requests in progress have the same id: %s" % ", ".join(text for _, text in ids))
        replies = expanded(step.get("replies") or ([step["reply"]] if "reply" in step else []))
        sends = expanded(step["send"]) if "send" in step else [{"reply": reply, "to": i} for i, reply in enumerate(replies)]
        self._send(sends, step.get("pieces"))
        if step.get("ended"):
            self._ended()
        if step.get("close"):
            self.server.close_connections()
        allowed = expanded(step.get("givesOneOf") or ([step["gives"]] if "gives" in step else None))
        if allowed is None and do is not None:
            if len(replies) == 1 and "calls" not in do:
                allowed = [self._as_given(replies[0])]
            elif replies:
                allowed = [{"results": [self._as_given(reply) for reply in replies]}]
        if allowed is not None:
            self._answer(allowed, step.get("orAgain"), wanted)
        if step.get("quiet"):
            self._quiet()

    @staticmethod
    def _wanted(step, do):
        if "requests" in step:
            return expanded(step["requests"])
        if "request" in step:
            return [expanded(step["request"])]
        if do is None or step.get("request", True) is None:
            return []
        calls = do["calls"] if "calls" in do else [do] if "call" in do else []
        if "giveUp" in do:
            calls = [{"call": do["giveUp"], "params": do.get("params", {})}]
        wanted = [{"method": call["call"], "params": call.get("params", {})} for call in calls]
        if "watch" in do:
            wanted = [{"method": "events.subscribe", "params": do["watch"]}]
        # Nothing can arrive where nobody listens.
        return [] if step.get("listen") is False else wanted

    @staticmethod
    def _as_given(reply):
        if "error" not in reply:
            return {"result": reply["result"]}
        error = reply["error"]
        given = {"message": error["message"]} if "message" in error else {}
        if "code" in error:
            given["code"] = error["code"]
        if "reason" in error.get("data", {}):
            given["reason"] = error["data"]["reason"]
        return {"error": given}

    def _command(self, command):
        if self.verbose:
            print("        do   " + show(command))
        try:
            self.process.stdin.write(json.dumps(command, ensure_ascii=False).encode() + b"\n")
            self.process.stdin.flush()
        except OSError:
            raise Failed("the driver has ended") from None

    def _left(self):
        return max(0.001, self.deadline - time.monotonic())

    def _arrived(self, wanted):
        while True:
            try:
                connection, line = self.server.arrived.get(timeout=min(0.05, self._left()))
                break
            except queue.Empty:
                self._skip_unsupported()
                if time.monotonic() < self.deadline:
                    continue
            gave = self.answers.get_nowait() if not self.answers.empty() else None
            more = "\nthe driver answered %s" % gave.decode("utf-8", "replace")[:500] if gave else ""
            raise Failed("expected the request %s\nnone came%s" % (show(wanted), more))
        request = self._parsed(line)
        params = request.get("params", {})
        expected = {"method": wanted["method"], "params": wanted.get("params", {})}
        if expected["method"] == "task.reserve" and isinstance(params, dict) and params.get("waitWhileConnected") is True:
            # How a client gives up what it waits for is its own matter.
            params = {name: value for name, value in params.items() if name != "waitWhileConnected" or name in expected["params"]}
        got = {"method": request.get("method"), "params": params}
        if not same(expected, got):
            raise Failed("the request differs: " + difference(expected, got))
        if got["method"] == "events.subscribe":
            self.watch = connection
        return connection, request

    def _parsed(self, line):
        def no_twice(pairs):
            names = [name for name, _ in pairs]
            if len(set(names)) != len(names):
                raise Failed("a request has a key twice: %s" % line[:300])
            return dict(pairs)

        if self.verbose:
            print("        came " + line.decode("utf-8", "replace").strip()[:500])
        if len(line) > 1024 * 1024:
            raise Failed("a request has %d bytes, more than 1 MiB" % len(line))
        try:
            request = json.loads(line.decode("utf-8"), object_pairs_hook=no_twice)
        except ValueError as error:
            raise Failed("a request is no JSON in UTF-8: %s: %s" % (error, line[:300])) from None
        if not isinstance(request, dict) or request.get("jsonrpc") != "2.0":
            raise Failed("a request has no \"jsonrpc\":\"2.0\": %s" % show(request))
        if isinstance(request.get("id"), bool) or not isinstance(request.get("id"), (int, str)):
            raise Failed("a request has no id that is a string or an integer: %s" % show(request))
        if set(request) - {"jsonrpc", "id", "method", "params"}:
            raise Failed("a request has members that are none: %s" % show(request))
        return request

    def _send(self, sends, pieces):
        out = []  # (connection, bytes)
        for item in sends:
            if "late" in item:
                connection, request = self.unanswered.pop(0)
                self._send_late(connection, {"jsonrpc": "2.0", "id": request["id"], **item["late"]})
                continue
            connection, request = self.open[item.get("to", -1)] if self.open else (None, None)
            if "reply" in item:
                self.unanswered = [one for one in self.unanswered if one[1] is not request]
                value = {"jsonrpc": "2.0", "id": request["id"], **item["reply"]}
            elif "event" in item or "lost" in item:
                kind = "event" if "event" in item else "lost"
                value = {"jsonrpc": "2.0", "method": "event" if kind == "event" else "events.lost", "params": item[kind]}
                connection = self.watch or connection
            elif "json" in item:
                value = item["json"]
            else:
                identifier = json.dumps(request["id"]) if request is not None else "null"
                out.append((connection, item["text"].replace("$ID", identifier).encode("utf-8", "surrogatepass")))
                continue
            out.append((connection, json.dumps(value, ensure_ascii=False).encode("utf-8") + b"\n"))
        joined = []
        for connection, data in out:  # what follows each other on one connection leaves in one write
            if joined and joined[-1][0] is connection:
                joined[-1][1] += data
            else:
                joined.append([connection, data])
        for connection, data in joined:
            if connection is None:
                raise Failed("the case sends something, and no request has come")
            size = pieces or len(data) or 1
            try:
                for start in range(0, len(data), size):
                    connection.sendall(data[start : start + size])
            except OSError as error:
                raise Failed("the client does not read, or has gone: %s" % error) from None

    @staticmethod
    def _send_late(connection, value):
        try:
            connection.sendall(json.dumps(value, ensure_ascii=False).encode("utf-8") + b"\n")
        except OSError:
            pass  # the client has closed that connection, as it may

    def _read_answers(self):
        for line in self.process.stdout:
            if line.strip():
                self.answers.put(line)
        self.answers.put(None)

    def _skip_unsupported(self, line=None):
        """Looks at an answer, or at the next one where it is there already."""
        with self.answers.mutex:
            if line is None and self.answers.queue:
                line = self.answers.queue[0]
        try:
            error = json.loads(line)["error"]["reason"] if line else None
        except (ValueError, TypeError, LookupError):
            error = None
        if error == "unsupported":
            raise Skipped("the driver says that the client has no way of doing this")

    def _check_answer(self, expected, what):
        self._answer([expected], None, [])

    def _answer(self, allowed, again, wanted):
        while True:
            try:
                line = self.answers.get(timeout=0.05 if again is not None else self._left())
                break
            except queue.Empty:
                if again is None or time.monotonic() > self.deadline:
                    raise Failed("expected the answer %s\nnone came" % show(allowed[0])) from None
                if not self.server.arrived.empty():
                    self.open = [self._arrived(request) for request in wanted]
                    reply = expanded(again)
                    self._send([{"reply": reply}], None)
                    allowed, again = [self._as_given(reply)], None
        if line is None:
            raise Failed("the driver has ended")
        try:
            came = json.loads(line.decode("utf-8"))
        except ValueError:
            raise Failed("the driver's answer is no JSON: %s" % line[:300]) from None
        if self.verbose:
            print("        gave " + show(came))
        self._skip_unsupported(line)
        for expected in allowed:
            if same(expected, self._compared(came, expected)):
                return
        raise Failed("the answer differs: " + difference(allowed[0], self._compared(came, allowed[0])))

    def _compared(self, came, expected):
        """Without the messages that are not stated."""
        if not (isinstance(came, dict) and isinstance(expected, dict)):
            return came
        if "results" in came and "results" in expected and isinstance(came["results"], list):
            pairs = zip(came["results"], expected["results"] + [{}] * len(came["results"]))
            return {**came, "results": [self._compared(one, other) for one, other in pairs]}
        if isinstance(came.get("error"), dict) and isinstance(expected.get("error"), dict) and "message" not in expected["error"]:
            return {**came, "error": {key: value for key, value in came["error"].items() if key != "message"}}
        return came

    def _ended(self):
        """A client that has only shut down its writing is still there to the daemon, but where the wait was to end then: that is answered."""
        for connection, request in self.open:
            waits_so = request.get("params", {}).get("waitWhileConnected") is True
            poll = select.poll()
            poll.register(connection, select.POLLRDHUP if waits_so else 0)  # POLLHUP, once it is over both ways, is told in any case
            while True:
                came = poll.poll(50)
                if came and came[0][1] & select.POLLHUP:
                    break
                if came:
                    connection.sendall(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": {"tasks": []}}).encode() + b"\n")
                    connection.shutdown(socket.SHUT_WR)
                    poll.register(connection, 0)
                self._skip_unsupported()
                if time.monotonic() > self.deadline:
                    raise Failed("the client has not ended the connection of the request %s" % show(request))

    def _quiet(self):
        try:
            _, line = self.server.arrived.get(timeout=0.05)
        except queue.Empty:
            return
        raise Failed("a request came that nobody asked for: %s" % line.decode("utf-8", "replace")[:500])
