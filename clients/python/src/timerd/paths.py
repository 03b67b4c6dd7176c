# SPDX-License-Identifier: Apache-2.0
"""Where the daemon listens: what timerctl does as well."""
from __future__ import annotations

import os
import pwd
from typing import Callable, Mapping, Optional

SYSTEM_SOCKET = "/run/timerd/timerd.sock"


def default_socket(
    environment: Optional[Mapping[str, str]] = None,
    uid: Optional[int] = None,
    exists: Callable[[str], bool] = os.path.exists,
    is_folder: Callable[[str], bool] = os.path.isdir,
) -> str:
    """`$TIMERD_SOCKET`; else the user's own daemon, and the system's if the user has none and the system has one."""
    variables = os.environ if environment is None else environment
    named = variables.get("TIMERD_SOCKET")
    if named:
        return named
    user = os.geteuid() if uid is None else uid
    if user == 0:
        return SYSTEM_SOCKET

    def folder(variable: str) -> Optional[str]:
        value = variables.get(variable, "")
        return value if value.startswith("/") else None

    home = folder("HOME")
    if home is None and "HOME" not in variables:
        try:
            home = pwd.getpwuid(user).pw_dir
        except KeyError:
            pass  # nobody knows it: there is none
    per_user = "/run/user/%d" % user
    runtime = folder("XDG_RUNTIME_DIR")
    if runtime is None:
        state = folder("XDG_STATE_HOME") or ("" if home in (None, "/") else str(home)) + "/.local/state"
        runtime = per_user if is_folder(per_user) else state
    own = runtime.rstrip("/") + "/timerd/timerd.sock"
    return SYSTEM_SOCKET if not exists(own) and exists(SYSTEM_SOCKET) else own
