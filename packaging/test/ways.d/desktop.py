#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A desktop's notifications: takes them on the session bus and writes each as a line of JSON."""
import json
import sys

import dbus
import dbus.mainloop.glib
import dbus.service
from gi.repository import GLib

NAME = "org.freedesktop.Notifications"


class Notifications(dbus.service.Object):
    @dbus.service.method(NAME, in_signature="susssasa{sv}i", out_signature="u")
    def Notify(self, app, replaces, icon, summary, body, actions, hints, timeout):
        print(json.dumps({"app": str(app), "summary": str(summary), "body": str(body)}), flush=True)
        return dbus.UInt32(1)

    @dbus.service.method(NAME, out_signature="ssss")
    def GetServerInformation(self):
        return "test", "timerd", "1", "1.2"

    @dbus.service.method(NAME, out_signature="as")
    def GetCapabilities(self):
        return ["body"]


dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
bus = dbus.SessionBus()
name = dbus.service.BusName(NAME, bus)
service = Notifications(bus, "/org/freedesktop/Notifications")
print("ready", file=sys.stderr, flush=True)
GLib.MainLoop().run()
