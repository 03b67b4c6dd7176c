# SPDX-License-Identifier: Apache-2.0
"""A link that can be cut: a TCP proxy that stops forwarding without closing anything, and goes on later."""
import selectors
import socket
import threading
import time


class Proxy(threading.Thread):
    def __init__(self, port, change=None):
        """`change`: what becomes of bytes that the database sends."""
        super().__init__(daemon=True)
        self.target, self.change = port, change
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.listener.setblocking(False)
        self.port = self.listener.getsockname()[1]
        self.flows = threading.Event()
        self.flows.set()
        self.ended = False
        self.dropping = self.deaf = self.forgets = False
        # Ends of connections of which nothing is forwarded any more, and which nobody closes.
        self.forgotten = []
        self.fars = set()
        self.other, self.waiting = {}, {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.start()

    def cut(self, answers_alone=False):
        """`answers_alone`: what is sent to the database goes on, and what it answers is held back."""
        if answers_alone:
            self.deaf = True
        else:
            self.flows.clear()

    def heal(self, keep=True):
        """Forwards again: what was under way arrives now, late; or, without `keep`, ends all connections."""
        self.dropping = not keep
        self.deaf = False
        self.flows.set()

    def forget(self):
        """Of the next commit the database gets all but the end, and of that connection nothing comes through from then on."""
        self.forgets = True

    def end(self):
        self.ended = True
        self.flows.set()

    def run(self):
        while not self.ended:
            if not self.flows.wait(0.2):
                continue
            if self.dropping:
                self.dropping = False
                for end in list(self.other):
                    self.close(end)
            for key, events in self.selector.select(0.02):
                if not self.flows.is_set():
                    break
                if key.fileobj is self.listener:
                    self.accept()
                elif self.deaf and key.fileobj in self.fars and not events & selectors.EVENT_WRITE:
                    time.sleep(0.002)
                elif key.fileobj in self.other:
                    self.forward(key.fileobj, events)
        for end in list(self.other):
            self.close(end)
        self.listener.close()

    def accept(self):
        try:
            near, _ = self.listener.accept()
        except OSError:
            return
        try:
            far = socket.create_connection(("127.0.0.1", self.target), 2)
        except OSError:
            near.close()
            return
        for end in (near, far):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.selector.register(end, selectors.EVENT_READ)
            self.waiting[end] = b""
        self.other[near], self.other[far] = far, near
        self.fars.add(far)

    def forward(self, end, events):
        other = self.other[end]
        try:
            if events & selectors.EVENT_READ and not (self.deaf and end in self.fars):
                got = end.recv(1 << 16)
                if not got:
                    return self.close(end)
                if self.forgets and end not in self.fars and b"COMMIT" in got:
                    return self.forget_now(end, other, got)
                if self.change and end in self.fars:
                    got = self.change(got)
                self.waiting[other] += got
            for target in (end, other):
                if self.waiting[target]:
                    try:
                        sent = target.send(self.waiting[target])
                        self.waiting[target] = self.waiting[target][sent:]
                    except BlockingIOError:
                        pass
                full = len(self.waiting[self.other[target]]) > 1 << 20
                wanted = (0 if full else selectors.EVENT_READ) | (selectors.EVENT_WRITE if self.waiting[target] else 0)
                self.selector.modify(target, wanted or selectors.EVENT_WRITE)
        except (BlockingIOError, InterruptedError):
            pass
        except OSError:
            self.close(end)

    def forget_now(self, end, other, got):
        self.forgets = False
        other.send(self.waiting[other] + got[:-30])
        for each in (end, other):
            self.selector.unregister(each)
            self.other.pop(each)
            self.waiting.pop(each)
            self.fars.discard(each)
        self.forgotten += [end, other]

    def close(self, end):
        for each in (end, self.other.get(end)):
            if each is not None and each in self.other:
                self.selector.unregister(each)
                each.close()
                del self.other[each]
                self.fars.discard(each)
                self.waiting.pop(each, None)
