# SPDX-License-Identifier: Apache-2.0
"""What one scenario has: a folder, servers, nodes, links, dice, and what it found broken."""
import os
import random
import shutil
import signal
import sys
import tempfile
import threading
import time

from .node import Node
from .proxy import Proxy
from .server import Server


class World:
    def __init__(self, name, seed, seconds, keep=False):
        self.name, self.seconds, self.keep = name, seconds, keep
        self.dice = random.Random("%s/%s" % (seed, name))
        self.folder = tempfile.mkdtemp(prefix="timerd-cluster-")
        os.chmod(self.folder, 0o755)
        self.nodes, self.servers, self.proxies, self.closing = [], [], [], []
        self.found, self.lock, self.servers_made, self.nodes_made = [], threading.Lock(), 0, 0

    # What a scenario says

    def say(self, text):
        print("%-18s | %s" % (self.name, text), flush=True)

    def broken(self, text):
        with self.lock:
            self.found.append(text)
        if len(self.found) <= 12:
            self.say("BROKEN: " + text)

    def check(self, holds, text):
        if not holds:
            self.broken(text)
        return holds

    # What it has

    def server(self, *settings, **changed):
        self.servers_made += 1
        server = Server("%s/pg%d" % (self.folder, self.servers_made), settings)
        self.servers.append(server)
        return server.start(**changed)

    def node(self, name, uri, **options):
        self.nodes_made += 1
        node = Node(self.folder, name, uri, file="%s%d" % (name, self.nodes_made), **options)
        self.nodes.append(node)
        return node

    def proxy(self, port, change=None):
        proxy = Proxy(port, change)
        self.proxies.append(proxy)
        return proxy

    def cluster(self, names="ab", lease=2.0, server=None, **options):
        """Nodes of one server, of which the first leads."""
        server = server or self.server()
        nodes = []
        for name in names:
            nodes.append(self.node(name, server.uri(), lease=lease, **options).start(wait=True))
            self.leader(nodes[:1])
        self.wait_for(lambda: len(self.standing(nodes)) == len(nodes), "all nodes to be there")
        return server, nodes

    def standing(self, nodes):
        return [name for name, node in nodes[-1].states().items() if node["state"] in ("leading", "standby")]

    def leader(self, nodes=None, patience=60, but=None):
        """The node that leads, once there is one that is not `but`."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            for node in nodes or self.nodes:
                if node.is_running() and node is not but:
                    for name, state in node.states().items():
                        if state["state"] == "leading" and (but is None or name != but.name):
                            return next(each for each in self.nodes if each.name == name)
            time.sleep(0.05)
        raise SystemError("no node leads within %d s" % patience)

    def wait_for(self, condition, what, patience=60):
        end = time.monotonic() + patience
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > end:
                raise SystemError("waited %d s for %s" % (patience, what))
            time.sleep(0.05)

    def at_the_end(self, action):
        self.closing.append(action)

    def close_nodes(self):
        """What a scenario does before it begins anew."""
        for node in self.nodes:
            if node.is_running():
                node.kill()
        for pid in self.left_runners():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for server in self.servers:
            server.kill()
        for proxy in self.proxies:
            proxy.end()
        self.nodes.clear()
        self.servers.clear()
        self.proxies.clear()

    def close(self):
        for proxy in self.proxies:
            proxy.end()
        for node in self.nodes:
            if node.is_running():
                node.resume()
                node.kill()
        for pid in self.left_runners():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for server in self.servers:
            if server.process:
                server.resume()
                server.kill()
        for action in reversed(self.closing):
            action()
        if self.found or self.keep:
            self.say("logs are kept in " + self.folder)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def left_runners(self):
        """Processes of runs and their runners: those whose words or folders name this world's own folder."""
        found = []
        for name in os.listdir("/proc"):
            if not name.isdigit() or int(name) == os.getpid():
                continue
            try:
                with open("/proc/%s/cmdline" % name, "rb") as file:
                    words = file.read()
                with open("/proc/%s/environ" % name, "rb") as file:
                    words += file.read()
            except OSError:
                continue
            if self.folder.encode() in words:
                found.append(int(name))
        return found
