#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A timerd of your own, beside the system's: its jobs run as you, with your files and nobody else's settings, and need no root.
# Needs the package (or `make install`) and a session with systemd --user.
set -eu

# Else it ends when you log out. An administrator may have to allow it.
loginctl enable-linger || echo "without linger your jobs fire only while you are logged in" >&2

# The socket first: whoever connects while the daemon restarts waits, and is not refused.
systemctl --user enable --now timerd.socket timerd.service

# timerctl talks to your own daemon now; --socket /run/timerd/timerd.sock is the system's.
timerctl add --cron '0 9 * * mon-fri' --name stand-up --shell 'logger "stand up"'
timerctl list
